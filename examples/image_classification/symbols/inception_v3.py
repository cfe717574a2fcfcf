# SPDX-License-Identifier: Apache-2.0
"""Inception-v3: Szegedy et al., "Rethinking the Inception architecture for computer vision", 2016, Table 1; without
the classifier that helps its training. For images of 299 x 299."""

import loomix as mx

from . import layers


def chain(data, steps, name, **last):
    """Convolutions one behind the other: `steps` are (filters, kernel); `last` is of the last one."""
    for number, (filters, kernel) in enumerate(steps, start=1):
        settings = last if number == len(steps) else {}
        data = layers.conv_bn_relu(data, filters, kernel, f"{name}{number}", **settings)
    return data


def figure5(data, projection, name):
    """Two 3x3 convolutions instead of a 5x5; on a grid of 35 x 35."""
    ways = [
        chain(data, [(64, 1)], f"{name}_1x1_"),
        chain(data, [(48, 1), (64, 5)], f"{name}_5x5_"),
        chain(data, [(64, 1), (96, 3), (96, 3)], f"{name}_double_"),
        chain(
            layers.average_pool(data, 3, 1, f"{name}_pool", pad=1), [(projection, 1)], f"{name}_projection"
        ),
    ]
    return mx.sym.Concat(*ways, name=f"{name}_concat")


def figure6(data, inner, name):
    """7x7 convolutions as 1x7 and 7x1; on a grid of 17 x 17."""
    row, column = (1, 7), (7, 1)
    double = [(inner, 1), (inner, column), (inner, row), (inner, column), (192, row)]
    ways = [
        chain(data, [(192, 1)], f"{name}_1x1_"),
        chain(data, [(inner, 1), (inner, row), (192, column)], f"{name}_7x7_"),
        chain(data, double, f"{name}_double_"),
        chain(layers.average_pool(data, 3, 1, f"{name}_pool", pad=1), [(192, 1)], f"{name}_projection"),
    ]
    return mx.sym.Concat(*ways, name=f"{name}_concat")


def figure7(data, name):
    """1x3 and 3x1 convolutions side by side; on a grid of 8 x 8."""
    three = chain(data, [(384, 1)], f"{name}_3x3_")
    double = chain(data, [(448, 1), (384, 3)], f"{name}_double_")
    ways = [chain(data, [(320, 1)], f"{name}_1x1_")]
    for way, kind in ((three, "3x3"), (double, "double")):
        ways.append(layers.conv_bn_relu(way, 384, (1, 3), f"{name}_{kind}_row"))
        ways.append(layers.conv_bn_relu(way, 384, (3, 1), f"{name}_{kind}_column"))
    pooled = layers.average_pool(data, 3, 1, f"{name}_pool", pad=1)
    ways.append(chain(pooled, [(192, 1)], f"{name}_projection"))
    return mx.sym.Concat(*ways, name=f"{name}_concat")


def reduction(data, chains, name):
    """Figure 10: pooling and convolutions of stride 2 side by side, so that no layer is a bottleneck."""
    ways = [
        chain(data, steps, f"{name}_{number}_", stride=2, pad=0)
        for number, steps in enumerate(chains, start=1)
    ]
    return mx.sym.Concat(*ways, layers.max_pool(data, 3, 2, f"{name}_pool"), name=f"{name}_concat")


def network(classes):
    """The grids of Table 1; the numbers of filters inside of modules are those of the published model."""
    net = layers.conv_bn_relu(mx.sym.Variable("data"), 32, 3, "conv1", stride=2, pad=0)
    net = layers.conv_bn_relu(net, 32, 3, "conv2", pad=0)
    net = layers.max_pool(layers.conv_bn_relu(net, 64, 3, "conv3"), 3, 2, "pool1")
    net = layers.conv_bn_relu(net, 80, 1, "conv4")
    net = layers.max_pool(layers.conv_bn_relu(net, 192, 3, "conv5", pad=0), 3, 2, "pool2")
    for number, projection in enumerate((32, 64, 64), start=1):
        net = figure5(net, projection, f"mixed35_{number}")
    net = reduction(net, [[(384, 3)], [(64, 1), (96, 3), (96, 3)]], "reduction17")
    for number, inner in enumerate((128, 160, 160, 192), start=1):
        net = figure6(net, inner, f"mixed17_{number}")
    last = [(192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3)]
    net = reduction(net, [[(192, 1), (320, 3)], last], "reduction8")
    for number in (1, 2):
        net = figure7(net, f"mixed8_{number}")
    net = mx.sym.Dropout(layers.global_pool(net), p=0.2, name="dropout")
    return layers.classifier(net, classes)
