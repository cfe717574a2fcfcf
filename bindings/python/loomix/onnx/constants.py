# SPDX-License-Identifier: Apache-2.0
"""What of an ONNX graph is known when it is read, computed then: shapes, and what is made of weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import MXNetError, MXNetValueError
from .library import type_of
from .reader import Node

Array = np.ndarray[Any, Any]
_MOST_ELEMENTS = 1 << 26  # that one node may make out of little
_MOST_IN_ALL = 1 << 27  # a small file cannot fill the memory


def check_size(n: Node, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of a constant that does not come from the file, if it is not too large."""
    sizes = tuple(int(size) for size in shape)
    if any(size < 0 for size in sizes) or math.prod(sizes) > _MOST_ELEMENTS:
        n.fail(f"a constant of shape {sizes} is too large, or none.", MXNetValueError)
    return sizes


def _ints(n: Node, values: Any) -> list[int]:
    return [int(value) for value in np.asarray(values).reshape(-1)]


def _reshape(n: Node, x: Array, shape: Array) -> Array:
    wanted = _ints(n, shape)
    if not n.flag("allowzero"):
        wanted = [x.shape[i] if size == 0 else size for i, size in enumerate(wanted)]
    return x.reshape(wanted)


def _squeeze(n: Node, x: Array, axes: Array | None = None) -> Array:
    return np.squeeze(x, None if axes is None else tuple(_ints(n, axes)))


def _unsqueeze(n: Node, x: Array, axes: Array) -> Array:
    return np.expand_dims(x, tuple(_ints(n, axes)))


def slices(
    rank: int,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int] | None,
    steps: Sequence[int] | None,
) -> dict[int, slice]:
    """The slice along each axis; an end that counts from behind and is out of reach leaves nothing out."""
    found = {}
    axes = list(range(len(starts))) if axes is None else list(axes)
    steps = [1] * len(starts) if steps is None else list(steps)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise ValueError("starts, ends, axes and steps do not belong together")
    for start, end, axis, step in zip(starts, ends, axes, steps):
        if not -rank <= axis < rank:
            raise ValueError(f"axis {axis} is out of range")
        found[axis % rank] = slice(start, None if step < 0 and end < -(2**31) else end, step)
    return found


def _slice(
    n: Node, x: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None
) -> Array:
    parts = slices(
        x.ndim, _ints(n, starts), _ints(n, ends), None if axes is None else _ints(n, axes),
        None if steps is None else _ints(n, steps),
    )  # fmt: skip
    return x[tuple(parts.get(axis, slice(None)) for axis in range(x.ndim))]


def _divide(n: Node, a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return a / b
    return (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype)


def _power(n: Node, a: Array, b: Array) -> Array:
    return np.power(a.astype(np.float64), b).astype(a.dtype)


def _modulo(n: Node, a: Array, b: Array) -> Array:
    return np.fmod(a, b) if n.flag("fmod") else np.mod(a, b)


def _cast(n: Node, x: Array) -> Array:
    n.int("saturate")
    return x.astype(type_of(f"[onnx] node '{n.name}'", n.int("to", 0)))


def _gather(n: Node, x: Array, index: Array) -> Array:
    return np.take(x, index, n.int("axis", 0))


def _expand(n: Node, x: Array, shape: Array) -> Array:
    wanted = np.broadcast_shapes(x.shape, tuple(_ints(n, shape)))
    return np.broadcast_to(x, check_size(n, wanted)).copy()


def _tile(n: Node, x: Array, repeats: Array) -> Array:
    counts = _ints(n, repeats)
    check_size(n, [size * count for size, count in zip(x.shape, counts)])
    return np.tile(x, counts)


def _constant_of_shape(n: Node, shape: Array) -> Array:
    value = n.tensor("value")
    value = np.zeros(1, np.float32) if value is None else value
    return np.full(check_size(n, _ints(n, shape)), value.reshape(-1)[0], value.dtype)


def _range(n: Node, start: Array, limit: Array, delta: Array) -> Array:
    first, last, step = (np.asarray(x).reshape(-1)[0] for x in (start, limit, delta))
    check_size(n, [max(0, math.ceil((float(last) - float(first)) / float(step)))])
    return np.arange(first, last, step, dtype=start.dtype)


def _reduce(function: Callable[..., Any]) -> Callable[..., Array]:
    def fold(n: Node, x: Array, axes: Array | None = None) -> Array:
        given = n.ints("axes") if axes is None else _ints(n, axes)
        keep, nothing = n.flag("keepdims", True), n.flag("noop_with_empty_axes")
        if not given and nothing:
            return x
        return np.asarray(function(x, axis=tuple(given) if given else None, keepdims=keep), x.dtype)

    return fold


def _trilu(n: Node, x: Array, k: Array | None = None) -> Array:
    offset = 0 if k is None else int(np.asarray(k).reshape(-1)[0])
    return np.triu(x, offset) if n.flag("upper", True) else np.tril(x, offset)


def _eye_like(n: Node, x: Array) -> Array:
    dtype = n.int("dtype")
    wanted = x.dtype if dtype is None else type_of(f"[onnx] node '{n.name}'", dtype)
    rows, columns = x.shape
    return np.eye(rows, columns, n.int("k", 0), dtype=wanted)


def _plain(function: Callable[..., Any]) -> Callable[..., Array]:
    return lambda n, *arrays: function(*arrays)


FOLDED: dict[str, Callable[..., Array]] = {
    "Abs": _plain(np.abs),
    "Add": _plain(np.add),
    "And": _plain(np.logical_and),
    "Cast": _cast,
    "Ceil": _plain(np.ceil),
    "Concat": lambda n, *arrays: np.concatenate(arrays, n.int("axis", 0)),
    "ConstantOfShape": _constant_of_shape,
    "Div": _divide,
    "Equal": _plain(np.equal),
    "Exp": _plain(np.exp),
    "Expand": _expand,
    "EyeLike": _eye_like,
    "Floor": _plain(np.floor),
    "Gather": _gather,
    "Greater": _plain(np.greater),
    "GreaterOrEqual": _plain(np.greater_equal),
    "Identity": _plain(np.array),
    "Less": _plain(np.less),
    "LessOrEqual": _plain(np.less_equal),
    "Log": _plain(np.log),
    "Max": lambda n, *arrays: np.asarray(np.max(np.broadcast_arrays(*arrays), axis=0)),
    "Min": lambda n, *arrays: np.asarray(np.min(np.broadcast_arrays(*arrays), axis=0)),
    "Mod": _modulo,
    "Mul": _plain(np.multiply),
    "Neg": _plain(np.negative),
    "Not": _plain(np.logical_not),
    "Or": _plain(np.logical_or),
    "Pow": _power,
    "Range": _range,
    "Reciprocal": _plain(np.reciprocal),
    "ReduceMax": _reduce(np.max),
    "ReduceMin": _reduce(np.min),
    "ReduceProd": _reduce(np.prod),
    "ReduceSum": _reduce(np.sum),
    "Reshape": _reshape,
    "Slice": _slice,
    "Sqrt": _plain(np.sqrt),
    "Squeeze": _squeeze,
    "Sub": _plain(np.subtract),
    "Tile": _tile,
    "Transpose": lambda n, x: np.transpose(x, n.ints("perm")),
    "Trilu": _trilu,
    "Unsqueeze": _unsqueeze,
    "Where": _plain(np.where),
}


def shape_of(n: Node, shape: Sequence[int]) -> Array:
    """What the operator Shape gives."""
    first, last = n.int("start", 0), n.int("end", None)
    return np.array(list(shape)[slice(first, last)], np.int64)


class Folder:
    """Computes nodes whose inputs are constants."""

    def __init__(self) -> None:
        self._left = _MOST_IN_ALL

    def fold(self, n: Node, worlds: int) -> list[Array] | None:
        """The value in each world, or None if it is not known."""
        given = [value for value in n.inputs if value is not None]
        if n.op == "Shape":
            found = [shape_of(n, given[0].shapes[world]) for world in range(worlds)]
        elif n.op == "Size":
            found = [np.array(math.prod(given[0].shapes[world]), np.int64) for world in range(worlds)]
        elif n.op in FOLDED and given and all(value.arrays is not None for value in given):
            found = [self._run(n, world) for world in range(worlds)]
        else:
            return None
        return found

    def _run(self, n: Node, world: int) -> Array:
        arrays = [None if value is None else value.arrays[world] for value in n.inputs]
        first = next(a for a in arrays if a is not None)
        with np.errstate(all="ignore"):
            found = np.asarray(FOLDED[n.op](n, *arrays))
        if found.dtype.kind not in "fiub":
            raise MXNetError(f"[onnx] node '{n.name}' ({n.op}): a constant of type {found.dtype}.")
        if found.dtype != first.dtype and n.op in _SAME_TYPE:
            found = found.astype(first.dtype)
        self._left -= found.size
        if self._left < 0:
            n.fail("the constants of this file are too large.", MXNetValueError)
        return found


_SAME_TYPE = {"Abs", "Add", "Ceil", "Exp", "Floor", "Log", "Mod", "Mul", "Neg", "Reciprocal", "Sqrt", "Sub"}
