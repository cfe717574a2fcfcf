# SPDX-License-Identifier: Apache-2.0
"""Looks into executors while they run."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _star
from ._arguments import as_whole, expect
from .base import MXNetValueError, as_list, described
from .base import py_str as py_str
from .log import progress
from .ndarray import NDArray

if TYPE_CHECKING:
    from .executor import Executor

__all__ = ["Monitor"]


def _mean_size(array: NDArray) -> Any:
    """Default statistic: the norm over the root of the number of elements."""
    return array.norm() / array.size**0.5


class Monitor:
    """Collects a statistic of outputs, parameters and gradients every few batches.

    Parameters
    ----------
    interval : int
        Batches from one collection to the next.
    stat_func : callable, optional
        Statistic of an array; the norm over the root of the number of elements by default.
    pattern : str
        Regular expression of the names that count.
    sort : bool
        Whether results are sorted by name.
    monitor_all : bool
        Whether inputs of operators are looked at, too.

    Examples
    --------
    >>> import loomix as mx
    >>> monitor = mx.mon.Monitor(100, pattern=".*weight")
    >>> module.fit(batches, num_epoch=1, monitor=monitor)  # doctest: +SKIP
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable[[NDArray], Any] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        wanted = "a function of an array, or None"
        expect(stat_func is None or callable(stat_func), "Monitor", "stat_func", stat_func, wanted)
        self.stat_func = stat_func or _mean_size
        self.interval = as_whole("Monitor", "interval", interval, least=1)
        self.activated = False
        self.queue: list[Any] = []
        self.step = 0
        self.exes: list[Any] = []
        try:
            self.re_prog = re.compile(pattern)
        except (TypeError, re.error) as error:
            raise MXNetValueError(
                f"[Monitor] pattern is {pattern!r}; expected a regular expression ({error})."
            ) from None
        self.sort = sort
        self.monitor_all = monitor_all

    def __repr__(self) -> str:
        return described(
            self,
            interval=self.interval,
            pattern=self.re_prog.pattern,
            sort=self.sort,
            monitor_all=self.monitor_all,
        )

    def stat_helper(self, name: str, array: NDArray) -> None:
        """Takes the statistic of an array, if its name counts and the batch is one that is looked at."""
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Executor) -> None:
        """Watches an executor."""
        expect(hasattr(exe, "set_monitor_callback"), "Monitor.install", "exe", exe, "an Executor")
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def tic(self) -> None:
        """Begins a batch; call it before ``forward``."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[Any] | list[tuple[Any, Any, str]]:
        """Ends a batch.

        Returns
        -------
        list of (int, str, str)
            Batch number, name and statistic; empty for a batch that was not collected.
        """
        if not self.activated:
            return []
        for exe in self.exes:
            for arrays in (exe.arg_dict, exe.aux_dict):
                for name, array in arrays.items():
                    self.stat_helper(name, array)
        self.activated = False
        if self.sort:
            self.queue.sort(key=lambda item: item[1])
        results = []
        for step, name, values in self.queue:
            text = "".join(f"{self._text(value)}\t" for value in as_list(values))
            results.append((step, name, text))
        self.queue = []
        return results

    @staticmethod
    def _text(value: Any) -> str:
        if not hasattr(value, "asnumpy"):
            return str(value)
        return str(value.asscalar()) if value.shape in ((), (1,)) else str(value.asnumpy())

    def toc_print(self) -> None:
        """Ends a batch and logs the results."""
        for step, name, text in self.toc():
            progress(logging, "Batch: %7d %-30s %s", step, name, text)


_star.complete(globals(), "NDArray NDArrayHandle ctypes logging ndarray py_str re sqrt")
