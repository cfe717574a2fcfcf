# SPDX-License-Identifier: Apache-2.0
"""Functions that make arrays."""

from __future__ import annotations

from typing import Any

import numpy as onp

from ..base import MXNetValueError
from ..util import is_np_default_dtype
from ._base import (
    F,
    asarray,
    cast,
    context_of,
    default_float,
    default_integer,
    is_array,
    naming_errors,
    row_major,
    shape_of,
    type_name,
)


class _DefaultType:
    """Stands where MXNet's signatures have float32 or int32, so that a caller's own float32 is told from none."""

    def __repr__(self) -> str:
        return "<default>"


_DEFAULT: Any = _DefaultType()


def _type(dtype: Any) -> str:
    return default_float() if dtype is None or dtype is _DEFAULT else type_name(dtype)


def zeros(shape: Any, dtype: Any = None, order: str = "C", ctx: Any = None) -> Any:
    """A new array of zeros; of the default type, float32, unless one is given."""
    row_major(order, "np.zeros")
    return F._zeros(shape=shape_of(shape), ctx=context_of(ctx), dtype=_type(dtype))


def ones(shape: Any, dtype: Any = _DEFAULT, order: str = "C", ctx: Any = None) -> Any:
    """A new array of ones."""
    row_major(order, "np.ones")
    return F._ones(shape=shape_of(shape), ctx=context_of(ctx), dtype=_type(dtype))


def empty(shape: Any, dtype: Any = _DEFAULT, order: str = "C", ctx: Any = None) -> Any:
    """A new array whose elements are not set."""
    from .. import _core
    from .multiarray import ndarray

    row_major(order, "np.empty")
    kind = _type(dtype)
    return ndarray(_core.empty(shape_of(shape), context_of(ctx), kind))


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None
) -> Any:
    """A new array of one value; of float32, or bool for a truth value, unless a type is given."""
    row_major(order, "np.full")
    if is_array(fill_value):
        value = cast(fill_value, fill_value.dtype if dtype is None else dtype).broadcast_to(shape_of(shape))
        return F.identity(value, out=out)
    if dtype is None and isinstance(fill_value, (bool, onp.bool_)):
        dtype = "bool"
    return F._full(
        shape=shape_of(shape), ctx=context_of(ctx), dtype=_type(dtype), value=float(fill_value), out=out
    )


def _like(name: str, number: Any) -> Any:
    def function(a: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None) -> Any:
        a = asarray(a, who=f"np.{name}")
        return full_like(a, number, dtype, order, ctx, out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"An array of {name.split('_')[0]}, of the shape and type of ``a``."
    return function


zeros_like, ones_like = _like("zeros_like", 0), _like("ones_like", 1)


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None
) -> Any:
    """An array of one value, of the shape and type of ``a``."""
    row_major(order, "np.full_like")
    a = asarray(a, who="np.full_like")
    return full(
        a.shape, fill_value, a.dtype if dtype is None else dtype, "C", a.context if ctx is None else ctx, out
    )


def empty_like(
    prototype: Any, dtype: Any = None, order: str = "C", subok: bool = False, shape: Any = None
) -> Any:
    """An array whose elements are not set, of the shape and type of another."""
    row_major(order, "np.empty_like")
    prototype = asarray(prototype)
    return empty(
        prototype.shape if shape is None else shape,
        prototype.dtype if dtype is None else dtype,
        ctx=prototype.context,
    )


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, ctx: Any = None) -> Any:
    """The numbers from ``start`` below ``stop``; of float32 unless a type is given.

    Under ``util.np_default_dtype`` they are of int64 or float64, as official NumPy's."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise MXNetValueError("[np.arange] step is 0; expected another number.")
    if dtype is None and is_np_default_dtype():
        dtype = onp.result_type(onp.int64, *(type(x) for x in (start, stop, step)))
    return F._arange(start=start, stop=stop, step=step, ctx=context_of(ctx), dtype=_type(dtype))


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    ctx: Any = None,
) -> Any:
    """``num`` numbers at equal distances from ``start`` to ``stop``."""
    if (
        is_array(start)
        or is_array(stop)
        or not isinstance(start, (int, float))
        or not isinstance(stop, (int, float))
    ):
        a, b = asarray(start, dtype=_type(dtype)), asarray(stop, dtype=_type(dtype))
        share = linspace(0, 1, num, endpoint, dtype=_type(dtype), ctx=a.context)
        share = share._reshape_plain((-1,) + (1,) * max(a.ndim, b.ndim))
        result = a + (b - a) * share
        from ._shape import moveaxis

        result = moveaxis(result, 0, axis)
    else:
        with naming_errors("np.linspace"):
            values = onp.linspace(start, stop, num, endpoint, dtype="float64")
        result = asarray(values.astype(_type(dtype)) if _type(dtype) != "bfloat16" else values)
        result = cast(result, _type(dtype)).as_in_context(context_of(ctx))
    if not retstep:
        return result
    count = num - 1 if endpoint else num
    return result, ((stop - start) / count if count else float("nan"))


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: Any = None,
    axis: int = 0,
    ctx: Any = None,
) -> Any:
    """``num`` numbers from ``base ** start`` to ``base ** stop``, each a multiple of the one before."""
    exponents = linspace(start, stop, num, endpoint, axis=axis, ctx=ctx, dtype="float64")
    return cast(float(base) ** exponents, _type(dtype))


def eye(N: int, M: Any = None, k: int = 0, dtype: Any = _DEFAULT, **kwargs: Any) -> Any:
    """A matrix with ones on the diagonal ``k``, and zeros elsewhere."""
    ctx = kwargs.pop("ctx", None)
    row_major(kwargs.pop("order", "C"), "np.eye")
    if kwargs:
        raise MXNetValueError(f"[np.eye] there is no argument {next(iter(kwargs))!r}; expected ctx or order.")
    M = N if M is None else M
    kind = _type(dtype)
    if N == 0 or M == 0:
        return zeros((N, M), kind, ctx=ctx)
    # The operator takes the types that MXNet's has.
    made = {"bool": "uint8", "bfloat16": "float32"}.get(kind, kind)
    return cast(F._eye(N=N, M=M, k=k, ctx=context_of(ctx), dtype=made), kind)


def identity(n: int, dtype: Any = None, ctx: Any = None) -> Any:
    """A square matrix with ones on the diagonal."""
    return eye(n, dtype=_type(dtype), ctx=ctx)


def indices(dimensions: Any, dtype: Any = _DEFAULT, ctx: Any = None) -> Any:
    """The positions of the elements of an array: one array for each axis, stacked."""
    kind = default_integer() if dtype is _DEFAULT else type_name(dtype)
    return asarray(onp.indices(dimensions).astype(kind)).as_in_context(context_of(ctx))


def _window(name: str) -> Any:
    def function(M: int, dtype: Any = _DEFAULT, ctx: Any = None) -> Any:
        return asarray(getattr(onp, name)(M).astype(_type(dtype))).as_in_context(context_of(ctx))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {name.capitalize()} window."
    return function


blackman, hamming, hanning = _window("blackman"), _window("hamming"), _window("hanning")


def copy(a: Any, out: Any = None) -> Any:
    """A copy."""
    return F.identity(asarray(a, who="np.copy"), out=out)


def tri(N: int, M: Any = None, k: int = 0, dtype: Any = _DEFAULT, ctx: Any = None) -> Any:
    """A matrix with ones on and below the diagonal ``k``, and zeros above."""
    return asarray(onp.tri(N, M, k).astype(_type(dtype))).as_in_context(context_of(ctx))


FUNCTIONS: dict[str, Any] = {
    name: globals()[name]
    for name in (
        "zeros ones empty full zeros_like ones_like full_like empty_like arange linspace logspace eye identity indices "
        "blackman hamming hanning copy tri"
    ).split()
}
