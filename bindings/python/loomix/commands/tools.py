# SPDX-License-Identifier: Apache-2.0
"""The tools in C++ that lie in ``bin/``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path


def main(name: str, arguments: Sequence[str]) -> int:
    """Becomes the tool."""
    tool = Path(__file__).parent.parent / "bin" / name
    if not tool.exists():
        print(f"[loomix] {name} is not part of this build: it needs libcli11-dev.", file=sys.stderr)
        return 2
    sys.stdout.flush()
    os.execv(tool, [str(tool), *arguments])
