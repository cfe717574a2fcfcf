#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of code per folder, and how they changed since a revision: tools/size_report.py [REVISION]."""

from __future__ import annotations

import collections
import pathlib
import subprocess
import sys

SUFFIXES = {".h", ".cc", ".cu", ".py", ".sh"}
GENERATED = "_generated"


def git(*args: str) -> str:
    return subprocess.run(["git", *args], check=True, capture_output=True, text=True, errors="replace").stdout


def sizes(revision: str) -> collections.Counter[str]:
    """Lines that are neither blank nor comment alone, by folder."""
    counts: collections.Counter[str] = collections.Counter()
    for path in git("ls-tree", "-r", "--name-only", revision).splitlines():
        name = pathlib.PurePath(path)
        if name.suffix not in SUFFIXES or GENERATED in name.name:
            continue
        comment = "#" if name.suffix in {".py", ".sh"} else "//"
        lines = (line.strip() for line in git("show", f"{revision}:{path}").splitlines())
        counts["/".join(name.parts[: 2 if name.parts[0] in {"bindings", "tests"} else 1])] += sum(
            1 for line in lines if line and not line.startswith(comment)
        )
    return counts


def main() -> int:
    base = sys.argv[1] if len(sys.argv) > 1 else "HEAD~1"
    old, new = sizes(base), sizes("HEAD")
    print(f"{'folder':24}{'lines':>8}{'change':>8}")
    for folder in sorted(old | new):
        print(f"{folder:24}{new[folder]:8}{new[folder] - old[folder]:+8}")
    print(f"{'all':24}{new.total():8}{new.total() - old.total():+8}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
