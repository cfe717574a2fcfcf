# SPDX-License-Identifier: Apache-2.0
"""The exceptions of Loomix, and the few helpers that every module uses.

Each exception is an ``MXNetError`` and the built-in exception of its kind at once, so that both
``except mx.MXNetError`` and ``except ValueError`` catch it. The C++ extension raises these classes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = [
    "DeviceError",
    "InternalError",
    "MXNetError",
    "MXNetFileError",
    "MXNetIndexError",
    "MXNetKeyError",
    "MXNetMemoryError",
    "MXNetNotImplementedError",
    "MXNetTypeError",
    "MXNetValueError",
    "NetworkError",
    "NotImplementedForSymbol",
    "NotSupportedForSparseNDArray",
    "ShapeError",
    "StateError",
    "classproperty",
    "data_dir",
    "integer_types",
    "numeric_types",
    "py_str",
    "string_types",
]

# MXNet's names for what Python 2 and 3 called differently, and for the type of numbers that arrays have by default.
string_types = (str,)
basestring = str
long = int
mx_real_t = np.float32
integer_types = (int, np.integer)
numeric_types = (float, int, np.generic)


class MXNetError(RuntimeError):
    """Base of every error that Loomix raises."""

    def __str__(self) -> str:  # KeyError would show the repr of its text
        return str(self.args[0]) if len(self.args) == 1 else RuntimeError.__str__(self)


class MXNetValueError(MXNetError, ValueError):
    """An argument has a value that is not allowed."""


class ShapeError(MXNetValueError):
    """Shapes do not fit together, or to the operator."""


class MXNetTypeError(MXNetError, TypeError):
    """An argument has the wrong kind or dtype, or is missing or unknown."""


class MXNetIndexError(MXNetError, IndexError):
    """An index lies outside the array."""


class MXNetKeyError(MXNetError, KeyError):
    """A name is not known."""


class MXNetFileError(OSError, MXNetError):
    """A file is missing or damaged, or is not what it says."""


class DeviceError(MXNetError):
    """A device is missing, or arrays of different devices were mixed."""


class MXNetMemoryError(MXNetError, MemoryError):
    """Memory ran out."""


class NetworkError(ConnectionError, MXNetError):
    """A peer could not be reached, or was lost."""


class MXNetNotImplementedError(MXNetError, NotImplementedError):
    """What was asked for does not exist in this build or version."""


class StateError(MXNetError):
    """A call came in the wrong order or from the wrong place."""


class InternalError(MXNetError):
    """A broken invariant of Loomix itself; please report it."""


class NotImplementedForSymbol(MXNetError, NotImplementedError):
    """A function that arrays have and symbols do not."""

    def __init__(self, function: Callable[..., Any] | str, alias: Any, *args: Any) -> None:
        name = getattr(function, "__name__", function)
        text = f"[{name}] is not implemented for Symbol, only for NDArray"
        if alias:
            text += f"; use {alias} instead"
        if args:
            text += "; came with arguments of types " + ", ".join(type(a).__name__ for a in args)
        super().__init__(text + ".")


class NotSupportedForSparseNDArray(MXNetError, NotImplementedError):
    """A function that dense arrays have and sparse ones do not."""

    def __init__(self, function: Callable[..., Any] | str, alias: Any, *args: Any) -> None:
        name = getattr(function, "__name__", function)
        text = f"[{name}] is not supported for sparse arrays"
        if alias:
            text += f"; use {alias} instead"
        if args:
            text += "; came with arguments of types " + ", ".join(type(a).__name__ for a in args)
        super().__init__(text + ".")


class classproperty:
    """A read-only property of a class, used as a decorator.

    >>> class A:
    ...     @classproperty
    ...     def name(cls):
    ...         return cls.__name__
    >>> A.name
    'A'
    """

    def __init__(self, getter: Callable[[Any], Any]) -> None:
        self._getter = getter

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self._getter(owner)


def as_list(value: Any) -> list[Any] | tuple[Any, ...]:
    """``value`` itself when it is a list or a tuple, otherwise a list that holds it.

    >>> as_list(3), as_list((1, 2))
    ([3], (1, 2))
    """
    return value if isinstance(value, (list, tuple)) else [value]


def py_str(x: Any) -> str:
    """The text in UTF-8 bytes; a text itself.

    >>> py_str(b"data")
    'data'
    """
    return x.decode("utf-8") if isinstance(x, (bytes, bytearray)) else str(x)


def data_dir_default() -> str:
    """The folder for data and models, where no other is set."""
    return os.path.join(os.path.expanduser("~"), ".mxnet")


def data_dir() -> str:
    """The folder for data and models: the environment's MXNET_HOME, else :func:`data_dir_default`."""
    return os.environ.get("MXNET_HOME") or data_dir_default()
