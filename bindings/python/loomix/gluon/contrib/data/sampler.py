# SPDX-License-Identifier: Apache-2.0
"""Orders in which samples are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....base import MXNetValueError, described
from ...data.sampler import Sampler

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["IntervalSampler"]


class IntervalSampler(Sampler):
    """Every so many samples; then, with `rollover`, those that were skipped in the same way.

    Parameters
    ----------
    length : int
    interval : int
        From 1 to `length`.
    rollover : bool

    Examples
    --------
    >>> from loomix.gluon.contrib.data import IntervalSampler
    >>> list(IntervalSampler(7, 3)), list(IntervalSampler(7, 3, rollover=False))
    ([0, 3, 6, 1, 4, 2, 5], [0, 3, 6])
    """

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        if not 1 <= interval <= length:
            raise MXNetValueError(
                f"[IntervalSampler] interval is {interval}; expected 1 to the length, which is {length}."
            )
        self._length, self._interval, self._rollover = length, interval, rollover

    def __repr__(self) -> str:
        return described(self, length=self._length, interval=self._interval, rollover=self._rollover)

    def __iter__(self) -> Iterator[int]:
        for start in range(self._interval if self._rollover else 1):
            yield from range(start, self._length, self._interval)

    def __len__(self) -> int:
        return self._length if self._rollover else len(range(0, self._length, self._interval))
