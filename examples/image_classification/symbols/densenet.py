# SPDX-License-Identifier: Apache-2.0
"""DenseNet: Huang, Liu, van der Maaten and Weinberger, "Densely connected convolutional networks", 2017."""

import loomix as mx

from . import layers

# Table 1: growth, layers of each block; 161 is of the paper's first version.
BLOCKS = {
    121: (32, (6, 12, 24, 16)),
    161: (48, (6, 12, 36, 24)),
    169: (32, (6, 12, 32, 32)),
    201: (32, (6, 12, 48, 32)),
    264: (32, (6, 12, 64, 48)),
}


def dense_layer(data, growth, bottleneck, dropout, name):
    """`growth` new channels behind those that there are; a bottleneck makes 4 times as many of all of them first."""
    net = layers.bn_relu(data, f"{name}_1")
    if bottleneck:
        net = layers.convolution(net, 4 * growth, 1, f"{name}_1_conv")
        net = layers.bn_relu(net, f"{name}_2")
    net = layers.convolution(net, growth, 3, f"{name}_conv")
    if dropout:
        net = mx.sym.Dropout(net, p=dropout, name=f"{name}_dropout")
    return mx.sym.Concat(data, net, name=f"{name}_concat")


def body(net, channels, growth, counts, bottleneck, compression, dropout=0.0):
    """Dense blocks; a transition between two keeps the part `compression` of the channels and halves the grid."""
    for block, count in enumerate(counts, start=1):
        for number in range(1, count + 1):
            net = dense_layer(net, growth, bottleneck, dropout, f"block{block}_{number}")
        channels += count * growth
        if block < len(counts):
            channels = int(channels * compression)
            name = f"transition{block}"
            net = layers.convolution(layers.bn_relu(net, name), channels, 1, f"{name}_conv")
            net = layers.average_pool(net, 2, 2, f"{name}_pool")
    return layers.global_pool(layers.bn_relu(net, "last"))


def network(classes, depth):
    """DenseNet-BC of Table 1, for images of 224 x 224 and more."""
    growth, counts = BLOCKS[depth]
    net = layers.conv_bn_relu(mx.sym.Variable("data"), 2 * growth, 7, "first", stride=2)
    net = layers.max_pool(net, 3, 2, "first_pool", pad=1)
    return layers.classifier(body(net, 2 * growth, growth, counts, True, 0.5), classes)


def cifar(classes, depth, growth, compressed=False, dropout=0.0):
    """Section 3 for images of 32 x 32: three blocks; `compressed` is DenseNet-BC. `dropout` is for data as it is."""
    count = (depth - 4) // (6 if compressed else 3)
    channels = 2 * growth if compressed else 16
    net = layers.convolution(mx.sym.Variable("data"), channels, 3, "first_conv")
    net = body(net, channels, growth, (count,) * 3, compressed, 0.5 if compressed else 1.0, dropout)
    return layers.classifier(net, classes)
