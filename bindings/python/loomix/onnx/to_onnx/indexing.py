# SPDX-License-Identifier: Apache-2.0
"""Reductions, order, and reading and writing by index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph import Node
from ..writer import Writer, int64s
from .shapes import reshape_to

_REDUCTIONS = {
    "max": "ReduceMax", "mean": "ReduceMean", "min": "ReduceMin", "nanprod": "ReduceProd", "nansum": "ReduceSum",
    "prod": "ReduceProd", "sum": "ReduceSum", "_square_sum": "ReduceSumSquare",
}  # fmt: skip


def _axes(n: Node) -> list[int] | None:
    """The axes to reduce from 0 on; None for all."""
    axes = n.attributes.get("axis")
    axes = [axes] if isinstance(axes, int) else axes
    if not axes and axes != ():
        return None
    found = sorted({axis % n.rank() for axis in axes})
    if n.attributes.get("exclude"):
        found = [axis for axis in range(n.rank()) if axis not in found]
    elif not found:
        return None
    return found


def _reduce(n: Node, w: Writer, op: str, x: str) -> str:
    axes, keep = _axes(n), bool(n["keepdims"])
    if axes == []:
        return w.add("Identity", x)
    if axes is None or len(axes) == n.rank():  # there are no arrays without axes
        found = w.reduce(op, x, None, True)
        return found if keep or n.rank() == 1 else w.reshape(found, [1])
    return w.reduce(op, x, axes, keep)


def reduction(n: Node, w: Writer) -> str:
    x = n.input(0)
    if n.op.startswith("nan") and n.dtype().kind == "f":
        neutral = n.number_like(n.op == "nanprod")
        x = w.add("Where", w.add("IsNaN", x), neutral, x)
    return _reduce(n, w, _REDUCTIONS[n.op], x)


def norm(n: Node, w: Writer) -> str:
    found = _reduce(n, w, "ReduceL1" if n["ord"] == 1 else "ReduceL2", n.input(0))
    return w.cast(found, n.out_dtype()) if n.out_dtype() != n.dtype() else found


def moments(n: Node, w: Writer) -> list[str]:
    x = n.input(0)
    n.attributes["axis"] = n["axes"]
    axes = _axes(n)
    mean = w.reduce("ReduceMean", x, axes, True)
    away = w.add("Sub", x, mean)
    return [_reduce(n, w, "ReduceMean", x), _reduce(n, w, "ReduceMean", w.add("Mul", away, away))]


def arg_extreme(n: Node, w: Writer) -> str:
    op, x, axis = "ArgMax" if n.op == "argmax" else "ArgMin", n.input(0), n["axis"]
    if axis is None:
        found = w.add(op, w.reshape(x, [-1]), axis=0, keepdims=1)
        if n["keepdims"]:
            found = w.reshape(found, [1] * n.rank())
    else:
        found = w.add(op, x, axis=axis, keepdims=int(n["keepdims"] or n.rank() == 1))
    return w.cast(found, n.out_dtype())


def argmax_channel(n: Node, w: Writer) -> str:
    return w.cast(w.add("ArgMax", n.input(0), axis=1, keepdims=0), n.out_dtype())


def _ordered(n: Node, w: Writer, count: Any) -> tuple[str, str, int]:
    """The first elements along an axis and their places, sorted."""
    x, axis = n.input(0), n["axis"]
    if axis is None:
        x, axis = w.reshape(x, [-1]), 0
    axis = axis % n.rank()
    size = n.shape(axes=[axis])[axis] if n["axis"] is not None else int(np.prod(n.shape()))
    values, places = w.add_many(
        "TopK", 2, x, int64s(count or size), axis=axis, largest=int(not n["is_ascend"]), sorted=1
    )
    return values, places, axis


def topk(n: Node, w: Writer) -> str | list[str]:
    values, places, axis = _ordered(n, w, n["k"])
    kind = n["ret_typ"]
    if kind == "value":
        return values
    if kind == "mask":
        if n["axis"] is None:
            n.fail("a mask without an axis has no ONNX form.")
        zeros, ones = (w.constant(np.full(n.shape(), i, n.out_dtype())) for i in (0, 1))
        part = w.slice(ones, [0], [n["k"] or n.shape()[axis]], [axis])
        return w.add("ScatterElements", zeros, places, part, axis=axis)
    if kind == "both":
        return [values, w.cast(places, n.out_dtype(1))]
    return w.cast(places, n.out_dtype())


def sort(n: Node, w: Writer) -> str:
    return _ordered(n, w, None)[0]


def argsort(n: Node, w: Writer) -> str:
    return w.cast(_ordered(n, w, None)[1], n.out_dtype())


def _places(n: Node, w: Writer, i: int, size: int, mode: str) -> str:
    """Indices as int64 that lie inside."""
    return w.wrap_index(n.input(i), size) if mode == "wrap" else w.clip_index(n.input(i), size)


def take(n: Node, w: Writer) -> str:
    axis = n.axis()
    size = n.shape(axes=[axis])[axis]
    return w.add("Gather", n.input(0), _places(n, w, 1, size, n["mode"]), axis=axis)


def embedding(n: Node, w: Writer) -> str:
    return w.add("Gather", n.input(1), w.clip_index(n.input(0), n["input_dim"]), axis=0)


def pick(n: Node, w: Writer) -> str:
    x, axis = n.input(0), n["axis"]
    if axis is None:
        size = int(np.prod(n.shape()))
        found = w.add("Gather", w.reshape(x, [-1]), _places(n, w, 1, size, n["mode"]), axis=0)
        return reshape_to(n, w, found, n.out_sizes(), n.sizes(1))
    axis = n.axis()
    places = _places(n, w, 1, n.shape(axes=[axis])[axis], n["mode"])
    if n.rank(1) < n.rank():
        places = w.unsqueeze(places, axis)
    found = w.add("GatherElements", x, places, axis=axis)
    return found if n["keepdims"] or n.rank() == 1 else w.squeeze(found, axis)


def batch_take(n: Node, w: Writer) -> str:
    places = w.unsqueeze(w.clip_index(n.input(1), n.shape(axes=[1])[1]), 1)
    return w.squeeze(w.add("GatherElements", n.input(0), places, axis=1), 1)


def _last_axis_first(n: Node, w: Writer, i: int) -> str:
    """Indices for ONNX, where those of one element stand along the last axis, not the first."""
    rank = n.rank(i)
    return w.transpose(w.cast(n.input(i), np.int64), [*range(1, rank), 0])


def gather_nd(n: Node, w: Writer) -> str:
    return w.add("GatherND", n.input(0), _last_axis_first(n, w, 1))


def scatter_nd(n: Node, w: Writer) -> str:
    zeros = np.zeros(n.out_shape(), n.dtype())
    return w.add("ScatterND", w.constant(zeros), _last_axis_first(n, w, 1), n.input(0))


def index_copy(n: Node, w: Writer) -> str:
    rows = w.unsqueeze(w.cast(n.input(1), np.int64), 1)
    return w.add("ScatterND", n.input(0), rows, n.input(2))


def boolean_mask(n: Node, w: Writer) -> str:
    return w.add("Compress", n.input(0), w.truth(n.input(1)), axis=n["axis"])


def one_hot(n: Node, w: Writer) -> str:
    index, depth = w.cast(n.input(0), np.int64), n["depth"]
    # Negative indices are places from the end there; here they are none, as those beyond the depth are.
    index = w.add("Where", w.add("Less", index, np.int64(0)), np.int64(depth), index)
    values = np.array([n["off_value"], n["on_value"]], n.out_dtype())
    return w.add("OneHot", index, np.int64(depth), values, axis=-1)


def cumulative_sum(n: Node, w: Writer) -> str:
    x, axis = n.input(0), n["axis"]
    if axis is None:
        x, axis = w.reshape(x, [-1]), 0
    if n.out_dtype() != n.dtype():
        x = w.cast(x, n.out_dtype())
    return w.add("CumSum", x, np.array(axis, np.int32))


def softmax_cross_entropy(n: Node, w: Writer) -> str:
    logs = w.add("LogSoftmax", n.input(0), axis=1)
    places = w.unsqueeze(w.clip_index(n.input(1), n.shape(axes=[1])[1]), 1)
    total = w.reduce("ReduceSum", w.add("GatherElements", logs, places, axis=1), None, True)
    return w.add("Neg", w.reshape(total, [1]))


def unravel_index(n: Node, w: Writer) -> str:
    shape: Sequence[int] = n["shape"]
    rest, parts = w.cast(n.input(0), np.int64), []
    for axis in range(len(shape)):
        stride = np.int64(np.prod(shape[axis + 1 :]))
        parts.append(w.unsqueeze(w.add("Div", rest, stride), 0))
        rest = w.add("Mod", rest, stride)
    return w.cast(w.add("Concat", *parts, axis=0), n.out_dtype())


def ravel_index(n: Node, w: Writer) -> str:
    shape: Sequence[int] = n["shape"]
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    strides_of = np.array(strides, np.int64).reshape(-1, *[1] * (n.rank() - 1))
    whole = w.add("Mul", w.cast(n.input(0), np.int64), strides_of)
    return w.cast(w.reduce("ReduceSum", whole, [0], False), n.out_dtype())


CONVERTERS: dict[str, Callable[[Node, Writer], Any]] = {
    **dict.fromkeys(_REDUCTIONS, reduction),
    "Embedding": embedding,
    "_contrib_SparseEmbedding": embedding,
    "_contrib_boolean_mask": boolean_mask,
    "_contrib_index_copy": index_copy,
    "_np_cumsum": cumulative_sum,
    "_ravel_multi_index": ravel_index,
    "_unravel_index": unravel_index,
    "argmax": arg_extreme,
    "argmax_channel": argmax_channel,
    "argmin": arg_extreme,
    "argsort": argsort,
    "batch_take": batch_take,
    "gather_nd": gather_nd,
    "moments": moments,
    "norm": norm,
    "one_hot": one_hot,
    "pick": pick,
    "scatter_nd": scatter_nd,
    "softmax_cross_entropy": softmax_cross_entropy,
    "sort": sort,
    "take": take,
    "topk": topk,
}
