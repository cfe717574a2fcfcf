# SPDX-License-Identifier: Apache-2.0
"""Images to train on: record files, Fashion-MNIST, bars (which need no data) and random ones for measuring.

The first three give iterators for training and for validation, and the number of images to train on.
"""

import sys

import loomix as mx
import numpy as np

# Of ImageNet's images: mean and spread of red, green and blue.
MEAN, SPREAD = (123.68, 116.78, 103.94), (58.4, 57.1, 57.4)


class Resized(mx.io.DataIter):
    """Brings the images of another iterator to `size` x `size` by bilinear interpolation, batch by batch."""

    def __init__(self, source, size):
        super().__init__(source.batch_size)
        self.source, self.size = source, size

    @property
    def provide_data(self):
        return [
            mx.io.DataDesc(item.name, (*item.shape[:2], self.size, self.size), item.dtype)
            for item in self.source.provide_data
        ]

    @property
    def provide_label(self):
        return self.source.provide_label

    def reset(self):
        self.source.reset()

    def next(self):
        batch = self.source.next()
        batch.data = [
            mx.nd.contrib.BilinearResize2D(images, height=self.size, width=self.size) for images in batch.data
        ]
        return batch


def fashion_mnist(options):
    """60,000 and 10,000 grey images of 28 x 28, ten kinds of clothes, brought to the network's size."""

    def path(part, kind):
        name = options.data_dir / f"{part}-{kind}-ubyte"
        found = name if name.exists() else name.with_name(f"{name.name}.gz")
        if not found.exists():
            sys.exit(
                f"{name} is missing. On Debian: apt install dataset-fashion-mnist; else give --data-dir."
            )
        return str(found)

    def iterator(part, shuffle):
        source = mx.io.MNISTIter(
            image=path(part, "images-idx3"),
            label=path(part, "labels-idx1"),
            batch_size=options.batch_size,
            shuffle=shuffle,
            seed=options.seed,
        )
        return source if options.image_size == 28 else Resized(source, options.image_size)

    whole = 60000 // options.batch_size * options.batch_size  # what is left over fills no batch
    return iterator("train", True), iterator("t10k", False), whole


def bars(options):
    """Noise with a bright bar, whose row is the class: 512 and 128 images."""
    random = np.random.RandomState(options.seed)
    size, height = options.image_size, options.image_size // options.classes

    def iterator(count, shuffle):
        labels = random.randint(0, options.classes, count)
        images = random.normal(size=(count, 1, size, size)).astype(np.float32)
        for image, label in zip(images, labels):
            image[0, label * height : (label + 1) * height] += 1
        return mx.io.NDArrayIter(images, labels.astype(np.float32), options.batch_size, shuffle=shuffle)

    return iterator(512, True), iterator(128, False), 512


def records(options):
    """Files of ``python -m loomix im2rec``: training images are cropped and mirrored at random."""

    def iterator(path, **settings):
        return mx.io.ImageRecordIter(
            path_imgrec=str(path),
            data_shape=(3, options.image_size, options.image_size),
            batch_size=options.batch_size,
            resize=options.image_size * 8 // 7,
            preprocess_threads=options.threads,
            mean_r=MEAN[0],
            mean_g=MEAN[1],
            mean_b=MEAN[2],
            std_r=SPREAD[0],
            std_g=SPREAD[1],
            std_b=SPREAD[2],
            **settings,
        )

    training = iterator(options.records, shuffle=True, rand_crop=True, rand_mirror=True, seed=options.seed)
    validation = iterator(options.validation_records) if options.validation_records else None
    index = options.records.with_suffix(".idx")  # has a line for each record
    with index.open("rb") if index.exists() else mx.recordio.MXRecordIO(str(options.records), "r") as items:
        return training, validation, sum(1 for _ in items)


def random_batch(options):
    """A batch of noise: the shapes of images and labels, and the batch."""
    random = np.random.RandomState(options.seed)
    size = options.image_size
    images = random.uniform(-1, 1, (options.batch_size, 3, size, size)).astype(np.float32)
    labels = random.randint(0, options.classes, options.batch_size).astype(np.float32)
    source = mx.io.NDArrayIter(images, labels, options.batch_size)
    return source.provide_data, source.provide_label, next(source)
