# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..builder import Array, Builder, Value
from ..constants import check_size
from ..reader import Node
from ..to_onnx.sequences import GATES, ORDER

_ACTIVATIONS = {"RNN": ["Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"]}


def _mode(n: Node, directions: int) -> str:
    """Loomix' name of the kind of layer."""
    names = [name.lower() for name in n.strings("activations")]
    usual = [name.lower() for name in _ACTIVATIONS[n.op]] * directions
    if n.op == "RNN" and names == ["relu"] * directions:
        return "rnn_relu"
    if names and names != usual:
        n.fail(f"the activations {names} are not supported; expected {usual}.")
    return {"RNN": "rnn_tanh", "LSTM": "lstm", "GRU": "gru"}[n.op]


def _as_parameters(n: Node, mode: str, units: int, directions: int) -> Array:
    """Weights and biases as one vector, as Loomix has them."""
    w, r, bias = (None if value is None else value.array for value in n.inputs[1:4])
    if w is None or r is None or (bias is None and n.inputs[3] is not None):
        n.fail("the weights must be constants.")
    rows = GATES[mode] * units
    check_size(n, [directions, 2 * rows])
    if bias is None:
        bias = np.zeros((directions, 2 * rows), w.dtype)
    expected = [(directions, rows, w.shape[-1]), (directions, rows, units), (directions, 2 * rows)]
    for weight, shape in zip((w, r, bias), expected):
        if weight.shape != shape:
            n.fail(f"a weight has shape {weight.shape}; expected {shape}.")
    back = [ORDER[mode].index(i) for i in range(GATES[mode])]

    def turned(array: Array) -> Array:
        gates = np.split(array, GATES[mode])
        return np.concatenate([gates[i] for i in back]).reshape(-1)

    parts = [turned(array[d]) for d in range(directions) for array in (w, r)]
    parts += [turned(half) for d in range(directions) for half in np.split(bias[d], 2)]
    return np.concatenate(parts)


def _begin(n: Node, b: Builder, i: int, directions: int, units: int, x: Value) -> Value:
    """A state before the first step; zeros where there is none."""
    value = n.inputs[i]
    if value is not None and not (value.arrays is not None and not any(a.any() for a in value.arrays)):
        return b.transpose(value, [1, 0, 2]) if n.flag("layout") else value
    batch = x.shape[1]
    zeros = b.make("_zeros", shape=(directions, batch or 0, units), dtype=x.dtype.name)
    return Value(b, "", [(directions, shape[1], units) for shape in x.shapes], x.dtype, zeros.node)


def recurrent(n: Node, b: Builder) -> list[Value]:
    n.inputs += [None] * (8 - len(n.inputs))
    direction = n.string("direction", "forward", ("forward", "reverse", "bidirectional"))
    directions, units = (2 if direction == "bidirectional" else 1), n.int("hidden_size", 0)
    mode, count = _mode(n, directions), 2 if n.op == "LSTM" else 1
    n.refuse("clip", "a bound of what activations get")
    n.refuse("input_forget", "one gate for two", 0)
    n.refuse("activation_alpha", "scales of activations")
    n.refuse("activation_beta", "shifts of activations")
    if n.op == "GRU" and not n.flag("linear_before_reset"):
        n.fail("linear_before_reset = 0 is not supported: Loomix resets behind the product, as cuDNN does.")
    if n.inputs[7] is not None:
        n.fail("peepholes are not supported.")
    layout, x, lengths = n.flag("layout"), n.inputs[0], n.inputs[4]
    x = b.transpose(x, [1, 0, 2]) if layout else x
    parameters = b.constant(_as_parameters(n, mode, units, directions), f"{n.name}_parameters")
    states = [_begin(n, b, 5 + i, directions, units, x) for i in range(count)]
    more = [] if lengths is None else [b.cast(lengths, np.float32)]
    if direction == "reverse":
        x = b.make("SequenceReverse", x, *more, use_sequence_length=bool(more))
    y, *last = b.make_many(
        "RNN", x, parameters, *states, *more, mode=mode, state_size=units, num_layers=1, state_outputs=True,
        bidirectional=directions == 2, use_sequence_length=bool(more),
    )  # fmt: skip
    if direction == "reverse":
        y = b.make("SequenceReverse", y, *more, use_sequence_length=bool(more))
    if layout:
        last = [b.transpose(state, [1, 0, 2]) for state in last]
    y = b.make("Reshape", y, shape=(0, 0, directions, units))
    return [b.transpose(y, [1, 0, 2, 3] if layout else [0, 2, 1, 3]), *last]


IMPORTERS: dict[str, Callable[[Node, Builder], Any]] = {
    "GRU": recurrent,
    "LSTM": recurrent,
    "RNN": recurrent,
}
