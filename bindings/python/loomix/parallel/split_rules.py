# SPDX-License-Identifier: Apache-2.0
"""The trait `split` of operators: which cut of their inputs gives which cut, or summands, of their outputs.

A rule gets a ``Node`` some of whose inputs are cut or sums. It makes nodes and returns their outputs and what these
are: one of each for all outputs, or one an output. None: the operator gets whole inputs, for nothing better is known.
"""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .split_pass import Node

    Rule = Callable[[Node], "tuple[list[list[int]], list[Any]] | None"]

__all__ = ["RULES"]

RULES: dict[str, Rule] = {}
_WHOLE, _SUM, _SHARED = "whole", "sum", "shared"


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def add(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return add


def _value(node: Node, key: str, default: Any) -> Any:
    text = node.attrs.get(key)
    if text is None:
        return default
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _flag(node: Node, key: str, default: bool) -> bool:
    return str(_value(node, key, default)).lower() in ("true", "1")


def _first_cut(node: Node) -> int | None:
    return next((cut for i in range(len(node)) if (cut := node.cut(i)) is not None), None)


# ---- elements ----


@_rule(
    "Activation", "relu", "sigmoid", "tanh", "softsign", "hard_sigmoid", "erf", "exp", "expm1", "log", "log1p", "sqrt",
    "rsqrt", "square", "abs", "negative", "reciprocal", "sign", "clip", "_copy", "BlockGrad", "Cast", "amp_cast",
    "smooth_l1", "elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div", "add_n", "_plus_scalar",
    "_minus_scalar", "_rminus_scalar", "_mul_scalar", "_div_scalar", "_rdiv_scalar", "_power_scalar",
    "_maximum_scalar", "_minimum_scalar", "_maximum", "_minimum",
)  # fmt: skip
def _elements(node: Node) -> Any:
    axis = _first_cut(node)
    if axis is None:
        return None
    return [node.same([node.get(i, axis) for i in range(len(node))])], [axis]


@_rule("LeakyReLU")
def _leaky(node: Node) -> Any:
    return _elements(node) if len(node) == 1 and _value(node, "act_type", "leaky") != "rrelu" else None


@_rule(
    "broadcast_add",
    "broadcast_sub",
    "broadcast_mul",
    "broadcast_div",
    "broadcast_maximum",
    "broadcast_minimum",
)
def _broadcast(node: Node) -> Any:
    axis = _first_cut(node)
    if axis is None or len(node.shape(0)) != len(node.shape(1)):
        return None
    if node.shape(0)[axis] == 1 and node.shape(1)[axis] == 1:
        return None
    wanted = [_SHARED if node.shape(i)[axis] == 1 else axis for i in range(2)]
    return [node.same([node.get(i, wanted[i]) for i in range(2)])], [axis]


@_rule("Dropout")
def _dropout(node: Node) -> Any:
    """The mask is that of the whole, so that it does not depend on the number of ranks."""
    axis = node.cut(0)
    if axis is None:
        return None
    shape = node.shape(0)
    ones = node.emit("_ones", "ones", [], shape=shape, dtype=_name_of(node.dtype(0)))
    drawn = node.emit("Dropout", "drawn", [ones], **node.attrs)
    mask = node.emit("_parallel_own", "mask", [drawn], group=node.group, axis=axis, whole=shape[axis])
    return [node.emit("elemwise_mul", "fwd", [node.get(0, axis), mask])], [axis]


def _name_of(dtype: Any) -> str:
    return getattr(dtype, "__name__", str(dtype))


# ---- products ----


@_rule("FullyConnected")
def _fully_connected(node: Node) -> Any:
    bias = [2] if len(node) == 3 else []
    shape, cut, weight = node.shape(0), node.cut(0), node.cut(1)
    last = len(node.out_shape()) - 1
    flatten = _flag(node, "flatten", True) and len(shape) > 2
    if weight == 0:
        hidden = node.part(int(node.attrs["num_hidden"]))
        inputs = [node.get(0, _SHARED), node.get(1, 0), *(node.get(i, 0) for i in bias)]
        return [node.same(inputs, num_hidden=hidden)], [last]
    if weight == 1 and not flatten:
        return _sum_of_rows(node, len(shape) - 1, last)
    if weight == 1 and cut == 1 and shape[1] % node.ranks == 0:
        return _sum_of_rows(node, 1, last)
    if (
        weight is None
        and cut is not None
        and cut != (1 if flatten else len(shape) - 1)
        and not (flatten and cut)
    ):
        return [node.same([node.get(0, cut), *(node.get(i, _SHARED) for i in (1, *bias))])], [cut]
    return None


def _sum_of_rows(node: Node, axis: int, channels: int) -> Any:
    """A product of the own part of the data's `axis`; the bias, along `channels`, is added once, to the sum."""
    product = node.same([node.get(0, axis), node.get(1, 1)], no_bias=True)
    if len(node) < 3:
        return [product], [_SUM]
    total = node.emit("_parallel_all_reduce", "sum", [product], group=node.group, partial_gradient=False)
    node.note_sum()
    shape = [1] * len(node.out_shape())
    shape[channels] = -1
    added = node.emit("Reshape", "bias_row", [node.get(2, _WHOLE)], shape=tuple(shape))
    return [node.emit("broadcast_add", "with_bias", [total, added])], [_WHOLE]


@_rule("Convolution")
def _convolution(node: Node) -> Any:
    layout = str(node.attrs.get("layout", "None"))
    if int(_value(node, "num_group", 1)) != 1 or not (layout == "None" or layout.startswith("NC")):
        return None
    cut, weight = node.cut(0), node.cut(1)
    bias = range(2, len(node))
    if weight == 0:
        filters = node.part(int(node.attrs["num_filter"]))
        inputs = [node.get(0, _SHARED), node.get(1, 0), *(node.get(i, 0) for i in bias)]
        return [node.same(inputs, num_filter=filters)], [1]
    if weight == 1:
        return _sum_of_rows(node, 1, 1)
    if weight is None and cut == 0:
        return [node.same([node.get(0, 0), *(node.get(i, _SHARED) for i in (1, *bias))])], [0]
    return None


@_rule("dot")
def _dot(node: Node) -> Any:
    if len(node.shape(0)) != 2 or len(node.shape(1)) != 2:
        return None
    inner = 0 if _flag(node, "transpose_a", False) else 1, 1 if _flag(node, "transpose_b", False) else 0
    a, b = node.cut(0), node.cut(1)
    if a == inner[0] or b == inner[1]:
        return [node.same([node.get(0, inner[0]), node.get(1, inner[1])])], [_SUM]
    if b is not None:
        return [node.same([node.get(0, _SHARED), node.get(1, b)])], [1]
    if a is not None:
        return [node.same([node.get(0, a), node.get(1, _SHARED)])], [0]
    return None


@_rule("batch_dot")
def _batch_dot(node: Node) -> Any:
    if node.cut(0) != 0 and node.cut(1) != 0:
        return None
    return [node.same([node.get(0, 0), node.get(1, 0)])], [0]


@_rule("Embedding")
def _embedding(node: Node) -> Any:
    weight, cut = node.cut(1), node.cut(0)
    if weight == 1:
        size = node.part(int(node.attrs["output_dim"]))
        return [node.same([node.get(0, _WHOLE), node.get(1, 1)], output_dim=size)], [
            len(node.out_shape()) - 1
        ]
    if weight == 0:
        return _rows_of_vocabulary(node)
    if weight is None and cut is not None:
        return [node.same([node.get(0, cut), node.get(1, _SHARED)])], [cut]
    return None


def _rows_of_vocabulary(node: Node) -> Any:
    """Each rank looks up what it has, and gives zeros for the rest."""
    whole = int(node.attrs["input_dim"])
    size = node.part(whole)
    begin = whole // node.ranks * node.rank + min(node.rank, whole % node.ranks)
    indices = node.emit("clip", "in_range", [node.get(0, _WHOLE)], a_min=0, a_max=whole - 1)
    place = node.emit("_minus_scalar", "place", [indices], scalar=begin)
    near = node.emit("clip", "near", [place], a_min=0, a_max=size - 1)
    found = node.same([near, node.get(1, 0)], input_dim=size)
    is_here = node.emit("_equal", "is_here", [place, near])
    mask = node.emit("Cast", "as_factor", [is_here], dtype=_name_of(node.dtype(1)))
    mask = node.emit("expand_dims", "factor", [mask], axis=-1)
    return [node.emit("broadcast_mul", "own", [found, mask])], [_SUM]


# ---- shapes ----


@_rule("Flatten", "Reshape")
def _reshape(node: Node) -> Any:
    """The cut axis stays one, or becomes the first of its factors, or takes others behind it in."""
    axis = node.cut(0)
    if axis is None:
        return None
    before, after = list(node.shape(0)), list(node.out_shape())
    ahead = math.prod(before[:axis])
    for place, size in enumerate(after):
        if math.prod(after[:place]) != ahead:
            continue
        even = before[axis] % node.ranks == 0 and size % node.ranks == 0
        if size == before[axis] or even:
            own = [*after[:place], node.part(size), *after[place + 1 :]]
            return [node.emit("Reshape", "own", [node.get(0, axis)], shape=tuple(own))], [place]
    return None


@_rule("transpose")
def _transpose(node: Node) -> Any:
    axis = node.cut(0)
    if axis is None:
        return None
    order = list(_value(node, "axes", ()) or reversed(range(len(node.shape(0)))))
    return [node.same([node.get(0, axis)])], [order.index(axis)]


@_rule("Concat")
def _concat(node: Node) -> Any:
    axis = _first_cut(node)
    if axis is None or axis == int(_value(node, "dim", 1)) % len(node.shape(0)):
        return None
    return [node.same([node.get(i, axis) for i in range(len(node))])], [axis]


@_rule("softmax", "log_softmax")
def _softmax(node: Node) -> Any:
    axis = node.cut(0)
    if len(node) != 1 or axis is None or axis == int(_value(node, "axis", -1)) % len(node.shape(0)):
        return None
    return [node.same([node.get(0, axis)])], [axis]


# ---- images and norms ----


@_rule("Pooling")
def _pooling(node: Node) -> Any:
    axis = node.cut(0)
    layout = str(node.attrs.get("layout", "None"))
    if axis not in (0, 1) or not (layout == "None" or layout.startswith("NC")):
        return None
    return [node.same([node.get(0, axis)])], [axis]


@_rule("LRN")
def _lrn(node: Node) -> Any:
    return ([node.same([node.get(0, 0)])], [0]) if node.cut(0) == 0 else None


@_rule("LayerNorm")
def _layer_norm(node: Node) -> Any:
    axis = node.cut(0)
    if axis is None or axis == int(_value(node, "axis", -1)) % len(node.shape(0)):
        return None
    return [node.same([node.get(0, axis), node.get(1, _SHARED), node.get(2, _SHARED)])], [axis]


@_rule("BatchNorm")
def _batch_norm(node: Node) -> Any:
    """Channels are normalised one by one; what is cut of the states is the rank's own."""
    axis = int(_value(node, "axis", 1)) % len(node.shape(0))
    if any(node.cut(i) != 0 for i in range(1, 5)):
        return None
    return [node.same([node.get(0, axis), *(node.get(i, 0) for i in range(1, 5))])], [axis]
