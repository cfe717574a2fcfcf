# SPDX-License-Identifier: Apache-2.0
"""AlexNet: Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural networks",
2012."""

import loomix as mx

from . import layers


def network(classes):
    """Section 3.5; the halves that lay on two GPUs are groups of convolutions. For images of 224 x 224."""
    net = layers.conv_relu(mx.sym.Variable("data"), 96, 11, "conv1", stride=4, pad=2)
    net = layers.max_pool(response_normalization(net, "norm1"), 3, 2, "pool1")
    net = layers.conv_relu(net, 256, 5, "conv2", groups=2)
    net = layers.max_pool(response_normalization(net, "norm2"), 3, 2, "pool2")
    net = layers.conv_relu(net, 384, 3, "conv3")
    net = layers.conv_relu(net, 384, 3, "conv4", groups=2)
    net = layers.max_pool(layers.conv_relu(net, 256, 3, "conv5", groups=2), 3, 2, "pool5")
    net = mx.sym.Flatten(net, name="flatten")
    for number in (6, 7):
        net = mx.sym.FullyConnected(net, num_hidden=4096, name=f"fc{number}")
        net = mx.sym.Dropout(layers.relu(net, f"relu{number}"), p=0.5, name=f"dropout{number}")
    return layers.classifier(net, classes)


def response_normalization(data, name):
    """Section 3.3: n=5, k=2, beta=0.75, and alpha=1e-4 for each channel, which the operator divides by n."""
    return mx.sym.LRN(data, nsize=5, knorm=2, alpha=5e-4, beta=0.75, name=name)
