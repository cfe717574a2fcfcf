#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A linear model and a factorisation machine on sparse features, of which a sample has a few among very many.

    python examples/sparse/train_sparse.py                             # factorisation machine, 10^6 features
    python examples/sparse/train_sparse.py --model linear
    python examples/sparse/train_sparse.py --quick                     # some seconds: few features

Data are csr matrices, weights and their gradients row_sparse. The weights are on a store, which trains them: before
each batch the rows that it needs are pulled (`sparse_row_id_fn`), and only these rows are computed with, pushed back as
a gradient, and updated. So a batch costs by the features that it has, not by those that there are.

The labels come from a factorisation machine (Rendle 2010) with few factors that the program makes up.
"""

import argparse
import time

import loomix as mx
import numpy as np


def make_data(samples, features, per_sample, seed):
    """A csr matrix, and a label of each row: the sign of a hidden model's score, centred."""
    random = np.random.RandomState(seed)
    columns = np.sort(np.minimum(random.zipf(1.3, (samples, per_sample)) - 1, features - 1), axis=1)
    repeated = np.zeros(columns.shape, bool)
    repeated[:, 1:] = columns[:, 1:] == columns[:, :-1]
    kept = columns[~repeated]
    starts = np.concatenate([[0], np.cumsum((~repeated).sum(axis=1))])
    values = np.ones(len(kept), np.float32)
    factors = random.normal(0, 1, (features, 2)).astype(np.float32)
    weights = random.normal(0, 1, features).astype(np.float32)
    sums = np.add.reduceat(factors[kept], starts[:-1])
    squares = np.add.reduceat(factors[kept] ** 2, starts[:-1])
    scores = np.add.reduceat(weights[kept], starts[:-1]) + 0.5 * (sums**2 - squares).sum(axis=1)
    labels = (scores > np.median(scores)).astype(np.float32)
    return mx.nd.sparse.csr_matrix((values, kept, starts), shape=(samples, features)), labels


def linear(features):
    """The logistic regression, and the names of its row_sparse weights."""
    x = mx.sym.Variable("data", stype="csr")
    weight = mx.sym.Variable("weight", shape=(features, 1), stype="row_sparse", init=mx.init.Normal(0.01))
    bias = mx.sym.Variable("bias", shape=(1,), init=mx.init.Zero())
    score = mx.sym.broadcast_add(mx.sym.dot(x, weight), bias)
    return mx.sym.LogisticRegressionOutput(score, mx.sym.Variable("label"), name="score"), ["weight"]


def factorisation_machine(features, factors):
    """The same with products of all pairs of features: half of (sum of factors)^2 - sum of squared factors."""
    x = mx.sym.Variable("data", stype="csr")
    weight = mx.sym.Variable("weight", shape=(features, 1), stype="row_sparse", init=mx.init.Normal(0.01))
    bias = mx.sym.Variable("bias", shape=(1,), init=mx.init.Zero())
    v = mx.sym.Variable("v", shape=(features, factors), stype="row_sparse", init=mx.init.Normal(0.05))
    single = mx.sym.broadcast_add(mx.sym.dot(x, weight), bias)
    squares = mx.sym.dot(mx.sym.square(x), mx.sym._internal._square_sum(v, axis=1, keepdims=True))
    pairs = mx.sym.sum(mx.sym.square(mx.sym.dot(x, v)), axis=1, keepdims=True)
    score = single + 0.5 * (pairs - squares)
    return mx.sym.LogisticRegressionOutput(score, mx.sym.Variable("label"), name="score"), ["weight", "v"]


def accuracy(label, score):
    return float(((score[:, 0] > 0.5) == (label.reshape(-1) > 0.5)).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=["linear", "fm"], default="fm")
    parser.add_argument("--features", type=int, default=1_000_000)
    parser.add_argument("--factors", type=int, default=16)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--per-sample", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="few features and samples")
    options = parser.parse_args()
    if options.quick:
        options.features, options.samples, options.batch_size, options.factors = 2000, 4000, 100, 4

    mx.random.seed(options.seed)
    data, labels = make_data(options.samples, options.features, options.per_sample, options.seed)
    size = options.samples // 10 // options.batch_size * options.batch_size
    validation = mx.io.NDArrayIter(
        data[:size], labels[:size], options.batch_size, label_name="label", last_batch_handle="discard"
    )
    training = mx.io.NDArrayIter(
        data[size:], labels[size:], options.batch_size, label_name="label", last_batch_handle="discard"
    )
    if options.model == "linear":
        network, sparse = linear(options.features)
    else:
        network, sparse = factorisation_machine(options.features, options.factors)

    def rows_of(batch):
        return dict.fromkeys(sparse, batch.data[0].indices)

    module = mx.mod.Module(network, label_names=["label"])
    module.bind(training.provide_data, training.provide_label)
    module.init_params()
    module.init_optimizer(
        kvstore=mx.kv.create("local"),
        optimizer="adam",
        optimizer_params={
            "learning_rate": options.lr,
            "lazy_update": True,
            "rescale_grad": 1 / options.batch_size,
        },
    )
    metric = mx.metric.CustomMetric(accuracy, name="accuracy")
    for epoch in range(options.epochs):
        metric.reset()
        training.reset()
        begin, count = time.perf_counter(), 0
        for batch in training:
            module.prepare(batch, sparse_row_id_fn=rows_of)
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
            count += options.batch_size
        mx.nd.waitall()
        speed = count / (time.perf_counter() - begin)
        score = dict(
            module.score(
                validation, mx.metric.CustomMetric(accuracy, name="accuracy"), sparse_row_id_fn=rows_of
            )
        )
        print(
            f"epoch {epoch}: accuracy {metric.get()[1]:.3f}, validation {score['accuracy']:.3f}, "
            f"{speed:,.0f} samples/s"
        )
    return score["accuracy"]


if __name__ == "__main__":
    main()
