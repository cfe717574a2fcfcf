# SPDX-License-Identifier: Apache-2.0
"""Sorting, searching, sets, counting and comparing whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as onp

from ..base import MXNetValueError
from . import _elementwise as e
from . import _reductions as r
from ._base import (
    F,
    asarray,
    axis_of,
    floating,
    is_array,
    name_of_type,
    naming_errors,
    pair,
)
from ._shape import concatenate, ravel, where

less_equal, equal = e.FUNCTIONS["less_equal"], e.FUNCTIONS["equal"]


def _back(values: Any, like: Any) -> Any:
    """Results that NumPy computed, as arrays."""
    return asarray(onp.asarray(values), like=like)


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    """The elements in ascending order along an axis; of the flat array for None."""
    a = asarray(a, who="np.sort")
    if order is not None:
        raise MXNetValueError("[np.sort] order is for structured arrays, which do not exist here.")
    if axis is None:
        a, axis = ravel(a), 0
    return F.sort(a, axis=axis)


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    """The positions that would sort the array along an axis, as int64."""
    a = asarray(a, who="np.argsort")
    if order is not None:
        raise MXNetValueError("[np.argsort] order is for structured arrays, which do not exist here.")
    if axis is None:
        a, axis = ravel(a), 0
    return F.argsort(a, axis=axis, dtype="int64")


def msort(a: Any) -> Any:
    """The elements in ascending order along the first axis."""
    return sort(a, 0)


def nonzero(a: Any) -> tuple[Any, ...]:
    """The positions of the elements that are not zero: an array for each axis. Waits for the values."""
    a = asarray(a, who="np.nonzero")
    return tuple(_back(x, a) for x in onp.nonzero(a.asnumpy()))


def argwhere(a: Any) -> Any:
    """The positions of the elements that are not zero, one a row."""
    a = asarray(a)
    return _back(onp.argwhere(a.asnumpy()), a)


def flatnonzero(a: Any) -> Any:
    """The positions in the flat array of the elements that are not zero."""
    a = asarray(a)
    return _back(onp.flatnonzero(a.asnumpy()), a)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where elements would have to be put into a sorted array."""
    a = asarray(a)
    sorter = sorter.asnumpy() if is_array(sorter) else sorter
    search: Any = onp.searchsorted
    return _back(search(a.asnumpy(), asarray(v).asnumpy(), side, sorter), a)


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Into which bin each element falls."""
    x = asarray(x)
    return _back(onp.digitize(x.asnumpy(), asarray(bins).asnumpy(), right), x)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
) -> Any:
    """The elements, sorted, each once; and where they were, and how many. Waits for the values."""
    ar = asarray(ar, who="np.unique")
    among: Any = onp.unique
    found = among(ar.asnumpy(), return_index, return_inverse, return_counts, axis)
    if not isinstance(found, tuple):
        return _back(found, ar)
    parts = [_back(x, ar) for x in found]
    if return_inverse:
        place = 1 + return_index
        parts[place] = ravel(parts[place])
    return tuple(parts)


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number from 0 on occurs."""
    x = asarray(x, who="np.bincount")
    weights = None if weights is None else asarray(weights)
    counts = onp.bincount(x.asnumpy().astype("int64"), weights and weights.asnumpy(), minlength)
    return _back(counts.astype(x.dtype if weights is None else weights.dtype), x)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, normed: Any = None, weights: Any = None, density: Any = None
) -> Any:
    """How many elements fall into each bin, and the bins' edges."""
    a = asarray(a, who="np.histogram")
    bins = bins.asnumpy() if is_array(bins) else bins
    weights = weights.asnumpy() if is_array(weights) else weights
    with naming_errors("np.histogram"):
        counts, edges = onp.histogram(
            a.asnumpy(), bins, range, weights=weights, density=bool(density or normed)
        )
    return _back(counts, a), _back(
        edges.astype("float32" if name_of_type(a) == "float32" else edges.dtype), a
    )


def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Where elements are equal within a tolerance."""
    a, b = pair(asarray(a), b, "np.isclose")
    a, b = floating(a), floating(b)
    near = less_equal(F.abs(F.broadcast_sub(a, b)), rtol * F.abs(b) + atol)
    finite = e.FUNCTIONS["logical_and"](e.isfinite(a), e.isfinite(b))
    result = e.FUNCTIONS["logical_or"](e.FUNCTIONS["logical_and"](near, finite), equal(a, b))
    if equal_nan:
        result = e.FUNCTIONS["logical_or"](result, e.FUNCTIONS["logical_and"](e.isnan(a), e.isnan(b)))
    return result


def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are equal within a tolerance."""
    return bool(r.all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have one shape and the same elements."""
    a1, a2 = asarray(a1), asarray(a2)
    if a1.shape != a2.shape:
        return False
    same = equal(a1, a2)
    if equal_nan:
        same = e.FUNCTIONS["logical_or"](same, e.FUNCTIONS["logical_and"](e.isnan(a1), e.isnan(a2)))
    return bool(r.all(same))


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays are equal after they are broadcast."""
    a1, a2 = asarray(a1), asarray(a2)
    try:
        onp.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return False
    return bool(r.all(equal(a1, a2)))


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """The piecewise linear function through points, at ``x``. Its gradients are to x and fp."""
    x, xp, fp = floating(asarray(x)), floating(asarray(xp)), floating(asarray(fp))
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise MXNetValueError(
            f"[np.interp] xp has shape {xp.shape} and fp {fp.shape}; expected one axis each, of the same size above 0."
        )
    if period is not None:
        x, xp = e.FUNCTIONS["mod"](x, period), e.FUNCTIONS["mod"](xp, period)
        order = argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = concatenate([fp[-1:], fp, fp[:1]])
    count = xp.shape[0]
    if count == 1:
        inside = fp[0] + x * 0
    else:
        at = onp.clip(onp.searchsorted(xp.asnumpy(), x.asnumpy(), "right") - 1, 0, count - 2)
        low, high = _back(at, x), _back(at + 1, x)
        share = (x - xp[low]) / (xp[high] - xp[low])
        inside = fp[low] + (fp[high] - fp[low]) * e.clip(share, 0, 1)
    result = where(x < xp[0], fp[0] if left is None else left, inside)
    return where(x > xp[-1], fp[-1] if right is None else right, result)


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 6.283185307179586) -> Any:
    """Angles without jumps: each moved by whole periods to be near the one before."""
    p = floating(asarray(p))
    axis = axis_of(axis, p.ndim, "np.unwrap")
    head = (slice(None),) * axis
    step = p[(*head, slice(1, None))] - p[(*head, slice(None, -1))]
    half = period / 2
    turned = e.FUNCTIONS["mod"](step + half, period) - half
    at_edge = e.FUNCTIONS["logical_and"](equal(turned, -half), step > 0)
    turned = where(at_edge, half, turned)
    limit = half if discont is None else max(discont, half)
    fix = where(F.abs(step) < limit, 0.0, turned - step)
    return concatenate(
        [p[(*head, slice(0, 1))], p[(*head, slice(1, None))] + F._np_cumsum(fix, axis=axis)], axis
    )


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Positions in an array, of positions in the flat one."""
    indices = asarray(indices)
    unravel: Any = onp.unravel_index
    with naming_errors("np.unravel_index"):
        found = unravel(indices.asnumpy().astype("int64"), shape, order)
    return tuple(_back(x, indices) for x in found)


def ndim(a: Any) -> int:
    """The number of axes."""
    return asarray(a).ndim


def shape(a: Any) -> tuple[int, ...]:
    """The sizes of the axes."""
    return asarray(a).shape


def size(a: Any, axis: Any = None) -> int:
    """The number of elements, or of those along an axis."""
    a = asarray(a)
    return a.size if axis is None else a.shape[axis]


def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether two arrays have elements in common."""
    return is_array(a) and is_array(b) and a._shares_memory(b)


may_share_memory = shares_memory


def real(val: Any) -> Any:
    """The array: there are no complex ones."""
    return asarray(val)


FUNCTIONS: dict[str, Any] = {
    name: value
    for name, value in list(globals().items())
    if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == __name__
}
