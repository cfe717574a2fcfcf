# SPDX-License-Identifier: Apache-2.0
"""Images to train on, and images of results."""

import sys

import loomix as mx
import numpy as np


def clothes(folder=None):
    """Fashion-MNIST: (images, labels) for training and for tests; images are float32 of shape
    (n, 1, 28, 28) from 0 to 1."""
    root = "~/.mxnet/datasets/fashion-mnist" if folder is None else str(folder)
    parts = []
    for train in (True, False):
        try:
            data = mx.gluon.data.vision.FashionMNIST(root, train)
        except OSError as error:
            sys.exit(f"{error}\nOn Debian: apt install dataset-fashion-mnist; else give --data-dir.")
        pictures = data._data.asnumpy().transpose(0, 3, 1, 2).astype(np.float32) / 255
        parts.append((pictures, data._label.astype(np.float32)))
    return parts


def bars(training=1024, test=256):
    """In the same form, without files: dim noise with a bright bar, whose row is the label."""
    random = np.random.RandomState(0)
    parts = []
    for count in (training, test):
        labels = random.randint(0, 10, count)
        pictures = random.uniform(0, 0.2, (count, 1, 28, 28)).astype(np.float32)
        for picture, label in zip(pictures, labels):
            picture[0, 2 * label + 4 : 2 * label + 7, 4:24] = 0.9
        parts.append((pictures, labels.astype(np.float32)))
    return parts


def plotting():
    """Matplotlib, for files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def save_grid(rows, path):
    """Saves rows of images of values from 0 to 1 as one image."""
    tiles = [np.concatenate([np.pad(picture, 1, constant_values=1) for picture in row], 1) for row in rows]
    plotting().imsave(path, np.concatenate(tiles, 0).clip(0, 1), cmap="gray")


def save_curves(curves, path, xlabel="step"):
    """Saves curves, {title: {name: (xs, ys)}}, side by side as a plot."""
    plt = plotting()
    figure, axes = plt.subplots(1, len(curves), figsize=(4.5 * len(curves), 3.5), squeeze=False)
    for axis, (title, lines) in zip(axes[0], curves.items()):
        for name, (xs, ys) in lines.items():
            axis.plot(xs, ys, label=name, marker="o" if len(xs) < 30 and len(xs) != 2 else None)
        axis.set(title=title, xlabel=xlabel)
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.grid(alpha=0.3)
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
