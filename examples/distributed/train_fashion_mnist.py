#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains LeNet on Fashion-MNIST with several workers; README.md says how to start it.

    python -m loomix launch -n 4 -s 2 python examples/distributed/train_fashion_mnist.py

Each worker reads its share of the data and pushes its gradients; the servers add them up and update the
weights. A worker that is started again goes on where it was.
"""

import argparse
import logging
import os
from pathlib import Path

# The same number of threads for the same work, so that sums are rounded alike in every run.
os.environ.setdefault("LOOMIX_ENFORCE_DETERMINISM", "1")

import loomix as mx


def lenet():
    """LeNet with rectifiers and without dropout."""
    net = mx.sym.Variable("data")
    for number, filters in enumerate((20, 50), start=1):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters, name=f"conv{number}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{number}")
        net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{number}")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=500, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu3")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def batches(options, part, count=1, index=0):
    """Part ``train`` or ``t10k`` of the data: share ``index`` of ``count``."""
    paths = [options.data_dir / f"{part}-{kind}-ubyte" for kind in ("images-idx3", "labels-idx1")]
    images, labels = (str(path if path.exists() else f"{path}.gz") for path in paths)
    return mx.io.MNISTIter(
        images,
        labels,
        batch_size=options.batch_size,
        shuffle=part == "train",
        seed=options.seed,
        num_parts=count,
        part_index=index,
    )


class GoesOn(mx.io.DataIter):
    """An iterator whose first epoch begins after ``skip`` batches."""

    def __init__(self, data, skip):
        super().__init__(data.batch_size)
        self.data, self.skip = data, skip
        self.provide_data, self.provide_label = data.provide_data, data.provide_label

    def reset(self):
        self.data.reset()

    def next(self):
        while self.skip > 0:
            self.skip -= 1
            self.data.next()
        return self.data.next()


def settings(options, workers, pushes=None):
    """The optimizer's; ``pushes`` is how many each worker makes in all.

    A push in ``dist_sync`` is one of all workers together. Else each counts alone, with its share of the rate. It is
    made from weights that have changed since, most of all at the beginning, and a constant rate keeps that error alive.
    So the rate grows over the first tenth of all pushes, and falls to zero by a cosine.
    """
    waits = options.kvstore not in ("dist_async", "dist_ssp")
    together = workers if waits else 1
    result = {
        "learning_rate": options.lr * together / workers,
        "momentum": options.momentum,
        "wd": 1e-4,
        "rescale_grad": 1.0 / (options.batch_size * together),
    }
    if not waits:
        result["lr_scheduler"] = mx.lr_scheduler.CosineScheduler(
            max_update=pushes * workers,
            base_lr=result["learning_rate"],
            final_lr=0,
            warmup_steps=pushes * workers // 10,
        )
    return result


def train(options):
    """Trains as a worker of the cluster; returns the module and the store."""
    mx.random.seed(options.seed)
    store = mx.kv.create(options.kvstore)
    data = batches(options, "train", store.num_workers, store.rank)
    steps = sum(1 for _ in data)
    data.reset()
    module = mx.mod.Module(lenet())
    module.bind(data.provide_data, data.provide_label)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(store, "sgd", settings(options, store.num_workers, steps * options.epochs))
    done = store.pushes("fc2_bias")
    if done:
        print(f"goes on after step {done}", flush=True)
    progress = [mx.callback.Speedometer(options.batch_size, 100, auto_reset=False)] if store.rank == 0 else []
    module.fit(
        GoesOn(data, done % steps),
        kvstore=store,
        eval_metric=["acc", "ce"],
        batch_end_callback=[*progress, *options.callbacks],
        begin_epoch=done // steps,
        num_epoch=options.epochs,
    )
    return module, store


def parse(arguments=None):
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--kvstore", default="dist_sync", help="dist_sync, dist_async or dist_ssp")
    add("--epochs", type=int, default=3)
    add("--batch-size", type=int, default=32, help="of each worker")
    add(
        "--lr",
        type=float,
        default=0.05,
        help="for the batch of all workers together (0.05); with dist_async and dist_ssp each worker's part of it, "
        "which grows over the first tenth of the pushes and falls to zero by a cosine",
    )
    add("--momentum", type=float, default=0.9)
    add("--seed", type=int, default=1)
    add("--data-dir", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    add("--save", type=Path, help="file for the parameters")
    options = parser.parse_args(arguments)
    options.callbacks = []
    return options


def main():
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    options = parse()
    module, store = train(options)
    if store.rank == 0:
        accuracy = dict(module.score(batches(options, "t10k"), "acc"))["accuracy"]
        print(f"validation accuracy: {accuracy:.4f}")
        if options.save:
            module.save_params(str(options.save))


if __name__ == "__main__":
    main()
