# SPDX-License-Identifier: Apache-2.0
"""Densities of distributions."""

from math import gamma

import numpy as np

from . import Case


def with_blocks(density):
    """A density of arrays: each element of the parameters is that of a block of samples."""

    def reference(sample, *parameters, is_log=False):
        parameters = [p.reshape(p.shape + (1,) * (sample.ndim - p.ndim)) for p in parameters]
        values = density(sample, *parameters)
        return np.log(values) if is_log else values

    return reference


GAMMA = np.vectorize(gamma, otypes=[float])


def negative_binomial(x, k, p):
    return GAMMA(x + k) / GAMMA(x + 1) / GAMMA(k) * p**k * (1 - p) ** x


def dirichlet(sample, alpha, is_log=False):
    alpha = alpha.reshape(alpha.shape[:-1] + (1,) * (sample.ndim - alpha.ndim) + alpha.shape[-1:])
    alpha = np.broadcast_to(alpha, sample.shape)
    constant = GAMMA(alpha.sum(-1)) / GAMMA(alpha).prod(-1)
    values = constant * (sample ** (alpha - 1)).prod(-1)
    return np.log(values) if is_log else values


DENSITIES = {
    "uniform": (2, lambda x, low, high: np.where((x >= low) & (x <= high), 1 / (high - low), 0)),
    "normal": (2, lambda x, m, s: np.exp(-(((x - m) / s) ** 2) / 2) / s / np.sqrt(2 * np.pi)),
    "gamma": (2, lambda x, a, b: b**a * x ** (a - 1) * np.exp(-b * x) / GAMMA(a)),
    "exponential": (1, lambda x, rate: rate * np.exp(-rate * x)),
    "poisson": (1, lambda x, rate: rate**x * np.exp(-rate) / GAMMA(x + 1)),
    "negative_binomial": (2, negative_binomial),
    "generalized_negative_binomial": (
        2,
        lambda x, mean, alpha: negative_binomial(x, 1 / alpha, 1 / (1 + mean * alpha)),
    ),
}
COUNTS = ("poisson", "negative_binomial", "generalized_negative_binomial")


def valid(name):
    """Samples and parameters out of numbers from 0 to 1."""

    def prepare(sample, *parameters):
        parameters = [p * 0.8 + 0.1 for p in parameters]
        if name == "uniform":
            low, high = parameters[0] - 1, parameters[1] + 1
            return [sample, low, high]
        return [np.floor(sample * 4) if name in COUNTS else sample + 0.2, *parameters]

    return prepare


# A count has no slope of its own.
CASES = [
    Case(
        f"random_pdf_{name}",
        [sample, *[block] * count],
        with_blocks(density),
        {"is_log": is_log},
        low=0.0,
        high=1.0,
        prepare=valid(name),
        grad=tuple(range(1 if name in COUNTS else 0, 1 + count)),
        loose=20 if is_log else 10,
    )
    for name, (count, density) in DENSITIES.items()
    for sample, block, is_log in [((2, 3, 4), (2, 3), False), ((3, 5), (3,), True), ((4,), (4,), False)]
] + [
    Case(
        "random_pdf_dirichlet",
        [sample, alpha],
        dirichlet,
        {"is_log": is_log},
        low=0.2,
        high=1.0,
        loose=20,
    )
    for sample, alpha, is_log in [((2, 4, 3), (2, 3), False), ((2, 3), (2, 3), True), ((5, 2), (2,), False)]
]
