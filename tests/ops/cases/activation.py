# SPDX-License-Identifier: Apache-2.0
"""Activation and LeakyReLU."""

import math

import numpy as np

from . import Case

erf = np.vectorize(math.erf, otypes=["float64"])
FUNCTIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "softrelu": lambda x: np.log1p(np.exp(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
}


def activation(x, act_type):
    return FUNCTIONS[act_type](x)


def leaky_relu(x, gamma=None, act_type="leaky", slope=0.25):
    if act_type == "gelu":
        return 0.5 * x * (1 + erf(x / math.sqrt(2)))
    if act_type == "selu":
        return 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))
    if act_type == "elu":
        return np.where(x > 0, x, slope * np.expm1(x))
    if act_type == "prelu":
        slope = gamma.reshape((-1,) + (1,) * (x.ndim - 2))
    return np.where(x > 0, x, slope * x)


CASES = [
    *(Case("Activation", [(3, 7)], activation, {"act_type": kind}) for kind in FUNCTIONS),
    *(Case("LeakyReLU", [(3, 7)], leaky_relu, {"act_type": kind}) for kind in ("leaky", "elu", "gelu")),
    # The gradient of selu is MXNet's, which differs from the derivative; the oracle has it.
    Case("LeakyReLU", [(3, 7)], leaky_relu, {"act_type": "selu"}, dtypes=("float16", "float32"), grad=()),
    Case("LeakyReLU", [(2, 3, 4), (3,)], leaky_relu, {"act_type": "prelu"}),
]
