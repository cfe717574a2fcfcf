# SPDX-License-Identifier: Apache-2.0
"""The same by Loomix in Python."""

import sys
import time

import loomix as mx
from loomix import autograd, gluon

mx.random.seed(1)
x, y = mx.nd.random.uniform(shape=(60000, 784)), mx.nd.floor(mx.nd.random.uniform(0, 10, shape=(60000,)))
net = gluon.nn.HybridSequential()
for _ in range(int(sys.argv[1])):
    net.add(gluon.nn.Dense(500, activation="sigmoid"))
net.add(gluon.nn.Dense(10))
net.initialize(mx.init.Xavier())
net.hybridize()
loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
loss_of.hybridize()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05, "wd": 0.001})
for _ in range(int(sys.argv[2])):
    begin = time.perf_counter()
    loss_sum, right = 0, 0
    for at in range(0, 60000, 100):
        data, label = x[at : at + 100], y[at : at + 100]
        with autograd.record():
            out = net(data)
            loss = loss_of(out, label)
        loss.backward()
        trainer.step(100)
        loss_sum = loss_sum + loss.sum()
        right = right + (out.argmax(1) == label).sum()
    assert loss_sum.asscalar() < 600000 and right.asscalar() >= 0
    print(f"{time.perf_counter() - begin:.4f}", flush=True)
