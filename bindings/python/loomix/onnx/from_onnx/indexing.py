# SPDX-License-Identifier: Apache-2.0
"""Reductions, order, and reading and writing by index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..builder import Builder, Value
from ..constants import check_size
from ..library import type_of
from ..reader import Node
from .elementwise import as_number, to_type
from .shapes import axis_of, constant_ints, keep_truth, optional_ints


def _reduce(n: Node, b: Builder, reduce: Callable[[Value, tuple[int, ...]], Value]) -> Value:
    """A reduction, whose axes are an attribute or an input; `reduce` keeps them."""
    x = n.inputs[0]
    axes = n.ints("axes")
    if len(n.inputs) > 1:
        axes = optional_ints(n, 1, "axes")
    keep, nothing = n.flag("keepdims", True), n.flag("noop_with_empty_axes")
    if not axes and nothing:
        return b.elementwise("_copy", x)
    if x.rank == 0:
        return b.without_axes(reduce(b.reshape(x, [1]), (0,)))
    axes = sorted({axis_of(n, axis, x.rank) for axis in axes}) if axes else list(range(x.rank))
    found = reduce(x, tuple(axes))
    return found if keep else b.squeeze(found, axes)


def _plain(op: str) -> Callable[[Node, Builder], Value]:
    def reduction(n: Node, b: Builder) -> Value:
        found = _reduce(n, b, lambda x, axes: b.make(op, x, axis=axes, keepdims=True))
        return keep_truth(b, n.inputs[0], found)

    return reduction


def reduce_l1(n: Node, b: Builder) -> Value:
    return _reduce(n, b, lambda x, axes: b.make("sum", b.make("abs", x), axis=axes, keepdims=True))


def _sum_of_squares(b: Builder, x: Value, axes: tuple[int, ...]) -> Value:
    return b.make("sum", b.make("square", x), axis=axes, keepdims=True)


def reduce_l2(n: Node, b: Builder) -> Value:
    return _reduce(n, b, lambda x, axes: b.make("sqrt", _sum_of_squares(b, x, axes)))


def reduce_sum_square(n: Node, b: Builder) -> Value:
    return _reduce(n, b, lambda x, axes: _sum_of_squares(b, x, axes))


def reduce_log_sum(n: Node, b: Builder) -> Value:
    return _reduce(n, b, lambda x, axes: b.make("log", b.make("sum", x, axis=axes, keepdims=True)))


def reduce_log_sum_exp(n: Node, b: Builder) -> Value:
    def reduce(x: Value, axes: tuple[int, ...]) -> Value:
        top = b.make("max", x, axis=axes, keepdims=True)
        total = b.make("sum", b.make("exp", b.make("broadcast_sub", x, top)), axis=axes, keepdims=True)
        return b.make("broadcast_add", b.make("log", total), top)

    return _reduce(n, b, reduce)


def arg_extreme(n: Node, b: Builder) -> Value:
    x, op = n.inputs[0], n.op.lower()
    axis, keep = axis_of(n, n.int("axis", 0), x.rank), n.flag("keepdims", True)
    if n.flag("select_last_index"):
        size = x.shape[axis]
        if size is None:
            n.fail("select_last_index with an open size is not supported; give input_shapes.")
        found = b.make(op, b.make("reverse", x, axis=axis), axis=axis, keepdims=True)
        found = b.scalar("_rminus_scalar", found, size - 1)
    else:
        found = b.make(op, x, axis=axis, keepdims=True)
    found = b.cast(found, np.int64)
    return found if keep else b.squeeze(found, [axis])


def hardmax(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    axis = axis_of(n, n.int("axis", -1), x.rank)
    size = x.shape[axis]
    if size is None:
        n.fail("an open size is not supported; give input_shapes.")
    best = b.make("argmax", x, axis=axis, keepdims=True)
    check_size(n, [size])
    places = b.constant(
        np.arange(size, dtype=np.float32).reshape(-1, *[1] * (x.rank - 1 - axis)), f"{n.name}_places"
    )
    return b.cast(b.make("broadcast_equal", best, b.unsqueeze(places, range(axis))), x.dtype)


def topk(n: Node, b: Builder) -> list[Value]:
    x, axis = n.inputs[0], n.int("axis", -1)
    (count,) = constant_ints(n, 1, "K")
    n.flag("sorted", True)  # sorted is right in both cases
    return b.make_many(
        "topk", x, axis=axis_of(n, axis, x.rank), k=count, ret_typ="both", is_ascend=not n.flag("largest", True),
        dtype="int64",
    )  # fmt: skip


def gather(n: Node, b: Builder) -> Value:
    x, index = n.inputs
    axis = axis_of(n, n.int("axis", 0), x.rank)
    place = as_number(index, 0)
    if place is not None:  # one place, without an axis of its own
        size = x.shape[axis]
        begin = int(place)
        if size is not None and not -size <= begin < size:
            n.fail(f"index {begin} is out of range for axis {axis} of shape {x.shape}.")
        part = b.slice_axis(x, axis, begin, begin + 1 if begin != -1 else None)
        return keep_truth(b, x, b.squeeze(part, [axis]))
    found = b.make("take", x, index, axis=axis, mode="wrap")
    if index.rank == 0:
        found = b.squeeze(found, [axis])
    return keep_truth(b, x, found)


def _iota(b: Builder, shape: Sequence[int], axis: int, name: str) -> Value:
    """The places along an axis, for all elements of an array of this shape."""
    places = np.arange(shape[axis], dtype=np.float32).reshape(
        [-1 if i == axis else 1 for i in range(len(shape))]
    )
    return b.constant(np.broadcast_to(places, shape).copy(), name)


def _from_behind(b: Builder, index: Value, size: int) -> Value:
    """Indices as float32, negative ones counted from the end."""
    return b.scalar("_mod_scalar", b.cast(index, np.float32), size)


def _element_places(n: Node, b: Builder, x: Value, index: Value, axis: int) -> Value:
    """For each element of an index along an axis the place in the whole array, in a new first axis."""
    shape = index.fixed
    if shape is None or x.shape[axis] is None:
        n.fail("open sizes are not supported; give input_shapes.")
    check_size(n, shape)
    size = x.shape[axis] or 1
    parts = [
        b.unsqueeze(
            _from_behind(b, index, size) if i == axis else _iota(b, shape, i, f"{n.name}_places{i}"), [0]
        )
        for i in range(x.rank)
    ]
    return b.make("Concat", *parts, dim=0, num_args=len(parts)) if len(parts) > 1 else parts[0]


def gather_elements(n: Node, b: Builder) -> Value:
    x, index = n.inputs
    axis = axis_of(n, n.int("axis", 0), x.rank)
    others_fit = all(
        a[:axis] + a[axis + 1 :] == c[:axis] + c[axis + 1 :] for a, c in zip(x.shapes, index.shapes)
    )
    if index.shape[axis] == 1 and others_fit and x.rank > 1:
        return b.make("pick", x, index, axis=axis, keepdims=True, mode="wrap")
    return keep_truth(b, x, b.make("gather_nd", x, _element_places(n, b, x, index, axis)))


def _places_first(n: Node, b: Builder, x: Value, index: Value, batch_axes: int) -> Value:
    """Indices for Loomix, where those of one element stand along the first axis, not the last."""
    rank, depth = index.rank, index.shape[-1]
    sizes = x.shape[batch_axes : batch_axes + (depth or 0)]
    if depth is None or None in sizes:
        n.fail("open sizes along the axes that indices count are not supported; give input_shapes.")
    turned = b.transpose(index, [rank - 1, *range(rank - 1)]) if rank > 1 else index
    bound = b.constant(np.array(sizes, np.float32).reshape(-1, *[1] * (rank - 1)), f"{n.name}_sizes")
    return b.make("broadcast_mod", b.cast(turned, np.float32), bound)


def gather_nd(n: Node, b: Builder) -> Value:
    x, index = n.inputs
    batch = n.int("batch_dims", 0)
    if batch not in (0, 1):
        n.fail(f"batch_dims {batch} is not supported; expected 0 or 1.")
    places = _places_first(n, b, x, index, batch)
    if batch:
        row = b.make("slice_axis", places, axis=0, begin=0, end=1)
        ones = b.make("ones_like", row)
        count = b.make("_contrib_arange_like", row, axis=1)
        own = b.make("broadcast_mul", ones, b.reshape(count, [1, -1, *[1] * (row.rank - 2)]))
        places = b.make("Concat", own, places, dim=0, num_args=2)
    found = b.make("gather_nd", x, places)
    if index.rank == 1:  # one element
        found = b.without_axes(found) if index.shape[-1] == x.rank else b.squeeze(found, [0])
    return keep_truth(b, x, found)


def _check_no_reduction(n: Node) -> None:
    n.string("reduction", "none", ("none",))


def scatter_nd(n: Node, b: Builder) -> Value:
    x, index, updates = n.inputs
    _check_no_reduction(n)
    shape = x.fixed
    if shape is None:
        n.fail("open sizes are not supported; give input_shapes.")
    return b.make("_scatter_set_nd", x, updates, _places_first(n, b, x, index, 0), shape=shape)


def scatter_elements(n: Node, b: Builder) -> Value:
    x, index, updates = n.inputs
    _check_no_reduction(n)
    shape = x.fixed
    if shape is None:
        n.fail("open sizes are not supported; give input_shapes.")
    axis = axis_of(n, n.int("axis", 0), x.rank)
    return b.make("_scatter_set_nd", x, updates, _element_places(n, b, x, index, axis), shape=shape)


def compress(n: Node, b: Builder) -> Value:
    x, condition = n.inputs
    axis = n.int("axis")
    if axis is None:
        x, axis = b.reshape(x, [-1]), 0
    axis = axis_of(n, axis, x.rank)
    if condition.array is None:
        n.fail("the condition must be a constant: arrays whose shapes depend on numbers are not supported.")
    places = np.flatnonzero(condition.array)
    if not places.size:
        n.fail("nothing is left; arrays without elements are not supported.")
    return keep_truth(b, x, b.make("take", x, b.constant(places, f"{n.name}_places"), axis=axis))


def one_hot(n: Node, b: Builder) -> Value:
    index, _, values = n.inputs
    (depth,) = constant_ints(n, 1, "depth")
    if values.array is None or values.array.size != 2:
        n.fail("values must be two constants.")
    off, on = (float(value) for value in values.array.reshape(-1))
    if depth < 1:
        n.fail(f"depth is {depth}.")
    wanted = b.cast(index, np.float32)
    below = b.scalar("_mul_scalar", b.scalar("_lesser_scalar", wanted, 0), depth)
    wanted = b.make("broadcast_add", wanted, below)
    dtype = values.dtype if values.dtype.kind != "b" else np.dtype(np.float32)
    found = b.make("one_hot", wanted, depth=depth, on_value=repr(on), off_value=repr(off), dtype=dtype.name)
    if index.rank == 0:
        return to_type(b, b.reshape(found, [depth]), values.dtype)
    axis = axis_of(n, n.int("axis", -1), index.rank + 1)
    order = list(range(index.rank))
    return to_type(b, b.transpose(found, [*order[:axis], index.rank, *order[axis:]]), values.dtype)


def cumulative_sum(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    (axis,) = constant_ints(n, 1, "axis")
    axis = axis_of(n, axis, x.rank)
    backwards, exclusive = n.flag("reverse"), n.flag("exclusive")
    turned = b.make("reverse", x, axis=axis) if backwards else x
    found = b.make("_np_cumsum", turned, axis=axis)
    found = b.make("broadcast_sub", found, turned) if exclusive else found
    return b.make("reverse", found, axis=axis) if backwards else found


def reverse_sequence(n: Node, b: Builder) -> Value:
    x, lengths = n.inputs
    time, batch = n.int("time_axis", 0), n.int("batch_axis", 1)
    if sorted((time, batch)) != [0, 1]:
        n.fail(f"time_axis {time} and batch_axis {batch} are not supported.")
    return b.make("SequenceReverse", x, b.cast(lengths, np.float32), use_sequence_length=True, axis=time)


# ---- random numbers ----


def _random_type(n: Node, default: np.dtype[Any]) -> str:
    number = n.int("dtype")
    dtype = default if number is None else type_of(f"[onnx] node '{n.name}'", number)
    n.refuse("seed", "where random numbers begin")
    return dtype.name


def random_array(n: Node, b: Builder) -> Value:
    dtype = _random_type(n, np.dtype(np.float32))
    shape = n.ints("shape", [])
    if not shape or min(shape) < 1:
        n.fail(f"shape is {shape}.")
    if n.op == "RandomUniform":
        bounds = {"low": n.float("low", 0.0), "high": n.float("high", 1.0)}
        return b.make("_random_uniform", shape=tuple(shape), dtype=dtype, **bounds)
    bounds = {"loc": n.float("mean", 0.0), "scale": n.float("scale", 1.0)}
    return b.make("_random_normal", shape=tuple(shape), dtype=dtype, **bounds)


def random_like(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    x = b.cast(x, _random_type(n, x.dtype))
    if n.op == "RandomUniformLike":
        return b.make("_random_uniform_like", x, low=n.float("low", 0.0), high=n.float("high", 1.0))
    return b.make("_random_normal_like", x, loc=n.float("mean", 0.0), scale=n.float("scale", 1.0))


def bernoulli(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    dtype = _random_type(n, x.dtype)
    drawn = b.elementwise("broadcast_lesser", b.make("_random_uniform_like", x, low=0, high=1), x)
    return to_type(b, drawn, np.dtype(dtype))


IMPORTERS: dict[str, Callable[[Node, Builder], Any]] = {
    "ArgMax": arg_extreme,
    "ArgMin": arg_extreme,
    "Bernoulli": bernoulli,
    "Compress": compress,
    "CumSum": cumulative_sum,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Hardmax": hardmax,
    "OneHot": one_hot,
    "RandomNormal": random_array,
    "RandomNormalLike": random_like,
    "RandomUniform": random_array,
    "RandomUniformLike": random_like,
    "ReduceL1": reduce_l1,
    "ReduceL2": reduce_l2,
    "ReduceLogSum": reduce_log_sum,
    "ReduceLogSumExp": reduce_log_sum_exp,
    "ReduceMax": _plain("max"),
    "ReduceMean": _plain("mean"),
    "ReduceMin": _plain("min"),
    "ReduceProd": _plain("prod"),
    "ReduceSum": _plain("sum"),
    "ReduceSumSquare": reduce_sum_square,
    "ReverseSequence": reverse_sequence,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "TopK": topk,
}
