#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A deep convolutional generative adversarial network (Radford et al. 2016) that draws clothes of Fashion-MNIST.

    python examples/gluon/dcgan.py             # some minutes on two cores
    python examples/gluon/dcgan.py --quick     # some seconds, no data needed

The generator makes images from noise; the discriminator tells them from real ones, and each learns against the
other. Saves the parameters of the generator, images drawn from the same noise after each epoch, and the losses.
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


def generator(width):
    """From noise (n, z) to images (n, 1, 28, 28) from -1 to 1."""
    net = nn.HybridSequential(prefix="generator_")
    with net.name_scope():
        net.add(nn.Dense(2 * width * 7 * 7, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
        net.add(nn.HybridLambda(lambda F, x: F.reshape(x, (0, -4, 2 * width, 49))))
        net.add(nn.HybridLambda(lambda F, x: F.reshape(x, (0, 0, -4, 7, 7))))
        net.add(nn.Conv2DTranspose(width, 4, 2, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
        net.add(nn.Conv2DTranspose(1, 4, 2, 1, activation="tanh"))
    return net


def discriminator(width):
    """From images to logits of being real."""
    net = nn.HybridSequential(prefix="discriminator_")
    with net.name_scope():
        net.add(nn.Conv2D(width, 4, 2, 1), nn.LeakyReLU(0.2))
        net.add(nn.Conv2D(2 * width, 4, 2, 1, use_bias=False), nn.BatchNorm(), nn.LeakyReLU(0.2))
        net.add(nn.Dense(1))
    return net


def parse(arguments=None):
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small networks on images that need no data")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--noise", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data-dir", type=Path, help="of Fashion-MNIST; Debian's by default")
    parser.add_argument("--output", type=Path, default=Path("out/gluon"))
    options = parser.parse_args(arguments)
    if options.quick:
        options.width, options.noise, options.batch_size = 16, 16, 32
        options.epochs, options.lr = 12, 2e-3
    return options


def main(arguments=None):
    """Trains as the arguments say; the images that the generator draws in the end."""
    options = parse(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    mx.random.seed(options.seed)
    np.random.seed(options.seed)
    (training, _), _ = pictures.bars() if options.quick else pictures.clothes(options.data_dir)
    batches = gluon.data.DataLoader(2 * training - 1, options.batch_size, shuffle=True, last_batch="discard")

    makes, judges = generator(options.width), discriminator(options.width)
    trainers = []
    for net in (makes, judges):
        net.initialize(mx.init.Normal(0.02))
        net.hybridize()
        settings = {"learning_rate": options.lr, "beta1": 0.5}
        trainers.append(gluon.Trainer(net.collect_params(), "adam", settings))
    make_step, judge_step = trainers
    loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    real, fake = mx.nd.ones(options.batch_size), mx.nd.zeros(options.batch_size)
    always = mx.nd.random.normal(shape=(40, options.noise))
    seen = []
    for epoch in range(options.epochs):
        bar = tqdm(batches, desc=f"epoch {epoch + 1}", unit="batch", mininterval=0.2)
        for i, x in enumerate(bar):
            noise = mx.nd.random.normal(shape=(options.batch_size, options.noise))
            with autograd.record():
                drawn = makes(noise)
                judged = loss(judges(x), real) + loss(judges(drawn.detach()), fake)
            judged.backward()
            judge_step.step(options.batch_size)
            with autograd.record():
                made = loss(judges(drawn), real)
            made.backward()
            make_step.step(options.batch_size)
            if i % 20 == 0:
                step = epoch + i / len(batches)
                seen.append((step, made.mean().asscalar(), judged.mean().asscalar()))
                bar.set_postfix(
                    generator=f"{seen[-1][1]:.2f}", discriminator=f"{seen[-1][2]:.2f}", refresh=False
                )
        result = makes(always).asnumpy()[:, 0] / 2 + 0.5
        pictures.save_grid(result.reshape(4, 10, 28, 28), options.output / f"dcgan-{epoch + 1:02d}.png")
    steps, generator_losses, discriminator_losses = zip(*seen)
    curves = {"generator": (steps, generator_losses), "discriminator": (steps, discriminator_losses)}
    pictures.save_curves({"loss": curves}, options.output / "dcgan-losses.png", "epoch")
    makes.save_parameters(str(options.output / "dcgan.params"))
    print(f"40 images after each epoch, losses and parameters are in {options.output}")
    return result


if __name__ == "__main__":
    main()
