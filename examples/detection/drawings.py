# SPDX-License-Identifier: Apache-2.0
"""Images with drawn shapes to learn from, and images of what was found."""

import numpy as np

NAMES = ("circle", "square", "triangle")
CORNERS = (None, 4, 3)
MOST = 4  # shapes in an image


def shape(random, kind, size):
    """Which pixels of an image of `size` x `size` a turned and squeezed shape covers."""
    radius = random.uniform(0.1, 0.3) * size
    x0, y0 = random.uniform(radius, size - radius, 2)
    y, x = np.mgrid[:size, :size] + 0.5
    # From pixels to a shape of radius 1 about the origin: moved, turned, stretched, turned.
    turn, squeezed = random.uniform(0, 2 * np.pi), random.uniform(0.65, 1)
    across = (np.cos(turn) * (x - x0) + np.sin(turn) * (y - y0)) / (radius * squeezed)
    along = (np.cos(turn) * (y - y0) - np.sin(turn) * (x - x0)) / radius
    corners = CORNERS[kind]
    if corners is None:
        return across**2 + along**2 < 1
    sides = np.pi * (np.arange(corners) * 2 + 1) / corners
    # A regular polygon is what lies within all of its sides; each is cos(pi / corners) from the centre.
    distances = across[..., None] * np.cos(sides) + along[..., None] * np.sin(sides)
    return (distances < np.cos(np.pi / corners)).all(-1)


def background(random, size):
    """Soft stains of colour under noise."""
    cells = random.randint(2, 7)
    stains = random.uniform(30, 225, 3) + random.normal(0, 25, (cells, cells, 3))
    at = np.linspace(0, cells - 1, size)
    weights = np.maximum(0, 1 - abs(at[:, None] - np.arange(cells)))  # of bilinear interpolation
    return np.einsum("yi,xj,ijc->yxc", weights, weights, stains)


def overlap(boxes, others):
    """Intersection over union of each of n boxes with each of m: (n, m). Boxes are left, top, right, bottom."""
    first, last = (np.asarray(x)[:, None] for x in (boxes[:, :2], boxes[:, 2:]))
    sides = np.minimum(last, others[:, 2:]) - np.maximum(first, others[:, :2])
    both = sides.clip(0).prod(-1)
    return both / ((last - first).prod(-1) + (others[:, 2:] - others[:, :2]).prod(-1) - both)


def picture(random, size):
    """An image (size, size, 3) and its labels (MOST, 5): kind, left, top, right, bottom, as parts of the side; rows
    that are left over are -1."""
    image = background(random, size)
    labels = np.full((MOST, 5), -1, np.float32)
    behind = image.mean((0, 1))
    for i in range(random.randint(1, MOST + 1)):
        kind = random.randint(len(NAMES))
        covered = shape(random, kind, size)
        sides = [np.flatnonzero(covered.any(axis)) for axis in (0, 1)]
        box = np.array([*(s[0] for s in sides), *(s[-1] + 1 for s in sides)]) / size
        if i and overlap(box[None], labels[:i, 1:]).max() > 0.1:
            break  # no room
        colour = random.uniform(0, 255, 3)
        while abs(colour - behind).max() < 60:
            colour = random.uniform(0, 255, 3)
        image[covered] = colour
        labels[i] = kind, *box
    noisy = image + random.normal(0, 20, image.shape)
    return noisy.clip(0, 255).astype(np.uint8), labels


def drawings(count, size, seed):
    """`count` images (count, 3, size, size) of type uint8, and their labels (count, MOST, 5)."""
    random = np.random.RandomState(seed)
    images = np.empty((count, 3, size, size), np.uint8)
    labels = np.empty((count, MOST, 5), np.float32)
    for i in range(count):
        image, labels[i] = picture(random, size)
        images[i] = image.transpose(2, 0, 1)
    return images, labels


def plotting():
    """Matplotlib, for files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def save_found(images, labels, found, path, least=0.5, columns=6):
    """Saves images with the boxes whose score is at least `least`, and dashed the ones that were drawn."""
    plt = plotting()
    rows = -(-len(images) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.4 * columns, 2.4 * rows), squeeze=False)
    size = images.shape[-1]
    for axis in axes.flat:
        axis.axis("off")
    for axis, image, drawn, boxes in zip(axes.flat, images, labels, found):
        axis.imshow(image.transpose(1, 2, 0))

        def outline(corners, axis=axis, **style):
            left, top, right, bottom = np.asarray(corners) * size - 0.5
            axis.add_patch(plt.Rectangle((left, top), right - left, bottom - top, fill=False, **style))
            return left, top

        for corners in drawn[drawn[:, 0] >= 0, 1:]:
            outline(corners, edgecolor="white", linestyle="--", linewidth=1)
        for kind, score, *corners in boxes[(boxes[:, 0] >= 0) & (boxes[:, 1] >= least)]:
            colour = ("orange", "lime", "cyan")[int(kind)]
            left, top = outline(corners, edgecolor=colour, linewidth=1.5)
            name = {"s": f"{NAMES[int(kind)]} {score:.2f}", "fontsize": 7, "clip_on": True}
            box = {"facecolor": colour, "pad": 1, "linewidth": 0}
            axis.text(left, max(top, size / 14), va="bottom", bbox=box, **name)
    figure.subplots_adjust(0, 0, 1, 1, 0.03, 0.03)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def save_curves(losses, precisions, steps, path):
    """Saves the losses of all batches, {name: values}, and the mean average precision after each epoch of `steps`."""
    plt = plotting()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
    for name, values in losses.items():
        part = max(1, len(values) // 100)  # batches that a point is the mean of
        means = np.asarray(values[: len(values) // part * part]).reshape(-1, part).mean(1)
        left.plot((np.arange(len(means)) + 0.5) * part / steps, means, label=name)
    left.set(title="loss", xlabel="epoch", yscale="log")
    left.legend()
    right.plot(range(1, len(precisions) + 1), precisions, marker="o")
    right.set(title="mean average precision", xlabel="epoch", ylim=(0, 1))
    for axis in (left, right):
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
