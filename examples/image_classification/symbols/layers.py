# SPDX-License-Identifier: Apache-2.0
"""What the networks have in common: convolutions with batch normalization, pooling, the classifier at the end."""

import loomix as mx


def pair(size):
    """``3`` as ``(3, 3)``; a pair as it is."""
    return size if isinstance(size, tuple) else (size, size)


def convolution(data, filters, kernel, name, stride=1, pad=None, groups=1, bias=False):
    """A convolution; without `pad` an image keeps its size where `stride` is 1."""
    kernel = pair(kernel)
    pad = tuple(size // 2 for size in kernel) if pad is None else pair(pad)
    return mx.sym.Convolution(
        data,
        num_filter=filters,
        kernel=kernel,
        stride=pair(stride),
        pad=pad,
        num_group=groups,
        no_bias=not bias,
        name=name,
    )


def relu(data, name):
    """max(x, 0)."""
    return mx.sym.Activation(data, act_type="relu", name=name)


def normalization(data, name):
    """Batch normalization with a scale and a shift of each channel."""
    return mx.sym.BatchNorm(data, fix_gamma=False, eps=2e-5, momentum=0.9, name=name)


def conv_bn(data, filters, kernel, name, **settings):
    """A convolution without bias, then batch normalization; further settings as of `convolution`."""
    return normalization(convolution(data, filters, kernel, f"{name}_conv", **settings), f"{name}_bn")


def conv_bn_relu(data, filters, kernel, name, **settings):
    """`conv_bn`, then a rectifier."""
    return relu(conv_bn(data, filters, kernel, name, **settings), f"{name}_relu")


def bn_relu(data, name):
    """What comes before a convolution in networks of pre-activated layers."""
    return relu(normalization(data, f"{name}_bn"), f"{name}_relu")


def conv_relu(data, filters, kernel, name, **settings):
    """A convolution with bias, then a rectifier, as in the networks before batch normalization."""
    return relu(convolution(data, filters, kernel, name, bias=True, **settings), f"{name}_relu")


def max_pool(data, kernel, stride, name, pad=0):
    """The largest value of each window."""
    return mx.sym.Pooling(
        data, pool_type="max", kernel=pair(kernel), stride=pair(stride), pad=pair(pad), name=name
    )


def average_pool(data, kernel, stride, name, pad=0):
    """The mean of each window; what is padded counts as zeros."""
    return mx.sym.Pooling(
        data, pool_type="avg", kernel=pair(kernel), stride=pair(stride), pad=pair(pad), name=name
    )


def global_pool(data, name="pool"):
    """The mean of each channel, as a matrix of (images, channels)."""
    pooled = mx.sym.Pooling(data, pool_type="avg", kernel=(1, 1), global_pool=True, name=name)
    return mx.sym.Flatten(pooled, name="flatten")


def classifier(features, classes):
    """Scores of the classes, and the softmax whose gradient is that of the cross-entropy."""
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(features, num_hidden=classes, name="fc"), name="softmax"
    )
