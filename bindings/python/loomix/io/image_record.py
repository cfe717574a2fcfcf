# SPDX-License-Identifier: Apache-2.0
"""Batches of images from record files, made by the engine's threads."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import MXNetTypeError
from ..progress_bar import WorkBar
from .base import DataDesc, warn_of_unknown
from .files import MXDataIter

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._generated_options import ImageDetRecordIterOptions, ImageRecordIterOptions

__all__ = [
    "ImageDetRecordIter",
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
]


def _to_text(name: str, value: Any) -> Any:
    if name == "dtype":
        return value if value == "bfloat16" else np.dtype(value).name
    if isinstance(value, list):
        value = tuple(value)
    if isinstance(value, (bytes, bytearray)):
        raise MXNetTypeError(f"[io] {name} is of type {type(value).__name__}; expected str or a number.")
    return str(value)


# What a mean image is not made with: it is subtracted from pixels that are not normalised yet.
_NORMALISATION = (
    *(f"{what}_{channel}" for what in ("mean", "std") for channel in "rgba"),
    *("mean_img", "scale", "max_random_contrast", "max_random_illumination"),
)


def _write_mean_image(kind: str, options: dict[str, Any], path: str) -> None:
    """Writes the mean of all images, augmented and not normalised, as a file for ``mean_img``."""
    from .. import _core
    from .. import ndarray as nd
    from .._files import write_whole

    logging.info("[%s] mean_img %s is not there; the mean of all images is written to it.", kind, path)
    given = [(name, value) for name, value in options.items() if name not in _NORMALISATION]
    given = [*dict([*given, ("dtype", "float32"), ("round_batch", "False")]).items()]
    pipeline = _core.BatchPipeline(kind, given)
    total, count, bar = 0, 0, WorkBar(os.path.basename(path), None, "images")
    try:
        while pipeline.next():
            images = pipeline.data().asnumpy()[: pipeline.batch_size() - pipeline.pad()]
            total, count = total + images.sum(0, np.float64), count + len(images)
            bar.show(count)
    finally:
        bar.clear()
    write_whole(path, lambda name: nd.save(name, {"mean_img": nd.array(total / count, dtype="float32")}))


class _PipelineIter(MXDataIter):
    """An iterator over batches that C++ makes."""

    _kind: str

    def __init__(self, data_name: str = "data", label_name: str = "softmax_label", **kwargs: Any) -> None:
        from .. import _core

        known = {name for name, _, _ in self.parameters()}
        unknown = [name for name in kwargs if name not in known]
        warn_of_unknown(self._kind, unknown, {"data_name", "label_name", *known})
        given = [
            (name, _to_text(name, value))
            for name, value in kwargs.items()
            if value is not None and name in known
        ]
        mean = dict(given).get("mean_img")
        if mean and not os.path.exists(mean):
            _write_mean_image(self._kind, dict(given), mean)
        self._pipeline = _core.BatchPipeline(self._kind, given)
        super().__init__(self._pipeline.batch_size())
        self._names = (data_name, label_name)
        self._dtype = (
            np.dtype(self._pipeline.dtype()).type if self._pipeline.dtype() != "bfloat16" else "bfloat16"
        )

    @classmethod
    def parameters(cls) -> list[tuple[str, str, str]]:
        """All parameters: a list of (name, type and default, meaning)."""
        from .. import _core

        return _core.iterator_parameters(cls._kind)

    @property
    def provide_data(self) -> list[Any]:
        """Description of the images of a batch."""
        return [DataDesc(self._names[0], (self.batch_size, *self._pipeline.data_shape()), self._dtype)]

    @property
    def provide_label(self) -> list[Any]:
        """Description of the labels of a batch."""
        return [DataDesc(self._names[1], (self.batch_size, *self._pipeline.label_shape()))]

    @property
    def skipped(self) -> int:
        """How many records and images were left out, with ``on_damage='skip'``."""
        return self._pipeline.skipped()

    @property
    def skipped_reasons(self) -> list[str]:
        """What was wrong with the first 1000 images that were left out: texts with file and offset."""
        return self._pipeline.skipped_reasons()

    def reset(self) -> None:
        self._pipeline.reset()

    def iter_next(self) -> Any:
        return self._pipeline.next()

    def getdata(self) -> Any:
        return self._pipeline.data()

    def getlabel(self) -> Any:
        return self._pipeline.label()

    def getindex(self) -> Any:
        return np.array(self._pipeline.index(), np.uint64)

    def getpad(self) -> Any:
        return self._pipeline.pad()


class ImageRecordIter(_PipelineIter):
    """Batches of images, decoded, augmented and normalised, from RecordIO files.

    Values are ``((pixel - mean) * contrast + illumination) * scale / std``, in the order (batch, channel, row,
    column), channels R, G, B. Batches are prepared on the engine's threads while earlier ones are used. The same
    seed gives the same batches for any number of threads.

    All keyword parameters are MXNet's; :meth:`parameters` lists them with their defaults. The usual ones:

    Parameters
    ----------
    path_imgrec : str
        Record file; several separated by ``;``, or a folder of them.
    data_shape : tuple of int
        (channels, height, width); 1, 3 or 4 channels.
    batch_size : int
        Images in a batch.
    path_imgidx, path_imglist : str
        Index, which gives a full shuffle; list whose labels are taken instead of the records'.
    label_width : int
        Labels of an image; with 1, label batches have the shape (batch,).
    shuffle : bool
        Whether the order is drawn anew in each pass: among all records with an index, else among those of
        ``shuffle_chunk_size`` megabytes (64 by default).
    resize, rand_crop, rand_mirror, pad, max_rotate_angle, brightness, ... : number
        The augmentation.
    mean_r, mean_g, mean_b, std_r, std_g, std_b, scale : float
        The normalisation.
    mean_img : str
        File of a mean image, which is subtracted. It is made of all images, in a pass of its own, if it is not there.
    preprocess_threads : int
        How many threads decode at once.
    num_parts, part_index : int
        Cuts the data into so many parts and reads the one with this number.
    round_batch : bool
        Whether the last batch is filled up from the next pass, which then begins after those samples. Otherwise it
        is filled with zeros. ``pad`` tells how many samples only fill up.
    seed, seed_aug : int
        Seeds of order and augmentation.
    dtype : str
        Type of the batches, "float32" by default.
    on_damage : {"raise", "skip"}
        What becomes of damaged records, damaged images and wrong numbers of labels: an error that names file and
        offset, or they are left out and counted in :attr:`skipped`.

    Raises
    ------
    OSError
        For missing or damaged files. What is wrong with an image shows when its batch is read.
    ValueError
        For parameters that are out of range. Unknown ones are warned of.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> import numpy as np
    >>> name = os.path.join(tempfile.mkdtemp(), "pictures.rec")
    >>> record = mx.recordio.MXRecordIO(name, "w")
    >>> header = mx.recordio.IRHeader(0, 5.0, 0, 0)
    >>> record.write(mx.recordio.pack_img(header, np.zeros((32, 32, 3), "uint8"), img_fmt=".png"))
    >>> record.close()
    >>> batch = next(mx.io.ImageRecordIter(path_imgrec=name, data_shape=(3, 24, 24), batch_size=1))
    >>> batch.data[0].shape, batch.label[0].asnumpy()
    ((1, 3, 24, 24), array([5.], dtype=float32))
    """

    _kind = "ImageRecordIter"

    if TYPE_CHECKING:

        def __init__(
            self,
            data_name: str = "data",
            label_name: str = "softmax_label",
            **kwargs: Unpack[ImageRecordIterOptions],
        ) -> None: ...


class ImageRecordUInt8Iter(ImageRecordIter):
    """:class:`ImageRecordIter` with ``dtype='uint8'``.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> import numpy as np
    >>> name = os.path.join(tempfile.mkdtemp(), "pictures.rec")
    >>> record = mx.recordio.MXRecordIO(name, "w")
    >>> header = mx.recordio.IRHeader(0, 5.0, 0, 0)
    >>> record.write(mx.recordio.pack_img(header, np.zeros((32, 32, 3), "uint8"), img_fmt=".png"))
    >>> record.close()
    >>> batch = next(mx.io.ImageRecordUInt8Iter(path_imgrec=name, data_shape=(3, 24, 24), batch_size=1))
    >>> batch.data[0].dtype.__name__
    'uint8'
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"dtype": "uint8", **kwargs})


class ImageRecordInt8Iter(ImageRecordIter):
    """:class:`ImageRecordIter` with ``dtype='int8'``; values above 127 become 127.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> import numpy as np
    >>> name = os.path.join(tempfile.mkdtemp(), "pictures.rec")
    >>> record = mx.recordio.MXRecordIO(name, "w")
    >>> header = mx.recordio.IRHeader(0, 5.0, 0, 0)
    >>> record.write(mx.recordio.pack_img(header, np.zeros((32, 32, 3), "uint8"), img_fmt=".png"))
    >>> record.close()
    >>> batch = next(mx.io.ImageRecordInt8Iter(path_imgrec=name, data_shape=(3, 24, 24), batch_size=1))
    >>> batch.data[0].dtype.__name__
    'int8'
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"dtype": "int8", **kwargs})


class ImageDetRecordIter(_PipelineIter):
    """Batches of images with boxes around objects, from RecordIO files.

    A row of the label batch is: channels, height and width of the image, how many numbers its label has, the label,
    and ``label_pad_value``. A label is: header width, numbers an object, more header, objects; an object is: class,
    left, top, right, bottom (shares of width and height), perhaps more. Batches are prepared as by
    :class:`ImageRecordIter`.

    All keyword parameters are MXNet's; :meth:`parameters` lists them with their defaults. The usual ones:

    Parameters
    ----------
    path_imgrec : str
        Record file; several separated by ``;``, or a folder of them.
    data_shape : tuple of int
        (channels, height, width).
    batch_size : int
        Images in a batch.
    label_pad_width : int
        Numbers that labels are filled up to; by default as many as the longest one has, for which the file is
        read once.
    rand_crop_prob, rand_pad_prob, rand_mirror_prob : float
        Probabilities of crops, margins and mirroring; objects that are outside then are left out.
    resize_mode : {"force", "fit", "shrink"}
        Whether images are resized to ``data_shape``, or into it with their own ratio, only if they are larger.

    Raises
    ------
    OSError
        For missing or damaged files. What is wrong with an image shows when its batch is read.
    ValueError
        For parameters that are out of range. Unknown ones are warned of.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> import numpy as np
    >>> name = os.path.join(tempfile.mkdtemp(), "pictures.rec")
    >>> record = mx.recordio.MXRecordIO(name, "w")
    >>> label = [2, 5, 1, 0.1, 0.1, 0.5, 0.5]  # header of 2, objects of 5: class and corners
    >>> header = mx.recordio.IRHeader(0, label, 0, 0)
    >>> record.write(mx.recordio.pack_img(header, np.zeros((32, 32, 3), "uint8"), img_fmt=".png"))
    >>> record.close()
    >>> keywords = dict(path_imgrec=name, data_shape=(3, 24, 24), batch_size=1)
    >>> next(mx.io.ImageDetRecordIter(**keywords)).data[0].shape
    (1, 3, 24, 24)
    """

    _kind = "ImageDetRecordIter"

    if TYPE_CHECKING:

        def __init__(
            self,
            data_name: str = "data",
            label_name: str = "softmax_label",
            **kwargs: Unpack[ImageDetRecordIterOptions],
        ) -> None: ...


ImageRecordIter_v1 = ImageRecordIter
ImageRecordUInt8Iter_v1 = ImageRecordUInt8Iter
