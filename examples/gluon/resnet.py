#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ResNet-20 (He et al. 2016) on Fashion-MNIST, trained by the estimator.

    python examples/gluon/resnet.py             # some minutes on two cores
    python examples/gluon/resnet.py --quick     # some seconds, no data needed
    python examples/gluon/resnet.py --resume    # goes on from the last checkpoint in --output

Images are moved and mirrored at random by a batch processor of its own; the learning rate rises and falls once.
Saves checkpoints, the best network, and a plot of the losses and accuracies by epoch.
"""

import argparse
from pathlib import Path

import loomix as mx
import numpy as np
import pictures
from loomix import gluon
from loomix.gluon import nn
from loomix.gluon.contrib import estimator

try:
    import matplotlib  # noqa: F401 - for the images at the end, but missed now
except ModuleNotFoundError as error:
    raise SystemExit(f"This example needs {error.name}: pip install matplotlib") from None


class Residual(gluon.HybridBlock):
    """Two convolutions whose result is added to the input; with `stride` 2 the input is halved, and gets channels of
    zeros, so that there is nothing to learn beside the convolutions."""

    def __init__(self, channels, stride):
        super().__init__()
        self.stride = stride
        with self.name_scope():
            self.body = nn.HybridSequential(prefix="")
            with self.body.name_scope():
                for step in (stride, 1):
                    self.body.add(nn.Conv2D(channels, 3, step, 1, use_bias=False), nn.BatchNorm())
                    if step is stride and len(self.body) == 2:
                        self.body.add(nn.Activation("relu"))

    def hybrid_forward(self, F, x):
        shortcut = x
        if self.stride > 1:
            half = F.Pooling(x, kernel=(1, 1), stride=(2, 2), pool_type="max")
            shortcut = F.concat(half, F.zeros_like(half), dim=1)
        return F.relu(self.body(x) + shortcut)


def resnet(depth=20, width=16, classes=10):
    """Three stages of `width`, twice and four times as many channels; `depth` is 6n + 2."""
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Conv2D(width, 3, 1, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
        for stage in range(3):
            for block in range((depth - 2) // 6):
                net.add(Residual(width << stage, 2 if stage > 0 and block == 0 else 1))
        net.add(nn.GlobalAvgPool2D(), nn.Dense(classes))
    return net


class Moved(estimator.BatchProcessor):
    """Moves each batch by up to `reach` pixels, and mirrors half of its images."""

    def __init__(self, reach=2):
        super().__init__()
        self.reach = reach

    def fit_batch(self, estimator, train_batch, batch_axis=0):
        images, labels = train_batch
        count, _, height, width = images.shape
        reach = self.reach
        border = mx.nd.pad(images, mode="edge", pad_width=(0, 0, 0, 0, reach, reach, reach, reach))
        top, left = np.random.randint(0, 2 * reach + 1, 2)
        images = border[:, :, top : top + height, left : left + width]
        mirrored = mx.nd.array(np.random.randint(0, 2, count))
        images = mx.nd.where(mirrored, images.flip(axis=3), images)
        return super().fit_batch(estimator, (images, labels), batch_axis)


class History(estimator.EpochEnd):
    """The metrics of each epoch, as a plot."""

    priority = float("inf")

    def __init__(self, path):
        self.path = path
        self.values = {}

    def epoch_end(self, estimator, *args, **kwargs):
        for metric in (*estimator.train_metrics, *estimator.val_metrics):
            name, value = metric.get()
            self.values.setdefault(name, []).append(value)
        curves: dict = {}
        for name, values in self.values.items():
            part, kind = name.split(" ", 1)
            title = "cross-entropy" if kind.endswith("loss") else kind
            curves.setdefault(title, {})[part] = (range(1, len(values) + 1), values)
        pictures.save_curves(curves, self.path, "epoch")


def loader(part, options, shuffle):
    """Batches of images with mean 0 and spread 1."""
    images, labels = part
    data = gluon.data.ArrayDataset((images - 0.286) / 0.353, labels)
    return gluon.data.DataLoader(
        data, options.batch_size, shuffle, last_batch="discard" if shuffle else "keep"
    )


def parse(arguments=None):
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a small network on images that need no data")
    parser.add_argument("--depth", type=int, default=20, help="6n + 2")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--lr", type=float, default=0.2, help="the highest")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data-dir", type=Path, help="of Fashion-MNIST; Debian's by default")
    parser.add_argument("--output", type=Path, default=Path("out/gluon"))
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args(arguments)
    if options.depth % 6 != 2:
        parser.error(f"--depth is {options.depth}; expected 6n + 2, such as 20, 32 or 56")
    if options.quick:
        options.depth, options.batch_size = 8, 64
    return options


def main(arguments=None):
    """Trains as the arguments say; the accuracy on the test images."""
    options = parse(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    mx.random.seed(options.seed)
    np.random.seed(options.seed)
    training, test = pictures.bars() if options.quick else pictures.clothes(options.data_dir)
    batches = loader(training, options, shuffle=True)

    net = resnet(options.depth, width=8 if options.quick else 16)
    net.initialize(mx.init.MSRAPrelu("in", 0))
    net.hybridize()
    steps = options.epochs * len(batches)
    warm = max(1, steps // 5)
    schedule = mx.lr_scheduler.CosineScheduler(
        steps,
        base_lr=options.lr,
        final_lr=options.lr / 1000,
        warmup_steps=warm,
        warmup_begin_lr=options.lr / 20,
    )
    settings = {"momentum": 0.9, "wd": 5e-4, "lr_scheduler": schedule}
    trainer = gluon.Trainer(net.collect_params(), "nag", settings)
    training_run = estimator.Estimator(
        net,
        gluon.loss.SoftmaxCrossEntropyLoss(),
        trainer=trainer,
        batch_processor=Moved(0 if options.quick else 2),
    )
    name = f"resnet{options.depth}"
    handlers = [
        estimator.CheckpointHandler(
            str(options.output),
            name,
            monitor=training_run.val_metrics[0],
            save_best=True,
            max_checkpoints=2,
            resume_from_checkpoint=options.resume,
        ),
        History(options.output / f"{name}.png"),
    ]
    training_run.fit(batches, loader(test, options, shuffle=False), options.epochs, handlers)
    accuracy = training_run.val_metrics[0].get()[1]
    print(f"accuracy: {accuracy:.4f} on {len(test[1])} images; files are in {options.output}")
    return accuracy


if __name__ == "__main__":
    main()
