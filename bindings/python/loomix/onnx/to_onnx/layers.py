# SPDX-License-Identifier: Apache-2.0
"""Layers of networks: convolution, pooling, normalisation, products of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph import Node
from ..writer import Writer, int64s


def channels_first(n: Node, w: Writer, apply: Callable[[str], str]) -> str:
    """Applies a layer of ONNX, whose channels come first, to data in the node's layout."""
    x, rank = n.input(0), n.rank()
    if not (n["layout"] or "").endswith("C"):
        return apply(x)
    return w.transpose(apply(w.transpose(x, [0, rank - 1, *range(1, rank - 1)])), [0, *range(2, rank), 1])


def _weight(n: Node, w: Writer) -> str:
    rank = n.rank()
    if not (n["layout"] or "").endswith("C"):
        return n.input(1)
    return w.transpose(n.input(1), [0, rank - 1, *range(1, rank - 1)])


def convolution(n: Node, w: Writer) -> str:
    axes = len(n["kernel"])
    pad = list(n["pad"] or [0] * axes)
    rest = [n.input(2)] if len(n) > 2 else []

    def apply(x: str) -> str:
        return w.add(
            "Conv", x, _weight(n, w), *rest, kernel_shape=list(n["kernel"]), pads=pad * 2,
            strides=list(n["stride"] or [1] * axes), dilations=list(n["dilate"] or [1] * axes), group=n["num_group"],
        )  # fmt: skip

    return channels_first(n, w, apply)


def deconvolution(n: Node, w: Writer) -> str:
    axes = len(n["kernel"])
    if (n["layout"] or "").endswith("C"):
        n.fail(f"layout {n['layout']} has no ONNX form.")
    stride, dilate = list(n["stride"] or [1] * axes), list(n["dilate"] or [1] * axes)
    pad, adjust = list(n["pad"] or [0] * axes), list(n["adj"] or [0] * axes)
    if n["target_shape"]:
        sizes = n.shape(axes=range(2, 2 + axes))[2:]
        for i, target in enumerate(n["target_shape"]):
            whole = stride[i] * (sizes[i] - 1) + dilate[i] * (n["kernel"][i] - 1) + 1
            adjust[i] = (whole - target) % 2
            pad[i] = (whole - target + adjust[i]) // 2
    ends = list(pad)
    for i in range(axes):
        if adjust[i] and pad[i] >= adjust[i]:  # what is added at the end need not be taken away before
            ends[i], adjust[i] = pad[i] - adjust[i], 0
    return w.add(
        "ConvTranspose", *n.inputs(), kernel_shape=list(n["kernel"]), pads=pad + ends, strides=stride,
        dilations=dilate, group=n["num_group"], output_padding=adjust if any(adjust) else None,
    )  # fmt: skip


def fully_connected(n: Node, w: Writer) -> str:
    x, weight = n.input(0), n.input(1)
    bias = [n.input(2)] if len(n) > 2 else []
    if n["flatten"] or n.rank() == 2:
        if n.rank() != 2:
            x = w.add("Flatten", x, axis=1)
        return w.add("Gemm", x, weight, *bias, transB=1)
    found = w.add("MatMul", x, w.transpose(weight, [1, 0]))
    return w.add("Add", found, *bias) if bias else found


_GLOBAL = {"max": "GlobalMaxPool", "avg": "GlobalAveragePool"}


def _end_pads(n: Node, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int]) -> list[int]:
    """Pads behind each axis such that the windows, rounded down, are as many as the convention's."""
    convention, axes = n["pooling_convention"], len(kernel)
    if convention == "valid":
        return list(pad)
    last = n["layout"] is not None and n["layout"].endswith("C")
    first = 1 if last else 2
    sizes = n.shape(axes=range(first, first + axes))[first : first + axes]
    windows = n.out_shape(axes=range(first, first + axes))[first : first + axes]
    return [max(pad[i], (windows[i] - 1) * stride[i] + kernel[i] - sizes[i] - pad[i]) for i in range(axes)]


def _check_norm(n: Node) -> None:
    """The norm of exponent 1 is the sum, as signs count here."""
    if n["pool_type"] == "lp" and n["p_value"] != 1:
        n.fail(f"p_value {n['p_value']} has no ONNX form: there signs do not count; expected 1 or 2.")


def _sum_of_windows(n: Node, w: Writer, x: str, attributes: dict[str, Any]) -> str:
    average = w.add("AveragePool", x, count_include_pad=1, **attributes)
    return w.add("Mul", average, n.number_like(math.prod(attributes["kernel_shape"])))


def _ragged_average(
    n: Node, w: Writer, x: str, pad: list[int], ends: list[int], windows: dict[str, Any]
) -> str:
    """Averages whose last windows reach over the pads' end: the reach is no part of what is counted."""
    pads = [0, 0, *pad, 0, 0, *pad]
    padded = w.add("Pad", x, int64s(*pads))
    reach = [0] * len(pad) + [end - begin for begin, end in zip(pad, ends)]
    return w.add("AveragePool", padded, pads=reach, count_include_pad=0, **windows)


def _windows(n: Node, w: Writer, x: str) -> str:
    kind, kernel, axes = n["pool_type"], list(n["kernel"]), len(n["kernel"])
    stride, pad = list(n["stride"] or [1] * axes), list(n["pad"] or [0] * axes)
    ends = _end_pads(n, kernel, stride, pad)
    windows = {"kernel_shape": kernel, "strides": stride}
    attributes: dict[str, Any] = {**windows, "pads": pad + ends}
    if kind == "max":
        return w.add("MaxPool", x, **attributes)
    if kind == "lp" and n["p_value"] == 2:
        return w.add("LpPool", x, p=2, **attributes)
    if kind == "sum" or kind == "lp":
        _check_norm(n)
        return _sum_of_windows(n, w, x, attributes)
    count_pads = n["count_include_pad"] in (None, "None", True)
    if count_pads and ends != pad:
        return _ragged_average(n, w, x, pad, ends, windows)
    return w.add("AveragePool", x, count_include_pad=int(count_pads), **attributes)


def pooling(n: Node, w: Writer) -> str:
    kind = n["pool_type"]

    def apply(x: str) -> str:
        if not n["global_pool"]:
            return _windows(n, w, x)
        if kind in _GLOBAL:
            return w.add(_GLOBAL[kind], x)
        if kind == "lp" and n["p_value"] == 2:
            return w.add("GlobalLpPool", x, p=2)
        _check_norm(n)
        return w.reduce("ReduceSum", x, range(2, n.rank()), True)

    return channels_first(n, w, apply)


def pooling_v1(n: Node, w: Writer) -> str:
    kind, kernel, axes = n["pool_type"], list(n["kernel"]), len(n["kernel"])
    n.attributes |= {"layout": None}
    if n["global_pool"]:
        return pooling(n, w)
    stride, pad = list(n["stride"] or [1] * axes), list(n["pad"] or [0] * axes)
    # Added positions are zeros, which count for maxima and averages alike.
    pads = [0, 0, *pad, 0, 0, *_end_pads(n, kernel, stride, pad)]
    x = w.add("Pad", n.input(0), int64s(*pads)) if any(pads) else n.input(0)
    attributes = {"kernel_shape": kernel, "strides": stride}
    if kind == "sum":
        return _sum_of_windows(n, w, x, attributes)
    return w.add({"max": "MaxPool", "avg": "AveragePool"}[kind], x, **attributes)


def adaptive_average(n: Node, w: Writer) -> str:
    wanted: Sequence[int] = n["output_size"] or (1,)
    sizes = (wanted[0], wanted[-1])
    if sizes == (1, 1):
        return w.add("GlobalAveragePool", n.input(0))
    *_, height, width = n.shape(axes=[2, 3])

    def weights(size: int, wanted: int) -> np.ndarray[Any, Any]:
        rows = np.zeros((wanted, size), n.dtype())
        for i in range(wanted):
            begin, end = i * size // wanted, -(-(i + 1) * size // wanted)
            rows[i, begin:end] = 1 / (end - begin)
        return rows

    across = w.add("MatMul", n.input(0), np.ascontiguousarray(weights(width, sizes[1]).T))
    return w.add("MatMul", weights(height, sizes[0]), across)


def _per_channel(w: Writer, x: str, axis: int, rank: int) -> str:
    return w.reshape(x, [-1, *[1] * (rank - 1 - axis)])


def batch_norm(n: Node, w: Writer) -> str:
    if n.attributes.get("output_mean_var"):
        n.fail("mean and variance as outputs have no ONNX form.")
    axis, rank, x = (n.axis() if "axis" in n.attributes else 1), n.rank(), n.input(0)
    gamma, beta, mean, variance = (n.input(i) for i in range(1, 5))
    if n["fix_gamma"]:
        gamma = w.constant(np.ones(n.shape(1), n.dtype(1)))
    order = [0, axis, *(i for i in range(1, rank) if i != axis)] if rank > 1 else [0]
    back = [order.index(i) for i in range(rank)]
    found = w.add(
        "BatchNormalization", w.transpose(x, order), gamma, beta, mean, variance,
        epsilon=n["eps"], momentum=n["momentum"],
    )  # fmt: skip
    found = w.transpose(found, back)
    return w.add("Relu", found) if n.op == "_contrib_BatchNormWithReLU" else found


def instance_norm(n: Node, w: Writer) -> str:
    return w.add("InstanceNormalization", *n.inputs(), epsilon=n["eps"])


def _standardize(n: Node, w: Writer, x: str, axes: Sequence[int]) -> str:
    centred = w.add("Sub", x, w.reduce("ReduceMean", x, axes, True))
    variance = w.reduce("ReduceMean", w.add("Mul", centred, centred), axes, True)
    return w.add("Div", centred, w.add("Sqrt", w.add("Add", variance, n.number_like(n["eps"]))))


def layer_norm(n: Node, w: Writer) -> str:
    if n["output_mean_var"]:
        n.fail("mean and deviation as outputs have no ONNX form.")
    x, gamma, beta, axis = *n.inputs(), n.axis()
    if w.opset >= 17 and axis == n.rank() - 1:
        return w.add("LayerNormalization", x, gamma, beta, axis=-1, epsilon=n["eps"])
    found = _standardize(n, w, x, [axis])
    gamma, beta = (_per_channel(w, item, axis, n.rank()) for item in (gamma, beta))
    return w.add("Add", w.add("Mul", found, gamma), beta)


def group_norm(n: Node, w: Writer) -> str:
    if n["output_mean_var"]:
        n.fail("mean and deviation as outputs have no ONNX form.")
    x, gamma, beta = n.inputs()
    grouped = w.reshape(x, [0, n["num_groups"], -1])
    found = w.add("InstanceNormalization", grouped, gamma, beta, epsilon=n["eps"])
    return w.add("Reshape", found, w.add("Shape", x))


def l2_normalization(n: Node, w: Writer) -> str:
    ranges = {"instance": range(1, n.rank()), "channel": [1], "spatial": range(2, n.rank())}
    x = n.input(0)
    total = w.reduce("ReduceSum", w.add("Mul", x, x), list(ranges[n["mode"]]), True)
    return w.add("Div", x, w.add("Sqrt", w.add("Add", total, n.number_like(n["eps"]))))


def lrn(n: Node, w: Writer) -> str:
    return w.add("LRN", n.input(0), alpha=n["alpha"], beta=n["beta"], bias=n["knorm"], size=n["nsize"])


def upsampling(n: Node, w: Writer) -> str:
    if n["sample_type"] != "nearest":
        scale = n["scale"]
        kernel, pad = 2 * scale - scale % 2, math.ceil((scale - 1) / 2)
        return w.add(
            "ConvTranspose", n.input(0), n.input(1), kernel_shape=[kernel] * 2, pads=[pad] * 4,
            strides=[scale] * 2, group=n["num_filter"],
        )  # fmt: skip
    target = n.out_sizes()
    found = []
    for i in range(len(n)):
        size, wanted = n.shape(i, axes=[2])[2], target[2]
        if wanted is None or wanted % size:
            n.fail(f"input {i} of shape {n.sizes(i)} has no whole scale to {target}.")
        scales = np.array([1, 1, wanted // size, wanted // size], np.float32)
        found.append(
            w.add(
                "Resize",
                n.input(i),
                None,
                scales,
                mode="nearest",
                coordinate_transformation_mode="asymmetric",
                nearest_mode="floor",
            )  # fmt: skip
        )
    if len(found) == 1:
        return found[0]
    return w.add("Sum", *found) if n["multi_input_mode"] == "sum" else w.add("Concat", *found, axis=1)


def bilinear_resize(n: Node, w: Writer) -> str:
    channels = n.shape(axes=[1])[1]
    height, width = n.out_shape(axes=[2, 3])[2:]
    sizes: Any = int64s(n.sizes()[0] or 0, channels, height, width)
    if n.sizes()[0] is None:
        sizes = w.add("Concat", w.sizes_of(n.input(0), [0]), sizes[1:], axis=0)
    mode = "align_corners" if n["align_corners"] else "half_pixel"
    return w.add("Resize", n.input(0), None, None, sizes, mode="linear", coordinate_transformation_mode=mode)


def _softmax(n: Node, w: Writer, op: str, x: str) -> str:
    if n["temperature"] not in (None, "None", 1.0):
        x = w.add("Div", x, n.number_like(n["temperature"]))
    if n["dtype"] not in (None, "None"):
        x = w.cast(x, n.out_dtype())
    axis = n.axis()
    if not n.attributes.get("use_length"):
        return w.add(op, x, axis=axis)
    size = n.shape(axes=[axis])[axis]
    length = w.unsqueeze(w.cast(n.input(1), np.int64), axis)
    places = np.arange(size).reshape([size, *[1] * (n.rank() - 1 - axis)])
    inside = w.add("Less", places, length)
    lowest = np.array(np.finfo(n.out_dtype()).min, n.out_dtype())
    found = w.add(op, w.add("Where", inside, x, lowest), axis=axis)
    return w.add("Where", inside, found, np.zeros((), n.out_dtype()))


def softmax(n: Node, w: Writer) -> str:
    return _softmax(n, w, "Softmax", n.input(0))


def log_softmax(n: Node, w: Writer) -> str:
    return _softmax(n, w, "LogSoftmax", n.input(0))


def softmin(n: Node, w: Writer) -> str:
    return _softmax(n, w, "Softmax", w.add("Neg", n.input(0)))


def _softmax_of_items(n: Node, w: Writer) -> str:
    x = n.input(0)
    if n.rank() == 2:
        return w.add("Softmax", x, axis=1)
    return w.add("Reshape", w.add("Softmax", w.add("Flatten", x, axis=1), axis=1), w.add("Shape", x))


def softmax_activation(n: Node, w: Writer) -> str:
    return w.add("Softmax", n.input(0), axis=1 if n["mode"] == "channel" else -1)


def softmax_output(n: Node, w: Writer) -> str:
    if n["preserve_shape"]:
        return w.add("Softmax", n.input(0), axis=-1)
    return w.add("Softmax", n.input(0), axis=1) if n["multi_output"] else _softmax_of_items(n, w)


CONVERTERS: dict[str, Callable[[Node, Writer], Any]] = {
    "BatchNorm": batch_norm,
    "Convolution": convolution,
    "Convolution_v1": convolution,
    "Deconvolution": deconvolution,
    "FullyConnected": fully_connected,
    "GroupNorm": group_norm,
    "InstanceNorm": instance_norm,
    "L2Normalization": l2_normalization,
    "LRN": lrn,
    "LayerNorm": layer_norm,
    "Pooling": pooling,
    "Pooling_v1": pooling_v1,
    "SoftmaxActivation": softmax_activation,
    "SoftmaxOutput": softmax_output,
    "UpSampling": upsampling,
    "_contrib_AdaptiveAvgPooling2D": adaptive_average,
    "_contrib_BatchNormWithReLU": batch_norm,
    "_contrib_BilinearResize2D": bilinear_resize,
    "_contrib_SyncBatchNorm": batch_norm,
    "log_softmax": log_softmax,
    "softmax": softmax,
    "softmin": softmin,
}
