# SPDX-License-Identifier: Apache-2.0
"""Writes network-symbol.json, network-0000.params and network.npz: a network of 8 bits that MXNet 1.9.1 makes and runs.

Run by MXNet's own Python: python make_network.py [FOLDER]. There is no convolution: MXNet's quantized_conv for CPUs
takes uint8 alone, and no layer behind a convolution gives that."""

import logging
import os
import sys
from pathlib import Path

os.environ["MXNET_SUBGRAPH_BACKEND"] = (
    "NONE"  # or it calls layers by other names, and finds no ranges for them
)
import mxnet as mx
import numpy as np
from mxnet.contrib import quantization

folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent
random = np.random.RandomState(2)
x = mx.sym.Pooling(mx.sym.var("data"), kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
x = mx.sym.Flatten(x, name="flat")
x = mx.sym.FullyConnected(x, num_hidden=16, name="first")
x = mx.sym.Activation(x, act_type="relu", name="first_relu")
y = mx.sym.FullyConnected(x, num_hidden=8, name="second")
x = mx.sym.elemwise_add(y, mx.sym.FullyConnected(x, num_hidden=8, name="third"), name="sum")
x = mx.sym.FullyConnected(mx.sym.Concat(x, y, dim=1, name="joined"), num_hidden=5, name="last")

images = random.uniform(-1, 1, (4, 3, 8, 8)).astype(np.float32)
shapes, _, _ = x.infer_shape(data=images.shape)
weights = {
    name: mx.nd.array(random.normal(size=shape) / np.sqrt(np.prod(shape[1:])))
    for name, shape in zip(x.list_arguments(), shapes)
    if name != "data"
}
real = x.bind(mx.cpu(), {**weights, "data": mx.nd.array(images)}).forward()[0].asnumpy()
made = quantization.quantize_model(
    x, weights, {}, ctx=mx.cpu(), calib_mode="naive", calib_data=mx.io.NDArrayIter(images, batch_size=4),
    num_calib_examples=4, quantized_dtype="auto", quantize_mode="full", label_names=None, logger=logging.getLogger(),
)  # fmt: skip
whole = made[0].bind(mx.cpu(), {**made[1], "data": mx.nd.array(images)}).forward()[0].asnumpy()
mx.model.save_checkpoint(str(folder / "network"), 0, *made)
np.savez_compressed(folder / "network.npz", images=images, real=real, whole=whole)
