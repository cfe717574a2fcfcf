# SPDX-License-Identifier: Apache-2.0
"""Batches of sparse rows from LibSVM files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import as_path, as_shape, as_whole
from ..base import MXNetFileError, MXNetValueError, ShapeError
from .base import DataDesc, arguments_of, warn_of_unknown
from .files import MXDataIter

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..context import Context

__all__ = ["LibSVMIter"]


class _Rows:
    """Sparse rows: where each begins, columns, values; and the numbers before the first column."""

    def __init__(self, path: str, width: Any) -> None:
        path = as_path("LibSVMIter", "the file", path)
        self.width = width
        self.begins: Any = [0]
        columns: list[int] = []
        values: list[float] = []
        labels: list[list[float]] = []
        names = (
            [os.path.join(path, name) for name in sorted(os.listdir(path))] if os.path.isdir(path) else [path]
        )
        for name in names:
            try:
                with open(name) as file:
                    for number, line in enumerate(file, 1):
                        self._add(
                            line.split("#", 1)[0].split(), columns, values, labels, f"{name}, line {number}"
                        )
            except (OSError, UnicodeDecodeError) as error:
                raise MXNetFileError(f"[LibSVMIter] cannot read {name}: {error}.") from None
        self.columns, self.values = np.array(columns, np.int64), np.array(values, np.float32)
        self.begins = np.array(self.begins, np.int64)
        self.labels = labels

    def _add(self, fields: Any, columns: Any, values: Any, labels: Any, where: Any) -> None:
        if not fields:
            return
        count = 0
        while count < len(fields) and ":" not in fields[count]:
            count += 1
        try:
            row = [
                (int(column), float(value))
                for column, value in (field.split(":") for field in fields[count:])
            ]
            labels.append([float(value) for field in fields[:count] for value in field.split(",") if value])
        except ValueError:
            raise MXNetFileError(f"[LibSVMIter] {where}: expected `label column:value ...`.") from None
        for column, value in row:
            if not 0 <= column < self.width:
                raise MXNetFileError(
                    f"[LibSVMIter] {where}: column {column} is out of range; expected 0 to {self.width - 1}."
                )
            columns.append(column)
            values.append(value)
        if any(a >= b for (a, _), (b, _) in zip(row, row[1:])):
            raise MXNetFileError(f"[LibSVMIter] {where}: the columns do not ascend.")
        self.begins.append(len(columns))

    def __len__(self) -> int:
        return len(self.begins) - 1

    def take(self, rows: Any) -> Any:
        """A csr array of these rows."""
        from ..ndarray.sparse import csr_matrix

        counts = self.begins[rows + 1] - self.begins[rows]
        places = np.concatenate([np.arange(self.begins[row], self.begins[row + 1]) for row in rows])
        begins = np.concatenate([[0], np.cumsum(counts)])
        return csr_matrix(
            (self.values[places], self.columns[places], begins),
            shape=(len(rows), self.width),
            dtype="float32",
        )


def _width(shape: Any, what: str) -> int:
    shape = as_shape("LibSVMIter", what, shape)
    if len(shape) != 1 or shape[0] < 1:
        raise ShapeError(f"[LibSVMIter] {what} is {shape}; expected one positive number.")
    return int(shape[0])


class LibSVMIter(MXDataIter):
    """Rows of LibSVM files, ``label column:value ...`` with columns that ascend from 0, as csr arrays.

    The last batch is filled up from the beginning.

    Parameters
    ----------
    data_libsvm : str
        File of the inputs, or a folder whose files are all read.
    data_shape : tuple of int
        (columns,).
    label_libsvm : str, optional
        The same for labels, which are csr arrays then. Otherwise the numbers at the beginning of each line are the
        labels.
    label_shape : tuple of int
        (columns,) of the labels.
    num_parts, part_index : int
        Cuts the rows into so many parts and reads the one with this number.
    batch_size : int
        Rows in a batch.
    round_batch : bool
        Only True is known.
    ctx, prefetch_buffer
        As in MXNet's signature; they change nothing: csr batches lie in plain memory, where all of the file is.
    data_name, label_name : str
        Names of input and label.

    Raises
    ------
    OSError or ValueError
        When a file cannot be read, a line makes no sense, or data and labels differ in number.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> name = os.path.join(tempfile.mkdtemp(), "rows.libsvm")
    >>> with open(name, "w") as file:
    ...     _ = file.write("1 0:5 2:6\\n0 1:7\\n")
    >>> next(mx.io.LibSVMIter(data_libsvm=name, data_shape=(3,), batch_size=2)).data[0].asnumpy()
    array([[5., 0., 6.],
           [0., 7., 0.]], dtype=float32)
    """

    def __init__(
        self,
        data_libsvm: Any,
        data_shape: Sequence[int],
        label_libsvm: Any = None,
        label_shape: Any = (1,),
        num_parts: int = 1,
        part_index: int = 0,
        batch_size: int = 1,
        round_batch: bool = True,
        prefetch_buffer: int = 4,
        ctx: Context | str | None = None,
        dtype: DTypeLike | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **unknown: Any,
    ) -> None:
        super().__init__(as_whole("LibSVMIter", "batch_size", batch_size, least=1), ctx)
        warn_of_unknown("LibSVMIter", unknown, arguments_of(LibSVMIter))
        if not round_batch:
            raise MXNetValueError("[LibSVMIter] round_batch is False; expected True.")
        if not 0 <= part_index < num_parts:
            raise MXNetValueError(f"[LibSVMIter] part_index {part_index} is not below num_parts {num_parts}.")
        if dtype is not None and np.dtype(dtype) != np.float32:
            raise MXNetValueError(f"[LibSVMIter] dtype is {dtype}; expected float32.")
        self._data = _Rows(data_libsvm, _width(data_shape, "data_shape"))
        label_width = _width(label_shape, "label_shape")
        self._sparse_labels = label_libsvm not in (None, "NULL")
        self._labels: Any
        if self._sparse_labels:
            self._labels = _Rows(label_libsvm, label_width)
            if len(self._labels) != len(self._data):
                raise ShapeError(
                    f"[LibSVMIter] there are {len(self._data)} rows of data but {len(self._labels)} labels."
                )
        else:
            wrong = [i for i, label in enumerate(self._data.labels) if len(label) != label_width]
            if wrong:
                raise ShapeError(
                    f"[LibSVMIter] row {wrong[0]} has {len(self._data.labels[wrong[0]])} labels; expected "
                    f"{label_width}."
                )
            self._labels = np.array(self._data.labels, np.float32).reshape(-1, label_width)
        begin, end = (len(self._data) * part // num_parts for part in (part_index, part_index + 1))
        if begin == end:
            raise MXNetFileError(f"[LibSVMIter] {data_libsvm} holds no rows to read.")
        self._order = np.arange(begin, end)
        self._names, self._label_width = (data_name, label_name), label_width
        self._begin = 0
        self._rows = self._order[:0]
        self._pad = 0

    @property
    def provide_data(self) -> list[Any]:
        """Description of the data of a batch."""
        return [DataDesc(self._names[0], (self.batch_size, self._data.width))]

    @property
    def provide_label(self) -> list[Any]:
        """Description of the labels of a batch; labels of one number have the shape (batch,)."""
        plain = not self._sparse_labels and self._label_width == 1
        return [
            DataDesc(self._names[1], (self.batch_size,) if plain else (self.batch_size, self._label_width))
        ]

    def reset(self) -> None:
        self._begin = 0

    def iter_next(self) -> Any:
        count = len(self._order)
        if self._begin >= count:
            return False
        end = self._begin + self.batch_size
        self._pad = max(end - count, 0)
        self._rows = self._order[np.arange(self._begin, end) % count]
        self._begin = end
        return True

    def getindex(self) -> Any:
        return self._rows.astype(np.uint64)

    def getdata(self) -> Any:
        return self._data.take(self._rows)

    def getlabel(self) -> Any:
        from ..ndarray import array

        if self._sparse_labels:
            return self._labels.take(self._rows)
        return array(self._labels[self._rows].reshape(self.provide_label[0].shape))

    def getpad(self) -> Any:
        return self._pad
