# SPDX-License-Identifier: Apache-2.0
"""MobileNets, for images of 224 x 224 and more.

Version 1: Howard et al., "MobileNets: efficient convolutional neural networks for mobile vision applications", 2017.
Version 2: Sandler et al., "MobileNetV2: inverted residuals and linear bottlenecks", 2018.
"""

import loomix as mx

from . import layers

# Version 1, Table 1: filters and stride of each pair of a depthwise and a 1x1 convolution.
PAIRS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
PAIRS += [(512, 1)] * 5 + [(1024, 2), (1024, 1)]

# Version 2, Table 2: expansion, channels, number of blocks, stride of the first one.
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def network(classes, width=1.0):
    """Version 1; all layers have `width` times the channels of Table 1."""
    channels = int(32 * width)
    net = layers.conv_bn_relu(mx.sym.Variable("data"), channels, 3, "first", stride=2)
    for number, (filters, stride) in enumerate(PAIRS, start=1):
        name = f"pair{number}"
        net = layers.conv_bn_relu(net, channels, 3, f"{name}_depthwise", stride=stride, groups=channels)
        channels = int(filters * width)
        net = layers.conv_bn_relu(net, channels, 1, f"{name}_pointwise")
    return layers.classifier(layers.global_pool(net), classes)


def rounded(channels):
    """To a multiple of 8, but not down by more than a tenth."""
    near = max(8, int(channels + 4) // 8 * 8)
    return near + 8 if near < 0.9 * channels else near


def relu6(data, name):
    """A rectifier that ends at 6."""
    return mx.sym.clip(data, a_min=0, a_max=6, name=name)


def network_v2(classes, width=1.0):
    """Version 2; all layers have `width` times the channels of Table 2, the last one not fewer."""
    channels = rounded(32 * width)
    net = relu6(layers.conv_bn(mx.sym.Variable("data"), channels, 3, "first", stride=2), "first_relu")
    number = 0
    for expansion, filters, count, first_stride in STAGES:
        filters = rounded(filters * width)
        for stride in (first_stride,) + (1,) * (count - 1):
            number += 1
            name, inner, way = f"block{number}", channels * expansion, net
            if expansion > 1:
                way = relu6(layers.conv_bn(way, inner, 1, f"{name}_expand"), f"{name}_expand_relu")
            way = layers.conv_bn(way, inner, 3, f"{name}_depthwise", stride=stride, groups=inner)
            way = layers.conv_bn(relu6(way, f"{name}_depthwise_relu"), filters, 1, f"{name}_project")
            net = way + net if stride == 1 and filters == channels else way
            channels = filters
    last = rounded(1280 * max(width, 1.0))
    net = relu6(layers.conv_bn(net, last, 1, "last"), "last_relu")
    net = mx.sym.Dropout(layers.global_pool(net), p=0.2, name="dropout")
    return layers.classifier(net, classes)
