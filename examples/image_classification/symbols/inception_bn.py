# SPDX-License-Identifier: Apache-2.0
"""Inception with batch normalization: Ioffe and Szegedy, "Batch normalization", 2015, Figure 5."""

import loomix as mx

from . import layers

# 1x1, 3x3 reduce, 3x3, double 3x3 reduce, double 3x3, pooling and its projection. Modules without 1x1 have stride 2.
MODULES = {
    "3a": (64, 64, 64, 64, 96, "avg", 32),
    "3b": (64, 64, 96, 64, 96, "avg", 64),
    "3c": (0, 128, 160, 64, 96, "max", 0),
    "4a": (224, 64, 96, 96, 128, "avg", 128),
    "4b": (192, 96, 128, 96, 128, "avg", 128),
    "4c": (160, 128, 160, 128, 160, "avg", 96),
    "4d": (96, 128, 192, 160, 192, "avg", 96),
    "4e": (0, 128, 192, 192, 256, "max", 0),
    "5a": (352, 192, 320, 160, 224, "avg", 128),
    "5b": (352, 192, 320, 192, 224, "max", 128),
}


def module(data, filters, name):
    """Ways of one, two and three convolutions, and one that begins with pooling."""
    one, reduce3, three, reduce_double, double, pooling, projection = filters
    stride = 1 if one else 2
    ways = []
    if one:
        ways.append(layers.conv_bn_relu(data, one, 1, f"{name}_1x1"))
    way = layers.conv_bn_relu(data, reduce3, 1, f"{name}_3x3_reduce")
    ways.append(layers.conv_bn_relu(way, three, 3, f"{name}_3x3", stride=stride))
    way = layers.conv_bn_relu(data, reduce_double, 1, f"{name}_double_reduce")
    way = layers.conv_bn_relu(way, double, 3, f"{name}_double1")
    ways.append(layers.conv_bn_relu(way, double, 3, f"{name}_double2", stride=stride))
    pool = layers.max_pool if pooling == "max" else layers.average_pool
    way = pool(data, 3, stride, f"{name}_pool", pad=1)
    if projection:
        way = layers.conv_bn_relu(way, projection, 1, f"{name}_projection")
    return mx.sym.Concat(*ways, way, name=f"{name}_concat")


def network(classes):
    """For images of 224 x 224 and more."""
    net = layers.conv_bn_relu(mx.sym.Variable("data"), 64, 7, "conv1", stride=2)
    net = layers.max_pool(net, 3, 2, "pool1", pad=1)
    net = layers.conv_bn_relu(net, 64, 1, "conv2_reduce")
    net = layers.conv_bn_relu(net, 192, 3, "conv2")
    net = layers.max_pool(net, 3, 2, "pool2", pad=1)
    for name, filters in MODULES.items():
        net = module(net, filters, f"inception{name}")
    return layers.classifier(layers.global_pool(net), classes)
