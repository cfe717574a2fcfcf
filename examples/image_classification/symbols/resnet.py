# SPDX-License-Identifier: Apache-2.0
"""Residual networks and their kin.

Version 1: He, Zhang, Ren and Sun, "Deep residual learning for image recognition", 2016.
Version 2: the same, "Identity mappings in deep residual networks", 2016.
ResNeXt: Xie, Girshick, Dollar, Tu and He, "Aggregated residual transformations for deep neural networks", 2017.
"""

from dataclasses import dataclass

import loomix as mx

from . import layers

# Version 1, Table 1: blocks of each stage. Bottlenecks (three convolutions) from 50 layers on.
BLOCKS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
}


@dataclass
class Block:
    """What the blocks of a network have in common."""

    version: int = 1
    bottleneck: bool = False
    groups: int = 1  # of the 3x3 convolution in a bottleneck
    projection: bool = (
        True  # of shortcuts whose size changes; else every second pixel, and zeros as new channels
    )
    stride_in_3x3: bool = False  # of a bottleneck; version 1 has it in the first 1x1

    def steps(self, inner, outer, stride):
        """(filters, kernel, stride, groups) of each convolution."""
        if not self.bottleneck:
            return [(inner, 3, stride, 1), (outer, 3, 1, 1)]
        first, middle = (1, stride) if self.stride_in_3x3 else (stride, 1)
        return [(inner, 1, first, 1), (inner, 3, middle, self.groups), (outer, 1, 1, 1)]

    def post_activated(self, data, steps, outer, stride, changes, name):
        """Version 1: the sum of `data`, or its projection where the size `changes`, and of the convolutions."""
        way = data
        for number, (filters, kernel, step, groups) in enumerate(steps, start=1):
            layer = layers.conv_bn if number == len(steps) else layers.conv_bn_relu
            way = layer(way, filters, kernel, f"{name}_{number}", stride=step, groups=groups)
        shortcut = data
        if changes and self.projection:
            shortcut = layers.conv_bn(data, outer, 1, f"{name}_shortcut", stride=stride)
        elif changes:
            shortcut = padded(data, stride, name)
        return layers.relu(way + shortcut, f"{name}_relu")

    def pre_activated(self, data, steps, outer, stride, changes, name, activated):
        """Version 2: the same with normalization and rectifier before each convolution."""
        first = way = data if activated else layers.bn_relu(data, f"{name}_1")
        for number, (filters, kernel, step, groups) in enumerate(steps, start=1):
            if number > 1:
                way = layers.bn_relu(way, f"{name}_{number}")
            way = layers.convolution(
                way, filters, kernel, f"{name}_{number}_conv", stride=step, groups=groups
            )
        shortcut = data
        if changes and self.projection:
            shortcut = layers.convolution(first, outer, 1, f"{name}_shortcut_conv", stride=stride)
        elif changes:
            shortcut = padded(data, stride, name)
        return way + shortcut


def padded(data, stride, name):
    """Option A of version 1, section 4.2: every second pixel, and as many channels of zeros again."""
    if stride > 1:
        data = layers.max_pool(data, 1, stride, f"{name}_shortcut_pool")
    return mx.sym.Concat(data, mx.sym.zeros_like(data), dim=1, name=f"{name}_shortcut")


def stages(net, block, counts, inner, outer, channels, activated=False):
    """Stages of `counts` blocks; each has twice the filters of the one before, on half the grid. `activated` says that
    a rectifier has come before the first one."""
    for stage, count in enumerate(counts):
        for number in range(count):
            stride = 2 if stage and not number else 1
            out = outer << stage
            steps = block.steps(inner << stage, out, stride)
            arguments = (net, steps, out, stride, channels != out, f"stage{stage + 1}_{number + 1}")
            if block.version == 1:
                net = block.post_activated(*arguments)
            else:
                net = block.pre_activated(*arguments, activated and not stage and not number)
            channels = out
    return layers.bn_relu(net, "last") if block.version == 2 else net


def ends(net, classes):
    """Mean of each channel, then the classifier."""
    return layers.classifier(layers.global_pool(net), classes)


def imagenet(classes, block, counts, inner, outer):
    """For images of 224 x 224 and more: a 7x7 convolution and pooling come first."""
    net = layers.convolution(mx.sym.Variable("data"), 64, 7, "first_conv", stride=2)
    net = layers.bn_relu(net, "first")
    net = layers.max_pool(net, 3, 2, "first_pool", pad=1)
    return ends(stages(net, block, counts, inner, outer, 64, activated=True), classes)


def resnet(classes, depth, version=1):
    """Table 1 of version 1, and with 200 layers of version 2."""
    bottleneck = depth >= 50
    block = Block(version, bottleneck, stride_in_3x3=version == 2)
    return imagenet(classes, block, BLOCKS[depth], 64, 256 if bottleneck else 64)


def resnext(classes, depth, groups=32, width=4):
    """Table 1 of ResNeXt: `groups` ways of `width` channels each in the first stage."""
    block = Block(bottleneck=True, groups=groups, stride_in_3x3=True)
    return imagenet(classes, block, BLOCKS[depth], groups * width, 256)


def cifar(classes, block, count, inner, outer, first):
    """For images of 32 x 32: a 3x3 convolution, then three stages of `count` blocks."""
    net = layers.convolution(mx.sym.Variable("data"), first, 3, "first_conv")
    if block.version == 1:
        net = layers.bn_relu(net, "first")
    return ends(stages(net, block, (count,) * 3, inner, outer, first), classes)


def cifar_resnet(classes, depth, version=1):
    """Section 4.2 of version 1: 6n+2 layers. Version 2, Table 1: from 164 layers on 9n+2, in bottlenecks."""
    bottleneck = version == 2 and depth >= 164
    layers_of_block = 9 if bottleneck else 6
    if (depth - 2) % layers_of_block:
        raise ValueError(f"depth is {depth}; expected 6n+2, or 9n+2 from 164 on for version 2.")
    block = Block(version, bottleneck, projection=bottleneck)
    outer = 64 if bottleneck else 16
    return cifar(classes, block, (depth - 2) // layers_of_block, 16, outer, 16)


def cifar_resnext(classes, depth=29, groups=8, width=64):
    """Section 5.2 of ResNeXt: 9n+2 layers."""
    block = Block(bottleneck=True, groups=groups, stride_in_3x3=True)
    return cifar(classes, block, (depth - 2) // 9, groups * width, 256, 64)
