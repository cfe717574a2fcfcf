# SPDX-License-Identifier: Apache-2.0
"""Functions on each element: those of ``mx.np`` under the standard's names, and the few that it lacks."""

from __future__ import annotations

from typing import Any

import numpy as onp

from ..base import MXNetTypeError
from ..numpy import FUNCTIONS as _np
from ..numpy import _elementwise, _shape
from ..numpy._base import cast, pair
from ._types import array_of

_RENAMED = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    "pow": "power",
}
_SAME = (
    "abs add bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor ceil copysign cos cosh divide "
    "equal exp expm1 floor floor_divide greater greater_equal hypot isfinite isinf isnan less less_equal log log10 "
    "log1p log2 logical_and logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal "
    "positive real reciprocal signbit sin sinh sqrt square subtract tan tanh trunc"
).split()
FUNCTIONS: dict[str, Any] = {
    **{name: _np[name] for name in _SAME},
    **{name: _np[other] for name, other in _RENAMED.items()},
}


def round(x: Any, /) -> Any:
    """The nearest whole numbers, halves to even ones."""
    return _elementwise.around(x)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """The elements, those beyond one of the bounds moved to it."""
    x = array_of(x, "clip")
    if min is None and max is None:
        return x.copy()
    return cast(_elementwise.clip(x, min, max), x.dtype)


def logaddexp(x1: Any, x2: Any, /) -> Any:
    """``log(exp(x1) + exp(x2))``, without overflow."""
    a, b = pair(x1, x2, "array_api.logaddexp")
    larger = _np["maximum"](a, b)
    sum = larger + _np["log1p"](_np["exp"](-_np["abs"](a - b)))
    return _shape.where(_np["equal"](a, b), larger + 0.6931471805599453, sum)  # infinities have no difference


def remainder(x1: Any, x2: Any, /) -> Any:
    """What is left of x1 after whole parts of x2, of x2's sign; NaN where x2 is 0, where MXNet's is 0."""
    rest = _np["mod"](x1, x2)
    if rest.dtype.kind != "f":
        return rest
    a, b = pair(x1, x2, "array_api.remainder")
    undefined = _np["logical_or"](_np["equal"](b, 0), _np["logical_or"](_np["isnan"](a), _np["isnan"](b)))
    return _shape.where(
        undefined, onp.nan, _shape.where(_np["equal"](rest, 0), _np["copysign"](rest, b), rest)
    )


def sign(x: Any, /) -> Any:
    """-1, 0 or 1; the sign of -0 is 0."""
    return _np["sign"](x) + 0


def conj(x: Any, /) -> Any:
    """The array: there are no complex ones."""
    return array_of(x, "conj")


def imag(x: Any, /) -> Any:
    """Refused: arrays here are real."""
    raise MXNetTypeError(
        f"[array_api.imag] the array has the type {x.dtype}; expected a complex one, of which there are none."
    )


FUNCTIONS.update(remainder=remainder, sign=sign)
FUNCTIONS.update(round=round, clip=clip, logaddexp=logaddexp, conj=conj, imag=imag)
