# SPDX-License-Identifier: Apache-2.0
"""The peer of gemm.py and remap.py: PyTorch's DTensor on gloo, one rank of those that mpirun started. Runs in an
environment that has PyTorch. Prints seconds of the fastest of ``times``.

peer_dtensor.py dot|remap float32|float64 n times port
"""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh


def main() -> None:
    what, dtype, size, times, port = sys.argv[1], getattr(torch, sys.argv[2]), *map(int, sys.argv[3:6])
    rank, ranks = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)
    mesh = init_device_mesh("cpu", (ranks,))
    torch.manual_seed(1)
    a, b = (distribute_tensor(torch.rand(size, size, dtype=dtype), mesh, [Shard(0)]) for _ in range(2))
    best = float("inf")
    for turn in range(times + 1):
        dist.barrier()
        begin = time.perf_counter()
        c = (
            torch.mm(a, b).redistribute(mesh, [Shard(0)])
            if what == "dot"
            else a.redistribute(mesh, [Shard(1)])
        )
        c.to_local()
        dist.barrier()
        if turn:
            best = min(best, time.perf_counter() - begin)
    if rank == 0:
        print("seconds", best)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
