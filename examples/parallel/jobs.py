# SPDX-License-Identifier: Apache-2.0
"""Trains a small network with several learning rates, a job each, on whatever processes are free.

python jobs.py                     # this process, one after the other
python jobs.py --by ray            # Ray's processes (pip install ray)
python jobs.py --by dask           # those of a Dask cluster on this machine (pip install "dask[distributed]")
mpirun -n 4 python jobs.py --by mpi    # ranks of MPI (pip install mpi4py)
"""

import argparse

import loomix as mx
from loomix import parallel
from loomix.gluon import nn


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--by", choices=["mpi", "ray", "dask", "here"], default="here")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="10 steps")
    return parser.parse_args()


class Train:
    """A job: called with a learning rate, gives the last loss. What a job needs is in it, as it runs elsewhere."""

    def __init__(self, steps):
        self.steps = steps

    def __call__(self, rate):
        inputs = mx.nd.random.normal(shape=(64, 10))
        wanted = (inputs.sum(axis=1, keepdims=True) > 0).astype("float32")
        net = nn.HybridSequential()
        net.add(nn.Dense(16, activation="relu"), nn.Dense(1))
        net.initialize()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate})
        loss = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
        for _ in range(self.steps):
            with mx.autograd.record():
                value = loss(net(inputs), wanted)
            value.backward()
            trainer.step(64)
        return float(value.mean().asscalar())


def main():
    args = parse_args()
    mx.random.seed(5)  # one is enough: each job's seed depends on this, and on its number
    rates = [0.01, 0.1, 0.3, 1.0]
    client = None
    if args.by == "dask":
        from dask.distributed import Client

        client = Client(n_workers=2, threads_per_worker=1)
    losses = parallel.map(Train(10 if args.quick else args.steps), rates, by=args.by)
    if parallel.rank() == 0:
        for rate, value in zip(rates, losses):
            print(f"learning rate {rate}: loss {value:.4f}")
    if client is not None:
        client.close()


if __name__ == "__main__":
    main()
