#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A convolutional network on Fashion-MNIST, trained by four workers; two servers hold the weights.

    python examples/gluon/distributed.py             # two minutes on two cores
    python examples/gluon/distributed.py --quick     # some seconds, no data needed

It starts a cluster on this machine: the line below, which also stands for more machines (docs/distributed.md).

    python -m loomix launch -n 4 -s 2 python examples/gluon/distributed.py

Each worker reads its share of the images. `Trainer` sends the gradients to the servers, which add them up, make the
step and give the new weights back. The first worker tests the network after each epoch, and saves the parameters, and a
plot of losses and accuracies.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import loomix as mx
import numpy as np
import pictures
from loomix import autograd, gluon
from loomix.gluon import nn

try:
    import matplotlib  # noqa: F401 - for the plot at the end, but missed now
except ModuleNotFoundError as error:
    raise SystemExit(f"This example needs {error.name}: pip install matplotlib") from None


def network():
    """Two convolutions with pools, and two dense layers."""
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        for channels in (16, 32):
            net.add(nn.Conv2D(channels, 5, padding=2, activation="relu"), nn.MaxPool2D())
        net.add(nn.Dense(128, activation="relu"), nn.Dense(10))
    return net


def accuracy(net, images, labels):
    """The share of images whose class has the highest score."""
    right = 0
    for begin in range(0, len(images), 500):
        scores = net(mx.nd.array(images[begin : begin + 500]))
        right += int((scores.argmax(axis=1).asnumpy() == labels[begin : begin + 500]).sum())
    return right / len(images)


def train(options):
    """Trains as one of the workers; returns the accuracy on the test images, which the first one finds."""
    store = mx.kv.create("dist_sync")
    rank, workers = store.rank, store.num_workers
    (images, labels), test = pictures.bars() if options.quick else pictures.clothes(options.data_dir)
    share = len(images) // workers  # as much for each, as all of them push each step
    images, labels = images[rank * share : (rank + 1) * share], labels[rank * share : (rank + 1) * share]
    loader = gluon.data.DataLoader(
        gluon.data.ArrayDataset(images, labels), options.batch_size, shuffle=True, last_batch="discard"
    )
    mx.random.seed(1)
    net = network()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    steps = options.epochs * len(loader)
    schedule = mx.lr_scheduler.CosineScheduler(steps, base_lr=options.lr, warmup_steps=steps // 10)
    settings = {"momentum": 0.9, "wd": 1e-4, "lr_scheduler": schedule}
    trainer = gluon.Trainer(net.collect_params(), "sgd", settings, kvstore=store)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    losses, accuracies = [], []
    for epoch in range(options.epochs):
        began, values = time.perf_counter(), []
        for data, label in loader:
            with autograd.record():
                value = loss(net(data), label)
            value.backward()
            trainer.step(options.batch_size * workers)  # the servers add up the gradients of all
            values.append(value.mean())
        losses.append(float(sum(value.asscalar() for value in values)) / len(loader))
        if rank == 0:
            accuracies.append(accuracy(net, *test))
            speed = workers * len(loader) * options.batch_size / (time.perf_counter() - began)
            print(
                f"epoch {epoch + 1}: loss {losses[-1]:.3f} of the first worker's images, "
                f"accuracy {accuracies[-1]:.4f}, {speed:.0f} images/s with the test",
                flush=True,
            )
    if rank == 0:
        options.output.mkdir(parents=True, exist_ok=True)
        net.save_parameters(str(options.output / "distributed.params"))
        epochs = np.arange(options.epochs) + 1
        curves = {"loss of the first worker": losses, "accuracy on test images": accuracies}
        pictures.save_curves(
            {title: {f"{workers} workers": (epochs, values)} for title, values in curves.items()},
            options.output / "distributed.png",
            xlabel="epoch",
        )
        print(f"accuracy: {accuracies[-1]:.4f} with {workers} workers; saved to {options.output}")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--workers", type=int, default=4, help="where this program starts the cluster")
    add("--servers", type=int, default=2)
    add("--epochs", type=int, default=4)
    add("--batch-size", type=int, default=32, help="of each worker")
    add("--lr", type=float, default=0.02, help="the highest rate, for the batch of all workers together")
    add("--quick", action="store_true", help="bright bars instead of clothes, 8 batches an epoch")
    add("--data-dir", type=Path, help="folder of Fashion-MNIST")
    add("--output", type=Path, default=Path("out/gluon"))
    options = parser.parse_args(arguments)
    if "DMLC_ROLE" in os.environ:  # one of the cluster's processes
        train(options)
        return
    own = [sys.executable, str(Path(__file__).resolve()), *(sys.argv[1:] if arguments is None else arguments)]
    launch = ["-m", "loomix", "launch", "-n", str(options.workers), "-s", str(options.servers)]
    os.execv(sys.executable, [sys.executable, *launch, *own])


if __name__ == "__main__":
    main()
