# SPDX-License-Identifier: Apache-2.0
"""The exceptions of Loomix, and the few helpers that every module uses.

Each exception is an ``MXNetError`` and the built-in exception of its kind at once, so that both
``except mx.MXNetError`` and ``except ValueError`` catch it. The C++ extension raises these classes.
"""

from __future__ import annotations

import atexit as atexit
import ctypes as ctypes
import difflib
import inspect as inspect
import os
import platform as platform
import re
import sys as sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from .c_types import CachedOpHandle as CachedOpHandle
from .c_types import CudaKernelHandle as CudaKernelHandle
from .c_types import CudaModuleHandle as CudaModuleHandle
from .c_types import DataIterCreatorHandle as DataIterCreatorHandle
from .c_types import DataIterHandle as DataIterHandle
from .c_types import DLPackHandle as DLPackHandle
from .c_types import ExecutorHandle as ExecutorHandle
from .c_types import FunctionHandle as FunctionHandle
from .c_types import KVStoreHandle as KVStoreHandle
from .c_types import NDArrayHandle as NDArrayHandle
from .c_types import OpHandle as OpHandle
from .c_types import ProfileHandle as ProfileHandle
from .c_types import RecordIOHandle as RecordIOHandle
from .c_types import RtcHandle as RtcHandle
from .c_types import SymbolHandle as SymbolHandle
from .c_types import c_array as c_array
from .c_types import c_array_buf as c_array_buf
from .c_types import c_str as c_str
from .c_types import c_str_array as c_str_array
from .c_types import ctypes2buffer as ctypes2buffer
from .c_types import ctypes2numpy_shared as ctypes2numpy_shared
from .c_types import mx_float as mx_float
from .c_types import mx_float_p as mx_float_p
from .c_types import mx_int as mx_int
from .c_types import mx_int64 as mx_int64
from .c_types import mx_uint as mx_uint

__all__ = [
    "AssertedError",
    "AssertedShapeError",
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
    "build_param_doc",
    "c2pyerror",
    "check_call",
    "classproperty",
    "data_dir",
    "error_types",
    "integer_types",
    "numeric_types",
    "py_str",
    "register_error",
    "string_types",
]

# MXNet's names for what Python 2 and 3 called differently, and for the type of numbers that arrays have by default.
string_types = (str,)
basestring = str
long = int
mx_real_t = np.float32
integer_types = (int, np.integer)
numeric_types = (float, int, np.generic)


class _NullType:
    """The type of :data:`_Null`."""

    def __repr__(self) -> str:
        return "_Null"


_Null = _NullType()  # as an argument of an operator: leaves the parameter out


class MXNetError(RuntimeError):
    """Base of every error that Loomix raises.

    Examples
    --------
    >>> import loomix as mx
    >>> try:
    ...     mx.nd.zeros((2, 3)) + mx.nd.zeros((4, 5))
    ... except mx.base.MXNetError as error:
    ...     print(isinstance(error, mx.base.ShapeError), isinstance(error, ValueError))
    True True
    """

    def __str__(self) -> str:  # KeyError would show the repr of its text
        return str(self.args[0]) if len(self.args) == 1 else RuntimeError.__str__(self)


class MXNetValueError(MXNetError, ValueError):
    """An argument has a value that is not allowed."""


class ShapeError(MXNetValueError):
    """Shapes do not fit together, or to the operator.

    Examples
    --------
    >>> import loomix as mx
    >>> try:
    ...     _ = mx.nd.dot(mx.nd.zeros((2, 3)), mx.nd.zeros((2, 3)))
    ... except mx.base.ShapeError as error:
    ...     print("dot" in str(error))
    True
    """


class AssertedError(MXNetValueError, AssertionError):
    """An argument of Gluon's has a value that is not allowed, where MXNet asserts.

    Examples
    --------
    >>> import loomix as mx
    >>> try:
    ...     mx.gluon.nn.Conv2D(8, 3, layout="CHW")
    ... except AssertionError as error:
    ...     print(isinstance(error, ValueError))
    True
    """


class AssertedShapeError(ShapeError, AssertedError):
    """Shapes do not fit together, which MXNet asserts."""


class MXNetTypeError(MXNetError, TypeError):
    """An argument has the wrong kind or dtype, or is missing or unknown.

    Examples
    --------
    >>> import loomix as mx
    >>> try:
    ...     mx.init.register(int)
    ... except mx.base.MXNetTypeError as error:
    ...     print(isinstance(error, TypeError))
    True
    """


class AssertedTypeError(MXNetTypeError, AssertionError):
    """An argument is of the wrong type, which MXNet asserts."""


class MXNetIndexError(MXNetError, IndexError):
    """An index lies outside the array."""


class MXNetKeyError(MXNetError, KeyError):
    """A name is not known."""


class UnknownDeviceError(MXNetValueError, MXNetKeyError):
    """The name of a device type is not known."""


class MXNetFileError(OSError, MXNetError):
    """A file is missing or damaged, or is not what it says.

    Examples
    --------
    >>> import loomix as mx
    >>> try:
    ...     mx.nd.load("no-such-file.params")
    ... except mx.base.MXNetFileError as error:
    ...     print(isinstance(error, OSError))
    True
    """


class DeviceError(MXNetError):
    """A device is missing, or arrays of different devices were mixed."""


class MXNetMemoryError(MXNetError, MemoryError):
    """Memory ran out."""


class NetworkError(ConnectionError, MXNetError):
    """A peer could not be reached, or was lost."""


class MXNetNotImplementedError(MXNetError, NotImplementedError):
    """What was asked for does not exist in this build or version."""


class StateError(MXNetError, AssertionError):
    """A call came in the wrong order or from the wrong place, which MXNet's modules assert.

    Examples
    --------
    >>> import loomix as mx
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.Variable("data"), name="softmax"))
    >>> try:
    ...     module.init_params()
    ... except AssertionError as error:
    ...     print(error)
    [Module.init_params] bind must be called first.
    """


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


def described(thing: Any, **settings: Any) -> str:
    """What an object was made of, for its repr.

    >>> described(3, base=10, signed=True)
    'int(base=10, signed=True)'
    """
    return f"{type(thing).__name__}({', '.join(f'{name}={value!r}' for name, value in settings.items())})"


def suggest(name: Any, known: Iterable[str]) -> str:
    """For an unknown name: the nearest one that there is, then at most ten of all.

    >>> suggest("adm", ["sgd", "adam"])
    "Did you mean 'adam'? Known are adam, sgd."
    """
    names = sorted(map(str, known))
    by_lower = {item.lower(): item for item in names}
    near = difflib.get_close_matches(str(name).lower(), by_lower, 1, 0.6)
    hint = f"Did you mean {by_lower[near[0]]!r}? " if near else ""
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"{hint}Known are {', '.join(names[:10])}{more}."


def unknown_arguments(owner: Any, unknown: Any) -> MXNetTypeError:
    """The error of an object that is made with arguments that none of its classes knows."""
    known: dict[str, None] = {}
    for kind in type(owner).__mro__:
        if "__init__" in kind.__dict__ and kind is not object:
            for param in inspect.signature(kind.__dict__["__init__"]).parameters.values():
                if param.kind in (param.POSITIONAL_OR_KEYWORD, param.KEYWORD_ONLY) and param.name != "self":
                    known[param.name] = None
    name = next(iter(unknown))
    return MXNetTypeError(
        f"[{type(owner).__name__}] got an unexpected keyword argument '{name}'. {suggest(name, known)}"
    )


class classproperty:
    """A property of a class, used as a decorator. Classes whose metaclass is :class:`_MXClassPropertyMetaClass` may
    also have a ``setter``.

    >>> class A:
    ...     @classproperty
    ...     def name(cls):
    ...         return cls.__name__
    >>> A.name
    'A'
    """

    def __init__(self, getter: Callable[[Any], Any]) -> None:
        self._getter = getter
        self._setter: Callable[[Any, Any], None] | None = None

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self._getter(owner)

    def setter(self, function: Callable[[Any, Any], None]) -> classproperty:
        """Decorator: the function that an assignment to the class calls."""
        self._setter = function
        return self


class _MXClassPropertyMetaClass(type):
    """Assignments to class properties with a setter call it; the name is MXNet's."""

    def __setattr__(cls, key: str, value: Any) -> None:
        found = next((klass.__dict__[key] for klass in cls.__mro__ if key in klass.__dict__), None)
        if isinstance(found, classproperty) and found._setter:
            found._setter(cls, value)
        else:
            super().__setattr__(key, value)


def as_list(value: Any) -> list[Any] | tuple[Any, ...]:
    """``value`` itself when it is a list or a tuple, otherwise a list that holds it.

    >>> as_list(3), as_list((1, 2))
    ([3], (1, 2))
    """
    return value if isinstance(value, (list, tuple)) else [value]


_as_list = as_list  # MXNet's name


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
    """The folder for data and models: the environment's MXNET_HOME, else :func:`data_dir_default`.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.base.data_dir().endswith("mxnet")
    True
    """
    return os.environ.get("MXNET_HOME") or data_dir_default()


# The classes of errors by the name that stands before the colon of a text; `register_error` adds to them.
error_types: dict[str, type[BaseException]] = {
    cls.__name__: cls
    for cls in (
        NotImplementedForSymbol,
        InternalError,
        ValueError,
        TypeError,
        AttributeError,
        IndexError,
        NotImplementedError,
    )
}


def register_error(func_name: Any = None, cls: type[BaseException] | None = None) -> Any:
    """Makes a class of errors known by its name, or by another one; also a decorator, with or without a name.

    >>> @register_error
    ... class ExampleError(MXNetError):
    ...     pass
    >>> error_types["ExampleError"] is ExampleError
    True
    """
    if isinstance(func_name, type):
        func_name, cls = func_name.__name__, func_name

    def register(cls: type[BaseException]) -> Any:
        error_types[func_name if isinstance(func_name, str) else cls.__name__] = cls
        return cls

    return register if cls is None else register(cls)


def c2pyerror(err_msg: str) -> tuple[str, str | None]:
    """An error's text, and the name of its class if the text begins with one and a colon.

    >>> c2pyerror("ValueError: no such key"), c2pyerror("no such key")
    (('ValueError: no such key', 'ValueError'), ('no such key', None))
    """
    found = re.match(r"([A-Za-z_][\w.]*):", err_msg)
    return err_msg, found[1] if found else None


def check_call(ret: int) -> None:
    """Raises MXNetError for the status of a C function that is not 0."""
    if ret != 0:
        raise MXNetError(f"[check_call] a function of a C library returned the status {ret}; expected 0.")


class _NoLibrary:
    """In the place of MXNet's C library, which Loomix is not built on."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"[_LIB] {name}: MXNet's C library is not part of Loomix; use the functions of its Python modules.",
            name=name,
            obj=self,
        )


_LIB = _NoLibrary()


def build_param_doc(
    arg_names: Sequence[str], arg_types: Sequence[str], arg_descs: Sequence[str], remove_dup: bool = True
) -> str:
    """The section "Parameters" of a doc string; with ``remove_dup`` a name counts only once.

    >>> print(build_param_doc(["data"], ["NDArray"], ["The input."]))
    Parameters
    ----------
    data : NDArray
        The input.
    <BLANKLINE>
    """
    lines, seen = ["Parameters", "----------"], set()
    for name, kind, text in zip(arg_names, arg_types, arg_descs):
        if remove_dup and name in seen or name == "num_args":
            continue
        seen.add(name)
        lines.append(f"{name} : {kind}")
        if text:
            lines.append(f"    {text}")
    return "\n".join(lines) + "\n"


from . import libinfo as libinfo  # noqa: E402 - it imports this module
