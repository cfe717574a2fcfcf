# SPDX-License-Identifier: Apache-2.0
"""Random symbols. Parameters of a distribution are numbers, or symbols with one value for each distribution."""

from typing import TYPE_CHECKING

from .. import _operators
from ..base import MXNetValueError, numeric_types
from . import _internal
from .symbol import Symbol

if TYPE_CHECKING:
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


def _draw(name, params, shape, dtype, kwargs):
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
        raise MXNetValueError(
            f"[random.{name}] Distribution parameters must all be Symbols or all be numbers; got {kinds}."
        )
    return getattr(_internal, f"_random_{name}")(**params, **given)


def uniform(low=0, high=1, shape=None, dtype=None, **kwargs):
    """Numbers spread evenly over [low, high)."""
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, kwargs)


def normal(loc=0, scale=1, shape=None, dtype=None, **kwargs):
    """Numbers of the normal distribution with mean ``loc`` and standard deviation ``scale``."""
    names = ("mu", "sigma") if isinstance(loc, Symbol) else ("loc", "scale")
    return _draw("normal", dict(zip(names, (loc, scale))), shape, dtype, kwargs)


def randn(*shape, **kwargs):
    """Numbers of the normal distribution; the sizes are given as arguments."""
    loc, scale, dtype = kwargs.pop("loc", 0), kwargs.pop("scale", 1), kwargs.pop("dtype", None)
    return normal(loc, scale, shape or (1,), dtype, **kwargs)


def exponential(scale=1, shape=None, dtype=None, **kwargs):
    """Numbers of the exponential distribution with mean ``scale``."""
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


def poisson(lam=1, shape=None, dtype=None, **kwargs):
    """Counts of the Poisson distribution with mean ``lam``."""
    return _draw("poisson", {"lam": lam}, shape, dtype, kwargs)


def gamma(alpha=1, beta=1, shape=None, dtype=None, **kwargs):
    """Numbers of the gamma distribution with shape ``alpha`` and scale ``beta``."""
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


def negative_binomial(k=1, p=1, shape=None, dtype=None, **kwargs):
    """Failures before ``k`` successes of probability ``p``."""
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


def generalized_negative_binomial(mu=1, alpha=1, shape=None, dtype=None, **kwargs):
    """Counts with mean ``mu`` and dispersion ``alpha``."""
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, kwargs)


def multinomial(data, shape=None, get_prob=True, dtype="int32", **kwargs):
    """Positions drawn with the probabilities in the last axis of ``data``."""
    given = {} if shape is None else {"shape": shape}
    return _internal._sample_multinomial(data, get_prob=get_prob, dtype=dtype, **given, **kwargs)


def randint(low, high, shape=None, dtype=None, **kwargs):
    """Whole numbers from ``low`` below ``high``; int32 by default."""
    return _draw("randint", {"low": int(low), "high": int(high)}, shape, dtype, kwargs)


def shuffle(data, **kwargs):
    """The items of the first axis in random order."""
    return _internal._shuffle(data, **kwargs)
