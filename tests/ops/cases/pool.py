# SPDX-License-Identifier: Apache-2.0
"""Pooling of every type and convention."""

import itertools

import numpy as np

from . import Case


def pooling(
    x,
    kernel=(),
    pool_type="max",
    global_pool=False,
    pooling_convention="valid",
    stride=None,
    pad=None,
    p_value=None,
    count_include_pad=True,
):
    n = x.ndim - 2
    sizes = x.shape[2:]
    kernel = sizes if global_pool else kernel
    stride = (1,) * n if global_pool or not stride else stride
    pad = (0,) * n if global_pool or not pad else pad
    up = {"full": 1}.get(pooling_convention, 0)
    counts = [
        1 + -(-(s + 2 * p - k) // t) if up else 1 + (s + 2 * p - k) // t
        for s, k, t, p in zip(sizes, kernel, stride, pad)
    ]
    out = np.zeros(x.shape[:2] + tuple(counts))
    for at in itertools.product(*map(range, counts)):
        first = [a * t - p for a, t, p in zip(at, stride, pad)]
        last = [min(f + k, s + p) for f, k, s, p in zip(first, kernel, sizes, pad)]
        inside = tuple(slice(max(f, 0), min(e, s)) for f, e, s in zip(first, last, sizes))
        window = x[(slice(None), slice(None)) + inside].reshape(x.shape[:2] + (-1,))
        counted = np.prod([e - f for f, e in zip(first, last)]) if count_include_pad else window.shape[-1]
        if pool_type == "max":
            value = window.max(-1)
        elif pool_type == "lp":
            value = (np.abs(window) ** p_value).sum(-1) ** (1 / p_value)
        else:
            value = window.sum(-1) / (counted if pool_type == "avg" else 1)
        out[(slice(None), slice(None)) + at] = value
    return out


def channels_last(x, layout=None, **attrs):
    return np.moveaxis(pooling(np.moveaxis(x, -1, 1), **attrs), 1, -1)


CASES = [
    *(
        Case(
            "Pooling",
            [(2, 7, 6, 3)],
            channels_last,
            {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 1), "pool_type": kind, "layout": "NHWC"},
        )
        for kind in ("max", "avg", "sum")
    ),
    Case("Pooling", [(1, 1, 1, 1)], pooling, {"kernel": (1, 1)}),
    Case("Pooling", [(2, 3, 8, 6)], pooling, {"kernel": (2, 2), "stride": (2, 2)}),
    Case("Pooling", [(2, 3, 7, 5)], pooling, {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 1)}),
    Case(
        "Pooling", [(2, 2, 7, 6)], pooling, {"kernel": (3, 3), "stride": (2, 2), "pooling_convention": "full"}
    ),
    Case(
        "Pooling",
        [(2, 2, 7, 6)],
        pooling,
        {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pool_type": "avg", "count_include_pad": False},
    ),
    Case(
        "Pooling",
        [(2, 2, 7, 6)],
        pooling,
        {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pool_type": "avg"},
    ),
    Case("Pooling", [(2, 2, 5)], pooling, {"kernel": (2,), "pool_type": "sum"}),
    Case("Pooling", [(2, 2, 4, 4, 3)], pooling, {"kernel": (2, 2, 2), "pool_type": "lp", "p_value": 2}),
    Case("Pooling", [(2, 3, 4, 5)], pooling, {"global_pool": True, "pool_type": "avg", "kernel": (1, 1)}),
]
