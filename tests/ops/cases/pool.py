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
            value = (window**p_value).sum(-1)
            value = np.sign(value) * np.abs(value) ** (1 / p_value)
        else:
            value = window.sum(-1) / (counted if pool_type == "avg" else 1)
        out[(slice(None), slice(None)) + at] = value
    return out


def pooling_v1(x, kernel, pad, stride=(1, 1), **attrs):
    """Windows over data with zeros around; what sticks out beyond those counts for averages only."""
    sides = [(0, 0), (0, 0)] + [(p, p) for p in pad]
    padded = np.pad(x, sides)
    if attrs.get("pool_type") != "avg":
        return pooling(padded, kernel, stride=stride, **attrs)
    return pooling(padded, kernel, stride=stride, **{**attrs, "pool_type": "sum"}) / np.prod(kernel)


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
    *(
        Case(
            "Pooling",
            [(2, 2, 5, 4)],
            pooling,
            {"kernel": (2, 3), "pool_type": "lp", "p_value": power},
            **signs,
        )
        for power, signs in ((1, {}), (3, {"low": 0.2, "high": 1}), (3, {"low": -1, "high": -0.2}))
    ),
    *(
        Case(
            "Pooling_v1",
            [(2, 2, 6, 5)],
            pooling_v1,
            {
                "kernel": (3, 2),
                "stride": (2, 2),
                "pad": (1, 1),
                "pool_type": kind,
                "pooling_convention": rounding,
            },
        )
        for kind in ("max", "avg", "sum")
        for rounding in ("full", "valid")
    ),
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
