# SPDX-License-Identifier: Apache-2.0
"""Reshapes, slices, joins and moves."""

import numpy as np

from . import ALL, Case

BORDER = (0, 0, 0, 0, 2, 1, 1, 2)


def _pad(x, mode, pad_width, **options):
    widths = [(pad_width[2 * i], pad_width[2 * i + 1]) for i in range(x.ndim)]
    values = {"constant_values": options["constant_value"]} if options else {}
    return np.pad(x, widths, mode, **values)


def _depth_to_space(x, block_size):
    n, c, h, w = x.shape
    b = block_size
    return x.reshape(n, b, b, c // b**2, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c // b**2, h * b, w * b)


def _space_to_depth(x, block_size):
    n, c, h, w = x.shape
    b = block_size
    return (
        x.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b**2, h // b, w // b)
    )


CASES = [
    Case("reshape", [(2, 3, 4)], lambda x, shape: x.reshape(2, 12), {"shape": (0, -1)}, dtypes=ALL),
    Case("reshape", [(2, 3, 4)], lambda x, shape: x.reshape(6, 4), {"shape": (-3, -2)}),
    Case("reshape", [(6, 4)], lambda x, shape: x.reshape(2, 3, 4), {"shape": (-4, 2, -1, -2)}),
    Case("reshape", [(0, 3)], lambda x, shape: x.reshape(0, 3), {"shape": (-1, 3)}),
    Case(
        "_internal._np_reshape",
        [(2, 3, 4)],
        lambda x, newshape: x.reshape(4, 6),
        {"newshape": (4, -1)},
        dtypes=ALL,
    ),
    Case("_internal._npx_reshape", [(2, 3, 4)], lambda x, newshape: x.reshape(2, 12), {"newshape": (-2, -5)}),
    Case(
        "_internal._npx_reshape",
        [(8, 1, 4)],
        lambda x, newshape: x.reshape(2, 4, 4),
        {"newshape": (-6, 2, -1, -3, -4)},
    ),
    Case("flatten", [(2, 3, 4)], lambda x: x.reshape(2, 12)),
    Case("reshape_like", [(2, 6), (3, 4)], lambda x, y: x.reshape(y.shape), grad=(0,)),
    Case("expand_dims", [(2, 3)], lambda x, axis: np.expand_dims(x, axis), {"axis": 1}),
    Case("squeeze", [(2, 1, 3)], lambda x, axis: np.squeeze(x, axis), {"axis": 1}),
    Case("transpose", [(2, 3, 4)], lambda x: x.T, dtypes=ALL),
    Case("transpose", [(2, 3, 4)], lambda x, axes: np.transpose(x, axes), {"axes": (1, 2, 0)}),
    Case("swapaxes", [(2, 3, 4)], lambda x, dim1, dim2: np.swapaxes(x, dim1, dim2), {"dim1": 0, "dim2": 2}),
    Case(
        "slice",
        [(4, 6)],
        lambda x, begin, end, step: x[::-2, 1:5:2],
        {"begin": (None, 1), "end": (None, 5), "step": (-2, 2)},
        dtypes=ALL,
    ),
    Case(
        "slice_axis", [(3, 5)], lambda x, axis, begin, end: x[:, -3:], {"axis": -1, "begin": -3, "end": None}
    ),
    Case("slice_like", [(4, 5), (2, 3)], lambda x, y: x[:2, :3], grad=(0,)),
    Case(
        "concat", [(2, 3), (2, 1), (2, 2)], lambda *xs, dim: np.concatenate(xs, dim), {"dim": 1}, dtypes=ALL
    ),
    Case("stack", [(2, 3), (2, 3)], lambda *xs, axis: np.stack(xs, axis), {"axis": 1}),
    Case("split", [(2, 6)], lambda x, num_outputs, axis: np.split(x, 3, 1), {"num_outputs": 3, "axis": 1}),
    Case(
        "split",
        [(2, 3)],
        lambda x, num_outputs, axis, squeeze_axis: [x[:, i] for i in range(3)],
        {"num_outputs": 3, "axis": 1, "squeeze_axis": True},
    ),
    Case("reverse", [(2, 3)], lambda x, axis: np.flip(x, axis), {"axis": 1}),
    Case("tile", [(2, 3)], lambda x, reps: np.tile(x, reps), {"reps": (2, 1, 2)}),
    Case("repeat", [(2, 3)], lambda x, repeats, axis: np.repeat(x, repeats, axis), {"repeats": 2, "axis": 1}),
    Case("repeat", [(2, 3)], lambda x, repeats: np.repeat(x, repeats), {"repeats": 3}),
    Case("pad", [(1, 1, 3, 4)], _pad, {"mode": "reflect", "pad_width": BORDER}),
    Case("pad", [(1, 1, 3, 4)], _pad, {"mode": "edge", "pad_width": BORDER}),
    Case("pad", [(1, 1, 3, 4)], _pad, {"mode": "constant", "pad_width": BORDER, "constant_value": 0.5}),
    Case("diag", [(3, 4)], lambda x, k: np.diag(x, k), {"k": 1}),
    Case("diag", [(3,)], lambda x, k: np.diag(x, k), {"k": -1}),
    Case("shape_array", [(2, 3)], lambda x: np.array(x.shape, "int64"), grad=()),
    Case("size_array", [(2, 3)], lambda x: np.array([x.size], "int64"), grad=()),
    Case("depth_to_space", [(2, 8, 2, 3)], _depth_to_space, {"block_size": 2}),
    Case("space_to_depth", [(2, 2, 4, 6)], _space_to_depth, {"block_size": 2}),
]
