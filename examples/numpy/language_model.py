# SPDX-License-Identifier: Apache-2.0
"""The next letter of a small text, by a recurrent network; then it writes on its own."""

import lesson
import numpy as onp
from lesson import np
from loomix import gluon
from loomix.gluon import nn, rnn

TEXT = (
    "the engine runs each task when all that it reads is there, and no two tasks write one place at a time. "
    * 12
)
STEPS = 24


class Letters(gluon.HybridBlock):
    def __init__(self, letters, units):
        super().__init__()
        self.embedding = nn.Embedding(letters, 16)
        self.layer = rnn.GRU(units, layout="NTC")
        self.out = nn.Dense(letters, flatten=False)

    def forward(self, x):
        return self.out(self.layer(self.embedding(x)))


def main():
    args = lesson.options(__doc__, epochs=15)
    alphabet = sorted(set(TEXT))
    codes = onp.array([alphabet.index(letter) for letter in TEXT], "float32")
    rows = onp.stack([codes[i : i + STEPS + 1] for i in range(0, len(codes) - STEPS, 3)])
    batches = lesson.split((rows[:, :-1], rows[:, 1:]), 64)
    net = Letters(len(alphabet), 64)
    lesson.train(net, gluon.loss.SoftmaxCrossEntropyLoss(), batches, args, learning_rate=0.01)
    written = list(codes[:STEPS])
    for _ in range(60):
        scores = net(np.array([written[-STEPS:]]))
        written.append(float(scores[0, -1].argmax()))
    print("".join(alphabet[int(code)] for code in written))


if __name__ == "__main__":
    main()
