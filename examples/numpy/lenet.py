# SPDX-License-Identifier: Apache-2.0
"""Two convolutions and three dense layers, in the manner of LeNet."""

import lesson
from loomix import gluon
from loomix.gluon import nn


def lenet(classes):
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(6, 5, padding=2, activation="sigmoid"),
        nn.AvgPool2D(2, 2),
        nn.Conv2D(16, 5, activation="sigmoid"),
        nn.AvgPool2D(2, 2),
        nn.Dense(120, activation="sigmoid"),
        nn.Dense(84, activation="sigmoid"),
        nn.Dense(classes),
    )
    return net


def main():
    args = lesson.options(__doc__, epochs=15)
    batches = lesson.split(lesson.bars(), 64)
    net = lenet(10)
    lesson.train(net, gluon.loss.SoftmaxCrossEntropyLoss(), batches, args, learning_rate=0.01)
    print("accuracy", lesson.accuracy(net, lesson.split(lesson.bars(128, seed=1), 64)))


if __name__ == "__main__":
    main()
