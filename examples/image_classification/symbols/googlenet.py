# SPDX-License-Identifier: Apache-2.0
"""GoogLeNet: Szegedy et al., "Going deeper with convolutions", 2015; without the classifiers that help its training."""

import loomix as mx

from . import layers

# Table 1: 1x1, 3x3 reduce, 3x3, 5x5 reduce, 5x5, pool projection; a pooling stands behind 3b and 4e.
MODULES = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}


def module(data, filters, name):
    """Figure 2b: four ways side by side."""
    one, reduce3, three, reduce5, five, projection = filters
    ways = [
        layers.conv_relu(data, one, 1, f"{name}_1x1"),
        layers.conv_relu(layers.conv_relu(data, reduce3, 1, f"{name}_3x3_reduce"), three, 3, f"{name}_3x3"),
        layers.conv_relu(layers.conv_relu(data, reduce5, 1, f"{name}_5x5_reduce"), five, 5, f"{name}_5x5"),
        layers.conv_relu(
            layers.max_pool(data, 3, 1, f"{name}_pool", pad=1), projection, 1, f"{name}_projection"
        ),
    ]
    return mx.sym.Concat(*ways, name=f"{name}_concat")


def network(classes):
    """Table 1, for images of 224 x 224 and more."""
    net = layers.conv_relu(mx.sym.Variable("data"), 64, 7, "conv1", stride=2)
    net = layers.max_pool(net, 3, 2, "pool1", pad=1)
    net = mx.sym.LRN(net, nsize=5, name="norm1")
    net = layers.conv_relu(layers.conv_relu(net, 64, 1, "conv2_reduce"), 192, 3, "conv2")
    net = mx.sym.LRN(net, nsize=5, name="norm2")
    net = layers.max_pool(net, 3, 2, "pool2", pad=1)
    for name, filters in MODULES.items():
        net = module(net, filters, f"inception{name}")
        if name in ("3b", "4e"):
            net = layers.max_pool(net, 3, 2, f"pool{name[0]}", pad=1)
    net = mx.sym.Dropout(layers.global_pool(net), p=0.4, name="dropout")
    return layers.classifier(net, classes)
