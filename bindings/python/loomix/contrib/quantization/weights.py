# SPDX-License-Identifier: Apache-2.0
"""Weights of 8 or 4 bits in networks of real numbers: docs/quantization.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ndarray as nd
from ...context import cpu
from ...ndarray import NDArray, array
from ...symbol import Group, Symbol
from .graph import Node, nodes_of, symbol_of, value_name
from .report import LayerReport, QuantizationReport, louder

if TYPE_CHECKING:
    from ...gluon import HybridBlock, SymbolBlock

_LAYERS = {
    "FullyConnected": ("_contrib_low_bit_fully_connected", ("num_hidden", "no_bias", "flatten")),
    "Embedding": ("_contrib_low_bit_embedding", ("input_dim", "output_dim")),
}
# Products of two arrays as attention has them, and the attributes that their forms of 8 bits have, too.
_PRODUCTS = {
    "batch_dot": ("transpose_a", "transpose_b"),
    **{
        f"_contrib_interleaved_matmul_{name}": ("heads",)
        for name in ("selfatt_qk", "selfatt_valatt", "encdec_qk", "encdec_valatt")
    },
}
KEPT_PRODUCT = "with AVX2 its product takes 0.8 to 1.3 times as long in 8 bits; attention=True rounds it"
_DIVISORS = (-9.0, -8.5, -8.0, -7.5, -7.0)  # what the number of largest magnitude may become in 4 bits


def _check(bits: int, group_size: int, dynamic: bool, attention: bool) -> None:
    if bits not in (4, 8):
        raise ValueError(f"[quantize_weights] bits is {bits!r}; expected 4 or 8.")
    if group_size and (group_size < 32 or group_size & (group_size - 1)):
        raise ValueError(
            f"[quantize_weights] group_size is {group_size!r}; expected 0 or a power of two from 32 on."
        )
    if dynamic and (bits != 8 or group_size):
        raise ValueError(
            f"[quantize_weights] dynamic goes with bits 8 and group_size 0; they are {bits} and {group_size}."
        )
    if attention and not dynamic:
        raise ValueError("[quantize_weights] attention goes with dynamic, which is off.")


def _four(groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers + 8, and the scale of each group: of some scales that with the least squared error."""
    most = np.take_along_axis(groups, np.abs(groups).argmax(-1)[..., None], -1)
    best = None
    for divisor in _DIVISORS:
        scale = most / np.float32(divisor)
        whole = np.clip(np.rint(groups / np.where(scale == 0, 1, scale)), -8, 7)
        error = np.square(whole * scale - groups).sum(-1, keepdims=True)
        if best is None:
            best = [whole, scale, error]
        else:
            better = error < best[2]
            best = [np.where(better, new, old) for new, old in zip((whole, scale, error), best)]
    assert best is not None
    return (best[0] + 8).astype(np.uint8), best[1][..., 0]


def _rounded(weight: np.ndarray, bits: int, group_size: int) -> tuple[np.ndarray, np.ndarray]:
    """The weight as the operators want it, and its scales."""
    rows, columns = weight.shape
    size = group_size or columns
    count = -(-columns // size)
    groups = np.pad(weight, ((0, 0), (0, count * size - columns))).reshape(rows, count, size)
    if bits == 8:
        scales = np.abs(groups).max(-1) / np.float32(127)
        whole = np.rint(groups / np.where(scales == 0, 1, scales)[..., None]).astype(np.int8)
        return whole.reshape(rows, -1)[:, :columns], scales
    whole, scales = _four(groups)
    flat = whole.reshape(rows, -1)[:, :columns]
    flat = np.pad(flat, ((0, 0), (0, columns % 2)), constant_values=8)
    return flat[:, 0::2] | flat[:, 1::2] << 4, scales


class _Recurrent:
    """Weights of an RNN layer as the operator of 8 bits wants them."""

    def __init__(self, attrs: dict[str, str], vector: np.ndarray) -> None:
        self.attrs = {name: attrs[name] for name in _RNN_KEPT if name in attrs}
        hidden, layers = int(attrs["state_size"]), int(attrs["num_layers"])
        directions = 2 if attrs.get("bidirectional") in ("True", "true", "1") else 1
        rows = {"lstm": 4, "gru": 3}.get(attrs["mode"], 1) * hidden
        biases = layers * directions * 2 * rows
        later = rows * (directions * hidden + hidden)
        first = (len(vector) - biases) // directions - (layers - 1) * later
        widths = [first // rows - hidden] + [directions * hidden] * (layers - 1)
        whole, scales, at = [], [], 0
        for width in widths:
            for columns in (width, hidden) * directions:
                part = vector[at : at + rows * columns].reshape(rows, columns)
                numbers, scale = _rounded(part, 8, 0)
                whole.append(numbers.reshape(-1))
                scales.append(scale.reshape(-1))
                at += rows * columns
        self.arrays = (np.concatenate(whole), np.concatenate(scales), vector[at:])


_RNN_KEPT = ("state_size", "num_layers", "bidirectional", "mode", "state_outputs")
_RNN_REFUSED = ("projection_size", "lstm_state_clip_min", "use_sequence_length")


def _constant(ref: Any, args: dict[str, NDArray]) -> np.ndarray | None:
    """A value that only parameters determine."""
    symbol = symbol_of([ref])
    names = symbol.list_arguments()
    if any(name not in args for name in names) or symbol.list_auxiliary_states():
        return None
    return symbol.bind(cpu(), {name: args[name] for name in names}).forward()[0].asnumpy()


def _types(sym: Symbol, args: dict[str, NDArray]) -> dict[str, Any]:
    """The type of each value, by its name, as far as parameters determine it."""
    internals = sym.get_internals()
    names = internals.list_arguments()
    known = {name: value.dtype for name, value in args.items() if name in names}
    return dict(zip(internals.list_outputs(), internals.infer_type_partial(**known)[1]))


class _Rounder:
    """Makes layers with weights of few bits, and their parameters."""

    def __init__(
        self, sym: Symbol, args: dict[str, NDArray], bits: int, size: int, dynamic: bool, attention: bool
    ) -> None:
        self.args, self.bits, self.size, self.dynamic, self.attention = args, bits, size, dynamic, attention
        self.found = dict(args)
        self.variables: dict[str, Node] = {}
        self.types = _types(sym, args) if attention else {}

    def __call__(self, node: Node) -> Node | str:
        """What becomes of a layer, or why it stays as it is."""
        if node.op in _LAYERS:
            return self._layer(node)
        return self._recurrent(node) if node.op == "RNN" else self._product(node)

    def entry(self, node: Node, made: Node | str) -> LayerReport:
        """What the report has of it."""
        if isinstance(made, str):
            return LayerReport(node.name, kept=made, runs="float32", why=made)
        is_whole = self.dynamic and node.op != "Embedding"
        runs = f"int{self.bits}" if is_whole else f"float32, weight of {self.bits} bits"
        entry = LayerReport(node.name, runs=runs)
        if node.op in _LAYERS:
            entry.weight_decibels = self._weight_decibels(node.inputs[1][0].name)
        return entry

    def _weight_decibels(self, name: str) -> float:
        real = self.args[name]
        rows, columns = real.shape
        widened = nd.contrib.low_bit_embedding(
            nd.arange(rows, dtype="int32"), self.found[f"{name}_quantize"], self.found[f"{name}_scale"],
            input_dim=rows, output_dim=columns, bits=self.bits, group_size=self.size,
        )  # fmt: skip
        return louder(real.asnumpy(), widened.asnumpy())

    def _layer(self, node: Node) -> Node | str:
        weight = node.inputs[1][0]
        value = self.args.get(weight.name) if weight.op == "null" else None
        if value is None or value.dtype != np.float32 or len(value.shape) != 2:
            return "its weight is not a matrix of float32 among the parameters"
        parts = [f"{weight.name}_quantize", f"{weight.name}_scale"]
        if parts[0] not in self.variables:
            numbers = value.asnumpy()
            if not np.isfinite(numbers).all():
                raise ValueError(
                    f"[quantize_weights] {weight.name} of {node.name} has NaN or infinite numbers, and so no scale."
                )
            for name, part in zip(parts, _rounded(numbers, self.bits, self.size)):
                self.found[name] = array(part, dtype=part.dtype)
                self.variables[name] = Node("null", name)
        op, kept = _LAYERS[node.op]
        attrs = {name: text for name, text in node.attrs.items() if name in kept or name.startswith("__")}
        attrs.update(bits=str(self.bits), group_size=str(self.size))
        if node.op == "FullyConnected":
            attrs["dynamic"] = str(self.dynamic)
        inputs = [node.inputs[0], *((self.variables[name], 0) for name in parts), *node.inputs[2:]]
        return Node(op, node.name, attrs, inputs)

    def _recurrent(self, node: Node) -> Node | str:
        if not self.dynamic:
            return "recurrent layers want dynamic"
        if any(node.attrs.get(name, "None") not in ("None", "False", "0") for name in _RNN_REFUSED):
            return "it has a projection, clipped states, or lengths of sequences"
        vector = _constant(node.inputs[1], self.args)
        if vector is None or vector.dtype != np.float32:
            return "its weights are not of float32 among the parameters"
        if not np.isfinite(vector).all():
            raise ValueError(f"[quantize_weights] {node.name} has NaN or infinite weights, and so no scale.")
        made = _Recurrent(node.attrs, vector)
        names = [f"{node.name}_{part}" for part in ("weight_quantize", "weight_scale", "bias")]
        inputs = [node.inputs[0], *((Node("null", name), 0) for name in names), *node.inputs[2:]]
        self.found.update((name, array(part, dtype=part.dtype)) for name, part in zip(names, made.arrays))
        return Node("_contrib_low_bit_rnn", node.name, made.attrs, inputs)

    def _product(self, node: Node) -> Node | str:
        if not self.attention:
            return KEPT_PRODUCT
        if any(source.op == "null" and source.name in self.args for source, _ in node.inputs):
            return "it multiplies by a parameter"
        if any(self.types.get(value_name(ref)) not in (np.float32, None) for ref in node.inputs):
            return "its numbers are not float32"
        kept = _PRODUCTS[node.op]
        attrs = {name: text for name, text in node.attrs.items() if name in kept or name.startswith("__")}
        name = node.op.removeprefix("_contrib_")
        return Node(f"_contrib_low_bit_{name}", node.name, attrs, node.inputs)


def quantize_weights(
    sym: Symbol,
    arg_params: dict[str, NDArray],
    bits: int = 8,
    group_size: int | None = None,
    dynamic: bool = False,
    excluded_sym_names: list[str] | None = None,
    attention: bool = False,
    report: QuantizationReport | None = None,
) -> tuple[Symbol, dict[str, NDArray]]:
    """A network whose fully connected layers and embeddings have weights of 8 or 4 bits. It needs no calibration.

    Parameters
    ----------
    sym, arg_params : Symbol, dict
        The float network. Weights that are not float32 stay as they are.
    bits : int
        8 or 4.
    group_size : int
        So many neighbours in a row of a weight share a scale: a power of two from 32 on, or 0 for the whole row. The
        default is 0 for 8 bits, and 64 for 4.
    dynamic : bool
        Fully connected and recurrent layers round their data to 8 bits in each run, a row at a time. For 8 bits with a
        scale a row.
    excluded_sym_names : list of str
        Layers that stay as they are.
    attention : bool
        With `dynamic`: products of two computed arrays (``batch_dot``, ``interleaved_matmul``) round both. Without it
        they stay float32: with AVX2 8 bits take 0.8 to 1.3 times as long.
    report : QuantizationReport
        Filled: what became of each layer and product, the error of its weight, and why it stayed as it was.

    Returns
    -------
    tuple
        (symbol, arg_params).

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.contrib import quantization
    >>> sym = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> args = {"fc_weight": mx.nd.ones((2, 64)), "fc_bias": mx.nd.zeros(2)}
    >>> sym4, args4 = quantization.quantize_weights(sym, args, bits=4)
    >>> args4["fc_weight_quantize"].shape
    (2, 32)
    """
    size = group_size if group_size is not None else 64 if bits == 4 else 0
    _check(bits, size, dynamic, attention)
    nodes, heads = nodes_of(sym)
    instead: dict[Node, Node] = {}
    rounder = _Rounder(sym, arg_params, bits, size, dynamic, attention)
    for node in nodes:
        node.inputs = [(instead.get(source, source), index) for source, index in node.inputs]
        if node.op not in (*_LAYERS, *_PRODUCTS, "RNN"):
            continue
        made: Node | str = "excluded by name" if node.name in (excluded_sym_names or []) else rounder(node)
        if isinstance(made, Node):
            instead[node] = made
        if report is not None:
            report.layers.append(rounder.entry(node, made))
    made_sym = symbol_of([(instead.get(node, node), index) for node, index in heads])
    names = set(made_sym.list_arguments())
    return made_sym, {name: value for name, value in rounder.found.items() if name in names}


def quantize_net_weights(
    network: HybridBlock,
    bits: int = 8,
    group_size: int | None = None,
    dynamic: bool = False,
    exclude_layers: list[str] | None = None,
    num_inputs: int = 1,
    attention: bool = False,
    report: QuantizationReport | None = None,
) -> SymbolBlock:
    """A Gluon block whose dense layers and embeddings have weights of 8 or 4 bits.

    The other parameters are those of :func:`quantize_weights`.

    Parameters
    ----------
    network : HybridBlock
        The float block. It must have run once, unless it was loaded with its parameters.
    num_inputs : int
        How many arrays it is called with.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.contrib import quantization
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> quantization.quantize_net_weights(net)(mx.nd.ones((1, 3))).shape
    (1, 2)
    """
    from ... import symbol
    from ...gluon import SymbolBlock

    data = [symbol.var("data" if num_inputs == 1 else f"data{i}") for i in range(num_inputs)]
    outputs = network(*data)
    sym = Group(list(outputs)) if isinstance(outputs, (list, tuple)) else outputs
    parameters = {name: value.data() for name, value in network.collect_params().items()}
    made, values = quantize_weights(
        sym, parameters, bits, group_size, dynamic, exclude_layers, attention, report
    )
    values.update({name: parameters[name] for name in made.list_auxiliary_states()})
    block = SymbolBlock(made, data)
    for name, parameter in block.collect_params().items():
        value: Any = values[name]
        parameter.shape, parameter.dtype, parameter.grad_req = value.shape, value.dtype, "null"
        parameter.initialize("zeros", ctx=value.context)
        parameter.set_data(value)
    return block
