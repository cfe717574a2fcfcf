# SPDX-License-Identifier: Apache-2.0
"""Where the parts of the installed package lie."""

from __future__ import annotations

import importlib.machinery
import os

from . import __version__, _star
from .base import MXNetFileError

__all__ = ["__version__", "find_include_path", "find_lib_path"]

_HERE = os.path.dirname(os.path.abspath(__file__))


def find_lib_path(prefix: str = "_core") -> list[str]:
    """Paths of the extension module whose name starts with ``prefix``.

    Raises
    ------
    OSError
        When there is none.
    """
    endings = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    found = [
        os.path.join(_HERE, f)
        for f in sorted(os.listdir(_HERE))
        if f.startswith(prefix) and f.endswith(endings)
    ]
    if not found:
        raise MXNetFileError(f"[find_lib_path] no extension module {prefix}* in {_HERE}.")
    return found


def find_include_path() -> str:
    """The folder of the C and C++ headers that are installed with the package.

    Raises
    ------
    OSError
        When the package was installed without them.
    """
    path = os.path.join(_HERE, "include")
    if not os.path.isdir(path):
        raise MXNetFileError(f"[find_include_path] no headers in {_HERE}.")
    return path


_star.complete(globals(), "logging os platform")
