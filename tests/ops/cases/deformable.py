# SPDX-License-Identifier: Apache-2.0
"""Convolution whose filters read the data at places moved by offsets."""

import numpy as np

from . import Case


def read_clamped(planes, y, x):
    """Before the first element and beyond the last one there is nothing; between that and the edge, the edge."""
    height, width = planes.shape[-2:]
    if not (0 <= y < height and 0 <= x < width):
        return np.zeros(planes.shape[:-2])
    y, x = min(y, height - 1), min(x, width - 1)
    i, j = int(y), int(x)
    k, m = min(i + 1, height - 1), min(j + 1, width - 1)
    upper = planes[..., i, j] * (1 - (x - j)) + planes[..., i, m] * (x - j)
    lower = planes[..., k, j] * (1 - (x - j)) + planes[..., k, m] * (x - j)
    return upper * (1 - (y - i)) + lower * (y - i)


def read_zeros(planes, y, x):
    """Around the data there are zeros."""
    if abs(y) > 100 or abs(x) > 100:
        return np.zeros(planes.shape[:-2])
    wide = np.pad(planes, [(0, 0)] * (planes.ndim - 2) + [(1, 1), (1, 1)])
    inside = -1 < y < planes.shape[-2] and -1 < x < planes.shape[-1]
    return read_clamped(wide, y + 1, x + 1) if inside else np.zeros(planes.shape[:-2])


def deformable(
    x,
    offset,
    w,
    b=None,
    mask=None,
    read=read_clamped,
    kernel=(),
    num_filter=0,
    stride=(1, 1),
    pad=(0, 0),
    dilate=(1, 1),
    num_group=1,
    num_deformable_group=1,
    no_bias=False,
):
    places = offset.shape[2:]
    out = np.zeros((x.shape[0], num_filter, *places))
    channels, filters, shared = (
        x.shape[1] // num_group,
        num_filter // num_group,
        x.shape[1] // num_deformable_group,
    )
    taps = kernel[0] * kernel[1]
    for n, i, j in np.ndindex(x.shape[0], *places):
        seen = np.zeros((x.shape[1], *kernel))
        for group, (k, m) in ((g, t) for g in range(num_deformable_group) for t in np.ndindex(*kernel)):
            number = group * taps + k * kernel[1] + m
            rows = slice(group * shared, (group + 1) * shared)
            move = offset[n, 2 * number : 2 * number + 2, i, j]
            at = [
                p * s - z + t * d + o for p, s, z, t, d, o in zip((i, j), stride, pad, (k, m), dilate, move)
            ]
            factor = 1 if mask is None else mask[n, number, i, j]
            seen[rows, k, m] = read(x[n, rows], *at) * factor
        for g in range(num_group):
            to = slice(g * filters, (g + 1) * filters)
            out[n, to, i, j] = np.tensordot(w[to], seen[g * channels : (g + 1) * channels], 3)
    return out if b is None else out + b.reshape(-1, 1, 1)


def modulated(x, offset, mask, w, b=None, **attrs):
    return deformable(x, offset, w, b, mask, read_zeros, **attrs)


def case(op, shapes, reference, **attrs):
    return Case(f"contrib.{op}", shapes, reference, attrs, loose=40, dtypes=("float32", "float64"))


CASES = [
    case(
        "DeformableConvolution",
        [(2, 3, 5, 4), (2, 12, 5, 3), (4, 3, 3, 2), (4,)],
        deformable,
        kernel=(3, 2),
        num_filter=4,
        pad=(1, 0),
    ),
    case(
        "DeformableConvolution",
        [(2, 4, 6, 7), (2, 16, 3, 5), (6, 2, 2, 2)],
        deformable,
        kernel=(2, 2),
        num_filter=6,
        stride=(2, 1),
        dilate=(1, 2),
        num_group=2,
        num_deformable_group=2,
        no_bias=True,
    ),
    case(
        "DeformableConvolution",
        [(1, 2, 9, 9), (1, 2, 9, 9), (3, 2, 1, 1)],
        deformable,
        kernel=(1, 1),
        num_filter=3,
        no_bias=True,
    ),
    case(
        "ModulatedDeformableConvolution",
        [(2, 4, 5, 4), (2, 24, 5, 3), (2, 12, 5, 3), (4, 4, 3, 2), (4,)],
        modulated,
        kernel=(3, 2),
        num_filter=4,
        pad=(1, 0),
        num_deformable_group=2,
    ),
    case(
        "ModulatedDeformableConvolution",
        [(1, 4, 5, 6), (1, 8, 3, 6), (1, 4, 3, 6), (6, 2, 2, 2)],
        modulated,
        kernel=(2, 2),
        num_filter=6,
        num_group=2,
        stride=(2, 1),
        pad=(1, 1),
        dilate=(2, 2),
        no_bias=True,
    ),
]
