# SPDX-License-Identifier: Apache-2.0
"""Element types, and questions about them."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as onp

from ..base import MXNetTypeError, MXNetValueError
from ..numpy import _base, _shape
from ..numpy._base import is_array
from ..numpy.multiarray import ndarray

DTYPES: dict[str, Any] = {
    name: onp.dtype(name) for name in ("bool", "int8", "int32", "int64", "uint8", "float32", "float64")
}
KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int32", "int64"),
    "unsigned integer": ("uint8",),
    "integral": ("int8", "int32", "int64", "uint8"),
    "real floating": ("float32", "float64"),
    "complex floating": (),
    "numeric": ("int8", "int32", "int64", "uint8", "float32", "float64"),
}
DEFAULTS = {"bool": "bool", "integral": "int64", "real floating": "float32"}


def of_kind(dtype: Any, kind: str) -> bool:
    return onp.dtype(dtype).name in KINDS[kind]


def array_of(x: Any, who: str) -> Any:
    """The argument, if it is an array."""
    if not is_array(x):
        raise MXNetTypeError(
            f"[array_api.{who}] an argument is of type {type(x).__name__}; expected an array."
        )
    return x if isinstance(x, ndarray) else x.as_np_ndarray()


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether an element type is another one, or of a kind such as "integral", or one of a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, item) for item in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise MXNetValueError(
                f"[array_api.isdtype] kind is {kind!r}; expected one of {', '.join(KINDS)}."
            )
        return of_kind(dtype, kind)
    return onp.dtype(dtype) == onp.dtype(kind)


def _promoted(a: Any, b: Any) -> Any:
    """The type of a result of two: those of one kind have one; of two kinds, the standard leaves it open."""
    return onp.dtype(_base.promoted(onp.dtype(a).name, onp.dtype(b).name))


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The type of a result of arrays, types and numbers together."""
    numbers = [x for x in arrays_and_dtypes if isinstance(x, (bool, int, float)) and not isinstance(x, type)]
    types = [
        x.dtype if is_array(x) else onp.dtype(x)
        for x in arrays_and_dtypes
        if not any(x is n for n in numbers)
    ]
    if not types:
        raise MXNetValueError("[array_api.result_type] got numbers alone; expected an array or a type.")
    found = functools.reduce(_promoted, types)
    for number in numbers:
        found = onp.dtype(_base.with_number(found.name, number))
    return found


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether values of one type, or of an array, are values of another by the rules of promotion."""
    return bool(onp.can_cast(_type_of(from_), onp.dtype(to)))


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The elements converted to another type."""
    x = array_of(x, "astype")
    if device is not None:
        x = x.to_device(device)
    return x.copy() if copy and x.dtype == onp.dtype(dtype) else _base.cast(x, dtype)


@dataclasses.dataclass(frozen=True)
class _FloatInfo:
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


@dataclasses.dataclass(frozen=True)
class _IntegerInfo:
    bits: int
    max: int
    min: int
    dtype: Any


def _type_of(type: Any) -> Any:
    return type.dtype if is_array(type) else onp.dtype(type)


def finfo(type: Any, /) -> Any:
    """Limits of a floating type."""
    info = onp.finfo(_type_of(type))
    eps, most, least, normal = (float(x) for x in (info.eps, info.max, info.min, info.smallest_normal))
    return _FloatInfo(int(info.bits), eps, most, least, normal, onp.dtype(info.dtype))


def iinfo(type: Any, /) -> Any:
    """Limits of a type of integers."""
    info = onp.iinfo(_type_of(type))
    return _IntegerInfo(int(info.bits), int(info.max), int(info.min), onp.dtype(info.dtype))


FUNCTIONS: dict[str, Any] = {
    "astype": astype,
    "broadcast_arrays": _shape.broadcast_arrays,
    "can_cast": can_cast,
    "finfo": finfo,
    "iinfo": iinfo,
    "isdtype": isdtype,
    "result_type": result_type,
}


def broadcast_to(x: Any, /, shape: Any) -> Any:
    """The array repeated along axes of size 1, and new leading ones."""
    return _shape.broadcast_to(x, shape)


FUNCTIONS["broadcast_to"] = broadcast_to
