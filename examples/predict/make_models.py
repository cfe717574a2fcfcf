#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains two small networks for the programs here, and saves pictures to try them with.

    python examples/predict/make_models.py             # two minutes on two quiet cores
    python examples/predict/make_models.py --quick     # some seconds; the networks learn less

A classifier of clothes (LeNet on Fashion-MNIST, examples/train_fashion_mnist.py) and a detector of drawn shapes
(examples/detection/ssd.py).
"""

import argparse
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import loomix as mx
import numpy as np

EXAMPLES = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(EXAMPLES), str(EXAMPLES / "detection")]
drawings, ssd, train_fashion_mnist = map(import_module, ("drawings", "ssd", "train_fashion_mnist"))

CLOTHES = (
    "T-shirt",
    "trousers",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)

# Small images and few channels, so that training takes about a minute.
SMALL_DETECTOR = ["--images", "3000", "--size", "64", "--width", "8", "--batch-size", "16", "--lr", "0.003"]


def save_picture(path, pixels):
    """Writes an array (height, width[, 3]) of bytes as a PNG or JPEG file."""
    header = mx.recordio.IRHeader(0, 0, 0, 0)
    record = mx.recordio.pack_img(
        header, pixels, quality=9 if path.suffix == ".png" else 95, img_fmt=path.suffix
    )
    path.write_bytes(mx.recordio.unpack(record)[1])


def clothes(options):
    """LeNet, as clothes-symbol.json and clothes-0000.params, and a picture of the test images for each class."""
    script = [sys.executable, str(EXAMPLES / "train_fashion_mnist.py"), "--epochs", str(options.epochs)]
    folder = options.output / "clothes"
    subprocess.run([*script, "--data-dir", str(options.data_dir), "--output", str(folder)], check=True)
    symbol, arguments, states = mx.model.load_checkpoint(str(folder / "lenet"), options.epochs)
    mx.model.save_checkpoint(str(options.output / "clothes"), 0, symbol, arguments, states)
    (options.output / "clothes.txt").write_text("".join(f"{name}\n" for name in CLOTHES))
    images, labels = (
        train_fashion_mnist.read_idx(next(options.data_dir.glob(f"t10k-{part}-ubyte*")))
        for part in ("images-idx3", "labels-idx1")
    )
    for number, name in enumerate(CLOTHES):
        place = int(np.flatnonzero(labels == number)[0]) if (labels == number).any() else 0
        save_picture(options.output / f"{name.replace(' ', '-')}.png", images[place])


class Detector(mx.gluon.HybridBlock):
    """From an image to boxes: (batch, anchors, 6) with class, score, left, top, right, bottom."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def hybrid_forward(self, F, images):
        anchors, scores, moves = self.network(images)
        return F.contrib.MultiBoxDetection(scores.softmax(axis=1), moves, anchors, nms_threshold=0.45)


def shapes(options):
    """The detector, as shapes-symbol.json and shapes-0000.params, and pictures with shapes."""
    arguments = ["--output", str(options.output / "shapes")]
    arguments += ["--quick"] if options.quick else SMALL_DETECTOR
    training = ssd.parse(arguments)
    ssd.main(arguments)
    network = ssd.SingleShotDetector(len(drawings.NAMES), training.width)
    network.load_parameters(str(options.output / "shapes" / "ssd.params"))
    detector = Detector(network)
    detector.hybridize()
    detector(mx.nd.zeros((1, 3, training.size, training.size)))
    detector.export(str(options.output / "shapes"))
    (options.output / "shapes.txt").write_text("".join(f"{name}\n" for name in drawings.NAMES))
    for number in range(3):
        pixels, _ = drawings.picture(np.random.RandomState(100 + number), 4 * training.size)
        save_picture(options.output / f"shapes-{number}.{'jpg' if number else 'png'}", pixels)
    print(f"the detector's images are {training.size} pixels large")


def main():
    """Makes both."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--epochs", type=int, default=4, help="of the classifier")
    parser.add_argument("--data-dir", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--output", type=Path, default=Path("out/predict"))
    options = parser.parse_args()
    if options.quick:
        options.epochs = 1
    options.output.mkdir(parents=True, exist_ok=True)
    clothes(options)
    shapes(options)
    print(f"models and pictures are in {options.output}")


if __name__ == "__main__":
    main()
