# SPDX-License-Identifier: Apache-2.0
"""What a random call is, and the draws that its parts come from."""

import random

import numpy as np

FLOATS = ("float32",) * 6 + ("float64",) * 2 + ("float16",)
NUMBERS = ("float32",) * 5 + ("float64",) * 2 + ("float16", "int32", "int32", "int64", "uint8", "int8")


class Array:
    """An input: shape, element type, and how it is filled; both frameworks make the same values of it."""

    def __init__(self, shape, dtype="float32", fill="normal", low=0, high=0):
        self.shape, self.dtype, self.fill, self.low, self.high = tuple(shape), dtype, fill, low, high

    def values(self, seed):
        """The values, by NumPy's old generator, whose numbers do not depend on NumPy's version."""
        rng = np.random.RandomState(seed)
        if self.fill == "normal":
            data = rng.standard_normal(self.shape) * 2
        elif self.fill == "uniform":
            data = rng.uniform(self.low, self.high, self.shape)
        elif self.fill == "whole":
            data = rng.randint(self.low, self.high, self.shape)
        elif self.fill == "matrix":  # symmetric and positive definite
            data = rng.standard_normal(self.shape)
            data = data @ np.swapaxes(data, -1, -2) + 3 * np.eye(self.shape[-1])
        elif self.fill == "distinct":  # no ties, for what sorts
            size = int(np.prod(self.shape))
            data = (rng.permutation(size) - size // 2).reshape(self.shape) / 2
        elif self.fill == "boxes":
            corner = rng.uniform(0, 0.6, (*self.shape[:-1], 2))
            data = np.concatenate([corner, corner + rng.uniform(0.1, 0.4, corner.shape)], axis=-1)
        else:
            data = np.array(self.fill).reshape(self.shape)
        if np.dtype(self.dtype).kind == "u":
            data = np.abs(data)
        return np.ascontiguousarray(np.asarray(data).astype(self.dtype))


class Call:
    """One call of an operator: its name below `mx.nd`, inputs, parameters, and what is compared of it."""

    def __init__(self, op, inputs, attrs=None, grad=True, values=True, mutates=()):
        self.op, self.inputs, self.attrs = op, inputs, attrs or {}
        floating = all(np.dtype(x.dtype).kind == "f" for x in inputs[:1]) and bool(inputs)
        self.grad = grad and floating
        self.values = values  # False for random numbers: shapes and types only
        self.mutates = mutates

    def describe(self):
        inputs = ", ".join(f"{x.dtype}{list(x.shape)}" for x in self.inputs)
        return f"{self.op}({inputs}, {self.attrs})"


class Draw:
    """Random choices of one call."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def of(self, *choices):
        return self.rng.choice(choices)

    def chance(self, share):
        return self.rng.random() < share

    def whole(self, low, high):
        """A number of low to high, both included."""
        return self.rng.randint(low, high)

    def number(self, low=-3.0, high=3.0):
        return round(self.rng.uniform(low, high), 3)

    def shape(self, low=1, high=4, largest=5):
        return tuple(self.whole(1, largest) for _ in range(self.whole(low, high)))

    def dtype(self, kinds=NUMBERS):
        return self.rng.choice(kinds)

    def floating(self):
        return self.rng.choice(FLOATS)

    def axis(self, rank):
        return self.whole(-rank, rank - 1)

    def axes(self, rank):
        """A tuple of different axes."""
        return tuple(sorted(self.rng.sample(range(rank), self.whole(1, rank))))

    def some(self, **attrs):
        """Some of the parameters; the others keep their defaults."""
        return {key: value for key, value in attrs.items() if self.chance(0.5)}

    def order(self, items):
        items = list(items)
        self.rng.shuffle(items)
        return items
