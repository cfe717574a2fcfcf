# SPDX-License-Identifier: Apache-2.0
"""Lines that show on a terminal how far an epoch, or another piece of work, is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO

__all__ = ["EpochBar", "WorkBar", "is_terminal"]

_WIDTH = 16
_EVERY = 0.2  # seconds; reading the metric waits for the engine


def is_terminal(stream: Any) -> bool:
    """Whether a line that is drawn on the stream can be drawn again."""
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # it has no such method, or is closed
        return False


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class _Line:
    """A line of a terminal that is drawn again and again; nothing is drawn where the stream is none."""

    def __init__(self, stream: TextIO | None, wanted: bool = True) -> None:
        self._stream: Any = sys.stderr if stream is None else stream
        self.on = wanted and is_terminal(self._stream)
        self._begin = self._drawn = time.monotonic()
        self._shown = False

    def _write(self, parts: Sequence[str]) -> None:
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError, AttributeError):
            columns = 80
        self._stream.write("\r\x1b[K" + "  ".join(parts)[: max(columns - 1, 20)])
        self._stream.flush()
        self._shown = True

    def clear(self) -> None:
        """Takes the bar away, so that lines can be written."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False


def _bar(done: int, total: int) -> str:
    filled = round(_WIDTH * done / total)
    return f"[{'=' * filled}{' ' * (_WIDTH - filled)}]"


class WorkBar(_Line):
    """Draws a bar with what is done, if the standard error is a terminal.

    Parameters
    ----------
    head : str
        What is done.
    total : int or None
        How much there is to do, if that is known.
    unit : str
        What is counted.
    """

    def __init__(self, head: str, total: int | None, unit: str) -> None:
        super().__init__(None)
        self._head, self._total, self._unit = head, total, unit

    def show(self, done: int) -> None:
        """Tells how much is done."""
        if not self.on or time.monotonic() - self._drawn < _EVERY:
            return
        known = self._total is not None and 0 < self._total >= done
        count = f"{_bar(done, self._total)} {done:,}/{self._total:,}" if known else f"{done:,}"  # type: ignore[arg-type]
        self._write([self._head, f"{count} {self._unit}"])
        self._drawn = time.monotonic()


class EpochBar(_Line):
    """Draws a bar with the rate, the metrics and the time left, if the stream is a terminal.

    Parameters
    ----------
    epoch : int
        Which epoch it is, from 0.
    num_epoch : int or None
        The number after the last one, if that is known.
    total : int or None
        Batches in an epoch, if that is known.
    stream : file, optional
        The standard error by default.
    wanted : bool
        Nothing is drawn where it is false.

    Attributes
    ----------
    on : bool
        Whether anything is drawn.
    """

    def __init__(
        self,
        epoch: int,
        num_epoch: int | None,
        total: int | None,
        stream: TextIO | None = None,
        wanted: bool = True,
    ) -> None:
        super().__init__(stream, wanted)
        self._head, self._total = f"Epoch {epoch + 1}" + (f"/{num_epoch}" if num_epoch else ""), total
        self._samples = 0

    def step(
        self, batches: int, samples: int, values: Callable[[], Sequence[tuple[str, float]]] | None = None
    ) -> None:
        """Tells that ``batches`` batches are done, the last of which had ``samples`` samples. ``values`` gives names
        and values of metrics, and is called when the bar is drawn."""
        if not self.on:
            return
        self._samples += samples
        now = time.monotonic()
        if now - self._drawn < _EVERY:
            return
        self._draw(batches, values() if values is not None else [])
        self._drawn = time.monotonic()

    def _draw(self, batches: int, values: Sequence[tuple[str, float]]) -> None:
        seconds = time.monotonic() - self._begin  # after the values are known, which waits
        parts = [self._head]
        if self._total and batches <= self._total:
            parts.append(f"{_bar(batches, self._total)} {batches}/{self._total}")
        else:
            parts.append(f"{batches} batches")
        parts.append(f"{self._samples / seconds:.0f} samples/s")
        parts += [f"{name}={value:.4f}" for name, value in values]
        if self._total and batches <= self._total:
            parts.append(f"{_clock(seconds / batches * (self._total - batches))} left")
        self._write(parts)
