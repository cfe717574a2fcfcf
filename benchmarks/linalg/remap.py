# SPDX-License-Identifier: Apache-2.0
"""An n by n matrix of float32 goes from rows to columns: Matrix.remap, beside MPI_Alltoallv with the same bytes, alone
and with the copies that bring the blocks together. All run in turn; the fastest of the rounds counts.

    python benchmarks/linalg/remap.py --ranks 2 --size 4096
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile

from gemm import MPIRUN, dtensor, seconds

HERE = pathlib.Path(__file__).parent


def worker(size: int, times: int) -> None:
    """One rank: its fastest remap."""
    import time

    from loomix import parallel

    a = parallel.Matrix.random((size, size), "rows", seed=1)
    a.wait_to_read()
    best = float("inf")
    for turn in range(times + 1):
        parallel.barrier()
        begin = time.perf_counter()
        b = a.remap("columns")
        b.wait_to_read()
        parallel.barrier()
        if turn:
            best = min(best, time.perf_counter() - begin)
        del b
    if parallel.rank() == 0:
        print("seconds", best)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument(
        "--times", type=int, default=20, help="remaps of a run; the first one more does not count"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--torch", metavar="PYTHON", help="a Python that has PyTorch, for its DTensor")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        return worker(given.size, given.times)
    if given.size % given.ranks:
        parser.error(f"--size {given.size} on {given.ranks} ranks; expected equal parts")
    on_ranks = [*MPIRUN, "-n", str(given.ranks)]
    numbers = ["--size", str(given.size), "--times", str(given.times)]
    runs = {"Matrix.remap": [*on_ranks, sys.executable, __file__, "--worker", *numbers]}
    with tempfile.TemporaryDirectory() as folder:
        peer = f"{folder}/peer_all_to_all"
        compiler = ["mpicc", "-O2", str(HERE / "peer_all_to_all.c"), "-o", peer]
        if subprocess.run(compiler, capture_output=True).returncode == 0:
            for kind in ("plain", "packed"):
                runs[f"MPI_Alltoallv, {kind}"] = [*on_ranks, peer, kind, str(given.size), str(given.times)]
        if given.torch:
            runs["PyTorch's DTensor"] = dtensor(
                given.torch, given.ranks, "remap", "float32", given.size, given.times
            )
        best: dict[str, float] = {}
        for _ in range(given.rounds):
            for name, command in runs.items():
                found, _ = seconds(command, 1)
                best[name] = min(found, best.get(name, found))
    for name, found in best.items():
        print(f"{name:<24}{found * 1e3:>10.2f} ms{found / best['Matrix.remap']:>8.2f} x Matrix.remap's time")


if __name__ == "__main__":
    main()
