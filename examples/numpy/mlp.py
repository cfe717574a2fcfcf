# SPDX-License-Identifier: Apache-2.0
"""A perceptron with hidden layers and dropout."""

import lesson
from loomix import gluon, npx
from loomix.gluon import nn


class Perceptron(gluon.HybridBlock):
    def __init__(self, hidden, classes):
        super().__init__()
        self.hidden, self.drop, self.out = nn.Dense(hidden), nn.Dropout(0.2), nn.Dense(classes)

    def forward(self, x):
        return self.out(self.drop(npx.relu(self.hidden(x))))


def main():
    args = lesson.options(__doc__, epochs=6)
    batches = lesson.split(lesson.bars(), 64)
    net = Perceptron(64, 10)
    lesson.train(net, gluon.loss.SoftmaxCrossEntropyLoss(), batches, args, learning_rate=0.01)
    print("accuracy", lesson.accuracy(net, lesson.split(lesson.bars(128, seed=1), 64)))


if __name__ == "__main__":
    main()
