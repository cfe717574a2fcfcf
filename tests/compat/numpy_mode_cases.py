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


class Attention(gluon.HybridBlock):
    """Self-attention of several heads with a mask of valid lengths, as in GluonNLP."""

    def __init__(self, units=8, heads=2):
        super().__init__()
        self._heads, self._units = heads, units
        with self.name_scope():
            self.query = nn.Dense(units, flatten=False)
            self.key = nn.Dense(units, flatten=False)
            self.value = nn.Dense(units, flatten=False)
            self.out = nn.Dense(units, flatten=False)

    def _split(self, F, x):
        return F.np.transpose(F.npx.reshape(x, (-2, -2, self._heads, -1)), (0, 2, 1, 3))

    def hybrid_forward(self, F, x, mask):
        q, k, v = (self._split(F, layer(x)) for layer in (self.query, self.key, self.value))
        scores = F.np.einsum("bhqd,bhkd->bhqk", q, k) / (self._units // self._heads) ** 0.5
        kept = F.np.expand_dims(F.np.expand_dims(mask, 1), 1)
        scores = F.np.where(F.np.broadcast_to(kept, (2, self._heads, 5, 5)) > 0, scores, -1e9)
        weights = F.npx.softmax(scores, axis=-1) * kept
        context = F.np.matmul(weights, v)
        return self.out(F.npx.reshape(F.np.transpose(context, (0, 2, 1, 3)), (-2, -2, -1)))


class Transformer(gluon.HybridBlock):
    def __init__(self, units=8):
        super().__init__()
        self._units = units
        with self.name_scope():
            self.embed = nn.Embedding(11, units)
            self.attention = Attention(units)
            self.first, self.second = nn.LayerNorm(), nn.LayerNorm()
            self.wide = nn.Dense(2 * units, flatten=False)
            self.narrow = nn.Dense(units, flatten=False)
            self.position = self.params.get("position", shape=(1, 5, units), init="normal")

    def hybrid_forward(self, F, tokens, mask, position):
        x = self.embed(tokens) * self._units**0.5 + position
        x = self.first(x + self.attention(x, mask))
        wide = self.wide(x)
        gelu = 0.5 * wide * (1 + F.np.tanh(0.79788 * (wide + 0.044715 * wide**3)))
        x = self.second(x + self.narrow(gelu))
        lengths = F.np.sum(mask, axis=1, keepdims=True)
        mean = F.np.sum(x * F.np.expand_dims(mask, -1), axis=1) / lengths
        return (
            x,
            mean,
            F.np.dot(mean, F.np.ones((self._units, 3))),
            F.np.var(x, axis=-1),
            F.np.std(x, axis=1, ddof=1),
        )


class Recurrent(gluon.HybridBlock):
    """The LSTM operator, as D2L's language models and gluon.rnn call it."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.embed = nn.Embedding(7, 4)
            self.out = nn.Dense(7)
            self.weights = self.params.get("weights", shape=(4 * 5 * (4 + 5 + 2),), init=mx.init.Uniform(0.3))

    def hybrid_forward(self, F, tokens, state, cell, weights):
        x = F.np.swapaxes(self.embed(tokens), 0, 1)
        y, h, c = F.npx.rnn(
            data=x,
            parameters=weights,
            state=state,
            state_cell=cell,
            mode="lstm",
            state_size=5,
            num_layers=1,
            state_outputs=True,
        )
        return self.out(F.npx.reshape(y, (-5, -2))), h, c, F.np.concatenate([h, c], axis=2)


class Linear(gluon.HybridBlock):
    """Regression and softmax by hand, as in D2L's first chapters."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.w = self.params.get("w", shape=(4, 3), init="normal")
            self.b = self.params.get("b", shape=(3,), init="zeros")

    def hybrid_forward(self, F, x, labels, w, b):
        logits = F.np.dot(x, w) + b
        shifted = F.np.exp(logits - F.np.max(logits, axis=1, keepdims=True))
        probabilities = shifted / shifted.sum(axis=1, keepdims=True)
        loss = -F.np.log(F.npx.pick(probabilities, labels))
        hits = F.np.equal(F.np.argmax(probabilities, axis=1).astype("int32"), labels)
        norm = F.np.linalg.norm(w)
        return loss.mean(), hits, (labels * 2 + 1) / 2, F.np.sum(hits), (w**2).sum() / 2, norm, labels / 3


class More(gluon.HybridBlock):
    """Functions that blocks use now and then."""

    def hybrid_forward(self, F, x, y):
        f = F.np
        return (
            f.matmul(f.ones((2, 3)), x),
            f.tensordot(x, y, axes=2),
            f.tensordot(x, y, axes=((0,), (0,))),
            f.pad(x, ((1, 0), (0, 2))),
            f.percentile(x, 30, axis=1),
            f.linalg.norm(x, axis=1),
            f.where(x > 0, x, 1.5),
            f.where(x > 0, 0, y),
            f.flip(x, 1),
            f.roll(x, 1, axis=1),
            f.rot90(x),
            f.tril(x),
            f.trace(x),
            f.diag(x),
            f.moveaxis(x, 0, 1),
            f.vstack([x, y]),
            f.dstack([x, y]),
            f.column_stack([x, y]),
            f.average(x, axis=0, weights=y),
            f.around(x, 1),
            f.nan_to_num(x),
            f.linspace(0, 1, 5),
            f.logspace(0, 1, 4),
            f.eye(3),
            f.identity(2),
            f.indices((2, 2)),
            f.hanning(5),
            f.diff(x),
            f.ediff1d(x),
            f.outer(x, y),
            f.inner(x, y),
            f.vdot(x, y),
            f.cumsum(x, axis=1),
            f.linalg.inv(f.eye(3) * 2 + 1),
            f.linalg.solve(f.eye(3) * 2 + 1, f.ones((3, 2))),
            f.all(x > -9, axis=1),
            f.isnan(x),
            f.polyval(f.ones((3,)), x),
            f.array_split(x, [2], axis=1)[1],
            f.arctan2(x, y) + f.copysign(x, y) + f.ldexp(x, y),
            f.mod(2, y) + 2.5 - x,
            f.clip(x, 0.2, 0.6),
            (x > 0.5) * y,
            x[1] + y[:, 1:][2, 0],
        )


def write(folder, name, net, **inputs):
    net.initialize(mx.init.Xavier())
    net.hybridize()
    outputs = net(*(np.array(x, dtype=x.dtype) for x in inputs.values()))
    net.export(f"{folder}/{name}")
    results = {f"o{i}": output.asnumpy() for i, output in enumerate(outputs)}
    onp.savez_compressed(f"{folder}/{name}.npz", **inputs, **results)


if __name__ == "__main__":
    npx.set_np()
    mx.random.seed(0)
    rng = onp.random.RandomState(0)
    write(sys.argv[1], "net", Net(), x=rng.rand(2, 3, 8, 8).astype("float32"))
    write(sys.argv[1], "ops", Ops(), x=rng.rand(3, 4).astype("float32"), y=rng.rand(3, 4).astype("float32"))
    write(
        sys.argv[1],
        "transformer",
        Transformer(),
        x=rng.randint(0, 11, (2, 5)).astype("int32"),
        y=onp.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], "float32"),
    )
    write(
        sys.argv[1],
        "recurrent",
        Recurrent(),
        x=rng.randint(0, 7, (3, 6)).astype("int32"),
        y=onp.zeros((1, 3, 5), "float32"),
        z=onp.zeros((1, 3, 5), "float32"),
    )
    write(
        sys.argv[1],
        "linear",
        Linear(),
        x=rng.rand(5, 4).astype("float32"),
        y=rng.randint(0, 3, 5).astype("int32"),
    )
    write(sys.argv[1], "more", More(), x=rng.rand(3, 4).astype("float32"), y=rng.rand(3, 4).astype("float32"))
