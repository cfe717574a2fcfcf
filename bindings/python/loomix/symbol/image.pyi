# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the operator table.
from collections.abc import Sequence
from typing import Any

from .symbol import Symbol

def adjust_lighting(
    data: Symbol | None = None,
    alpha: Sequence[float] | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def crop(
    data: Symbol | None = None,
    x: int | None = None,
    y: int | None = None,
    width: int | None = None,
    height: int | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def flip_left_right(
    data: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def flip_top_bottom(
    data: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def normalize(
    data: Symbol | None = None,
    mean: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    std: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def random_brightness(
    data: Symbol | None = None,
    min_factor: float | None = None,
    max_factor: float | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def random_color_jitter(
    data: Symbol | None = None,
    brightness: float | None = None,
    contrast: float | None = None,
    saturation: float | None = None,
    hue: float | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def random_contrast(
    data: Symbol | None = None,
    min_factor: float | None = None,
    max_factor: float | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def random_flip_left_right(
    data: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def random_flip_top_bottom(
    data: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def random_hue(
    data: Symbol | None = None,
    min_factor: float | None = None,
    max_factor: float | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def random_lighting(
    data: Symbol | None = None,
    alpha_std: float = 0.05,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def random_saturation(
    data: Symbol | None = None,
    min_factor: float | None = None,
    max_factor: float | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def resize(
    data: Symbol | None = None,
    size: int | Sequence[int] = (),
    keep_ratio: bool = False,
    interp: int = 1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def to_tensor(
    data: Symbol | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
