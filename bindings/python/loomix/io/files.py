# SPDX-License-Identifier: Apache-2.0
"""Batches from MNIST's idx files and from CSV files."""

from __future__ import annotations

import gzip
import logging
import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import as_dtype, as_path, as_shape, as_whole
from ..base import MXNetFileError, MXNetValueError, ShapeError
from ..context import cpu, cpu_pinned
from ..log import note
from .base import DataBatch, DataDesc, DataIter, arguments_of, warn_of_unknown

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..context import Context

__all__ = ["CSVIter", "MNISTIter", "MXDataIter"]


class MXDataIter(DataIter):
    """Base of the iterators that read files.

    As MXNet's, their :meth:`getdata` and :meth:`getlabel` return one array each, and batches hold lists of one.
    Batches for ``ctx="gpu"`` lie in page-locked memory once the program uses a GPU.
    """

    def __init__(self, batch_size: int = 0, ctx: Context | str | None = None) -> None:
        super().__init__(batch_size)
        self._repeated: DataBatch | None = None
        target = "gpu" if ctx is None else getattr(ctx, "device_type", ctx)
        if target not in ("cpu", "gpu"):
            raise MXNetValueError(f"[{type(self).__name__}] ctx is {ctx!r}; expected 'cpu' or 'gpu'.")
        self._for_gpus = target == "gpu"

    def debug_skip_load(self) -> None:
        """From now on every batch is the next one again, and no more are read: to time the rest of a program."""
        self._repeated = self.next()

    def next(self) -> DataBatch:
        if self._repeated is not None:
            return self._repeated
        if not self.iter_next():
            raise StopIteration
        return DataBatch([self.getdata()], [self.getlabel()], self.getpad(), self.getindex())

    def _batch_array(self, values: Any, dtype: DTypeLike | None) -> Any:
        from .. import _core
        from ..ndarray import array

        pinned = self._for_gpus and _core.gpus_in_use()
        return array(values, cpu_pinned() if pinned else cpu(), dtype)


def read_idx(path: str) -> Any:
    """The array in an idx file of bytes, which may be compressed with gzip.

    Parameters
    ----------
    path : str
        The file: two zero bytes, type 8, number of dimensions, big-endian sizes, then the bytes.

    Returns
    -------
    numpy.ndarray
        uint8; for an uncompressed file a map of it.

    Raises
    ------
    OSError
        When the file is missing, of another kind, or shorter than it says.
    """
    try:
        with open(as_path("MNISTIter", "the file", path), "rb") as file:
            compressed = file.read(2) == b"\x1f\x8b"
        if compressed:
            with gzip.open(path, "rb") as file:
                content = np.frombuffer(file.read(), np.uint8)
        elif os.path.getsize(path):
            content = np.memmap(path, np.uint8, mode="r")
        else:
            content = np.empty(0, np.uint8)
    except (OSError, EOFError) as error:
        raise MXNetFileError(f"[MNISTIter] cannot read {path}: {error}.") from None
    if len(content) < 4 or content[0] or content[1] or content[2] != 8:
        raise MXNetFileError(
            f"[MNISTIter] {path} is not an idx file of bytes; it starts with {bytes(content[:4])!r}."
        )
    dims = int(content[3])
    begin = 4 + 4 * dims
    if len(content) < begin:
        raise MXNetFileError(f"[MNISTIter] {path} ends inside its header.")
    shape = tuple(int(size) for size in content[4:begin].view(">u4"))
    end = begin + math.prod(shape)
    if len(content) < end:
        raise MXNetFileError(f"[MNISTIter] {path} has {len(content)} bytes, but its header tells of {end}.")
    return content[begin:end].reshape(shape)


class MNISTIter(MXDataIter):
    """Images and labels in MNIST's idx files. The last samples, if they do not fill a batch, are left out.

    Parameters
    ----------
    image, label : str
        The files, compressed with gzip or not.
    batch_size : int
        Samples in a batch.
    shuffle : bool
        Whether the samples are put into a random order, once.
    flat : bool
        Whether batches have the shape (batch, pixels) rather than (batch, 1, rows, columns).
    seed : int
        Seed of the order.
    silent : bool
        Whether the number of images is kept out of the log.
    num_parts, part_index : int
        Cuts the files into so many parts and reads the one with this number.
    ctx : str, optional
        ``"gpu"``, the default: batches lie in page-locked memory (``cpu_pinned``) once the program uses a GPU;
        ``"cpu"``: never.
    prefetch_buffer : int
        As in MXNet's signature; it changes nothing, since all is in memory.
    dtype : dtype
        Type of the batches; float32 by default. Values are the bytes divided by 256.
    data_name, label_name : str
        Names of input and label.

    Raises
    ------
    OSError
        When a file is missing or damaged.
    ValueError
        When images and labels differ in number, or an argument is out of range.

    Examples
    --------
    >>> import os, struct, tempfile
    >>> import loomix as mx
    >>> folder = tempfile.mkdtemp()
    >>> images, labels = os.path.join(folder, "images"), os.path.join(folder, "labels")
    >>> with open(images, "wb") as file:  # two images of 28 x 28
    ...     _ = file.write(struct.pack(">IIII", 2051, 2, 28, 28) + bytes(2 * 28 * 28))
    >>> with open(labels, "wb") as file:
    ...     _ = file.write(struct.pack(">II", 2049, 2) + bytes([3, 7]))
    >>> next(mx.io.MNISTIter(image=images, label=labels, batch_size=2, shuffle=False)).label[0].asnumpy()
    array([3., 7.], dtype=float32)
    """

    def __init__(
        self,
        image: str = "./train-images-idx3-ubyte",
        label: Any = "./train-labels-idx1-ubyte",
        batch_size: int = 128,
        shuffle: bool = True,
        flat: bool = False,
        seed: int = 0,
        silent: bool = False,
        num_parts: int = 1,
        part_index: int = 0,
        prefetch_buffer: int = 4,
        ctx: Context | str | None = None,
        dtype: DTypeLike | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **unknown: Any,
    ) -> None:
        super().__init__(as_whole("MNISTIter", "batch_size", batch_size, least=1), ctx)
        warn_of_unknown("MNISTIter", unknown, arguments_of(MNISTIter))
        images, labels = read_idx(image), read_idx(label)
        if images.ndim != 3 or labels.ndim != 1:
            raise MXNetFileError(
                f"[MNISTIter] {image} and {label} hold {images.ndim} and {labels.ndim} dimensions; expected "
                f"3 and 1."
            )
        if len(images) != len(labels):
            raise ShapeError(f"[MNISTIter] there are {len(images)} images but {len(labels)} labels.")
        if not 0 <= part_index < num_parts:
            raise MXNetValueError(f"[MNISTIter] part_index {part_index} is not below num_parts {num_parts}.")
        begin, end = (len(images) * part // num_parts for part in (part_index, part_index + 1))
        self._images, self._labels = images, labels
        self._order = np.arange(begin, end)
        if shuffle:
            np.random.RandomState(seed).shuffle(self._order)
        self._sample = (images[0].size,) if flat else (1, *images.shape[1:])
        self._dtype = as_dtype("MNISTIter", "dtype", "float32" if dtype is None else dtype)
        self._names = (data_name, label_name)
        self._cursor = -batch_size
        if not silent:
            note(logging, "MNISTIter: %d images of shape %s, shuffle=%d", end - begin, self._sample, shuffle)

    @property
    def provide_data(self) -> list[Any]:
        """Description of the images of a batch."""
        return [DataDesc(self._names[0], (self.batch_size, *self._sample), self._dtype.type)]

    @property
    def provide_label(self) -> list[Any]:
        """Description of the labels of a batch."""
        return [DataDesc(self._names[1], (self.batch_size,), self._dtype.type)]

    def reset(self) -> None:
        self._cursor = -self.batch_size

    def iter_next(self) -> Any:
        if self._cursor + self.batch_size <= len(self._order):
            self._cursor += self.batch_size
        return self._cursor + self.batch_size <= len(self._order)

    def getindex(self) -> Any:
        return self._order[self._cursor : self._cursor + self.batch_size].astype(np.uint64)

    def getdata(self) -> Any:
        rows = self._images[self.getindex()]
        values = np.multiply(rows, np.float32(1 / 256), dtype=np.float32)
        return self._batch_array(values.reshape(self.batch_size, *self._sample), self._dtype)

    def getlabel(self) -> Any:
        return self._batch_array(self._labels[self.getindex()].astype(np.float32), self._dtype)

    def getpad(self) -> Any:
        return 0

    def get_state(self) -> dict[Any, Any]:
        """Position in the pass, as a dict; the order follows from the seed."""
        return {"cursor": self._cursor}

    def set_state(self, state: Any) -> None:
        """Goes back to what :meth:`get_state` returned."""
        self._cursor = int(state["cursor"])


def _read_csv(path: str, shape: Sequence[int], dtype: DTypeLike | None) -> Any:
    """All rows of a CSV file, or of every file in a folder, as an array of shape (rows, *shape)."""
    path = as_path("CSVIter", "the file", path)
    names = [os.path.join(path, name) for name in sorted(os.listdir(path))] if os.path.isdir(path) else [path]
    parts = []
    for name in names:
        try:
            values = np.loadtxt(name, delimiter=",", dtype=dtype, ndmin=2)
        except (OSError, ValueError) as error:
            raise MXNetFileError(f"[CSVIter] cannot read {name}: {error}.") from None
        if values.shape[1] != math.prod(shape):
            raise ShapeError(
                f"[CSVIter] {name} has {values.shape[1]} values in a row; expected them to fill {shape}."
            )
        parts.append(values.reshape(-1, *shape))
    return np.concatenate(parts)


class CSVIter(MXDataIter):
    """Rows of CSV files.

    Parameters
    ----------
    data_csv : str
        File of the inputs, or a folder whose files are all read.
    data_shape : tuple of int
        Shape of one sample; its values are one row. A number is that of one axis, and a text such as ``"(2, 3)"``
        will do.
    label_csv : str, optional
        The same for the labels; without it they are 0.
    label_shape : tuple of int
        Shape of one label.
    batch_size : int
        Samples in a batch.
    round_batch : bool
        Whether the last batch is filled up from the beginning, where the next pass then goes on. Otherwise
        it keeps samples of the batch before, and ``pad`` says how many.
    ctx : str, optional
        ``"gpu"``, the default: batches lie in page-locked memory (``cpu_pinned``) once the program uses a GPU;
        ``"cpu"``: never.
    prefetch_buffer : int
        As in MXNet's signature; it changes nothing, since all is in memory.
    dtype : dtype
        float32, int32 or int64; float32 by default.
    data_name, label_name : str
        Names of input and label.

    Raises
    ------
    OSError or ValueError
        When a file cannot be read, or rows do not fit the shapes.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> name = os.path.join(tempfile.mkdtemp(), "rows.csv")
    >>> with open(name, "w") as file:
    ...     _ = file.write("1,2\\n3,4\\n")
    >>> next(mx.io.CSVIter(data_csv=name, data_shape=(2,), batch_size=2)).data[0].asnumpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """

    def __init__(
        self,
        data_csv: Any,
        data_shape: Sequence[int],
        label_csv: Any = None,
        label_shape: Any = (1,),
        batch_size: int = 1,
        round_batch: bool = True,
        prefetch_buffer: int = 4,
        ctx: Context | str | None = None,
        dtype: DTypeLike | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **unknown: Any,
    ) -> None:
        super().__init__(as_whole("CSVIter", "batch_size", batch_size, least=1), ctx)
        warn_of_unknown("CSVIter", unknown, arguments_of(CSVIter))
        data_shape = as_shape("CSVIter", "data_shape", data_shape)
        label_shape = as_shape("CSVIter", "label_shape", label_shape)
        self._dtype = as_dtype("CSVIter", "dtype", "float32" if dtype is None else dtype)
        self._data = _read_csv(data_csv, data_shape, self._dtype)
        if label_csv in (None, "NULL"):
            self._label = np.zeros((len(self._data), *label_shape), self._dtype)
        else:
            self._label = _read_csv(label_csv, label_shape, self._dtype)
        if len(self._data) != len(self._label):
            raise ShapeError(
                f"[CSVIter] there are {len(self._data)} rows of data but {len(self._label)} labels."
            )
        if not len(self._data):
            raise MXNetFileError(f"[CSVIter] {data_csv} holds no rows.")
        self._round = round_batch
        self._names = (data_name, label_name)
        self._begin = 0
        self._rows = np.zeros(batch_size, np.int64)
        self._pad = 0

    @property
    def provide_data(self) -> list[Any]:
        """Description of the data of a batch."""
        return [DataDesc(self._names[0], (self.batch_size, *self._data.shape[1:]), self._dtype.type)]

    @property
    def provide_label(self) -> list[Any]:
        """Description of the labels of a batch; a label of shape (1,) is a number."""
        shape = self._label.shape[1:]
        return [
            DataDesc(self._names[1], (self.batch_size, *(() if shape == (1,) else shape)), self._dtype.type)
        ]

    def reset(self) -> None:
        # A rounded last batch went past the end; the samples it took are not repeated.
        self._begin = max(self._begin - len(self._data), 0) if self._round else 0

    def iter_next(self) -> Any:
        count = len(self._data)
        if self._begin >= count:
            return False
        end = self._begin + self.batch_size
        self._pad = max(end - count, 0)
        rows = np.arange(self._begin, end)
        if self._round:
            self._rows = rows % count
        else:
            self._rows = np.where(rows < count, rows, self._rows)
        self._begin = end
        return True

    def getindex(self) -> Any:
        return self._rows.astype(np.uint64)

    def getdata(self) -> Any:
        return self._batch_array(self._data[self._rows], self._dtype)

    def getlabel(self) -> Any:
        return self._batch_array(self._label[self._rows].reshape(self.provide_label[0].shape), self._dtype)

    def getpad(self) -> Any:
        return self._pad
