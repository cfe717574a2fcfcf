# SPDX-License-Identifier: Apache-2.0
"""Sorting, searching, and sets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as onp

from ..base import MXNetValueError
from ..numpy import _reductions, _search, _shape
from ..numpy._base import F, asarray, cast, is_array, name_of_type, promoted, with_number
from ._types import array_of


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The positions that would sort the array along an axis; equal elements keep their order."""
    x = array_of(x, "argsort")
    if x.size == 0:
        return cast(x, "int64")
    x = cast(x, "uint8") if name_of_type(x) == "bool" else x
    if not descending:
        return _search.argsort(x, axis)
    return x.shape[axis] - 1 - _shape.flip(_search.argsort(_shape.flip(x, axis), axis), axis)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The elements in order along an axis."""
    x = array_of(x, "sort")
    if x.size == 0:
        return x.copy()
    kind = "uint8" if name_of_type(x) == "bool" else x.dtype
    result = cast(_search.sort(cast(x, kind), axis), x.dtype)
    return _shape.flip(result, axis) if descending else result


def argmax(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The position of the first maximum."""
    return _reductions.argmax(x, axis, None, keepdims)


def argmin(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The position of the first minimum."""
    return _reductions.argmin(x, axis, None, keepdims)


def nonzero(x: Any, /) -> Any:
    """The positions of the elements that are not zero: an array for each axis. Waits for the values."""
    if array_of(x, "nonzero").ndim == 0:
        raise MXNetValueError("[array_api.nonzero] the array has no axis; expected one or more.")
    return _search.nonzero(x)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Where elements would have to be put into a sorted array."""
    return _search.searchsorted(array_of(x1, "searchsorted"), x2, side, sorter)


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """Elements of x1 where the condition holds, else of x2."""
    numbers = [x for x in (x1, x2) if not is_array(x)]
    kinds = [name_of_type(x) for x in (x1, x2) if is_array(x)]
    if not kinds:
        raise MXNetValueError("[array_api.where] x1 and x2 are numbers; expected an array among them.")
    kind = promoted(*kinds) if len(kinds) == 2 else with_number(kinds[0], numbers[0])
    x1, x2 = (cast(x, kind) if is_array(x) else asarray(onp.asarray(x, dtype=kind)) for x in (x1, x2))
    return F.where(*_shape.broadcast_arrays(condition, x1, x2))


class _All(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class _Counts(NamedTuple):
    values: Any
    counts: Any


class _Inverse(NamedTuple):
    values: Any
    inverse_indices: Any


def unique_all(x: Any, /) -> Any:
    """The different elements, where each is first, which of them each element is, and how many there are."""
    x = array_of(x, "unique_all")
    values, *parts = onp.unique(
        x.asnumpy(), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    first, inverse, counts = (asarray(part.astype("int64"), ctx=x.context) for part in parts)
    return _All(asarray(values, ctx=x.context), first, inverse.reshape(x.shape), counts)


def unique_counts(x: Any, /) -> Any:
    """The different elements, and how many there are of each."""
    found = unique_all(x)
    return _Counts(found.values, found.counts)


def unique_inverse(x: Any, /) -> Any:
    """The different elements, and which of them each element is."""
    found = unique_all(x)
    return _Inverse(found.values, found.inverse_indices)


def unique_values(x: Any, /) -> Any:
    """The different elements. Waits for the values."""
    return unique_all(x).values


FUNCTIONS: dict[str, Any] = {
    name: globals()[name]
    for name in (
        "argmax argmin argsort nonzero searchsorted sort unique_all unique_counts unique_inverse unique_values where"
    ).split()
}
