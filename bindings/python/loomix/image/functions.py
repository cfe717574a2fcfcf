# SPDX-License-Identifier: Apache-2.0
"""Functions on single images."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .. import ndarray as nd
from .._arguments import as_number, as_whole, expect
from ..base import MXNetFileError, MXNetTypeError, MXNetValueError

if TYPE_CHECKING:
    from ..ndarray import NDArray

__all__ = [
    "center_crop",
    "color_normalize",
    "copyMakeBorder",
    "fixed_crop",
    "imdecode",
    "imread",
    "imresize",
    "imrotate",
    "random_crop",
    "random_rotate",
    "random_size_crop",
    "resize_short",
    "scale_down",
]


def imdecode(buf: Any, flag: Any = 1, to_rgb: bool = True, out: NDArray | None = None, scale: Any = 1) -> Any:
    """Decodes a JPEG, PNG or BMP file.

    Parameters
    ----------
    buf : bytes, bytearray, numpy.ndarray or NDArray
        Content of the file.
    flag : int
        1: three channels; 0: grey, one channel; -1: as in the file.
    to_rgb : bool
        Whether channels come as R, G, B rather than B, G, R.
    out : NDArray, optional
        Array for the result.
    scale : int
        2, 4 or 8 decode a JPEG to that fraction of its size, which is faster.

    Returns
    -------
    NDArray
        uint8, (height, width, channels). The image is turned upright, as its EXIF data says.

    Raises
    ------
    OSError
        When the format is not known, or the data is damaged or cut off.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> header = mx.recordio.IRHeader(0, 0, 0, 0)
    >>> packed = mx.recordio.pack_img(header, np.zeros((4, 6, 3), "uint8"), img_fmt=".png")
    >>> _, coded = mx.recordio.unpack(packed)
    >>> mx.image.imdecode(coded).shape
    (4, 6, 3)
    """
    if isinstance(buf, nd.NDArray):
        buf = buf.asnumpy()
    if isinstance(buf, str):
        raise MXNetTypeError("[imdecode] buf is a str; expected the bytes of a file.")
    if isinstance(buf, np.ndarray):
        buf = np.ascontiguousarray(buf)
    array = _core.imdecode(buf, int(flag), bool(to_rgb), int(scale))
    return array if out is None else array.copyto(out)


def imread(filename: str, flag: Any = 1, to_rgb: bool = True, out: NDArray | None = None) -> Any:
    """Reads and decodes an image; parameters as in :func:`imdecode`.

    Raises
    ------
    OSError
        When the file is missing, of another format, damaged or cut off.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> import numpy as np
    >>> header = mx.recordio.IRHeader(0, 0, 0, 0)
    >>> packed = mx.recordio.pack_img(header, np.zeros((4, 6, 3), "uint8"), img_fmt=".png")
    >>> name = os.path.join(tempfile.mkdtemp(), "picture.png")
    >>> with open(name, "wb") as file:
    ...     _ = file.write(mx.recordio.unpack(packed)[1])
    >>> mx.image.imread(name).shape
    (4, 6, 3)
    """
    try:
        with open(filename, "rb") as file:
            content = file.read()
    except OSError as error:
        raise MXNetFileError(f"[imread] cannot read {filename}: {error}.") from None
    try:
        return imdecode(content, flag, to_rgb, out)
    except MXNetFileError as error:
        raise MXNetFileError(f"{error}\nin {filename}") from None


def get_interp_method(interp: int, sizes: Any = ()) -> int:
    """The interpolation that a number stands for: 9 chooses by sizes, 10 at random.

    Parameters
    ----------
    interp : int
        0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 lanczos, 9 bicubic to enlarge and area to shrink, 10 random.
    sizes : tuple of int
        (old height, old width, new height, new width), for 9.
    """
    if interp == 9:
        if not sizes:
            return 2
        old_height, old_width, height, width = sizes
        if height > old_height and width > old_width:
            return 2
        return 3 if height < old_height and width < old_width else 1
    if interp == 10:
        return random.randint(0, 4)
    if interp not in (0, 1, 2, 3, 4):
        raise MXNetValueError(f"[image] interpolation {interp} is not known; expected 0 to 4, 9 or 10.")
    return interp


def imresize(src: NDArray, w: int, h: int, interp: int = 1, out: NDArray | None = None) -> NDArray:
    """Resizes an image to ``w`` columns and ``h`` rows.

    >>> imresize(nd.zeros((4, 6, 3), dtype="uint8"), 3, 2).shape
    (2, 3, 3)
    """
    expect(isinstance(src, nd.NDArray), "imresize", "src", src, "an NDArray")
    sizes = (src.shape[0], src.shape[1], h, w)
    return nd._internal._cvimresize(src, w=w, h=h, interp=get_interp_method(interp, sizes), out=out)


def copyMakeBorder(
    src: NDArray,
    top: Any,
    bot: Any,
    left: Any,
    right: Any,
    type: int = 0,
    value: Any = 0,
    values: Any = (),
    out: NDArray | None = None,
) -> NDArray:
    """Adds a margin to an image.

    Parameters
    ----------
    src : NDArray
        The image.
    top, bot, left, right : int
        Size of the margin.
    type : int
        0: constant, 1: the edge, 2: mirrored, 3: from the other side, 4: mirrored at the middle of the edge.
    value : float
        The constant.
    values : tuple of float
        The constant of each channel.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.copyMakeBorder(mx.nd.ones((2, 2, 3), dtype="uint8"), 1, 1, 0, 0).shape
    (4, 2, 3)
    """
    return nd._internal._cvcopyMakeBorder(
        src, top=top, bot=bot, left=left, right=right, type=type, value=value, values=tuple(values), out=out
    )


def _pair(who: str, what: str, size: Any) -> tuple[Any, Any]:
    """(width, height), of which both are numbers."""
    right = isinstance(size, (tuple, list, np.ndarray)) and len(size) == 2
    expect(right, who, what, size, "(width, height)")
    return as_number(who, what, size[0]), as_number(who, what, size[1])


def scale_down(src_size: Any, size: Any) -> Any:
    """A crop's (width, height), scaled down to what fits into an image of (width, height).

    >>> scale_down((640, 480), (720, 120))
    (640, 106)
    """
    width, height = _pair("scale_down", "size", size)
    src_width, src_height = _pair("scale_down", "src_size", src_size)
    if src_height < height:
        width, height = float(width * src_height) / height, src_height
    if src_width < width:
        width, height = src_width, float(height * src_width) / width
    return int(width), int(height)


def resize_short(src: NDArray, size: Any, interp: int = 2) -> NDArray:
    """Resizes an image so that its shorter edge has the length ``size``.

    >>> resize_short(nd.zeros((4, 8, 3), dtype="uint8"), 2).shape
    (2, 4, 3)
    """
    size = as_whole("resize_short", "size", size, least=1)
    height, width = src.shape[:2]
    if height > width:
        return imresize(src, size, size * height // width, interp)
    return imresize(src, size * width // height, size, interp)


def fixed_crop(src: NDArray, x0: Any, y0: Any, w: int, h: int, size: Any = None, interp: int = 2) -> NDArray:
    """The part of ``w`` columns from ``x0`` on and ``h`` rows from ``y0`` on, resized to (width, height).

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.fixed_crop(mx.nd.zeros((8, 8, 3)), x0=1, y0=2, w=4, h=3).shape
    (3, 4, 3)
    """
    for what, value in (("x0", x0), ("y0", y0), ("w", w), ("h", h)):
        as_whole("fixed_crop", what, value, least=0)
    part = src[y0 : y0 + h, x0 : x0 + w]
    if size is not None and (w, h) != tuple(size):
        part = imresize(part, size[0], size[1], interp)
    return part


def random_crop(src: NDArray, size: Any, interp: int = 2) -> Any:
    """A part at a random place, of the size (width, height), scaled up if the image is smaller.

    Returns
    -------
    NDArray, tuple
        The part, and its (x0, y0, width, height) in the image.

    Examples
    --------
    >>> import loomix as mx
    >>> picture, region = mx.image.random_crop(mx.nd.zeros((8, 8, 3)), (4, 4))
    >>> picture.shape
    (4, 4, 3)
    """
    height, width = src.shape[:2]
    new_width, new_height = scale_down((width, height), size)
    x0, y0 = random.randint(0, width - new_width), random.randint(0, height - new_height)
    return fixed_crop(src, x0, y0, new_width, new_height, size, interp), (x0, y0, new_width, new_height)


def center_crop(src: NDArray, size: Any, interp: int = 2) -> Any:
    """The middle, of the size (width, height), scaled up if the image is smaller.

    Returns
    -------
    NDArray, tuple
        The part, and its (x0, y0, width, height) in the image.

    Examples
    --------
    >>> import loomix as mx
    >>> picture, region = mx.image.center_crop(mx.nd.zeros((8, 8, 3)), (4, 2))
    >>> picture.shape, region
    ((2, 4, 3), (2, 3, 4, 2))
    """
    height, width = src.shape[:2]
    new_width, new_height = scale_down((width, height), size)
    x0, y0 = (width - new_width) // 2, (height - new_height) // 2
    return fixed_crop(src, x0, y0, new_width, new_height, size, interp), (x0, y0, new_width, new_height)


def random_size_crop(src: NDArray, size: Any, area: Any, ratio: Any, interp: int = 2, **kwargs: Any) -> Any:
    """A part of random area and aspect ratio, resized to (width, height).

    Parameters
    ----------
    src : NDArray
        The image.
    size : tuple of int
        (width, height) of the result.
    area : float or tuple of float
        Least and largest share of the image's area; one number is the least, with 1 as the largest.
    ratio : tuple of float
        Least and largest ratio of width to height.
    interp : int
        Interpolation.

    Returns
    -------
    NDArray, tuple
        The part, and its (x0, y0, width, height) in the image.

    Examples
    --------
    >>> import loomix as mx
    >>> picture, region = mx.image.random_size_crop(mx.nd.zeros((8, 8, 3)), (4, 4), (0.5, 1), (0.8, 1.2))
    >>> picture.shape
    (4, 4, 3)
    """
    if "min_area" in kwargs:
        area = kwargs.pop("min_area")
    if kwargs:
        raise MXNetValueError(f"[random_size_crop] unknown arguments {sorted(kwargs)}.")
    low, high = (area, 1.0) if isinstance(area, (int, float)) else area
    height, width = src.shape[:2]
    for _ in range(10):
        wanted = random.uniform(low, high) * height * width
        shape = math.exp(random.uniform(math.log(ratio[0]), math.log(ratio[1])))
        new_width, new_height = round(math.sqrt(wanted * shape)), round(math.sqrt(wanted / shape))
        if 0 < new_width <= width and 0 < new_height <= height:
            x0, y0 = random.randint(0, width - new_width), random.randint(0, height - new_height)
            return fixed_crop(src, x0, y0, new_width, new_height, size, interp), (
                x0,
                y0,
                new_width,
                new_height,
            )
    return center_crop(src, size, interp)


def color_normalize(src: NDArray, mean: Any, std: Any = None) -> NDArray:
    """``(src - mean) / std``, in place where the array is float.

    Examples
    --------
    >>> import loomix as mx
    >>> mean, std = mx.nd.array([1, 2, 3]), mx.nd.array([1, 1, 2])
    >>> mx.image.color_normalize(mx.nd.array([[[1, 4, 7]]]), mean, std).asnumpy()
    array([[[0., 2., 2.]]], dtype=float32)
    """
    for what, value in (("mean", mean), ("std", std)):
        right = value is None or isinstance(value, (int, float, np.number, np.ndarray, nd.NDArray))
        expect(right, "color_normalize", what, value, "a number or an array")
    if mean is not None:
        src -= mean
    if std is not None:
        src /= std
    return src


def imrotate(src: NDArray, rotation_degrees: Any, zoom_in: bool = False, zoom_out: bool = False) -> Any:
    """Rotates float32 images (C, H, W) or (N, C, H, W) about their middle.

    Parameters
    ----------
    src : NDArray
        One image, or a batch.
    rotation_degrees : float or NDArray
        The angle, or one for each image of the batch.
    zoom_in : bool
        Enlarges, so that nothing from outside the image is seen.
    zoom_out : bool
        Shrinks, so that the whole image is seen.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.imrotate(mx.nd.ones((3, 8, 8)), 90).shape
    (3, 8, 8)
    """
    if zoom_in and zoom_out:
        raise MXNetValueError("[imrotate] zoom_in and zoom_out cannot both be set.")
    if src.dtype is not np.float32:
        raise MXNetTypeError(f"[imrotate] the images are {np.dtype(src.dtype).name}; expected float32.")
    single = src.ndim == 3
    if single:
        src = src.expand_dims(0)
    if src.ndim != 4:
        raise MXNetValueError(f"[imrotate] the shape is {src.shape}; expected (C, H, W) or (N, C, H, W).")
    angles = rotation_degrees
    if isinstance(angles, nd.NDArray):
        if single:
            raise MXNetTypeError("[imrotate] one image takes one number as its angle.")
        angles = angles.asnumpy()
    angles = np.radians(np.broadcast_to(np.asarray(angles, np.float64).ravel(), (src.shape[0],)))
    height, width = src.shape[2:]
    y, x = np.meshgrid(
        np.arange(height) - (height - 1) / 2, np.arange(width) - (width - 1) / 2, indexing="ij"
    )
    c, s = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
    columns, rows = x * c - y * s, x * s + y * c
    corner_x, corner_y = (width - 1) / 2, (height - 1) / 2
    if zoom_in or zoom_out:
        wide = np.abs(width * c) + np.abs(height * s)
        high = np.abs(width * s) + np.abs(height * c)
        factor = np.maximum(wide / width, high / height)
        factor = 1 / factor if zoom_in else factor
        columns, rows = columns * factor, rows * factor
    result = _sample(src.asnumpy(), rows + corner_y, columns + corner_x)
    result = nd.array(result, dtype="float32")
    return result[0] if single else result


def _sample(pictures: Any, rows: Any, columns: Any) -> Any:
    """Bilinear interpolation at float positions (N, H, W), with zeros outside."""
    padded = np.pad(pictures, ((0, 0), (0, 0), (1, 2), (1, 2)))
    height, width = pictures.shape[2:]
    rows, columns = np.clip(rows, -1, height) + 1, np.clip(columns, -1, width) + 1
    top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
    dy, dx = (rows - top)[:, None], (columns - left)[:, None]
    batch = np.arange(len(pictures))[:, None, None, None]
    channel = np.arange(pictures.shape[1])[None, :, None, None]
    top, left = top[:, None], left[:, None]

    def at(i: int, j: Any) -> Any:
        return padded[batch, channel, top + i, left + j]

    above = at(0, 0) * (1 - dx) + at(0, 1) * dx
    below = at(1, 0) * (1 - dx) + at(1, 1) * dx
    return above * (1 - dy) + below * dy


def random_rotate(src: NDArray, angle_limits: Any, zoom_in: bool = False, zoom_out: bool = False) -> Any:
    """Rotates by a random angle between two limits; see :func:`imrotate`.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.image.random_rotate(mx.nd.ones((3, 8, 8)), (-30, 30)).shape
    (3, 8, 8)
    """
    if src.ndim == 3:
        return imrotate(src, random.uniform(*angle_limits), zoom_in, zoom_out)
    angles = nd.array([random.uniform(*angle_limits) for _ in range(src.shape[0])])
    return imrotate(src, angles, zoom_in, zoom_out)
