# SPDX-License-Identifier: Apache-2.0
"""Images: new sizes, reading between elements, regions. And the functions that Loomix writes into a file."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..builder import Array, Builder, Value
from ..constants import check_size
from ..reader import Node
from .shapes import axis_of, constant_ints

_COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric")
_NEAREST: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


class _Resize:
    """The attributes of a node Resize, and the weights that follow for an axis."""

    def __init__(self, n: Node) -> None:
        self.mode = n.string("mode", "nearest", ("nearest", "linear", "cubic"))
        self.coordinates = n.string("coordinate_transformation_mode", "half_pixel", _COORDINATES)
        self.nearest = n.string("nearest_mode", "round_prefer_floor", tuple(_NEAREST))
        self.cubic = n.float("cubic_coeff_a", -0.75)
        self.excludes = n.flag("exclude_outside")
        n.float("extrapolation_value")
        if n.flag("antialias"):
            n.fail("antialias is not supported.")

    def _places(self, size: int, wanted: int, scale: float) -> Array:
        """Where the new elements lie in the old ones."""
        x = np.arange(wanted, dtype=np.float64)
        if self.coordinates == "asymmetric":
            return x / scale
        if self.coordinates == "align_corners":
            return x * (size - 1) / (scale * size - 1) if wanted > 1 else np.zeros(1)
        if self.coordinates == "pytorch_half_pixel" and wanted == 1:
            return np.zeros(1)
        offset = 0.0
        if self.coordinates == "half_pixel_symmetric":
            offset = size / 2 * (1 - wanted / (scale * size))
        return offset + (x + 0.5) / scale - 0.5

    def weights(self, size: int, wanted: int, scale: float) -> Array:
        """(wanted, size): how much of each element goes into each new one."""
        places, found = self._places(size, wanted, scale), np.zeros((wanted, size))
        rows = np.arange(wanted)
        if self.mode == "nearest":
            chosen = _NEAREST[self.nearest](places)
            np.add.at(found, (rows, np.clip(chosen, 0, size - 1).astype(int)), 1)
            return found
        below = np.floor(places)
        part = places - below
        if self.mode == "linear":
            near = [(0, 1 - part), (1, part)]
        else:
            near = [(k, self._cubic(np.abs(part - k))) for k in (-1, 0, 1, 2)]
        for k, weight in near:
            column = below + k
            if self.excludes:
                weight = np.where((column < 0) | (column >= size), 0, weight)
            np.add.at(found, (rows, np.clip(column, 0, size - 1).astype(int)), weight)
        return found / found.sum(1, keepdims=True) if self.excludes else found

    def _cubic(self, x: Array) -> Array:
        a = self.cubic
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _targets(n: Node, x: Value) -> tuple[list[int], list[float], list[int | None]]:
    """Axes, scales and sizes."""
    axes = n.ints("axes")
    axes = list(range(x.rank)) if axes is None else [axis_of(n, axis, x.rank) for axis in axes]
    policy = n.string("keep_aspect_ratio_policy", "stretch", ("stretch", "not_larger", "not_smaller"))
    scales = n.inputs[2] if len(n.inputs) > 2 else None
    if scales is not None and scales.array is not None and scales.array.size:
        factors = [float(scale) for scale in scales.array.reshape(-1)]
        if len(factors) != len(axes) or min(factors) <= 0:
            n.fail(f"there are {len(factors)} scales for {len(axes)} axes.")
        sizes = [x.shape[axis] for axis in axes]
        return axes, factors, [None if s is None else math.floor(s * f) for s, f in zip(sizes, factors)]
    wanted = _sizes(n, x, axes)
    if len(wanted) != len(axes):
        n.fail(f"there are {len(wanted)} sizes for {len(axes)} axes.")
    factors = [1.0 if w is None else w / (x.shape[axis] or w) for axis, w in zip(axes, wanted)]
    if policy != "stretch":
        factor = (min if policy == "not_larger" else max)(factors)
        factors = [factor] * len(axes)
        wanted = [
            None if x.shape[axis] is None else math.floor(factor * (x.shape[axis] or 0) + 0.5)
            for axis in axes
        ]
    return axes, factors, wanted


def _sizes(n: Node, x: Value, axes: list[int]) -> list[int | None]:
    """The sizes wanted, None for an open one that stays."""
    value = n.inputs[3] if len(n.inputs) > 3 else None
    if value is not None and value.arrays is not None and value.array is None:
        found: list[int | None] = []
        for i, axis in enumerate(axes):
            numbers = [int(a.reshape(-1)[i]) for a in value.arrays]
            stays = all(shape[axis] == number for shape, number in zip(x.shapes, numbers))
            if len(set(numbers)) > 1 and not stays:
                n.fail("sizes depend on others that the file leaves open; give input_shapes.")
            found.append(None if len(set(numbers)) > 1 else numbers[0])
        return found
    return list(constant_ints(n, 3, "sizes, or scales"))


def _whole_scales(rule: _Resize, x: Value, axes: list[int], factors: list[float]) -> int | None:
    """The whole number by which images grow in the nearest way, if that is what happens."""
    scales = dict(zip(axes, factors))
    if x.rank != 4 or scales.get(0, 1) != 1 or scales.get(1, 1) != 1 or rule.mode != "nearest":
        return None
    height, width = scales.get(2, 1.0), scales.get(3, 1.0)
    plain = (rule.coordinates, rule.nearest) == ("asymmetric", "floor")
    if height != width or height != int(height) or not (plain or rule.coordinates == "half_pixel"):
        return None
    if not plain and rule.nearest not in ("round_prefer_floor", "round_prefer_ceil"):
        return None
    return int(height)


def resize(n: Node, b: Builder) -> Value:
    x, rule = n.inputs[0], _Resize(n)
    axes, factors, sizes = _targets(n, x)
    whole = _whole_scales(rule, x, axes, factors)
    if whole:
        return b.make("UpSampling", x, scale=whole, sample_type="nearest", num_args=1)
    changed = [i for i, axis in enumerate(axes) if factors[i] != 1 or sizes[i] != x.shape[axis]]
    images = x.rank == 4 and {axes[i] for i in changed} <= {2, 3} and None not in x.shape[2:]
    if images and rule.mode == "linear" and rule.coordinates in ("align_corners", "half_pixel"):
        wanted = dict(zip(axes, sizes))
        height, width = wanted.get(2, x.shape[2]), wanted.get(3, x.shape[3])
        exact = all(factors[i] == (sizes[i] or 0) / (x.shape[axes[i]] or 1) for i in changed)
        if exact:
            corners = rule.coordinates == "align_corners"
            return b.make("_contrib_BilinearResize2D", x, height=height, width=width, align_corners=corners)
    found = x
    for i in changed:
        axis, size, wanted_size = axes[i], x.shape[axes[i]], sizes[i]
        if size is None or not wanted_size:
            n.fail(f"axis {axis} has an open size; give input_shapes.")
        check_size(n, [size, wanted_size])
        matrix = rule.weights(size, wanted_size, factors[i]).T.astype(x.dtype)
        order = [*(a for a in range(x.rank) if a != axis), axis]
        moved = b.make("dot", b.transpose(found, order), b.constant(matrix, f"{n.name}_weight{axis}"))
        found = b.transpose(moved, [order.index(a) for a in range(x.rank)])
    return b.make("_copy", x) if found is x else found


def grid_sample(n: Node, b: Builder) -> Value:
    x, grid = n.inputs
    if x.rank != 4:
        n.fail("only images (4 axes) are supported.")
    n.string("mode", "linear", ("linear", "bilinear"))
    padding = n.string("padding_mode", "zeros", ("zeros", "border"))
    corners = n.flag("align_corners")
    places = b.transpose(grid, [0, 3, 1, 2])
    if not corners:
        height, width = x.shape[2:]
        if height is None or width is None or min(height, width) < 2:
            n.fail("align_corners = 0 needs images of known sizes of at least 2.")
        scale = np.array([width / (width - 1), height / (height - 1)], np.float32).reshape(1, 2, 1, 1)
        places = b.make("broadcast_mul", places, b.constant(scale, f"{n.name}_scale"))
    if padding == "border":
        places = b.make("clip", places, a_min=-1, a_max=1)
    return b.make("BilinearSampler", x, places)


def affine_grid(n: Node, b: Builder) -> Value:
    theta = n.inputs[0]
    size = constant_ints(n, 1, "size")
    if len(size) != 4:
        n.fail("only images (4 sizes) are supported.")
    corners = n.flag("align_corners")
    if not corners:  # the outermost centres lie half an element inside
        shrink = np.array([(size[3] - 1) / size[3], (size[2] - 1) / size[2], 1], np.float32)
        theta = b.make("broadcast_mul", theta, b.constant(shrink.reshape(1, 1, 3), f"{n.name}_scale"))
    flat = b.reshape(theta, [-1, 6])
    grid = b.make("GridGenerator", flat, transform_type="affine", target_shape=tuple(size[2:]))
    return b.transpose(grid, [0, 2, 3, 1])


def roi_align(n: Node, b: Builder) -> Value:
    x, boxes, images = n.inputs
    n.string("mode", "avg", ("avg",))
    default = "half_pixel" if n.opset >= 16 else "output_half_pixel"
    mode = n.string("coordinate_transformation_mode", default, ("half_pixel", "output_half_pixel"))
    rois = b.make("Concat", b.unsqueeze(b.cast(images, x.dtype), [1]), boxes, dim=1, num_args=2)
    return b.make(
        "_contrib_ROIAlign", x, rois, pooled_size=(n.int("output_height", 1), n.int("output_width", 1)),
        spatial_scale=n.float("spatial_scale", 1.0), sample_ratio=n.int("sampling_ratio", 0) or -1,
        aligned=mode == "half_pixel",
    )  # fmt: skip


def roi_pooling(n: Node, b: Builder) -> Value:
    shape = tuple(n.ints("pooled_shape", []))
    return b.make("ROIPooling", *n.inputs, pooled_size=shape, spatial_scale=n.float("spatial_scale", 1.0))


def deformable_convolution(n: Node, b: Builder) -> Value:
    x, weight, offset, bias, mask = [*n.inputs, None, None][:5]
    shape = weight.fixed
    if shape is None or len(shape) != 4:
        n.fail("only images (4 axes) are supported.")
    n.refuse("kernel_shape", "other than the weight's", list(shape[2:]))
    pads = n.ints("pads", [0] * 4)
    if pads[:2] != pads[2:]:
        n.fail(f"pads {pads} are not supported.")
    if mask is None:
        axis = n.int("offset_group", 1) * shape[2] * shape[3]
        mask = b.make("ones_like", b.slice_axis(offset, 1, 0, axis))
    return b.make(
        "_contrib_ModulatedDeformableConvolution", x, offset, mask, weight, *([] if bias is None else [bias]),
        kernel=shape[2:], stride=tuple(n.ints("strides", [1, 1])), dilate=tuple(n.ints("dilations", [1, 1])),
        pad=tuple(pads[:2]), num_filter=shape[0], num_group=n.int("group", 1),
        num_deformable_group=n.int("offset_group", 1), no_bias=bias is None,
    )  # fmt: skip


def col2im(n: Node, b: Builder) -> Value:
    size, kernel = constant_ints(n, 1, "image_shape"), constant_ints(n, 2, "block_shape")
    axes = len(kernel)
    pads = n.ints("pads", [0] * (2 * axes))
    if pads[:axes] != pads[axes:]:
        n.fail(f"pads {pads} are not supported.")
    return b.make(
        "col2im", n.inputs[0], output_size=tuple(size), kernel=tuple(kernel), pad=tuple(pads[:axes]),
        stride=tuple(n.ints("strides", [1] * axes)), dilate=tuple(n.ints("dilations", [1] * axes)),
    )  # fmt: skip


def center_crop_pad(n: Node, b: Builder) -> Value:
    from .shapes import pad_axes

    x, wanted = n.inputs[0], constant_ints(n, 1, "shape")
    axes = n.ints("axes")
    axes = list(range(x.rank)) if axes is None else [axis_of(n, axis, x.rank) for axis in axes]
    begins, ends = [0] * x.rank, [0] * x.rank
    for axis, size in zip(axes, wanted):
        have = x.shape[axis]
        if have is None:
            n.fail("open sizes are not supported; give input_shapes.")
        more = size - have
        begins[axis] = more // 2 if more > 0 else -(-more // 2)
        ends[axis] = more - begins[axis]
    return pad_axes(b, x, begins, ends, "constant", 0.0)


# ---- functions that Loomix writes ----

_OWN = {"MultiBoxDetection": "_contrib_MultiBoxDetection", "box_nms": "_contrib_box_nms"}


def own_function(n: Node, b: Builder) -> Value:
    """A function of Loomix' domain: the operator that it was."""
    name = re.sub(r"_\d+$", "", n.op)
    if name not in _OWN:
        n.fail(f"Loomix writes no function of this name; it writes {', '.join(_OWN)}.")
    return b.make(_OWN[name], *n.inputs, **n.plain_attributes())


IMPORTERS: dict[str, Callable[[Node, Builder], Any]] = {
    "AffineGrid": affine_grid,
    "CenterCropPad": center_crop_pad,
    "Col2Im": col2im,
    "DeformConv": deformable_convolution,
    "GridSample": grid_sample,
    "MaxRoiPool": roi_pooling,
    "Resize": resize,
    "RoiAlign": roi_align,
}
