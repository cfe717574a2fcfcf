# SPDX-License-Identifier: Apache-2.0
"""Wrong uses of Gluon, in the form of ``wrong_uses.USES``."""

from __future__ import annotations

import loomix as mx
import numpy as np
from wrong_uses import X, block

data = mx.gluon.data
DATA = data.ArrayDataset(np.ones((4, 3)), np.zeros(4))


def run(layer, x):
    layer.initialize()
    return layer(x)


USES = {
    "NumPy array into a block": (
        lambda: block()(np.ones((2, 3))),
        TypeError,
        ["first input of block", "numpy.ndarray", "mx.nd.array"],
    ),
    "lists of numbers into a block": (
        lambda: block()([[1, 2, 3]]),
        TypeError,
        ["first input of block", "list of numbers", "mx.nd.array"],
    ),
    "one-hot labels for numbers of classes": (
        lambda: mx.gluon.loss.SoftmaxCrossEntropyLoss()(X, X),
        ValueError,
        ["SoftmaxCrossEntropyLoss", "(2, 3)", "sparse_label=False"],
    ),
    "no labels to measure": (
        lambda: mx.metric.create("acc").update([], [X]),
        ValueError,
        ["metric", "no labels", "mx.io.NDArrayIter(data, label)"],
    ),
    "negative number of units": (
        lambda: mx.gluon.nn.Dense(-3),
        ValueError,
        ["Dense", "units is -3", "int >= 0"],
    ),
    "inputs that are a text": (
        lambda: mx.gluon.nn.Dense(3, in_units="x"),
        TypeError,
        ["Dense", "in_units is 'x'", "int >= 0"],
    ),
    "activation of a layer with a typo": (
        lambda: run(mx.gluon.nn.Dense(3, activation="rel"), X),
        ValueError,
        ["Activation", "'rel'", "Did you mean 'relu'"],
    ),
    "activation of a convolution with a typo": (
        lambda: run(mx.gluon.nn.Conv2D(3, 1, activation="rel"), mx.nd.ones((1, 2, 3, 3))),
        ValueError,
        ["Activation", "'rel'", "Did you mean 'relu'"],
    ),
    "kernel of nothing": (
        lambda: mx.gluon.nn.Conv2D(3, kernel_size=0),
        ValueError,
        ["Conv2D", "kernel_size is 0", "int >= 1"],
    ),
    "kernel of half a pixel": (
        lambda: mx.gluon.nn.Conv2D(3, 2.5),
        TypeError,
        ["Conv2D", "kernel_size is 2.5", "int or a tuple of ints"],
    ),
    "negative padding": (
        lambda: mx.gluon.nn.MaxPool2D(2, padding=-1),
        ValueError,
        ["MaxPool2D", "padding is -1"],
    ),
    "no groups": (
        lambda: mx.gluon.nn.Conv2D(3, 3, groups=0),
        ValueError,
        ["Conv2D", "groups is 0", "int >= 1"],
    ),
    "share to drop below nothing": (lambda: mx.gluon.nn.Dropout(-1), ValueError, ["Dropout", "rate is -1"]),
    "share to drop above all": (
        lambda: mx.gluon.nn.Dropout(2),
        ValueError,
        ["Dropout", "rate is 2", ">= 0 and <= 1"],
    ),
    "momentum of averages above one": (
        lambda: mx.gluon.nn.BatchNorm(momentum=2),
        ValueError,
        ["BatchNorm", "momentum is 2", ">= 0 and <= 1"],
    ),
    "table without rows": (
        lambda: mx.gluon.nn.Embedding(0, 3),
        ValueError,
        ["Embedding", "input_dim is 0", "int >= 1"],
    ),
    "state that is a text": (
        lambda: mx.gluon.rnn.LSTM("3"),
        TypeError,
        ["LSTM", "hidden_size is '3'", "int >= 1"],
    ),
    "state of a cell below nothing": (
        lambda: mx.gluon.rnn.LSTMCell(-3),
        ValueError,
        ["LSTMCell", "hidden_size is -3", "int >= 1"],
    ),
    "class in place of a block": (
        lambda: mx.gluon.nn.Sequential().add(mx.gluon.nn.Dense),
        TypeError,
        ["Sequential.add", "the class Dense; did you forget ()"],
    ),
    "blocks as a list": (
        lambda: mx.gluon.nn.Sequential().add([block()]),
        TypeError,
        ["Sequential.add", "[Dense", "net.add(block, another)"],
    ),
    "block in place of a prefix": (
        lambda: mx.gluon.nn.Sequential(block()),
        TypeError,
        ["Sequential", "prefix", "Dense", "add(...)"],
    ),
    # ---- data ----
    "data set that is a number": (
        lambda: data.DataLoader(3, 2),
        TypeError,
        ["DataLoader", "dataset is 3", "ArrayDataset(data, label)"],
    ),
    "iterator in place of a data set": (
        lambda: data.DataLoader(mx.io.NDArrayIter(X, batch_size=1), 2),
        TypeError,
        ["DataLoader", "dataset", "NDArrayIter", "data set"],
    ),
    "samples of a batch that are a text": (
        lambda: data.DataLoader(DATA, "2"),
        TypeError,
        ["BatchSampler", "batch_size is '2'", "int >= 1"],
    ),
    "half a sample in a batch": (
        lambda: data.DataLoader(DATA, 2.5),
        TypeError,
        ["BatchSampler", "batch_size is 2.5", "int >= 1"],
    ),
    "workers that are a text": (
        lambda: data.DataLoader(DATA, 2, num_workers="2"),
        TypeError,
        ["DataLoader", "num_workers is '2'", "int"],
    ),
    "order that is a number": (
        lambda: data.DataLoader(DATA, 2, sampler=3),
        TypeError,
        ["DataLoader", "sampler is 3", "Sampler"],
    ),
    "batches that are a number": (
        lambda: data.DataLoader(DATA, batch_sampler=3),
        TypeError,
        ["DataLoader", "batch_sampler is 3", "Sampler"],
    ),
    "function of a batch that is a number": (
        lambda: data.DataLoader(DATA, 2, batchify_fn=3),
        TypeError,
        ["DataLoader", "batchify_fn is 3", "function"],
    ),
    "argument of a loader with a typo": (
        lambda: data.DataLoader(DATA, batch_siz=2),
        TypeError,
        ["DataLoader", "'batch_siz'", "Did you mean 'batch_size'"],
    ),
    "data set of a number": (lambda: data.ArrayDataset(3), TypeError, ["ArrayDataset", "3", "arrays"]),
    "transform that is a number": (
        lambda: DATA.transform(3),
        TypeError,
        ["transform", "fn is 3", "function"],
    ),
    "transform of the first that is a number": (
        lambda: DATA.transform_first(3),
        TypeError,
        ["transform_first", "fn is 3", "function"],
    ),
    "filter that is a number": (lambda: DATA.filter(3), TypeError, ["filter", "fn is 3", "function"]),
    "samples to take that are a text": (
        lambda: DATA.take("2"),
        TypeError,
        ["take", "count is '2'", "int >= 0"],
    ),
    "shards that are a text": (
        lambda: DATA.shard("2", 0),
        TypeError,
        ["shard", "num_shards is '2'", "int >= 1"],
    ),
    "samples in order that are a text": (
        lambda: data.SequentialSampler("3"),
        TypeError,
        ["SequentialSampler", "length is '3'", "int >= 0"],
    ),
    "records in no file": (lambda: data.RecordFileDataset(3), TypeError, ["RecordFileDataset", "3", "path"]),
    "transforms that are a number": (
        lambda: data.vision.transforms.Compose([3]),
        TypeError,
        ["Compose", "3", "block or a function"],
    ),
    "size of an image that is nothing": (
        lambda: data.vision.transforms.Resize(0)(mx.nd.zeros((4, 4, 3), dtype="uint8")),
        ValueError,
        ["_image_resize", "size is (0,)", "one positive number"],
    ),
    "size of an image that is a text": (
        lambda: data.vision.transforms.CenterCrop("x"),
        ValueError,
        ["CenterCrop", "size is 'x'", "int or a tuple of ints"],
    ),
    "brightness that is a text": (
        lambda: data.vision.transforms.RandomBrightness("x"),
        TypeError,
        ["RandomBrightness", "'x'", "number >= 0"],
    ),
    # ---- training ----
    "learning rate given to a trainer": (
        lambda: mx.gluon.Trainer(block().collect_params(), "sgd", learning_rate=0.1),
        TypeError,
        ["Trainer", "'learning_rate'", "optimizer_params={'learning_rate': ...}"],
    ),
    "steps of a speedometer that are none": (
        lambda: mx.callback.Speedometer(2, 0),
        ValueError,
        ["Speedometer", "frequent is 0", "int >= 1"],
    ),
    "samples of a speedometer that are a text": (
        lambda: mx.callback.Speedometer("2"),
        TypeError,
        ["Speedometer", "batch_size is '2'", "number"],
    ),
    "batches between looks that are none": (
        lambda: mx.mon.Monitor(0),
        ValueError,
        ["Monitor", "interval is 0", "int >= 1"],
    ),
    "pattern of a monitor that is none": (
        lambda: mx.mon.Monitor(1, pattern="["),
        ValueError,
        ["Monitor", "pattern is '['", "regular expression"],
    ),
    "argument of an estimator with a typo": (
        lambda: mx.gluon.contrib.estimator.Estimator.fit(None, None, epoch=1),
        TypeError,
        ["fit", "'epoch'", "Did you mean 'epochs'"],
    ),
    "devices of a batch that are a number": (
        lambda: mx.gluon.utils.split_and_load(X, 3),
        TypeError,
        ["context", "3", "mx.gpu()"],
    ),
    "parts of a batch that are a text": (
        lambda: mx.gluon.utils.split_data(X, "2"),
        TypeError,
        ["split_data", "num_slice is '2'", "int >= 1"],
    ),
    "norm of a number": (
        lambda: mx.gluon.utils.clip_global_norm(3, 1),
        TypeError,
        ["clip_global_norm", "arrays is 3", "list of NDArrays"],
    ),
    "norm of NumPy arrays": (
        lambda: mx.gluon.utils.clip_global_norm([np.ones(2)], 1),
        TypeError,
        ["clip_global_norm", "numpy.ndarray", "NDArray"],
    ),
    "values of a parameter that are a number": (
        lambda: block().weight.set_data(3),
        TypeError,
        ["Parameter.set_data", "weight", "3", "array"],
    ),
    "shape of a parameter that is half": (
        lambda: mx.gluon.Parameter("w", shape=2.5),
        TypeError,
        ["Parameter", "the shape of 'w' is 2.5", "tuple of ints"],
    ),
    "parameters chosen by no pattern": (
        lambda: block().collect_params("["),
        ValueError,
        ["collect_params", "'['", "regular expression"],
    ),
    "function for all blocks that is a number": (
        lambda: block().apply(3),
        TypeError,
        ["Block.apply", "fn is 3", "function"],
    ),
}
