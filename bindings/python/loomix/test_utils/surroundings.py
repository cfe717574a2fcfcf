# SPDX-License-Identifier: Apache-2.0
"""What surrounds a test: devices, chance, environment variables."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..base import MXNetValueError

__all__ = ["environment", "list_gpus", "retry"]


def list_gpus() -> Any:
    """Numbers of the usable GPUs."""
    from ..context import num_gpus

    return range(num_gpus())


def retry(n: Any) -> Any:
    """Decorator: runs a test that may fail by chance up to ``n`` times."""
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
    unsets one."""
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
