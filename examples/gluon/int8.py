#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What networks lose when they become networks of 8 bits: LeNet, ResNet-20 and an LSTM language model.

    python examples/gluon/int8.py             # some minutes on two cores
    python examples/gluon/int8.py --quick     # some seconds, no data needed
    python examples/gluon/int8.py --networks lenet lstm

Each network is trained here, calibrated by entropy (images: 500 of those trained on), and runs as float32, with one
range a weight and with one a filter. Prints accuracies or perplexities and the report of each layer, and saves a plot.
"""

import argparse
import math
import re
from pathlib import Path

import loomix as mx
import numpy as np
import pictures
from loomix import gluon
from loomix.contrib import quantization
from loomix.gluon import nn
from resnet import resnet

try:
    import matplotlib  # noqa: F401 - for the plot at the end, but missed now
except ModuleNotFoundError as error:
    raise SystemExit(f"This example needs {error.name}: pip install matplotlib") from None

CALIBRATION = 500
KINDS = ("float32", "tensor-wise", "channel-wise")


def lenet(classes=10):
    """Two convolutions with pooling, two fully connected layers."""
    net = nn.HybridSequential()
    for filters in (20, 50):
        net.add(nn.Conv2D(filters, 5, activation="relu"), nn.MaxPool2D(2))
    net.add(nn.Dense(500, activation="relu"), nn.Dense(classes))
    return net


class LanguageModel(gluon.HybridBlock):
    """An LSTM of `steps` steps: words and states in, scores of the next words and states out. Its cell is made of fully
    connected layers, which become layers of 8 bits."""

    def __init__(self, words, steps, width):
        super().__init__()
        self.steps, self.width = steps, width
        with self.name_scope():
            self.embedding = nn.Embedding(words, width)
            self.cell = gluon.rnn.LSTMCell(width, input_size=width)
            self.decoder = nn.Dense(words, in_units=width)

    def hybrid_forward(self, F, words, hidden, memory):
        out, states = self.cell.unroll(
            self.steps, self.embedding(words), [hidden, memory], layout="NTC", merge_outputs=True
        )
        return (self.decoder(F.reshape(out, (-1, self.width))), *states)


def train(net, batches, epochs, lr, loss_of):
    """By Adam, whose rate rises and falls once. `batches(epoch)` gives lists of arguments of `loss_of`."""
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": lr})
    for epoch in range(epochs):
        total, rows = mx.nd.zeros(1), list(batches(epoch))
        for number, row in enumerate(rows):
            progress = (epoch + number / len(rows)) / epochs
            trainer.set_learning_rate(lr * min(progress / 0.2, (1 - progress) / 0.8) + 1e-5)
            with mx.autograd.record():
                loss = loss_of(net, *row)
            loss.backward()
            trainer.step(loss.shape[0])
            total += loss.mean()
        print(f"  epoch {epoch + 1}: loss {total.asscalar() / len(rows):.3f}")


def converted(net, inputs, data, kind):
    """The network of 8 bits with one range a weight or a filter."""
    report = quantization.QuantizationReport()
    made = quantization.quantize_net_v2(
        net, "auto", quantize_mode="smart", quantize_granularity=kind, calib_mode="entropy", calib_data=data,
        data_shapes=[None] * inputs, report=report,
    )  # fmt: skip
    made.hybridize(static_alloc=True)
    return made, report


def classify(net, parts, epochs, batch=128):
    """Accuracies by kind in percent, and the report."""
    (images, labels), (tests, answers) = [((x - 0.286) / 0.353, y) for x, y in parts]
    cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss()

    def batches(epoch):
        order = np.random.RandomState(epoch).permutation(len(images) // batch * batch)
        for rows in order.reshape(-1, batch):
            yield mx.nd.array(images[rows]), mx.nd.array(labels[rows])

    train(net, batches, epochs, 0.003, lambda net, x, y: cross_entropy(net(x), y))

    def accuracy(model):
        found = [
            model(mx.nd.array(tests[i : i + 250])).asnumpy().argmax(1) for i in range(0, len(tests), 250)
        ]
        return 100 * float((np.concatenate(found) == answers).mean())

    data = [mx.nd.array(images[i : i + 50]) for i in range(0, min(CALIBRATION, len(images)), 50)]
    results = {"float32": accuracy(net)}
    for kind in KINDS[1:]:
        made, report = converted(net, 1, data, kind)
        results[kind] = accuracy(made)
    return results, report


def numbered_words(limit):
    """Python's own reference pages as numbers of words, and how many words there are."""
    from pydoc_data.topics import topics

    words = re.findall(r"[a-z_]+|\d+|[.,;:()]", "\n".join(topics.values()).lower())[:limit]
    known, counts = np.unique(words, return_counts=True)
    frequent = {word: i + 1 for i, word in enumerate(known[counts > 2])}
    return np.array([frequent.get(word, 0) for word in words], np.float32), len(frequent) + 1


def language(epochs, width, limit=None, rows=32, steps=16):
    """Perplexities by kind on text that was not trained on, and the report."""
    text, words = numbered_words(limit)
    cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    tenth = len(text) // 10

    def batches(part):
        columns = (len(part) - 1) // rows // steps * steps
        given, wanted = (part[i : i + rows * columns].reshape(rows, columns) for i in (0, 1))
        for i in range(0, columns, steps):
            yield mx.nd.array(given[:, i : i + steps]), mx.nd.array(wanted[:, i : i + steps].reshape(-1))

    net = LanguageModel(words, steps, width)
    states: list[mx.nd.NDArray] = []

    def start():
        states[:] = [mx.nd.zeros((rows, width)), mx.nd.zeros((rows, width))]

    def loss_of(net, given, wanted):
        scores, *after = net(given, *states)
        states[:] = [state.detach() for state in after]
        return cross_entropy(scores, wanted)

    def of_epoch(_):
        start()
        return batches(text[:-tenth])

    train(net, of_epoch, epochs, 0.01, loss_of)

    def perplexity(model):
        start()
        losses = [loss_of(model, *row).mean().asscalar() for row in batches(text[-tenth:])]
        return math.exp(float(np.mean(losses)))

    start()
    data = []  # with the states that the network has there
    for given, wanted in list(batches(text[:-tenth]))[:16]:
        data.append([given, *states])
        loss_of(net, given, wanted)
    results = {"float32": perplexity(net)}
    for kind in KINDS[1:]:
        made, report = converted(net, 3, data, kind)
        results[kind] = perplexity(made)
    return results, report


def save_plot(results, path):
    """Bars side by side: what each network reaches as float32 and as int8."""
    plt = pictures.plotting()
    figure, axes = plt.subplots(1, len(results), figsize=(3.2 * len(results), 3.4), squeeze=False)
    for axis, (name, (values, unit)) in zip(axes[0], results.items()):
        bars = axis.bar(KINDS, [values[kind] for kind in KINDS], color=("#999999", "#fdae61", "#2c7fb8"))
        axis.bar_label(bars, fmt="%.2f")
        spread = max(values.values()) - min(values.values()) or 1
        axis.set_ylim(min(values.values()) - 4 * spread, max(values.values()) + 2 * spread)
        axis.set(title=name, ylabel=unit)
        axis.tick_params(axis="x", labelrotation=20)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main(arguments=None):
    """Trains and measures as the arguments say; {network: (values by kind, their unit)}."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small networks on data that need no files")
    parser.add_argument("--networks", nargs="+", default=["lenet", "resnet", "lstm"],
                        choices=["lenet", "resnet", "lstm"])  # fmt: skip
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--images", type=int, default=60_000, help="to train on")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data-dir", type=Path, help="of Fashion-MNIST; Debian's by default")
    parser.add_argument("--output", type=Path, default=Path("out/gluon"))
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    mx.random.seed(options.seed)
    np.random.seed(options.seed)
    parts = None
    if set(options.networks) & {"lenet", "resnet"}:
        parts = pictures.bars() if options.quick else pictures.clothes(options.data_dir)
        parts[0] = tuple(part[: options.images] for part in parts[0])
    results = {}
    for network in options.networks:
        print(network)
        if network == "lstm":
            width, limit = (32, 20_000) if options.quick else (200, None)
            values, report = language(options.epochs, width, limit)
        else:
            net = lenet() if network == "lenet" else resnet(8 if options.quick else 20)
            values, report = classify(net, parts, options.epochs, 64 if options.quick else 128)
        unit = "perplexity" if network == "lstm" else "accuracy, %"
        results[network] = values, unit
        print(report)
        print(f"{network}: {unit} " + ", ".join(f"{kind} {values[kind]:.2f}" for kind in KINDS))
    save_plot(results, options.output / "int8.svg")
    return results


if __name__ == "__main__":
    main()
