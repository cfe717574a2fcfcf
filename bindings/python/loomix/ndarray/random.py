# SPDX-License-Identifier: Apache-2.0
"""Random arrays. Parameters of a distribution are numbers, or arrays with one value for each distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _operators
from ..base import AssertedError, MXNetTypeError, MXNetValueError, _Null, numeric_types
from ..context import current_context
from . import _internal
from .ndarray import NDArray, shape_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from typing_extensions import TypedDict, Unpack

    from ..context import Context
    from ._generated_random import *  # noqa: F403

    class _Name(TypedDict, total=False):
        """What every operator takes."""

        name: str | None

    class _Output(_Name, total=False):
        out: NDArray | None

    class _OfNormal(_Output, total=False):
        loc: Any
        scale: Any
        dtype: DTypeLike | None
        ctx: Context | None


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


def _draw(
    name: str,
    params: Any,
    shape: int | Sequence[int] | None,
    dtype: DTypeLike | None,
    ctx: Context | None,
    out: NDArray | None,
    kwargs: Any,
) -> Any:
    """Runs `_sample_NAME` where the parameters are arrays, `_random_NAME` where they are numbers."""
    values = list(params.values())
    for key in params:
        if key in kwargs:
            raise MXNetTypeError(
                f"[random.{name}] {key!r} is made of the function's own arguments. "
                f"Leave it out, or call nd.random_{name}."
            )
    given = dict(kwargs)
    if shape is not None and shape is not _Null:
        given["shape"] = shape_of(shape)
    if dtype is not None and dtype is not _Null:
        given["dtype"] = dtype
    if any(isinstance(value, NDArray) for value in values):
        if not all(isinstance(value, NDArray) for value in values):
            kinds = ", ".join(f"{key}: {type(value).__name__}" for key, value in params.items())
            raise AssertedError(
                f"[random.{name}] Distribution parameters must all be NDArrays or all be numbers; got {kinds}."
            )
        return getattr(_internal, f"_sample_{name}")(*values, out=out, **given)
    for key, value in params.items():
        if not isinstance(value, numeric_types):
            raise MXNetValueError(
                f"[random.{name}] Distribution parameters must be either NDArray or numbers; "
                f"{key} is of type {type(value).__name__}."
            )
    if out is None:
        given.setdefault("shape", (1,))
        given["ctx"] = ctx or current_context()
    else:
        given.setdefault("shape", out.shape)
        given.setdefault("dtype", out.dtype)
    return getattr(_internal, f"_random_{name}")(out=out, **params, **given)


def uniform(
    low: Any = 0,
    high: Any = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
    **kwargs: Unpack[_Name],
) -> Any:
    """Numbers spread evenly over [low, high).

    >>> uniform(0, 1, shape=(2, 2)).shape
    (2, 2)
    """
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, ctx, out, kwargs)


def normal(
    loc: Any = 0,
    scale: Any = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
    **kwargs: Unpack[_Name],
) -> Any:
    """Numbers of the normal distribution with mean ``loc`` and standard deviation ``scale``.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.random.seed(1)
    >>> x = mx.nd.random.normal(loc=10, scale=0.1, shape=(1000,))
    >>> round(float(x.mean().asscalar()))
    10
    """
    names = ("mu", "sigma") if isinstance(loc, NDArray) else ("loc", "scale")
    return _draw("normal", dict(zip(names, (loc, scale))), shape, dtype, ctx, out, kwargs)


def randn(*shape: Any, **kwargs: Unpack[_OfNormal]) -> Any:
    """Numbers of the normal distribution; the sizes are given as arguments.

    >>> randn(2, 3).shape
    (2, 3)
    """
    return normal(shape=shape or (1,), **kwargs)


def exponential(
    scale: Any = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
    **kwargs: Unpack[_Name],
) -> Any:
    """Numbers of the exponential distribution with mean ``scale``.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.nd.random.exponential(scale=2, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, ctx, out, kwargs)


def poisson(
    lam: Any = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
    **kwargs: Unpack[_Name],
) -> Any:
    """Counts of the Poisson distribution with mean ``lam``.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.nd.random.poisson(lam=4, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw("poisson", {"lam": lam}, shape, dtype, ctx, out, kwargs)


def gamma(
    alpha: Any = 1,
    beta: Any = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
    **kwargs: Unpack[_Name],
) -> Any:
    """Numbers of the gamma distribution with shape ``alpha`` and scale ``beta``.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.nd.random.gamma(alpha=2, beta=0.5, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out, kwargs)


def negative_binomial(
    k: int = 1,
    p: Any = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
    **kwargs: Unpack[_Name],
) -> Any:
    """Failures before ``k`` successes of probability ``p``.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.nd.random.negative_binomial(k=3, p=0.5, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, ctx, out, kwargs)


def generalized_negative_binomial(
    mu: Any = 1,
    alpha: Any = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
    **kwargs: Unpack[_Name],
) -> Any:
    """Counts with mean ``mu`` and dispersion ``alpha``.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.nd.random.generalized_negative_binomial(mu=3, alpha=0.5, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, ctx, out, kwargs)


def multinomial(
    data: Any,
    shape: int | Sequence[int] | None = None,
    get_prob: bool = False,
    out: NDArray | None = None,
    dtype: DTypeLike = "int32",
    **kwargs: Unpack[_Name],
) -> Any:
    """Positions drawn with the probabilities in the last axis of ``data``; ``get_prob`` adds their log-likelihood.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.nd.random.multinomial(mx.nd.array([[0, 1], [1, 0]])).asnumpy()
    array([1, 0], dtype=int32)
    """
    given: dict[str, Any] = {} if shape is None else {"shape": shape}
    return _internal._sample_multinomial(data, get_prob=get_prob, out=out, dtype=dtype, **given, **kwargs)


def randint(
    low: Any,
    high: Any,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
    **kwargs: Unpack[_Name],
) -> Any:
    """Whole numbers from ``low`` below ``high``; int32 by default.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.random.randint(0, 3, shape=(100,))
    >>> sorted(set(x.asnumpy().tolist()))
    [0, 1, 2]
    """
    for value in (low, high):
        if not isinstance(value, numeric_types):
            raise MXNetTypeError(
                f"[random.randint] a bound is of type {type(value).__name__}; expected whole numbers."
            )
    return _draw("randint", {"low": int(low), "high": int(high)}, shape, dtype, ctx, out, kwargs)


def shuffle(data: Any, **kwargs: Unpack[_Output]) -> NDArray:
    """The items of the first axis in random order.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.random.shuffle(mx.nd.arange(4))
    >>> sorted(x.asnumpy().tolist())
    [0.0, 1.0, 2.0, 3.0]
    """
    return _internal._shuffle(data, **kwargs)
