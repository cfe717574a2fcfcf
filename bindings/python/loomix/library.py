# SPDX-License-Identifier: Apache-2.0
"""Kernels in libraries of their own."""

from __future__ import annotations

import os

from . import _star
from .base import MXNetFileError, MXNetValueError

__all__ = ["load"]


def load(path: str, verbose: bool = True) -> None:
    """Adds the kernels of a library to the operators that there are; it stays for the life of the process.

    The library exports a ``loomix::ops::KernelModule`` (``ops/kernel_module.h`` tells how). Libraries of operators for
    MXNet are of another kind.

    Parameters
    ----------
    path : str
        An absolute path.
    verbose : bool
        Whether a line in the log tells of it.

    Raises
    ------
    OSError
        When there is no such file.
    ValueError
        When the path is not absolute, or the file is no library of kernels for this version.
    """
    import logging

    from . import _core
    from .log import note

    if not os.path.isabs(path):
        raise MXNetValueError(f"[library] {path!r} is not an absolute path.")
    if not os.path.isfile(path):
        raise MXNetFileError(f"[library] there is no file {path}.")
    _core.load_kernel_module(path)
    if verbose:
        note(logging, "Loaded the kernels of %s", path)


_star.complete(globals(), "MXNetError check_call ctypes mx_uint os sys", "_LIB")
