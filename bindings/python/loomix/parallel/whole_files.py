# SPDX-License-Identifier: Apache-2.0
"""Files of what is split over ranks, as one process would write them: rank 0 writes, one piece at a time."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, BinaryIO

from .._arguments import as_path
from .._parts import SplitArray
from ..optimizer.states import LIST_MAGIC, array_record, dense_head
from .files import together
from .job import rank

if TYPE_CHECKING:
    from ..ndarray import NDArray

__all__ = ["WholeFile", "write_params", "write_together"]


class WholeFile:
    """A file of rank 0; what other ranks write goes nowhere. Errors are kept for the end, as others wait in between."""

    def __init__(self, path: str) -> None:
        self.error: OSError | None = None
        self.is_first = rank() == 0
        self._file: BinaryIO | None = None
        if self.is_first:
            try:
                self._file = open(path, "wb")  # close() closes it
            except OSError as error:
                self.error = error

    def write(self, data: Any) -> int:
        """Writes bytes."""
        if self._file is not None and self.error is None:
            try:
                self._file.write(data)
            except OSError as error:
                self.error = error
        return len(data)

    def tell(self) -> int:
        """Where it is."""
        return 0 if self._file is None or self.error is not None else self._file.tell()

    def seek(self, place: int) -> int:
        """Goes on writing at a place."""
        if self._file is not None and self.error is None:
            try:
                self._file.seek(place)  # what is buffered may not be written
            except OSError as error:
                self.error = error
        return place

    def close(self) -> None:
        """To be called in any case."""
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                self.error = self.error or error


def write_together(filename: Any, write: Callable[[WholeFile], Any]) -> None:
    """All ranks call ``write``, and rank 0's file becomes `filename` when it is complete.

    Raises
    ------
    OSError
        On all ranks.
    """
    path = as_path("save", "fname", filename)
    temporary = f"{path}.{os.getpid()}.part"
    file = WholeFile(temporary)
    try:
        write(file)
    finally:
        file.close()

    def end() -> None:
        if not file.is_first:
            return
        try:
            if file.error is not None:
                raise file.error
            os.replace(temporary, path)
        finally:
            if os.path.exists(temporary):
                os.remove(temporary)

    together(end, f"save {path}")


def write_params(file: WholeFile, arrays: Iterable[tuple[str, Callable[[], NDArray | SplitArray]]]) -> None:
    """A .params file; each array is made, by all ranks, when it is its turn, and those in parts are never whole."""
    items = list(arrays)
    file.write(struct.pack("<QQQ", LIST_MAGIC, 0, len(items)))
    for _, make in items:
        array = make()
        if isinstance(array, SplitArray):
            file.write(dense_head(array.shape, array.dtype))
            array.write(file, file.is_first)
        elif file.is_first:
            file.write(array_record(array))
    file.write(struct.pack("<Q", len(items)))
    for name, _ in items:
        file.write(struct.pack("<Q", len(name.encode())) + name.encode())
