# SPDX-License-Identifier: Apache-2.0
"""Augmenters: objects that take an image and give a changed one."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from .._arguments import as_shape
from ..base import MXNetValueError
from .functions import center_crop, color_normalize, imresize, random_crop, random_size_crop, resize_short

if TYPE_CHECKING:
    from ..ndarray import NDArray

__all__ = [
    "Augmenter",
    "BrightnessJitterAug",
    "CastAug",
    "CenterCropAug",
    "ColorJitterAug",
    "ColorNormalizeAug",
    "ContrastJitterAug",
    "CreateAugmenter",
    "ForceResizeAug",
    "HorizontalFlipAug",
    "HueJitterAug",
    "LightingAug",
    "RandomCropAug",
    "RandomGrayAug",
    "RandomOrderAug",
    "RandomSizedCropAug",
    "ResizeAug",
    "SaturationJitterAug",
    "SequentialAug",
]

_GRAY = np.array([[[0.299, 0.587, 0.114]]], np.float32)
IMAGENET_MEAN = np.array([123.68, 116.28, 103.53])
IMAGENET_STD = np.array([58.395, 57.12, 57.375])


class Augmenter:
    """Base of the augmenters; a subclass gives ``__call__(src)``. Keyword arguments are kept for :meth:`dumps`.

    Examples
    --------
    >>> import loomix as mx
    >>> class Darker(mx.image.Augmenter):
    ...     def __call__(self, src):
    ...         return src * 0.5
    >>> Darker()(mx.nd.array([[[10, 20, 30]]])).asnumpy()
    array([[[ 5., 10., 15.]]], dtype=float32)
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {name: _plain(value) for name, value in kwargs.items()}

    def dumps(self) -> Any:
        """Name and parameters as JSON."""
        return json.dumps([self.__class__.__name__.lower(), self._kwargs])

    def __call__(self, src: Any) -> Any:
        raise NotImplementedError(f"[{type(self).__name__}] __call__ is missing.")


def _plain(value: Any) -> Any:
    if isinstance(value, nd.NDArray):
        value = value.asnumpy()
    return value.tolist() if isinstance(value, np.ndarray) else value


class SequentialAug(Augmenter):
    """Applies a list of augmenters in order.

    Examples
    --------
    >>> import loomix as mx
    >>> both = [mx.image.CenterCropAug((4, 4)), mx.image.CastAug()]
    >>> mx.image.SequentialAug(both)(mx.nd.zeros((8, 8, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, ts: Any) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> Any:
        return [self.__class__.__name__.lower(), [augmenter.dumps() for augmenter in self.ts]]

    def __call__(self, src: Any) -> Any:
        for augmenter in self.ts:
            src = augmenter(src)
        return src


class RandomOrderAug(SequentialAug):
    """Applies a list of augmenters in random order.

    Examples
    --------
    >>> import loomix as mx
    >>> both = [mx.image.CastAug(), mx.image.HorizontalFlipAug(1.0)]
    >>> mx.image.RandomOrderAug(both)(mx.nd.array([[[1], [2]]])).asnumpy()
    array([[[2.],
            [1.]]], dtype=float32)
    """

    def __call__(self, src: Any) -> Any:
        random.shuffle(self.ts)
        return super().__call__(src)


class ResizeAug(Augmenter):
    """Resizes the shorter edge to ``size``.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.ResizeAug(4)(mx.nd.zeros((8, 16, 3), dtype="uint8")).shape
    (4, 8, 3)
    """

    def __init__(self, size: Any, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp

    def __call__(self, src: Any) -> Any:
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(Augmenter):
    """Resizes to (width, height).

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.ForceResizeAug((4, 2))(mx.nd.zeros((8, 8, 3))).shape
    (2, 4, 3)
    """

    def __init__(self, size: Any, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp

    def __call__(self, src: Any) -> NDArray:
        return imresize(src, self.size[0], self.size[1], self.interp)


class RandomCropAug(Augmenter):
    """Crops (width, height) at a random place.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.RandomCropAug((4, 4))(mx.nd.zeros((8, 8, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, size: Any, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp

    def __call__(self, src: Any) -> Any:
        return random_crop(src, self.size, self.interp)[0]


class CenterCropAug(Augmenter):
    """Crops (width, height) in the middle.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.CenterCropAug((4, 2))(mx.nd.zeros((8, 8, 3))).shape
    (2, 4, 3)
    """

    def __init__(self, size: Any, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp

    def __call__(self, src: Any) -> Any:
        return center_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """Crops a part of random area and aspect ratio and resizes it to (width, height).

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.RandomSizedCropAug((4, 4), area=(0.5, 1), ratio=(0.8, 1.2))(mx.nd.zeros((8, 8, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, size: Any, area: Any, ratio: Any, interp: int = 2, **kwargs: Any) -> None:
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size = size
        self.area = kwargs.pop("min_area", area)
        self.ratio = ratio
        self.interp = interp
        if kwargs:
            raise MXNetValueError(f"[RandomSizedCropAug] unknown arguments {sorted(kwargs)}.")

    def __call__(self, src: Any) -> Any:
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class BrightnessJitterAug(Augmenter):
    """Multiplies by a random factor in [1 - v, 1 + v]; for floats.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.BrightnessJitterAug(0.5)(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: Any) -> Any:
        src *= 1.0 + random.uniform(-self.brightness, self.brightness)
        return src


class ContrastJitterAug(Augmenter):
    """Moves values from the image's mean grey by a random factor in [1 - v, 1 + v]; for floats.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.ContrastJitterAug(0.5)(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast

    def __call__(self, src: Any) -> Any:
        alpha = 1.0 + random.uniform(-self.contrast, self.contrast)
        gray = src * nd.array(_GRAY)
        gray = (3.0 * (1.0 - alpha) / gray.size) * nd.sum(gray)
        src *= alpha
        src += gray
        return src


class SaturationJitterAug(Augmenter):
    """Moves colours from grey by a random factor in [1 - v, 1 + v]; for floats.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.SaturationJitterAug(0.5)(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation

    def __call__(self, src: Any) -> Any:
        alpha = 1.0 + random.uniform(-self.saturation, self.saturation)
        gray = nd.sum(src * nd.array(_GRAY), axis=2, keepdims=True)
        src *= alpha
        src += gray * (1.0 - alpha)
        return src


class HueJitterAug(Augmenter):
    """Turns the hue by a random angle in [-v, v] half circles; for floats.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.HueJitterAug(0.1)(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    _TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
    _TO_RGB = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)
        self.hue = hue

    def __call__(self, src: Any) -> NDArray:
        angle = random.uniform(-self.hue, self.hue) * np.pi
        c, s = np.cos(angle), np.sin(angle)
        turn = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
        return nd.dot(src, nd.array((self._TO_RGB @ turn @ self._TO_YIQ).T))


class ColorJitterAug(RandomOrderAug):
    """Changes brightness, contrast and saturation in random order.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.ColorJitterAug(0.1, 0.1, 0.1)(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        ts: list[Augmenter] = []
        if brightness > 0:
            ts.append(BrightnessJitterAug(brightness))
        if contrast > 0:
            ts.append(ContrastJitterAug(contrast))
        if saturation > 0:
            ts.append(SaturationJitterAug(saturation))
        super().__init__(ts)


class LightingAug(Augmenter):
    """Adds principal components of colours with normal weights.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.image.LightingAug(0.1, np.ones(3), np.eye(3))(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    def __init__(self, alphastd: Any, eigval: Any, eigvec: Any) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd = alphastd
        self.eigval = np.asarray(eigval)
        self.eigvec = np.asarray(eigvec)

    def __call__(self, src: Any) -> Any:
        alpha = np.random.normal(0, self.alphastd, size=(3,))
        src += nd.array(np.dot(self.eigvec * alpha, self.eigval))
        return src


class ColorNormalizeAug(Augmenter):
    """``(src - mean) / std``; for floats.

    Examples
    --------
    >>> import loomix as mx
    >>> mean, std = mx.nd.array([1, 2, 3]), mx.nd.array([1, 1, 2])
    >>> mx.image.ColorNormalizeAug(mean, std)(mx.nd.array([[[1, 4, 7]]])).asnumpy()
    array([[[0., 2., 2.]]], dtype=float32)
    """

    def __init__(self, mean: Any, std: Any) -> None:
        super().__init__(mean=mean, std=std)
        self.mean = None if mean is None else mean if isinstance(mean, nd.NDArray) else nd.array(mean)
        self.std = None if std is None else std if isinstance(std, nd.NDArray) else nd.array(std)

    def __call__(self, src: Any) -> NDArray:
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Takes the colours away with probability ``p``; there are three channels still.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.RandomGrayAug(1.0)(mx.nd.array([[[100, 100, 100]]])).asnumpy().round(3)
    array([[[100., 100., 100.]]], dtype=float32)
    """

    def __init__(self, p: Any) -> None:
        super().__init__(p=p)
        self.p = p
        self.mat = nd.array([[0.21, 0.21, 0.21], [0.72, 0.72, 0.72], [0.07, 0.07, 0.07]])

    def __call__(self, src: Any) -> Any:
        return nd.dot(src, self.mat) if random.random() < self.p else src


class HorizontalFlipAug(Augmenter):
    """Mirrors with probability ``p``.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.HorizontalFlipAug(1.0)(mx.nd.array([[[1], [2]]])).asnumpy()
    array([[[2.],
            [1.]]], dtype=float32)
    """

    def __init__(self, p: Any) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: Any) -> Any:
        return nd.flip(src, axis=1) if random.random() < self.p else src


class CastAug(Augmenter):
    """Converts to another type.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.CastAug("float32")(mx.nd.ones((2, 2, 3), dtype="uint8")).dtype.__name__
    'float32'
    """

    def __init__(self, typ: Any = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: Any) -> Any:
        return src.astype(self.typ)


def colour_augmenters(
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    pca_noise: float,
    rand_gray: float,
    mean: Any,
    std: Any,
) -> Any:
    """Augmenters of colours, in MXNet's order; ``mean`` and ``std`` may be True for ImageNet's."""
    augmenters: list[Augmenter] = []
    if brightness or contrast or saturation:
        augmenters.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        augmenters.append(HueJitterAug(hue))
    if pca_noise > 0:
        values = np.array([55.46, 4.794, 1.148])
        vectors = np.array(
            [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
        )
        augmenters.append(LightingAug(pca_noise, values, vectors))
    if rand_gray > 0:
        augmenters.append(RandomGrayAug(rand_gray))
    mean = IMAGENET_MEAN if mean is True else mean
    std = IMAGENET_STD if std is True else std
    if mean is not None and np.shape(mean) not in ((1,), (3,)):
        raise MXNetValueError(
            f"[CreateAugmenter] mean has the shape {np.shape(mean)}; expected 1 or 3 numbers."
        )
    if std is not None and np.shape(std) not in ((1,), (3,)):
        raise MXNetValueError(
            f"[CreateAugmenter] std has the shape {np.shape(std)}; expected 1 or 3 numbers."
        )
    if mean is not None or std is not None:
        augmenters.append(ColorNormalizeAug(mean, std))
    return augmenters


def image_shape(who: str, data_shape: Any) -> tuple[Any, ...]:
    """Channels, height and width."""
    shape = as_shape(who, "data_shape", data_shape)
    if len(shape) != 3:
        raise MXNetValueError(f"[{who}] data_shape is {data_shape!r}; expected (channels, height, width).")
    return shape


def CreateAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: Any = False,
    rand_resize: bool = False,
    rand_mirror: Any = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> Any:
    """The usual list of augmenters.

    Parameters
    ----------
    data_shape : tuple of int
        (channels, height, width) of the result.
    resize : int
        Length of the shorter edge, to begin with; 0: as it is.
    rand_crop, rand_resize : bool
        Crops at a random place; also of random size.
    rand_mirror : bool
        Mirrors with probability 1/2.
    mean, std : array or True, optional
        Normalisation; True: ImageNet's.
    brightness, contrast, saturation, hue, pca_noise : float
        Ranges of changes of colour.
    rand_gray : float
        Probability of grey images.
    inter_method : int
        Interpolation.

    Returns
    -------
    list of Augmenter
        In the order of use.

    Examples
    --------
    >>> import loomix as mx
    >>> [type(a).__name__ for a in mx.image.CreateAugmenter((3, 24, 24), rand_mirror=True)]
    ['CenterCropAug', 'HorizontalFlipAug', 'CastAug']
    """
    _, height, width = image_shape("CreateAugmenter", data_shape)
    augmenters: list[Augmenter] = [ResizeAug(resize, inter_method)] if resize > 0 else []
    crop_size = (width, height)
    if rand_resize:
        if not rand_crop:
            raise MXNetValueError("[CreateAugmenter] rand_resize needs rand_crop.")
        augmenters.append(RandomSizedCropAug(crop_size, 0.08, (3.0 / 4.0, 4.0 / 3.0), inter_method))
    elif rand_crop:
        augmenters.append(RandomCropAug(crop_size, inter_method))
    else:
        augmenters.append(CenterCropAug(crop_size, inter_method))
    if rand_mirror:
        augmenters.append(HorizontalFlipAug(0.5))
    augmenters.append(CastAug())
    return augmenters + colour_augmenters(
        brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std
    )
