# SPDX-License-Identifier: Apache-2.0
"""A small Transformer that reverses sequences: attention, positions, and a mask of lengths."""

import lesson
import numpy as onp
from lesson import np
from loomix import gluon, npx
from loomix.gluon import nn


class Attention(gluon.HybridBlock):
    """Several heads that look at all places whose mask is 1."""

    def __init__(self, units, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Dense(units, flatten=False) for _ in range(4))

    def split(self, x):
        batch, steps, units = x.shape
        return (
            x.reshape(batch, steps, self.heads, -1)
            .transpose(0, 2, 1, 3)
            .reshape(-1, steps, units // self.heads)
        )

    def forward(self, x, mask):
        batch, steps, units = x.shape
        query, key, value = (self.split(layer(x)) for layer in (self.query, self.key, self.value))
        scores = npx.batch_dot(query, key, transpose_b=True) / (units // self.heads) ** 0.5
        hidden = (1 - np.repeat(mask, self.heads, axis=0).reshape(-1, 1, steps)) * 1e4
        mixed = npx.batch_dot(npx.softmax(scores - hidden, axis=-1), value)
        mixed = mixed.reshape(batch, self.heads, steps, -1).transpose(0, 2, 1, 3).reshape(batch, steps, units)
        return self.out(mixed)


class Layer(gluon.HybridBlock):
    def __init__(self, units, heads):
        super().__init__()
        self.attention, self.norm = Attention(units, heads), nn.LayerNorm()
        self.wide, self.narrow = nn.Dense(4 * units, flatten=False), nn.Dense(units, flatten=False)
        self.last_norm = nn.LayerNorm()

    def forward(self, x, mask):
        x = self.norm(x + self.attention(x, mask))
        return self.last_norm(x + self.narrow(npx.leaky_relu(self.wide(x), act_type="gelu")))


class Encoder(gluon.HybridBlock):
    """Tokens to vectors; places have vectors of their own."""

    def __init__(self, tokens, units, heads, layers, longest):
        super().__init__()
        self.embedding = nn.Embedding(tokens, units)
        self.place = self.params.get("place", shape=(longest, units))
        for i in range(layers):
            setattr(self, f"layer{i}", Layer(units, heads))

    def forward(self, tokens, mask):
        x = self.embedding(tokens) + self.place.data()[: tokens.shape[1]]
        for name, layer in self._children.items():
            if name.startswith("layer"):
                x = layer(x, mask)
        return x


class Reverser(gluon.HybridBlock):
    def __init__(self, tokens, units=32, heads=4, layers=2, longest=8):
        super().__init__()
        self.encoder = Encoder(tokens, units, heads, layers, longest)
        self.out = nn.Dense(tokens, flatten=False)

    def forward(self, tokens, mask):
        return self.out(self.encoder(tokens, mask))


def sequences(count=512, tokens=10, longest=8):
    """Tokens from 1, their lengths' masks, and the tokens in reverse; 0 fills up."""
    rng = onp.random.RandomState(0)
    given, mask, wanted = (onp.zeros((count, longest), "float32") for _ in range(3))
    for row in range(count):
        length = rng.randint(3, longest + 1)
        given[row, :length] = rng.randint(1, tokens, length)
        mask[row, :length] = 1
        wanted[row, :length] = given[row, :length][::-1]
    return given, mask, wanted


def main():
    args = lesson.options(__doc__, epochs=20)
    given, mask, wanted = (np.array(array) for array in sequences())
    starts = range(0, len(given), 64)
    batches = [((given[i : i + 64], mask[i : i + 64]), wanted[i : i + 64]) for i in starts]
    net = Reverser(10)
    lesson.train(net, gluon.loss.SoftmaxCrossEntropyLoss(), batches, args, learning_rate=0.003)
    right = (net(given, mask).argmax(axis=-1) == wanted).mean()
    print(f"tokens right: {float(right):.3f}")


if __name__ == "__main__":
    main()
