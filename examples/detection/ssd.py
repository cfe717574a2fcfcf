#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A single-shot detector (SSD, Liu et al. 2016) that finds drawn circles, squares and triangles.

    python examples/detection/ssd.py             # some minutes on two cores; draws its own data
    python examples/detection/ssd.py --quick     # some seconds

Prints the mean average precision (mAP) on images it was not trained on after each epoch. Saves the parameters, a
plot of the losses, and images with the boxes that were found.
"""

import argparse
from pathlib import Path

import loomix as mx
import numpy as np
from average_precision import MeanAveragePrecision
from drawings import NAMES, drawings, save_curves, save_found
from loomix import autograd, gluon
from loomix.gluon import nn

try:
    import matplotlib  # noqa: F401 - for the images at the end, but missed now
    from tqdm import tqdm
except ModuleNotFoundError as error:
    raise SystemExit(f"This example needs {error.name}: pip install tqdm matplotlib") from None

# Sides of the anchors on each of the three grids, as parts of the image's: shapes are from 0.15 to 0.6 large.
SIZES = ((0.18, 0.25), (0.32, 0.39), (0.46, 0.55))
RATIOS = (1, 2, 0.5)
ANCHORS = len(SIZES[0]) + len(RATIOS) - 1  # at each place: both sizes as squares, the first in other ratios


def convolution(channels, kernel=3, stride=1):
    """A convolution that keeps the size, or halves it with stride 2."""
    block = nn.HybridSequential()
    block.add(nn.Conv2D(channels, kernel, stride, kernel // 2, use_bias=False))
    block.add(nn.BatchNorm(), nn.Activation("relu"))
    return block


class SingleShotDetector(gluon.HybridBlock):
    """From images (batch, 3, height, width) of type uint8 to boxes about the places of three grids, whose cells are
    8, 16 and 32 pixels large.

    Gives the anchors (1, anchors, 4), which depend on the size of the images only; for each the scores of the
    background and of `classes` classes (batch, classes + 1, anchors), and how the box differs from the anchor
    (batch, 4 anchors).
    """

    def __init__(self, classes, width):
        super().__init__()
        self.classes = classes
        with self.name_scope():
            first = nn.HybridSequential()
            first.add(convolution(width, 5, 2), convolution(2 * width), nn.MaxPool2D())
            first.add(convolution(4 * width), convolution(4 * width), nn.MaxPool2D())
            self.stages = nn.HybridSequential()
            self.stages.add(first)
            for _ in SIZES[1:]:
                stage = nn.HybridSequential()
                stage.add(convolution(8 * width), nn.MaxPool2D())
                self.stages.add(stage)
            self.class_heads, self.box_heads = nn.HybridSequential(), nn.HybridSequential()
            for _ in SIZES:
                self.class_heads.add(nn.Conv2D(ANCHORS * (classes + 1), 3, padding=1))
                self.box_heads.add(nn.Conv2D(ANCHORS * 4, 3, padding=1))

    def hybrid_forward(self, F, images):
        x = F.cast(images, "float32") / 64 - 2
        anchors, scores, moves = [], [], []
        for i, sizes in enumerate(SIZES):
            x = self.stages[i](x)
            anchors.append(F.contrib.MultiBoxPrior(x, sizes=sizes, ratios=RATIOS))
            # Channels go last, so that the numbers of an anchor lie side by side, in the order of the anchors.
            score = self.class_heads[i](x).transpose((0, 2, 3, 1)).reshape((0, -1, self.classes + 1))
            scores.append(score.transpose((0, 2, 1)))
            moves.append(self.box_heads[i](x).transpose((0, 2, 3, 1)).flatten())
        return F.concat(*anchors, dim=1), F.concat(*scores, dim=2), F.concat(*moves, dim=1)


def losses(outputs, labels):
    """The losses of classes and of boxes, divided by the number of anchors that are matched with a box."""
    anchors, scores, moves = outputs
    with autograd.pause():
        # Of the background, only the three anchors for each matched one that look least like it count.
        wanted_moves, matched, wanted_classes = mx.nd.contrib.MultiBoxTarget(
            anchors,
            labels,
            scores,
            overlap_threshold=0.5,
            negative_mining_ratio=3,
            negative_mining_thresh=0.5,
        )
        count = mx.nd.maximum(matched.sum() / 4, 1)
        counts = wanted_classes >= 0
    of_classes = -mx.nd.pick(scores.log_softmax(axis=1), wanted_classes, axis=1) * counts
    of_boxes = mx.nd.smooth_l1((moves - wanted_moves) * matched, scalar=1)
    return of_classes.sum() / count, of_boxes.sum() / count


def detect(net, images):
    """Boxes in images (batch, anchors, 6): class, score, left, top, right, bottom; the best first, class -1: none."""
    anchors, scores, moves = net(images)
    return mx.nd.contrib.MultiBoxDetection(scores.softmax(axis=1), moves, anchors, nms_threshold=0.45)


def evaluate(net, batches):
    """The mean average precision of a network."""
    metric = MeanAveragePrecision(NAMES)
    for images, labels in batches:
        metric.update([labels], [detect(net, images)])
    return metric


def parse(arguments=None):
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a small network on few small images")
    parser.add_argument("--images", type=int, default=3000, help="to train on; a sixth as many are held out")
    parser.add_argument("--size", type=int, default=96, help="side of the images; a multiple of 32")
    parser.add_argument("--width", type=int, default=16, help="channels of the first convolution")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3, help="the highest")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("out/detection"))
    options = parser.parse_args(arguments)
    if options.size < 32 or options.size % 32:
        parser.error(f"--size is {options.size}; expected a multiple of 32")
    if options.quick:
        options.images, options.size, options.width, options.batch_size = 600, 64, 8, 16
        options.lr = 3e-3
    return options


def main(arguments=None):
    """Trains as the arguments say; the mean average precision on images that are held out."""
    options = parse(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    mx.random.seed(options.seed)
    np.random.seed(options.seed)
    training = drawings(options.images, options.size, 2 * options.seed)
    held_out = drawings(options.images // 6, options.size, 2 * options.seed + 1)
    batches = gluon.data.DataLoader(
        gluon.data.ArrayDataset(*training), options.batch_size, shuffle=True, last_batch="discard"
    )
    test = gluon.data.DataLoader(gluon.data.ArrayDataset(*held_out), options.batch_size)

    net = SingleShotDetector(len(NAMES), options.width)
    net.initialize(mx.init.Xavier(magnitude=2))
    net.hybridize()
    schedule = mx.lr_scheduler.CosineScheduler(
        options.epochs * len(batches),
        base_lr=options.lr,
        final_lr=options.lr / 100,
        warmup_steps=len(batches) // 2,
    )
    trainer = gluon.Trainer(
        net.collect_params(), "adam", {"learning_rate": options.lr, "lr_scheduler": schedule}
    )
    history: dict = {"classes": [], "boxes": []}
    precisions = []
    for epoch in range(options.epochs):
        bar = tqdm(batches, desc=f"epoch {epoch + 1}", unit="batch", mininterval=0.2)
        for images, labels in bar:
            with autograd.record():
                of_classes, of_boxes = losses(net(images), labels)
                loss = of_classes + of_boxes
            loss.backward()
            trainer.step(1)  # the losses are means already
            values = of_classes.asscalar(), of_boxes.asscalar()
            for name, value in zip(history, values):
                history[name].append(value)
            bar.set_postfix(classes=f"{values[0]:.3f}", boxes=f"{values[1]:.3f}", refresh=False)
        names, values = evaluate(net, test).get()
        precisions.append(values[-1])
        tqdm.write(f"epoch {epoch + 1}: " + ", ".join(f"{n} {v:.3f}" for n, v in zip(names, values)))

    net.save_parameters(str(options.output / "ssd.params"))
    save_curves(history, precisions, len(batches), options.output / "ssd-curves.png")
    images, labels = (part[:18] for part in held_out)
    found = detect(net, mx.nd.array(images, dtype="uint8")).asnumpy()
    save_found(images, labels, found, options.output / "ssd-found.png")
    print(f"mAP: {precisions[-1]:.3f} on {len(held_out[0])} images; files are in {options.output}")
    return precisions[-1]


if __name__ == "__main__":
    main()
