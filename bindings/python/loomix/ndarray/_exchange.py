# SPDX-License-Identifier: Apache-2.0
"""NDArrays beside NumPy arrays: as operands, and in NumPy's functions; and the matrix product with NumPy's rules."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..base import MXNetTypeError, MXNetValueError, ShapeError
from . import op

if TYPE_CHECKING:
    from .ndarray import NDArray

NUMPY_WRITES = (np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis)


def as_numpy(value: Any) -> Any:
    """The same with NumPy arrays in place of NDArrays, in lists, tuples and dicts, too."""
    if isinstance(value, _core.NDArrayBase):
        return value.asnumpy()
    if isinstance(value, (list, tuple)):
        return type(value)(map(as_numpy, value)) if type(value) in (list, tuple) else value
    if isinstance(value, dict):
        return {key: as_numpy(item) for key, item in value.items()}
    return value


def elements_of(values: Any, dtype: Any) -> np.ndarray:
    """``values`` as a NumPy array with the element type of an NDArray; numbers are rounded to bfloat16.

    An array of bfloat16's own type, as :meth:`NDArray.asnumpy` gives it, keeps its bits.
    """
    if _core.numpy_dtype(dtype).names is None:
        return np.asarray(values, dtype=dtype)
    from ..context import cpu
    from .ndarray import array

    found = np.asarray(values)
    return found if found.dtype.names else array(found, cpu(), dtype).asnumpy()


def numpy_operand(values: Any, other: NDArray) -> NDArray:
    """A NumPy array that came together with an NDArray, in the NDArray's type and on its device."""
    kind = _core.numpy_dtype(other.dtype)
    if kind.names is None and not np.can_cast(values.dtype, kind, "same_kind"):
        raise MXNetTypeError(
            f"[NDArray] an array of {kind.name} came together with a numpy.ndarray of {values.dtype.name}, whose "
            f"values {kind.name} cannot hold; use x.astype({values.dtype.name!r})."
        )
    from .ndarray import array

    return array(values, ctx=other.context, dtype=other.dtype)


def matmul(a: NDArray, b: NDArray) -> NDArray:
    if a.ndim == 0 or b.ndim == 0:
        raise MXNetValueError(
            "[matmul] an operand is a scalar; expected at least one axis: use * for numbers."
        )
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != inner:
        raise ShapeError(
            f"[matmul] the last axis of {a.shape} has {a.shape[-1]} elements, and the one of {b.shape} that it meets "
            f"{inner}; expected the same."
        )
    if b.ndim <= 2:
        return op.dot(a, b)
    if a.ndim == 1:
        return matmul(a.expand_dims(0), b).squeeze(axis=-2)
    places = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    count = math.prod(places)
    a, b = (
        x.broadcast_to(places + x.shape[-2:]).reshape((-1 if x.size else count, *x.shape[-2:]))
        for x in (a, b)
    )
    product = op.batch_dot(a, b)
    return product.reshape(places + product.shape[1:])


def holds_none(source: Any, values: Any) -> bool:
    """Whether a NaN was None before, which NumPy takes for one."""
    if str(getattr(source, "dtype", "object")) != "object":  # an array, also of another library
        return False
    if not np.isnan(values).any():
        return False
    return any(item is None for item in np.asarray(source, dtype=object).flat)
