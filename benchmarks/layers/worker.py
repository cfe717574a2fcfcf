# SPDX-License-Identifier: Apache-2.0
"""Single layers of ResNet-50 (batch 16), and two of others: forward and backward, all gradients. `own` is Loomix with
its own kernels only."""

import os
from functools import partial

from harness import serve

BATCH = 16


def _loomix(operator, shape, attrs, dnnl):
    os.environ["LOOMIX_DNNL"] = "1" if dnnl else "0"
    import loomix as mx

    layer = getattr(mx.sym, operator)(mx.sym.Variable("data"), name="layer", **attrs)
    executor = layer.simple_bind(mx.cpu(), data=shape, grad_req="write")
    mx.random.seed(1)
    for array in executor.arg_arrays:
        array[:] = mx.nd.random.uniform(-1, 1, shape=array.shape)
    head = mx.nd.random.uniform(-1, 1, shape=executor.outputs[0].shape)

    def run(count):
        for _ in range(count):
            executor.forward(is_train=True)
            executor.backward([head])
        mx.nd.waitall()

    return run


def _torch(make, shape):
    import torch

    layer = make(torch.nn)
    data = torch.rand(shape, requires_grad=True)
    head = torch.rand_like(layer(data))

    def run(count):
        for _ in range(count):
            data.grad = None
            layer.zero_grad(set_to_none=True)
            layer(data).backward(head)

    return run


def _case(operator, shape, attrs, make):
    return {
        "loomix": partial(_loomix, operator, shape, attrs, True),
        "own": partial(_loomix, operator, shape, attrs, False),
        "torch": partial(_torch, make, shape),
    }


def _conv(channels, size, filters, kernel, stride=1, groups=1):
    attrs = {
        "num_filter": filters,
        "kernel": (kernel, kernel),
        "stride": (stride, stride),
        "pad": (kernel // 2, kernel // 2),
        "num_group": groups,
        "no_bias": True,
    }
    return _case(
        "Convolution",
        (BATCH, channels, size, size),
        attrs,
        lambda nn: nn.Conv2d(channels, filters, kernel, stride, kernel // 2, groups=groups, bias=False),
    )


def _pool(kind, channels, size, kernel, stride, pad):
    attrs = {
        "pool_type": kind,
        "kernel": (kernel, kernel),
        "stride": (stride, stride),
        "pad": (pad, pad),
    }
    pool = {"max": "MaxPool2d", "avg": "AvgPool2d"}[kind]
    return _case(
        "Pooling", (BATCH, channels, size, size), attrs, lambda nn: getattr(nn, pool)(kernel, stride, pad)
    )


def _norm(channels, size):
    return _case(
        "BatchNorm",
        (BATCH, channels, size, size),
        {"fix_gamma": False},
        lambda nn: nn.BatchNorm2d(channels),
    )


CASES = {
    "conv7x7_3_112": _conv(3, 224, 64, 7, 2),
    "conv3x3_64_56": _conv(64, 56, 64, 3),
    "conv3x3_128_28": _conv(128, 28, 128, 3),
    "conv3x3_256_14": _conv(256, 14, 256, 3),
    "conv3x3_512_7": _conv(512, 7, 512, 3),
    "conv3x3_128_56_stride2": _conv(128, 56, 128, 3, 2),
    "conv1x1_64_56_256": _conv(64, 56, 256, 1),
    "conv1x1_1024_14_256": _conv(1024, 14, 256, 1),
    "conv3x3_128_56_depthwise": _conv(128, 56, 128, 3, groups=128),
    "conv5x5_20_24_50": _conv(20, 24, 50, 5),
    "pool_max3x3_64_112": _pool("max", 64, 112, 3, 2, 1),
    "pool_avg7x7_2048_7": _pool("avg", 2048, 7, 7, 1, 0),
    "batch_norm_64_112": _norm(64, 112),
    "batch_norm_256_56": _norm(256, 56),
}

if __name__ == "__main__":
    serve(CASES)
