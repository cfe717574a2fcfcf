# SPDX-License-Identifier: Apache-2.0
"""Sums, means, extrema and truths."""

from __future__ import annotations

from typing import Any

from ..base import MXNetValueError
from ..numpy import _reductions, _shape
from ..numpy._base import F, cast, filled
from ._types import array_of, of_kind


def _accumulated(x: Any, dtype: Any, who: str) -> Any:
    """The array of the type of its sums: integers add up in int64."""
    x = array_of(x, who)
    if dtype is None:
        dtype = "int64" if of_kind(x.dtype, "integral") or of_kind(x.dtype, "bool") else x.dtype
    return cast(x, dtype)


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum of the elements, or the sums over axes."""
    return _reductions.sum(_accumulated(x, dtype, "sum"), axis, None, keepdims)


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product of the elements, or the products over axes."""
    return _reductions.prod(_accumulated(x, dtype, "prod"), axis, None, None, keepdims)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The maximum of the elements, or the maxima along axes."""
    return _reductions.max(x, axis, keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The minimum of the elements, or the minima along axes."""
    return _reductions.min(x, axis, keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean of the elements."""
    return _reductions.mean(x, axis, keepdims=keepdims)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The variance: the sum of squared distances from the mean, divided by the count less ``correction``."""
    return _reductions.var(x, axis, ddof=correction, keepdims=keepdims)  # type: ignore[arg-type]


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The standard deviation: the root of the variance."""
    return _reductions.std(x, axis, ddof=correction, keepdims=keepdims)  # type: ignore[arg-type]


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements are not zero."""
    return _reductions.all(x, axis, keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether an element is not zero."""
    return _reductions.any(x, axis, keepdims)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements are not zero."""
    return _reductions.count_nonzero(x, axis, keepdims=keepdims)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """The differences between neighbours along an axis, ``n`` times."""
    return _shape.diff(x, n, axis, prepend, append)


def _one_axis(x: Any, axis: Any, who: str) -> int:
    if axis is None and x.ndim != 1:
        raise MXNetValueError(
            f"[array_api.{who}] axis is None for an array of shape {x.shape}; expected an axis."
        )
    return 0 if axis is None else axis


def _with_initial(x: Any, result: Any, axis: int, number: int, include: bool) -> Any:
    if not include:
        return result
    shape = tuple(1 if i == axis % x.ndim else n for i, n in enumerate(x.shape))
    return _shape.concatenate([filled(shape, number, like=result, dtype=result.dtype), result], axis)


def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """The sums of the elements up to each one."""
    x = _accumulated(x, dtype, "cumulative_sum")
    axis = _one_axis(x, axis, "cumulative_sum")
    return _with_initial(x, F._np_cumsum(x, axis=axis), axis, 0, include_initial)


def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """The products of the elements up to each one, in as many steps as the binary logarithm of their count."""
    x = _accumulated(x, dtype, "cumulative_prod")
    axis = _one_axis(x, axis, "cumulative_prod")
    head, size, result, step = (slice(None),) * (axis % x.ndim), x.shape[axis], x, 1
    while step < size:
        low, high = result[(*head, slice(None, -step))], result[(*head, slice(step, None))]
        result = _shape.concatenate([result[(*head, slice(None, step))], low * high], axis)
        step *= 2
    return _with_initial(x, result if result is not x else x.copy(), axis, 1, include_initial)


FUNCTIONS: dict[str, Any] = {
    name: value
    for name, value in list(globals().items())
    if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == __name__
}
