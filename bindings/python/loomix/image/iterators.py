# SPDX-License-Identifier: Apache-2.0
"""Iterators over images whose augmentation is Python's."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from .. import recordio
from .._arguments import as_shape, as_whole
from ..base import MXNetFileError, MXNetValueError
from ..io.base import DataBatch, DataDesc, DataIter
from .augment import CreateAugmenter
from .functions import imdecode

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..ndarray import NDArray

__all__ = ["ImageIter"]

_MODES = ("pad", "discard", "roll_over")


def _read_list(path: str) -> Any:
    entries = {}
    with open(path) as file:
        for number, line in enumerate(file, 1):
            fields = line.strip().split("\t")
            if fields == [""]:
                continue
            try:
                entries[int(float(fields[0]))] = (np.array(fields[1:-1], np.float32), fields[-1])
            except ValueError:
                fields = []
            if len(fields) < 3:
                raise MXNetFileError(
                    f"[ImageIter] {path}, line {number}: expected `id, labels, path` with tabs."
                )
    return entries


class ImageIter(DataIter):
    """Batches of images from a record file, a list file, or a list; augmented by Python objects.

    Parameters
    ----------
    batch_size : int
        Images in a batch.
    data_shape : tuple of int
        (channels, height, width).
    label_width : int
        Labels of an image.
    path_imgrec : str, optional
        Record file; with ``path_imgidx`` it can be shuffled and cut into parts.
    path_imglist : str, optional
        List file, of images below ``path_root``; or the labels of the record file.
    path_root : str, optional
        Folder of the images.
    path_imgidx : str, optional
        Index of the record file.
    shuffle : bool
        Whether the order is drawn anew (with ``random``) at each reset.
    part_index, num_parts : int
        Cuts the data into so many parts and reads the one with this number.
    aug_list : list of Augmenter, optional
        The augmentation; :func:`CreateAugmenter` makes it from the other keyword arguments by default.
    imglist : list, optional
        [label, path] or [labels, path] for each image.
    data_name, label_name : str
        Names of input and label.
    dtype : str
        Type of the labels.
    last_batch_handle : {"pad", "discard", "roll_over"}
        What becomes of images that do not fill a batch: it is filled up from the beginning, or they are left
        out, or they begin the next pass.

    Raises
    ------
    OSError
        For files that are missing or damaged.
    ValueError
        For arguments that do not fit together.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> import numpy as np
    >>> folder = tempfile.mkdtemp()
    >>> header = mx.recordio.IRHeader(0, 0, 0, 0)
    >>> packed = mx.recordio.pack_img(header, np.zeros((32, 32, 3), "uint8"), img_fmt=".png")
    >>> with open(os.path.join(folder, "a.png"), "wb") as file:
    ...     _ = file.write(mx.recordio.unpack(packed)[1])
    >>> pictures = mx.image.ImageIter(1, (3, 24, 24), imglist=[[5.0, "a.png"]], path_root=folder)
    >>> batch = next(pictures)
    >>> batch.data[0].shape, batch.label[0].asnumpy()
    ((1, 3, 24, 24), array([5.], dtype=float32))
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        label_width: int = 1,
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: Any = None,
        imglist: Any = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: DTypeLike | None = "float32",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        super().__init__(as_whole("ImageIter", "batch_size", batch_size, least=1))
        data_shape = as_shape("ImageIter", "data_shape", data_shape)
        if not (path_imgrec or path_imglist or isinstance(imglist, list)):
            raise MXNetValueError("[ImageIter] expected path_imgrec, path_imglist or imglist.")
        if last_batch_handle not in _MODES:
            raise MXNetValueError(
                f"[ImageIter] last_batch_handle is {last_batch_handle!r}; expected {_MODES}."
            )
        if dtype not in ("int32", "float32", "int64", "float64"):
            raise MXNetValueError(f"[ImageIter] dtype is {dtype!r}; expected a type of labels.")
        self.check_data_shape(data_shape)
        self.data_shape, self.label_width, self.dtype = tuple(data_shape), label_width, dtype
        self.shuffle, self.last_batch_handle = shuffle, last_batch_handle
        self.path_root = path_root
        self.imgrec: Any = None
        self.imgidx: Any = None
        self.imglist: Any = None
        self.seq: Any = None
        if path_imgrec and path_imgidx:
            self.imgrec = recordio.MXIndexedRecordIO(path_imgidx, path_imgrec, "r")
            self.seq = list(self.imgrec.keys)
        elif path_imgrec:
            if shuffle or num_parts > 1:
                raise MXNetValueError("[ImageIter] shuffling or cutting a record file needs path_imgidx.")
            self.imgrec = recordio.MXRecordIO(path_imgrec, "r")
        if path_imglist:
            self.imglist = _read_list(path_imglist)
        elif isinstance(imglist, list):
            self.imglist = {
                i: (np.array(item[:-1] if len(item) > 2 else item[0], np.float32).reshape(-1), item[-1])
                for i, item in enumerate(imglist)
            }
        if self.imgrec is None:
            self.seq = list(self.imglist)
        if num_parts > 1:
            if not 0 <= part_index < num_parts:
                raise MXNetValueError(
                    f"[ImageIter] part_index {part_index} is not below num_parts {num_parts}."
                )
            count = len(self.seq) // num_parts
            self.seq = self.seq[part_index * count : (part_index + 1) * count]
        self.num_image = None if self.seq is None else len(self.seq)
        self.auglist = CreateAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.provide_data = [DataDesc(data_name, (batch_size, *self.data_shape))]
        shape = (batch_size, label_width) if label_width > 1 else (batch_size,)
        self.provide_label = [DataDesc(label_name, shape, dtype)]
        self.cur = 0
        self._rest: list[Any] = []  # samples that a pass left over
        self._ended = False
        self.reset()

    def reset(self) -> None:
        """Begins again; in the mode "roll_over" with the images that the last pass left over."""
        if self.shuffle:
            random.shuffle(self.seq)
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0
        self._ended = False

    def hard_reset(self) -> None:
        """Begins again, without the images that the last pass left over."""
        self._rest = []
        self.reset()

    def next_sample(self) -> Any:
        """Labels and encoded image of the next sample.

        Raises
        ------
        StopIteration
            At the end.
        """
        if self.seq is None:
            record = self.imgrec.read()
            if record is None:
                raise StopIteration
            header, image = recordio.unpack(record)
            return self._label_of(header), image
        if self.cur >= len(self.seq):
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            label, name = self.imglist[key]
            return label, self.read_image(name)
        header, image = recordio.unpack(self.imgrec.read_idx(key))
        return self._label_of(header), image

    def _label_of(self, header: Any) -> Any:
        if self.imglist is None:
            return header.label
        if header.id not in self.imglist:
            raise MXNetFileError(f"[ImageIter] the list has no labels for id {header.id}.")
        return self.imglist[header.id][0]

    def read_image(self, fname: str) -> bytes:
        """The content of a file below ``path_root``."""
        path = os.path.join(self.path_root or "", fname)
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise MXNetFileError(f"[ImageIter] cannot read {path}: {error}.") from None

    def imdecode(self, s: str) -> Any:
        """The pixels of an encoded image, (H, W, C)."""
        try:
            return imdecode(s, flag=0 if self.data_shape[0] == 1 else 1)
        except MXNetFileError as error:
            where = f"sample {self.cur}" if self.imgrec is None else f"sample {self.cur} of {self.imgrec.uri}"
            raise MXNetFileError(f"{error}\nin {where}") from None

    def check_data_shape(self, data_shape: Sequence[int]) -> None:
        """Raises ValueError unless the shape is (1 or 3 channels, height, width)."""
        if len(data_shape) != 3 or data_shape[0] not in (1, 3):
            raise MXNetValueError(f"[ImageIter] data_shape is {data_shape}; expected (3, height, width).")

    def check_valid_image(self, data: Any) -> None:
        """Raises ValueError for an image without pixels."""
        if len(data[0].shape) == 0:
            raise MXNetValueError("[ImageIter] the image has no shape.")

    def augmentation_transform(self, data: Any) -> Any:
        """The image after all augmenters."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum: Any) -> NDArray:
        """From (H, W, C) to (C, H, W)."""
        return nd.transpose(datum, axes=(2, 0, 1))

    def _make(self, label: Any, encoded: Any) -> Any:
        """One finished sample: pixels and labels as NumPy arrays."""
        data = self.imdecode(encoded)
        self.check_valid_image([data])
        data = self.postprocess_data(self.augmentation_transform(data)).asnumpy()
        if data.shape != self.data_shape:
            raise MXNetValueError(f"[ImageIter] the image became {data.shape}; expected {self.data_shape}.")
        label = np.atleast_1d(np.asarray(label, np.float32))
        if len(label) != self.label_width:
            raise MXNetFileError(
                f"[ImageIter] sample {self.cur} has {len(label)} labels; expected label_width, {self.label_width}."
            )
        return data, label

    def _samples(self) -> list[Any]:
        """Samples until the batch is full or the data ends."""
        samples, self._rest = self._rest, []
        while len(samples) < self.batch_size:
            try:
                samples.append(self._make(*self.next_sample()))
            except StopIteration:
                break
        return samples

    def _batch(self, samples: Any, pad: Any) -> DataBatch:
        data = nd.array(np.stack([data for data, _ in samples]))
        labels = np.stack([label for _, label in samples]).reshape(self.provide_label[0].shape)
        return DataBatch([data], [nd.array(labels, dtype=self.dtype)], pad=pad)

    def next(self) -> DataBatch:
        if self._ended:
            raise StopIteration
        samples = self._samples()
        missing = self.batch_size - len(samples)
        if missing and self.last_batch_handle == "roll_over":
            self._ended, self._rest = True, samples
            raise StopIteration
        if not samples or (missing and self.last_batch_handle == "discard"):
            self._ended = True
            raise StopIteration
        if missing:
            self._ended = True
            if self.imgrec is not None:
                self.imgrec.reset()
            self.cur = 0
            while len(samples) < self.batch_size:
                try:
                    samples.append(self._make(*self.next_sample()))
                except StopIteration:
                    self.cur = 0
                    if self.imgrec is not None:
                        self.imgrec.reset()
        return self._batch(samples, missing)
