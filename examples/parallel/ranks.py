# SPDX-License-Identifier: Apache-2.0
"""Ranks that Ray or Dask starts: a product of matrices that lie on them, without MPI.

python ranks.py --by ray
python ranks.py --by dask
"""

import argparse
import os
import socket


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--by", choices=["ray", "dask"], required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--size", type=int, default=500)
    return parser.parse_args()


def run_rank(rank, ranks, address, port, size):
    """The program of one rank. It says where all meet before it uses the first matrix."""
    names = {"RANK": rank, "WORLD_SIZE": ranks, "MASTER_ADDR": address, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in names.items()})
    from loomix.parallel import Matrix

    a = Matrix.random((size, size), "rows", seed=1)
    return float(a.dot(a, transpose_b=True).norm().asscalar())


class Rank:
    """An actor of Ray's, which is a process of its own."""

    def run(self, *arguments):
        return run_rank(*arguments)


def meeting_place():
    """An address of this machine, where rank 0 runs too, and a port that is free there."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return "127.0.0.1", found.getsockname()[1]


def by_ray(ranks, size):
    import ray

    ray.init()
    address, port = meeting_place()
    processes = [ray.remote(num_cpus=0.5)(Rank).remote() for _ in range(ranks)]
    return ray.get([one.run.remote(rank, ranks, address, port, size) for rank, one in enumerate(processes)])


def by_dask(ranks, size):
    from dask.distributed import Client

    with Client(n_workers=ranks, threads_per_worker=1) as client:
        address, port = meeting_place()
        workers = list(client.scheduler_info()["workers"])
        waiting = [
            client.submit(run_rank, rank, ranks, address, port, size, workers=workers[rank], pure=False)
            for rank in range(ranks)
        ]
        return client.gather(waiting)


def main():
    args = parse_args()
    norms = (by_ray if args.by == "ray" else by_dask)(args.ranks, args.size)
    print(f"each of {args.ranks} ranks has the norm {norms}")


if __name__ == "__main__":
    main()
