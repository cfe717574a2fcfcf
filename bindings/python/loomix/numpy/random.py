# SPDX-License-Identifier: Apache-2.0
"""Random arrays: ``np.random``. Parameters of a distribution may be arrays, which are broadcast.
Seeds are ``mx.random``'s."""

from __future__ import annotations

from typing import Any

import numpy as onp

from ..base import MXNetValueError
from . import _elementwise as e
from ._base import (
    F,
    asarray,
    broadcast_shape,
    cast,
    context_of,
    default_float,
    into,
    is_array,
    shape_of,
    type_name,
)

_SCALAR = (int, float, onp.generic)


def _shape(size: Any, *parameters: Any) -> tuple[int, ...]:
    if size is not None:
        return shape_of(size)
    return broadcast_shape("np.random", *(x.shape if is_array(x) else onp.shape(x) for x in parameters))


def _type(dtype: Any) -> str:
    return default_float() if dtype is None else type_name(dtype)


def _uniform(shape: Any, dtype: Any, ctx: Any) -> Any:
    return F._random_uniform(low=0.0, high=1.0, shape=shape, dtype=_type(dtype), ctx=context_of(ctx))


def _inside(shape: Any, ctx: Any) -> Any:
    """Numbers of (0, 1): the logarithm of none is infinite."""
    return F._maximum_scalar(_uniform(shape, None, ctx), scalar=2.0**-25)


def _normal(shape: Any, dtype: Any, ctx: Any) -> Any:
    return F._random_normal(loc=0.0, scale=1.0, shape=shape, dtype=_type(dtype), ctx=context_of(ctx))


def _number(value: Any) -> Any:
    return value if isinstance(value, _SCALAR) else cast(asarray(value), default_float())


def _positive(who: str, **parameters: Any) -> None:
    for name, value in parameters.items():
        if isinstance(value, _SCALAR) and float(value) < 0:
            raise MXNetValueError(f"[np.random.{who}] {name} is {value}; expected 0 or more.")


def uniform(
    low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Numbers spread evenly over [low, high)."""
    low, high = _number(low), _number(high)
    return into(out, _uniform(_shape(size, low, high), dtype, ctx) * (high - low) + low, "np.random.uniform")


def normal(
    loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Numbers of normal distributions with means ``loc`` and standard deviations ``scale``."""
    _positive("normal", scale=scale)
    loc, scale = _number(loc), _number(scale)
    return into(out, _normal(_shape(size, loc, scale), dtype, ctx) * scale + loc, "np.random.normal")


def lognormal(
    mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Numbers whose logarithms are normal."""
    return into(out, e.FUNCTIONS["exp"](normal(mean, sigma, size, dtype, ctx)), "np.random.lognormal")


def randn(*size: Any, **kwargs: Any) -> Any:
    """Numbers of the standard normal distribution; the sizes are the arguments."""
    return normal(0.0, 1.0, size, **kwargs)


def rand(*size: Any, **kwargs: Any) -> Any:
    """Numbers spread evenly over [0, 1); the sizes are the arguments."""
    return uniform(0.0, 1.0, size, **kwargs)


def randint(
    low: Any, high: Any = None, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Whole numbers from ``low`` below ``high``; from 0 below ``low`` without it."""
    low, high = (0, low) if high is None else (low, high)
    if low >= high:
        raise MXNetValueError(f"[np.random.randint] low is {low} and high {high}; expected low < high.")
    kind = "int64" if dtype is None else type_name(dtype)
    wide = kind if kind in ("int32", "int64") else "int32"
    drawn = F._random_randint(
        low=int(low),
        high=int(high),
        shape=() if size is None else shape_of(size),
        dtype=wide,
        ctx=context_of(ctx),
    )
    return into(out, cast(drawn, kind), "np.random.randint")


def exponential(scale: Any = 1.0, size: Any = None, ctx: Any = None, out: Any = None) -> Any:
    """Numbers of exponential distributions with means ``scale``."""
    _positive("exponential", scale=scale)
    scale = _number(scale)
    drawn = e.FUNCTIONS["log1p"](-_uniform(_shape(size, scale), None, ctx))
    return into(out, -drawn * scale, "np.random.exponential")


def gumbel(loc: Any = 0.0, scale: Any = 1.0, size: Any = None, ctx: Any = None, out: Any = None) -> Any:
    """Numbers of Gumbel distributions."""
    _positive("gumbel", scale=scale)
    loc, scale = _number(loc), _number(scale)
    drawn = -F.log(-F.log(_inside(_shape(size, loc, scale), ctx)))
    return into(out, drawn * scale + loc, "np.random.gumbel")


def logistic(loc: Any = 0.0, scale: Any = 1.0, size: Any = None, ctx: Any = None, out: Any = None) -> Any:
    """Numbers of logistic distributions."""
    _positive("logistic", scale=scale)
    loc, scale = _number(loc), _number(scale)
    u = _inside(_shape(size, loc, scale), ctx)
    return into(out, (F.log(u) - F.log1p(-u)) * scale + loc, "np.random.logistic")


def rayleigh(scale: Any = 1.0, size: Any = None, ctx: Any = None, out: Any = None) -> Any:
    """Numbers of Rayleigh distributions."""
    _positive("rayleigh", scale=scale)
    scale = _number(scale)
    return into(out, F.sqrt(exponential(2.0, _shape(size, scale), ctx)) * scale, "np.random.rayleigh")


def _by_exponential(name: str, transform: Any, doc: str) -> Any:
    def function(a: Any, size: Any = None, ctx: Any = None, out: Any = None) -> Any:
        _positive(name, a=a)
        a = _number(a)
        return into(out, transform(exponential(1.0, _shape(size, a), ctx), a), f"np.random.{name}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


weibull = _by_exponential(
    "weibull", lambda x, a: x ** (1.0 / a), "Numbers of Weibull distributions of shape ``a``."
)
pareto = _by_exponential(
    "pareto", lambda x, a: F.expm1(x / a), "Numbers of Pareto distributions of shape ``a``."
)


def power(a: Any, size: Any = None) -> Any:
    """Numbers of [0, 1] with density a x^(a - 1)."""
    a = _number(a)
    return _uniform(_shape(size, a), None, None) ** (1.0 / a)


def gamma(
    shape: Any, scale: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Numbers of gamma distributions."""
    _positive("gamma", shape=shape, scale=scale)
    shape, scale = _number(shape), _number(scale)
    sizes = _shape(size, shape, scale)
    if isinstance(shape, _SCALAR):
        drawn = F._random_gamma(
            alpha=float(shape), beta=1.0, shape=sizes, dtype=_type(dtype), ctx=context_of(ctx)
        )
    else:
        shape = cast(shape.broadcast_to(sizes), _type(dtype))
        drawn = F._sample_gamma(shape, F.ones_like(shape), dtype=_type(dtype)).reshape(sizes)
    return into(out, drawn * scale, "np.random.gamma")


def chisquare(df: Any, size: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
    """Numbers of chi-square distributions."""
    return gamma(_number(df) / 2.0, 2.0, size, dtype, ctx)


def beta(a: Any, b: Any, size: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
    """Numbers of beta distributions."""
    a, b = _number(a), _number(b)
    sizes = _shape(size, a, b)
    one, two = gamma(a, 1.0, sizes, dtype, ctx), gamma(b, 1.0, sizes, dtype, ctx)
    return one / (one + two)


def shuffle(x: Any) -> None:
    """Puts the parts along the first axis into a random order, in place."""
    F._shuffle(x, out=x)


def permutation(x: Any) -> Any:
    """The parts along the first axis, or the numbers below ``x``, in a random order."""
    from ._creation import arange

    return F._shuffle(arange(x, dtype="int64") if isinstance(x, (int, onp.integer)) else asarray(x))


def choice(
    a: Any, size: Any = None, replace: bool = True, p: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Elements of an array, or numbers below ``a``, drawn with or without putting them back."""
    count = int(a) if isinstance(a, (int, onp.integer)) else a.shape[0]
    sizes = () if size is None else shape_of(size)
    total = int(onp.prod(sizes))
    if count <= 0 or (not replace and total > count):
        raise MXNetValueError(f"[np.random.choice] cannot draw {total} of {count} elements.")
    if replace:
        u = _uniform((total,), "float64", ctx)
        if p is None:
            at = cast(e.FUNCTIONS["floor"](u * count), "int64")
        else:
            ends = F._np_cumsum(cast(asarray(p), "float64"), axis=0)
            at = F.sum(F.Cast(F.broadcast_lesser_equal(ends[None], u[:, None]), dtype="int64"), axis=1)
            at = e.clip(at, 0, count - 1)
    else:
        keys = gumbel(0.0, 1.0, (count,), ctx)  # the largest keys are a draw without repetition
        keys = keys if p is None else keys + F.log(cast(asarray(p), keys.dtype))
        at = F.argsort(-keys, axis=0, dtype="int64")[:total]
    at = at.reshape(sizes)
    return into(out, at if isinstance(a, (int, onp.integer)) else asarray(a)[at], "np.random.choice")


def multinomial(n: int, pvals: Any, size: Any = None, **kwargs: Any) -> Any:
    """How often each of some outcomes with probabilities ``pvals`` occurs in ``n`` draws."""
    if kwargs:
        raise MXNetValueError(f"[np.random.multinomial] there is no argument {next(iter(kwargs))!r}.")
    p = asarray(pvals, dtype="float64")
    sizes = () if size is None else shape_of(size)
    u = _uniform((*sizes, n, 1), "float64", None)
    ends = F._np_cumsum(p, axis=0)
    at = e.clip(
        F.sum(
            F.Cast(F.broadcast_lesser_equal(ends.reshape((1,) * (u.ndim - 1) + (-1,)), u), dtype="int64"),
            axis=-1,
        ),
        0,
        p.shape[0] - 1,
    )
    return F.sum(F.one_hot(at, depth=p.shape[0], dtype="int64"), axis=-2)


def multivariate_normal(
    mean: Any, cov: Any, size: Any = None, check_valid: Any = None, tol: Any = None
) -> Any:
    """Vectors of normal distributions with covariances ``cov``."""
    if check_valid is not None or tol is not None:
        raise MXNetValueError(
            "[np.random.multivariate_normal] check_valid and tol are not supported; a covariance that is not positive "
            "definite is an error."
        )
    from .linalg import cholesky, matmul

    mean, cov = floating_of(mean), floating_of(cov)
    shapes = mean.shape[:-1], cov.shape[:-2]
    sizes = broadcast_shape("np.random.multivariate_normal", *shapes) if size is None else shape_of(size)
    drawn = _normal((*sizes, mean.shape[-1]), None, mean.context)
    return matmul(cholesky(cov), drawn[..., None])[..., 0] + mean


def floating_of(value: Any) -> Any:
    return cast(asarray(value), default_float())


def seed(seed: int, ctx: Any = "all") -> None:
    """Seeds the generators of one device, or of all."""
    from .. import random

    random.seed(seed, ctx)


__all__ = [
    "beta",
    "chisquare",
    "choice",
    "exponential",
    "gamma",
    "gumbel",
    "logistic",
    "lognormal",
    "multinomial",
    "multivariate_normal",
    "normal",
    "pareto",
    "permutation",
    "power",
    "rand",
    "randint",
    "randn",
    "rayleigh",
    "seed",
    "shuffle",
    "uniform",
    "weibull",
]
