#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A language model: a bucketing LSTM that predicts the next word of Python's own reference pages.

    python examples/rnn/language_model.py             # some minutes on two cores
    python examples/rnn/language_model.py --quick     # some seconds: a small network, two epochs

The text (`pydoc_data.topics`, 80,000 words) comes with every Python. Sentences are sorted into buckets by length,
so that little is computed for padding; the buckets share their parameters. The perplexity on sentences that were not
trained on stands beside that of a trigram model with interpolated Kneser-Ney smoothing (Kneser and Ney 1995; Chen and
Goodman 1999).
"""

import argparse
import math
import random
import re
from collections import Counter, defaultdict
from pathlib import Path

import loomix as mx
import numpy as np

try:
    import matplotlib  # noqa: F401 - for the images at the end, but missed now
    from tqdm import tqdm
except ModuleNotFoundError as error:
    raise SystemExit(f"This example needs {error.name}: pip install tqdm matplotlib") from None

PADDING, BEGIN, UNKNOWN = 0, 1, 2
BUCKETS = (10, 20, 30, 45, 60)


def read_sentences():
    """Words of each sentence; code samples and rulers are left out."""
    from pydoc_data.topics import topics

    sentences = []
    for page in topics.values():
        for paragraph in page.split("\n\n"):
            text = " ".join(paragraph.lower().split())
            for sentence in re.split(r"(?<=[.:]) ", text):
                words = re.findall(r"[a-z_][a-z_']*|\d+|[.,;:()]", sentence)
                if len(words) >= 4 and sum(word.isalpha() for word in words) > len(words) / 2:
                    sentences.append(["<s>", *words, "</s>"])
    return sentences


def split(sentences, seed):
    """Training, validation and test sentences; one that is there twice is in one part only."""
    unique = sorted({tuple(sentence) for sentence in sentences})
    random.Random(seed).shuffle(unique)
    tenth = len(unique) // 10
    return unique[2 * tenth :], unique[:tenth], unique[tenth : 2 * tenth]


def vocabulary(sentences, least=2):
    """The number of each word that comes `least` times."""
    counts = Counter(word for sentence in sentences for word in sentence)
    numbers = {"<pad>": PADDING, "<s>": BEGIN, "<unk>": UNKNOWN}
    for word, count in counts.most_common():
        if count >= least and word not in numbers:
            numbers[word] = len(numbers)
    return numbers


class Trigrams:
    """Interpolated Kneser-Ney: each order gives what it takes off to the next lower one."""

    DISCOUNT = 0.75

    def __init__(self, sentences, words):
        self.words = words
        seen: list[Counter] = [Counter() for _ in range(3)]
        for sentence in sentences:
            for i in range(1, len(sentence)):
                seen[2][tuple(sentence[max(0, i - 2) : i + 1])] += 1
        for order in (1, 0):  # lower orders count in how many ways a word goes on, not how often
            for gram in seen[order + 1]:
                if len(gram) > order:
                    seen[order][gram[-order - 1 :]] += 1
        self.counts = seen
        self.totals: list[dict] = [defaultdict(int) for _ in range(3)]
        self.kinds: list[dict] = [defaultdict(int) for _ in range(3)]
        for order, counts in enumerate(seen):
            for gram, count in counts.items():
                self.totals[order][gram[:-1]] += count
                self.kinds[order][gram[:-1]] += 1

    def probability(self, gram, order=2):
        """Of the last word after those before it."""
        if order < 0:
            return 1 / self.words
        gram = gram[-order - 1 :]
        history = gram[:-1]
        lower = self.probability(gram, order - 1)
        total = self.totals[order].get(history, 0)
        if total == 0:
            return lower
        kept = max(self.counts[order].get(gram, 0) - self.DISCOUNT, 0) / total
        return kept + self.DISCOUNT * self.kinds[order][history] / total * lower

    def perplexity(self, sentences):
        """Of all words but the first mark."""
        logs = [
            math.log(self.probability(tuple(sentence[max(0, i - 2) : i + 1])))
            for sentence in sentences
            for i in range(1, len(sentence))
        ]
        return math.exp(-sum(logs) / len(logs))


def network(cell, words, embed, dropout):
    """What makes the symbol of a bucket."""

    def of_length(length):
        data = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=words, output_dim=embed, name="embed")
        data = mx.sym.Dropout(data, p=dropout)
        outputs, _ = cell.unroll(length, data, layout="TNC", merge_outputs=True)
        outputs = mx.sym.Dropout(mx.sym.reshape(outputs, (-3, 0)), p=dropout)
        scores = mx.sym.FullyConnected(outputs, num_hidden=words, name="scores")
        label = mx.sym.reshape(mx.sym.Variable("softmax_label"), (-1,))
        net = mx.sym.SoftmaxOutput(
            scores, label, use_ignore=True, ignore_label=PADDING, normalization="valid", name="softmax"
        )
        return net, ("data",), ("softmax_label",)

    return of_length


def train(options, parts, words):
    """Trains with early stopping; returns the perplexities of each epoch and the one on the test part."""
    cell = mx.rnn.FusedRNNCell(
        options.hidden, num_layers=options.layers, mode=options.mode, dropout=options.dropout, prefix="rnn_"
    )
    training, validation, test = (
        mx.rnn.BucketSentenceIter(
            part, options.batch_size, buckets=BUCKETS, invalid_label=PADDING, layout="TN"
        )
        for part in parts
    )
    module = mx.mod.BucketingModule(
        network(cell, words, options.hidden, options.dropout), training.default_bucket_key
    )
    module.bind(training.provide_data, training.provide_label)
    module.init_params(mx.init.Uniform(0.08))
    module.init_optimizer(
        optimizer="adam", optimizer_params={"learning_rate": options.lr, "clip_gradient": 1.0}
    )
    metric = mx.metric.Perplexity(ignore_label=PADDING)
    history, best, best_params = [], math.inf, module.get_params()
    for epoch in range(options.epochs):
        training.reset()
        metric.reset()
        bar = tqdm(
            training, total=len(training.idx), desc=f"epoch {epoch + 1}", unit="batch", mininterval=0.2
        )
        for batch in bar:
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
        scores = {"train": metric.get()[1], "validation": score(module, validation, metric)}
        history.append(scores)
        tqdm.write(
            f"epoch {epoch + 1}: perplexity {scores['train']:.1f} in training, {scores['validation']:.1f} in validation"
        )
        if scores["validation"] < best:
            best, best_params = scores["validation"], module.get_params()
        else:
            break
    module.set_params(*best_params)
    prefix = str(options.output / "language_model")
    mx.rnn.save_rnn_checkpoint(cell, prefix, len(history), module.symbol, *best_params)
    return history, score(module, test, metric)


def score(module, batches, metric):
    """Perplexity without training."""
    batches.reset()
    return dict(module.score(batches, metric))["perplexity"]


def draw(history, baseline, path):
    """Saves the perplexities by epoch, beside the trigrams', as a plot."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6, 3.8))
    epochs = range(1, len(history) + 1)
    for part in ("train", "validation"):
        axis.plot(epochs, [entry[part] for entry in history], marker="o", label=f"LSTM, {part}")
    axis.axhline(baseline, color="black", linestyle="--", label="trigrams, validation")
    axis.set(xlabel="epoch", ylabel="perplexity", yscale="log")
    axis.grid(alpha=0.3, which="both")
    axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def parse(arguments=None):
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mode", choices=["lstm", "gru", "rnn_tanh", "rnn_relu"], default="lstm")
    parser.add_argument("--hidden", type=int, default=256, help="units of a layer")
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument(
        "--epochs", type=int, default=40, help="the most; it stops when validation gets worse"
    )
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.002)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a small network and two epochs")
    parser.add_argument(
        "--output", type=Path, default=Path("out/language_model"), help="folder of the results"
    )
    options = parser.parse_args(arguments)
    if options.quick:
        options.hidden, options.epochs = 64, 2
    return options


def main():
    options = parse()
    options.output.mkdir(parents=True, exist_ok=True)
    mx.random.seed(options.seed)
    np.random.seed(options.seed)
    random.seed(options.seed)
    parts = split(read_sentences(), options.seed)
    numbers = vocabulary(parts[0])
    coded = [
        [
            [numbers.get(word, UNKNOWN) for word in sentence]
            for sentence in part
            if len(sentence) <= BUCKETS[-1]
        ]
        for part in parts
    ]
    print(f"{sum(map(len, coded[0])):,} words to train on, {len(numbers):,} different ones")
    trigrams = Trigrams(
        coded[0], len(numbers) - 2
    )  # neither padding nor the mark of the beginning is predicted
    baseline = [trigrams.perplexity(part) for part in coded[1:]]
    history, tested = train(options, coded, len(numbers))
    picture = options.output / "perplexity.png"
    draw(history, baseline[0], picture)
    print(f"test perplexity: {tested:.1f}; of trigrams: {baseline[1]:.1f}")
    print(f"curves: {picture}")


if __name__ == "__main__":
    main()
