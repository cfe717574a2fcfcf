# SPDX-License-Identifier: Apache-2.0
"""Random symbols. Parameters of a distribution are numbers, or symbols with one value for each distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _operators
from ..base import AssertedError, numeric_types
from . import _internal
from .symbol import Symbol

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ._generated_random import *  # noqa: F403

globals().update(_operators.functions("symbol", "random"))
__all__ = [name for name, value in list(globals().items()) if type(value).__name__ == "OpFunction"]
__all__ += [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "shuffle",
    "uniform",
]


def _draw(
    name: str, params: Any, shape: int | Sequence[int] | None, dtype: DTypeLike | None, kwargs: Any
) -> Any:
    """Makes `_sample_NAME` where the parameters are symbols, `_random_NAME` where they are numbers."""
    values = list(params.values())
    given = dict(kwargs)
    if shape is not None:
        given["shape"] = shape
    if dtype is not None:
        given["dtype"] = dtype
    if all(isinstance(value, Symbol) for value in values):
        return getattr(_internal, f"_sample_{name}")(*values, **given)
    if not all(isinstance(value, numeric_types) for value in values):
        kinds = ", ".join(f"{key}: {type(value).__name__}" for key, value in params.items())
        raise AssertedError(
            f"[random.{name}] Distribution parameters must all be Symbols or all be numbers; got {kinds}."
        )
    return getattr(_internal, f"_random_{name}")(**params, **given)


def uniform(
    low: Any = 0,
    high: Any = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Any:
    """Numbers spread evenly over [low, high)."""
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, kwargs)


def normal(
    loc: Any = 0,
    scale: Any = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Any:
    """Numbers of the normal distribution with mean ``loc`` and standard deviation ``scale``."""
    names = ("mu", "sigma") if isinstance(loc, Symbol) else ("loc", "scale")
    return _draw("normal", dict(zip(names, (loc, scale))), shape, dtype, kwargs)


def randn(*shape: Any, **kwargs: Any) -> Any:
    """Numbers of the normal distribution; the sizes are given as arguments."""
    loc, scale, dtype = kwargs.pop("loc", 0), kwargs.pop("scale", 1), kwargs.pop("dtype", None)
    return normal(loc, scale, shape or (1,), dtype, **kwargs)


def exponential(
    scale: Any = 1, shape: int | Sequence[int] | None = None, dtype: DTypeLike | None = None, **kwargs: Any
) -> Any:
    """Numbers of the exponential distribution with mean ``scale``."""
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


def poisson(
    lam: Any = 1, shape: int | Sequence[int] | None = None, dtype: DTypeLike | None = None, **kwargs: Any
) -> Any:
    """Counts of the Poisson distribution with mean ``lam``."""
    return _draw("poisson", {"lam": lam}, shape, dtype, kwargs)


def gamma(
    alpha: Any = 1,
    beta: Any = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Any:
    """Numbers of the gamma distribution with shape ``alpha`` and scale ``beta``."""
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


def negative_binomial(
    k: int = 1,
    p: Any = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Any:
    """Failures before ``k`` successes of probability ``p``."""
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


def generalized_negative_binomial(
    mu: Any = 1,
    alpha: Any = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Any:
    """Counts with mean ``mu`` and dispersion ``alpha``."""
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, kwargs)


def multinomial(
    data: Any,
    shape: int | Sequence[int] | None = None,
    get_prob: bool = True,
    dtype: DTypeLike = "int32",
    **kwargs: Any,
) -> Symbol:
    """Positions drawn with the probabilities in the last axis of ``data``."""
    given: dict[str, Any] = {} if shape is None else {"shape": shape}
    return _internal._sample_multinomial(data, get_prob=get_prob, dtype=dtype, **given, **kwargs)


def randint(
    low: Any,
    high: Any,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    **kwargs: Any,
) -> Any:
    """Whole numbers from ``low`` below ``high``; int32 by default."""
    return _draw("randint", {"low": int(low), "high": int(high)}, shape, dtype, kwargs)


def shuffle(data: Any, **kwargs: Any) -> Symbol:
    """The items of the first axis in random order."""
    return _internal._shuffle(data, **kwargs)
