# SPDX-License-Identifier: Apache-2.0
"""The multiply-adds of operators, from their attributes and shapes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .symbol import Symbol

_Shapes = Sequence[tuple[int, ...]]
_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def _is_true(attrs: Mapping[str, str], name: str) -> bool:
    return attrs.get(name, "False") in ("True", "1")


def _recurrent(attrs: Mapping[str, str], inputs: _Shapes) -> int:
    (steps, batch, _), (size,) = inputs[0], inputs[1]
    directions = 2 if _is_true(attrs, "bidirectional") else 1
    biases = 2 * _GATES[attrs["mode"]] * int(attrs["state_size"]) * int(attrs["num_layers"]) * directions
    return steps * batch * (size - biases)


# The multiply-adds of an operator, from its attributes and the shapes of its inputs and of its first output.
_RULES: dict[str, Callable[[Mapping[str, str], _Shapes, tuple[int, ...]], int]] = {
    "Convolution": lambda a, i, out: math.prod(out) * math.prod(i[1][1:]),
    "_contrib_DeformableConvolution": lambda a, i, out: math.prod(out) * math.prod(i[2][1:]),
    "_contrib_ModulatedDeformableConvolution": lambda a, i, out: math.prod(out) * math.prod(i[3][1:]),
    "Deconvolution": lambda a, i, out: math.prod(i[0]) * math.prod(i[1][1:]),
    "FullyConnected": lambda a, i, out: math.prod(out) * i[1][1],
    "dot": lambda a, i, out: math.prod(out) * (i[0][0] if _is_true(a, "transpose_a") else i[0][-1]),
    **dict.fromkeys(
        ("batch_dot", "_linalg_gemm", "_linalg_gemm2"),
        lambda a, i, out: math.prod(out) * i[0][-2 if _is_true(a, "transpose_a") else -1],
    ),
    "_contrib_interleaved_matmul_selfatt_qk": lambda a, i, out: (
        math.prod(out) * (i[0][2] // 3 // int(a["heads"]))
    ),
    "_contrib_interleaved_matmul_encdec_qk": lambda a, i, out: math.prod(out) * (i[0][2] // int(a["heads"])),
    "_contrib_interleaved_matmul_selfatt_valatt": lambda a, i, out: math.prod(out) * i[1][2],
    "_contrib_interleaved_matmul_encdec_valatt": lambda a, i, out: math.prod(out) * i[1][2],
    "RNN": lambda a, i, out: _recurrent(a, i),
}


def multiply_adds(graph: Symbol, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[str, int]]:
    """Operator and multiply-adds of each node that has any, by its name.

    Parameters
    ----------
    graph : Symbol
    shapes : mapping of str to tuple
        Shapes of arguments, from which all others must follow.
    """
    internals = graph.get_internals()
    known = internals.infer_shape(**shapes)[1]
    nodes = json.loads(graph.tojson(remove_amp_cast=False))["nodes"]
    outputs: dict[tuple[int, int], tuple[int, ...]] = {}
    number, first = 0, 0
    for i, shape in enumerate(known):  # in the order of the nodes, with all outputs of each
        while internals[i].name != nodes[number]["name"]:
            number, first = number + 1, i
        outputs[number, i - first] = shape
    counts: dict[str, tuple[str, int]] = {}
    for number, node in enumerate(nodes):
        if node["op"] in _RULES:
            inputs = [outputs[source, index] for source, index, *_ in node["inputs"]]
            count = _RULES[node["op"]](node.get("attrs", {}), inputs, outputs[number, 0])
            counts[node["name"]] = node["op"], counts.get(node["name"], ("", 0))[1] + count
    return counts
