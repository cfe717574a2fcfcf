# SPDX-License-Identifier: Apache-2.0
"""The modules of the workflow, each a command and a function."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import loomix as mx
from loomix import autograd, gluon


def data(target):
    """Points in a square, and which of them are in a circle."""
    mx.random.seed(1)
    x = mx.nd.random.uniform(-1, 1, shape=(512, 2))
    mx.nd.save(target, {"x": x, "y": (mx.nd.sum(x * x, axis=1) < 0.6).astype("float32")})


def train(source, size, params, result):
    """A network with so many units; its accuracy."""
    mx.random.seed(2)
    arrays = mx.nd.load(source)
    x, y = arrays["x"], arrays["y"]
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(int(size), activation="tanh"), gluon.nn.Dense(2))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(60):
        with autograd.record():
            error = loss(net(x), y)
        error.backward()
        trainer.step(len(x))
    net.save_parameters(params)
    accuracy = float((net(x).argmax(axis=1) == y).mean().asscalar())
    Path(result).write_text(json.dumps({"size": int(size), "accuracy": accuracy, "params": params}))


def best(target, *results):
    """The most accurate one."""
    found = [json.loads(Path(result).read_text()) for result in results]
    Path(target).write_text(json.dumps(max(found, key=lambda one: one["accuracy"])))


STEPS: dict[str, Callable[..., None]] = {"data": data, "train": train, "best": best}

if __name__ == "__main__":
    STEPS[sys.argv[1]](*sys.argv[2:])
