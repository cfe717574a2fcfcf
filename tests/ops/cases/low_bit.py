# SPDX-License-Identifier: Apache-2.0
"""Layers with weights of 8 and 4 bits."""

import numpy as np

from . import Case
from .attention import encdec_qk, encdec_valatt, selfatt_qk, selfatt_valatt

FLOAT = ("float32",)


def real(weight, scale, columns, bits=8, group_size=0):
    if bits == 4:
        weight = np.stack([weight & 15, weight >> 4], -1).reshape(len(weight), -1)[:, :columns] - 8.0
    return weight * np.repeat(scale, group_size or columns, 1)[:, :columns]


def fully_connected(x, weight, scale, bias, num_hidden, **form):
    return x @ real(weight, scale, x.shape[1], **form).T + bias


def embedding(x, weight, scale, input_dim, output_dim, **form):
    return real(weight, scale, output_dim, **form)[np.clip(x, 0, input_dim - 1).astype(int)]


def layer(x, weight, scale, bias, state, state_size, num_layers, mode):
    """One step of one layer, on data and states that 8 bits hold."""
    i2h, h2h = np.split(weight.astype("float32"), [state_size * x.shape[2]])
    gate = x[0] @ (i2h.reshape(state_size, -1) * scale[:state_size, None]).T
    gate = gate + state[0] @ (h2h.reshape(state_size, -1) * scale[state_size:, None]).T
    return np.maximum(gate + bias[:state_size] + bias[state_size:], 0)[None]


def held(x, weight, scale, bias, state):
    return np.sign(x), weight, scale, bias, np.sign(state)


def batch_dot(a, b, transpose_a=False, transpose_b=False):
    return (a.swapaxes(-1, -2) if transpose_a else a) @ (b.swapaxes(-1, -2) if transpose_b else b)


def signs(*inputs):
    """Numbers that 8 bits hold."""
    return [np.sign(x) for x in inputs]


def product(name, shapes, reference, attrs):
    return Case(
        f"contrib.low_bit_{name}",
        shapes,
        reference,
        attrs,
        dtypes=FLOAT,
        grad=(),
        prepare=signs,
        loose=10,
    )


def fc(columns, bytes_a_row, groups, **form):
    shapes = [(3, columns), (5, bytes_a_row), (5, groups), (5,)]
    types = {1: "uint8" if form.get("bits") == 4 else "int8"}
    attrs = {"num_hidden": 5, **form}
    # Numbers are kept with an offset, and random ones of 8 bits are small beside it.
    return Case(
        "contrib.low_bit_fully_connected",
        shapes,
        fully_connected,
        attrs,
        dtypes=FLOAT,
        grad=(),
        types=types,
        loose=100,
    )


CASES = [
    fc(7, 7, 1),
    fc(70, 70, 3, group_size=32),
    fc(70, 35, 3, bits=4, group_size=32),
    fc(7, 4, 1, bits=4),
    Case(
        "contrib.low_bit_embedding",
        [(2, 3), (2, 9), (2, 1)],
        embedding,
        {"input_dim": 2, "output_dim": 9},
        dtypes=FLOAT,
        grad=(),
        types={1: "int8"},
    ),
    Case(
        "contrib.low_bit_rnn",
        [(1, 2, 3), (15 + 25,), (10,), (10,), (1, 2, 5)],
        layer,
        {"state_size": 5, "num_layers": 1, "mode": "rnn_relu"},
        dtypes=FLOAT,
        grad=(),
        types={1: "int8"},
        prepare=held,
        loose=10,
    ),
    product("batch_dot", [(2, 3, 4, 70), (2, 3, 70, 5)], batch_dot, {}),
    product("batch_dot", [(2, 65, 33), (2, 7, 65)], batch_dot, {"transpose_a": True, "transpose_b": True}),
    product("interleaved_matmul_selfatt_qk", [(5, 2, 36)], selfatt_qk, {"heads": 3}),
    product("interleaved_matmul_selfatt_valatt", [(5, 2, 36), (6, 5, 5)], selfatt_valatt, {"heads": 3}),
    product("interleaved_matmul_encdec_qk", [(3, 2, 8), (5, 2, 16)], encdec_qk, {"heads": 2}),
    product("interleaved_matmul_encdec_valatt", [(5, 2, 16), (4, 3, 5)], encdec_valatt, {"heads": 2}),
]
