# SPDX-License-Identifier: Apache-2.0
"""Networks for images, as symbols, made from the tables of the papers that describe them."""

from functools import partial

from . import alexnet, densenet, googlenet, inception_bn, inception_v3, mobilenet, resnet, squeezenet, vgg

# Name -> (side of the images that it is made for, what makes it from a number of classes).
NETWORKS = {
    "alexnet": (224, alexnet.network),
    "googlenet": (224, googlenet.network),
    "inception_bn": (224, inception_bn.network),
    "inception_v3": (299, inception_v3.network),
}
for depth in vgg.DEPTHS:
    NETWORKS[f"vgg{depth}"] = (224, partial(vgg.network, depth=depth))
    NETWORKS[f"vgg{depth}_bn"] = (224, partial(vgg.network, depth=depth, batch_norm=True))
for version in (1, 2):
    for depth in (18, 34, 50, 101, 152) if version == 1 else resnet.BLOCKS:
        NETWORKS[f"resnet{depth}_v{version}"] = (224, partial(resnet.resnet, depth=depth, version=version))
    for depth in (20, 32, 44, 56, 110) if version == 1 else (110, 164, 1001):
        make = partial(resnet.cifar_resnet, depth=depth, version=version)
        NETWORKS[f"resnet{depth}_cifar_v{version}"] = (32, make)
for depth, groups, width in ((50, 32, 4), (101, 32, 4), (101, 64, 4)):
    make = partial(resnet.resnext, depth=depth, groups=groups, width=width)
    NETWORKS[f"resnext{depth}_{groups}x{width}d"] = (224, make)
for groups in (8, 16):
    NETWORKS[f"resnext29_{groups}x64d_cifar"] = (32, partial(resnet.cifar_resnext, groups=groups))
for part in (1.0, 0.75, 0.5, 0.25):
    NETWORKS[f"mobilenet_{part}"] = (224, partial(mobilenet.network, width=part))
for part in (1.4, 1.0, 0.75):
    NETWORKS[f"mobilenet_v2_{part}"] = (224, partial(mobilenet.network_v2, width=part))
for release in squeezenet.FIRST:
    NETWORKS[f"squeezenet_{release}"] = (224, partial(squeezenet.network, version=release))
for depth in densenet.BLOCKS:
    NETWORKS[f"densenet{depth}"] = (224, partial(densenet.network, depth=depth))
for depth, growth, compressed in ((40, 12, False), (100, 12, True), (250, 24, True), (190, 40, True)):
    make = partial(densenet.cifar, depth=depth, growth=growth, compressed=compressed)
    NETWORKS[f"densenet{depth}_{growth}_cifar{'_bc' if compressed else ''}"] = (32, make)


def create(name, classes):
    """The symbol of the network `name`: class probabilities for the variables ``data`` and ``softmax_label``."""
    return NETWORKS[name][1](classes)
