# SPDX-License-Identifier: Apache-2.0
"""An objective: how well a small network tells the inside of a circle from its outside."""

import loomix as mx
from loomix import autograd, gluon


def objective(trial):
    mx.random.seed(trial.seed % 2**31)
    x = mx.nd.random.uniform(-1, 1, shape=(512, 2))
    y = (mx.nd.sum(x * x, axis=1) < 0.6).astype("float32")
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(trial["units"], activation=trial["activation"]), gluon.nn.Dense(2))
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": trial["learning_rate"]})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    accuracy = 0.0
    for epoch in range(10):
        for begin in range(0, 512, 64):
            with autograd.record():
                error = loss(net(x[begin : begin + 64]), y[begin : begin + 64])
            error.backward()
            trainer.step(64)
        accuracy = float((net(x).argmax(axis=1) == y).mean().asscalar())
        trial.report(accuracy, epoch)
    return accuracy
