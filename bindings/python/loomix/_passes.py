# SPDX-License-Identifier: Apache-2.0
"""Who may use what runs passes: one thread at a time, and each thread sees the results of its own pass or an error."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from .base import StateError

__all__ = ["Passes"]

_ADVICE = "give each thread one of its own, hold a lock from the pass until its results are read, or use mx.Predictor"


class Passes:
    """The passes of an executor or a module; a context manager for a call that must be the only one.

    Parameters
    ----------
    who : str
        What it belongs to, for errors.
    """

    def __init__(self, who: str) -> None:
        self._who = who
        self._lock = threading.RLock()
        self._own = (
            threading.local()
        )  # of each thread: the number of its last pass, and whether that was read
        self._number = 0
        self._ident = 0
        self._thread: Any = None  # of the last pass, weakly

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise StateError(
                f"[{self._who}] another thread is in the middle of a call of the same {self._who}; it serves one "
                f"thread at a time: {_ADVICE}."
            )

    def __exit__(self, *error: Any) -> None:
        self._lock.release()

    def begin(self) -> bool:
        """Notes a new pass of this thread; returns whether the last one was another thread's."""
        ident = threading.get_ident()
        changed = ident != self._ident and self._number > 0
        if ident != self._ident:
            self._ident = ident
            self._thread = weakref.ref(threading.current_thread())
        self._number += 1
        self._own.number = self._number
        self._own.read = False
        return changed

    def check(self, what: str) -> None:
        """Raises StateError when another thread's pass has replaced what this thread would get.

        A thread without a pass of its own gets the last one's results. So does one that has read its own, when the
        other thread has ended since: that is one after the other.
        """
        own = self._own
        number = getattr(own, "number", 0)
        if number in (0, self._number):
            own.read = True
            return
        thread = self._thread()
        if own.read and (thread is None or not thread.is_alive()):
            return
        name = "another thread" if thread is None else f"thread {thread.name!r}"
        raise StateError(
            f"[{self._who}] {what}: {name} has begun a pass since this thread's last one, whose results it "
            f"replaces; {_ADVICE}."
        )
