# SPDX-License-Identifier: Apache-2.0
"""Writing files as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ._arguments import as_path


def write_whole(path: str | os.PathLike[str], write: Callable[[str], Any]) -> None:
    """Calls ``write(name)`` for a file beside ``path`` and then renames it, so that ``path`` is never
    half-written."""
    path = as_path("save", "fname", path)
    temporary = f"{path}.{os.getpid()}.part"
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)
