# SPDX-License-Identifier: Apache-2.0
"""Functions that make arrays of any storage type, and array files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from ..base import MXNetTypeError
from . import ndarray as _dense

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..context import Context
    from .ndarray import NDArray

__all__ = ["array", "empty", "load", "load_frombuffer", "save", "zeros"]

zeros = _dense.zeros


def empty(
    shape: int | Sequence[int],
    ctx: Context | None = None,
    dtype: DTypeLike | None = None,
    stype: str | None = None,
) -> Any:
    """A new array whose elements are not set; one of a sparse storage type begins without elements.

    Parameters
    ----------
    shape : int or tuple of int
    ctx : Context, optional
        Default: the current context.
    dtype : NumPy type or str, optional
        Default: float32.
    stype : {'default', 'row_sparse', 'csr'}, optional
        The storage type.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.empty((2, 3))
    >>> x[:] = 1
    >>> x.shape, x.dtype.__name__
    ((2, 3), 'float32')
    >>> mx.nd.empty((2, 3), stype="csr").indices.shape
    (0,)
    """
    if stype in (None, "default"):
        return _dense.empty(shape, ctx, dtype)
    from . import sparse

    return sparse.empty(stype, shape, ctx, dtype)


def array(source_array: Any, ctx: Context | None = None, dtype: DTypeLike | None = None) -> Any:
    """A new array from a list, a NumPy array, an NDArray of any storage type, or a SciPy csr matrix.

    Parameters
    ----------
    source_array : list, numpy.ndarray, NDArray, scipy.sparse.csr_matrix or what NumPy takes
        Its values are copied. A sparse source gives an array of the same storage type.
    ctx : Context, optional
        Default: the current context.
    dtype : NumPy type or str, optional
        Default: float32, whatever type a list or a NumPy array has; that of an NDArray or of a sparse source.

    Raises
    ------
    TypeError
        When the source is ragged, or holds something that is no number.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.nd.array([[1, 2], [3, 4]]).asnumpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    >>> mx.nd.array(np.arange(3)).dtype.__name__  # of 64-bit integers
    'float32'
    >>> mx.nd.array([1, 2], dtype="int32").asnumpy()
    array([1, 2], dtype=int32)
    """
    if getattr(source_array, "stype", "default") != "default" or hasattr(source_array, "tocsr"):
        from . import sparse

        return sparse.array(source_array, ctx=ctx, dtype=dtype)
    return _dense.array(source_array, ctx=ctx, dtype=dtype)


def save(fname: str, data: NDArray | Sequence[NDArray] | Mapping[str, NDArray]) -> None:
    """Writes arrays to a file in MXNet's format.

    Parameters
    ----------
    fname : str or path
    data : NDArray, list of NDArray, or dict of str to NDArray

    Raises
    ------
    TypeError
        When ``data`` holds something else.
    OSError
        When the file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> name = os.path.join(tempfile.mkdtemp(), "weights.params")
    >>> mx.nd.save(name, {"w": mx.nd.array([1, 2])})
    >>> mx.nd.load(name)["w"].asnumpy()
    array([1., 2.], dtype=float32)
    """
    if isinstance(data, _core.NDArrayBase):
        data = [data]
    if isinstance(data, dict):
        names, arrays = list(data), list(data.values())
        if not all(isinstance(name, str) for name in names):
            raise MXNetTypeError("[save] the keys of the dict must be strings.")
    elif isinstance(data, (list, tuple)):
        names, arrays = [], list(data)
    else:
        raise MXNetTypeError(
            f"[save] data is of type {type(data).__name__}; expected an NDArray, a list of them, or a dict of names "
            "to them."
        )
    for item in arrays:
        if not isinstance(item, _core.NDArrayBase):
            raise MXNetTypeError(
                f"[save] data holds an object of type {type(item).__name__}; expected NDArrays only."
            )
    _core.save_arrays(_path("save", fname), names, arrays)


def _path(who: str, fname: Any) -> str:
    if not isinstance(fname, (str, os.PathLike)):
        raise MXNetTypeError(f"[{who}] fname is {fname!r}, of type {type(fname).__name__}; expected a path.")
    return os.fspath(fname)


def _as_result(names: Sequence[str] | None, arrays: Any) -> Any:
    return dict(zip(names, arrays)) if names else arrays


def load(fname: str) -> Any:
    """Reads an array file of any MXNet version: a list, or a dict when the arrays have names.

    Raises
    ------
    OSError
        When the file is missing, damaged, or no array file.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> name = os.path.join(tempfile.mkdtemp(), "weights.params")
    >>> mx.nd.save(name, {"w": mx.nd.array([1, 2])})
    >>> mx.nd.load(name)["w"].asnumpy()
    array([1., 2.], dtype=float32)
    """
    return _as_result(*_core.load_arrays(_path("load", fname)))


def load_mapped(fname: str) -> Any:
    """As :func:`load`, but large arrays stay in the file until they are read: what takes parts of them reads those."""
    return _as_result(*_core.load_arrays_mapped(_path("load", fname)))


def load_frombuffer(buf: Any) -> Any:
    """Reads the content of an array file from bytes.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> name = os.path.join(tempfile.mkdtemp(), "weights.params")
    >>> mx.nd.save(name, [mx.nd.array([1, 2])])
    >>> mx.nd.load_frombuffer(open(name, "rb").read())[0].asnumpy()
    array([1., 2.], dtype=float32)
    """
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise MXNetTypeError(f"[load_frombuffer] buf is of type {type(buf).__name__}; expected bytes.")
    return _as_result(*_core.load_arrays_from_bytes(bytes(buf)))
