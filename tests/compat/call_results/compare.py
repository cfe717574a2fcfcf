#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do calls of public names give what they give in MXNet 1.9.1: types, shapes, values and the classes of errors?

    compare.py                          compares with answers.json
    compare.py --mxnet ENV/bin/python   asks an MXNet that is installed; --write keeps its answers in answers.json

Differences on purpose are in known.txt: a line `case | words of docs/differences.md`, the case by its text.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import call_answers

KEPT = os.path.join(call_answers.HERE, "answers.json")


def same(theirs, ours):
    """Whether two described values are equal, numbers within 1e-4; an error may be of a subclass of MXNet's."""
    if isinstance(theirs, dict) or isinstance(ours, dict):
        if not (isinstance(theirs, dict) and isinstance(ours, dict)):
            return False
        return (
            theirs["error"][0] in ours["error"]
            or "MXNetError" in theirs["error"]
            and "MXNetError" in ours["error"]
        )
    if isinstance(theirs, (int, float)) and isinstance(ours, (int, float)) and not isinstance(theirs, bool):
        return (
            theirs != theirs
            and ours != ours
            or abs(theirs - ours) <= 1e-4 + 1e-4 * abs(theirs)
            or theirs == ours
        )
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(theirs) == len(ours) and all(map(same, theirs, ours))
    if isinstance(theirs, str) and isinstance(ours, str):
        return theirs.replace("mxnet", "loomix") == ours.replace("mxnet", "loomix")
    return theirs == ours


def ask(python, module):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "answers.json")
        command = [python, "-W", "ignore", os.path.join(call_answers.HERE, "call_answers.py"), module, path]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            return json.load(file)


def known():
    docs = os.path.join(call_answers.HERE, "..", "..", "..", "docs", "differences.md")
    text = " ".join(open(docs, encoding="utf-8").read().split())
    found = []
    for line in open(os.path.join(call_answers.HERE, "known.txt"), encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            case, words = (part.strip() for part in line.rsplit(" | ", 1))
            if words not in text:
                raise SystemExit(f"known.txt: docs/differences.md has no words {words!r}")
            found.append(case)
    return found


def differences(theirs, ours):
    """(expression, MXNet's value, ours) of each that differs and is not known."""
    expected = known()
    for _, code, expression in call_answers.paragraphs():
        key = call_answers.key_of(code, expression)
        for part, a, b in zip(call_answers.parts_of(expression), theirs[key], ours[key]):
            if not same(a, b) and part not in expected:
                yield code + part, a, b


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mxnet", help="an interpreter that has MXNet 1.9.1")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    theirs = ask(args.mxnet, "mxnet") if args.mxnet else json.load(open(KEPT, encoding="utf-8"))
    if args.write:
        with open(KEPT, "w", encoding="utf-8") as file:
            json.dump(theirs, file, separators=(",", ":"))
            file.write("\n")
    found = list(differences(theirs, ask(sys.executable, "loomix")))
    for text, a, b in found:
        print(f"{text}\n    MXNet:  {json.dumps(a)[:300]}\n    Loomix: {json.dumps(b)[:300]}")
    print(f"{sum(map(len, theirs.values()))} values, {len(found)} differ without a reason")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
