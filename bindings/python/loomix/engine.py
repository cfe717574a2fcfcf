# SPDX-License-Identifier: Apache-2.0
"""Settings of the execution engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from ._arguments import as_whole

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["bulk", "push_priority", "set_bulk_size"]

_bulk_size = 0


def set_bulk_size(size: Any) -> int:
    """Remembers a bulk size and returns the previous one.

    MXNet joins this many operators into one task to save the cost of pushing. Pushing is cheap here, so
    operators are never joined and the size has no effect; the function stays so that scripts run unchanged.

    >>> set_bulk_size(16)
    0
    >>> set_bulk_size(0)
    16
    """
    global _bulk_size
    previous, _bulk_size = _bulk_size, as_whole("set_bulk_size", "size", size)
    return previous


class _BulkScope:
    def __init__(self, size: Any) -> None:
        self._size = as_whole("bulk", "size", size)
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
