# SPDX-License-Identifier: Apache-2.0
"""Transforms of images, as blocks: height x width x channel arrays before :class:`ToTensor`."""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .... import _star, habits, image
from ...._arguments import as_number, as_shape, as_whole, expect
from ....base import MXNetValueError, described, numeric_types
from ....util import is_np_array
from ...block import Block, HybridBlock
from ...nn import HybridSequential, Sequential

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

__all__ = [
    "Block",
    "Cast",
    "CenterCrop",
    "Compose",
    "CropResize",
    "HybridBlock",
    "HybridSequential",
    "Normalize",
    "RandomApply",
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomHue",
    "RandomLighting",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSaturation",
    "Resize",
    "Rotate",
    "Sequential",
    "ToTensor",
    "is_np_array",
    "numeric_types",
]


def _pair(size: Any) -> tuple[int, int]:
    return (size, size) if isinstance(size, numeric_types) else tuple(size)


def _check_size(who: str, size: Any) -> None:
    """Raises an error unless ``size`` is one of an image."""
    sizes = as_shape(who, "size", size)
    if len(sizes) not in (1, 2):
        raise MXNetValueError(f"[{who}] size is {size!r}; expected an int or (width, height).")
    for part in sizes:
        as_whole(who, "size", part, least=1)


def _tuple(values: Any) -> tuple[Any, ...]:
    return (values,) if isinstance(values, numeric_types) else tuple(values)


class _Step:
    """A transform whose repr says what it was made of."""

    _settings: Mapping[str, Any] = MappingProxyType({})

    def __repr__(self) -> str:
        return described(self, **self._settings)


class Compose(Sequential):
    """Several transforms, one after the other.

    Parameters
    ----------
    transforms : list of Block

    Examples
    --------
    >>> import loomix as mx
    >>> steps = Compose([Resize(4), ToTensor()])
    >>> steps(mx.nd.zeros((8, 6, 3), dtype="uint8")).shape
    (3, 4, 4)
    """

    def __init__(self, transforms: Sequence[Any]) -> None:
        super().__init__()
        expect(hasattr(transforms, "__iter__"), "Compose", "transforms", transforms, "a list of transforms")
        transforms = list(transforms)
        for step in transforms:
            right = callable(step) and not isinstance(step, type)
            expect(right, "Compose", "a transform", step, "a block or a function")
        hybrid: list[Any] = []
        for step in [*transforms, None]:
            if isinstance(step, HybridBlock):
                hybrid.append(step)
                continue
            # Not compiled: images tend to have many sizes, each of which would be a graph of its own.
            if len(hybrid) == 1:
                self.add(hybrid[0])
            elif hybrid:
                part = HybridSequential()
                part.add(*hybrid)
                self.add(part)
            hybrid = []
            if step is not None:
                self.add(step)


class Cast(_Step, HybridBlock):
    """Another element type.

    Parameters
    ----------
    dtype : NumPy type or str

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.Cast("float16")(mx.nd.ones((2, 2, 3))).dtype.__name__
    'float16'
    """

    def __init__(self, dtype: DTypeLike = "float32") -> None:
        super().__init__()
        self._dtype = dtype
        self._settings = {"dtype": dtype}

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.cast(x, self._dtype)


class ToTensor(_Step, HybridBlock):
    """From height x width x channel of uint8 to channel x height x width of float32 between 0 and 1.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.ToTensor()(mx.nd.zeros((8, 6, 3), dtype="uint8")).shape
    (3, 8, 6)
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.to_tensor(x)

    def __init__(self) -> None:
        super().__init__()


class Normalize(_Step, HybridBlock):
    """``(x - mean) / std`` for each channel of what :class:`ToTensor` gives.

    Parameters
    ----------
    mean, std : float or tuple of float

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.Normalize(mean=2.0, std=4.0)(mx.nd.array([[[4]], [[6]], [[2]]])).asnumpy().ravel()
    array([0.5, 1. , 0. ], dtype=float32)
    """

    def __init__(self, mean: Any = 0.0, std: Any = 1.0) -> None:
        super().__init__()
        self._mean, self._std = _tuple(mean), _tuple(std)
        for value in self._mean:
            as_number("Normalize", "mean", value)
        for value in self._std:
            as_number("Normalize", "std", value)
            if value == 0:
                raise MXNetValueError(
                    "[Normalize] std is 0; expected other numbers, as values are divided by it."
                )
        self._settings = {"mean": self._mean, "std": self._std}

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        dtype = getattr(x, "dtype", None)  # symbols have none
        if dtype is not None:
            habits.integer_normalize(dtype)
        return F.image.normalize(x, self._mean, self._std)


class Rotate(_Step, Block):
    """Turns channel x height x width images of float32.

    Parameters
    ----------
    rotation_degrees : float
    zoom_in : bool
        Whether the image is enlarged until no corner is empty.
    zoom_out : bool
        Whether it is made smaller until all of it is seen.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.Rotate(90)(mx.nd.ones((3, 8, 8))).shape
    (3, 8, 8)
    """

    def __init__(self, rotation_degrees: float, zoom_in: bool = False, zoom_out: bool = False) -> None:
        super().__init__()
        self._args = (rotation_degrees, zoom_in, zoom_out)
        self._settings = {"rotation_degrees": rotation_degrees, "zoom_in": zoom_in, "zoom_out": zoom_out}

    def forward(self, x: Any) -> Any:
        """Turns the image, or a batch of them."""
        return image.imrotate(x, *self._args)


class RandomRotation(_Step, Block):
    """Turns images by a random angle; see :class:`Rotate`.

    Parameters
    ----------
    angle_limits : tuple of float
        The smallest and the largest angle.
    zoom_in, zoom_out : bool
    rotate_with_proba : float
        How probable it is that an image is turned at all.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.RandomRotation((-30, 30))(mx.nd.ones((3, 8, 8))).shape
    (3, 8, 8)
    """

    def __init__(
        self,
        angle_limits: tuple[float, float],
        zoom_in: bool = False,
        zoom_out: bool = False,
        rotate_with_proba: float = 1.0,
    ) -> None:
        super().__init__()
        lower, upper = angle_limits
        if lower >= upper:
            raise MXNetValueError(
                f"[RandomRotation] angle_limits is {angle_limits}; expected the smaller angle first."
            )
        if not 0 <= rotate_with_proba <= 1:
            raise MXNetValueError(
                f"[RandomRotation] rotate_with_proba is {rotate_with_proba}; expected a probability, 0 to 1."
            )
        self._args = (angle_limits, zoom_in, zoom_out)
        self._probability = rotate_with_proba
        self._settings = {
            "angle_limits": angle_limits,
            "zoom_in": zoom_in,
            "zoom_out": zoom_out,
            "rotate_with_proba": rotate_with_proba,
        }

    def forward(self, x: Any) -> Any:
        """Turns the image, or a batch of them."""
        return x if random.random() > self._probability else image.random_rotate(x, *self._args)


class RandomResizedCrop(_Step, Block):
    """A random part of the image, resized.

    Parameters
    ----------
    size : int or tuple of (width, height)
    scale : tuple of float
        Smallest and largest share of the area.
    ratio : tuple of float
        Smallest and largest width over height.
    interpolation : int
        See :func:`loomix.image.imresize`.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.RandomResizedCrop(4)(mx.nd.zeros((8, 8, 3), dtype="uint8")).shape
    (4, 4, 3)
    """

    def __init__(
        self,
        size: Any,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        _check_size("RandomResizedCrop", size)
        self._args = (_pair(size), scale, ratio, interpolation)
        self._settings = {"size": size, "scale": scale, "ratio": ratio, "interpolation": interpolation}

    def forward(self, x: Any) -> Any:
        """Crops the image."""
        return image.random_size_crop(x, *self._args)[0]


class CropResize(_Step, HybridBlock):
    """A part of the image, resized if a size is given.

    Parameters
    ----------
    x, y : int
        The left upper corner.
    width, height : int
    size : int or tuple of (width, height), optional
    interpolation : int, optional

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.CropResize(0, 0, 4, 4, size=(2, 2))(mx.nd.zeros((8, 8, 3), dtype="uint8")).shape
    (2, 2, 3)
    """

    def __init__(
        self, x: int, y: int, width: int, height: int, size: Any = None, interpolation: int | None = None
    ) -> None:
        super().__init__()
        self._crop = {"x": x, "y": y, "width": width, "height": height}
        self._size = size
        self._interpolation = 1 if interpolation is None else interpolation
        self._settings = {
            "x": x,
            "y": y,
            "width": width,
            "height": height,
            "size": size,
            "interpolation": self._interpolation,
        }

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        out = F.image.crop(x, **self._crop)
        return F.image.resize(out, self._size, False, self._interpolation) if self._size else out


class CenterCrop(_Step, Block):
    """The middle of the image; one that is too small is enlarged first.

    Parameters
    ----------
    size : int or tuple of (width, height)
    interpolation : int

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.CenterCrop((4, 2))(mx.nd.zeros((8, 8, 3), dtype="uint8")).shape
    (2, 4, 3)
    """

    def __init__(self, size: Any, interpolation: int = 1) -> None:
        super().__init__()
        _check_size("CenterCrop", size)
        self._args = (_pair(size), interpolation)
        self._settings = {"size": size, "interpolation": interpolation}

    def forward(self, x: Any) -> Any:
        """Crops the image."""
        return image.center_crop(x, *self._args)[0]


class Resize(_Step, HybridBlock):
    """Another size.

    Parameters
    ----------
    size : int or tuple of (width, height)
        Checked when the layer is called.
    keep_ratio : bool
        Whether an int is the size of the shorter side only.
    interpolation : int

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.Resize((6, 4))(mx.nd.zeros((8, 8, 3), dtype="uint8")).shape  # width, height
    (4, 6, 3)
    """

    def __init__(self, size: Any, keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__()
        self._args = (size, keep_ratio, interpolation)
        self._settings = {"size": size, "keep_ratio": keep_ratio, "interpolation": interpolation}

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.resize(x, *self._args)


class RandomFlipLeftRight(_Step, HybridBlock):
    """Mirrors every other image, at random.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.RandomFlipLeftRight()(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    def __init__(self) -> None:
        super().__init__()

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.random_flip_left_right(x)


class RandomFlipTopBottom(_Step, HybridBlock):
    """Turns every other image upside down, at random.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.RandomFlipTopBottom()(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    def __init__(self) -> None:
        super().__init__()

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.random_flip_top_bottom(x)


class _RandomFactor(_Step, HybridBlock):
    """Changes something by a random factor between ``1 - amount`` and ``1 + amount``."""

    _operator: str

    def __init__(self, amount: float) -> None:
        super().__init__()
        as_number(type(self).__name__, "the amount", amount, least=0)
        self._limits = (max(0, 1 - amount), 1 + amount)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return getattr(F.image, self._operator)(x, *self._limits)


class RandomBrightness(_RandomFactor):
    """Changes the brightness.

    Parameters
    ----------
    brightness : float
        The factor lies between 1 minus and 1 plus this.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.RandomBrightness(0.5)(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    _operator = "random_brightness"

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness)
        self._settings = {"brightness": brightness}


class RandomContrast(_RandomFactor):
    """Changes the contrast.

    Parameters
    ----------
    contrast : float
        The factor lies between 1 minus and 1 plus this.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.RandomContrast(0.5)(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    _operator = "random_contrast"

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast)
        self._settings = {"contrast": contrast}


class RandomSaturation(_RandomFactor):
    """Changes the saturation of the colours.

    Parameters
    ----------
    saturation : float
        The factor lies between 1 minus and 1 plus this.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.RandomSaturation(0.5)(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    _operator = "random_saturation"

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation)
        self._settings = {"saturation": saturation}


class RandomHue(_RandomFactor):
    """Changes the hue of the colours.

    Parameters
    ----------
    hue : float
        The factor lies between 1 minus and 1 plus this.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.RandomHue(0.1)(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    _operator = "random_hue"

    def __init__(self, hue: float) -> None:
        super().__init__(hue)
        self._settings = {"hue": hue}


class RandomColorJitter(_Step, HybridBlock):
    """Changes brightness, contrast, saturation and hue, in random order.

    Parameters
    ----------
    brightness, contrast, saturation, hue : float
        As for the transforms of one of them.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.RandomColorJitter(0.1, 0.1, 0.1, 0.1)(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    def __init__(
        self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0
    ) -> None:
        super().__init__()
        self._args = (brightness, contrast, saturation, hue)
        self._settings = {
            "brightness": brightness,
            "contrast": contrast,
            "saturation": saturation,
            "hue": hue,
        }

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.random_color_jitter(x, *self._args)


class RandomLighting(_Step, HybridBlock):
    """Adds noise along the main directions of the colours of natural images.

    Parameters
    ----------
    alpha : float
        Its strength.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.RandomLighting(0.1)(mx.nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self._alpha = alpha
        self._settings = {"alpha": alpha}

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.image.random_lighting(x, self._alpha)


class RandomApply(Sequential):
    """Applies transforms with some probability.

    Parameters
    ----------
    transforms : Block
    p : float

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.data.vision import transforms
    >>> transforms.RandomApply(transforms.Cast("float16"), p=1.0)(mx.nd.ones((2, 2, 3))).dtype.__name__
    'float16'
    """

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, x: Any, *args: Any) -> Any:
        """The image, transformed or as it is."""
        return x if self.p < random.random() else self.transforms(x, *args)


_star.complete(globals(), "image np random")
