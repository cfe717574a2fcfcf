#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a perceptron whose loss is an operator written in Python with NumPy.

python examples/custom_op/softmax.py            # Fashion-MNIST
python examples/custom_op/softmax.py --quick    # points that a line parts; a few seconds, no data needed
"""

import argparse
import gzip
from pathlib import Path

import loomix as mx
import numpy as np


class Softmax(mx.operator.CustomOp):
    """Probabilities, and the gradient of their cross-entropy."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1, keepdims=True))
        self.assign(out_data[0], req[0], mx.nd.array(y / y.sum(axis=1, keepdims=True)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        label = in_data[1].asnumpy().astype(int)
        y = out_data[0].asnumpy()
        y[np.arange(len(label)), label] -= 1
        self.assign(in_grad[0], req[0], mx.nd.array(y))


@mx.operator.register("softmax")
class SoftmaxProp(mx.operator.CustomOpProp):
    """A loss: its gradient does not depend on that of its output."""

    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Softmax()


def network(classes):
    """128 hidden units, then the operator: its label becomes the variable ``softmax_label``."""
    net = mx.sym.FullyConnected(mx.sym.Flatten(mx.sym.Variable("data")), num_hidden=128, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    net = mx.sym.FullyConnected(net, num_hidden=classes, name="fc2")
    return mx.sym.Custom(net, op_type="softmax", name="softmax")


def points():
    """600 points in a plane; the class is the side of a line."""
    x = np.random.RandomState(0).randn(600, 2).astype(np.float32)
    return x, (x.sum(axis=1) > 0).astype(np.float32)


def pictures(folder):
    """The training part of Fashion-MNIST."""

    def read(name, offset):
        path = folder / name
        path = path if path.exists() else path.with_name(f"{path.name}.gz")
        if not path.exists():
            raise SystemExit(
                f"{path} is missing. On Debian: apt install dataset-fashion-mnist; else give --data-dir."
            )
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return np.frombuffer(file.read(), np.uint8, offset=offset)

    images = read("train-images-idx3-ubyte", 16).reshape(-1, 784).astype(np.float32) / 255
    return images, read("train-labels-idx1-ubyte", 8).astype(np.float32)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="points instead of images")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--data-dir", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    options = parser.parse_args()
    mx.random.seed(1)
    x, y = points() if options.quick else pictures(options.data_dir)
    held_out = len(x) // 6
    training = mx.io.NDArrayIter(x[held_out:], y[held_out:], 50, shuffle=True)
    validation = mx.io.NDArrayIter(x[:held_out], y[:held_out], 50)
    module = mx.mod.Module(network(classes=2 if options.quick else 10))
    module.fit(
        training,
        optimizer_params={"learning_rate": 0.1},
        initializer=mx.init.Xavier(),
        num_epoch=options.epochs,
    )
    print(f"accuracy: {dict(module.score(validation, 'acc'))['accuracy']:.3f}")


if __name__ == "__main__":
    main()
