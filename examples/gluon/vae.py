#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A variational autoencoder (Kingma and Welling 2014) of Fashion-MNIST.

    python examples/gluon/vae.py             # a few minutes on two cores
    python examples/gluon/vae.py --quick     # some seconds, no data needed

Prints the bound on the negative log-likelihood of the test images, in nats, after each epoch. Saves the parameters,
and an image: test images above what the network makes of them, and below images it draws from noise.
"""

import argparse
from pathlib import Path

import loomix as mx
import numpy as np
import pictures
from loomix import autograd, gluon
from loomix.gluon import nn

try:
    import matplotlib  # noqa: F401 - for the images at the end, but missed now
    from tqdm import tqdm
except ModuleNotFoundError as error:
    raise SystemExit(f"This example needs {error.name}: pip install tqdm matplotlib") from None


class VariationalAutoencoder(gluon.HybridBlock):
    """From images to distributions of `latent` numbers, a sample of each, and back."""

    def __init__(self, latent, hidden):
        super().__init__()
        with self.name_scope():
            self.encoder = nn.HybridSequential()
            with self.encoder.name_scope():
                self.encoder.add(nn.Dense(hidden, "relu"), nn.Dense(hidden, "relu"), nn.Dense(2 * latent))
            self.decoder = nn.HybridSequential()
            with self.decoder.name_scope():
                self.decoder.add(nn.Dense(hidden, "relu"), nn.Dense(hidden, "relu"), nn.Dense(28 * 28))

    def hybrid_forward(self, F, x, noise):
        """The bound for each image, and logits of the pixels."""
        mean, log_variance = F.split(self.encoder(x), num_outputs=2, axis=1)
        sample = mean + F.exp(0.5 * log_variance) * noise
        logits = self.decoder(sample)
        pixels = x.flatten()
        # -log p(x | sample) of Bernoulli pixels, from logits: softplus(l) - x l
        distortion = (F.Activation(logits, act_type="softrelu") - pixels * logits).sum(axis=1)
        rate = 0.5 * (F.exp(log_variance) + F.square(mean) - 1 - log_variance).sum(axis=1)
        return distortion + rate, logits


def parse(arguments=None):
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a small network on images that need no data")
    parser.add_argument("--latent", type=int, default=20)
    parser.add_argument("--hidden", type=int, default=400)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data-dir", type=Path, help="of Fashion-MNIST; Debian's by default")
    parser.add_argument("--output", type=Path, default=Path("out/gluon"))
    options = parser.parse_args(arguments)
    if options.quick:
        options.latent, options.hidden, options.batch_size, options.lr = 4, 64, 32, 3e-3
    return options


def noise(count, options):
    """A draw from the distribution that samples come from."""
    return mx.nd.random.normal(shape=(count, options.latent))


def draw(net, test, options, path):
    """Saves test images, what the network makes of them, and images from noise."""
    real = mx.nd.array(test[:12])
    with autograd.predict_mode():
        _, again = net(real, mx.nd.zeros((12, options.latent)))
        new = net.decoder(noise(24, options))
    rows = [real.asnumpy()[:, 0]]
    rows += [logits.sigmoid().asnumpy().reshape(12, 28, 28) for logits in (again, new[:12], new[12:])]
    pictures.save_grid(rows, path)


def main(arguments=None):
    """Trains as the arguments say; the bound on the test images after each epoch."""
    options = parse(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    mx.random.seed(options.seed)
    np.random.seed(options.seed)
    (training, _), (test, _) = pictures.bars() if options.quick else pictures.clothes(options.data_dir)
    batches = gluon.data.DataLoader(training, options.batch_size, shuffle=True, last_batch="discard")

    net = VariationalAutoencoder(options.latent, options.hidden)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": options.lr})
    history = []
    for epoch in range(options.epochs):
        bar = tqdm(batches, desc=f"epoch {epoch + 1}", unit="batch", mininterval=0.2)
        for i, x in enumerate(bar):
            with autograd.record():
                bound, _ = net(x, noise(len(x), options))
            bound.backward()
            trainer.step(len(x))
            if i % 50 == 0:
                bar.set_postfix(nats=f"{bound.mean().asscalar():.1f}", refresh=False)
        bounds = [
            net(mx.nd.array(part), noise(len(part), options))[0].asnumpy()
            for part in np.array_split(test, max(1, len(test) // 500))
        ]
        history.append(float(np.concatenate(bounds).mean()))
        tqdm.write(f"epoch {epoch + 1}: {history[-1]:.2f} nats on the test images")
        draw(net, test, options, options.output / "vae.png")
    net.save_parameters(str(options.output / "vae.params"))
    print(f"bound: {history[-1]:.2f} nats; files are in {options.output}")
    return history


if __name__ == "__main__":
    main()
