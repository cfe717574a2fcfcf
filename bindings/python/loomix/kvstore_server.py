# SPDX-License-Identifier: Apache-2.0
"""Servers and schedulers: processes that take part in a cluster and run no program of their own."""

from __future__ import annotations

import os
import sys

__all__ = ["is_server", "run", "run_during_import"]


def is_server() -> bool:
    """Whether the environment says that this process is a server or the scheduler."""
    role = os.environ.get("LOOMIX_KV_ROLE") or os.environ.get("DMLC_ROLE")
    return role in ("server", "scheduler")


def run() -> int:
    """Runs the scheduler or server that the environment describes until the cluster ends.

    Returns
    -------
    int
        The exit status: 0, or 1 with the error printed, or 130 after Ctrl-C.
    """
    from . import _core
    from .base import MXNetError

    try:
        try:
            _core.serve()
        except MXNetError as error:
            print(error, file=sys.stderr, flush=True)
            return 1
    except KeyboardInterrupt:
        return 130
    return 0


def run_during_import() -> int:
    """:func:`run` where the package is not imported to its end, and will not be.

    What a pickle imports would wait for that, so a server that may read pickles starts anew as
    ``python -m loomix serve``, with the same search path.
    """
    from . import _core

    if not _core.cluster_settings()["allow_pickle"]:
        return run()
    os.environ["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
    os.execv(sys.executable, [sys.executable, "-m", "loomix", "serve"])
