# SPDX-License-Identifier: Apache-2.0
"""VGG: Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition", 2015."""

import loomix as mx

from . import layers

FILTERS = (64, 128, 256, 512, 512)
DEPTHS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


def network(classes, depth, batch_norm=False):
    """Configurations A, B, D and E of Table 1; `batch_norm` puts batch normalization behind each convolution."""
    net = mx.sym.Variable("data")
    for stage, (filters, count) in enumerate(zip(FILTERS, DEPTHS[depth]), start=1):
        for number in range(1, count + 1):
            name = f"conv{stage}_{number}"
            layer = layers.conv_bn_relu if batch_norm else layers.conv_relu
            net = layer(net, filters, 3, name)
        net = layers.max_pool(net, 2, 2, f"pool{stage}")
    net = mx.sym.Flatten(net, name="flatten")
    for number in (6, 7):
        net = mx.sym.FullyConnected(net, num_hidden=4096, name=f"fc{number}")
        net = mx.sym.Dropout(layers.relu(net, f"relu{number}"), p=0.5, name=f"dropout{number}")
    return layers.classifier(net, classes)
