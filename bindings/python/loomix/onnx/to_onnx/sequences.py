# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers, operators on sequences, and random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph import Node
from ..library import NUMBERS
from ..writer import Writer

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
# ONNX's order of the gates, as places in MXNet's: i f c o -> i o f c, and r z n -> z r n.
ORDER = {"rnn_relu": [0], "rnn_tanh": [0], "lstm": [0, 3, 1, 2], "gru": [1, 0, 2]}
_OPERATORS = {"rnn_relu": "RNN", "rnn_tanh": "RNN", "lstm": "LSTM", "gru": "GRU"}


def _turn_gates(array: np.ndarray[Any, Any], mode: str) -> np.ndarray[Any, Any]:
    gates = np.split(array, GATES[mode])
    return np.concatenate([gates[i] for i in ORDER[mode]])


def split_parameters(
    flat: np.ndarray[Any, Any], mode: str, layers: int, directions: int, inputs: int, units: int
) -> list[tuple[np.ndarray[Any, Any], ...]]:
    """The weights of input and state, and the biases, of each layer as ONNX has them."""
    rows, place, weights = GATES[mode] * units, 0, []

    def take(*shape: int) -> np.ndarray[Any, Any]:
        nonlocal place
        place += int(np.prod(shape))
        return _turn_gates(flat[place - int(np.prod(shape)) : place].reshape(shape), mode)

    for layer in range(layers):
        width = inputs if layer == 0 else units * directions
        weights.append([(take(rows, width), take(rows, units)) for _ in range(directions)])
    found: list[tuple[np.ndarray[Any, Any], ...]] = []
    for pairs in weights:
        biases = [np.concatenate([take(rows), take(rows)]) for _ in range(directions)]
        found.append((np.stack([a for a, _ in pairs]), np.stack([b for _, b in pairs]), np.stack(biases)))
    return found


def _check_rnn(n: Node) -> None:
    for name in ("projection_size", "lstm_state_clip_min", "lstm_state_clip_max"):
        if n[name] not in (None, "None"):
            n.fail(f"{name} has no ONNX form.")


def rnn(n: Node, w: Writer) -> list[str]:
    _check_rnn(n)
    mode, units, layers = n["mode"], n["state_size"], n["num_layers"]
    directions = 2 if n["bidirectional"] else 1
    flat = n.constant(1)
    if flat is None:
        n.fail("the parameters are no constants; expected them in params.")
    parts = split_parameters(flat.reshape(-1), mode, layers, directions, n.shape(axes=[2])[2], units)
    count = 2 if mode == "lstm" else 1
    lengths = w.cast(n.input(2 + count), np.int32) if n["use_sequence_length"] else None

    def begin(i: int, layer: int) -> str | None:
        if n.is_zeros(2 + i):
            return None
        state = n.input(2 + i)
        rows = [layer * directions], [(layer + 1) * directions], [0]
        return state if layers == 1 else w.slice(state, *rows)

    attributes: dict[str, Any] = {
        "hidden_size": units,
        "direction": "bidirectional" if directions == 2 else "forward",
        "linear_before_reset": 1 if mode == "gru" else None,
        "activations": ["Relu"] * directions if mode == "rnn_relu" else None,
    }
    x, ends = n.input(0), []
    for layer, weights in enumerate(parts):
        states = [begin(i, layer) for i in range(count)]
        y, *last = w.add_many(_OPERATORS[mode], 1 + count, x, *weights, lengths, *states, **attributes)
        ends.append(last)
        if directions == 1:
            x = w.squeeze(y, 1)
        else:
            x = w.reshape(w.transpose(y, [0, 2, 1, 3]), [0, 0, directions * units])
    if not n["state_outputs"]:
        return [x]
    return [x, *(w.add("Concat", *states, axis=0) if layers > 1 else states[0] for states in zip(*ends))]


def _inside(n: Node, w: Writer) -> str:
    """Whether places belong to their sequence, for the axes of data."""
    axis, rank = n["axis"], n.rank()
    size = n.shape(axes=[axis])[axis]
    length = w.cast(n.input(1), np.int64)
    places = np.arange(size)
    inside = (
        w.add("Less", places[:, None], length) if axis == 0 else w.add("Less", places, w.unsqueeze(length, 1))
    )
    return w.unsqueeze(inside, *range(2, rank)) if rank > 2 else inside


def sequence_mask(n: Node, w: Writer) -> str:
    if not n["use_sequence_length"]:
        return w.add("Identity", n.input(0))
    return w.add("Where", _inside(n, w), n.input(0), n.number_like(n["value"]))


def sequence_last(n: Node, w: Writer) -> str:
    x, axis = n.input(0), n["axis"]
    if not n["use_sequence_length"]:
        return w.add("Gather", x, np.int64(-1), axis=axis)
    if axis == 0:
        x = w.transpose(x, [1, 0, *range(2, n.rank())])
    places = w.add("Sub", w.cast(n.input(1), np.int64), np.int64(1))
    return w.add("GatherND", x, w.unsqueeze(places, 1), batch_dims=1)


def sequence_reverse(n: Node, w: Writer) -> str:
    if not n["use_sequence_length"]:
        return w.reverse(n.input(0), [n["axis"]])
    lengths = w.cast(n.input(1), np.int64)
    return w.add("ReverseSequence", n.input(0), lengths, time_axis=n["axis"], batch_axis=1 - n["axis"])


def _random(n: Node, w: Writer, op: str, dtype: Any, **attributes: float) -> str:
    return w.add(op, dtype=NUMBERS[np.dtype(dtype)], shape=list(n.out_shape()), **attributes)


def random_uniform(n: Node, w: Writer) -> str:
    return _random(n, w, "RandomUniform", n.out_dtype(), low=float(n["low"]), high=float(n["high"]))


def random_normal(n: Node, w: Writer) -> str:
    return _random(n, w, "RandomNormal", n.out_dtype(), mean=float(n["loc"]), scale=float(n["scale"]))


def random_integers(n: Node, w: Writer) -> str:
    found = _random(n, w, "RandomUniform", np.float64, low=float(n["low"]), high=float(n["high"]))
    return w.cast(w.add("Floor", found), n.out_dtype())


def random_uniform_like(n: Node, w: Writer) -> str:
    return w.add("RandomUniformLike", n.input(0), low=float(n["low"]), high=float(n["high"]))


def random_normal_like(n: Node, w: Writer) -> str:
    return w.add("RandomNormalLike", n.input(0), mean=float(n["loc"]), scale=float(n["scale"]))


CONVERTERS: dict[str, Callable[[Node, Writer], Any]] = {
    "RNN": rnn,
    "SequenceLast": sequence_last,
    "SequenceMask": sequence_mask,
    "SequenceReverse": sequence_reverse,
    "_random_normal": random_normal,
    "_random_normal_like": random_normal_like,
    "_random_randint": random_integers,
    "_random_uniform": random_uniform,
    "_random_uniform_like": random_uniform_like,
}
