# SPDX-License-Identifier: Apache-2.0
"""ImageRecordIter beside MXNet's and beside bare libjpeg-turbo: 256 x 256 JPEGs of quality 90 to random crops of
224 x 224, mirrored at random and normalised, in batches of 64.

A run is one batch. `plain` only decodes, with one thread, through libturbojpeg.
"""

import atexit
import ctypes
import ctypes.util
import importlib
import os
import shutil
import struct
import tempfile

import numpy as np
from harness import serve

COUNT = 512  # of which DISTINCT differ
DISTINCT = 64
SIDE = 256
BATCH = 64
FOLDER = "/dev/shm" if os.path.isdir("/dev/shm") else None


def turbojpeg():
    """libturbojpeg with the signatures that are used."""
    library = ctypes.CDLL(ctypes.util.find_library("turbojpeg") or "libturbojpeg.so.0")
    library.tjInitCompress.restype = library.tjInitDecompress.restype = ctypes.c_void_p
    return library


def pictures():
    """COUNT JPEGs with a spectrum like that of photographs; about 12 kB each."""
    return list(distinct_pictures()) * (COUNT // DISTINCT)


def distinct_pictures():
    library, random = turbojpeg(), np.random.default_rng(1)
    handle = ctypes.c_void_p(library.tjInitCompress())
    place = np.linspace(0, 1, SIDE)
    for _ in range(DISTINCT):
        pixels = np.zeros((SIDE, SIDE, 3))
        for octave in range(2, 9):
            points = np.linspace(0, 1, 2**octave)
            noise = random.normal(0, 60 / 2 ** (0.9 * (octave - 2)), (2**octave, 2**octave, 3))
            rows = np.searchsorted(points, place).clip(1, 2**octave - 1)
            share = ((place - points[rows - 1]) / (points[rows] - points[rows - 1]))[:, None, None]
            noise = noise[rows - 1] * (1 - share) + noise[rows] * share
            share = share[:, :, 0][None, :, :]
            pixels += noise[:, rows - 1] * (1 - share) + noise[:, rows] * share
        light = pixels.mean(2, keepdims=True)
        pixels = np.clip(light + 0.4 * (pixels - light) + 120, 0, 255).astype(np.uint8)
        out, size = ctypes.c_void_p(), ctypes.c_ulong()
        library.tjCompress2(
            handle, pixels.ctypes.data_as(ctypes.c_void_p), SIDE, 0, SIDE, 0,
            ctypes.byref(out), ctypes.byref(size), 2, 90, 0,
        )  # fmt: skip
        yield ctypes.string_at(out, size.value)
        library.tjFree(out)


def write_pictures(path):
    """A record file of them."""
    with open(path, "wb") as file:
        for i, content in enumerate(pictures()):
            record = struct.pack("<IfQQ", 0, i % 10, i, 0) + content
            file.write(struct.pack("<II", 0xCED7230A, len(record)) + record + b"\0" * (-len(record) % 4))


def iterator_of(mx, path, threads):
    """The iterator over them."""
    return mx.io.ImageRecordIter(
        path_imgrec=path, data_shape=(3, 224, 224), batch_size=BATCH, rand_crop=True, rand_mirror=True,
        mean_r=123.7, mean_g=116.3, mean_b=103.5, std_r=58.4, std_g=57.1, std_b=57.4,
        preprocess_threads=threads, verbose=False,
    )  # fmt: skip


def iterator(module, threads):
    """Makes the case for a package with MXNet's interface."""

    def make():
        folder = tempfile.mkdtemp(prefix="loomix-bench-", dir=FOLDER)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, "images.rec")
        write_pictures(path)
        batches = iterator_of(importlib.import_module(module), path, threads)

        def run(count):
            while count > 0:
                try:
                    batches.next().data[0].wait_to_read()
                    count -= 1
                except StopIteration:
                    batches.reset()

        run(4 * COUNT // BATCH)
        return run

    return make


def bare():
    library, contents = turbojpeg(), pictures()
    handle, pixels = ctypes.c_void_p(library.tjInitDecompress()), ctypes.create_string_buffer(3 * SIDE * SIDE)

    def run(count):
        for i in range(BATCH * count):
            content = contents[i % COUNT]
            library.tjDecompress2(handle, content, ctypes.c_ulong(len(content)), pixels, SIDE, 0, SIDE, 0, 0)

    return run


CASES = {
    f"image_record_iter_{threads}": {
        "loomix": iterator("loomix", threads),
        "mxnet": iterator("mxnet", threads),
        "plain": bare,
    }
    for threads in (1, 2)
}

if __name__ == "__main__":
    serve(CASES)
