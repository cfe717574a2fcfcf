# SPDX-License-Identifier: Apache-2.0
"""Settings of the execution engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core, _star
from ._arguments import as_whole
from .base import MXNetValueError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["bulk", "push_priority", "set_bulk_size"]

_MOST_IN_BULK = 1 << 20


def set_bulk_size(size: Any) -> int:
    """Sets how many short operators of a bound graph or a hybridized block may be one task of the engine, and
    returns the size before.

    Parameters
    ----------
    size : int
        For what is bound from now on, by any thread. 1 joins none; 0, the value at the start, means what the settings
        say (``LOOMIX_BULK_SIZE``). Operators that are called on arrays one by one are never joined.

    >>> set_bulk_size(16)
    0
    >>> set_bulk_size(0)
    16
    """
    wanted = as_bulk_size("set_bulk_size", "size", size)
    return _core.exchange_bulk_size(wanted)


def as_bulk_size(who: str, name: str, size: Any) -> int:
    """A number of operators; raises for what is none."""
    number = as_whole(who, name, size)
    if not 0 <= number <= _MOST_IN_BULK:
        raise MXNetValueError(f"[{who}] {name} is {number}; expected 0 to {_MOST_IN_BULK}.")
    return number


class _BulkScope:
    def __init__(self, size: Any) -> None:
        self._size = as_bulk_size("bulk", "size", size)
        self._previous = 0

    def __enter__(self) -> Self:
        self._previous = set_bulk_size(self._size)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        set_bulk_size(self._previous)


def bulk(size: Any) -> Any:
    """A ``with`` scope of :func:`set_bulk_size`.

    >>> with bulk(10):
    ...     pass
    """
    return _BulkScope(size)


class push_priority:
    """A ``with`` scope: what this thread pushes to the engine in it has a priority.

    Among work that is ready, what has the larger priority runs first; outside of such scopes it is 0.

    >>> import loomix as mx
    >>> with push_priority(-3):
    ...     total = mx.nd.ones((2,)) + 1
    """

    def __init__(self, priority: int) -> None:
        self._priority = as_whole("push_priority", "priority", priority)

    def __enter__(self) -> Self:
        self._outer = _core.exchange_push_priority(self._priority)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        _core.exchange_push_priority(self._outer)


_star.complete(globals(), "check_call ctypes", "_LIB")
