# SPDX-License-Identifier: Apache-2.0
"""Residual blocks with batch normalisation, in the manner of ResNet."""

import lesson
from loomix import gluon, npx
from loomix.gluon import nn


class Residual(gluon.HybridBlock):
    def __init__(self, channels, stride=1):
        super().__init__()
        self.first, self.norm = nn.Conv2D(channels, 3, stride, 1), nn.BatchNorm()
        self.second, self.last_norm = nn.Conv2D(channels, 3, 1, 1), nn.BatchNorm()
        self.shortcut = nn.Conv2D(channels, 1, stride) if stride > 1 else None

    def forward(self, x):
        y = self.last_norm(self.second(npx.relu(self.norm(self.first(x)))))
        return npx.relu(y + (x if self.shortcut is None else self.shortcut(x)))


def main():
    args = lesson.options(__doc__, epochs=3)
    batches = lesson.split(lesson.bars(), 64)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, 1, 1), nn.BatchNorm(), nn.Activation("relu"))
    net.add(Residual(8), Residual(16, 2), Residual(16), nn.Flatten(), nn.Dense(10))
    lesson.train(net, gluon.loss.SoftmaxCrossEntropyLoss(), batches, args, learning_rate=0.01)
    print("accuracy", lesson.accuracy(net, lesson.split(lesson.bars(128, seed=1), 64)))


if __name__ == "__main__":
    main()
