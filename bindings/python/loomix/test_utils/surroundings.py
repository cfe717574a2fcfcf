# SPDX-License-Identifier: Apache-2.0
"""What surrounds a test: devices, chance, environment variables."""

from __future__ import annotations

import functools
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..base import MXNetValueError

__all__ = [
    "discard_stderr",
    "environment",
    "has_tvm_ops",
    "is_aarch64_run",
    "is_cd_run",
    "is_op_runnable",
    "list_gpus",
    "retry",
]


def list_gpus() -> Any:
    """Numbers of the usable GPUs.

    Examples
    --------
    >>> import loomix as mx
    >>> len(mx.test_utils.list_gpus()) == mx.context.num_gpus()
    True
    """
    from ..context import num_gpus

    return range(num_gpus())


def retry(n: Any) -> Any:
    """Decorator: runs a test that may fail by chance up to ``n`` times.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> @mx.test_utils.retry(3)
    ... def test_that_may_fail():
    ...     assert np.random.rand() < 2
    >>> test_that_may_fail()
    """
    if n < 1:
        raise MXNetValueError(f"[retry] n is {n}; expected at least 1.")

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            for attempt in range(n):
                try:
                    return test(*args, **kwargs)
                except AssertionError:
                    if attempt == n - 1:
                        raise

        return wrapper

    return decorate


@contextmanager
def environment(*args: Any) -> Iterator[Any]:
    """A ``with`` scope in which an environment variable (name, value), or a dict of them, is set; None
    unsets one.

    Examples
    --------
    >>> import os
    >>> import loomix as mx
    >>> with mx.test_utils.environment("A_VARIABLE_OF_MINE", "1"):
    ...     os.environ["A_VARIABLE_OF_MINE"]
    '1'
    >>> "A_VARIABLE_OF_MINE" in os.environ
    False
    """
    changes = dict([args]) if len(args) == 2 else dict(args[0])
    before = {name: os.environ.get(name) for name in changes}

    def apply(values: Any) -> None:
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    apply(changes)
    try:
        yield
    finally:
        apply(before)


@contextmanager
def discard_stderr() -> Iterator[None]:
    """A ``with`` scope in which what the process writes to its standard error is lost, that of libraries, too.

    Examples
    --------
    >>> import os
    >>> import loomix as mx
    >>> with mx.test_utils.discard_stderr():
    ...     _ = os.system("echo lost >&2")
    """
    sys.stderr.flush()
    kept, sink = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        os.close(sink)


def has_tvm_ops() -> bool:
    """False: there are no operators made by TVM.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.has_tvm_ops()
    False
    """
    return False


def is_op_runnable() -> bool:
    """True: every operator that there is runs on the current device, or says that it does not.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.is_op_runnable()
    True
    """
    return True


def is_cd_run() -> bool:
    """Whether the variable CD_JOB says that a nightly build runs the tests.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.is_cd_run()
    False
    """
    return os.environ.get("CD_JOB") == "1"


def is_aarch64_run() -> bool:
    """Whether the processor is an ARM of 64 bits.

    Examples
    --------
    >>> import platform
    >>> import loomix as mx
    >>> mx.test_utils.is_aarch64_run() == (platform.machine() == "aarch64")
    True
    """
    return platform.machine() == "aarch64"
