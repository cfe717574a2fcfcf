# SPDX-License-Identifier: Apache-2.0
"""MXNet's helpers for ``ctypes``: names of C types, and conversions to and from C arrays.

The conversions are for scripts that call C libraries of their own. The handles are types only: Loomix calls no C
functions by ``ctypes``, and its arrays, symbols and stores are no pointers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

__all__ = [
    "CachedOpHandle",
    "CudaKernelHandle",
    "CudaModuleHandle",
    "DLPackHandle",
    "DataIterCreatorHandle",
    "DataIterHandle",
    "ExecutorHandle",
    "FunctionHandle",
    "KVStoreHandle",
    "NDArrayHandle",
    "OpHandle",
    "ProfileHandle",
    "RecordIOHandle",
    "RtcHandle",
    "SymbolHandle",
    "c_array",
    "c_array_buf",
    "c_str",
    "c_str_array",
    "ctypes2buffer",
    "ctypes2numpy_shared",
    "mx_float",
    "mx_float_p",
    "mx_int",
    "mx_int64",
    "mx_uint",
]

mx_int = ctypes.c_int
mx_uint = ctypes.c_uint
mx_int64 = ctypes.c_int64
mx_float = ctypes.c_float
mx_float_p = ctypes.POINTER(ctypes.c_float)

CachedOpHandle = ctypes.c_void_p
CudaKernelHandle = ctypes.c_void_p
CudaModuleHandle = ctypes.c_void_p
DLPackHandle = ctypes.c_void_p
DataIterCreatorHandle = ctypes.c_void_p
DataIterHandle = ctypes.c_void_p
ExecutorHandle = ctypes.c_void_p
FunctionHandle = ctypes.c_void_p
KVStoreHandle = ctypes.c_void_p
NDArrayHandle = ctypes.c_void_p
OpHandle = ctypes.c_void_p
ProfileHandle = ctypes.c_void_p
RecordIOHandle = ctypes.c_void_p
RtcHandle = ctypes.c_void_p
SymbolHandle = ctypes.c_void_p


def c_str(string: str) -> ctypes.c_char_p:
    """The UTF-8 bytes of a text, ended by a zero.

    >>> c_str("data").value
    b'data'
    """
    return ctypes.c_char_p(string.encode("utf-8"))


def c_str_array(strings: Iterable[str]) -> Any:
    """A C array of texts.

    >>> list(c_str_array(["a", "b"]))
    [b'a', b'b']
    """
    encoded = [text.encode("utf-8") for text in strings]
    return (ctypes.c_char_p * len(encoded))(*encoded)


def c_array(ctype: Any, values: Sequence[Any]) -> Any:
    """A C array of a type, from Python's values.

    >>> list(c_array(mx_uint, [1, 2]))
    [1, 2]
    """
    return (ctype * len(values))(*values)


def c_array_buf(ctype: Any, buf: Any) -> Any:
    """A C array in the memory of a writable buffer, such as a NumPy array, with elements of the same size."""
    return (ctype * len(buf)).from_buffer(buf)


def ctypes2buffer(cptr: Any, length: int) -> bytearray:
    """A copy of ``length`` bytes behind a pointer to ``c_char``.

    Raises
    ------
    TypeError
        When ``cptr`` is no such pointer.
    """
    if not isinstance(cptr, ctypes.POINTER(ctypes.c_char)):
        _wrong("ctypes2buffer", cptr, "c_char")
    return bytearray(ctypes.string_at(cptr, length))


def ctypes2numpy_shared(cptr: Any, shape: Sequence[int]) -> np.ndarray:
    """A NumPy array of float32 in the memory behind a pointer to ``c_float``, which the caller keeps alive.

    Raises
    ------
    TypeError
        When ``cptr`` is no such pointer.
    """
    if not isinstance(cptr, mx_float_p):
        _wrong("ctypes2numpy_shared", cptr, "c_float")
    return np.ctypeslib.as_array(cptr, tuple(shape))


def _wrong(function: str, cptr: Any, expected: str) -> NoReturn:
    from .base import MXNetTypeError

    raise MXNetTypeError(
        f"[{function}] cptr is of type {type(cptr).__name__}; expected a pointer to {expected}."
    )
