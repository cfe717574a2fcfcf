# SPDX-License-Identifier: Apache-2.0
"""SqueezeNet: Iandola et al., "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters", 2016, Table 1."""

import loomix as mx

from . import layers

# Filters of the 1x1 convolutions that squeeze; those that expand have four times as many, of each of two kinds.
SQUEEZE = (16, 16, 32, 32, 48, 48, 64, 64)

# Version 1.1 (of the authors' release) has a smaller first layer and pools earlier.
FIRST = {"1.0": (96, 7, {"conv1", "fire4", "fire8"}), "1.1": (64, 3, {"conv1", "fire3", "fire5"})}


def fire(data, squeeze, name):
    """A 1x1 convolution, then 1x1 and 3x3 convolutions side by side."""
    data = layers.conv_relu(data, squeeze, 1, f"{name}_squeeze")
    ways = [layers.conv_relu(data, 4 * squeeze, size, f"{name}_expand{size}x{size}") for size in (1, 3)]
    return mx.sym.Concat(*ways, name=f"{name}_concat")


def network(classes, version="1.0"):
    """For images of 224 x 224 and more; the scores are means over a map for each class."""
    filters, kernel, pooled = FIRST[version]
    pad = 2 if version == "1.0" else 0  # 111 x 111, as in Table 1
    net = layers.conv_relu(mx.sym.Variable("data"), filters, kernel, "conv1", stride=2, pad=pad)
    net = layers.max_pool(net, 3, 2, "conv1_pool")
    for number, squeeze in enumerate(SQUEEZE, start=2):
        name = f"fire{number}"
        net = fire(net, squeeze, name)
        if name in pooled:
            net = layers.max_pool(net, 3, 2, f"{name}_pool")
    net = mx.sym.Dropout(net, p=0.5, name="dropout")
    net = layers.conv_relu(net, classes, 1, "conv10")
    return mx.sym.SoftmaxOutput(layers.global_pool(net), name="softmax")
