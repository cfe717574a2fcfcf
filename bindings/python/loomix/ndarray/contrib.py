# SPDX-License-Identifier: Apache-2.0
"""Further operators on arrays, made from the operator table, and functions on top of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import _operators, candidates
from . import op as _op
from . import optimizer_steps
from .control_flow import cond, foreach, while_loop
from .optimizer_steps import *  # noqa: F403

if TYPE_CHECKING:
    from ..context import Context
    from ..ndarray import NDArray
    from ._generated_contrib import *  # noqa: F403

globals().update(_operators.functions("ndarray", "contrib"))
__all__ = [name for name, value in list(globals().items()) if type(value).__name__ == "OpFunction"]
__all__ += ["cond", "foreach", "isfinite", "isinf", "isnan", "rand_zipfian", "while_loop"]
__all__ += optimizer_steps.__all__


def isfinite(data: NDArray) -> NDArray:
    """1 where an element is neither infinite nor NaN, else 0.

    >>> import loomix as mx
    >>> isfinite(mx.nd.array([1, float("inf")])).asnumpy()
    array([1., 0.], dtype=float32)
    """
    return (data == data) * (_op.abs(data) != np.inf)


def isinf(data: NDArray) -> NDArray:
    """1 where an element is infinite, else 0.

    >>> import loomix as mx
    >>> isinf(mx.nd.array([1, float("inf")])).asnumpy()
    array([0., 1.], dtype=float32)
    """
    return _op.abs(data) == np.inf


def isnan(data: NDArray) -> NDArray:
    """1 where an element is NaN, else 0.

    >>> import loomix as mx
    >>> isnan(mx.nd.array([1, float("nan")])).asnumpy()
    array([0., 1.], dtype=float32)
    """
    return data != data


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Draws classes of which the first are frequent, with replacement: ``c`` has the probability
    ``log((c + 2) / (c + 1)) / log(range_max + 1)``.

    Parameters
    ----------
    true_classes : NDArray
        The classes of the data.
    num_sampled : int
        How many are drawn.
    range_max : int
        How many classes there are.
    ctx : Context, optional
        The device.

    Returns
    -------
    tuple of NDArray
        The classes drawn (int64); how often each true class, and each class drawn, is expected (float64).

    Examples
    --------
    >>> import loomix as mx
    >>> drawn, expected_true, expected_drawn = mx.nd.contrib.rand_zipfian(mx.nd.array([0]), 4, range_max=10)
    >>> drawn.shape, expected_true.asnumpy().round(3), expected_drawn.shape
    ((4,), array([1.156]), (4,))
    """
    from .. import ndarray as nd

    return candidates.rand_zipfian(nd, true_classes, num_sampled, range_max, ctx=ctx)
