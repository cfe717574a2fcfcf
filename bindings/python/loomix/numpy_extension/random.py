# SPDX-License-Identifier: Apache-2.0
"""``npx.random``: draws whose shape follows that of the parameters."""

from __future__ import annotations

from typing import Any

from ..base import MXNetValueError
from ..numpy import random as _random
from ..numpy._base import F, asarray, cast, default_float, shape_of
from ..numpy.random import seed as seed

__all__ = ["bernoulli", "normal_n", "seed", "uniform_n"]


def bernoulli(
    prob: Any = None, logit: Any = None, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Ones with the probability ``prob``, or 1 / (1 + exp(-logit)); zeros else."""
    if (prob is None) == (logit is None):
        raise MXNetValueError("[npx.random.bernoulli] expected either prob or logit.")
    chance = asarray(prob) if logit is None else F.sigmoid(cast(asarray(logit), default_float()))
    drawn = _random.uniform(size=chance.shape if size is None else size, ctx=ctx) < chance
    result = cast(drawn, default_float() if dtype is None else dtype)
    return result if out is None else F.identity(result, out=out)


def _parts(draw: Any, one: Any, two: Any, batch_shape: Any, dtype: Any, ctx: Any) -> Any:
    base = _random._shape(None, one, two)
    return draw(one, two, (*(() if batch_shape is None else shape_of(batch_shape)), *base), dtype, ctx)


def uniform_n(
    low: Any = 0.0, high: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: Any = None
) -> Any:
    """``batch_shape`` draws of :func:`np.random.uniform` for each parameter."""
    return _parts(_random.uniform, low, high, batch_shape, dtype, ctx)


def normal_n(
    loc: Any = 0.0, scale: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: Any = None
) -> Any:
    """``batch_shape`` draws of :func:`np.random.normal` for each parameter."""
    return _parts(_random.normal, loc, scale, batch_shape, dtype, ctx)
