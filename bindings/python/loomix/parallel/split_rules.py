# SPDX-License-Identifier: Apache-2.0
"""The trait `split` of operators: which cut of their inputs gives which cut, or summands, of their outputs.

A rule gets a ``Node`` some of whose inputs are cut or sums. It makes nodes and returns their outputs and what these
are: one of each for all outputs, or one an output. None: the operator gets whole inputs, for nothing better is known.
"""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .split_pass import Node

    Rule = Callable[[Node], "tuple[list[list[int]], list[Any]] | None"]

__all__ = [
    "EVERYWHERE",
    "LOSSES",
    "RULES",
    "SHARED",
    "SUM",
    "WHOLE",
    "flag_of",
    "ignores_heads",
    "name_of",
    "parameter_cuts",
    "rule",
    "rule_of",
    "value_of",
]

RULES: dict[str, Rule] = {}
LOSSES: set[str] = set()  # their gradient does not ask for that of their output
EVERYWHERE: set[str] = set()  # whose rules are asked where nothing is cut, too
# What a value is, or is wanted as; else a number: the axis that is cut.
WHOLE, SUM, SHARED = "whole", "sum", "shared"


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers the function below as the rule of these operators."""

    def add(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return add


def ignores_heads(node: Mapping[str, Any]) -> bool:
    """Whether the gradient of an operator does not ask for that of its output."""
    return node["op"] in LOSSES and str(node.get("attrs", {}).get("out_grad", "False")) not in ("True", "1")


def rule_of(op: str) -> Rule | None:
    """The rule of an operator; those that work element by element (a trait of theirs) share one."""
    found = RULES.get(op)
    return _elements if found is None and _core.operator_info(op)["elementwise"] else found


def value_of(node: Node, key: str, default: Any) -> Any:
    """An attribute as a Python value."""
    return _parsed(node.attrs, key, default)


def _parsed(attrs: Any, key: str, default: Any) -> Any:
    text = attrs.get(key)
    if text is None:
        return default
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def flag_of(node: Node, key: str, default: bool) -> bool:
    """An attribute that is true or false."""
    return str(value_of(node, key, default)).lower() in ("true", "1")


def _first_cut(node: Node) -> int | None:
    return next((cut for i in range(len(node)) if (cut := node.cut(i)) is not None), None)


def parameter_cuts(op: str, attrs: Mapping[str, str]) -> dict[int, int]:
    """Where a layer is split by columns: by number, the inputs that are cut, and the axis. Empty: it cannot be."""
    if not str(attrs.get("layout", "None")).startswith(("NC", "None")):
        return {}
    if op == "Deconvolution" and str(attrs.get("num_group", 1)) != "1":
        return {1: 0, 2: 0}
    return _COLUMNS.get(op, {})


_COLUMNS = {
    "FullyConnected": {1: 0, 2: 0},
    "Convolution": {1: 0, 2: 0},
    "Deconvolution": {1: 1, 2: 0},
    "Embedding": {1: 1},
    "BatchNorm": {1: 0, 2: 0, 3: 0, 4: 0},
    "_contrib_SyncBatchNorm": {1: 0, 2: 0, 3: 0, 4: 0},
}

# ---- elements ----


@rule("_copy", "BlockGrad", "clip", "smooth_l1")
def _elements(node: Node) -> Any:
    """Inputs of size 1 along the cut axis stand for all of it."""
    axis = _first_cut(node)
    out = node.out_shape()
    if axis is None or any(len(node.shape(i)) != len(out) for i in range(len(node))) or out[axis] == 1:
        return None
    wanted = [SHARED if node.shape(i)[axis] == 1 else axis for i in range(len(node))]
    return [node.same([node.get(i, wanted[i]) for i in range(len(node))])], [axis]


@rule("amp_multicast")
def _multicast(node: Node) -> Any:
    """Each output is an input in another type."""
    states = [WHOLE if node.state(i) == SUM else node.state(i) for i in range(len(node))]
    made = node.same([node.get(i, state) for i, state in enumerate(states)])
    return [[made[0], i, 0] for i in range(len(node))], states


@rule("LeakyReLU")
def _leaky(node: Node) -> Any:
    return _elements(node) if len(node) == 1 and value_of(node, "act_type", "leaky") != "rrelu" else None


@rule("Dropout")
def _dropout(node: Node) -> Any:
    """The mask is that of the whole, so it does not depend on the number of ranks: of the examples (the first axis)
    of all ranks that have the same part of the network, and along the axis that is cut."""
    axis, shape = node.cut(0), node.shape(0)
    replicas, index = node.replicas
    if axis is None and replicas == 1:
        return None
    rows = shape[0]
    all_rows = (rows * replicas, *shape[1:])
    ones = node.emit("_ones", "ones", [], shape=all_rows, dtype=name_of(node.dtype(0)))
    mask = node.emit("Dropout", "drawn", [ones], **node.attrs)
    if replicas > 1:
        mask = node.emit("slice_axis", "rows", [mask], axis=0, begin=index * rows, end=(index + 1) * rows)
    if axis is not None:
        mask = node.emit("_parallel_own", "mask", [mask], group=node.group, axis=axis, whole=shape[axis])
    state = WHOLE if axis is None else axis
    return [node.emit("elemwise_mul", "fwd", [node.get(0, state), mask])], [state]


EVERYWHERE.add("Dropout")


def name_of(dtype: Any) -> str:
    """As attributes of operators name a type."""
    return getattr(dtype, "__name__", str(dtype))


# ---- products ----


@rule("FullyConnected")
def _fully_connected(node: Node) -> Any:
    bias = [2] if len(node) == 3 else []
    shape, cut, weight = node.shape(0), node.cut(0), node.cut(1)
    last = len(node.out_shape()) - 1
    flatten = flag_of(node, "flatten", True) and len(shape) > 2
    by_examples = cut is not None and cut != (1 if flatten else len(shape) - 1) and not (flatten and cut)
    if weight == 0 and not (by_examples and _weight_is_less(node)):
        hidden = node.part(int(node.attrs["num_hidden"]))
        inputs = [node.get(0, SHARED), node.get(1, 0), *(node.get(i, 0) for i in bias)]
        return [node.same(inputs, num_hidden=hidden)], [last]
    if weight == 1 and not flatten:
        return _sum_of_rows(node, len(shape) - 1, last)
    if weight == 1 and cut == 1 and shape[1] % node.ranks == 0:
        return _sum_of_rows(node, 1, last)
    if weight in (None, 0) and by_examples and cut is not None:
        return [node.same([node.get(0, cut), *(node.get(i, SHARED) for i in (1, *bias))])], [cut]
    return None


def _weight_is_less(node: Node) -> bool:
    """Of a layer whose weight and whose examples are cut: which of the two travels less."""
    return math.prod(node.shape(1)) < math.prod(node.shape(0))


def _sum_of_rows(node: Node, axis: int, channels: int, inner: int = 1) -> Any:
    """A product of the own part of the data's `axis`; the bias, along `channels`, is added once, to the sum."""
    product = node.same([node.get(0, axis), node.get(1, inner)], no_bias=True)
    if len(node) < 3:
        return [product], [SUM]
    total = node.emit("_parallel_all_reduce", "sum", [product], group=node.group, partial_gradient=False)
    node.note_sum()
    shape = [1] * len(node.out_shape())
    shape[channels] = -1
    added = node.emit("Reshape", "bias_row", [node.get(2, WHOLE)], shape=tuple(shape))
    return [node.emit("broadcast_add", "with_bias", [total, added])], [WHOLE]


def _has_channels_first(node: Node) -> bool:
    return str(node.attrs.get("layout", "None")).startswith(("NC", "None"))


@rule("Convolution")
def _convolution(node: Node) -> Any:
    """By filters, by what they are multiplied by, or by examples."""
    return _filters(node, out=0, inner=1) if _has_channels_first(node) else None


@rule("Deconvolution")
def _deconvolution(node: Node) -> Any:
    """As convolutions, but the axes of the weight change places."""
    return _filters(node, out=1, inner=0) if _has_channels_first(node) else None


def _filters(node: Node, out: int, inner: int) -> Any:
    """`out` and `inner` are the axes of the weight that are outputs and inputs."""
    cut, weight = node.cut(0), node.cut(1)
    bias = range(2, len(node))
    if int(value_of(node, "num_group", 1)) != 1:
        if weight is not None or (cut is not None and cut == 1):
            return _groups_of_filters(node)
    elif weight == out and not (cut == 0 and _weight_is_less(node)):
        filters = node.part(int(node.attrs["num_filter"]))
        inputs = [node.get(0, SHARED), node.get(1, out), *(node.get(i, 0) for i in bias)]
        return [node.same(inputs, num_filter=filters)], [1]
    elif weight == inner:
        return _sum_of_rows(node, 1, 1, inner)
    if weight in (None, out) and cut == 0:
        return [node.same([node.get(0, 0), *(node.get(i, SHARED) for i in (1, *bias))])], [0]
    return None


def _groups_of_filters(node: Node) -> Any:
    """Each rank has some groups, with their channels and their filters."""
    groups, filters = int(node.attrs["num_group"]), int(node.attrs["num_filter"])
    if groups % node.ranks or node.cut(1) not in (None, 0):
        return None
    inputs = [node.get(0, 1), node.get(1, 0), *(node.get(i, 0) for i in range(2, len(node)))]
    return [node.same(inputs, num_group=groups // node.ranks, num_filter=filters // node.ranks)], [1]


@rule("dot")
def _dot(node: Node) -> Any:
    if len(node.shape(0)) != 2 or len(node.shape(1)) != 2:
        return None
    inner = 0 if flag_of(node, "transpose_a", False) else 1, 1 if flag_of(node, "transpose_b", False) else 0
    a, b = node.cut(0), node.cut(1)
    if a == inner[0] or b == inner[1]:
        return [node.same([node.get(0, inner[0]), node.get(1, inner[1])])], [SUM]
    if b is not None:
        return [node.same([node.get(0, SHARED), node.get(1, b)])], [1]
    if a is not None:
        return [node.same([node.get(0, a), node.get(1, SHARED)])], [0]
    return None


@rule("batch_dot")
def _batch_dot(node: Node) -> Any:
    if node.cut(0) != 0 and node.cut(1) != 0:
        return None
    return [node.same([node.get(0, 0), node.get(1, 0)])], [0]


@rule("Embedding")
def _embedding(node: Node) -> Any:
    weight, cut = node.cut(1), node.cut(0)
    if weight == 1:
        size = node.part(int(node.attrs["output_dim"]))
        return [node.same([node.get(0, WHOLE), node.get(1, 1)], output_dim=size)], [len(node.out_shape()) - 1]
    if weight == 0:
        return _rows_of_vocabulary(node)
    if weight is None and cut is not None:
        return [node.same([node.get(0, cut), node.get(1, SHARED)])], [cut]
    return None


def _rows_of_vocabulary(node: Node) -> Any:
    """Each rank looks up what it has, and gives zeros for the rest."""
    whole = int(node.attrs["input_dim"])
    size = node.part(whole)
    indices = node.emit("clip", "in_range", [node.get(0, WHOLE)], a_min=0, a_max=whole - 1)
    place = node.emit("_minus_scalar", "place", [indices], scalar=node.begin(whole))
    near = node.emit("clip", "near", [place], a_min=0, a_max=size - 1)
    found = node.same([near, node.get(1, 0)], input_dim=size)
    is_here = node.emit("_equal", "is_here", [place, near])
    mask = node.emit("Cast", "as_factor", [is_here], dtype=name_of(node.dtype(1)))
    mask = node.emit("expand_dims", "factor", [mask], axis=-1)
    return [node.emit("broadcast_mul", "own", [found, mask])], [SUM]


# ---- shapes ----


@rule("Flatten", "Reshape")
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


@rule("transpose")
def _transpose(node: Node) -> Any:
    axis = node.cut(0)
    if axis is None:
        return None
    order = list(value_of(node, "axes", ()) or reversed(range(len(node.shape(0)))))
    return [node.same([node.get(0, axis)])], [order.index(axis)]


@rule("expand_dims")
def _expand_dims(node: Node) -> Any:
    axis = node.cut(0)
    if axis is None:
        return None
    place = int(value_of(node, "axis", 0)) % len(node.out_shape())
    return [node.same([node.get(0, axis)])], [axis + (place <= axis)]


@rule("slice_axis")
def _slice_axis(node: Node) -> Any:
    axis = node.cut(0)
    if axis is None or axis == int(value_of(node, "axis", 0)) % len(node.shape(0)):
        return None
    return [node.same([node.get(0, axis)])], [axis]


@rule("Concat")
def _concat(node: Node) -> Any:
    axis = _first_cut(node)
    if axis is None or axis == int(value_of(node, "dim", 1)) % len(node.shape(0)):
        return None
    return [node.same([node.get(i, axis) for i in range(len(node))])], [axis]


# ---- images and norms ----


@rule("Pooling")
def _pooling(node: Node) -> Any:
    axis = node.cut(0)
    if axis not in (0, 1) or not _has_channels_first(node):
        return None
    return [node.same([node.get(0, axis)])], [axis]


@rule("LRN")
def _lrn(node: Node) -> Any:
    return ([node.same([node.get(0, 0)])], [0]) if node.cut(0) == 0 else None


@rule("LayerNorm")
def _layer_norm(node: Node) -> Any:
    axis = node.cut(0)
    if axis is None or axis == int(value_of(node, "axis", -1)) % len(node.shape(0)):
        return None
    return [node.same([node.get(0, axis), node.get(1, SHARED), node.get(2, SHARED)])], [axis]


@rule("BatchNorm", "_contrib_SyncBatchNorm")
def _batch_norm(node: Node) -> Any:
    """Channels are normalised one by one; what is cut of the states is the rank's own. Where examples are cut, each
    rank takes the statistics of its own ones, or in the synchronised form those of all."""
    cut, axis = node.cut(0), int(value_of(node, "axis", 1)) % len(node.shape(0))
    if all(node.cut(i) == 0 for i in range(1, 5)):
        return [node.same([node.get(0, axis), *(node.get(i, 0) for i in range(1, 5))])], [axis]
    is_whole = all(node.state(i) == WHOLE for i in range(1, 5))
    if cut is None or cut == axis or not is_whole or flag_of(node, "output_mean_var", False):
        return None
    fixed = node.ranks == 1 or flag_of(node, "use_global_stats", False)
    of_all = node.op == "_contrib_SyncBatchNorm" and not fixed
    if cut != 0 and not fixed and not of_all:
        return None
    # A gamma that is fixed has no gradient, and the operator writes it.
    gamma = node.get(1, WHOLE if flag_of(node, "fix_gamma", True) else SHARED)
    states = [node.get(i, WHOLE) for i in (3, 4)]
    if of_all:
        return [_norm_of_all(node, cut, gamma, states)], [cut]
    return [node.same([node.get(0, cut), gamma, node.get(2, SHARED), *states])], [cut]


def _norm_of_all(node: Node, cut: int, gamma: list[int], states: list[list[int]]) -> list[int]:
    """Two sums over ranks, of a number a channel each: the mean, and the variance about it."""
    shape, dtype = node.shape(0), name_of(node.dtype(0))
    exact = "float32" if dtype in ("float16", "bfloat16") else dtype
    row = str((1, -1, *[1] * (len(shape) - 2)))
    data = node.get(0, cut)
    if exact != dtype:
        data = node.emit("Cast", "exact", [data], dtype=exact)

    def of_all(name: str, values: list[int]) -> list[int]:
        own = node.emit("sum", f"own_{name}", [values], axis=1, exclude=True)
        own = node.emit("_mul_scalar", f"part_{name}", [own], scalar=shape[1] / math.prod(shape))
        node.note(
            "_parallel_all_reduce", (shape[1],), exact, {"partial_gradient": True}, node.has_gradient(0)
        )
        more = {"partial_gradient": True, "training_only": True}  # predictions take the moving statistics
        return node.emit("_parallel_all_reduce", name, [own], group=node.group, **more)

    def as_row(name: str, values: list[int]) -> list[int]:
        return node.emit("Reshape", name, [values], shape=row)

    mean = of_all("mean", data)
    distance = node.emit("broadcast_sub", "distance", [data, as_row("mean_row", mean)])
    var = of_all("var", node.emit("square", "squares", [distance]))
    attrs = {key: node.attrs[key] for key in ("eps", "momentum", "fix_gamma") if key in node.attrs}
    inputs = [mean, var, gamma, node.get(2, SHARED), *states]
    made = node.emit("_parallel_normalizer", "normalizer", inputs, **attrs)
    shift, scale, offset = (
        as_row(name, [made[0], i, 0]) for i, name in enumerate(("shift", "scale", "offset"))
    )
    found = node.emit("broadcast_sub", "shifted", [data, shift])
    found = node.emit("broadcast_mul", "scaled", [found, scale])
    found = node.emit("broadcast_add", "fwd", [found, offset])
    return node.emit("Cast", "short", [found], dtype=dtype) if exact != dtype else found
