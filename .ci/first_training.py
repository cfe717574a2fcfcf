# SPDX-License-Identifier: Apache-2.0
"""Trains a small network with an installed package: what a new user does first."""

import loomix as mx
import numpy as np

numbers = np.random.default_rng(0)
images = numbers.normal(size=(2000, 1, 8, 8)).astype("float32")
labels = (images[:, 0, :4].mean(axis=(1, 2)) > images[:, 0, 4:].mean(axis=(1, 2))).astype("float32")
data = mx.io.NDArrayIter(images, labels, batch_size=50, shuffle=True)

net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=8, name="conv")
net = mx.sym.FullyConnected(mx.sym.Flatten(mx.sym.relu(net)), num_hidden=2, name="fc")
module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
module.fit(data, num_epoch=4, optimizer="adam", optimizer_params={"learning_rate": 0.01})
accuracy = dict(module.score(data, "acc"))["accuracy"]
assert accuracy > 0.9, accuracy
