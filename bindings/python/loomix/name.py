# SPDX-License-Identifier: Apache-2.0
"""Names of operators that were made without one."""

import threading

from .base import classproperty

__all__ = ["NameManager", "Prefix"]


class _Current(threading.local):
    """The innermost manager of a thread; every thread starts with one of its own."""

    def __init__(self):
        self.value = NameManager()


class NameManager:
    """Gives each unnamed operator the next free name: its hint and a counter from 0.

    Used in a ``with`` statement, a manager names what is made inside it, with fresh counters.

    >>> manager = NameManager()
    >>> manager.get(None, "fc"), manager.get(None, "fc"), manager.get("mine", "fc")
    ('fc0', 'fc1', 'mine')
    """

    def __init__(self):
        self._counter = {}
        self._outer = []

    def get(self, name, hint):
        """``name`` if it is given, otherwise ``hint`` and its counter."""
        if name:
            return name
        count = self._counter.get(hint, 0)
        self._counter[hint] = count + 1
        return f"{hint}{count}"

    def __enter__(self):
        self._outer.append(NameManager._current.value)
        NameManager._current.value = self
        return self

    def __exit__(self, *exc_info):
        NameManager._current.value = self._outer.pop()

    @classproperty
    def current(cls):
        """The manager that names operators in this thread now."""
        return NameManager._current.value


class Prefix(NameManager):
    """Puts a prefix in front of given and automatic names.

    >>> Prefix("left_").get(None, "fc"), Prefix("left_").get("mine", "fc")
    ('left_fc0', 'left_mine')
    """

    def __init__(self, prefix):
        super().__init__()
        self._prefix = prefix

    def get(self, name, hint):
        return self._prefix + super().get(name, hint)


NameManager._current = _Current()


def current():
    """The manager that names operators in this thread now."""
    return NameManager._current.value
