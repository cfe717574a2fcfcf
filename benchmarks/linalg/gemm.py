# SPDX-License-Identifier: Apache-2.0
"""Products of n by n matrices: mx.parallel on ranks with one thread each, beside ScaLAPACK's p?gemm on as many, and
OpenBLAS with as many threads in one process. All run in turn; the fastest of the rounds counts. With ``--torch`` and
a Python that has PyTorch, its DTensor (gloo) is there, too.

    python benchmarks/linalg/gemm.py --ranks 2 --size 4096 --dtype float --torch PATH/bin/python

ScaLAPACK is Debian's libscalapack-openmpi-dev. Without it, or without mpicc, its column is left out.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]


def worker(size: int, dtype: str, times: int, algorithm: str | None) -> None:
    """One rank: its fastest product."""
    import time

    from loomix import parallel

    parallel.set_cache(0)  # each product for itself
    a = parallel.Matrix.random((size, size), "rows", dtype, seed=1)
    b = parallel.Matrix.random((size, size), "rows", dtype, seed=2)
    best = float("inf")
    for turn in range(times + 1):
        parallel.barrier()
        begin = time.perf_counter()
        a.dot(b, algorithm=algorithm).wait_to_read()
        parallel.barrier()
        if turn:
            best = min(best, time.perf_counter() - begin)
    if parallel.rank() == 0:
        print("seconds", best, a.explain_dot(b, algorithm=algorithm).splitlines()[2])


def dtensor(python: str, ranks: int, what: str, dtype: str, size: int, times: int) -> list[str]:
    """The command of PyTorch's DTensor."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    numbers = [str(size), str(times), str(port)]
    return [*MPIRUN, "-n", str(ranks), python, str(HERE / "peer_dtensor.py"), what, dtype, *numbers]


def seconds(command: list[str], threads: int) -> tuple[float, str]:
    """What a program prints: its seconds, and what follows."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    line = next((line for line in done.stdout.splitlines() if line.startswith("seconds")), None)
    if line is None:
        raise RuntimeError(f"{command} printed no time:\n{done.stdout}{done.stderr}")
    _, number, *rest = line.split()
    return float(number), " ".join(rest)


def compiled(folder: str) -> str | None:
    """The program of the peers; None where it does not compile."""
    path = f"{folder}/peer_gemm"
    command = [
        "mpicc",
        "-O2",
        str(HERE / "peer_gemm.c"),
        "-o",
        path,
        "-lscalapack-openmpi",
        "-lopenblas",
        "-lm",
    ]
    return path if subprocess.run(command, capture_output=True).returncode == 0 else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--dtype", choices=["float", "double"], default="float")
    parser.add_argument(
        "--times", type=int, default=3, help="products of a run; the first one more does not count"
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--blocks", type=int, nargs="+", default=[64, 128, 256], help="of ScaLAPACK")
    parser.add_argument("--algorithm", help="of mx.parallel; by default the one that it chooses")
    parser.add_argument("--torch", metavar="PYTHON", help="a Python that has PyTorch, for its DTensor")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    ours = "float64" if given.dtype == "double" else "float32"
    if given.worker:
        return worker(given.size, ours, given.times, given.algorithm)
    with tempfile.TemporaryDirectory() as folder:
        peer = compiled(folder)
        on_ranks = [*MPIRUN, "-n", str(given.ranks)]
        worker_line = [
            sys.executable,
            __file__,
            "--worker",
            "--size",
            str(given.size),
            "--dtype",
            given.dtype,
        ]
        worker_line += ["--times", str(given.times)]
        worker_line += ["--algorithm", given.algorithm] if given.algorithm else []
        runs = {"mx.parallel": ([*on_ranks, *worker_line], 1)}
        if peer:
            sizes = [given.dtype, str(given.size)]
            for block in given.blocks:
                line = [*on_ranks, peer, "scalapack", *sizes, str(block), str(given.times)]
                runs[f"ScaLAPACK, blocks of {block}"] = (line, 1)
            line = [*MPIRUN, "-n", "1", peer, "openblas", *sizes, "0", str(given.times)]
            runs[f"OpenBLAS, {given.ranks} threads"] = (line, given.ranks)
        if given.torch:
            line = dtensor(given.torch, given.ranks, "dot", ours, given.size, given.times)
            runs["PyTorch's DTensor"] = (line, 1)
        best: dict[str, float] = {}
        for _ in range(given.rounds):
            for name, (command, threads) in runs.items():
                found, how = seconds(command, threads)
                best[name] = min(found, best.get(name, found))
                if how:
                    print(f"{name}: {how}")
    for name, found in best.items():
        print(f"{name:<28}{found * 1e3:>10.1f} ms{2e-9 * given.size**3 / found:>10.1f} GFLOP/s", end="")
        print(f"{found / best['mx.parallel']:>8.2f} x mx.parallel's time")


if __name__ == "__main__":
    main()
