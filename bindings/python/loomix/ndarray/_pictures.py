# SPDX-License-Identifier: Apache-2.0
"""Images as arrays of planes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base import MXNetValueError

if TYPE_CHECKING:
    from .ndarray import NDArray


def imdecode(
    str_img: bytes,
    clip_rect: Any = (0, 0, 0, 0),
    out: NDArray | None = None,
    index: int = 0,
    channels: int = 3,
    mean: NDArray | None = None,
) -> NDArray:
    """Decodes an image into planes of floats. (:func:`loomix.image.imdecode` gives the pixels as they are.)

    Parameters
    ----------
    str_img : bytes
        Content of a JPEG, PNG or BMP file.
    clip_rect : tuple of four int
        The part that is wanted: columns from the first number up to the third, rows from the second up to the
        fourth. All zeros: the whole image.
    out : NDArray, optional
        (channels, height, width), or a batch of such, of which item ``index`` is written.
    channels : int
        3 (R, G, B) or 1 (grey).
    mean : NDArray, optional
        Is subtracted.

    Returns
    -------
    NDArray
        ``out``, or a new float32 array.
    """
    from .. import image
    from . import op

    if channels not in (1, 3):
        raise MXNetValueError(f"[nd.imdecode] channels is {channels}; expected 1 or 3.")
    picture = image.imdecode(str_img, flag=0 if channels == 1 else 1)
    left, top, right, bottom = clip_rect
    if any(clip_rect):
        height, width = picture.shape[:2]
        if not (0 <= left < right <= width and 0 <= top < bottom <= height):
            raise MXNetValueError(
                f"[nd.imdecode] clip_rect {tuple(clip_rect)} is not inside an image of {width} x {height} pixels."
            )
        picture = picture[top:bottom, left:right]
    planes = picture.transpose((2, 0, 1)).astype("float32")
    if mean is not None:
        planes = op.broadcast_sub(planes, mean)
    if out is None:
        return planes
    planes.copyto(out[index] if out.ndim == 4 else out)
    return out
