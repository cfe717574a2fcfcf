# SPDX-License-Identifier: Apache-2.0
"""NumPy semantics (zero-size shapes, NumPy arrays, NumPy's default types) as scopes, decorators and global switches,
and small helpers."""

from __future__ import annotations

import ctypes
import functools
import inspect
import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import _core, _star
from .base import DeviceError, MXNetTypeError, MXNetValueError
from .base import py_str as py_str
from .context import gpu_memory_info, num_gpus

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "get_cuda_compute_capability",
    "get_gpu_count",
    "get_gpu_memory",
    "getenv",
    "is_np_array",
    "is_np_default_dtype",
    "is_np_shape",
    "np_array",
    "np_default_dtype",
    "np_shape",
    "np_ufunc_legal_option",
    "reset_np",
    "set_np",
    "set_np_default_dtype",
    "set_np_shape",
    "setenv",
    "use_np",
    "use_np_array",
    "use_np_default_dtype",
    "use_np_shape",
    "wrap_np_binary_func",
    "wrap_np_unary_func",
]


class _Flags(threading.local):
    """Per thread; None means the global switch decides. The flag of shapes is the core's."""

    array: bool | None = None
    dtype: bool | None = None


_local = _Flags()
_everywhere = {"array": False, "dtype": False}


def _exchange(flag: Any, value: Any) -> bool | None:
    """Sets a flag of this thread and returns its value before."""
    if flag == "shape":
        return _core.exchange_numpy_shapes(value)
    previous = getattr(_local, flag)
    setattr(_local, flag, value)
    return previous


class _Scope:
    """Sets one flag of this thread inside a ``with`` statement; may be entered again and nested."""

    def __init__(self, flag: Any, active: bool) -> None:
        self._flag, self._value = flag, bool(active)
        self._outer: list[Any] = []

    def __enter__(self) -> Self:
        self._outer.append(_exchange(self._flag, self._value))
        return self

    def __exit__(self, *exc_info: Any) -> None:
        _exchange(self._flag, self._outer.pop())


class _NumpyShapeScope(_Scope):
    """NumPy's shape rules are on or off."""

    def __init__(self, is_np_shape: bool) -> None:
        super().__init__("shape", is_np_shape)


class _NumpyArrayScope(_Scope):
    """Arrays are NumPy-like or not."""

    def __init__(self, is_np_array: bool) -> None:
        super().__init__("array", is_np_array)


def is_np_shape() -> bool:
    """Whether NumPy's shape rules hold now: ``()`` is a scalar and a size of 0 an empty array.

    Without them (the default) MXNet's older rules hold: ``()`` and 0 mean "unknown".

    Examples
    --------
    >>> import loomix as mx
    >>> mx.util.is_np_shape()
    False
    """
    return _core.numpy_shapes()


def is_np_array() -> bool:
    """Whether layers and optimizers should hand out NumPy-like arrays now.

    >>> with np_array(True):
    ...     is_np_array()
    True
    """
    return _everywhere["array"] if _local.array is None else _local.array


def is_np_default_dtype() -> bool:
    """Whether ``mx.np`` makes arrays of official NumPy's default types now.

    Then lists, numbers and functions that make arrays give float64 where they give float32 otherwise, and ``arange`` of
    whole numbers and ``indices`` give int64.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.util.is_np_default_dtype()
    False
    """
    return _everywhere["dtype"] if _local.dtype is None else _local.dtype


def set_np_shape(active: bool) -> bool:
    """Switches NumPy's shape rules on or off for this thread; returns the previous setting.

    >>> before = set_np_shape(True)
    >>> set_np_shape(before)
    True
    """
    previous = is_np_shape()
    _exchange("shape", bool(active))
    return previous


def set_np_default_dtype(is_np_default_dtype: bool = True) -> bool:
    """Switches NumPy's default types on or off for this thread; returns the previous setting.

    Examples
    --------
    >>> import loomix as mx
    >>> before = mx.util.set_np_default_dtype(True)
    >>> mx.np.zeros(2).dtype
    dtype('float64')
    >>> mx.util.set_np_default_dtype(before)
    True
    """
    previous = _exchange("dtype", bool(is_np_default_dtype))
    return _everywhere["dtype"] if previous is None else previous


def np_shape(active: bool = True) -> Any:
    """A ``with`` scope in which NumPy's shape rules are on (or off).

    >>> with np_shape():
    ...     is_np_shape()
    True
    """
    return _NumpyShapeScope(active)


def np_array(active: bool = True) -> Any:
    """A ``with`` scope in which NumPy-like arrays are on (or off).

    Examples
    --------
    >>> import loomix as mx
    >>> with mx.util.np_array():
    ...     inside = mx.util.is_np_array()
    >>> inside
    True
    """
    return _NumpyArrayScope(active)


def np_default_dtype(active: bool = True) -> Any:
    """A ``with`` scope in which :func:`NumPy's default types <is_np_default_dtype>` are on (or off).

    Examples
    --------
    >>> import loomix as mx
    >>> with mx.util.np_default_dtype():
    ...     x = mx.np.array([1, 2])
    >>> x.dtype, mx.np.array([1, 2]).dtype
    (dtype('float64'), dtype('float32'))
    """
    return _Scope("dtype", active)


def set_np(shape: int | Sequence[int] = True, array: bool = True, dtype: bool = False) -> None:
    """Switches NumPy's shape rules, NumPy-like arrays, and NumPy's default types on or off for all threads.

    Raises
    ------
    ValueError
        For arrays without shapes: NumPy-like arrays need NumPy's shape rules.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.util.set_np(shape=True, array=False)
    >>> mx.util.is_np_shape()
    True
    >>> mx.util.reset_np()
    """
    if array and not shape:
        raise ValueError("[set_np] NumPy-like arrays need NumPy's shape rules; expected shape=True.")
    _core.set_numpy_shapes_of_process(bool(shape))
    _everywhere.update(array=bool(array), dtype=bool(dtype))
    for flag in ("shape", "array", "dtype"):
        _exchange(flag, None)


def reset_np() -> None:
    """Switches NumPy semantics off.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.util.set_np(shape=True, array=False)
    >>> mx.util.is_np_shape()
    True
    >>> mx.util.reset_np()
    """
    set_np(shape=False, array=False)


def _decorate(target: Any, scope: Any) -> Any:
    if inspect.isclass(target):
        for name, member in list(vars(target).items()):
            if inspect.isfunction(member):
                setattr(target, name, _decorate(member, scope))
            elif isinstance(member, property):
                get, put, delete = (
                    part and _decorate(part, scope) for part in (member.fget, member.fset, member.fdel)
                )
                setattr(target, name, property(get, put, delete, member.__doc__))
        return target
    if not callable(target):
        raise MXNetTypeError(
            f"[use_np] got an object of type {type(target).__name__}; expected a function or a class."
        )

    @functools.wraps(target)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with scope():
            return target(*args, **kwargs)

    return wrapper


def use_np_shape(func: Callable[..., Any]) -> Any:
    """Decorator: a function, or every method of a class, runs under :func:`np_shape`.

    Examples
    --------
    >>> import loomix as mx
    >>> @mx.util.use_np_shape
    ... def shape_of_a_scalar():
    ...     return mx.util.is_np_shape()
    >>> shape_of_a_scalar()
    True
    """
    return _decorate(func, np_shape)


def use_np_array(func: Callable[..., Any]) -> Any:
    """Decorator: a function, or every method of a class, runs under :func:`np_array`.

    Examples
    --------
    >>> import loomix as mx
    >>> @mx.util.use_np_array
    ... def inside():
    ...     return mx.util.is_np_array()
    >>> inside()
    True
    """
    return _decorate(func, np_array)


def use_np_default_dtype(func: Callable[..., Any]) -> Any:
    """Decorator: a function, or every method of a class, runs under :func:`np_default_dtype`.

    Examples
    --------
    >>> import loomix as mx
    >>> @mx.util.use_np_default_dtype
    ... def ones():
    ...     return mx.np.ones(2)
    >>> ones().dtype
    dtype('float64')
    """
    return _decorate(func, np_default_dtype)


def use_np(func: Callable[..., Any]) -> Any:
    """Decorator: :func:`use_np_shape` and :func:`use_np_array` together.

    Examples
    --------
    >>> import loomix as mx
    >>> @mx.util.use_np_shape
    ... def shape_of_a_scalar():
    ...     return mx.util.is_np_shape()
    >>> shape_of_a_scalar()
    True
    """
    return use_np_shape(use_np_array(func))


def set_module(module: Any) -> Any:
    """Decorator that sets ``__module__`` of a function or class, for nicer documentation."""

    def decorator(func: Callable[..., Any]) -> Any:
        func.__module__ = module
        return func

    return decorator


def get_gpu_count() -> int:
    """The number of usable GPUs.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.util.get_gpu_count() == mx.context.num_gpus()
    True
    """
    return num_gpus()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Free and total memory of a GPU in bytes."""
    return gpu_memory_info(gpu_dev_id)


def get_cuda_compute_capability(ctx: Any) -> int:
    """The compute capability of a GPU: 70 for one of ``sm_70``.

    Raises
    ------
    ValueError
        When ``ctx`` is no GPU.
    OSError
        When there is no CUDA driver.
    DeviceError
        When the driver does not know the GPU.
    """
    if ctx.device_type != "gpu":
        raise MXNetValueError(f"[get_cuda_compute_capability] ctx is {ctx}; expected a GPU.")
    driver = ctypes.CDLL("libcuda.so.1")
    device, parts = ctypes.c_int(), [ctypes.c_int(), ctypes.c_int()]
    status = driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), ctx.device_id)
    # The numbers of the attributes for the two parts of the capability.
    for attribute, part in zip((75, 76), parts):
        status = status or driver.cuDeviceGetAttribute(ctypes.byref(part), attribute, device)
    if status:
        raise DeviceError(f"[get_cuda_compute_capability] the CUDA driver gives error {status} for {ctx}.")
    return parts[0].value * 10 + parts[1].value


# Arguments of NumPy's element-wise functions, and the values that they may have here.
_UFUNC_VALUES: dict[str, Any] = {
    "where": (True,),
    "casting": ("same_kind",),
    "order": ("K",),
    "dtype": (),  # those of arrays
    "subok": (True,),
}


def np_ufunc_legal_option(key: str, value: Any) -> bool:
    """Whether an element-wise function takes this value of one of NumPy's arguments.

    >>> np_ufunc_legal_option("casting", "same_kind"), np_ufunc_legal_option("casting", "safe")
    (True, False)
    """
    if key not in _UFUNC_VALUES:
        return False
    if key == "dtype":
        return _is_dtype(value)
    return any(value is allowed or value == allowed for allowed in _UFUNC_VALUES[key])


def _is_dtype(value: Any) -> bool:
    try:
        _core.numpy_dtype(value)
    except TypeError:
        return False
    return True


def _checked_options(func: Callable[..., Any], inputs: int) -> Callable[..., Any]:
    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if len(args) not in (inputs, inputs + 1):
            raise MXNetTypeError(
                f"[{func.__name__}] got {len(args)} arguments; expected {inputs}, or {inputs + 1} with out."
            )
        for key, value in kwargs.items():
            if key in _UFUNC_VALUES and not np_ufunc_legal_option(key, value):
                raise MXNetTypeError(f"[{func.__name__}] {key}={value!r} is not supported.")
            if key not in _UFUNC_VALUES and key != "out":
                raise MXNetTypeError(f"[{func.__name__}] there is no argument {key!r}.")
        out = args[inputs] if len(args) > inputs else kwargs.get("out")
        return func(*args[:inputs], out=out)

    return wrapped


def wrap_np_unary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function ``f(x, out)`` takes NumPy's further arguments where they ask for what it does anyway.

    Examples
    --------
    >>> import loomix as mx
    >>> @mx.util.wrap_np_unary_func
    ... def double(x, out=None, **kwargs):
    ...     return x * 2
    >>> double(2.0)
    4.0
    """
    return _checked_options(func, 1)


def wrap_np_binary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the same for ``f(x1, x2, out)``.

    Examples
    --------
    >>> import loomix as mx
    >>> @mx.util.wrap_np_binary_func
    ... def plus(x1, x2, out=None, **kwargs):
    ...     return x1 + x2
    >>> plus(2.0, 3.0)
    5.0
    """
    return _checked_options(func, 2)


def getenv(name: str) -> str | None:
    """An environment variable, or None.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.util.setenv("A_VARIABLE_OF_MINE", "1")
    >>> mx.util.getenv("A_VARIABLE_OF_MINE")
    '1'
    >>> mx.util.setenv("A_VARIABLE_OF_MINE", None)
    """
    return os.environ.get(name)


def setenv(name: str, value: Any) -> None:
    """Sets an environment variable; None removes it.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.util.setenv("A_VARIABLE_OF_MINE", "1")
    >>> mx.util.getenv("A_VARIABLE_OF_MINE")
    '1'
    >>> mx.util.setenv("A_VARIABLE_OF_MINE", None)
    """
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


_star.complete(globals(), "c_str check_call ctypes functools inspect py_str threading", "_LIB")
