# SPDX-License-Identifier: Apache-2.0
"""Sums of all ranks, in place: our groups over MPI and over the network, beside MPI_Allreduce and gloo. All run in
turn; the fastest of the rounds counts, where a time is that of the slowest rank.

    python benchmarks/groups/all_reduce.py --ranks 2 --bytes 100000000 --torch PYTHON

``--torch`` names a Python that has PyTorch, for gloo. Without it, or without mpicc, their lines are left out. Ours
needs ``ninja -C build bench_groups loomix_mpi loomix_network``.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import socket
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent
OURS = HERE.parents[1] / "build/benchmarks/bench_groups"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
GLOO = """
import sys, time
import torch
import torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
data = torch.ones(int(sys.argv[1]) // 4)
best = float("inf")
for turn in range(int(sys.argv[2]) + 1):
    dist.barrier()
    begin = time.perf_counter()
    dist.all_reduce(data)
    taken = torch.tensor([time.perf_counter() - begin], dtype=torch.float64)
    dist.all_reduce(taken, dist.ReduceOp.MAX)
    if turn:
        best = min(best, float(taken))
if dist.get_rank() == 0:
    print("seconds", best, flush=True)
"""


def seconds_in(text: str) -> float:
    line = next((line for line in text.splitlines() if line.startswith("seconds")), None)
    if line is None:
        raise RuntimeError(f"no time was printed:\n{text}")
    return float(line.split()[1])


def under_mpi(ranks: int, command: list[str]) -> float:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    line = [*MPIRUN, "-n", str(ranks), *command]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=300)
    return seconds_in(done.stdout + done.stderr)


def by_variables(ranks: int, command: list[str]) -> float:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    environment["WORLD_SIZE"] = str(ranks)
    processes = [
        subprocess.Popen(command, env=environment | {"RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
        for rank in range(ranks)
    ]
    return seconds_in("".join(process.communicate(timeout=300)[0] for process in processes))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--bytes", type=int, default=100_000_000)
    parser.add_argument(
        "--times", type=int, default=5, help="sums of a run; the first one more does not count"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--torch", metavar="PYTHON")
    given = parser.parse_args()
    sizes = [str(given.bytes), str(given.times)]
    with tempfile.TemporaryDirectory() as folder:
        peer = f"{folder}/peer"
        compiled = subprocess.run(
            ["mpicc", "-O2", HERE / "peer_all_reduce.c", "-o", peer], capture_output=True
        )
        runs = {
            "Loomix, MPI": (under_mpi, [str(OURS), "mpi", *sizes]),
            "Loomix, network": (by_variables, [str(OURS), "network", *sizes]),
        }
        if compiled.returncode == 0:
            runs["MPI_Allreduce"] = (under_mpi, [peer, *sizes])
        if given.torch:
            runs["gloo"] = (by_variables, [given.torch, "-c", GLOO, *sizes])
        best: dict[str, float] = {}
        for _ in range(given.rounds):
            for name, (start, command) in runs.items():
                found = start(given.ranks, command)
                best[name] = min(found, best.get(name, found))
    for name, found in best.items():
        print(f"{name:<18}{found * 1e3:>9.1f} ms{given.bytes / found / 1e9:>8.2f} GB/s")


if __name__ == "__main__":
    main()
