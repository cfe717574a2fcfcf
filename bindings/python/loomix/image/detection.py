# SPDX-License-Identifier: Apache-2.0
"""Augmenters and an iterator for images with boxes around objects.

Labels are arrays with a row for each object: class, left, top, right, bottom, and perhaps more numbers. Places are
shares of width and height, between 0 and 1.
"""

from __future__ import annotations

import json
import logging
import math
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _star, log
from .. import ndarray as nd
from ..base import MXNetFileError, MXNetTypeError, MXNetValueError
from ..base import numeric_types as numeric_types
from ..io.base import DataBatch, DataDesc
from ..util import is_np_array as is_np_array
from .augment import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    Augmenter,
    CastAug,
    ForceResizeAug,
    ResizeAug,
    _plain,
    colour_augmenters,
    image_shape,
)
from .augment import ColorJitterAug as ColorJitterAug
from .augment import ColorNormalizeAug as ColorNormalizeAug
from .augment import HueJitterAug as HueJitterAug
from .augment import LightingAug as LightingAug
from .augment import RandomGrayAug as RandomGrayAug
from .augment import RandomOrderAug as RandomOrderAug
from .functions import copyMakeBorder, fixed_crop
from .iterators import ImageIter

if TYPE_CHECKING:
    from ..ndarray import NDArray

__all__ = [
    "CreateDetAugmenter",
    "CreateMultiRandCropAugmenter",
    "DetAugmenter",
    "DetBorrowAug",
    "DetHorizontalFlipAug",
    "DetRandomCropAug",
    "DetRandomPadAug",
    "DetRandomSelectAug",
    "ImageDetIter",
]


def _areas(boxes: Any) -> Any:
    return np.maximum(0, boxes[:, 2] - boxes[:, 0]) * np.maximum(0, boxes[:, 3] - boxes[:, 1])


class DetAugmenter:
    """Base of the augmenters for detection; a subclass gives ``__call__(src, label)``, which returns both.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> class Same(mx.image.DetAugmenter):
    ...     def __call__(self, src, label):
    ...         return src, label
    >>> picture, label = Same()(mx.nd.zeros((8, 8, 3)), np.array([[0, 0, 0, 1, 1]]))
    >>> label.shape
    (1, 5)
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {name: _plain(value) for name, value in kwargs.items()}

    def dumps(self) -> Any:
        """Name and parameters as JSON."""
        return json.dumps([self.__class__.__name__.lower(), self._kwargs])

    def __call__(self, src: NDArray, label: Any) -> Any:
        raise NotImplementedError(f"[{type(self).__name__}] __call__ is missing.")


class DetBorrowAug(DetAugmenter):
    """An augmenter that leaves places as they are.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> augmenter = mx.image.DetBorrowAug(mx.image.CastAug("float32"))
    >>> picture, label = augmenter(mx.nd.zeros((8, 8, 3), dtype="uint8"), np.array([[0, 0, 0, 1, 1]]))
    >>> picture.dtype.__name__
    'float32'
    """

    def __init__(self, augmenter: Any) -> None:
        if not isinstance(augmenter, Augmenter):
            raise MXNetTypeError(
                f"[DetBorrowAug] an object of type {type(augmenter).__name__} came; expected an Augmenter."
            )
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> Any:
        return [self.__class__.__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: NDArray, label: Any) -> Any:
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One of several augmenters, or with probability ``skip_prob`` none.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mirror = mx.image.DetHorizontalFlipAug(1.0)
    >>> augmenter = mx.image.DetRandomSelectAug([mirror], skip_prob=0)
    >>> picture, label = augmenter(mx.nd.zeros((8, 8, 3)), np.array([[0, 0.0, 0.0, 0.25, 1]]))
    >>> label
    array([[0.  , 0.75, 0.  , 1.  , 1.  ]])
    """

    def __init__(self, aug_list: Any, skip_prob: Any = 0) -> None:
        aug_list = aug_list if isinstance(aug_list, (list, tuple)) else [aug_list]
        for augmenter in aug_list:
            if not isinstance(augmenter, DetAugmenter):
                raise MXNetTypeError(
                    f"[DetRandomSelectAug] an object of type {type(augmenter).__name__} is no DetAugmenter."
                )
        super().__init__(skip_prob=skip_prob)
        self.aug_list = list(aug_list)
        self.skip_prob = skip_prob if aug_list else 1

    def dumps(self) -> Any:
        return [self.__class__.__name__.lower(), [augmenter.dumps() for augmenter in self.aug_list]]

    def __call__(self, src: NDArray, label: Any) -> Any:
        if random.random() < self.skip_prob:
            return src, label
        return random.choice(self.aug_list)(src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """Mirrors with probability ``p``.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> augmenter = mx.image.DetHorizontalFlipAug(1.0)
    >>> picture, label = augmenter(mx.nd.zeros((8, 8, 3)), np.array([[0, 0.0, 0.0, 0.25, 1]]))
    >>> label
    array([[0.  , 0.75, 0.  , 1.  , 1.  ]])
    """

    def __init__(self, p: Any) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray, label: Any) -> Any:
        if random.random() < self.p:
            src = nd.flip(src, axis=1)
            label = label.copy()
            label[:, [1, 3]] = 1 - label[:, [3, 1]]
        return src, label


def _proposal(height: Any, width: Any, area_range: Any, aspect_ratio_range: Any, limit: Any) -> Any:
    """Height and width of random area and aspect ratio, or None; at most the image's unless there is no limit."""
    ratio = random.uniform(*aspect_ratio_range)
    area = random.uniform(*area_range) * height * width
    new_height, new_width = round(math.sqrt(area / ratio)), round(math.sqrt(area * ratio))
    if new_height < 1 or new_width < 1 or (limit and (new_height > height or new_width > width)):
        return None
    return new_height, new_width


class DetRandomCropAug(DetAugmenter):
    """Crops a random part in which enough of the objects is seen.

    Parameters
    ----------
    min_object_covered : float
        Least share of every object in the part, of those that are in it at all.
    aspect_ratio_range : tuple of float
        Ratios of width to height.
    area_range : tuple of float
        Shares of the image's area.
    min_eject_coverage : float
        Objects of which a smaller share is left are left out.
    max_attempts : int
        After so many failures the image is left as it is.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> augmenter = mx.image.DetRandomCropAug(min_object_covered=0.5)
    >>> picture, label = augmenter(mx.nd.zeros((8, 8, 3)), np.array([[0, 0.2, 0.2, 0.8, 0.8]]))
    >>> label.shape
    (1, 5)
    """

    def __init__(
        self,
        min_object_covered: Any = 0.1,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (0.05, 1.0),
        min_eject_coverage: Any = 0.3,
        max_attempts: int = 50,
    ) -> None:
        if not isinstance(aspect_ratio_range, (tuple, list)):
            aspect_ratio_range = (aspect_ratio_range, aspect_ratio_range)
        if not isinstance(area_range, (tuple, list)):
            area_range = (area_range, 1.0)
        super().__init__(
            min_object_covered=min_object_covered,
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            min_eject_coverage=min_eject_coverage,
            max_attempts=max_attempts,
        )
        self.min_object_covered = min_object_covered
        self.min_eject_coverage = min_eject_coverage
        self.max_attempts = max_attempts
        self.aspect_ratio_range = aspect_ratio_range
        self.area_range = (area_range[0], min(area_range[1], 1.0))
        low, high = aspect_ratio_range
        self.enabled = 0 < self.area_range[0] <= self.area_range[1] and 0 < low <= high

    def __call__(self, src: NDArray, label: Any) -> Any:
        height, width = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled and min(height, width) > 0 else 0):
            size = _proposal(height, width, self.area_range, self.aspect_ratio_range, True)
            if size is None:
                continue
            y, x = random.randint(0, height - size[0]), random.randint(0, width - size[1])
            box = (x / width, y / height, (x + size[1]) / width, (y + size[0]) / height)
            if size[0] * size[1] < 2 or not self._covers(label, box, height * width):
                continue
            new_label = self._update_labels(label, box)
            if new_label is not None:
                return fixed_crop(src, x, y, size[1], size[0]), new_label
        return src, label

    def _covers(self, label: Any, box: Any, pixels: Any) -> Any:
        if self.min_object_covered <= 0:
            return True
        areas = _areas(label[:, 1:5])
        seen = areas * pixels > 2
        if not seen.any():
            return False
        shares = _areas(_intersect(label[seen, 1:5], box)) / areas[seen]
        shares = shares[shares > 0]
        return shares.size > 0 and shares.min() > self.min_object_covered

    def _update_labels(self, label: Any, box: Any) -> Any:
        left, top, right, bottom = box
        cut = _intersect(label[:, 1:5], box)
        shares = _areas(cut) / np.maximum(_areas(label[:, 1:5]), 1e-12)
        keep = (cut[:, 2] > cut[:, 0]) & (cut[:, 3] > cut[:, 1]) & (shares > self.min_eject_coverage)
        if not keep.any():
            return None
        out = label[keep].copy()
        out[:, 1:5] = (cut[keep] - [left, top, left, top]) / [
            right - left,
            bottom - top,
            right - left,
            bottom - top,
        ]
        out[:, 1:5] = np.clip(out[:, 1:5], 0, 1)
        return out


def _intersect(boxes: Any, box: Any) -> Any:
    return np.concatenate([np.maximum(boxes[:, :2], box[:2]), np.minimum(boxes[:, 2:], box[2:])], axis=1)


class DetRandomPadAug(DetAugmenter):
    """Puts the image at a random place of a larger one.

    Parameters
    ----------
    aspect_ratio_range : tuple of float
        Ratios of width to height.
    area_range : tuple of float
        Areas, in those of the image; at least 1.
    max_attempts : int
        After so many failures the image is left as it is.
    pad_val : float or tuple of float
        Value of the other pixels.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> augmenter = mx.image.DetRandomPadAug(area_range=(1.5, 2.0))
    >>> picture, label = augmenter(mx.nd.zeros((8, 8, 3)), np.array([[0, 0.2, 0.2, 0.8, 0.8]]))
    >>> label.shape
    (1, 5)
    """

    def __init__(
        self,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: Any = (128, 128, 128),
    ) -> None:
        if not isinstance(pad_val, (list, tuple)):
            pad_val = (pad_val,) * 3
        if not isinstance(aspect_ratio_range, (list, tuple)):
            aspect_ratio_range = (aspect_ratio_range, aspect_ratio_range)
        if not isinstance(area_range, (tuple, list)):
            area_range = (1.0, area_range)
        super().__init__(
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            max_attempts=max_attempts,
            pad_val=pad_val,
        )
        self.pad_val = tuple(pad_val)
        self.aspect_ratio_range = aspect_ratio_range
        self.area_range = (max(area_range[0], 1.0), area_range[1])
        self.max_attempts = max_attempts
        self.enabled = self.area_range[1] > 1.0 and 0 < aspect_ratio_range[0] <= aspect_ratio_range[1]

    def __call__(self, src: NDArray, label: Any) -> Any:
        height, width = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled else 0):
            size = _proposal(height, width, self.area_range, self.aspect_ratio_range, False)
            if (
                size is None
                or size[0] < height
                or size[1] < width
                or (size[0] - height) + (size[1] - width) < 4
            ):
                continue
            y, x = random.randint(0, size[0] - height), random.randint(0, size[1] - width)
            src = copyMakeBorder(
                src, y, size[0] - y - height, x, size[1] - x - width, values=self.pad_val[: src.shape[2]]
            )
            label = label.copy()
            label[:, [1, 3]] = (label[:, [1, 3]] * width + x) / size[1]
            label[:, [2, 4]] = (label[:, [2, 4]] * height + y) / size[0]
            return src, label
        return src, label


def CreateMultiRandCropAugmenter(
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 1.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: int = 50,
    skip_prob: Any = 0,
) -> Any:
    """A choice among several :class:`DetRandomCropAug`: each parameter may be a list with a value for each.

    >>> len(CreateMultiRandCropAugmenter(min_object_covered=[0.1, 0.5, 0.9]).aug_list)
    3
    """
    columns = [min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts]
    columns = [column if isinstance(column, list) else [column] for column in columns]
    count = max(len(column) for column in columns)
    if any(len(column) not in (1, count) for column in columns):
        raise MXNetValueError("[CreateMultiRandCropAugmenter] the lists differ in length.")
    columns = [column * count if len(column) == 1 else column for column in columns]
    return DetRandomSelectAug([DetRandomCropAug(*row) for row in zip(*columns)], skip_prob=skip_prob)


def CreateDetAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: Any = 0,
    rand_pad: int = 0,
    rand_gray: float = 0,
    rand_mirror: Any = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 3.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: int = 50,
    pad_val: Any = (127, 127, 127),
) -> Any:
    """The usual list of augmenters for detection.

    Parameters
    ----------
    data_shape : tuple of int
        (channels, height, width) of the result.
    resize : int
        Length of the shorter edge, to begin with; 0: as it is.
    rand_crop, rand_pad, rand_gray : float
        Probabilities of crops, margins and grey images.
    rand_mirror : bool
        Mirrors with probability 1/2.
    mean, std : array or True, optional
        Normalisation; True: ImageNet's.
    brightness, contrast, saturation, pca_noise, hue : float
        Ranges of changes of colour.
    inter_method : int
        Interpolation.
    min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        See :func:`CreateMultiRandCropAugmenter`; the area of margins goes up to ``area_range[1]``.
    pad_val : tuple of float
        Value of margins.

    Returns
    -------
    list of DetAugmenter
        In the order of use.

    Examples
    --------
    >>> import loomix as mx
    >>> augmenters = mx.image.CreateDetAugmenter((3, 24, 24), rand_mirror=True)
    >>> len(augmenters)
    3
    """
    _, height, width = image_shape("CreateDetAugmenter", data_shape)
    resizing = [DetBorrowAug(ResizeAug(resize, inter_method))] if resize > 0 else []
    augmenters: list[DetAugmenter] = [*resizing]
    if rand_crop > 0:
        augmenters.append(
            CreateMultiRandCropAugmenter(
                min_object_covered,
                aspect_ratio_range,
                area_range,
                min_eject_coverage,
                max_attempts,
                skip_prob=1 - rand_crop,
            )
        )
    if rand_mirror:
        augmenters.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        largest = max(area[1] for area in area_range) if isinstance(area_range, list) else area_range[1]
        pad = DetRandomPadAug(
            aspect_ratio_range[0] if isinstance(aspect_ratio_range, list) else aspect_ratio_range,
            (1.0, largest),
            max_attempts,
            pad_val,
        )
        augmenters.append(DetRandomSelectAug([pad], 1 - rand_pad))
    augmenters.append(DetBorrowAug(ForceResizeAug((width, height), inter_method)))
    augmenters.append(DetBorrowAug(CastAug()))
    mean = IMAGENET_MEAN if mean is True else mean
    std = IMAGENET_STD if std is True else std
    colours = colour_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)
    return augmenters + [DetBorrowAug(augmenter) for augmenter in colours]


class ImageDetIter(ImageIter):
    """Batches of images with labels for detection; parameters as of :class:`ImageIter`.

    The labels of a record are ``header width, numbers an object, more header, objects``. Label batches have the shape
    (batch, objects, numbers an object); rows that are not used are -1.

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
    >>> label = [2, 5, 1, 0.1, 0.1, 0.5, 0.5]  # header of 2, objects of 5: class and corners
    >>> pictures = mx.image.ImageDetIter(1, (3, 24, 24), imglist=[[*label, "a.png"]], path_root=folder)
    >>> next(pictures).label[0].shape
    (1, 1, 5)
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
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
        label_name: str = "label",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            batch_size,
            data_shape,
            path_imgrec=path_imgrec,
            path_imglist=path_imglist,
            path_root=path_root,
            path_imgidx=path_imgidx,
            shuffle=shuffle,
            part_index=part_index,
            num_parts=num_parts,
            aug_list=[],
            imglist=imglist,
            data_name=data_name,
            label_name=label_name,
            last_batch_handle=last_batch_handle,
        )
        self.auglist = CreateDetAugmenter(self.data_shape, **kwargs) if aug_list is None else aug_list
        self._set_label_shape(self._estimate_label_shape())

    def _set_label_shape(self, shape: Sequence[int]) -> None:
        self.label_shape = tuple(shape)
        self.provide_label = [DataDesc(self.provide_label[0].name, (self.batch_size, *self.label_shape))]

    def _estimate_label_shape(self) -> Any:
        """The largest number of objects, and the numbers an object."""
        objects = width = 0
        self.reset()
        while True:
            try:
                label = self._parse_label(self.next_sample()[0])
            except StopIteration:
                break
            objects, width = max(objects, label.shape[0]), label.shape[1]
        self.reset()
        return objects, width

    def _parse_label(self, label: Any) -> Any:
        raw = np.asarray(label.asnumpy() if isinstance(label, nd.NDArray) else label, np.float32).ravel()
        if raw.size < 7:
            raise MXNetFileError(f"[ImageDetIter] a label has {raw.size} numbers; expected at least 7.")
        header, width = int(raw[0]), int(raw[1])
        if header < 2 or width < 5 or (raw.size - header) % width:
            raise MXNetFileError(
                f"[ImageDetIter] a label has {raw.size} numbers, of which {header} are its header and {width} are for "
                "each object; that does not fit."
            )
        objects = raw[header:].reshape(-1, width)
        valid = objects[(objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])]
        if not len(valid):
            raise MXNetFileError("[ImageDetIter] a label has no object of positive size.")
        return valid

    def check_label_shape(self, label_shape: Any) -> None:
        """Raises ValueError unless all labels fit into (objects, numbers an object)."""
        if len(label_shape) != 2 or any(new < old for new, old in zip(label_shape, self.label_shape)):
            raise MXNetValueError(
                f"[ImageDetIter] label_shape is {label_shape}; expected at least {self.label_shape}."
            )

    def reshape(self, data_shape: Sequence[int] | None = None, label_shape: Any = None) -> None:
        """Changes the shapes of batches."""
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.data_shape = tuple(data_shape)
            self.provide_data = [DataDesc(self.provide_data[0].name, (self.batch_size, *self.data_shape))]
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self._set_label_shape(label_shape)

    def sync_label_shape(self, it: Any, verbose: bool = False) -> Any:
        """Gives this iterator and another one, which is returned, the larger of their label shapes; ``verbose`` logs it
        where a shape changes."""
        if not isinstance(it, ImageDetIter):
            raise MXNetTypeError(
                f"[ImageDetIter] an object of type {type(it).__name__} came; expected an ImageDetIter."
            )
        shape = tuple(max(a, b) for a, b in zip(self.label_shape, it.label_shape))
        if verbose and not shape == self.label_shape == it.label_shape:
            log.note(
                logging, "Resized label_shape from %s and %s to %s", self.label_shape, it.label_shape, shape
            )
        self.reshape(None, shape)
        it.reshape(None, shape)
        return it

    def augmentation_transform(self, data: Any, label: Any) -> Any:  # type: ignore[override]
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def draw_next(
        self,
        color: Any = None,
        thickness: int = 2,
        mean: Any = None,
        std: Any = None,
        clip: bool = True,
        waitKey: int | None = None,
        window_name: str = "draw_next",
        id2labels: Any = None,
    ) -> Iterator[Any]:
        """Yields the images that come next, with the boxes of their labels drawn into them.

        Parameters
        ----------
        color : tuple of int, optional
            Colour (R, G, B) of the boxes; a random one for each by default.
        thickness : int
            Width of their lines.
        mean, std : True or array, optional
            What the augmentation has taken away and divided by, which is undone; True is ImageNet's.
        clip : bool
            Whether values are limited to 0 to 255.
        waitKey : int, optional
            Shows each image in a window for so many milliseconds; needs OpenCV's Python package.
        window_name : str
            The window's title.
        id2labels : dict or list, optional
            Names of the classes, which are written beside the boxes; needs OpenCV's Python package.

        Yields
        ------
        numpy.ndarray
            (height, width, channels).
        """
        mean = np.array(IMAGENET_MEAN) if mean is True else mean
        std = np.array(IMAGENET_STD) if std is True else std
        while True:
            try:
                raw, encoded = self.next_sample()
            except StopIteration:
                return
            data, label = self.augmentation_transform(self.imdecode(encoded), self._parse_label(raw))
            image = np.array(data.asnumpy(), np.float32)
            image = image if std is None else image * std
            image = image if mean is None else image + mean
            image = np.clip(image, 0, 255) if clip else image
            for box in label:
                self._draw(image, box, color, thickness, id2labels)
            if waitKey is not None:
                import cv2

                cv2.imshow(window_name, image[:, :, ::-1].astype(np.uint8))
                cv2.waitKey(waitKey)
            yield image

    @staticmethod
    def _draw(image: Any, box: Any, color: Any, thickness: int, names: Any) -> None:
        """Draws the box of one object, and if there are names, that of its class."""
        colour = np.random.rand(3) * 255 if color is None else np.asarray(color)
        height, width = image.shape[:2]
        left, right = (min(max(int(share * width), 0), width) for share in (box[1], box[3]))
        top, bottom = (min(max(int(share * height), 0), height) for share in (box[2], box[4]))
        part = image[top:bottom, left:right]
        inside = part[thickness:-thickness, thickness:-thickness].copy()
        part[:] = colour
        if inside.size:
            part[thickness:-thickness, thickness:-thickness] = inside
        if names is not None:
            import cv2

            place = (left + 5, top + 20)
            cv2.putText(
                image, str(names[int(box[0])]), place, cv2.FONT_HERSHEY_SIMPLEX, 0.5, colour.tolist(), 2
            )

    def _make(self, label: Any, encoded: Any) -> Any:
        data, label = self.augmentation_transform(self.imdecode(encoded), self._parse_label(label))
        data = self.postprocess_data(data).asnumpy()
        if data.shape != self.data_shape:
            raise MXNetValueError(
                f"[ImageDetIter] the image became {data.shape}; expected {self.data_shape}."
            )
        padded = np.full(self.label_shape, -1, np.float32)
        count = min(len(label), self.label_shape[0])
        padded[:count, : label.shape[1]] = label[:count, : self.label_shape[1]]
        return data, padded

    def _batch(self, samples: Any, pad: Any) -> DataBatch:
        data = nd.array(np.stack([data for data, _ in samples]))
        return DataBatch([data], [nd.array(np.stack([label for _, label in samples]))], pad=pad)


_star.complete(
    globals(),
    "Augmenter CastAug ColorJitterAug ColorNormalizeAug ForceResizeAug HueJitterAug ImageIter "
    "LightingAug RandomGrayAug RandomOrderAug ResizeAug copyMakeBorder fixed_crop io is_np_array json "
    "logging nd np numeric_types random warnings",
)
