# SPDX-License-Identifier: Apache-2.0
"""Parameters that are cut over ranks, a part on each, as if they were whole: first values, and writing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core
from .ndarray import empty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .ndarray import NDArray

__all__ = ["Part", "SplitArray", "by_parts", "draw_part", "stretch"]

_PIECE = 1 << 17  # about so many elements are there at a time, where the whole need not be


def stretch(size: int, parts: int, i: int) -> tuple[int, int]:
    """Where one of the parts that an axis is cut into begins, and its size; the first ones have one more."""
    return size // parts * i + min(i, size % parts), size // parts + (i < size % parts)


class Part(NamedTuple):
    """Which part of a whole array another one is."""

    shape: tuple[int, ...]  #: of the whole
    axis: int  #: that is cut
    begin: int  #: of the part, along the axis

    def of(self, values: Any, size: int) -> Any:
        """What a part of this size has of the values that the whole would be set to."""
        if isinstance(values, (int, float)):
            return values
        if getattr(values, "shape", ()) == self.shape and hasattr(values, "slice_axis"):
            return values.slice_axis(self.axis, self.begin, self.begin + size)
        values = values.asnumpy() if hasattr(values, "asnumpy") else np.asarray(values)
        own = (slice(None),) * self.axis + (slice(self.begin, self.begin + size),)
        return np.broadcast_to(values, self.shape)[own]


def by_parts(method: Callable[..., Any]) -> Callable[..., Any]:
    """Marks what fills arrays by itself where they are parts (``desc.part``) of a parameter."""
    method.by_parts = True  # type: ignore[attr-defined]
    return method


def draw_part(sampler: str, parameters: dict[str, Any], part: Part, array: NDArray) -> None:
    """Fills a part with the numbers that a sampler, "uniform" or "normal", would put there in the whole. The generator
    goes on from where it would be then."""
    name, texts = f"_random_{sampler}", {key: repr(float(value)) for key, value in parameters.items()}
    row = math.prod(part.shape[1:])
    seed, offset = _core.random_reserve(array.context, 2 * part.shape[0] * row)
    # A normal number takes two of the generator's, but not of float64, where each element has a stream of its own.
    numbers = row * (2 if sampler == "normal" and np.dtype(array.dtype) != np.float64 else 1)
    if part.axis == 0:
        _core.random_draw(array, name, texts, seed, offset + part.begin * numbers)
        return
    rows = max(1, _PIECE // row)
    for first in range(0, part.shape[0], rows):
        piece = empty((min(rows, part.shape[0] - first), *part.shape[1:]), array.context, array.dtype)
        _core.random_draw(piece, name, texts, seed, offset + first * numbers)
        end = part.begin + array.shape[part.axis]
        array[first : first + rows] = piece.slice_axis(part.axis, part.begin, end)


class SplitArray:
    """An array of which this rank has a part. The ranks that have the parts call what is here together."""

    def __init__(self, part: NDArray, cut: Any, shape: Any) -> None:
        self._part, self._cut = part, cut  # cut: a parallel.splits.Cut
        self.shape = tuple(shape)
        self.dtype = part.dtype
        self._row_bytes = math.prod(self.shape[1:]) * np.dtype(self.dtype).itemsize

    @property
    def nbytes(self) -> int:
        """Of the whole."""
        return self.shape[0] * self._row_bytes

    def whole(self) -> NDArray:
        """The array, on each of the ranks."""
        array: NDArray = self._cut.whole(self._part, self.shape)
        return array

    def write(self, file: Any, is_kept: bool) -> None:
        """Writes the elements to where the file is, piece by piece; `is_kept`: whether this rank has a file."""
        begin = file.tell() if is_kept else 0
        for row, piece in self._pieces():
            if is_kept:
                file.seek(begin + row * self._row_bytes)
                file.write(piece.asnumpy().tobytes())
            else:
                piece.wait_to_read()
        if is_kept:
            file.seek(begin + self.nbytes)

    def _pieces(self) -> Iterator[tuple[int, NDArray]]:
        """Stretches of rows, and where they begin: all of the whole, in some order."""
        rows = max(1, _PIECE // math.prod(self.shape[1:]))
        if self._cut.axis > 0:
            for begin in range(0, self.shape[0], rows):
                part = self._part[begin : begin + rows]
                yield begin, self._cut.whole(part, (part.shape[0], *self.shape[1:]))
            return
        # A stretch of each rank's part at a time, which are as uneven as the parts: by one row, on the same ranks.
        ranks = self._cut.size
        parts = [stretch(self.shape[0], ranks, rank) for rank in range(ranks)]
        count = min(-(-self.shape[0] // rows), self.shape[0] // ranks)
        for i in range(count):
            places = [stretch(size, count, i) for _, size in parts]
            begin, size = places[self._cut.rank]
            total = sum(size for _, size in places)
            found = self._cut.whole(self._part[begin : begin + size], (total, *self.shape[1:]))
            for (first, _), (begin, size) in zip(parts, places):
                yield first + begin, found[:size]
                found = found[size:] if size < found.shape[0] else found
