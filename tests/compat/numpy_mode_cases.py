# SPDX-License-Identifier: Apache-2.0
"""Writes `files/numpy_mode/`: networks in NumPy mode, and what they give. Run by MXNet 1.9.1's Python.

MXNET_ENV/bin/python tests/compat/numpy_mode_cases.py tests/compat/files/numpy_mode
"""

import sys

import mxnet as mx
import numpy as onp
from mxnet import gluon, np, npx
from mxnet.gluon import nn


class Net(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.body = nn.HybridSequential()
            self.body.add(
                nn.Conv2D(4, 3),
                nn.BatchNorm(),
                nn.MaxPool2D(2),
                nn.Dense(5, activation="relu"),
                nn.LayerNorm(),
                nn.Dropout(0.5),
            )
            self.w = self.params.get("w", shape=(5,), init="ones")

    def hybrid_forward(self, F, x, w):
        h = F.np.exp(-self.body(x)) + w * 2 - 1
        h = F.np.concatenate([h, F.np.tanh(h)], axis=1)
        h = F.npx.softmax(h, axis=-1)
        h = F.np.where(h > 0.1, h, F.np.zeros_like(h))
        h = F.np.reshape(h, (-1, 2, 5)).transpose((0, 2, 1))
        picked = F.npx.pick(h, F.np.ones_like(h[:, :, 0]))
        return h.sum(axis=1), F.np.mean(h), F.np.expand_dims(h, 0) / 3, picked


class Ops(gluon.HybridBlock):
    def hybrid_forward(self, F, x, y):
        f, g = F.np, F.npx
        return (
            f.maximum(x, y) / (2 - x) ** 2 + f.minimum(x, 0.5) % 0.3 - f.power(f.abs(y), x),
            1 / y,
            2**x,
            f.log1p(f.square(x)) + f.arctan(y) - f.sqrt(f.abs(x)),
            x > y,
            x <= 0.5,
            x != y,
            f.logical_not(x),
            f.max(x, axis=1),
            f.min(y, keepdims=True),
            f.prod(x, axis=(0, 1)),
            f.sum(x),
            f.argmax(x, axis=1),
            f.stack([x, y], axis=1),
            f.concatenate([x, y], axis=0),
            f.split(x, 2, axis=1)[1],
            f.broadcast_to(f.sum(x, axis=1, keepdims=True), (3, 4)),
            f.transpose(x),
            f.squeeze(f.expand_dims(x, 1), axis=1),
            f.full_like(x, 2.5),
            f.zeros((2, 3)) + 1,
            f.ones((2,)),
            f.arange(0, 6, 2),
            f.where(x < y, x, y),
            g.relu(x) + g.sigmoid(y),
            f.hypot(x, y),
            f.mean(x, axis=0),
            f.rint(x * 3),
            f.degrees(x),
            f.tile(x, (1, 2)),
            f.take(x, f.zeros_like(y[0, :2]), axis=0),
        )


def write(folder, name, net, **inputs):
    net.initialize(mx.init.Xavier())
    net.hybridize()
    outputs = net(*(np.array(x) for x in inputs.values()))
    net.export(f"{folder}/{name}")
    results = {f"o{i}": output.asnumpy() for i, output in enumerate(outputs)}
    onp.savez_compressed(f"{folder}/{name}.npz", **inputs, **results)


if __name__ == "__main__":
    npx.set_np()
    mx.random.seed(0)
    rng = onp.random.RandomState(0)
    write(sys.argv[1], "net", Net(), x=rng.rand(2, 3, 8, 8).astype("float32"))
    write(sys.argv[1], "ops", Ops(), x=rng.rand(3, 4).astype("float32"), y=rng.rand(3, 4).astype("float32"))
