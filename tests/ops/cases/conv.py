# SPDX-License-Identifier: Apache-2.0
"""Convolution in one to three axes."""

import itertools

import numpy as np

from . import Case


def convolution(
    x, w, b=None, kernel=(), num_filter=0, stride=None, pad=None, dilate=None, num_group=1, no_bias=False
):
    n = len(kernel)
    stride, pad, dilate = stride or (1,) * n, pad or (0,) * n, dilate or (1,) * n
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in pad])
    sizes = [(x.shape[2 + i] - dilate[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(n)]
    out = np.zeros((x.shape[0], num_filter, *sizes))
    channels, filters = x.shape[1] // num_group, num_filter // num_group
    for tap in itertools.product(*map(range, kernel)):
        piece = x[
            (slice(None), slice(None))
            + tuple(slice(t * d, t * d + s * size, s) for t, d, s, size in zip(tap, dilate, stride, sizes))
        ]
        for g in range(num_group):
            rows = slice(g * filters, (g + 1) * filters)
            taps = w[(rows, slice(None)) + tap]
            out[:, rows] += np.moveaxis(
                np.tensordot(taps, piece[:, g * channels : (g + 1) * channels], (1, 1)), 0, 1
            )
    return out if b is None else out + b.reshape((-1,) + (1,) * n)


def channels_last(x, w, b=None, layout=None, **attrs):
    """The same on data whose channels are the last axis, and filters likewise."""
    first = [np.moveaxis(v, -1, 1) for v in (x, w)]
    return np.moveaxis(convolution(*first, b, **attrs), 1, -1)


CASES = [
    Case(
        "Convolution",
        [(2, 7, 6, 3), (4, 3, 2, 3), (4,)],
        channels_last,
        {"kernel": (3, 2), "num_filter": 4, "layout": "NHWC", "stride": (2, 1), "pad": (1, 0)},
        loose=2,
    ),
    Case(
        "Convolution",
        [(2, 5, 6, 4), (6, 3, 3, 2)],
        channels_last,
        {
            "kernel": (3, 3),
            "num_filter": 6,
            "num_group": 2,
            "pad": (1, 1),
            "dilate": (1, 2),
            "layout": "NHWC",
            "no_bias": True,
        },
        loose=3,
    ),
    Case(
        "Convolution",
        [(1, 1, 1, 1), (1, 1, 1, 1), (1,)],
        convolution,
        {"kernel": (1, 1), "num_filter": 1},
    ),
    Case(
        "Convolution",
        [(2, 3, 7, 6), (4, 3, 3, 2), (4,)],
        convolution,
        {"kernel": (3, 2), "num_filter": 4},
        loose=2,
    ),
    Case(
        "Convolution",
        [(2, 4, 7, 6), (6, 2, 3, 3)],
        convolution,
        {
            "kernel": (3, 3),
            "num_filter": 6,
            "num_group": 2,
            "stride": (2, 1),
            "pad": (1, 2),
            "dilate": (1, 2),
            "no_bias": True,
        },
        loose=3,
    ),
    Case(
        "Convolution",
        [(2, 3, 9), (2, 3, 3), (2,)],
        convolution,
        {"kernel": (3,), "num_filter": 2, "pad": (1,)},
    ),
    Case(
        "Convolution",
        [(1, 2, 3, 4, 5), (2, 2, 2, 2, 2), (2,)],
        convolution,
        {"kernel": (2, 2, 2), "num_filter": 2, "stride": (1, 2, 1)},
    ),
    Case(
        "Convolution",
        [(2, 3, 5, 5), (3, 1, 3, 3), (3,)],
        convolution,
        {"kernel": (3, 3), "num_filter": 3, "num_group": 3, "pad": (1, 1)},
    ),
]
