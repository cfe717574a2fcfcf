# SPDX-License-Identifier: Apache-2.0
"""Reductions, searches, and broadcasting one array."""

import numpy as np

from . import ALL, Case

SHAPE = (2, 3, 4)
AXES = [{}, {"axis": 1}, {"axis": (0, 2)}, {"axis": -1, "keepdims": True}, {"axis": 1, "exclude": True}]


def _at_least_one_axis(result):
    return result if np.ndim(result) else np.reshape(result, (1,))


def _reduced(function):
    def reference(x, axis=None, keepdims=False, exclude=False):
        axes = tuple(range(x.ndim)) if axis is None else tuple(np.atleast_1d(axis) % x.ndim)
        if exclude:
            axes = tuple(i for i in range(x.ndim) if i not in axes)
        return _at_least_one_axis(function(x, axis=axes, keepdims=keepdims))

    return reference


def _norm(x, ord=2, axis=None, keepdims=False):
    def function(y, axis, keepdims):
        if ord == 1:
            return np.abs(y).sum(axis=axis, keepdims=keepdims)
        return np.sqrt(np.square(y).sum(axis=axis, keepdims=keepdims))

    return _reduced(function)(x, axis=axis, keepdims=keepdims)


def _found(function):
    def reference(x, axis=None, keepdims=False):
        result = function(x, axis=axis).astype(x.dtype)
        return _at_least_one_axis(np.expand_dims(result, axis) if keepdims else result)

    return reference


REDUCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "nansum": np.nansum,
    "nanprod": np.nanprod,
    "max": np.max,
    "min": np.min,
}


def _moments(x, axes=None, keepdims=False):
    return [_reduced(f)(x, axis=axes, keepdims=keepdims) for f in (np.mean, np.var)]


def _square_sum(x, **attrs):
    return _reduced(np.sum)(np.square(x), **attrs)


CASES = [
    Case(op, [SHAPE], _reduced(f), attrs, low=0.4, loose=2) for op, f in REDUCTIONS.items() for attrs in AXES
]
CASES += [
    Case(op, [(3, 5)], _reduced(f), {"axis": 1}, dtypes=("int32", "int64"), low=1)
    for op, f in REDUCTIONS.items()
    if op != "mean"
]
CASES += [Case("_internal._square_sum", [SHAPE], _square_sum, attrs, loose=4) for attrs in AXES]
CASES += [
    Case("moments", [SHAPE], _moments, attrs, loose=2)
    for attrs in ({}, {"axes": 1}, {"axes": (0, 2)}, {"axes": -1, "keepdims": True})
]
CASES += [Case(op, [(1,)], _reduced(f), low=0.4) for op, f in REDUCTIONS.items()]
CASES += [Case("sum", [(0, 3)], _reduced(np.sum), {"axis": 0})]
CASES += [
    Case("norm", [SHAPE], _norm, {"ord": ord, **attrs}, low=0.4, loose=2)
    for ord in (1, 2)
    for attrs in ({}, {"axis": 1}, {"axis": (0, 2), "keepdims": True}, {"axis": -1})
]
CASES += [
    Case(op, [(3, 5)], _found(f), attrs, grad=())
    for op, f in {"argmax": np.argmax, "argmin": np.argmin}.items()
    for attrs in ({}, {"axis": 0}, {"axis": 1, "keepdims": True})
]
CASES += [
    Case("broadcast_to", [(2, 1, 3)], lambda x, shape: np.broadcast_to(x, (2, 4, 3)), {"shape": (0, 4, 0)}),
    Case(
        "broadcast_axis",
        [(2, 1, 1)],
        lambda x, axis, size: np.broadcast_to(x, (2, 3, 4)),
        {"axis": (1, 2), "size": (3, 4)},
    ),
    Case("broadcast_like", [(2, 1), (2, 5)], lambda x, y: np.broadcast_to(x, y.shape), grad=(0,)),
]
CASES += [
    Case("cumsum", [(2, 3)], lambda x: np.cumsum(x)),
    Case("cumsum", [(7,)], lambda x, axis: np.cumsum(x, axis), {"axis": 0}, low=0, dtypes=ALL),
    Case("cumsum", [(2, 3, 70)], lambda x, axis: np.cumsum(x, axis), {"axis": 1}, loose=4),
    Case("cumsum", [(3, 2)], lambda x, axis: np.cumsum(x, axis), {"axis": -1}),
    Case("cumsum", [(2, 0)], lambda x, axis: np.cumsum(x, axis), {"axis": 1}),
    Case(
        "cumsum",
        [(3, 2)],
        lambda x, axis, dtype: np.cumsum(x, axis).astype(dtype),
        {"axis": 0, "dtype": "float32"},
    ),
]
