# SPDX-License-Identifier: Apache-2.0
"""What the examples share: options, a training loop, made data, and a plot."""

import argparse

import loomix as mx
import numpy as onp
from loomix import autograd, gluon, np, npx

npx.set_np()


def options(description, epochs):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--hybridize", action="store_true", help="compile the network")
    parser.add_argument("--picture", metavar="PNG", help="where to plot the loss (needs matplotlib)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    mx.random.seed(args.seed)
    return args


def train(net, loss, batches, args, optimizer="adam", **settings):
    """Trains on a list of batches (inputs, labels), where inputs is an array or a tuple; returns the epochs' losses."""
    net.initialize(mx.init.Xavier())
    if args.hybridize:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), optimizer, settings)
    losses = []
    for epoch in range(args.epochs):
        total = 0.0
        for inputs, labels in batches:
            with autograd.record():
                value = loss(net(*inputs) if isinstance(inputs, tuple) else net(inputs), labels).mean()
            value.backward()
            trainer.step(1)
            total = total + value.detach()
        losses.append(float(total) / len(batches))
        print(f"epoch {epoch + 1}: loss {losses[-1]:.4f}")
    if args.picture:
        plot(losses, args.picture)
    return losses


def split(arrays, size):
    """Batches of (inputs, labels) of a pair of official NumPy's arrays."""
    inputs, labels = arrays
    starts = range(0, len(labels), size)
    return [(np.array(inputs[i : i + size]), np.array(labels[i : i + size])) for i in starts]


def bars(count=512, size=16, seed=0):
    """Pictures of noise with a bright bar, whose row is the label: images (count, 1, size, size), labels."""
    rng = onp.random.RandomState(seed)
    labels = rng.randint(0, 10, count)
    images = rng.uniform(0, 0.3, (count, 1, size, size)).astype("float32")
    for image, label in zip(images, labels):
        image[0, label + 3, 2:-2] = 0.9
    return images, labels.astype("float32")


def accuracy(net, batches):
    right = sum(float((net(x).argmax(axis=1) == y).sum()) for x, y in batches)
    return right / sum(len(y) for _, y in batches)


def plot(losses, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    figure, axis = plt.subplots(figsize=(4.5, 3.5))
    axis.plot(range(1, len(losses) + 1), losses, marker="o")
    axis.set_xlabel("epoch")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_ylabel("loss")
    figure.tight_layout()
    figure.savefig(path)
