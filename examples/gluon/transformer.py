#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small Transformer (Vaswani et al. 2017) that reads numbers and writes them in words: 4093 is "four thousand
ninety three".

    python examples/gluon/transformer.py             # a few minutes on two cores
    python examples/gluon/transformer.py --quick     # some seconds: numbers below a hundred

It is trained on numbers drawn at random, and tested on those that training leaves out: a tenth of all. Saves the
parameters, and an image of where it looks at for each word, and of the loss.
"""

import argparse
import math
from pathlib import Path

import loomix as mx
import numpy as np
import pictures
from loomix import autograd, gluon
from loomix.gluon import nn

try:
    import matplotlib  # noqa: F401 - for the images at the end, but missed now
    from tqdm import trange
except ModuleNotFoundError as error:
    raise SystemExit(f"This example needs {error.name}: pip install tqdm matplotlib") from None

SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
WORDS = ["<pad>", "<end>", *SMALL, *TENS, "hundred", "thousand"]
NUMBER = {word: number for number, word in enumerate(WORDS)}
PAD, END = 0, 1


def in_words(number):
    """The words of a number below a million."""
    if number < 20:
        return [SMALL[number]]
    if number < 100:
        return [TENS[number // 10 - 2], *(in_words(number % 10) if number % 10 else [])]
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            return [*in_words(number // size), name, *(in_words(number % size) if number % size else [])]
    raise ValueError(f"{number} is negative")


def left_out(numbers):
    """Which numbers are for the test: a tenth of those that are not words by themselves, by their bits."""
    return ((numbers.astype(np.uint64) * 2654435761 >> 16) % 10 == 0) & (numbers >= 20)


def encode(numbers, digits, words):
    """Digits (n, digits) and words (n, words): digits count from 1, 0 is behind the end."""
    source = np.zeros((len(numbers), digits), np.float32)
    target = np.full((len(numbers), words), PAD, np.float32)
    for row, number in enumerate(numbers):
        text = str(number)
        source[row, : len(text)] = [int(digit) + 1 for digit in text]
        said = [*(NUMBER[word] for word in in_words(int(number))), END]
        target[row, : len(said)] = said
    return source, target


class Attention(gluon.HybridBlock):
    """Attention with several heads: for each item of `x` a mean of the items of `memory` that the mask lets it see, of
    shape (n, 1 or items of x, items of memory); and the weights of these means."""

    def __init__(self, units, heads):
        super().__init__()
        self.heads, self.scale = heads, math.sqrt(units / heads)
        with self.name_scope():
            self.query, self.key, self.value, self.out = (
                nn.Dense(units, flatten=False, use_bias=False) for _ in range(4)
            )

    def hybrid_forward(self, F, x, memory, mask):
        def split(items):  # (n, items, units) to (n * heads, items, units / heads)
            items = F.reshape(items, (0, 0, -4, self.heads, -1))
            return F.reshape(F.transpose(items, (0, 2, 1, 3)), (-3, 0, 0))

        scores = F.batch_dot(split(self.query(x)), split(self.key(memory)), transpose_b=True) / self.scale
        scores = F.broadcast_add(scores, (F.repeat(mask, self.heads, axis=0) - 1) * 1e9)
        weights = F.softmax(scores, axis=-1)
        means = F.batch_dot(weights, split(self.value(memory)))
        means = F.transpose(F.reshape(means, (-4, -1, self.heads, 0, 0)), (0, 2, 1, 3))
        return self.out(F.reshape(means, (0, 0, -3))), weights


class Layer(gluon.HybridBlock):
    """Attention to what is said so far, for a decoder also to the encoder's items, and two dense layers; each adds to
    its normalised input."""

    def __init__(self, units, heads, dropout, decoder=False):
        super().__init__()
        self.decoder = decoder
        with self.name_scope():
            self.itself, self.first, self.last = Attention(units, heads), nn.LayerNorm(), nn.LayerNorm()
            if decoder:
                self.other, self.middle = Attention(units, heads), nn.LayerNorm()
            self.dense = nn.HybridSequential()
            with self.dense.name_scope():
                self.dense.add(nn.Dense(4 * units, "relu", flatten=False), nn.Dense(units, flatten=False))
            self.drop = nn.Dropout(dropout)

    def hybrid_forward(self, F, x, mask, memory=None, memory_mask=None):
        normal = self.first(x)
        added, weights = self.itself(normal, normal, mask)
        x = x + self.drop(added)
        if self.decoder:
            added, weights = self.other(self.middle(x), memory, memory_mask)
            x = x + self.drop(added)
        return x + self.drop(self.dense(self.last(x))), weights


class Transformer(gluon.HybridBlock):
    """Scores of the next word after each of `said`, and the weights (n * heads, words, digits) of the last layer."""

    def __init__(self, digits, words, units=64, heads=4, layers=2, dropout=0.1):
        super().__init__()
        positions = np.arange(max(digits, words))[:, None] / 10000 ** (np.arange(0, units, 2) / units)
        waves = np.stack([np.sin(positions), np.cos(positions)], 2).reshape(1, -1, units)
        with self.name_scope():
            self.waves = self.params.get_constant("waves", waves.astype(np.float32))
            self.earlier = self.params.get_constant("earlier", np.tri(words, dtype=np.float32)[None])
            self.digits, self.words = nn.Embedding(11, units), nn.Embedding(len(WORDS), units)
            self.encoder, self.decoder = nn.HybridSequential(), nn.HybridSequential()
            for _ in range(layers):
                self.encoder.add(Layer(units, heads, dropout))
                self.decoder.add(Layer(units, heads, dropout, decoder=True))
            self.normal, self.end = nn.LayerNorm(), nn.LayerNorm()
            self.scores = nn.Dense(len(WORDS), flatten=False)

    def hybrid_forward(self, F, source, said, waves, earlier):
        seen = F.expand_dims(source != 0, 1)
        memory = self.digits(source)
        memory = F.broadcast_add(memory, F.slice_like(waves, memory, axes=(1,)))
        for layer in self.encoder:
            memory, _ = layer(memory, seen)
        memory = self.normal(memory)
        x = self.words(said)
        x = F.broadcast_add(x, F.slice_like(waves, x, axes=(1,)))
        earlier = F.broadcast_like(earlier, x, lhs_axes=(0,), rhs_axes=(0,))
        weights = None
        for layer in self.decoder:
            x, weights = layer(x, earlier, memory, seen)
        return self.scores(self.end(x)), weights


def shifted(target):
    """What is said before each word: END stands for the beginning, too."""
    return np.concatenate([np.full((len(target), 1), END, np.float32), target[:, :-1]], 1)


def translate(net, source, words):
    """The likeliest words one after the other, as numbers (n, words), and the weights of the last step."""
    said = np.full((len(source), words), PAD, np.float32)
    x = mx.nd.array(source)
    for position in range(words):
        scores, weights = net(x, mx.nd.array(shifted(said)))
        said[:, position] = scores[:, position].argmax(axis=1).asnumpy()
    ended = np.cumsum(said == END, 1) - (said == END) > 0
    return np.where(ended, PAD, said), weights


def draw(net, number, digits, words, losses, path):
    """Saves where the last layer looks at for each word, and the loss."""
    said, weights = translate(net, encode([number], digits, words)[0], words)
    text = [WORDS[int(word)] for word in said[0] if word != PAD]
    plt = pictures.plotting()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    looked = left.imshow(
        weights.asnumpy().mean(0)[: len(text), : len(str(number))], cmap="viridis", aspect="auto"
    )
    left.set_xticks(range(len(str(number))), str(number))
    left.set_yticks(range(len(text)), text)
    left.set(title="attention, mean of the heads", xlabel="digit read", ylabel="word written")
    figure.colorbar(looked, ax=left)
    right.plot(range(0, 10 * len(losses), 10), losses)
    right.set(xlabel="step", ylabel="loss", yscale="log")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def parse(arguments=None):
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="numbers below a hundred, and a small network")
    parser.add_argument("--digits", type=int, default=6, choices=range(2, 7))
    parser.add_argument("--units", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("out/gluon"))
    options = parser.parse_args(arguments)
    if options.quick:
        options.digits, options.units, options.layers, options.steps, options.batch_size = 2, 32, 1, 300, 32
        options.lr = 5e-3
    return options


def main(arguments=None):
    """Trains as the arguments say; the share of the test's numbers whose words are all right."""
    options = parse(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    mx.random.seed(options.seed)
    random = np.random.RandomState(options.seed)
    largest = 10**options.digits
    digits, words = options.digits, {2: 3, 3: 5, 4: 7, 5: 8, 6: 10}[options.digits]
    net = Transformer(
        digits, words, options.units, layers=options.layers, dropout=0 if options.quick else 0.1
    )
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    schedule = mx.lr_scheduler.CosineScheduler(
        options.steps, options.lr, options.lr / 100, warmup_steps=options.steps // 10
    )
    settings = {"learning_rate": options.lr, "lr_scheduler": schedule, "clip_gradient": 1.0}
    trainer = gluon.Trainer(net.collect_params(), "adam", settings)
    losses = []
    bar = trange(options.steps, unit="step", mininterval=0.2)
    for step in bar:
        # As many short numbers as long ones, which are by far the most.
        numbers = (largest ** random.uniform(0, 1, 2 * options.batch_size)).astype(np.int64) - 1
        numbers = numbers[~left_out(numbers)][: options.batch_size]
        source, target = encode(numbers, digits, words)
        weight = mx.nd.array(target != PAD).expand_dims(2)
        with autograd.record():
            scores, _ = net(mx.nd.array(source), mx.nd.array(shifted(target)))
            each = loss(scores, mx.nd.array(target), weight)
        each.backward()
        trainer.step(len(numbers))
        if step % 10 == 0:
            losses.append(each.mean().asscalar())
            bar.set_postfix(loss=f"{losses[-1]:.4f}", refresh=False)
    test = np.arange(min(largest, 100000)) if largest <= 100000 else random.randint(0, largest, 20000)
    test = test[left_out(test)]
    source, target = encode(test, digits, words)
    said, _ = translate(net, source, words)
    right = (said == target).all(1)
    for number, row in list(zip(test, said))[:: max(1, len(test) // 5)][:5]:
        print(number, " ".join(WORDS[int(word)] for word in row if word not in (PAD, END)))
    draw(net, int(test[-1]), digits, words, losses, options.output / "transformer.png")
    net.save_parameters(str(options.output / "transformer.params"))
    print(
        f"right: {right.mean():.4f} of {len(test)} numbers that it was not trained on; files are in {options.output}"
    )
    return right.mean()


if __name__ == "__main__":
    main()
