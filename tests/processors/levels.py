# SPDX-License-Identifier: Apache-2.0
"""Random convolutions and networks at each level of instructions that this processor has, by each way to run them.

`levels.py --geometries 300 --networks all --time`: the results of all levels and ways agree, no primitive of oneDNN
runs by its loops for reference, and, with `--time`, what runs by default takes at most 1.2 times as long as the fastest
way, in processor time of one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
LEVELS = ("sse41", "avx2", "avx512", "avx512_bf16")
WAYS = {  # how the worker's process runs its graphs
    "default": {},
    "plain": {"LOOMIX_CHOOSE_LAYOUT": "0"},
    "gemm": {"LOOMIX_DNNL": "0"},
}
NETWORKS = (
    "lenet",
    "alexnet",
    "googlenet",
    "inception_bn",
    "mobilenet_v2_1.0",
    "resnet18_v1",
    "squeezenet_1.1",
    "vgg16",
)
CLOSE = 1e-4  # of the largest number: sums of some 10,000 products in another order, and by Winograd's method
# Of the root of the mean square, for gradients of whole networks: where a maximum or a sign falls the other way by
# rounding, single elements differ as much as they are large.
CLOSE_IN_NETWORKS = 0.1
MOST_TIME = 1.2
SMALL_MS = 0.1  # differences below this are the executor's


def worker(level: str, way: str, folder: Path, least: int, names: list[str]) -> tuple[dict, list[str]]:
    """What the cases said by their names, and the lines of oneDNN's that tell of loops for reference."""
    folder.mkdir(parents=True)
    environment = os.environ | {"LOOMIX_MAX_CPU_ISA": level, "ONEDNN_VERBOSE": "1"} | WAYS[way]
    if least:
        environment |= {"MXNET_ENGINE_TYPE": "NaiveEngine", "LOOMIX_CPU_WORKER_NTHREADS": "1"}
    done = subprocess.run(
        [sys.executable, HERE / "worker.py", folder, str(least), *names],
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise SystemExit(f"{level}, {way}: {done.stderr[-4000:]}")
    said, slow = {}, []
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            case = json.loads(line)
            said[case["case"]] = case
        elif line.startswith(("onednn_verbose,exec", "dnnl_verbose,exec")):
            words = line.split(",")
            if words[4].startswith(("ref", "simple")):
                slow.append(",".join(words[3:-1]))
    return said, slow


def difference(one: Path, other: Path, norm) -> float:
    """That of the arrays which differ most, as a part of the first one's."""
    worst = 0.0
    with np.load(one) as a, np.load(other) as b:
        assert a.files == b.files
        sizes = {name: norm(a[name].astype("float64")) for name in a.files}
        least = max(sizes.values()) * 1e-4 or 1  # gradients that are zero but for rounding
        for name in a.files:
            gap = norm(a[name].astype("float64") - b[name]) / max(sizes[name], least)
            worst = max(worst, float(gap) if np.isfinite(gap) else np.inf)
    return worst


def largest(array):
    return np.abs(array).max(initial=0)


def root_mean_square(array):
    return np.sqrt(np.square(array).mean()) if array.size else 0


def slower(level: str, said: dict[str, dict], scratch: Path) -> list[str]:
    """The cases whose default takes longer than another way, however often they are measured again."""
    for again in range(4):
        found = {}
        for case, of in said["default"].items():
            best, way = min((said[way][case]["ms"], way) for way in said)
            if of["ms"] > MOST_TIME * best + SMALL_MS:
                found[case] = f"{level}: {case} takes {of['ms']:.2f} ms, {way} {best:.2f}: {of['what']}"
        if not found or again == 3:
            return list(found.values())
        names = sorted({case.rpartition("-")[0] for case in found})
        for way, cases in said.items():
            folder = scratch / level / f"{way}-{again}"
            for case, of in worker(level, way, folder, 15, names)[0].items():
                cases[case]["ms"] = min(cases[case]["ms"], of["ms"])
    return []


def has_level(level: str) -> bool:
    done = subprocess.run(
        [sys.executable, "-c", "import loomix as mx; mx.nd.ones(1)"],
        env=os.environ | {"LOOMIX_MAX_CPU_ISA": level},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0 and "LOOMIX_MAX_CPU_ISA" not in done.stderr:
        raise SystemExit(done.stderr)
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--geometries", type=int, default=12, help="how many random convolutions")
    parser.add_argument("--first", type=int, default=0, help="the first one's seed")
    parser.add_argument("--networks", nargs="*", default=["lenet"], help="names; all; zoo for Gluon's, too")
    parser.add_argument("--levels", nargs="*", default=LEVELS)
    parser.add_argument("--time", action="store_true", help="compares the ways' times, too")
    options = parser.parse_args()
    names = [str(options.first + i) for i in range(options.geometries)]
    for name in options.networks:
        if name == "zoo":
            from loomix.gluon.model_zoo.vision import _models

            names += [f"zoo_{of}" for of in sorted(_models)]
        else:
            names += NETWORKS if name == "all" else [name]
    ways = WAYS if options.time else ["default", "gemm"]
    failures = []
    with tempfile.TemporaryDirectory() as scratch:
        oracle = None
        for level in options.levels:
            if not has_level(level):
                print(f"{level}: this processor lacks it")
                continue
            said = {}
            for way in ways:
                folder = Path(scratch) / level / way
                said[way], slow = worker(level, way, folder, 7 if options.time else 0, names)
                failures += [f"{level}, {way}: loops for reference: {line}" for line in sorted(set(slow))]
                oracle = oracle or folder
                for case in said[way]:
                    is_deep = case.endswith("-training") and not case[0].isdigit() and case[:5] != "lenet"
                    norm, close = (root_mean_square, CLOSE_IN_NETWORKS) if is_deep else (largest, CLOSE)
                    gap = difference(oracle / f"{case}.npz", folder / f"{case}.npz", norm)
                    if not gap <= close:
                        failures.append(
                            f"{level}, {way}: {case} differs by {gap:.2g}: {said[way][case]['what']}"
                        )
            if options.time:
                failures += slower(level, said, Path(scratch))
            print(f"{level}: {len(said['default'])} cases, {len(failures)} failures so far", flush=True)
    print("\n".join(failures))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
