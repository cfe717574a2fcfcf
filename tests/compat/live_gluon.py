#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gluon's layers, losses, cells and networks with the same weights in an MXNet that is installed: the same values?

    python tests/compat/live_gluon.py MXNET_ENV/bin/python [NAME ...]

Of each case of gluon_cases.py it compares outputs and gradients, eager and hybridized; and files both ways: those of
`save_parameters`, of the old `save_params`, and of `export`.
"""

import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import gluon_cases as cases
import numpy as np

TOLERANCE = 1e-4


def can_export(case):
    """Whether the case is one call of a block that can be hybridized, which gives one output."""
    import loomix as mx

    block = case.make(mx.gluon)
    return isinstance(block, mx.gluon.HybridBlock) and case._run is None


def write(name, start):
    """Files for MXNet, and what is computed here."""
    import loomix as mx
    import test_gluon_cases as own

    case = cases.CASES[name]
    block = own.started(case)
    before = cases.states_of(block)
    block.save_parameters(start + ".params")
    if all(key.startswith(block.prefix) for key in block.collect_params()):
        block.save_params(start + "-old.params")
    results = {}
    for hybrid in (False, True):
        for key, param in block._collect_params_with_prefix().items():
            param.set_data(mx.nd.array(before[key]))
        results["hybrid" if hybrid else "eager"] = cases.compute_for_others(mx, name, block, hybrid)
    for key, param in block._collect_params_with_prefix().items():
        param.set_data(mx.nd.array(before[key]))
    if can_export(case):
        arrays = [mx.nd.array(array) for array in case.arrays()]
        block.hybridize()
        results["out"] = block(*arrays).asnumpy()
        block.export(start)
    results["states"] = before
    return results


def read(case, start, results):
    """The largest difference to what MXNet computed; fails where its files give other values."""
    import loomix as mx

    found = {}
    for how in ("eager",) if case.mxnet == "eager" else ("eager", "hybrid"):
        theirs = dict(np.load(f"{start}-{how}.npz"))
        found.update(
            (f"{how} {key}", value) for key, value in cases.differences(results[how], theirs).items()
        )
    for ending in ("-theirs.params", "-theirs-old.params"):
        if not Path(start + ending.replace("-theirs", "")).exists():
            continue  # its names do not begin with the block's
        block = case.make(mx.gluon)
        block.load_parameters(start + ending)
        for key, value in cases.states_of(block).items():
            assert (value == results["states"][key]).all(), f"{key} of {ending}"
    if "out" in results:
        out = {"out": results["out"]}
        found.update(cases.differences(out, dict(np.load(start + "-imported.npz"))))
        if case.mxnet == "eager":
            return found
        arrays = [mx.nd.array(array) for array in case.arrays()]
        names = ["data"] if len(arrays) == 1 else [f"data{i}" for i in range(len(arrays))]
        files = start + "-theirs-symbol.json", names, start + "-theirs-0000.params"
        imported = {"out": mx.gluon.SymbolBlock.imports(*files)(*arrays).asnumpy()}
        found["imported"] = max(cases.differences(imported, out).values())
    return found


def compare(mxnet, names):
    """Prints a line a case; returns how many differ."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        written = {name: write(name, str(folder / name)) for name in names}
        subprocess.run(
            [mxnet, "-W", "ignore", str(Path(cases.__file__)), str(folder), *names],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        for name in names:
            wrong_there = cases.CASES[name].wrong_there
            failed = folder / f"{name}-failed.txt"
            if failed.exists():
                wrong += 1
                print(f"{name:28} MXNet fails: {failed.read_text().strip().splitlines()[-1]}", flush=True)
                continue
            try:
                found = read(cases.CASES[name], str(folder / name), written[name])
            except (ValueError, AssertionError) as error:
                wrong += 1
                print(f"{name:28} {error}", flush=True)
                continue
            found = {key: value for key, value in found.items() if not re.match(wrong_there, key)}
            key = max(found, key=found.get)
            wrong += found[key] > TOLERANCE
            print(f"{name:28} {found[key]:.1e}  ({key} of {len(found)})", flush=True)
    return wrong


def main():
    """Command line."""
    warnings.simplefilter("ignore")
    mxnet, *names = sys.argv[1:]
    names = names or [name for name, case in cases.CASES.items() if case.mxnet]
    wrong = 0
    small = [name for name in names if name not in cases.NETWORKS]
    if small:
        wrong += compare(mxnet, small)
    for name in names:
        if name in cases.NETWORKS:
            wrong += compare(mxnet, [name])
    print(f"{wrong} of {len(names)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
