# SPDX-License-Identifier: Apache-2.0
"""Sums, means, extrema and what else makes one number of many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp

from ..base import MXNetValueError, ShapeError
from . import _elementwise as e
from ._base import (
    F,
    asarray,
    axes_of,
    axis_of,
    cast,
    default_float,
    floating,
    into,
    name_of_type,
)

FUNCTIONS: dict[str, Any] = {}
add, subtract, multiply = e.FUNCTIONS["add"], e.FUNCTIONS["subtract"], e.FUNCTIONS["multiply"]
divide = e.FUNCTIONS["true_divide"]


def _axis(axis: Any, x: Any, who: str) -> Any:
    if axis is None:
        return axis
    return axes_of(axis, x.ndim, who)


def _reduce(operator: str, who: str, x: Any, axis: Any, keepdims: Any) -> Any:
    axis = _axis(axis, x, who)
    if isinstance(axis, tuple) and not axis:  # NumPy's (): of no axis
        return F.identity(x)
    if x.size == 0 and operator in ("max", "min"):
        if axis is None or 0 in [x.shape[i] for i in axis]:
            raise ShapeError(f"[{who}] an array of shape {x.shape} has no element; expected one at least.")
        operator = "sum"  # of no numbers, for there is no place in the other axes
    return getattr(F, operator)(x, axis=axis, keepdims=bool(keepdims))


def _summed(name: str, of_nothing: float) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        x = asarray(a, dtype=dtype, who=f"np.{name}")
        if where is not True:
            from ._shape import where as choose

            x = choose(where, x, of_nothing)
        if name_of_type(x) == "bool":
            x = cast(x, "int64")
        result = _reduce(name, f"np.{name}", x, axis, keepdims)
        if initial is not None:
            result = (add if name == "sum" else multiply)(result, initial)
        return into(out, result, f"np.{name}")

    return function


_sum, _prod, _nansum, _nanprod = (
    _summed("sum", 0),
    _summed("prod", 1),
    _summed("nansum", 0),
    _summed("nanprod", 1),
)


def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    out: Any = None,
    where: Any = True,
) -> Any:
    """The sum of the elements, or the sums over axes."""
    return _sum(a, axis, dtype, out, keepdims, initial, where)


def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """The product of the elements, or the products over axes."""
    return _prod(a, axis, dtype, out, keepdims, initial, where)


def nansum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The sum of the elements that are numbers."""
    return _nansum(a, axis, dtype, out, keepdims)


def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """The product of the elements that are numbers."""
    return _nanprod(a, axis, dtype, out, keepdims, initial, where)


def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The mean of the elements; of integers in the default floating type."""
    x = floating(asarray(a, dtype=dtype, who="np.mean"))
    return into(out, _reduce("mean", "np.mean", x, axis, keepdims), "np.mean")


def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False
) -> Any:
    """The variance: the mean square distance from the mean."""
    x = floating(asarray(a, dtype=dtype, who="np.var"))
    middle = _reduce("mean", "np.var", x, axis, True)
    squares = F.square(F.broadcast_sub(x, middle))
    result = _reduce("mean", "np.var", squares, axis, keepdims)
    if ddof:
        count = x.size / _max_count(middle)
        result = F._mul_scalar(result, scalar=count / (count - ddof) if count != ddof else onp.nan)
    return into(out, result, "np.var")


def _max_count(kept: Any) -> int:
    return 1 if kept.size == 0 else kept.size


def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False
) -> Any:
    """The standard deviation: the root of the variance."""
    return into(out, F.sqrt(var(a, axis, dtype, None, ddof, keepdims)), "np.std")


def _extremum(name: str) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Any = None,
        keepdims: bool = False,
        out: Any = None,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        x = asarray(a, who=f"np.{name}")
        if where is not True:
            from ._shape import where as choose

            if initial is None:
                raise MXNetValueError(f"[np.{name}] where needs initial: what the rest counts as.")
            x = choose(where, x, initial)
        result = _reduce(name, f"np.{name}", x, axis, keepdims)
        if initial is not None:
            result = e.FUNCTIONS["maximum" if name == "max" else "minimum"](result, initial)
        return into(out, result, f"np.{name}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {name}imum of the elements, or the {name}ima along axes."
    return function


max = amax = _extremum("max")
min = amin = _extremum("min")


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """The difference between maximum and minimum."""
    return into(out, subtract(max(a, axis, keepdims), min(a, axis, keepdims)), "np.ptp")


def _nan_extremum(name: str) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        from ._shape import where as choose

        x = floating(asarray(a, who=f"np.nan{name}"))
        bound = -onp.inf if name == "max" else onp.inf
        result = globals()[name](choose(e.isnan(x), bound, x), axis, keepdims, None, initial, where)
        result = choose(all(e.isnan(x), axis, keepdims), onp.nan, result)
        return into(out, result, f"np.nan{name}")

    function.__name__ = function.__qualname__ = f"nan{name}"
    function.__doc__ = f"The {name}imum of the elements that are numbers."
    return function


nanmax, nanmin = _nan_extremum("max"), _nan_extremum("min")


def all(a: Any, axis: Any = None, keepdims: bool = False, out: Any = None) -> Any:
    """Whether all elements are not zero."""
    return into(out, _truth("min", a, axis, keepdims, 1), "np.all")


def any(a: Any, axis: Any = None, keepdims: bool = False, out: Any = None) -> Any:
    """Whether an element is not zero."""
    return into(out, _truth("max", a, axis, keepdims, 0), "np.any")


def _truth(operator: str, a: Any, axis: Any, keepdims: bool, of_nothing: int) -> Any:
    x = asarray(a, who="np.any" if operator == "max" else "np.all")
    truth = F.Cast(F._not_equal_scalar(x, scalar=0), dtype="uint8")
    if x.size == 0:
        truth = F.sum(truth, axis=_axis(axis, x, "np.any"), keepdims=bool(keepdims)) + of_nothing
        return F.Cast(truth, dtype="bool")
    return F.Cast(_reduce(operator, "np.any", truth, axis, keepdims), dtype="bool")


def _position(operator: str) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        x = asarray(a, who=f"np.{operator}")
        if x.size == 0 and (axis is None or x.shape[axis] == 0):
            raise MXNetValueError(f"[np.{operator}] the array of shape {x.shape} has no element.")
        if axis is not None:
            axis = axis_of(axis, x.ndim, f"np.{operator}")
        if name_of_type(x) == "bool":
            x = cast(x, "uint8")
        operation = "sum" if x.size == 0 else operator  # no place, no position
        result = F.Cast(getattr(F, operation)(x, axis=axis, keepdims=bool(keepdims)), dtype="int64")
        if axis is None and not keepdims:
            result = result._reshape_plain(())
        return into(out, result, f"np.{operator}")

    function.__name__ = function.__qualname__ = operator
    function.__doc__ = f"The position of the first {operator[3:]}imum, as int64."
    return function


argmax, argmin = _position("argmax"), _position("argmin")


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """The sums of the elements up to each one; of the flat array where no axis is given."""
    x = asarray(a, dtype=dtype, who="np.cumsum")
    if name_of_type(x) == "bool":
        x = cast(x, default_float())
    if axis is None:
        return into(out, F._np_cumsum(F._np_reshape(x, newshape=(-1,)), axis=0), "np.cumsum")
    return into(out, F._np_cumsum(x, axis=axis), "np.cumsum")


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """The same, where NaN counts as 0."""
    from ._shape import where

    x = asarray(a, who="np.nancumsum")
    return cumsum(where(e.isnan(x), 0, x), axis, dtype, out)


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, out: Any = None) -> Any:
    """The mean, or the mean weighted by an array of ``a``'s shape or of the axis' length."""
    x = floating(asarray(a, who="np.average"))
    if weights is None:
        result = mean(x, axis)
        total = F._full(
            shape=result.shape, dtype=name_of_type(result), value=float(x.size) / _max_count(result)
        )
    else:
        weights = asarray(weights, like=x, who="np.average")
        if weights.shape != x.shape:
            if weights.ndim != 1 or not isinstance(axis, int) or weights.shape[0] != x.shape[axis]:
                raise MXNetValueError(
                    f"[np.average] weights have shape {weights.shape}; expected {x.shape}, or the length of one axis."
                )
            place = [1] * x.ndim
            place[axis] = -1
            weights = weights.reshape(tuple(place))
        weights = e.FUNCTIONS["multiply"](weights, F.ones_like(x))
        total = sum(weights, axis)
        result = divide(sum(multiply(x, weights), axis), total)
    result = into(out, result, "np.average")
    return (result, total) if returned else result


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many elements are not zero."""
    x = asarray(a, who="np.count_nonzero")
    return sum(F.Cast(F._not_equal_scalar(x, scalar=0), dtype="int64"), axis, keepdims=keepdims)


def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The mean of the elements that are numbers."""
    x = floating(asarray(a, dtype=dtype, who="np.nanmean"))
    count = sum(F.broadcast_equal(x, x), axis, keepdims=keepdims)
    return into(out, divide(nansum(x, axis, None, None, keepdims), count), "np.nanmean")


def trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """The integral by the trapezoidal rule."""
    y = floating(asarray(y))
    y = F.swapaxes(y, dim1=axis_of(axis, y.ndim, "np.trapz"), dim2=y.ndim - 1)
    width = dx if x is None else (lambda p: p[..., 1:] - p[..., :-1])(asarray(x))
    return sum((y[..., 1:] + y[..., :-1]) * width, axis=-1) / 2.0


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = None,
    interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:
    """The values below which the shares ``q`` of the elements lie."""
    x = floating(asarray(a, who="np.quantile"))
    axes = axes_of(axis, x.ndim, "np.quantile")
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    flat = F.transpose(x, axes=rest + axes)._reshape_plain((*(x.shape[i] for i in rest), -1))
    flat = F.sort(flat, axis=-1)
    shares = onp.asarray(q.asnumpy() if hasattr(q, "asnumpy") else q, dtype="float64")
    if ((shares < 0) | (shares > 1)).any():
        raise MXNetValueError("[np.quantile] q must be from 0 to 1 (of percentile: to 100).")
    place = shares * (flat.shape[-1] - 1)
    low, high = onp.floor(place).astype("int64"), onp.ceil(place).astype("int64")
    weight = {
        "linear": place - low,
        "lower": onp.zeros_like(place),
        "higher": onp.ones_like(place),
        "midpoint": onp.full_like(place, 0.5),
        "nearest": onp.rint(place) - low,
    }.get(interpolation)
    if weight is None:
        raise MXNetValueError(
            f"[np.quantile] interpolation is {interpolation!r}; expected linear, lower, higher, midpoint or nearest."
        )
    below, above = flat[..., low], flat[..., high]
    result = below + (above - below) * asarray(weight, dtype=x.dtype)
    for _ in range(shares.ndim):  # the shares' axes come first
        result = F.transpose(result, axes=(result.ndim - 1, *range(result.ndim - 1)))
    if keepdims:
        kept = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        result = result._reshape_plain(shares.shape + kept)
    return into(out, result, "np.quantile")


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = None,
    interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:
    """The values below which the percentages ``q`` of the elements lie."""
    shares = onp.asarray(q.asnumpy() if hasattr(q, "asnumpy") else q, dtype="float64") / 100
    return quantile(a, shares, axis, out, overwrite_input, interpolation, keepdims)


def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """The median: the middle of the sorted elements."""
    return quantile(a, 0.5, axis, out, overwrite_input, "linear", keepdims)


FUNCTIONS.update(
    {
        name: value
        for name, value in globals().items()
        if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == __name__
    }
)
FUNCTIONS.update(amax=max, amin=min, product=prod, sometrue=any, alltrue=all)
