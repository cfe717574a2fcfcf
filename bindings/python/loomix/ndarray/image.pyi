# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the operator table.
from collections.abc import Sequence

from .ndarray import NDArray

def adjust_lighting(
    data: NDArray,
    alpha: Sequence[float],
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def crop(
    data: NDArray,
    x: int,
    y: int,
    width: int,
    height: int,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def flip_left_right(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def flip_top_bottom(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def normalize(
    data: NDArray,
    mean: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    std: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_brightness(
    data: NDArray,
    min_factor: float,
    max_factor: float,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_color_jitter(
    data: NDArray,
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_contrast(
    data: NDArray,
    min_factor: float,
    max_factor: float,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_flip_left_right(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_flip_top_bottom(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_hue(
    data: NDArray,
    min_factor: float,
    max_factor: float,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_lighting(
    data: NDArray,
    alpha_std: float = 0.05,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_saturation(
    data: NDArray,
    min_factor: float,
    max_factor: float,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def resize(
    data: NDArray,
    size: int | Sequence[int] = (),
    keep_ratio: bool = False,
    interp: int = 1,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def to_tensor(
    data: NDArray,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
