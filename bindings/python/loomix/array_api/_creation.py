# SPDX-License-Identifier: Apache-2.0
"""Functions that make arrays."""

from __future__ import annotations

from typing import Any

import numpy as onp

from ..base import MXNetValueError
from ..ndarray import from_dlpack as _from_dlpack
from ..numpy import _creation, _shape
from ..numpy._base import context_of, is_array, type_name
from ..numpy.multiarray import array as _array
from ._types import DEFAULTS, array_of


def _default(dtype: Any, kind: str = "real floating") -> str:
    return DEFAULTS[kind] if dtype is None else type_name(dtype)


def _kind_of(value: Any) -> str:
    """Of Python's numbers in lists, the kind that holds them all."""
    kind = onp.asarray(value).dtype.kind if not isinstance(value, (bool, int, float)) else ""
    if isinstance(value, bool) or kind == "b":
        return "bool"
    return "integral" if isinstance(value, int) or kind in ("i", "u") else "real floating"


def _plain(value: Any) -> Any:
    """Lists with NumPy's arrays in place of ours."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.asnumpy() if is_array(value) else value


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    """An array of numbers, lists, or what has a buffer or DLPack."""
    if is_array(obj):
        x = array_of(obj, "asarray")
        same = (dtype is None or x.dtype == onp.dtype(dtype)) and (
            device is None or x.context == context_of(device)
        )
        if copy is False and not same:
            raise MXNetValueError(
                "[array_api.asarray] copy=False, but the type or the device is another; expected copy=None."
            )
        return x if same and not copy else _array(x, dtype=dtype, ctx=device)
    if copy is False:
        raise MXNetValueError(
            f"[array_api.asarray] copy=False, but what is of type {type(obj).__name__} is copied; use from_dlpack."
        )
    obj = _plain(obj)
    if dtype is None and isinstance(obj, (bool, int, float, list)) and not hasattr(obj, "dtype"):
        dtype = _default(None, _kind_of(obj))
    return _array(onp.asarray(obj, dtype=dtype), ctx=device)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array over the memory of another library's one."""
    if copy is not True and is_array(x) and (device is None or x.context == context_of(device)):
        return x.as_np_ndarray().detach()
    result = _from_dlpack(x).as_np_ndarray()
    if device is None or result.context == context_of(device):
        return result.copy() if copy else result
    if copy is False:
        raise MXNetValueError("[array_api.from_dlpack] copy=False, but the array is on another device.")
    return result.to_device(device)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Any:
    """The numbers from ``start`` below ``stop``."""
    if stop is None:
        start, stop = 0, start
    whole = all(isinstance(x, int) for x in (start, stop, step))
    kind = _default(dtype, "integral" if whole else "real floating")
    return _array(onp.arange(start, stop, step, dtype=kind), ctx=device)


def linspace(
    start: float, stop: float, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> Any:
    """``num`` numbers at equal distances from ``start`` to ``stop``."""
    return _array(onp.linspace(start, stop, num, endpoint=endpoint, dtype=_default(dtype)), ctx=device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A new array of one value."""
    kind = _default(dtype, _kind_of(fill_value))
    if isinstance(fill_value, int) and abs(fill_value) > 2**53:  # the operator takes a float
        return _array(onp.full(shape, fill_value, dtype=kind), ctx=device)
    return _creation.full(shape, fill_value, dtype=kind, ctx=device)


def _filled(number: int) -> Any:
    def function(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
        return _creation.full(shape, number, dtype=_default(dtype), ctx=device)

    return function


zeros, ones = _filled(0), _filled(1)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A new array whose elements are not set."""
    return _creation.empty(shape, dtype=_default(dtype), ctx=device)


def _like(make: Any) -> Any:
    def function(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
        return make(
            x.shape,
            dtype=x.dtype if dtype is None else dtype,
            device=x.context if device is None else device,
        )

    return function


zeros_like, ones_like, empty_like = _like(zeros), _like(ones), _like(empty)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """An array of one value, of the shape and type of another."""
    return full(
        x.shape,
        fill_value,
        dtype=x.dtype if dtype is None else dtype,
        device=x.context if device is None else device,
    )


def eye(n_rows: int, n_cols: Any = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Any:
    """A matrix with ones on the diagonal ``k``, and zeros elsewhere."""
    return _array(onp.eye(n_rows, n_cols, k, dtype=_default(dtype)), ctx=device)


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Any]:
    """Coordinates on a grid, of the coordinates along each axis."""
    return list(_shape.meshgrid(*arrays, indexing=indexing))


def tril(x: Any, /, *, k: int = 0) -> Any:
    """The matrices with zeros above a diagonal."""
    return _shape.tril(x, k)


def triu(x: Any, /, *, k: int = 0) -> Any:
    """The matrices with zeros below a diagonal."""
    return _shape.triu(x, k)


FUNCTIONS: dict[str, Any] = {
    name: globals()[name]
    for name in (
        "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu "
        "zeros zeros_like"
    ).split()
}
for _name in ("zeros", "ones", "zeros_like", "ones_like", "empty_like"):
    FUNCTIONS[_name].__name__ = FUNCTIONS[_name].__qualname__ = _name
    FUNCTIONS[_name].__doc__ = f"A new array, as of ``numpy.{_name}``."
