# SPDX-License-Identifier: Apache-2.0
"""A line through noisy points: first by hand with gradients, then with a layer."""

import lesson
import numpy as onp
from lesson import np
from loomix import autograd, gluon
from loomix.gluon import nn

SLOPE, OFFSET = onp.array([2.0, -3.4], "float32"), 4.2


def points(count=256):
    rng = onp.random.RandomState(0)
    x = rng.normal(size=(count, 2)).astype("float32")
    y = x @ SLOPE + OFFSET + rng.normal(0, 0.01, count).astype("float32")
    return x, y.astype("float32").reshape(-1, 1)


def by_hand(batches, epochs, rate=0.1):
    weight, bias = np.zeros((2, 1)), np.zeros((1,))
    for array in (weight, bias):
        array.attach_grad()
    for _ in range(epochs):
        for x, y in batches:
            with autograd.record():
                loss = ((np.dot(x, weight) + bias - y) ** 2).mean()
            loss.backward()
            for array in (weight, bias):
                array[:] = array - rate * array.grad
    return weight, bias


def main():
    args = lesson.options(__doc__, epochs=5)
    batches = lesson.split(points(), 16)
    weight, bias = by_hand(batches, args.epochs)
    print("by hand:", weight.reshape(-1), bias)
    net = nn.Dense(1)
    lesson.train(net, gluon.loss.L2Loss(), batches, args, "sgd", learning_rate=0.1)
    print("layer:  ", *(param.data().reshape(-1) for param in net.collect_params().values()))


if __name__ == "__main__":
    main()
