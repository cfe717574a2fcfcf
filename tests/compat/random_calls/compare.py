#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random calls of operators, here and in an MXNet that is installed: the same results?

    python tests/compat/random_calls/compare.py MXNET_ENV/bin/python [--calls 40000] [--seed 1] [--keep FOLDER]

Shapes, types, values, gradients and refusals are compared, in one process of Loomix. A call that ends MXNet's
process has no answer and is not counted. Kinds of differences that docs/differences.md names are in known.txt. The exit
status is 0 where at least 99.5 % of the calls agree and all others are of a known kind.
"""

import argparse
import collections
import fnmatch
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import random_answers

HERE = Path(__file__).parent
TOLERANCE = {"float16": (2e-2, 2e-2), "float32": (2e-4, 2e-5), "float64": (1e-6, 1e-7)}


def read(path):
    answers = {}
    with open(path, "rb") as file:
        while True:
            try:
                number, answer = pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                return answers
            answers[number] = answer


def ask(python, module, seed, count, path, restarts):
    """Runs all calls in one process; one that ends the process is passed over, if `restarts` allows for that."""
    first, ended = 0, []
    while first < count:
        command = [
            python,
            str(HERE / "random_answers.py"),
            module,
            str(seed),
            str(first),
            str(count - first),
            str(path),
        ]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with open(f"{path}.log", "ab") as log:
            status = subprocess.run(command, stderr=log, stdout=log, env=environment, check=False).returncode
        answers = read(path)
        first = max(answers, default=-1) + 1
        if first < count:
            if not restarts:
                raise SystemExit(f"{module} ended with status {status} at call {first}; see {path}.log")
            ended.append(first)
            with open(path, "ab") as file:
                file.write(pickle.dumps((first, None), protocol=4))
            first += 1
    return read(path), ended


def different_arrays(what, theirs, ours):
    if len(theirs) != len(ours):
        return f"{what}: {len(ours)} here, {len(theirs)} there"
    for i, (a, b) in enumerate(zip(theirs, ours)):
        if a.shape != b.shape:
            return f"{what} {i}: shape {b.shape} here, {a.shape} there"
        if a.dtype != b.dtype:
            return f"{what} {i}: {b.dtype} here, {a.dtype} there"
        rtol, atol = TOLERANCE.get(str(a.dtype), (0, 0))
        with np.errstate(all="ignore"):
            if not np.allclose(a.astype("float64"), b.astype("float64"), rtol, atol, equal_nan=True):
                return f"{what} {i}: other values"
    return None


def difference(call, theirs, ours):
    """What differs, in a few words; None where they agree."""
    if "error" in theirs or "error" in ours:
        if "error" in theirs and "error" in ours:
            return None
        return "refused there" if "error" in theirs else "refused here"
    for key in ("outputs", "gradients", "changed"):
        a, b = theirs.get(key, []), ours.get(key, [])
        if not call.values:
            a, b = [np.zeros_like(x) for x in a], [np.zeros_like(x) for x in b]
        found = different_arrays(key, a, b)
        if found:
            return found
    return None


def known_kinds():
    """Lines `operator | difference | words of docs/differences.md`, the first two with * as in file names."""
    docs = " ".join((HERE.parents[2] / "docs" / "differences.md").read_text().split())
    kinds = []
    for line in (HERE / "known.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            operator, kind, words = (part.strip() for part in line.split("|"))
            if words not in docs:
                raise SystemExit(f"known.txt: docs/differences.md has no words {words!r}")
            kinds.append((operator, kind))
    return kinds


def report(seed, theirs, ours):
    kinds, counts, examples, unknown, compared = known_kinds(), collections.Counter(), {}, 0, 0
    for number, answer in theirs.items():
        if answer is None:
            continue
        compared += 1
        call = random_answers.call_of(seed, number)
        found = difference(call, answer, ours[number])
        if found is None:
            continue
        known = any(fnmatch.fnmatch(call.op, op) and fnmatch.fnmatch(found, kind) for op, kind in kinds)
        unknown += not known
        key = call.op, found, "" if known else "NOT KNOWN"
        counts[key] += 1
        text = answer.get("text", ours[number].get("text", "")) if "refused" in found else ""
        examples.setdefault(key, f"{number}: {call.describe()} {text[-120:]!r}")
    for key, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{count:5} {' | '.join(part for part in key if part)}\n      {examples[key]}")
    differing = sum(counts.values())
    share = 1 - differing / compared
    print(
        f"{compared} calls of {len(random_answers.calls.MAKERS)} operators: {share:.3%} agree, "
        f"{unknown} of unknown kinds differ"
    )
    return share >= 0.995 and not unknown


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mxnet", help="an interpreter that has MXNet 1.9.1")
    parser.add_argument("--calls", type=int, default=40000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="a folder for the answers; MXNet's are used again if they are there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(args.keep or folder)
        folder.mkdir(parents=True, exist_ok=True)
        theirs, ours = folder / f"mxnet-{args.seed}", folder / f"loomix-{args.seed}"
        ours.unlink(missing_ok=True)
        there, ended = (
            ask(args.mxnet, "mxnet", args.seed, args.calls, theirs, restarts=True)
            if not theirs.exists()
            else (read(theirs), [])
        )
        here, _ = ask(sys.executable, "loomix", args.seed, args.calls, ours, restarts=False)
        if ended:
            print(
                f"MXNet's process ended at {len(ended)} calls:",
                *(random_answers.call_of(args.seed, n).describe() for n in ended[:5]),
                sep="\n  ",
            )
        return 0 if report(args.seed, there, here) else 1


if __name__ == "__main__":
    sys.exit(main())
