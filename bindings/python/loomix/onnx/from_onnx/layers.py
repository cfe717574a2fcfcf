# SPDX-License-Identifier: Apache-2.0
"""Layers of networks: convolution, pooling, normalisation, products of matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..builder import Builder, Value
from ..constants import check_size
from ..reader import Node
from .shapes import axis_of, pad_axes


def _positive(n: Node, name: str, values: Sequence[int], count: int) -> list[int]:
    if len(values) != count or min(values) < 1:
        n.fail(f"attribute {name} is {list(values)}; expected {count} positive numbers.")
    return list(values)


def window(n: Node, x: Value, kernel: Sequence[int]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Strides, dilations and pads before and behind, of a layer whose window slides over the data."""
    axes = len(kernel)
    strides = _positive(n, "strides", n.ints("strides", [1] * axes), axes)
    dilations = _positive(n, "dilations", n.ints("dilations", [1] * axes), axes)
    pads = n.ints("pads", [0] * (2 * axes))
    if len(pads) != 2 * axes or min(pads) < 0:
        n.fail(f"attribute pads is {pads}; expected {2 * axes} numbers of at least 0.")
    mode = n.string("auto_pad", "NOTSET", ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"))
    if mode == "VALID":
        pads = [0] * (2 * axes)
    elif mode != "NOTSET":
        pads = [0] * (2 * axes)
        for i, size in enumerate(x.shape[2:]):
            if size is None:
                n.fail("auto_pad with open sizes is not supported; give input_shapes.")
            reach = dilations[i] * (kernel[i] - 1) + 1
            whole = max((-(-size // strides[i]) - 1) * strides[i] + reach - size, 0)
            less, more = whole // 2, whole - whole // 2
            pads[i], pads[i + axes] = (less, more) if mode == "SAME_UPPER" else (more, less)
    return strides, dilations, pads[:axes], pads[axes:]


def _check_image(n: Node, x: Value, kernel: Sequence[int]) -> None:
    if x.rank != len(kernel) + 2 or not 1 <= len(kernel) <= 3:
        n.fail(
            f"data of {x.rank} axes with a kernel of {len(kernel)} is not supported; expected 1 to 3 spatial axes."
        )


def _weight_shape(n: Node) -> tuple[int, ...]:
    shape = n.inputs[1].fixed
    if shape is None or len(shape) < 3:
        n.fail("the weight's shape must be known.")
    return shape


def convolution(n: Node, b: Builder) -> Value:
    x, weight, *bias = n.inputs
    shape = _weight_shape(n)
    kernel = n.ints("kernel_shape", list(shape[2:]))
    if kernel != list(shape[2:]):
        n.fail(f"kernel_shape is {kernel}, and the weight has shape {shape}.")
    _check_image(n, x, kernel)
    strides, dilations, begins, ends = window(n, x, kernel)
    if begins != ends:
        x = pad_axes(b, x, [0, 0, *begins], [0, 0, *ends], "constant", 0.0)
        begins = [0] * len(kernel)
    bias = [item for item in bias if item is not None]
    return b.make(
        "Convolution", x, weight, *bias, kernel=tuple(kernel), stride=tuple(strides), dilate=tuple(dilations),
        pad=tuple(begins), num_filter=shape[0], num_group=n.int("group", 1), no_bias=not bias,
    )  # fmt: skip


def transposed_convolution(n: Node, b: Builder) -> Value:
    x, weight, *bias = n.inputs
    shape, group = _weight_shape(n), n.int("group", 1)
    kernel = n.ints("kernel_shape", list(shape[2:]))
    _check_image(n, x, kernel)
    axes = len(kernel)
    wanted, extra = n.ints("output_shape"), n.ints("output_padding", [0] * axes)
    mode = n.string("auto_pad", "NOTSET", ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"))
    n_pads = n.ints("pads", [0] * (2 * axes))
    strides = _positive(n, "strides", n.ints("strides", [1] * axes), axes)
    dilations = _positive(n, "dilations", n.ints("dilations", [1] * axes), axes)
    if wanted is None and mode.startswith("SAME"):
        sizes = x.shape[2:]
        if None in sizes:
            n.fail("auto_pad with open sizes is not supported; give input_shapes.")
        wanted = [(size or 1) * stride for size, stride in zip(sizes, strides)]
    if wanted is not None:
        n_pads = [0] * (2 * axes)
        for i, target in enumerate(wanted[-axes:]):
            size = x.shape[2 + i]
            if size is None:
                n.fail("output_shape with open sizes is not supported; give input_shapes.")
            whole = strides[i] * (size - 1) + extra[i] + dilations[i] * (kernel[i] - 1) + 1 - target
            if whole < 0:
                extra[i], whole = extra[i] - whole, 0
            less, more = whole // 2, whole - whole // 2
            n_pads[i], n_pads[i + axes] = (less, more) if mode == "SAME_UPPER" else (more, less)
    begins, ends = n_pads[:axes], n_pads[axes:]
    if len(n_pads) != 2 * axes or min(n_pads) < 0 or len(extra) != axes:
        n.fail(f"pads {n_pads} or output_padding {extra} is not supported.")
    bias = [item for item in bias if item is not None]
    attributes = {
        "kernel": tuple(kernel), "stride": tuple(strides), "dilate": tuple(dilations),
        "num_filter": shape[1] * group, "num_group": group, "no_bias": not bias,
    }  # fmt: skip
    if begins == ends:
        return b.make("Deconvolution", x, weight, *bias, pad=tuple(begins), adj=tuple(extra), **attributes)
    added = [max(more - end, 0) for more, end in zip(extra, ends)]
    found = b.make("Deconvolution", x, weight, *bias, adj=tuple(added), **attributes)
    for i in range(axes):
        cut = max(ends[i] - extra[i], 0)
        found = b.slice_axis(found, 2 + i, begins[i], -cut if cut else None)
    return found


# ---- pooling ----


def _windows(size: int, kernel: int, stride: int, begin: int, end: int, round_up: bool) -> int:
    """How many windows ONNX has along an axis: none begins in the pads behind the data."""
    space = size + begin + end - kernel
    count = (-(-space // stride) if round_up else space // stride) + 1
    if round_up and (count - 1) * stride >= size + begin:
        count -= 1
    return count


class _Pool:
    """The attributes of a pooling node."""

    def __init__(self, n: Node, x: Value) -> None:
        self.kernel = n.ints("kernel_shape", [])
        _check_image(n, x, self.kernel)
        self.strides, self.dilations, self.begins, self.ends = window(n, x, self.kernel)
        if any(d != 1 for d in self.dilations):
            n.fail(f"dilations {self.dilations} are not supported in pooling.")
        if n.flag("ceil_mode"):
            for i, size in enumerate(x.shape[2:]):
                if size is None:
                    n.fail("ceil_mode with open sizes is not supported; give input_shapes.")
                args = size, self.kernel[i], self.strides[i], self.begins[i], self.ends[i]
                count = _windows(*args, True)
                self.ends[i] = (count - 1) * self.strides[i] + self.kernel[i] - size - self.begins[i]
                self.ends[i] = max(self.ends[i], 0)

    def pool(self, b: Builder, x: Value, kind: str, padded: bool, **more: Any) -> Value:
        """Pooling by Loomix; ``padded`` data has its pads already."""
        return b.make(
            "Pooling", x, kernel=tuple(self.kernel), stride=tuple(self.strides), pool_type=kind,
            pad=(0,) * len(self.kernel) if padded else tuple(self.begins), **more,
        )  # fmt: skip

    def is_full(self, x: Value) -> bool:
        """Whether Loomix' rule of windows that are rounded up gives the same."""
        for i, size in enumerate(x.shape[2:]):
            if size is None:
                return False
            kernel, stride, pad = self.kernel[i], self.strides[i], self.begins[i]
            full = -(-(size + 2 * pad - kernel) // stride) + 1
            if full != _windows(size, kernel, stride, pad, self.ends[i], False) or self.ends[i] < pad:
                return False
        return True


def max_pool(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    if len([name for name in n.output_names if name]) > 1:
        n.fail("the places of the maxima as an output are not supported.")
    n.flag("storage_order")
    pool = _Pool(n, x)
    if pool.begins == pool.ends:
        return pool.pool(b, x, "max", False)
    if pool.is_full(x):
        return pool.pool(b, x, "max", False, pooling_convention="full")
    lowest = float(np.finfo(x.dtype).min) if x.dtype.kind == "f" else float(np.iinfo(x.dtype).min)
    return pool.pool(
        b, pad_axes(b, x, [0, 0, *pool.begins], [0, 0, *pool.ends], "constant", lowest), "max", True
    )


def average_pool(n: Node, b: Builder) -> Value:
    x, count_pads = n.inputs[0], n.flag("count_include_pad")
    asked = n.ints("pads", None)
    rounds_up = n.flag("ceil_mode")
    pool = _Pool(n, x)
    if pool.begins == pool.ends:
        return pool.pool(b, x, "avg", False, count_include_pad=count_pads)
    if not count_pads and pool.is_full(x):
        return pool.pool(b, x, "avg", False, pooling_convention="full", count_include_pad=False)
    begins, ends = [0, 0, *pool.begins], [0, 0, *pool.ends]
    total = pool.pool(b, pad_axes(b, x, begins, ends, "constant", 0.0), "sum", True)
    ones = b.make("ones_like", x)
    if count_pads:  # those asked for count, but not what windows that are rounded up reach beyond
        behind = [0, 0, *(asked or [0] * 2 * len(pool.kernel))[len(pool.kernel) :]] if rounds_up else ends
        ones = pad_axes(b, ones, begins, behind, "constant", 1.0)
        begins, ends = [0] * x.rank, [end - there for end, there in zip(ends, behind)]
    counts = pool.pool(b, pad_axes(b, ones, begins, ends, "constant", 0.0), "sum", True)
    return b.make("broadcast_div", total, counts)


def lp_pool(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    if n.int("p", 2) != 2:
        n.fail("only p = 2 is supported.")
    pool = _Pool(n, x)
    padded = pad_axes(b, x, [0, 0, *pool.begins], [0, 0, *pool.ends], "constant", 0.0)
    return pool.pool(b, padded, "lp", True, p_value=2)


def global_pool(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    kind = {"GlobalAveragePool": "avg", "GlobalMaxPool": "max", "GlobalLpPool": "lp"}[n.op]
    if kind == "lp":
        if n.int("p", 2) != 2:
            n.fail("only p = 2 is supported.")
        return b.make("sqrt", b.make("sum", b.make("square", x), axis=tuple(range(2, x.rank)), keepdims=True))
    if not 3 <= x.rank <= 5:
        return b.make({"avg": "mean", "max": "max"}[kind], x, axis=tuple(range(2, x.rank)), keepdims=True)
    return b.make("Pooling", x, kernel=(1,) * (x.rank - 2), pool_type=kind, global_pool=True)


# ---- normalisation ----


def _along_channels(b: Builder, value: Value, rank: int) -> Value:
    """A vector of numbers, one a channel, as an array that broadcasts."""
    return b.reshape(value, [1, -1, *[1] * (rank - 2)])


def batch_norm(n: Node, b: Builder) -> Value:
    x, gamma, beta, mean, variance = n.inputs
    if n.flag("training_mode") or len([name for name in n.output_names if name]) > 1:
        n.fail("training is not supported.")
    epsilon, momentum = n.float("epsilon", 1e-5), n.float("momentum", 0.9)
    if mean.array is not None and variance.array is not None:
        states = [b.constant(value.array, value.name) for value in (mean, variance)]
        return b.make(
            "BatchNorm", x, gamma, beta, *states, eps=epsilon, momentum=momentum, fix_gamma=False, axis=1
        )
    gamma, beta, mean, variance = (_along_channels(b, item, x.rank) for item in n.inputs[1:])
    deviation = b.make("sqrt", b.scalar("_plus_scalar", variance, epsilon))
    scaled = b.make("broadcast_div", b.make("broadcast_sub", x, mean), deviation)
    return b.make("broadcast_add", b.make("broadcast_mul", scaled, gamma), beta)


def instance_norm(n: Node, b: Builder) -> Value:
    return b.make("InstanceNorm", *n.inputs, eps=n.float("epsilon", 1e-5))


def _standardize(b: Builder, x: Value, axes: Sequence[int], epsilon: float) -> Value:
    centred = b.make("broadcast_sub", x, b.make("mean", x, axis=tuple(axes), keepdims=True))
    variance = b.make("mean", b.make("square", centred), axis=tuple(axes), keepdims=True)
    return b.make("broadcast_div", centred, b.make("sqrt", b.scalar("_plus_scalar", variance, epsilon)))


def _layer_norm_outputs(
    b: Builder, x: Value, scale: Value, bias: Sequence[Value], axes: Sequence[int], epsilon: float
) -> list[Value]:
    """With the mean, and one by the deviation."""
    mean = b.make("mean", x, axis=tuple(axes), keepdims=True)
    centred = b.make("broadcast_sub", x, mean)
    variance = b.make("mean", b.make("square", centred), axis=tuple(axes), keepdims=True)
    inverse = b.make("rsqrt", b.scalar("_plus_scalar", variance, epsilon))
    found = b.make("broadcast_mul", b.make("broadcast_mul", centred, inverse), scale)
    return [b.make("broadcast_add", found, bias[0]) if bias else found, mean, inverse]


def layer_norm(n: Node, b: Builder) -> Value | list[Value]:
    x, scale, *bias = n.inputs
    n.refuse("stash_type", "the type to compute in", 1)
    axis, epsilon = axis_of(n, n.int("axis", -1), x.rank), n.float("epsilon", 1e-5)
    bias = [item for item in bias if item is not None]
    if len(n.output_names) > 1:
        return _layer_norm_outputs(b, x, scale, bias, range(axis, x.rank), epsilon)
    if axis == x.rank - 1 and scale.rank == 1:
        shift = bias[0] if bias else b.constant(np.zeros(scale.fixed or (1,), x.dtype), f"{n.name}_beta")
        return b.make("LayerNorm", x, scale, shift, axis=-1, eps=epsilon)
    found = b.make("broadcast_mul", _standardize(b, x, range(axis, x.rank), epsilon), scale)
    return b.make("broadcast_add", found, bias[0]) if bias else found


def group_norm(n: Node, b: Builder) -> Value:
    x, scale, bias = n.inputs
    n.refuse("stash_type", "the type to compute in", 1)
    groups, epsilon = n.int("num_groups", 0), n.float("epsilon", 1e-5)
    if n.opset < 21:
        n.fail("before opset 21 it was not well defined.")
    check_size(n, [groups])
    ones, zeros = (b.constant(np.full(groups, i, x.dtype), f"{n.name}_{i}") for i in (1, 0))
    found = b.make("InstanceNorm", b.make("Reshape", x, shape=(0, groups, -1)), ones, zeros, eps=epsilon)
    found = b.make("reshape_like", found, x)
    scale, bias = (_along_channels(b, item, x.rank) for item in (scale, bias))
    return b.make("broadcast_add", b.make("broadcast_mul", found, scale), bias)


def lrn(n: Node, b: Builder) -> Value:
    return b.make(
        "LRN", n.inputs[0], alpha=n.float("alpha", 1e-4), beta=n.float("beta", 0.75), knorm=n.float("bias", 1.0),
        nsize=n.int("size", 0),
    )  # fmt: skip


def lp_normalization(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    axis, p = axis_of(n, n.int("axis", -1), x.rank), n.int("p", 2)
    if p not in (1, 2):
        n.fail(f"p is {p}; expected 1 or 2.")
    return b.make("broadcast_div", x, b.make("norm", x, ord=p, axis=axis, keepdims=True))


def mean_variance_normalization(n: Node, b: Builder) -> Value:
    axes = [axis_of(n, axis, n.inputs[0].rank) for axis in n.ints("axes", [0, 2, 3])]
    return _standardize(b, n.inputs[0], axes, 1e-9)


def softmax(n: Node, b: Builder) -> Value:
    op = {"Softmax": "softmax", "LogSoftmax": "log_softmax"}[n.op]
    return b.make(op, n.inputs[0], axis=axis_of(n, n.int("axis", -1), n.inputs[0].rank))


def multinomial(n: Node, b: Builder) -> Value:
    n.refuse("seed", "where random numbers begin")
    dtype = {6: "int32", 7: "int64"}.get(n.int("dtype", 6), "int32")
    odds = b.make("softmax", n.inputs[0], axis=-1)
    return b.make("_sample_multinomial", odds, shape=(n.int("sample_size", 1),), dtype=dtype)


IMPORTERS: dict[str, Callable[[Node, Builder], Any]] = {
    "AveragePool": average_pool,
    "BatchNormalization": batch_norm,
    "Conv": convolution,
    "ConvTranspose": transposed_convolution,
    "GlobalAveragePool": global_pool,
    "GlobalLpPool": global_pool,
    "GlobalMaxPool": global_pool,
    "GroupNormalization": group_norm,
    "InstanceNormalization": instance_norm,
    "LRN": lrn,
    "LayerNormalization": layer_norm,
    "LogSoftmax": softmax,
    "LpNormalization": lp_normalization,
    "LpPool": lp_pool,
    "MaxPool": max_pool,
    "MeanVarianceNormalization": mean_variance_normalization,
    "Multinomial": multinomial,
    "Softmax": softmax,
}
