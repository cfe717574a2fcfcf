#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A language model of characters: an LSTM that learns to write like Python's reference pages.

    python examples/gluon/character_model.py             # some minutes on two cores
    python examples/gluon/character_model.py --quick     # some seconds
    python examples/gluon/character_model.py --text FILE

The text (`pydoc_data.topics`, which comes with every Python) is read in parallel rows, whose states go from each batch
to the next. Prints the bits that a character of the last tenth of the text costs, beside what `bz2` needs for each, and
a sample. Saves the parameters and an image of the costs.
"""

import argparse
import bz2
import math
from pathlib import Path

import loomix as mx
import numpy as np
import pictures
from loomix import autograd, gluon

try:
    import matplotlib  # noqa: F401 - for the images at the end, but missed now
    from tqdm import tqdm
except ModuleNotFoundError as error:
    raise SystemExit(f"This example needs {error.name}: pip install tqdm matplotlib") from None


class CharacterModel(gluon.HybridBlock):
    """Scores of the next character, and the states after the last one."""

    def __init__(self, characters, embed, hidden, layers, dropout):
        super().__init__()
        with self.name_scope():
            self.embedding = gluon.nn.Embedding(characters, embed)
            self.lstm = gluon.rnn.LSTM(hidden, layers, dropout=dropout, input_size=embed)
            self.scores = gluon.nn.Dense(characters, flatten=False)

    def hybrid_forward(self, F, x, states):
        """`x` has the shape (time, rows)."""
        output, states = self.lstm(self.embedding(x), states)
        return self.scores(output), states


def read(options):
    """The text."""
    if options.text:
        return options.text.read_text()
    from pydoc_data.topics import topics

    text = "\n".join(topics[name] for name in sorted(topics))
    return text[:60000] if options.quick else text


def in_rows(numbers, rows, steps):
    """Batches of inputs and targets, both (steps, rows): each row goes on where it ended in the batch before."""
    length = (len(numbers) - 1) // rows // steps * steps
    x = numbers[: rows * length].reshape(rows, length).T
    y = numbers[1 : rows * length + 1].reshape(rows, length).T
    return [(x[i : i + steps], y[i : i + steps]) for i in range(0, length, steps)]


def cost(net, batches, loss):
    """Bits for each character."""
    states = net.lstm.begin_state(batch_size=batches[0][0].shape[1])
    total = 0.0
    for x, y in batches:
        scores, states = net(mx.nd.array(x), states)
        total += loss(scores, mx.nd.array(y)).mean().asscalar()
    return total / len(batches) / math.log(2)


def write(net, characters, start, count, temperature=0.7):
    """Text that the network makes up, character by character."""
    numbers = {character: number for number, character in enumerate(characters)}
    states, text = net.lstm.begin_state(batch_size=1), start
    for position in range(len(start) + count):
        scores, states = net(mx.nd.array([[numbers[text[position]]]]), states)
        if position + 1 >= len(start):
            chosen = mx.nd.random.multinomial((scores[0, 0] / temperature).softmax())
            text += characters[int(chosen.asscalar())]
    return text


def parse(arguments=None):
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a small network, and a tenth of the text")
    parser.add_argument("--text", type=Path, help="another text file")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=64, help="characters that gradients go back through")
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("out/gluon"))
    options = parser.parse_args(arguments)
    if options.quick:
        options.hidden, options.layers, options.steps, options.rows = 128, 1, 32, 16
        options.epochs, options.lr = 4, 1e-2
    return options


def main(arguments=None):
    """Trains as the arguments say; bits for each character of the validation part, by epoch."""
    options = parse(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    mx.random.seed(options.seed)
    text = read(options)
    characters = sorted(set(text))
    known = {character: number for number, character in enumerate(characters)}
    numbers = np.array([known[character] for character in text], np.int32)
    end = len(numbers) * 9 // 10
    training = in_rows(numbers[:end], options.rows, options.steps)
    validation = in_rows(numbers[end:], options.rows, options.steps)
    rest = text[end:].encode()
    squeezed = 8 * (len(bz2.compress(text.encode())) - len(bz2.compress(text[:end].encode()))) / len(rest)

    net = CharacterModel(len(characters), options.hidden // 4, options.hidden, options.layers, 0.2)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    steps = options.epochs * len(training)
    schedule = mx.lr_scheduler.CosineScheduler(
        steps, options.lr, options.lr / 100, warmup_steps=min(100, steps // 10)
    )
    settings = {"learning_rate": options.lr, "lr_scheduler": schedule, "clip_gradient": 1.0}
    trainer = gluon.Trainer(net.collect_params(), "adam", settings)
    seen, costs = [], []
    for epoch in range(options.epochs):
        states = net.lstm.begin_state(batch_size=options.rows)
        bar = tqdm(training, desc=f"epoch {epoch + 1}", unit="batch", mininterval=0.2)
        for i, (x, y) in enumerate(bar):
            states = [state.detach() for state in states]
            with autograd.record():
                scores, states = net(mx.nd.array(x), states)
                each = loss(scores, mx.nd.array(y)).mean()
            each.backward()
            trainer.step(1)
            if i % 20 == 0:
                seen.append((epoch + i / len(training), each.asscalar() / math.log(2)))
                bar.set_postfix(bits=f"{seen[-1][1]:.2f}", refresh=False)
        costs.append(cost(net, validation, loss))
        tqdm.write(f"epoch {epoch + 1}: {costs[-1]:.3f} bits for each character")
    epochs = list(range(1, options.epochs + 1))
    curves = {
        "training": tuple(zip(*seen)),
        "validation": (epochs, costs),
        "bz2": ((0, options.epochs), (squeezed, squeezed)),
    }
    pictures.save_curves({"bits for each character": curves}, options.output / "character_model.png", "epoch")
    net.save_parameters(str(options.output / "character_model.params"))
    print(write(net, characters, "The ", 100 if options.quick else 400))
    print(
        f"\nbits for each character: {costs[-1]:.3f}; by bz2: {squeezed:.3f}; files are in {options.output}"
    )
    return costs


if __name__ == "__main__":
    main()
