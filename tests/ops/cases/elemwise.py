# SPDX-License-Identifier: Apache-2.0
"""Elementwise operators: unary, binary, with broadcasting, with a number, and those that select."""

import math

import numpy as np

from . import ALL, Case

INTEGERS = ("uint8", "int8", "int32", "int64")
ODD = [(3, 5), (1,), (7,), (0, 3), (2, 1, 3)]
_gamma = np.vectorize(math.gamma, otypes=[np.float64])
_gammaln = np.vectorize(math.lgamma, otypes=[np.float64])
_erf = np.vectorize(math.erf, otypes=[np.float64])

# name: (reference, low, high); the ranges keep away from poles and kinks.
UNARY = {
    "abs": (np.abs, 0.1, 2),
    "arccos": (np.arccos, -0.9, 0.9),
    "arccosh": (np.arccosh, 1.2, 3),
    "arcsin": (np.arcsin, -0.9, 0.9),
    "arcsinh": (np.arcsinh, -2, 2),
    "arctan": (np.arctan, -2, 2),
    "arctanh": (np.arctanh, -0.8, 0.8),
    "cbrt": (np.cbrt, 0.3, 2),
    "cos": (np.cos, -2, 2),
    "cosh": (np.cosh, -2, 2),
    "degrees": (np.degrees, -2, 2),
    "erf": (_erf, -2, 2),
    "exp": (np.exp, -2, 2),
    "expm1": (np.expm1, -2, 2),
    "gamma": (_gamma, 0.5, 3),
    "gammaln": (_gammaln, 0.5, 4),
    "identity": (lambda x: x, -2, 2),
    "log": (np.log, 0.3, 3),
    "log10": (np.log10, 0.3, 3),
    "log1p": (np.log1p, -0.5, 3),
    "log2": (np.log2, 0.3, 3),
    "negative": (np.negative, -2, 2),
    "radians": (np.radians, -90, 90),
    "rcbrt": (lambda x: 1 / np.cbrt(x), 0.4, 3),
    "reciprocal": (lambda x: 1 / x, 0.4, 3),
    "relu": (lambda x: np.maximum(x, 0), 0.1, 2),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.4, 3),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -3, 3),
    "sin": (np.sin, -2, 2),
    "sinh": (np.sinh, -2, 2),
    "softsign": (lambda x: x / (1 + np.abs(x)), 0.1, 2),
    "sqrt": (np.sqrt, 0.3, 3),
    "square": (np.square, -2, 2),
    "tan": (np.tan, -1, 1),
    "tanh": (np.tanh, -2, 2),
}
STEPS = {
    "ceil": np.ceil,
    "fix": np.trunc,
    "floor": np.floor,
    "logical_not": lambda x: (x == 0).astype(x.dtype),
    "ones_like": np.ones_like,
    "rint": np.rint,
    "round": np.round,
    "sign": np.sign,
    "trunc": np.trunc,
    "zeros_like": np.zeros_like,
}

CASES = [
    Case(op, [shape], ref, low=low, high=high) for op, (ref, low, high) in UNARY.items() for shape in ODD
]
CASES += [Case(op, [(3, 4)], ref, low=0.6, high=0.9, grad=()) for op, ref in STEPS.items()]
CASES += [
    Case("abs", [(4, 3)], np.abs, dtypes=ALL, low=0.1),
    Case("square", [(5,)], np.square, dtypes=ALL, low=0),
]

SHAPES = [
    ((1,), (1,)),
    ((3, 4), (3, 4)),
    ((3, 1), (1, 4)),
    ((2, 3, 4), (4,)),
    ((1,), (2, 3)),
    ((0, 2), (1, 2)),
]
BINARY = {
    "add": (np.add, -2),
    "sub": (np.subtract, -2),
    "mul": (np.multiply, -2),
    "div": (np.divide, 0.5),
    "power": (np.power, 0.5),
    "maximum": (np.maximum, -2),
    "minimum": (np.minimum, -2),
    "hypot": (np.hypot, 0.2),
}
LOGIC = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "lesser": np.less,
    "lesser_equal": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}


def _as_input(function):
    return lambda a, b: function(a, b).astype(a.dtype)


CASES += [
    Case("broadcast_" + op, list(pair), ref, low=low) for op, (ref, low) in BINARY.items() for pair in SHAPES
]
CASES += [
    Case("broadcast_" + op, [(3, 4), (3, 1)], _as_input(ref), grad=(), dtypes=ALL, low=0)
    for op, ref in LOGIC.items()
]
CASES += [Case("broadcast_mod", [(3, 4), (4,)], np.mod, low=0.5, grad=(0,))]
CASES += [Case("_internal._npi_arctan2", list(pair), np.arctan2, low=0.2) for pair in SHAPES]
CASES += [Case("_internal._npi_copysign", [(3, 4), (3, 1)], np.copysign, low=0.2)]
CASES += [
    Case("_internal._npi_" + op, [(3, 4), (3, 1)], getattr(np, op), grad=(), dtypes=INTEGERS, low=0, high=9)
    for op in (
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "bitwise_left_shift",
        "bitwise_right_shift",
        "gcd",
        "lcm",
    )
]
CASES += [Case("elemwise_" + op, [(3, 5)] * 2, BINARY[op][0], low=0, dtypes=ALL) for op in ("add", "mul")]
CASES += [Case("elemwise_div", [(3, 5)] * 2, np.divide, low=0.5)]

SCALAR = {
    "_plus_scalar": (lambda x, scalar: x + scalar, -2),
    "_minus_scalar": (lambda x, scalar: x - scalar, -2),
    "_rminus_scalar": (lambda x, scalar: scalar - x, -2),
    "_mul_scalar": (lambda x, scalar: x * scalar, -2),
    "_div_scalar": (lambda x, scalar: x / scalar, -2),
    "_rdiv_scalar": (lambda x, scalar: scalar / x, 0.5),
    "_power_scalar": (lambda x, scalar: x**scalar, 0.5),
    "_rpower_scalar": (lambda x, scalar: scalar**x, -2),
    "_maximum_scalar": (lambda x, scalar: np.maximum(x, scalar), -2),
    "_minimum_scalar": (lambda x, scalar: np.minimum(x, scalar), -2),
    "_hypot_scalar": (lambda x, scalar: np.hypot(x, scalar), 0.5),
}
CASES += [
    Case("_internal." + op, [shape], ref, {"scalar": 1.5}, low=low)
    for op, (ref, low) in SCALAR.items()
    for shape in ((3, 4), (1,))
]


def _smooth_l1(x, scalar):
    return np.where(np.abs(x) > 1 / scalar**2, np.abs(x) - 0.5 / scalar**2, 0.5 * (scalar * x) ** 2)


CASES += [
    Case("clip", [(3, 4)], lambda x, a_min, a_max: np.clip(x, a_min, a_max), {"a_min": -1.0, "a_max": 0.5}),
    Case(
        "hard_sigmoid",
        [(3, 4)],
        lambda x, alpha: np.clip(alpha * x + 0.5, 0, 1),
        {"alpha": 0.25},
        low=-3,
        high=3,
    ),
    Case("smooth_l1", [(3, 4)], _smooth_l1, {"scalar": 1.5}),
    Case("where", [(3, 4)] * 3, lambda c, x, y: np.where(c != 0, x, y), grad=(1, 2)),
    Case("where", [(3,), (3, 4), (3, 4)], lambda c, x, y: np.where((c != 0)[:, None], x, y), grad=(1, 2)),
    Case("add_n", [(3, 4)] * 3, lambda *xs: sum(xs)),
    # The step of the numeric gradient is coarse there: the output is float32.
    Case("cast", [(3, 4)], lambda x, dtype: x.astype(dtype), {"dtype": "float32"}),
    Case("cast", [(3, 4)], lambda x, dtype: x.astype(dtype), {"dtype": "int32"}, grad=()),
]
