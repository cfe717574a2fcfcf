# SPDX-License-Identifier: Apache-2.0
"""Checks of random numbers: moments, and how often values fall into ranges."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import MXNetValueError

__all__ = ["chi_square_check", "gen_buckets_probs_with_ppf", "mean_check", "var_check", "verify_generator"]


def _chi_square_tail(x: float, degrees: int) -> float:
    """Probability that a chi-square variable is above ``x``: the upper incomplete gamma function, as a series below
    its mean and as a continued fraction (by Lentz) above."""
    a, half = degrees / 2, x / 2
    if half <= 0:
        return 1.0
    scale = math.exp(-half + a * math.log(half) - math.lgamma(a))
    if half < a + 1:
        term = total = 1 / a
        n = a
        while abs(term) > abs(total) * 1e-15:
            n += 1
            term *= half / n
            total += term
        return 1 - total * scale
    tiny = 1e-300
    b = half + 1 - a
    c, d = 1 / tiny, 1 / b
    result = d
    for i in range(1, 10000):
        factor = -i * (i - a)
        b += 2
        d = 1 / (factor * d + b or tiny)
        c = b + factor / c or tiny
        result *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return scale * result


def gen_buckets_probs_with_ppf(ppf: Callable[[float], float], nbuckets: int) -> tuple[Any, Any]:
    """Ranges that are equally likely, from the inverse of a distribution function, and their probabilities.

    >>> gen_buckets_probs_with_ppf(lambda x: 2 * x, 2)
    ([(0.0, 1.0), (1.0, 2.0)], [0.5, 0.5])
    """
    if nbuckets < 1:
        raise MXNetValueError(f"[gen_buckets_probs_with_ppf] nbuckets is {nbuckets}; expected at least 1.")
    edges = [ppf(i / nbuckets) for i in range(nbuckets + 1)]
    return list(zip(edges[:-1], edges[1:])), [1 / nbuckets] * nbuckets


def mean_check(generator: Callable[[int], Any], mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the mean of so many samples is within three standard errors of ``mu``.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> bool(mx.test_utils.mean_check(lambda n: np.full(n, 1.0), 1.0, 1.0, nsamples=100))
    True
    """
    mean = np.array(generator(nsamples)).mean()
    return bool(abs(mean - mu) < 3 * sigma / math.sqrt(nsamples))


def var_check(generator: Callable[[int], Any], sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the variance of so many samples of a normal distribution is within three standard errors of ``sigma``
    squared.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> samples = lambda n: np.array([-1.0, 1.0] * (n // 2))
    >>> bool(mx.test_utils.var_check(samples, 1.0, nsamples=1000))
    True
    """
    variance = np.array(generator(nsamples)).var(ddof=1)
    return bool(abs(variance - sigma**2) < 3 * math.sqrt(2 * sigma**4 / (nsamples - 1)))


def chi_square_check(
    generator: Callable[[int], Any], buckets: Sequence[Any], probs: Sequence[float], nsamples: int = 1000000
) -> tuple[float, Any, Any]:
    """A chi-square test of whether samples fall into ranges, or take values, as often as they should.

    Parameters
    ----------
    generator : callable
        Gives so many samples.
    buckets : list of tuple, or list of values
        Ranges (from, below), or single values.
    probs : list of float
        Their probabilities.
    nsamples : int
        How many samples are drawn.

    Returns
    -------
    tuple of (float, numpy.ndarray, numpy.ndarray)
        The p-value, and the frequencies found and expected.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> samples = lambda n: np.random.randint(0, 2, n)
    >>> p, _, _ = mx.test_utils.chi_square_check(samples, [0, 1], [0.5, 0.5], nsamples=1000)
    >>> p > 0
    True
    """
    if not buckets or len(buckets) != len(probs):
        raise MXNetValueError(
            f"[chi_square_check] there are {len(buckets)} buckets and {len(probs)} probabilities; "
            "expected as many, at least one."
        )
    samples = np.asarray(generator(nsamples)).reshape(-1)[:nsamples]
    if len(samples) != nsamples:
        raise MXNetValueError(
            f"[chi_square_check] the generator gave {len(samples)} samples; expected {nsamples}."
        )
    if isinstance(buckets[0], (list, tuple)):
        found = np.array([np.count_nonzero((samples >= low) & (samples < high)) for low, high in buckets])
    else:
        found = np.array([np.count_nonzero(samples == value) for value in buckets])
    expected = np.asarray(probs, np.float64) * nsamples
    if len(buckets) == 1:
        return float(found[0] == round(expected[0])), found, expected
    statistic = float(((found - expected) ** 2 / expected).sum())
    return _chi_square_tail(statistic, len(buckets) - 1), found, expected


def verify_generator(
    generator: Callable[[int], Any],
    buckets: Sequence[Any],
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """Raises AssertionError unless enough of several chi-square tests have a p-value above ``alpha``; returns these
    values. See :func:`chi_square_check`.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> samples = lambda n: np.random.randint(0, 2, n)
    >>> len(mx.test_utils.verify_generator(samples, [0, 1], [0.5, 0.5], nsamples=1000, nrepeat=2, success_rate=0))
    2
    """
    results = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    values = [value for value, _, _ in results]
    passed = sum(value > alpha for value in values)
    assert passed >= nrepeat * success_rate, (
        f"the generator passed {passed} of {nrepeat} tests; p-values: {values}, "
        f"frequencies: {[found.tolist() for _, found, _ in results]}, expected: {results[0][2].tolist()}"
    )
    return values
