# SPDX-License-Identifier: Apache-2.0
"""An encoder that learns, in the manner of BERT, to fill in hidden tokens; the data is made: each token follows from
the one before it."""

import lesson
import numpy as onp
from attention import Encoder
from lesson import np
from loomix import gluon, npx
from loomix.gluon import nn

TOKENS, HIDDEN, STEPS = 12, 0, 10  # 0 stands for a hidden token


class Bert(gluon.HybridBlock):
    """The scores of tokens at the places asked for."""

    def __init__(self, units=32):
        super().__init__()
        self.encoder = Encoder(TOKENS, units, heads=4, layers=2, longest=STEPS)
        self.dense, self.norm = nn.Dense(units, flatten=False, activation="tanh"), nn.LayerNorm()
        self.out = nn.Dense(TOKENS, flatten=False)

    def forward(self, tokens, mask, places):
        x = self.encoder(tokens, mask)
        picked = npx.batch_dot(npx.one_hot(places, STEPS), x)
        return self.out(self.norm(self.dense(picked)))


def sentences(count=512, hidden=2):
    rng = onp.random.RandomState(0)
    tokens = onp.zeros((count, STEPS), "float32")
    tokens[:, 0] = rng.randint(1, TOKENS, count)
    for step in range(1, STEPS):
        tokens[:, step] = tokens[:, step - 1] % (TOKENS - 1) + 1
    places = onp.stack([rng.permutation(STEPS)[:hidden] for _ in range(count)]).astype("float32")
    wanted = onp.take_along_axis(tokens, places.astype(int), 1)
    onp.put_along_axis(tokens, places.astype(int), HIDDEN, 1)
    return tokens, places, wanted


def main():
    args = lesson.options(__doc__, epochs=12)
    tokens, places, wanted = (np.array(array) for array in sentences())
    mask = np.ones(tokens.shape)
    parts = [slice(i, i + 64) for i in range(0, len(tokens), 64)]
    batches = [((tokens[part], mask[part], places[part]), wanted[part]) for part in parts]
    net = Bert()
    lesson.train(net, gluon.loss.SoftmaxCrossEntropyLoss(), batches, args, learning_rate=0.003)
    right = (net(tokens, mask, places).argmax(axis=-1) == wanted).mean()
    print(f"hidden tokens right: {float(right):.3f}")


if __name__ == "__main__":
    main()
