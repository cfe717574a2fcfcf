# SPDX-License-Identifier: Apache-2.0
"""Names of operators that were made without one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, ClassVar

from . import _star
from .base import _MXClassPropertyMetaClass, classproperty

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["NameManager", "Prefix"]


class _Current(threading.local):
    """The innermost manager of a thread; every thread starts with one of its own."""

    def __init__(self) -> None:
        self.value = NameManager()


class NameManager(metaclass=_MXClassPropertyMetaClass):
    """Gives each unnamed operator the next free name: its hint and a counter from 0.

    Used in a ``with`` statement, a manager names what is made inside it, with fresh counters.

    >>> manager = NameManager()
    >>> manager.get(None, "fc"), manager.get(None, "fc"), manager.get("mine", "fc")
    ('fc0', 'fc1', 'mine')
    """

    _current: ClassVar[_Current]

    def __init__(self) -> None:
        self._counter: dict[Any, Any] = {}
        self._outer: list[Any] = []

    def get(self, name: str | None, hint: str) -> str:
        """``name`` if it is given, otherwise ``hint`` and its counter."""
        if name:
            return name
        count = self._counter.get(hint, 0)
        self._counter[hint] = count + 1
        return f"{hint}{count}"

    def __enter__(self) -> Self:
        self._outer.append(NameManager._current.value)
        NameManager._current.value = self
        return self

    def __exit__(self, *exc_info: Any) -> None:
        NameManager._current.value = self._outer.pop()

    @classproperty
    def current(cls) -> Any:
        """The manager that names operators in this thread now; may be set."""
        return NameManager._current.value

    @current.setter  # type: ignore[no-redef]
    def current(cls, value: Any) -> None:
        NameManager._current.value = value


class Prefix(NameManager):
    """Puts a prefix in front of given and automatic names.

    >>> Prefix("left_").get(None, "fc"), Prefix("left_").get("mine", "fc")
    ('left_fc0', 'left_mine')
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        return self._prefix + super().get(name, hint)


NameManager._current = _Current()


def current() -> Any:
    """The manager that names operators in this thread now."""
    return NameManager._current.value


_star.complete(globals(), "classproperty threading warnings")
