# SPDX-License-Identifier: Apache-2.0
"""The softmax family."""

import numpy as np

from . import Case


def softmax(x, axis=-1, temperature=1.0):
    e = np.exp((x - x.max(axis, keepdims=True)) / temperature)
    return e / e.sum(axis, keepdims=True)


def log_softmax(x, axis=-1, temperature=1.0):
    return np.log(softmax(x, axis, temperature))


def softmin(x, axis=-1, temperature=1.0):
    return softmax(-x, axis, temperature)


def softmax_activation(x, mode="instance"):
    return softmax(x, 1 if mode == "channel" else -1)


CASES = [
    Case(op.__name__, [shape], op, attrs)
    for op in (softmax, log_softmax, softmin)
    for shape, attrs in (((1,), {}), ((3, 17), {}), ((2, 3, 4), {"axis": 1}), ((3, 5), {"temperature": 2.0}))
] + [
    Case("SoftmaxActivation", [(2, 3, 4)], softmax_activation),
    Case("SoftmaxActivation", [(2, 3, 4)], softmax_activation, {"mode": "channel"}),
]
