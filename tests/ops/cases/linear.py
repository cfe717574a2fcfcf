# SPDX-License-Identifier: Apache-2.0
"""FullyConnected, dot, batch_dot."""

import numpy as np

from . import Case


def fully_connected(x, w, b=0, num_hidden=0, no_bias=False, flatten=True):
    return (x.reshape(len(x), -1) if flatten else x) @ w.T + b


def dot(a, b, transpose_a=False, transpose_b=False):
    a = np.moveaxis(a, 0, -1) if transpose_a else a
    b = np.moveaxis(b, -1, 0) if transpose_b else b
    return np.atleast_1d(np.tensordot(a, b, 1))


def batch_dot(a, b, transpose_a=False, transpose_b=False):
    return (np.swapaxes(a, -1, -2) if transpose_a else a) @ (np.swapaxes(b, -1, -2) if transpose_b else b)


CASES = [
    Case("FullyConnected", [(3, 2, 4), (5, 8), (5,)], fully_connected, {"num_hidden": 5}),
    Case("FullyConnected", [(1, 7), (3, 7), (3,)], fully_connected, {"num_hidden": 3}),
    Case(
        "FullyConnected",
        [(3, 2, 4), (5, 4)],
        fully_connected,
        {"num_hidden": 5, "no_bias": True, "flatten": False},
    ),
    Case("dot", [(2, 3), (3, 4)], dot),
    Case("dot", [(3, 2), (4, 3)], dot, {"transpose_a": True, "transpose_b": True}),
    Case("dot", [(2, 3, 4), (4, 5)], dot),
    Case("dot", [(4,), (4,)], dot),
    Case("dot", [(1,), (1,)], dot),
    Case("batch_dot", [(2, 3, 4), (2, 4, 5)], batch_dot),
    Case("batch_dot", [(2, 4, 3), (2, 5, 4)], batch_dot, {"transpose_a": True, "transpose_b": True}),
]
