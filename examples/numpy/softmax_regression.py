# SPDX-License-Identifier: Apache-2.0
"""Classes of pictures by one matrix: a block with parameters of its own, and its loss written out."""

import lesson
from lesson import np
from loomix import gluon, npx


class Scores(gluon.HybridBlock):
    def __init__(self, inputs, classes):
        super().__init__()
        self.weight = self.params.get("weight", shape=(inputs, classes))
        self.bias = self.params.get("bias", shape=(classes,), init="zeros")

    def forward(self, x):
        return np.dot(x.reshape(x.shape[0], -1), self.weight.data()) + self.bias.data()


def cross_entropy(scores, labels):
    return -npx.pick(npx.log_softmax(scores, axis=-1), labels, axis=-1)


def main():
    args = lesson.options(__doc__, epochs=10)
    batches = lesson.split(lesson.bars(), 64)
    net = Scores(16 * 16, 10)
    lesson.train(net, cross_entropy, batches, args, learning_rate=0.01)
    print("accuracy", lesson.accuracy(net, lesson.split(lesson.bars(128, seed=1), 64)))


if __name__ == "__main__":
    main()
