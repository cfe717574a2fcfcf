# SPDX-License-Identifier: Apache-2.0
"""Wrong uses of Gluon, in the form of ``wrong_uses.USES``."""

from __future__ import annotations

import loomix as mx
import numpy as np
from wrong_uses import X, block

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
        ["Dense", "units is -3", "int >= 1"],
    ),
    "inputs that are a text": (
        lambda: mx.gluon.nn.Dense(3, in_units="x"),
        TypeError,
        ["Dense", "in_units is 'x'", "int >= 0"],
    ),
    "activation of a layer with a typo": (
        lambda: mx.gluon.nn.Dense(3, activation="rel"),
        ValueError,
        ["Activation", "'rel'", "Did you mean 'relu'"],
    ),
    "activation of a convolution with a typo": (
        lambda: mx.gluon.nn.Conv2D(3, 3, activation="rel"),
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
}
