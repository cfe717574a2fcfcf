# SPDX-License-Identifier: Apache-2.0
"""Devices: where arrays live and operators run.

>>> import loomix as mx
>>> with mx.cpu(1):
...     print(mx.current_context())
cpu(1)
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, ClassVar

from . import _star
from .base import (
    MXNetTypeError,
    MXNetValueError,
    UnknownDeviceError,
    _MXClassPropertyMetaClass,
    classproperty,
)

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Context", "cpu", "cpu_pinned", "current_context", "gpu", "gpu_memory_info", "num_gpus"]


class Context(metaclass=_MXClassPropertyMetaClass):
    """A device: a kind (``"cpu"``, ``"gpu"``, ``"cpu_pinned"``) and a number.

    Several CPU numbers share the same memory and cores; each has its own queue in the engine. A context used
    in a ``with`` statement is the default device of this thread inside it.

    Parameters
    ----------
    device_type : str or Context
        The kind, or a context to copy.
    device_id : int
        The number, from 0.

    Raises
    ------
    ValueError
        For an unknown kind or a negative number.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.Context("cpu", 0)
    cpu(0)
    >>> with mx.Context("cpu", 1):
    ...     x = mx.nd.zeros((2,))
    >>> x.context
    cpu(1)
    """

    devtype2str = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared", 100: "null"}
    devstr2type = {name: number for number, name in devtype2str.items()}
    _default_ctx: ClassVar[_Default]
    __slots__ = ("_outer", "device_id", "device_typeid")
    device_typeid: int
    device_id: int

    def __init__(self, device_type: Any, device_id: int = 0) -> None:
        if isinstance(device_type, Context):
            self.device_typeid, self.device_id = device_type.device_typeid, device_type.device_id
        else:
            if device_type not in self.devstr2type:
                allowed = ", ".join(self.devstr2type)
                raise UnknownDeviceError(
                    f"[Context] unknown device type {device_type!r}; expected one of {allowed}."
                )
            if isinstance(device_id, str):
                raise MXNetTypeError(f"[Context] device id is {device_id!r}; expected an integer.")
            device_id = int(device_id)
            if device_id < 0:
                raise MXNetValueError(f"[Context] device id {device_id} is negative; expected 0 or more.")
            self.device_typeid, self.device_id = self.devstr2type[device_type], device_id
        self._outer: list[Any] = []

    @property
    def device_type(self) -> str:
        """The kind of this device, one of ``"cpu"``, ``"gpu"``, ``"cpu_pinned"`` or ``"cpu_shared"``."""
        return self.devtype2str[self.device_typeid]

    def __hash__(self) -> int:
        return hash((self.device_typeid, self.device_id))

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, Context):
            return NotImplemented
        return self.device_typeid == other.device_typeid and self.device_id == other.device_id

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    def __reduce__(self) -> Any:
        return Context, (self.device_type, self.device_id)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes what MXNet's pickles hold."""
        self.device_typeid, self.device_id = state["device_typeid"], state["device_id"]
        self._outer = []

    def __enter__(self) -> Self:
        self._outer.append(Context._default_ctx.value)
        Context._default_ctx.value = self
        return self

    def __exit__(self, *exc_info: Any) -> None:
        Context._default_ctx.value = self._outer.pop()

    @classproperty
    def default_ctx(cls) -> Context:
        """The default device of this thread; may be set."""
        return current_context()

    @default_ctx.setter  # type: ignore[no-redef]
    def default_ctx(cls, value: Context) -> None:
        Context._default_ctx.value = value

    def empty_cache(self) -> None:
        """Gives the memory that the pools of this device hold unused back to the system."""
        from . import _core

        _core.empty_cache(self.device_typeid, self.device_id)


class _Default(threading.local):
    """The default device of a thread; a new thread starts with ``cpu(0)``."""

    def __init__(self) -> None:
        self.value = Context("cpu", 0)


Context._default_ctx = _Default()


def cpu(device_id: int = 0) -> Context:
    """The CPU context with this number.

    >>> cpu(1)
    cpu(1)
    """
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """Host memory from which a GPU copies fastest; behaves as a CPU context.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.cpu_pinned()
    cpu_pinned(0)
    """
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """The GPU context with this number; that the device exists is checked when it is used.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gpu(1)
    gpu(1)
    >>> where = mx.gpu() if mx.context.num_gpus() else mx.cpu()
    """
    return Context("gpu", device_id)


def num_gpus() -> int:
    """How many GPUs this machine has and this build can use.

    >>> ctx = gpu() if num_gpus() else cpu()
    """
    from . import _core

    return _core.num_gpus()


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Free and total memory of a GPU, in bytes.

    Raises
    ------
    MXNetError
        When there is no such GPU.
    """
    from . import _core

    return _core.gpu_memory_info(device_id)


def current_context() -> Context:
    """The default device of this thread: that of the innermost ``with``, else ``cpu(0)``.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.current_context()
    cpu(0)
    """
    return Context._default_ctx.value


def as_context(context: Any) -> Any:
    """The context that a text such as ``"cpu"`` or ``"gpu(1)"`` names; anything else itself.

    >>> as_context("cpu")
    cpu(0)

    Raises
    ------
    ValueError
        For other texts.
    """
    if not isinstance(context, str):
        return context
    name, _, number = context.partition("(")
    if "(" in context and not (number.endswith(")") and number[:-1].isdecimal()):
        raise MXNetValueError(
            f'[Context] {context!r} is no device; expected a text such as "cpu" or "gpu(1)".'
        )
    return Context(name, int(number[:-1]) if number else 0)


def as_context_list(context: Any) -> list[Any]:
    """A list of contexts from one context or a sequence of them; texts such as ``"cpu"`` will do.

    >>> as_context_list(cpu())
    [cpu(0)]
    """
    if isinstance(context, (Context, str)):
        return [as_context(context)]
    if not hasattr(context, "__iter__"):
        raise MXNetTypeError(
            f"[context] {context!r} is of type {type(context).__name__}; expected mx.cpu(), mx.gpu() or a list of them."
        )
    contexts = [as_context(item) for item in context]
    if not contexts:
        raise MXNetValueError(
            "[context] the list of devices is empty; expected at least one, such as mx.cpu()."
        )
    for item in contexts:
        if not isinstance(item, Context):
            raise MXNetTypeError(
                f"[context] {item!r} is not a Context; expected mx.cpu(), mx.gpu() or a list of them."
            )
    return contexts


_star.complete(globals(), "check_call classproperty ctypes threading warnings", "_LIB")
