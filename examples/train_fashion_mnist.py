#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a network on Fashion-MNIST, with checkpoints, a progress bar and a learning curve.

    python examples/train_fashion_mnist.py --network lenet --epochs 10
    python examples/train_fashion_mnist.py --network lenet --epochs 10 --resume

A checkpoint after each epoch holds the parameters, the optimizer's states, the states of all random
generators and the order of the data, so that a resumed run gives the same bits as one that was never
interrupted.
"""

import argparse
import gzip
import json
import logging
import os
import re
import sys
from pathlib import Path

import numpy as np

# The same number of threads for the same work, so that sums are rounded alike in every run.
os.environ.setdefault("LOOMIX_ENFORCE_DETERMINISM", "1")

import loomix as mx

try:
    import matplotlib  # noqa: F401 - for the images at the end, but missed now
    from tqdm import tqdm
except ModuleNotFoundError as error:
    raise SystemExit(f"This example needs {error.name}: pip install tqdm matplotlib") from None

MEAN, SPREAD = 0.2860, 0.3530  # of the training pixels, scaled to 0..1


def mlp():
    """784-256-128-10 with rectifiers."""
    net = mx.sym.Flatten(mx.sym.Variable("data"))
    for number, width in enumerate((256, 128), start=1):
        net = mx.sym.FullyConnected(net, num_hidden=width, name=f"fc{number}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{number}")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc3")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def lenet():
    """LeNet with rectifiers: two convolutions with pooling, two fully connected layers with dropout
    between."""
    net = mx.sym.Variable("data")
    for number, filters in enumerate((20, 50), start=1):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters, name=f"conv{number}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{number}")
        net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{number}")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=500, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu3")
    net = mx.sym.Dropout(net, p=0.3, name="dropout")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


NETWORKS = {"mlp": mlp, "lenet": lenet}


def read_idx(path):
    """The bytes of an idx file (big-endian header, perhaps compressed) as an array."""
    if not path.exists() and path.with_name(path.name + ".gz").exists():
        path = path.with_name(path.name + ".gz")
    if not path.exists():
        sys.exit(f"{path} is missing. On Debian: apt install dataset-fashion-mnist; else give --data-dir.")
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        content = file.read()
    dims = content[3]
    shape = np.frombuffer(content, ">i4", dims, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dims).reshape(shape)


def batches(folder, part, batch_size, shuffle):
    """An iterator over the part ``train`` or ``t10k`` of the data."""
    images = read_idx(folder / f"{part}-images-idx3-ubyte")
    labels = read_idx(folder / f"{part}-labels-idx1-ubyte")
    pixels = ((images.astype(np.float32) / 255 - MEAN) / SPREAD)[:, None]
    return mx.io.NDArrayIter(pixels, labels.astype(np.float32), batch_size, shuffle=shuffle)


class Checkpoints:
    """Files ``PREFIX-symbol.json``, ``PREFIX-0001.params``, ``.states`` and ``.run.json`` for each epoch."""

    def __init__(self, prefix, module, train):
        self.prefix, self.module, self.train = prefix, module, train
        self.history = []

    @staticmethod
    def last_epoch(prefix):
        """The newest epoch whose files are complete, or 0."""
        numbers = [
            re.search(r"-(\d{4,})\.run\.json$", path.name) for path in prefix.parent.glob(prefix.name + "-*")
        ]
        return max((int(number[1]) for number in numbers if number), default=0)

    def save(self, epoch):
        """Saves everything; the ``.run.json`` comes last, so that it stands for a complete checkpoint."""
        self.module.save_checkpoint(str(self.prefix), epoch, save_optimizer_states=True)
        run = {
            "random": mx.random.get_state(),
            "data": self.train.get_state(),
            "history": self.history,
        }
        path = self.prefix.with_name(f"{self.prefix.name}-{epoch:04d}.run.json")
        path.write_text(json.dumps(run))

    def restore(self, epoch):
        """Takes up order, generators and history; parameters and optimizer are loaded with the module."""
        path = self.prefix.with_name(f"{self.prefix.name}-{epoch:04d}.run.json")
        run = json.loads(path.read_text())
        self.history = run["history"]
        self.train.set_state(run["data"])
        mx.random.set_state(run["random"])
        self.train.reset()  # what training does after it saved the checkpoint


class Bar:
    """A progress bar over the batches of an epoch."""

    def __init__(self, total):
        self.total = total
        self.bar = tqdm(disable=True)

    def __call__(self, param):
        if param.nbatch == 0:
            self.bar = tqdm(total=self.total, desc=f"epoch {param.epoch + 1}", unit="batch", mininterval=0.2)
        self.bar.update()
        if param.nbatch + 1 == self.total:
            values = param.eval_metric.get_global_name_value()
            self.bar.set_postfix({name: f"{value:.4f}" for name, value in values})
            self.bar.close()


def draw_curve(history, path):
    """Saves accuracy and loss by epoch as a plot."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    epochs = range(1, len(history) + 1)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5))
    for axis, name in zip(axes, ("accuracy", "cross-entropy")):
        for part in ("train", "validation"):
            axis.plot(epochs, [entry[part][name] for entry in history], marker="o", label=part)
        axis.set(xlabel="epoch", ylabel=name)
        axis.grid(alpha=0.3)
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def train(options):
    """Trains as the options say; returns the history: metrics by epoch."""
    options.output.mkdir(parents=True, exist_ok=True)
    prefix = options.output / options.network
    begin = Checkpoints.last_epoch(prefix) if options.resume else 0
    mx.random.seed(options.seed)
    np.random.seed(options.seed)
    training = batches(options.data_dir, "train", options.batch_size, shuffle=True)
    validation = batches(options.data_dir, "t10k", options.batch_size, shuffle=False)
    steps = -(-training.num_data // options.batch_size)
    context = mx.gpu() if options.device == "gpu" else mx.cpu()
    if begin:
        module = mx.mod.Module.load(str(prefix), begin, load_optimizer_states=True, context=context)
        print(f"resumed after epoch {begin}")
    else:
        module = mx.mod.Module(NETWORKS[options.network](), context=context)
    checkpoints = Checkpoints(prefix, module, training)
    if begin:
        checkpoints.restore(begin)
    schedule = mx.lr_scheduler.MultiFactorScheduler([5 * steps, 8 * steps], factor=0.3, base_lr=options.lr)
    metric = mx.metric.create(["acc", "ce"])
    scores = {}

    def epoch_done(epoch, symbol, arg_params, aux_params):
        scores["train"] = dict(metric.get_global_name_value())

    def validated(param):
        scores["validation"] = dict(param.eval_metric.get_global_name_value())
        checkpoints.history.append(dict(scores))
        checkpoints.save(param.epoch + 1)
        draw_curve(checkpoints.history, f"{prefix}-curve.png")
        tqdm.write(
            f"epoch {param.epoch + 1}: training accuracy {scores['train']['accuracy']:.4f}, "
            f"validation accuracy {scores['validation']['accuracy']:.4f}"
        )

    module.fit(
        training,
        eval_data=validation,
        eval_metric=metric,
        validation_metric=["acc", "ce"],
        epoch_end_callback=epoch_done,
        eval_end_callback=validated,
        batch_end_callback=Bar(steps),
        initializer=mx.init.Xavier(),
        optimizer="sgd",
        optimizer_params={
            "momentum": 0.9,
            "wd": 1e-4,
            "lr_scheduler": schedule,
            "begin_num_update": begin * steps,
        },
        begin_epoch=begin,
        num_epoch=options.epochs,
    )
    return checkpoints.history


def parse(arguments=None):
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--network", choices=sorted(NETWORKS), default="lenet")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.05, help="learning rate of the first epochs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data-dir", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument(
        "--output", type=Path, default=Path("out/fashion_mnist"), help="folder of the results"
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on after the newest checkpoint in the folder"
    )
    return parser.parse_args(arguments)


def main():
    options = parse()
    logging.basicConfig(level=logging.WARNING)
    history = train(options)
    if history:
        best = max(entry["validation"]["accuracy"] for entry in history)
        print(f"validation accuracy: {history[-1]['validation']['accuracy']:.4f} (best {best:.4f})")
        print(f"learning curve: {options.output / options.network}-curve.png")


if __name__ == "__main__":
    main()
