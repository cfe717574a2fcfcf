# SPDX-License-Identifier: Apache-2.0
"""Deconvolution in one to three axes: each element of the data, times the filter, is added to the output."""

import itertools

import numpy as np

from . import Case


def deconvolution(
    x,
    w,
    b=None,
    kernel=(),
    num_filter=0,
    stride=None,
    pad=None,
    adj=None,
    target_shape=None,
    dilate=None,
    num_group=1,
    no_bias=True,
):
    n = len(kernel)
    stride, dilate, pad, adj = stride or (1,) * n, dilate or (1,) * n, pad or (0,) * n, adj or (0,) * n
    full = [(x.shape[2 + i] - 1) * stride[i] + dilate[i] * (kernel[i] - 1) + 1 for i in range(n)]
    if target_shape:
        size, first = list(target_shape), [(f - t + 1) // 2 for f, t in zip(full, target_shape)]
    else:
        size, first = [f - 2 * p + a for f, p, a in zip(full, pad, adj)], list(pad)
    out = np.zeros((x.shape[0], num_filter, *(f + a for f, a in zip(full, adj))))
    channels, filters = x.shape[1] // num_group, num_filter // num_group
    for tap in itertools.product(*map(range, kernel)):
        places = tuple(
            slice(t * d, t * d + s * (x.shape[2 + i] - 1) + 1, s)
            for i, (t, d, s) in enumerate(zip(tap, dilate, stride))
        )
        for g in range(num_group):
            rows, to = slice(g * channels, (g + 1) * channels), slice(g * filters, (g + 1) * filters)
            more = np.tensordot(w[(rows, slice(None)) + tap], x[:, rows], (0, 1))
            out[(slice(None), to) + places] += np.moveaxis(more, 0, 1)
    out = out[(slice(None), slice(None)) + tuple(slice(f, f + s) for f, s in zip(first, size))]
    return out if b is None else out + b.reshape((-1,) + (1,) * n)


def channels_last(x, w, b=None, layout=None, **attrs):
    """The same on data whose channels are the last axis, and filters likewise."""
    first = [np.moveaxis(v, -1, 1) for v in (x, w)]
    return np.moveaxis(deconvolution(*first, b, **attrs), 1, -1)


def case(shapes, loose=2.0, reference=deconvolution, **attrs):
    return Case("Deconvolution", shapes, reference, attrs, loose=loose)


CASES = [
    case([(2, 3, 5, 4), (3, 2, 3, 3)], kernel=(3, 3), num_filter=2, stride=(2, 2), pad=(1, 1), adj=(1, 1)),
    case(
        [(2, 3, 4, 5), (3, 2, 4, 4), (2,)],
        kernel=(4, 4),
        num_filter=2,
        stride=(2, 2),
        pad=(1, 1),
        no_bias=False,
    ),
    case([(1, 1, 1, 1), (1, 1, 1, 1), (1,)], kernel=(1, 1), num_filter=1, no_bias=False),
    case([(2, 3, 5), (3, 4, 3), (4,)], kernel=(3,), num_filter=4, stride=(3,), adj=(2,), no_bias=False),
    case([(1, 2, 2, 3, 2), (2, 3, 2, 3, 2)], kernel=(2, 3, 2), num_filter=3, stride=(1, 2, 2), pad=(0, 1, 0)),
    case([(2, 4, 5, 4), (4, 3, 3, 2)], kernel=(3, 2), num_filter=6, num_group=2, dilate=(2, 1), pad=(1, 0)),
    case(
        [(2, 3, 4, 4), (3, 1, 4, 4), (3,)],
        kernel=(4, 4),
        num_filter=3,
        num_group=3,
        stride=(2, 2),
        no_bias=False,
    ),
    # Odd and even numbers are taken off; once so much that a place of the filter is lost.
    case([(2, 2, 3, 4), (2, 3, 4, 4)], kernel=(4, 4), num_filter=3, stride=(2, 2), target_shape=(6, 9)),
    case([(2, 2, 3, 4), (2, 3, 2, 3)], kernel=(2, 3), num_filter=3, target_shape=(3, 4)),
    case(
        [(2, 5, 4, 3), (3, 3, 2, 4), (4,)],
        reference=channels_last,
        kernel=(3, 2),
        num_filter=4,
        layout="NHWC",
        stride=(2, 1),
        pad=(1, 0),
        no_bias=False,
    ),
    # Enough channels for the library's kernels.
    case(
        [(8, 32, 6, 7), (32, 16, 4, 4), (16,)],
        20,
        kernel=(4, 4),
        num_filter=16,
        stride=(2, 2),
        pad=(1, 1),
        no_bias=False,
    ),
    case([(8, 32, 8, 8), (32, 32, 3, 3), (32,)], 20, kernel=(3, 3), num_filter=32, pad=(1, 1), no_bias=False),
    case(
        [(4, 16, 8, 8), (16, 16, 3, 3)],
        20,
        kernel=(3, 3),
        num_filter=16,
        stride=(2, 2),
        target_shape=(16, 15),
    ),
    case(
        [(1, 24, 9, 9), (24, 40, 3, 3), (40,)], 20, kernel=(3, 3), num_filter=40, stride=(2, 2), no_bias=False
    ),
]
