# SPDX-License-Identifier: Apache-2.0
"""Rules for softmax and losses, also over classes that are cut; see ``split_rules.py``.

Each rank takes the logarithm of the sum of the exponentials of its own classes (with their maximum), one number a row.
These are gathered, and give the sums over all classes. Labels are whole, so each rank sees which are among its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .split_rules import LOSSES, SUM, WHOLE, flag_of, name_of, rule, value_of

if TYPE_CHECKING:
    from .split_pass import Node

_SHORT = ("float16", "bfloat16")
LOSSES |= {
    "SoftmaxOutput",
    "LinearRegressionOutput",
    "LogisticRegressionOutput",
    "MAERegressionOutput",
    "MakeLoss",
}


def _own_sum(node: Node, data: list[int], axis: int) -> list[int]:
    """Of each row the logarithm of the sum of exponentials over the own classes."""
    top = node.emit("max", "own_top", [data], axis=axis, keepdims=True)
    fixed = node.emit("BlockGrad", "own_top_fixed", [top])
    below = node.emit("broadcast_sub", "below_top", [data, fixed])
    powers = node.emit("exp", "powers", [below])
    total = node.emit("sum", "own_powers", [powers], axis=axis, keepdims=True)
    return node.emit("elemwise_add", "own_sum", [node.emit("log", "log_own", [total]), fixed])


def _sums_of_all(node: Node, data: list[int], axis: int, backward: bool = True) -> list[int]:
    """Those of all ranks, side by side along the axis of the classes."""
    own = _own_sum(node, data, axis)
    attrs = {"axis": axis, "whole": node.ranks, "partial_gradient": True}
    shape = list(node.shape(0))
    shape[axis] = node.ranks
    node.note("_parallel_gather", tuple(shape), node.dtype(0), attrs, backward)
    return node.emit("_parallel_gather", "sums", [own], group=node.group, **attrs)


def _log_softmax(node: Node, data: list[int], axis: int) -> list[int]:
    """The logarithms of the own classes' part of a softmax over all."""
    short = name_of(node.dtype(0)) in _SHORT
    if short:  # sums are in float32, as within one process
        data = node.emit("Cast", "long", [data], dtype="float32")
    total = _sums_of_all(node, data, axis)
    top = node.emit("BlockGrad", "top", [node.emit("max", "top_of_all", [total], axis=axis, keepdims=True)])
    powers = node.emit("exp", "powers_of_all", [node.emit("broadcast_sub", "sums_below", [total, top])])
    whole = node.emit("log", "log_all", [node.emit("sum", "all", [powers], axis=axis, keepdims=True)])
    whole = node.emit("elemwise_add", "sum_of_all", [whole, top])
    found = node.emit("broadcast_sub", "log_probability", [data, whole])
    return node.emit("Cast", "short", [found], dtype=name_of(node.dtype(0))) if short else found


@rule("softmax", "log_softmax")
def _softmax(node: Node) -> Any:
    axis = node.cut(0)
    if len(node) != 1 or axis is None:
        return None
    data = node.get(0, axis)
    if axis != int(value_of(node, "axis", -1)) % len(node.shape(0)):
        return [node.same([data])], [axis]
    temperature = value_of(node, "temperature", None)
    if temperature not in (None, 1, 1.0):
        data = node.emit("_div_scalar", "cooler", [data], scalar=temperature)
    found = _log_softmax(node, data, axis)
    if node.op == "softmax":
        found = node.emit("exp", "probability", [found])
    dtype = value_of(node, "dtype", None)
    if dtype is not None:
        found = node.emit("Cast", "as_asked", [found], dtype=dtype)
    return [found], [axis]


def _own_labels(node: Node, label: list[int], classes: int) -> tuple[list[int], list[int], int]:
    """Labels by the place among the own classes, cut off at the ends; 1 where that is it; and how many there are."""
    begin, size = node.begin(classes), node.part(classes)
    place = node.emit("_minus_scalar", "place", [label], scalar=begin)
    near = node.emit("clip", "near", [place], a_min=0, a_max=size - 1)
    return near, node.emit("_equal", "is_own", [place, near]), size


def _choose(node: Node, name: str, where: list[int], value: Any, other: list[int]) -> list[int]:
    """A number where the factor is 1, else the other."""
    there = node.emit("_rminus_scalar", f"{name}_change", [other], scalar=value)
    there = node.emit("elemwise_mul", f"{name}_chosen", [there, where])
    return node.emit("elemwise_add", name, [other, there])


def _class_axis(node: Node) -> int | None:
    """The axis of the classes of SoftmaxOutput."""
    dims = len(node.shape(0))
    if flag_of(node, "multi_output", False):
        return 1
    if dims == 2 or flag_of(node, "preserve_shape", False):
        return dims - 1
    return None


@rule("SoftmaxOutput")
def _softmax_output(node: Node) -> Any:
    """Over cut classes: the same operator on the own classes and one more, which stands for all those of other ranks.
    Its outputs and gradients are those of the whole, so all attributes keep their meaning."""
    classes = _class_axis(node)
    if node.cut(1) == 0 or node.cut(0) == 0:
        return _softmax_output_by_examples(node)
    labels_are_classes = node.shape(1) != node.shape(0)
    smooth = float(value_of(node, "smooth_alpha", 0)) != 0
    axis = node.cut(0)
    if axis is None or axis != classes or not labels_are_classes or smooth:
        return None
    data = node.get(0, axis)
    if node.ranks == 1:
        return [node.same([data, node.get(1, WHOLE)])], [axis]
    total = _sums_of_all(node, data, axis, backward=False)
    others = [
        node.emit("slice_axis", f"sums_{name}", [total], axis=axis, begin=begin, end=end)
        for name, begin, end in (("before", 0, node.rank), ("behind", node.rank + 1, node.ranks))
        if begin < end
    ]
    other = others[0] if len(others) == 1 else node.emit("Concat", "others", others, dim=axis, num_args=2)
    other = node.emit("BlockGrad", "other_classes", [_own_sum_of(node, other, axis)])
    joined = node.emit("Concat", "with_others", [data, other], dim=axis, num_args=2)
    near, is_own, size = _own_labels(node, node.get(1, WHOLE), node.shape(0)[axis])
    is_other = node.emit("_rminus_scalar", "is_other", [is_own], scalar=1)
    label = _choose(node, "own_label", is_other, size, near)
    attrs: dict[str, Any] = {}
    if flag_of(node, "use_ignore", False) or value_of(node, "normalization", "null") == "valid":
        ignored = value_of(node, "ignore_label", -1)
        is_ignored = node.emit("_equal_scalar", "is_ignored", [node.get(1, WHOLE)], scalar=ignored)
        label = _choose(node, "kept_label", is_ignored, -2, label)
        attrs["ignore_label"] = -2
        if ignored >= 0 and not flag_of(node, "use_ignore", False):
            return None  # such labels count for the gradient alone
    made = node.same([joined, label], **attrs)
    return [node.emit("slice_axis", "own", [made], axis=axis, begin=0, end=size)], [axis]


def _own_sum_of(node: Node, sums: list[int], axis: int) -> list[int]:
    top = node.emit("max", "others_top", [sums], axis=axis, keepdims=True)
    powers = node.emit("exp", "others_powers", [node.emit("broadcast_sub", "others_below", [sums, top])])
    total = node.emit(
        "log", "others_log", [node.emit("sum", "others_all", [powers], axis=axis, keepdims=True)]
    )
    return node.emit("elemwise_add", "others_sum", [total, top])


def _softmax_output_by_examples(node: Node) -> Any:
    """Each rank its own examples; what the gradient is divided by stays that of all."""
    normalization = value_of(node, "normalization", "null")
    if normalization == "valid":
        return None
    attrs = {}
    if normalization == "batch":
        rows = node.shape(0)[0]
        attrs["grad_scale"] = float(value_of(node, "grad_scale", 1)) * node.part(rows) / rows
    return [node.same([node.get(0, 0), node.get(1, 0)], **attrs)], [0]


@rule("softmax_cross_entropy")
def _cross_entropy(node: Node) -> Any:
    if node.cut(0) == 0 or node.cut(1) == 0:
        return [node.same([node.get(0, 0), node.get(1, 0)])], [SUM]
    if node.cut(0) != 1:
        return None
    found = _log_softmax(node, node.get(0, 1), 1)
    found = _picked(node, found, node.get(1, WHOLE), 1, False, node.shape(0)[1])
    total = node.emit("sum", "own_loss", [found])
    total = node.emit("Reshape", "as_one", [node.emit("negative", "loss", [total])], shape=(1,))
    return [total], [SUM]


def _picked(
    node: Node, data: list[int], index: list[int], axis: int, keepdims: bool, classes: int
) -> list[int]:
    """The elements that an index names, where they are among the own ones; else 0."""
    near, is_own, _ = _own_labels(node, index, classes)
    found = node.emit("pick", "picked", [data, near], axis=axis, keepdims=keepdims)
    if keepdims:
        is_own = node.emit("expand_dims", "is_own_kept", [is_own], axis=axis)
    is_own = node.emit("Cast", "own_factor", [is_own], dtype=name_of(node.dtype(0)))
    return node.emit("elemwise_mul", "own_picked", [found, is_own])


@rule("pick")
def _pick(node: Node) -> Any:
    axis, dims = node.cut(0), len(node.shape(0))
    along = int(value_of(node, "axis", -1)) % dims
    keepdims = flag_of(node, "keepdims", False)
    if axis is None or len(node.shape(1)) != dims - 1 or value_of(node, "mode", "clip") != "clip":
        return None
    if axis != along:
        place = axis - (axis > along)
        return [node.same([node.get(0, axis), node.get(1, place)])], [axis if keepdims else place]
    return [_picked(node, node.get(0, axis), node.get(1, WHOLE), along, keepdims, node.shape(0)[along])], [
        SUM
    ]


@rule("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput")
def _regression(node: Node) -> Any:
    """The gradient is divided by the number of outputs of an example, which stays that of all."""
    axis = node.cut(0)
    axis = node.cut(1) if axis is None else axis
    if axis is None or node.shape(0) != node.shape(1):
        return None
    attrs = {}
    if axis != 0:
        size = node.shape(0)[axis]
        attrs["grad_scale"] = float(value_of(node, "grad_scale", 1)) * node.part(size) / size
    return [node.same([node.get(0, axis), node.get(1, axis)], **attrs)], [axis]


@rule("sum", "mean")
def _total(node: Node) -> Any:
    """Over the cut axis each rank has a summand."""
    axis, shape = node.cut(0), node.shape(0)
    if axis is None:
        return None
    over = _reduced(node)
    if axis in over:
        found = node.same([node.get(0, axis)])
        if node.op == "mean":
            found = node.emit("_mul_scalar", "share", [found], scalar=node.part(shape[axis]) / shape[axis])
        return [found], [SUM]
    kept = flag_of(node, "keepdims", False)
    return [node.same([node.get(0, axis)])], [axis if kept else axis - sum(one < axis for one in over)]


@rule("max", "min", "prod", "norm", "argmax", "argmin", "nansum", "nanprod")
def _reduction(node: Node) -> Any:
    axis = node.cut(0)
    if axis is None or axis in _reduced(node):
        return None
    over = _reduced(node)
    kept = flag_of(node, "keepdims", False)
    return [node.same([node.get(0, axis)])], [axis if kept else axis - sum(one < axis for one in over)]


def _reduced(node: Node) -> set[int]:
    """The axes that a reduction is over."""
    dims = len(node.shape(0))
    given = value_of(node, "axis", None)
    if given is None or given == ():
        return set(range(dims))
    axes = {int(one) % dims for one in (given if isinstance(given, (tuple, list)) else (given,))}
    return set(range(dims)) - axes if flag_of(node, "exclude", False) else axes


@rule("MakeLoss")
def _make_loss(node: Node) -> Any:
    axis = node.cut(0)
    if axis is None or value_of(node, "normalization", "null") != "null":
        return None
    return [node.same([node.get(0, axis)])], [axis]
