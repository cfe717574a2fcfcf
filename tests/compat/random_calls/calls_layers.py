# SPDX-License-Identifier: Apache-2.0
"""Random calls of layers, losses, images, detection and random numbers."""

from calls import makes
from draw import Array, Call


@makes("Activation")
def activation(draw, name):
    act = draw.of("relu", "sigmoid", "softrelu", "softsign", "tanh")
    return Call(name, [Array(draw.shape(), draw.of("float32", "float64"))], {"act_type": act})


@makes("LeakyReLU")
def leaky(draw, name):
    shape, dtype = draw.shape(2), draw.of("float32", "float64")
    act = draw.of("leaky", "elu", "selu", "gelu", "prelu")
    if act == "prelu":
        return Call(name, [Array(shape, dtype), Array((shape[1],), dtype)], {"act_type": act})
    return Call(name, [Array(shape, dtype)], {"act_type": act, **draw.some(slope=draw.number(0.1, 0.5))})


@makes("softmax log_softmax softmin")
def softmax(draw, name):
    shape = draw.shape()
    attrs = {"axis": draw.axis(len(shape)), **draw.some(temperature=draw.number(0.5, 2))}
    return Call(name, [Array(shape, draw.of("float32", "float32", "float64"))], attrs)


@makes("SoftmaxActivation")
def softmax_activation(draw, name):
    mode = draw.of("instance", "channel")
    return Call(name, [Array(draw.shape(2, 2) if mode == "instance" else draw.shape(3, 4))], {"mode": mode})


@makes("softmax_cross_entropy SVMOutput")
def class_loss(draw, name):
    n, c = draw.whole(1, 5), draw.whole(1, 5)
    attrs = draw.some(margin=draw.number(0.5, 2), use_linear=draw.chance(0.5)) if name == "SVMOutput" else {}
    inputs = [Array((n, c)), Array((n,), "float32", "whole", 0, c)]
    return Call(name, inputs, attrs, grad=name == "SVMOutput")  # MXNet has no gradient to the labels


@makes("SoftmaxOutput")
def softmax_output(draw, name):
    n, c = draw.whole(1, 5), draw.whole(1, 5)
    attrs = draw.some(grad_scale=draw.number(0.5, 2), normalization=draw.of("null", "batch", "valid"))
    if draw.chance(0.3):
        attrs.update(use_ignore=True, ignore_label=0)
    if draw.chance(0.3):
        h = draw.whole(1, 4)
        return Call(
            name, [Array((n, c, h)), Array((n, h), "float32", "whole", 0, c)], {**attrs, "multi_output": True}
        )
    return Call(name, [Array((n, c)), Array((n,), "float32", "whole", 0, c)], attrs)


@makes("LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput")
def regression(draw, name):
    shape = draw.shape(1, 3)
    return Call(name, [Array(shape), Array(shape)], draw.some(grad_scale=draw.number(0.5, 2)))


@makes("MakeLoss")
def make_loss(draw, name):
    return Call(
        name,
        [Array(draw.shape(1, 3))],
        draw.some(grad_scale=draw.number(), normalization=draw.of("null", "batch")),
    )


@makes("FullyConnected")
def fully_connected(draw, name):
    shape, hidden, flat = draw.shape(2, 3), draw.whole(1, 5), draw.chance(0.7)
    width = shape[-1]
    if flat:
        width = 1
        for n in shape[1:]:
            width *= n
    dtype = draw.of("float32", "float32", "float64")
    attrs = {"num_hidden": hidden, "flatten": flat, "no_bias": draw.chance(0.4)}
    inputs = [Array(shape, dtype), Array((hidden, width + (draw.chance(0.03))), dtype)]
    return Call(name, inputs if attrs["no_bias"] else [*inputs, Array((hidden,), dtype)], attrs)


def window(draw, rank):
    """Kernel, stride, dilation and padding of a window; and the data's size, which it fits in."""
    kernel = tuple(draw.whole(1, 3) for _ in range(rank))
    stride = tuple(draw.whole(1, 2) for _ in range(rank))
    dilate = tuple(draw.of(1, 1, 2) for _ in range(rank))
    pad = tuple(draw.whole(0, k // 2) for k in kernel)
    size = tuple((k - 1) * d + 1 + draw.whole(0, 4) for k, d in zip(kernel, dilate))
    return kernel, stride, dilate, pad, size


@makes("Convolution")
def convolution(draw, name):
    kernel, stride, dilate, pad, size = window(draw, draw.of(1, 2, 2, 2, 3))
    groups = draw.of(1, 1, 1, 2)
    channels, filters = groups * draw.whole(1, 3), groups * draw.whole(1, 3)
    dtype = draw.of("float32", "float32", "float64")
    attrs = {"kernel": kernel, "num_filter": filters, "num_group": groups, "no_bias": draw.chance(0.4)}
    attrs.update(draw.some(stride=stride, dilate=dilate, pad=pad))
    inputs = [
        Array((draw.whole(1, 2), channels, *size), dtype),
        Array((filters, channels // groups, *kernel), dtype),
    ]
    return Call(name, inputs if attrs["no_bias"] else [*inputs, Array((filters,), dtype)], attrs)


@makes("Deconvolution")
def deconvolution(draw, name):
    kernel, stride, _, pad, size = window(draw, draw.of(1, 2, 2))
    channels, filters = draw.whole(1, 3), draw.whole(1, 3)
    attrs = {
        "kernel": kernel,
        "num_filter": filters,
        "no_bias": draw.chance(0.6),
        **draw.some(stride=stride, pad=pad),
    }
    inputs = [Array((draw.whole(1, 2), channels, *size)), Array((channels, filters, *kernel))]
    return Call(name, inputs if attrs["no_bias"] else [*inputs, Array((filters,))], attrs)


@makes("Pooling")
def pooling(draw, name):
    kernel, stride, _, pad, size = window(draw, draw.of(1, 2, 2, 2, 3))
    attrs = {
        "kernel": kernel,
        "pool_type": draw.of("max", "avg", "sum", "lp"),
        **draw.some(stride=stride, pad=pad),
    }
    if attrs["pool_type"] == "lp":
        attrs["p_value"] = draw.of(1, 2, 3)
    attrs.update(draw.some(count_include_pad=draw.chance(0.5)))
    if draw.chance(0.2):
        attrs = {"global_pool": True, "pool_type": attrs["pool_type"], "kernel": kernel, "p_value": 2}
    elif draw.chance(0.2) and attrs["pool_type"] == "max":
        attrs["pooling_convention"] = "full"
    return Call(
        name,
        [
            Array(
                (draw.whole(1, 2), draw.whole(1, 3), *size),
                draw.of("float32", "float32", "float64"),
                "distinct",
            )
        ],
        attrs,
    )


@makes("im2col")
def im2col(draw, name):
    kernel, stride, dilate, pad, size = window(draw, 2)
    attrs = {"kernel": kernel, **draw.some(stride=stride, dilate=dilate, pad=pad)}
    return Call(name, [Array((1, draw.whole(1, 2), *size))], attrs)


@makes("BatchNorm")
def batch_norm(draw, name):
    shape = draw.shape(2, 4)
    axis = draw.of(1, 1, -1) if len(shape) > 2 else 1
    width = (shape[axis],)
    attrs = {
        "axis": axis,
        **draw.some(fix_gamma=draw.chance(0.5), use_global_stats=draw.chance(0.5), eps=0.01),
    }
    inputs = [
        Array(shape),
        Array(width),
        Array(width),
        Array(width),
        Array(width, "float32", "uniform", 0.5, 2),
    ]
    return Call(name, inputs, attrs, grad=False)


@makes("LayerNorm InstanceNorm GroupNorm")
def norms(draw, name):
    shape = draw.shape(3, 4)
    if name == "LayerNorm":
        axis = draw.axis(len(shape))
        return Call(
            name,
            [Array(shape), Array((shape[axis],)), Array((shape[axis],))],
            {"axis": axis, **draw.some(eps=0.01)},
        )
    groups = draw.of(1, 2)
    shape = (shape[0], groups * draw.whole(1, 2), *shape[2:-1], shape[-1] + 2)
    width = (groups,) if name == "GroupNorm" else (shape[1],)
    attrs = {"num_groups": groups} if name == "GroupNorm" else {}
    return Call(name, [Array(shape), Array(width), Array(width)], {**attrs, **draw.some(eps=0.01)})


@makes("L2Normalization")
def l2(draw, name):
    mode = draw.of("instance", "channel", "spatial")
    return Call(
        name, [Array(draw.shape(2 if mode == "instance" else 3, 4))], {"mode": mode, **draw.some(eps=0.01)}
    )


@makes("LRN")
def lrn(draw, name):
    attrs = {
        "nsize": draw.of(1, 3, 5),
        **draw.some(alpha=draw.number(0.01, 0.5), beta=draw.number(0.3, 0.9), knorm=draw.number(1, 3)),
    }
    return Call(name, [Array(draw.shape(4, 4))], attrs)


@makes("Dropout")
def dropout(draw, name):
    return Call(name, [Array(draw.shape(), draw.floating())], {"p": draw.number(0, 0.9)}, grad=False)


@makes("UpSampling contrib.BilinearResize2D contrib.AdaptiveAvgPooling2D")
def resizing(draw, name):
    data = Array((draw.whole(1, 2), draw.whole(1, 3), draw.whole(1, 5), draw.whole(1, 5)))
    if name == "UpSampling":
        return Call(name, [data], {"scale": draw.whole(1, 3), "sample_type": "nearest"})
    if name == "contrib.BilinearResize2D":
        return Call(name, [data], {"height": draw.whole(2, 7), "width": draw.whole(2, 7)})
    return Call(name, [data], draw.some(output_size=(draw.whole(1, 4), draw.whole(1, 4))))


@makes("BilinearSampler GridGenerator SpatialTransformer")
def sampling(draw, name):
    n, c, h, w = draw.whole(1, 2), draw.whole(1, 2), draw.whole(2, 5), draw.whole(2, 5)
    size = draw.whole(2, 5), draw.whole(2, 5)
    data, affine = Array((n, c, h, w)), Array((n, 6), "float32", "uniform", -0.9, 0.9)
    if name == "BilinearSampler":
        return Call(name, [data, Array((n, 2, *size), "float32", "uniform", -0.95, 0.95)])
    if name == "GridGenerator":
        if draw.chance(0.5):
            return Call(name, [Array((n, 2, h, w))], {"transform_type": "warp"})
        return Call(name, [affine], {"transform_type": "affine", "target_shape": size})
    return Call(
        name, [data, affine], {"transform_type": "affine", "sampler_type": "bilinear", "target_shape": size}
    )


@makes("CTCLoss")
def ctc(draw, name):
    steps, batch, classes = draw.whole(3, 6), draw.whole(1, 3), draw.whole(3, 5)
    length = draw.whole(1, 2)
    attrs = draw.some(blank_label=draw.of("first", "last"))
    low, high = (1, classes) if attrs.get("blank_label", "first") == "first" else (0, classes - 1)
    return Call(
        name, [Array((steps, batch, classes)), Array((batch, length), "float32", "whole", low, high)], attrs
    )


@makes("RNN")
def rnn(draw, name):
    mode, layers, both = draw.of("rnn_tanh", "rnn_relu", "lstm", "gru"), draw.whole(1, 2), draw.chance(0.4)
    steps, batch, width, state = draw.whole(1, 4), draw.whole(1, 3), draw.whole(1, 4), draw.whole(1, 4)
    gates, sides = {"lstm": 4, "gru": 3}.get(mode, 1), 2 if both else 1
    size = 0
    for layer in range(layers):
        size += sides * gates * state * ((width if layer == 0 else sides * state) + state + 2)
    states = (layers * sides, batch, state)
    inputs = [Array((steps, batch, width)), Array((size,), "float32", "uniform", -0.5, 0.5), Array(states)]
    attrs = {
        "mode": mode,
        "num_layers": layers,
        "state_size": state,
        "bidirectional": both,
        "state_outputs": draw.chance(0.5),
    }
    return Call(name, [*inputs, Array(states)] if mode == "lstm" else inputs, attrs, grad=False)


@makes("contrib.interleaved_matmul_selfatt_qk contrib.interleaved_matmul_selfatt_valatt")
def attention(draw, name):
    heads, steps, batch, width = draw.whole(1, 3), draw.whole(1, 4), draw.whole(1, 3), draw.whole(1, 3)
    inputs = [Array((steps, batch, heads * width * 3))]
    if name.endswith("valatt"):
        inputs.append(Array((batch * heads, steps, steps)))
    return Call(name, inputs, {"heads": heads})


@makes("ROIPooling contrib.ROIAlign")
def regions(draw, name):
    data = Array((1, draw.whole(1, 2), 8, 8), "float32", "distinct")
    rois = []
    for _ in range(draw.whole(1, 3)):
        x, y = draw.whole(0, 4), draw.whole(0, 4)
        rois.append((0, x, y, x + draw.whole(1, 3), y + draw.whole(1, 3)))
    attrs = {"pooled_size": (draw.whole(1, 3), draw.whole(1, 3)), "spatial_scale": 1.0}
    if name == "contrib.ROIAlign":
        attrs.update(sample_ratio=draw.whole(1, 2), **draw.some(aligned=draw.chance(0.5)))
    return Call(name, [data, Array((len(rois), 5), "float32", tuple(rois))], attrs)


@makes("contrib.box_iou contrib.box_nms contrib.MultiBoxPrior contrib.bipartite_matching")
def boxes(draw, name):
    if name == "contrib.box_iou":
        return Call(
            name,
            [
                Array((draw.whole(1, 4), 4), "float32", "boxes"),
                Array((draw.whole(1, 4), 4), "float32", "boxes"),
            ],
        )
    if name == "contrib.MultiBoxPrior":
        attrs = {"sizes": (0.3, 0.5)[: draw.whole(1, 2)], "ratios": (1, 2, 0.5)[: draw.whole(1, 3)]}
        return Call(
            name,
            [Array((1, 3, draw.whole(1, 4), draw.whole(1, 4)))],
            {**attrs, **draw.some(clip=draw.chance(0.5))},
            grad=False,
        )
    if name == "contrib.bipartite_matching":
        data = Array((draw.whole(1, 4), draw.whole(1, 4)), "float32", "distinct")
        return Call(
            name, [data], {"threshold": draw.number(-1, 1), "is_ascend": draw.chance(0.5)}, grad=False
        )
    count = draw.whole(1, 6)
    rows = []
    for score in draw.order(range(1, count + 1)):
        x, y = draw.number(0, 0.6), draw.number(0, 0.6)
        rows.append(
            (draw.whole(0, 1), score / 10, x, y, x + draw.number(0.1, 0.4), y + draw.number(0.1, 0.4))
        )
    attrs = draw.some(
        overlap_thresh=draw.number(0.2, 0.8), id_index=0, force_suppress=draw.chance(0.5), valid_thresh=0.15
    )
    return Call(name, [Array((count, 6), "float32", tuple(rows))], attrs, grad=False)


@makes("image.to_tensor image.normalize image.flip_left_right image.flip_top_bottom image.crop")
def images(draw, name):
    h, w = draw.whole(1, 6), draw.whole(1, 6)
    if "flip" in name and draw.chance(0.97):
        h, w = 2 * h, 2 * w  # of odd sizes MXNet leaves the middle as it was in memory
    if name == "image.normalize":
        attrs = (
            {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4)}
            if draw.chance(0.5)
            else {"mean": 0.5, "std": 0.3}
        )
        return Call(name, [Array((3, h, w))], attrs)
    attrs = {}
    if name == "image.crop":
        x, y = draw.whole(0, w - 1), draw.whole(0, h - 1)
        attrs = {"x": x, "y": y, "width": draw.whole(1, w - x), "height": draw.whole(1, h - y)}
    return Call(name, [Array((h, w, 3), "uint8", "whole", 0, 256)], attrs)


POSITIVE = {"exponential": ("lam",), "gamma": ("alpha", "beta"), "poisson": ("lam",), "normal": ("loc", "scale"),
            "uniform": ("low", "high"), "generalized_negative_binomial": ("mu", "alpha")}  # fmt: skip


@makes(*(f"_internal._random_{name}" for name in POSITIVE), "_internal._random_randint")
def random_numbers(draw, name):
    attrs = {"shape": draw.shape()}
    if name.endswith("randint"):
        return Call(name, [], {**attrs, "low": draw.whole(-5, 0), "high": draw.whole(1, 9)}, values=False)
    parameters = POSITIVE[name.removeprefix("_internal._random_")]
    attrs.update({key: draw.number(1.5, 2) if key == "high" else draw.number(0.2, 1.4) for key in parameters})
    return Call(name, [], {**attrs, **draw.some(dtype=draw.of("float32", "float64"))}, values=False)


@makes(*(f"random_pdf_{name}" for name in ("exponential", "gamma", "normal", "poisson", "uniform")))
def density(draw, name):
    lead, count = draw.shape(1, 2), draw.whole(1, 4)
    sample = Array((*lead, count), "float32", "uniform", 0.2, 2)
    if name == "random_pdf_poisson":
        sample = Array((*lead, count), "float32", "whole", 0, 5)
    parameters = [Array(lead, "float32", "uniform", 0.5, 2)]
    if name in ("random_pdf_gamma", "random_pdf_normal"):
        parameters.append(Array(lead, "float32", "uniform", 0.5, 2))
    if name == "random_pdf_uniform":
        parameters = [Array(lead, "float32", "uniform", -1, 0), Array(lead, "float32", "uniform", 2, 3)]
    return Call(name, [sample, *parameters], draw.some(is_log=draw.chance(0.5)))
