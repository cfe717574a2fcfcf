#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A network that is too large for one device: an LSTM whose layers lie on several.

    python examples/model_parallel/lstm.py                      # two devices of the CPU; some minutes
    python examples/model_parallel/lstm.py --quick              # some seconds

Each layer is made in an `AttrScope` with a `ctx_group`, and `group2ctx` says on which device a group lies. What goes
from one device to the next is copied by the engine. A device can work on a time step while the one before it works on
the next. The network predicts the next character of Python's reference pages (`pydoc_data.topics`).
"""

import argparse
import math
from collections import Counter
from pathlib import Path

import loomix as mx
import numpy as np

try:
    import matplotlib  # noqa: F401 - for the images at the end, but missed now
    from tqdm import tqdm
except ModuleNotFoundError as error:
    raise SystemExit(f"This example needs {error.name}: pip install tqdm matplotlib") from None


def read_text(seed):
    """The pages one behind the other, in lower case, as numbers; and how many different characters there are."""
    from pydoc_data.topics import topics

    pages = [" ".join(page.lower().split()) for _, page in sorted(topics.items())]
    np.random.RandomState(seed).shuffle(pages)
    text = "\n".join(pages)
    numbers = {character: i for i, character in enumerate(sorted(set(text)))}
    return np.array([numbers[character] for character in text], np.float32), len(numbers)


def batches(text, length, batch_size):
    """Inputs and labels of shape (batch, length); a label is the character behind its input."""
    rows = (len(text) - 1) // length
    inputs, labels = (
        text[: rows * length].reshape(rows, length),
        text[1 : rows * length + 1].reshape(rows, length),
    )
    return mx.io.NDArrayIter(
        inputs, labels, batch_size, shuffle=True, last_batch_handle="discard", label_name="label"
    )


def network(options, characters):
    """Groups ``embed``, ``layer0`` and so on, ``decode``: what is made in a scope belongs to its group."""
    with mx.AttrScope(ctx_group="embed"):
        net = mx.sym.Embedding(
            mx.sym.Variable("data"), input_dim=characters, output_dim=options.hidden, name="embed"
        )
    for layer in range(options.layers):
        with mx.AttrScope(ctx_group=f"layer{layer}"):
            cell = mx.rnn.LSTMCell(options.hidden, prefix=f"lstm{layer}_")
            net, _ = cell.unroll(options.length, net, layout="NTC", merge_outputs=layer == options.layers - 1)
    with mx.AttrScope(ctx_group="decode"):
        net = mx.sym.reshape(net, (-1, options.hidden))
        scores = mx.sym.FullyConnected(net, num_hidden=characters, name="scores")
        label = mx.sym.reshape(mx.sym.Variable("label"), (-1,))
        return mx.sym.SoftmaxOutput(scores, label, normalization="batch", name="softmax")


def places(devices, layers):
    """Group -> device: layers in equal parts, the embedding with the first and the scores with the last."""
    groups = {f"layer{layer}": devices[layer * len(devices) // layers] for layer in range(layers)}
    return {"embed": devices[0], **groups, "decode": devices[-1]}


class Model:
    """The bound network, with an updater for each array where it lies."""

    def __init__(self, options, characters):
        groups = places(options.devices, options.layers)
        shape = (options.batch_size, options.length)
        symbol = network(options, characters)
        self.names = [name for name in symbol.list_arguments() if name not in ("data", "label")]
        wanted = {"data": "null", "label": "null", **dict.fromkeys(self.names, "write")}
        self.executor = symbol.simple_bind(
            options.devices[0], group2ctx=groups, grad_req=wanted, data=shape, label=shape
        )
        self.update = mx.optimizer.get_updater(
            mx.optimizer.Adam(learning_rate=options.lr, clip_gradient=1.0, rescale_grad=1.0)
        )
        initial = mx.init.Uniform(0.1)
        for name in self.names:
            array = self.executor.arg_dict[name]
            value = mx.nd.zeros(array.shape, ctx=mx.cpu())  # drawn there, whatever the devices are
            initial(mx.init.InitDesc(name), value)
            value.copyto(array)

    def loss(self, batch, train):
        """Mean cross-entropy of a batch, on which the network is trained if `train`."""
        output = self.executor.forward(is_train=train, data=batch.data[0], label=batch.label[0])[0]
        if train:
            self.executor.backward()
            for number, name in enumerate(self.names):
                self.update(number, self.executor.grad_dict[name], self.executor.arg_dict[name])
        label = batch.label[0].reshape((-1,)).as_in_context(output.context)
        return -float(mx.nd.log(mx.nd.pick(output, label) + 1e-9).mean().asscalar())


def train(options, text, characters):
    """Returns the model, and perplexities in training and validation by epoch."""
    held_out = len(text) // 10
    training = batches(text[held_out:], options.length, options.batch_size)
    validation = batches(text[:held_out], options.length, options.batch_size)
    model, history = Model(options, characters), []
    for epoch in range(options.epochs):
        means = []
        for source, learn in ((training, True), (validation, False)):
            source.reset()
            total = source.num_data // options.batch_size
            bar = tqdm(
                source,
                total=total,
                desc=f"epoch {epoch + 1}, {'training' if learn else 'validation'}",
                unit="batch",
                mininterval=0.2,
            )
            means.append(math.exp(np.mean([model.loss(batch, learn) for batch in bar])))
        history.append(tuple(means))
        tqdm.write(f"epoch {epoch + 1}: perplexity {means[0]:.2f} in training, {means[1]:.2f} in validation")
    return model, history


def draw(history, baseline, path):
    """Saves the perplexities by epoch as a plot."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(5, 3.5))
    for part, values in zip(("training", "validation"), zip(*history)):
        axis.plot(range(1, len(history) + 1), values, marker="o", label=part)
    axis.axhline(baseline, color="black", linestyle="--", label="frequency of characters")
    axis.set(xlabel="epoch", ylabel="perplexity of a character", yscale="log")
    axis.grid(alpha=0.3, which="both")
    axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def device(text):
    """``cpu:1`` as a context."""
    kind, _, number = text.partition(":")
    return mx.Context(kind, int(number or 0))


def parse(arguments=None):
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", default="cpu:0,cpu:1", help="where the layers lie, from first to last")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=128, help="units of a layer")
    parser.add_argument("--length", type=int, default=32, help="characters of a sequence")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=0.005)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--quick", action="store_true", help="a small network, a part of the text, two epochs"
    )
    parser.add_argument("--output", type=Path, default=Path("out/model_parallel"))
    options = parser.parse_args(arguments)
    options.devices = [device(text) for text in options.devices.split(",")]
    if len(options.devices) > options.layers:
        parser.error(
            f"{len(options.devices)} devices for {options.layers} layers; expected at most one for each"
        )
    if options.quick:
        options.hidden, options.length, options.epochs, options.lr = 48, 16, 2, 0.01
    return options


def main():
    options = parse()
    options.output.mkdir(parents=True, exist_ok=True)
    mx.random.seed(options.seed)
    np.random.seed(options.seed)
    text, characters = read_text(options.seed)
    if options.quick:
        text = text[:100000]
    counts = np.array(list(Counter(text.tolist()).values())) / len(text)
    baseline = math.exp(-(counts * np.log(counts)).sum())
    model, history = train(options, text, characters)
    for name in model.names:
        print(f"{name} on {model.executor.arg_dict[name].context}")
    picture = options.output / "perplexity.png"
    draw(history, baseline, picture)
    print(f"validation perplexity: {history[-1][1]:.2f}; by the frequency of characters: {baseline:.2f}")
    print(f"curves: {picture}")


if __name__ == "__main__":
    main()
