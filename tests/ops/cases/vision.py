# SPDX-License-Identifier: Apache-2.0
"""Resampling images, cutting them up and comparing them."""

import itertools
from functools import partial

import numpy as np

from . import ALL, Case
from .deconvolution import deconvolution


def nearest(*arrays, scale, sample_type, num_args, multi_input_mode="concat"):
    height = arrays[0].shape[2] * scale
    grown = [np.kron(a, np.ones((1, 1, height // a.shape[2], height // a.shape[2]))) for a in arrays]
    return sum(grown) if multi_input_mode == "sum" else np.concatenate(grown, axis=1)


def bilinear(x, w, scale, sample_type, num_args, num_filter):
    kernel, pad = 2 * scale - scale % 2, int(np.ceil((scale - 1) / 2))
    window = {"kernel": (kernel,) * 2, "stride": (scale,) * 2, "pad": (pad,) * 2}
    return deconvolution(x, w, num_filter=num_filter, num_group=num_filter, **window)


def read(plane, y, x):
    """A plane between its elements; outside of it there are zeros."""
    total = 0.0
    for row, column in itertools.product(
        (int(np.floor(y)), int(np.floor(y)) + 1), (int(np.floor(x)), int(np.floor(x)) + 1)
    ):
        if 0 <= row < plane.shape[0] and 0 <= column < plane.shape[1]:
            total += plane[row, column] * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


def resize_axis(size, new, align):
    """The matrix that takes an axis of `size` to `new` elements."""
    matrix = np.zeros((new, size))
    for i in range(new):
        at = (
            i * (size - 1) / (new - 1)
            if align and new > 1
            else 0
            if align
            else max(0, (i + 0.5) * size / new - 0.5)
        )
        first = min(int(at), size - 1)
        matrix[i, first] += 1 - (at - first)
        matrix[i, min(first + 1, size - 1)] += at - first
    return matrix


def resize(x, like=None, height=None, width=None, to=None, align_corners=True, **attrs):
    height, width = to or (like.shape[2:] if like is not None else (height, width))
    rows, columns = (
        resize_axis(x.shape[2], height, align_corners),
        resize_axis(x.shape[3], width, align_corners),
    )
    return np.einsum("hy,ncyx,wx->nchw", rows, x, columns)


def adaptive_axis(size, new):
    matrix = np.zeros((new, size))
    for i in range(new):
        begin, end = i * size // new, -(-(i + 1) * size // new)
        matrix[i, begin:end] = 1 / (end - begin)
    return matrix


def adaptive(x, output_size=()):
    sizes = (output_size,) * 2 if isinstance(output_size, int) else tuple(output_size) or (1, 1)
    return np.einsum(
        "hy,ncyx,wx->nchw", adaptive_axis(x.shape[2], sizes[0]), x, adaptive_axis(x.shape[3], sizes[-1])
    )


def coordinates(size):
    return np.linspace(-1, 1, size) if size > 1 else np.zeros(1)


def affine(x, transform_type, target_shape):
    y, w = np.meshgrid(*map(coordinates, target_shape), indexing="ij")
    return np.einsum("nij,jyx->niyx", x.reshape(-1, 2, 3), np.stack([w, y, np.ones_like(y)]))


def warp(x, transform_type):
    height, width = x.shape[2:]
    places = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij")[::-1])
    return (x + places) * 2 / np.array([width - 1, height - 1]).reshape(1, 2, 1, 1) - 1


def sample(x, grid):
    out = np.zeros(x.shape[:2] + grid.shape[2:])
    for n, c, i, j in np.ndindex(out.shape):
        at_x = (grid[n, 0, i, j] + 1) * (x.shape[3] - 1) / 2
        at_y = (grid[n, 1, i, j] + 1) * (x.shape[2] - 1) / 2
        out[n, c, i, j] = read(x[n, c], at_y, at_x)
    return out


def transform(x, loc, target_shape, transform_type, sampler_type):
    return sample(x, affine(loc, transform_type, target_shape))


def crop(x, like=None, num_args=1, offset=(0, 0), h_w=(0, 0), center_crop=False):
    height, width = like.shape[2:] if like is not None else h_w
    top, left = ((x.shape[2] - height) // 2, (x.shape[3] - width) // 2) if center_crop else offset
    return x[:, :, top : top + height, left : left + width]


def im2col(x, kernel, stride=None, dilate=None, pad=None):
    n = len(kernel)
    stride, dilate, pad = stride or (1,) * n, dilate or (1,) * n, pad or (0,) * n
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in pad])
    sizes = [(x.shape[2 + i] - dilate[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(n)]
    taps = [
        x[
            (slice(None),) * 2
            + tuple(
                slice(t * d, t * d + s * (m - 1) + 1, s) for t, d, s, m in zip(tap, dilate, stride, sizes)
            )
        ]
        for tap in itertools.product(*map(range, kernel))
    ]
    return np.stack(taps, axis=2).reshape(x.shape[0], x.shape[1] * len(taps), int(np.prod(sizes)))


def col2im(x, output_size, kernel, **window):
    """The transpose of im2col, from what that does with each element."""
    shape = (1, x.shape[1] // int(np.prod(kernel)), *output_size)
    units = np.eye(int(np.prod(shape))).reshape(-1, *shape[1:])
    return np.einsum("ukp,nkp->nu", im2col(units, kernel, **window), x).reshape(x.shape[0], *shape[1:])


def correlation(a, b, kernel_size=1, max_displacement=1, stride1=1, stride2=1, pad_size=0, is_multiply=True):
    a, b = (np.pad(v, [(0, 0), (0, 0), (pad_size,) * 2, (pad_size,) * 2]) for v in (a, b))
    reach, radius = max_displacement // stride2, (kernel_size - 1) // 2
    border = max_displacement + radius
    rows, columns = (range(border, size - border, stride1) for size in a.shape[2:])
    moves = [i * stride2 for i in range(-reach, reach + 1)]
    out = np.zeros((a.shape[0], len(moves) ** 2, len(rows), len(columns)))
    for (k, (dy, dx)), (i, y), (j, x) in itertools.product(
        enumerate(itertools.product(moves, moves)), enumerate(rows), enumerate(columns)
    ):
        one = a[:, :, y - radius : y + radius + 1, x - radius : x + radius + 1]
        two = b[:, :, y + dy - radius : y + dy + radius + 1, x + dx - radius : x + dx + radius + 1]
        out[:, k, i, j] = (one * two if is_multiply else abs(one - two)).sum((1, 2, 3))
    return out / (a.shape[1] * kernel_size**2)


def resize_case(shape, to, like=None, **attrs):
    return Case(
        "contrib.BilinearResize2D",
        [shape] if like is None else [shape, like],
        partial(resize, to=to),
        attrs,
        grad=(0,),
        loose=4,
    )


NEAREST = {"scale": 2, "sample_type": "nearest"}
AFFINE = {"transform_type": "affine", "target_shape": (4, 3)}

CASES = [
    Case("UpSampling", [(2, 3, 3, 2)], nearest, {**NEAREST, "num_args": 1}),
    Case("UpSampling", [(0, 3, 3, 2)], nearest, {**NEAREST, "num_args": 1}),
    Case("UpSampling", [(1, 2, 3, 5)], nearest, {"scale": 3, "sample_type": "nearest", "num_args": 1}),
    Case(
        "UpSampling", [(2, 1, 4, 4), (2, 3, 2, 2), (2, 2, 8, 8)], nearest, {**NEAREST, "num_args": 3}, loose=2
    ),
    Case(
        "UpSampling",
        [(2, 2, 4, 4), (2, 2, 2, 2)],
        nearest,
        {**NEAREST, "num_args": 2, "multi_input_mode": "sum"},
        loose=2,
    ),
    Case(
        "UpSampling",
        [(2, 3, 3, 4), (3, 1, 4, 4)],
        bilinear,
        {"scale": 2, "sample_type": "bilinear", "num_args": 2, "num_filter": 3},
        loose=2,
    ),
    Case(
        "UpSampling",
        [(1, 1, 3, 3), (1, 1, 5, 5)],
        bilinear,
        {"scale": 3, "sample_type": "bilinear", "num_args": 2, "num_filter": 1},
        loose=2,
    ),
    resize_case((2, 3, 4, 5), (7, 6), height=7, width=6),
    resize_case((2, 1, 7, 5), (3, 1), height=3, width=1),
    resize_case((1, 2, 1, 3), (4, 5), height=4, width=5),
    resize_case((2, 2, 4, 5), (7, 3), height=7, width=3, align_corners=False),
    resize_case((1, 2, 4, 5), (8, 7), height=8, width=7, align_corners=False),
    resize_case((1, 2, 5, 6), (10, 3), scale_height=2.0, scale_width=0.5),
    resize_case((1, 1, 5, 6), (9, 3), scale_height=2.0, scale_width=0.5, mode="odd_scale"),
    resize_case((1, 1, 5, 6), (4, 6), mode="to_even_down"),
    resize_case((1, 1, 5, 6), (6, 6), mode="to_even_up"),
    resize_case((1, 1, 5, 6), (5, 5), mode="to_odd_down"),
    resize_case((1, 1, 5, 6), (5, 7), mode="to_odd_up"),
    resize_case((2, 1, 3, 3), (5, 4), like=(1, 2, 5, 4), mode="like"),
    Case("contrib.AdaptiveAvgPooling2D", [(2, 3, 5, 21)], adaptive),
    Case("contrib.AdaptiveAvgPooling2D", [(2, 2, 5, 6)], adaptive, {"output_size": 2}),
    Case("contrib.AdaptiveAvgPooling2D", [(2, 2, 5, 6)], adaptive, {"output_size": (3, 4)}, loose=2),
    Case("contrib.AdaptiveAvgPooling2D", [(1, 1, 3, 4)], adaptive, {"output_size": (7, 5)}),
    Case("GridGenerator", [(3, 6)], affine, AFFINE, loose=3),
    Case("GridGenerator", [(2, 6)], affine, {"transform_type": "affine", "target_shape": (1, 5)}, loose=3),
    Case("GridGenerator", [(2, 2, 3, 4)], warp, {"transform_type": "warp"}, loose=2),
    Case(
        "BilinearSampler",
        [(2, 3, 5, 4), (2, 2, 3, 6)],
        sample,
        low=-1.4,
        high=1.3,
        loose=30,
        dtypes=("float32", "float64"),
    ),
    Case(
        "BilinearSampler",
        [(1, 18, 3, 3), (1, 2, 9, 9)],
        sample,
        low=-0.9,
        high=0.9,
        loose=30,
        dtypes=("float32", "float64"),
    ),
    Case("BilinearSampler", [(1, 2, 1, 3), (1, 2, 2, 2)], sample, low=-0.9, high=0.9, loose=4),
    Case(
        "SpatialTransformer",
        [(2, 3, 5, 4), (2, 6)],
        transform,
        {**AFFINE, "sampler_type": "bilinear"},
        low=-0.8,
        high=0.7,
        loose=30,
        dtypes=("float32", "float64"),
    ),
    Case("Crop", [(2, 3, 5, 6)], crop, {"num_args": 1, "offset": (1, 2), "h_w": (3, 2)}, dtypes=ALL),
    Case("Crop", [(2, 3, 5, 6)], crop, {"num_args": 1, "h_w": (2, 3), "center_crop": True}),
    Case("Crop", [(2, 1, 5, 6), (1, 3, 2, 3)], crop, {"num_args": 2, "offset": (3, 0)}, grad=(0,)),
    Case("Crop", [(2, 1, 5, 6), (1, 3, 2, 3)], crop, {"num_args": 2, "center_crop": True}, grad=(0,)),
    Case("im2col", [(2, 3, 5, 4)], im2col, {"kernel": (2, 3)}, dtypes=ALL),
    Case("im2col", [(2, 3, 7)], im2col, {"kernel": (3,), "stride": (2,), "pad": (2,)}),
    Case(
        "im2col",
        [(2, 2, 5, 6)],
        im2col,
        {"kernel": (2, 3), "stride": (2, 1), "pad": (1, 2), "dilate": (2, 2)},
    ),
    Case("im2col", [(1, 2, 3, 4, 3)], im2col, {"kernel": (2, 1, 2), "pad": (1, 0, 1), "stride": (1, 2, 2)}),
    Case("im2col", [(0, 2, 3, 3)], im2col, {"kernel": (2, 2)}),
    Case("col2im", [(2, 12, 12)], col2im, {"output_size": (4, 5), "kernel": (2, 2)}, loose=2),
    Case(
        "col2im",
        [(2, 12, 9)],
        col2im,
        {"output_size": (5, 4), "kernel": (3, 2), "stride": (2, 2), "pad": (1, 1)},
        loose=2,
    ),
    Case("col2im", [(1, 4, 6)], col2im, {"output_size": (8,), "kernel": (2,), "dilate": (2,)}),
    Case("Correlation", [(2, 3, 4, 5), (2, 3, 4, 5)], correlation, {"pad_size": 1}, loose=3),
    Case(
        "Correlation",
        [(1, 2, 6, 7), (1, 2, 6, 7)],
        correlation,
        {"kernel_size": 3, "max_displacement": 2, "stride1": 2, "stride2": 2, "pad_size": 3},
        loose=3,
    ),
    Case(
        "Correlation",
        [(1, 2, 5, 6), (1, 2, 5, 6)],
        correlation,
        {"max_displacement": 3, "stride1": 3, "stride2": 2, "pad_size": 3, "is_multiply": False},
        loose=3,
    ),
    Case(
        "Correlation",
        [(1, 2, 5, 80), (1, 2, 5, 80)],
        correlation,
        {"kernel_size": 3, "max_displacement": 1, "is_multiply": False},
        loose=3,
    ),
]
