# SPDX-License-Identifier: Apache-2.0
"""Further operators on arrays, made from the operator table, and functions on top of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import _operators
from . import op as _op

if TYPE_CHECKING:
    from ..ndarray import NDArray
    from ._generated_contrib import *  # noqa: F403

globals().update(_operators.functions("ndarray", "contrib"))
__all__ = [name for name, value in list(globals().items()) if type(value).__name__ == "OpFunction"]
__all__ += ["isfinite", "isinf", "isnan"]


def isfinite(data: NDArray) -> NDArray:
    """1 where an element is neither infinite nor NaN, else 0.

    >>> isfinite(mx.nd.array([1, float("inf")])).asnumpy()
    array([1., 0.], dtype=float32)
    """
    return (data == data) * (_op.abs(data) != np.inf)


def isinf(data: NDArray) -> NDArray:
    """1 where an element is infinite, else 0."""
    return _op.abs(data) == np.inf


def isnan(data: NDArray) -> NDArray:
    """1 where an element is NaN, else 0."""
    return data != data
