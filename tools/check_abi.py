#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the C interfaces with what programs were compiled for: bindings/c/abi/NAME.txt has all functions, types and
numbers of a header. The library's version script must name the same functions, and so must a library that is built.

python tools/check_abi.py [BUILD FOLDER]     fails where they differ
python tools/check_abi.py --write            after lines were added; a change of others needs a new soname
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "bindings" / "c"

# Name of the library: header, version script, and where a build has it.
LIBRARIES = {
    "loomix_predict": ("include/loomix/predict.h", "predict.map", "bindings/c/libloomix_predict.so"),
    "loomix_c": ("include/loomix/c_api.h", "api/c_api.map", "bindings/c/api/libloomix_c.so"),
}


def declarations(header: str) -> list[str]:
    """What a header declares, one a line, without comments and line breaks."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", header, flags=re.DOTALL)
    text = re.sub(r"^\s*#[^\n]*$", " ", text, flags=re.MULTILINE)
    text = re.sub(r'extern "C" \{', " ", text)
    found, depth, current = [], 0, ""
    for character in text:
        depth += (character == "{") - (character == "}")
        if depth < 0:  # the end of extern "C"
            break
        if character == ";" and depth == 0:
            found.append(" ".join(current.split()))
            current = ""
        else:
            current += character
    return sorted(found)


def functions(lines: list[str]) -> list[str]:
    """The names of the functions among declarations."""
    names = (re.match(r"(?!typedef|enum|struct)[\w\s*]*?(\w+) ?\(", line) for line in lines)
    return sorted(name[1] for name in names if name)


def scripted(script: str) -> list[str]:
    """The names in a version script."""
    exported = script.split("global:")[1].split("local:")[0]
    return sorted(re.findall(r"\w+", exported))


def exported(library: pathlib.Path) -> list[str]:
    """The functions that a library exports; the names of version nodes are no functions."""
    output = subprocess.run(
        ["nm", "-D", "--defined-only", "--without-symbol-versions", library],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    fields = (line.split() for line in output.splitlines())
    return sorted(name for _, kind, name in fields if kind != "A")


def difference(what: str, wanted: list[str], found: list[str]) -> list[str]:
    missing = [f"{what}: missing: {name}" for name in wanted if name not in found]
    return missing + [f"{what}: new: {name}" for name in found if name not in wanted]


def check(build: pathlib.Path) -> list[str]:
    """What differs."""
    faults = []
    for name, (header, script, library) in LIBRARIES.items():
        known = FOLDER / "abi" / f"{name}.txt"
        lines = declarations((FOLDER / header).read_text(encoding="utf-8"))
        faults += difference(
            f"{header} against abi/{name}.txt", known.read_text(encoding="utf-8").splitlines(), lines
        )
        names = functions(lines)
        faults += difference(script, names, scripted((FOLDER / script).read_text(encoding="utf-8")))
        if (build / library).exists():
            faults += difference(library, names, exported(build / library))
        else:
            print(f"{library} is not built")
    return faults


def main() -> int:
    if sys.argv[1:] == ["--write"]:
        for name, (header, _, _) in LIBRARIES.items():
            lines = declarations((FOLDER / header).read_text(encoding="utf-8"))
            (FOLDER / "abi" / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return 0
    faults = check(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build")
    print("\n".join(faults) or "the C interfaces are as documented")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
