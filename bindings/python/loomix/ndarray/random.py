# SPDX-License-Identifier: Apache-2.0
"""Random arrays. Parameters of a distribution are numbers, or arrays with one value for each distribution."""

from typing import TYPE_CHECKING

from .. import _operators
from ..base import MXNetTypeError, MXNetValueError, numeric_types
from ..context import current_context
from . import _internal
from .ndarray import NDArray

if TYPE_CHECKING:
    from ._generated_random import *  # noqa: F403

globals().update(_operators.functions("ndarray", "random"))
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


def _draw(name, params, shape, dtype, ctx, out, kwargs):
    """Runs `_sample_NAME` where the parameters are arrays, `_random_NAME` where they are numbers."""
    values = list(params.values())
    given = dict(kwargs)
    if shape is not None:
        given["shape"] = (shape,) if isinstance(shape, int) else tuple(shape)
    if dtype is not None:
        given["dtype"] = dtype
    if any(isinstance(value, NDArray) for value in values):
        if not all(isinstance(value, NDArray) for value in values):
            kinds = ", ".join(f"{key}: {type(value).__name__}" for key, value in params.items())
            raise MXNetValueError(
                f"[random.{name}] Distribution parameters must all be NDArrays or all be numbers; got {kinds}."
            )
        return getattr(_internal, f"_sample_{name}")(*values, out=out, **given)
    for key, value in params.items():
        if not isinstance(value, numeric_types):
            raise MXNetValueError(
                f"[random.{name}] Distribution parameters must be either NDArray or numbers; "
                f"{key} is a {type(value).__name__}."
            )
    if out is None:
        given.setdefault("shape", (1,))
        given["ctx"] = ctx or current_context()
    else:
        given.setdefault("shape", out.shape)
        given.setdefault("dtype", out.dtype)
    return getattr(_internal, f"_random_{name}")(out=out, **params, **given)


def uniform(low=0, high=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Numbers spread evenly over [low, high).

    >>> uniform(0, 1, shape=(2, 2)).shape
    (2, 2)
    """
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, ctx, out, kwargs)


def normal(loc=0, scale=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Numbers of the normal distribution with mean ``loc`` and standard deviation ``scale``."""
    names = ("mu", "sigma") if isinstance(loc, NDArray) else ("loc", "scale")
    return _draw("normal", dict(zip(names, (loc, scale))), shape, dtype, ctx, out, kwargs)


def randn(*shape, **kwargs):
    """Numbers of the normal distribution; the sizes are given as arguments.

    >>> randn(2, 3).shape
    (2, 3)
    """
    loc, scale = kwargs.pop("loc", 0), kwargs.pop("scale", 1)
    dtype, ctx, out = kwargs.pop("dtype", None), kwargs.pop("ctx", None), kwargs.pop("out", None)
    return normal(loc, scale, shape or (1,), dtype, ctx, out, **kwargs)


def exponential(scale=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Numbers of the exponential distribution with mean ``scale``."""
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, ctx, out, kwargs)


def poisson(lam=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Counts of the Poisson distribution with mean ``lam``."""
    return _draw("poisson", {"lam": lam}, shape, dtype, ctx, out, kwargs)


def gamma(alpha=1, beta=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Numbers of the gamma distribution with shape ``alpha`` and scale ``beta``."""
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out, kwargs)


def negative_binomial(k=1, p=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Failures before ``k`` successes of probability ``p``."""
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, ctx, out, kwargs)


def generalized_negative_binomial(mu=1, alpha=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Counts with mean ``mu`` and dispersion ``alpha``."""
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, ctx, out, kwargs)


def multinomial(data, shape=None, get_prob=False, out=None, dtype="int32", **kwargs):
    """Positions drawn with the probabilities in the last axis of ``data``; ``get_prob`` adds their log-likelihood."""
    given = {} if shape is None else {"shape": shape}
    return _internal._sample_multinomial(data, get_prob=get_prob, out=out, dtype=dtype, **given, **kwargs)


def randint(low, high, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Whole numbers from ``low`` below ``high``; int32 by default."""
    for value in (low, high):
        if not isinstance(value, numeric_types):
            raise MXNetTypeError(
                f"[random.randint] a bound is a {type(value).__name__}; expected whole numbers."
            )
    return _draw("randint", {"low": int(low), "high": int(high)}, shape, dtype, ctx, out, kwargs)


def shuffle(data, **kwargs):
    """The items of the first axis in random order."""
    return _internal._shuffle(data, **kwargs)
