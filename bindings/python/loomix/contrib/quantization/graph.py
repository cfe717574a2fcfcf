# SPDX-License-Identifier: Apache-2.0
"""Rewriting a network's graph: normalisations into weights, layers into those of 8 bits, ranges into attributes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np

from ...ndarray import NDArray, array
from ...symbol import Symbol, load_json

LAYER = "__calib_layer__"  # attribute of a node: the value of the float network whose range it wants
# Layers that are worth rounding for themselves; the others of `_MOVERS` follow where their input is rounded already.
PRODUCTS = {"Convolution": "_contrib_quantized_conv", "FullyConnected": "_contrib_quantized_fully_connected"}
_MOVERS = ("Activation", "Pooling", "Flatten", "flatten", "Concat", "concat", "elemwise_add", "Dropout")
# Layers that have operators of 8 bits, which would not pay here.
_LEFT = {
    "BatchNorm": "it follows no convolution whose weights it could be part of",
    "Embedding": "its rows are only read; quantize_weights rounds them",
    "RNN": "quantize_weights with dynamic=True rounds it",
    "elemwise_mul": "products of values stay in float",
}


class Node:
    """One node: operator, name, attributes as texts, and its inputs as (node, output)."""

    def __init__(self, op: str, name: str, attrs: dict[str, str] | None = None, inputs: Any = ()) -> None:
        self.op, self.name, self.attrs, self.inputs = op, name, dict(attrs or {}), list(inputs)
        self.rest: dict[str, Any] = {}  # subgraphs
        self.outputs: list[str] = []  # their names, of a node of the network that was given

    def is_on(self, name: str, default: bool = False) -> bool:
        text = self.attrs.get(name)
        return default if text is None else str(text) in ("True", "true", "1")


def nodes_of(symbol: Symbol) -> tuple[list[Node], list[Any]]:
    """The nodes in order of execution, and the outputs as (node, output)."""
    data = json.loads(symbol.tojson())
    internals = symbol.get_internals()
    outputs: dict[str, list[str]] = {}
    for value, name in zip(internals, internals.list_outputs()):
        outputs.setdefault(value.name, []).append(name)
    nodes: list[Node] = []
    for entry in data["nodes"]:
        attrs = entry.get("attrs", entry.get("attr", entry.get("param")))
        node = Node(entry["op"], entry["name"], attrs, [(nodes[i[0]], i[1]) for i in entry["inputs"]])
        node.rest = {k: v for k, v in entry.items() if k not in ("op", "name", "attrs", "inputs")}
        node.outputs = outputs.get(node.name, [])
        nodes.append(node)
    return nodes, [(nodes[head[0]], head[1]) for head in data["heads"]]


def _reachable(heads: Any) -> dict[Node, int]:
    """The nodes that the outputs need, in order of execution, and their numbers."""
    order: dict[Node, int] = {}
    stack = [(node, False) for node, _ in reversed(heads)]
    while stack:
        node, done = stack.pop()
        if node in order:
            continue
        if done:
            order[node] = len(order)
            continue
        stack.append((node, True))
        stack.extend((source, False) for source, _ in reversed(node.inputs))
    return order


def symbol_of(heads: Any) -> Symbol:
    """The symbol with these outputs."""
    order = _reachable(heads)
    entries = []
    for node in order:
        entry = {"op": node.op, "name": node.name, **node.rest}
        if node.attrs:
            entry["attrs"] = node.attrs
        entry["inputs"] = [[order[source], index, 0] for source, index in node.inputs]
        entries.append(entry)
    return load_json(
        json.dumps(
            {
                "nodes": entries,
                "arg_nodes": [i for node, i in order.items() if node.op == "null"],
                "heads": [[order[node], index, 0] for node, index in heads],
            }
        )
    )


def value_name(ref: Any) -> str:
    """What a monitor calls the value: a variable by its name, a layer's output by ``<name>_output``."""
    node, index = ref
    return node.outputs[index] if index < len(node.outputs) else f"{node.name}_output{index}"


def _readers(nodes: list[Node], heads: Any) -> Counter:
    count = Counter(ref for node in nodes for ref in node.inputs)
    count.update(heads)
    return count


class Folded:
    """A network whose normalisations are part of the convolutions before them.

    `names`: what a convolution's output was called."""

    def __init__(
        self, symbol: Symbol, args: dict[str, NDArray], aux: dict[str, NDArray], excluded: Collection[str]
    ) -> None:
        self.args, self.aux = dict(args), dict(aux)
        self.nodes, self.heads = nodes_of(symbol)
        self.names: dict[Node, str] = {}
        readers = _readers(self.nodes, self.heads)
        instead: dict[Any, Any] = {}
        for node in self.nodes:
            node.inputs = [instead.get(ref, ref) for ref in node.inputs]
            if node.op == "BatchNorm" and node.name not in excluded and self._fold(node, readers, excluded):
                instead[(node, 0)] = node.inputs[0]
                readers[node.inputs[0]] = readers[(node, 0)]
        self.heads = [instead.get(ref, ref) for ref in self.heads]
        self.nodes = list(_reachable(self.heads))

    def _fold(self, norm: Node, readers: Counter, excluded: Collection[str]) -> bool:
        conv, index = norm.inputs[0]
        names = [source.name for source, _ in norm.inputs[1:]]
        known = (
            names[0] in self.args and names[1] in self.args and names[2] in self.aux and names[3] in self.aux
        )
        if conv.op != "Convolution" or index or conv.name in excluded or not known or conv in self.names:
            return False
        if readers[(conv, 0)] != 1 or int(norm.attrs.get("axis", 1)) != 1 or norm.is_on("output_mean_var"):
            return False
        if conv.attrs.get("layout", "None") not in ("None", "NCW", "NCHW", "NCDHW"):
            return False
        parameters = [source.name for source, _ in conv.inputs[1:]]
        if any(readers[ref] != 1 for ref in conv.inputs[1:]) or any(p not in self.args for p in parameters):
            return False
        gamma, beta, mean, var = (
            source[name].asnumpy().astype(np.float64)
            for source, name in zip((self.args, self.args, self.aux, self.aux), names)
        )
        scale = (1.0 if norm.is_on("fix_gamma", True) else gamma) / np.sqrt(
            var + float(norm.attrs.get("eps", 1e-3))
        )
        weight = self.args[parameters[0]].asnumpy()
        self.args[parameters[0]] = array(
            (weight * scale.reshape((-1,) + (1,) * (weight.ndim - 1))).astype(np.float32)
        )
        bias = self.args[parameters[1]].asnumpy() if len(parameters) > 1 else 0.0
        if len(parameters) == 1:
            parameters.append(f"{conv.name}_bias")
            conv.attrs["no_bias"] = "False"
            conv.inputs.append((Node("null", parameters[1]), 0))
        self.args[parameters[1]] = array(((bias - mean) * scale + beta).astype(np.float32))
        self.names[conv] = value_name((norm, 0))
        return True


class Value:
    """A value of the new graph: real numbers, 8 bits with a range, or sums of 32 bits that nobody has rounded yet."""

    def __init__(self, real: Any = None, whole: Any = None, sums: Any = None, name: str = "") -> None:
        self.real, self.whole, self.sums, self.name, self.relu = real, whole, sums, name, False


class Rounded:
    """The graph in 8 bits.

    `channels`: weights have one range a filter. `wanted`: the values of the float network whose ranges it wants,
    `left`: layers that stay, and why."""

    def __init__(
        self,
        folded: Folded,
        excluded: Collection[str],
        operators: Collection[str],
        dtype: str,
        full: bool,
        channels: bool,
    ):
        self.folded, self.dtype, self.full, self.channels = folded, dtype, full, channels
        self.excluded, self.operators = set(excluded), set(operators)
        self.values: dict[Any, Value] = {}
        self.wanted: list[str] = []
        self.left: dict[str, str] = {}
        self.layers: dict[str, str] = {}  # by name: the value that it makes
        self.offline: list[str] = []
        self.readers = _readers(folded.nodes, folded.heads)
        self._variables: dict[str, Node] = {}
        for node in folded.nodes:
            self._add(node)
        self.heads = [self._real(ref) for ref in folded.heads]

    def symbol(self) -> Symbol:
        return symbol_of(self.heads)

    # what a value is turned into where it is read

    def _real(self, ref: Any) -> Any:
        value = self.values[ref]
        if value.real is None:
            parts = value.sums or value.whole
            node = Node("_contrib_dequantize", f"{ref[0].name}_dequantize", {}, parts)
            value.real = (node, 0)
            if value.relu and value.sums:
                value.real = (
                    Node("Activation", f"{ref[0].name}_relu", {"act_type": "relu"}, [value.real]),
                    0,
                )
        return value.real

    def _whole(self, ref: Any) -> Any:
        value = self.values[ref]
        if value.whole is None:
            attrs = {"out_type": self.dtype, LAYER: value.name}
            if value.sums:
                node = Node("_contrib_requantize", f"{ref[0].name}_requantize", attrs, value.sums)
            else:
                node = Node("_contrib_quantize_v2", f"{ref[0].name}_quantize", attrs, [value.real])
            value.whole = [(node, 0), (node, 1), (node, 2)]
            if value.name not in self.wanted:
                self.wanted.append(value.name)
            if value.relu:
                act = Node(
                    "_contrib_quantized_act",
                    f"{ref[0].name}_quantized_relu",
                    {"act_type": "relu"},
                    value.whole,
                )
                value.whole = [(act, 0), (act, 1), (act, 2)]
        return value.whole

    def _is_whole(self, ref: Any) -> bool:
        value = self.values[ref]
        return value.whole is not None or value.sums is not None

    # nodes

    def _add(self, node: Node) -> None:
        if node.op == "null":
            self.values[(node, 0)] = Value(real=(node, 0), name=node.name)
            return
        why = self._reason(node)
        if why is None:
            self._round(node)
            self.layers[node.name] = self.values[(node, 0)].name
            return
        if node.op in PRODUCTS or node.op in _MOVERS or node.op in _LEFT:
            self.left[node.name] = why
        copy = Node(node.op, node.name, node.attrs, [self._real(ref) for ref in node.inputs])
        copy.rest = node.rest
        for index in range(max(len(node.outputs), 1)):
            self.values[(node, index)] = Value(real=(copy, index), name=value_name((node, index)))

    def _reason(self, node: Node) -> str | None:
        """Why the layer stays in float; None if it does not."""
        if node.name in self.excluded:
            return "excluded by name"
        if node.op in self.operators:
            return "its operator is excluded"
        if node.op in PRODUCTS:
            names = [source.name for source, _ in node.inputs[1:]]
            if any(
                source.op != "null" or source.name not in self.folded.args for source, _ in node.inputs[1:]
            ):
                return "its weight is no parameter"
            bad = [name for name in names if not np.isfinite(self.folded.args[name].asnumpy()).all()]
            if bad:
                raise ValueError(
                    f"[quantization] {bad[0]} of {node.name} has NaN or infinite numbers, and so no range."
                )
            return None
        if node.op not in _MOVERS:
            return _LEFT.get(node.op, "there is no such operator of 8 bits")
        if node.op == "Activation" and node.attrs.get("act_type") != "relu":
            return "only relu keeps whole numbers whole"
        if node.op == "Pooling" and node.attrs.get("pool_type", "max") not in ("max", "avg"):
            return "only max and avg keep the range"
        whole = [self._is_whole(ref) for ref in node.inputs]
        return None if all(whole) or (self.full and node.op != "Dropout") else "its input is not of 8 bits"

    def _round(self, node: Node) -> None:
        name = self.folded.names.get(node, value_name((node, 0)))
        if node.op in PRODUCTS:
            self.values[(node, 0)] = Value(sums=self._product(node), name=name)
            return
        if node.op == "Dropout":  # it does nothing in prediction
            self.values[(node, 0)] = self.values[node.inputs[0]]
            return
        if node.op == "Activation":
            before = self.values[node.inputs[0]]
            if before.sums and self.readers[node.inputs[0]] == 1:  # the sums are rounded behind it
                value = Value(sums=before.sums, name=name)
                value.relu = True
                self.values[(node, 0)] = value
                return
        inputs = [self._whole(ref) for ref in node.inputs]
        if node.op in ("Concat", "concat", "elemwise_add"):
            parts = [part[0] for part in inputs] + [end for part in inputs for end in part[1:]]
        else:
            parts = inputs[0]
        kind = {
            "Activation": "act", "Pooling": "pooling", "Flatten": "flatten", "flatten": "flatten", "Concat": "concat",
            "concat": "concat", "elemwise_add": "elemwise_add",
        }[node.op]  # fmt: skip
        made = Node(f"_contrib_quantized_{kind}", f"quantized_{node.name}", node.attrs, parts)
        triple = [(made, 0), (made, 1), (made, 2)]
        is_sum = node.op == "elemwise_add"
        self.values[(node, 0)] = Value(
            whole=None if is_sum else triple, sums=triple if is_sum else None, name=name
        )

    def _product(self, node: Node) -> Any:
        names = [source.name for source, _ in node.inputs[1:]]
        self.offline += [name for name in names if name not in self.offline]
        whole = [[(self._variable(name, end), 0) for end in ("", "_min", "_max")] for name in names]
        data = self._whole(node.inputs[0])
        parts = [data[0], *(part[0] for part in whole), *data[1:]]
        for part in whole:
            parts += part[1:]
        made = Node(PRODUCTS[node.op], f"quantized_{node.name}", node.attrs, parts)
        return [(made, 0), (made, 1), (made, 2)]

    def _variable(self, of: str, end: str) -> Node:
        name = f"{of}_quantize{end}"
        # Nothing else says that there is a range for each filter.
        attrs = {"__shape__": f"({self.folded.args[of].shape[0]},)"} if self.channels and end else {}
        return self._variables.setdefault(name, Node("null", name, attrs))


def wanted_layers(symbol: Symbol) -> dict[str, str]:
    """The values whose ranges a rounded graph wants, and the first layer that reads each."""
    found: dict[str, str] = {}
    for node in nodes_of(symbol)[0]:
        for source, _ in node.inputs:
            if LAYER in source.attrs:
                found.setdefault(source.attrs[LAYER], node.name.removeprefix("quantized_"))
    return found


def with_ranges(symbol: Symbol, ranges: dict[str, tuple[float, float]]) -> Symbol:
    """The rounded graph with its ranges as attributes. A relu behind what is uint8 already goes."""
    nodes, heads = nodes_of(symbol)
    instead: dict[Any, Any] = {}
    for node in nodes:
        node.inputs = [instead.get(ref, ref) for ref in node.inputs]
        if LAYER in node.attrs:
            low, high = ranges[node.attrs[LAYER]]
            node.attrs["min_calib_range"], node.attrs["max_calib_range"] = repr(float(low)), repr(float(high))
            continue
        source = node.inputs[0][0] if node.inputs else node
        if node.op == "_contrib_quantized_act" and LAYER in source.attrs and _is_unsigned(source):
            for index in range(3):
                instead[(node, index)] = (source, index)
    return symbol_of([instead.get(ref, ref) for ref in heads])


def _is_unsigned(node: Node) -> bool:
    kind = node.attrs.get("out_type", "int8")
    return kind == "uint8" or (kind == "auto" and float(node.attrs["min_calib_range"]) >= 0)
