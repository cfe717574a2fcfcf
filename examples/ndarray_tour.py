#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tour of arrays: making them, computing, views, laziness, gradients, devices and files.

python examples/ndarray_tour.py
"""

import tempfile
import time
from pathlib import Path

import loomix as mx
import numpy as np


def title(text):
    print(f"\n== {text}")


def making():
    title("Making arrays")
    print(mx.nd.array([[1, 2, 3], [4, 5, 6]]))  # float32, whatever the input
    print(mx.nd.zeros((2, 3)).shape, mx.nd.full((2,), 7).asnumpy(), mx.nd.arange(5).asnumpy())
    mx.random.seed(1)
    print("three normal numbers:", mx.nd.random.normal(shape=(3,)).asnumpy())


def computing():
    title("Computing")
    a, b = mx.nd.ones((2, 3)), mx.nd.arange(6).reshape((2, 3))
    print("a + 2 * b =", (a + 2 * b).asnumpy().tolist())
    print("b . b^T =", mx.nd.dot(b, b.T).asnumpy().tolist())
    print("row sums:", b.sum(axis=1).asnumpy(), "largest:", b.max().asscalar())
    print("b > 2:", (b > 2).asnumpy().tolist())


def views():
    title("Views: slices of the first axis and reshapes share memory")
    a = mx.nd.zeros((3, 2))
    row = a[1]
    row[:] = 5
    a.reshape((6,))[0] = 1
    print(a.asnumpy().tolist())


def laziness():
    title("Laziness: a call returns when its work is queued, reading waits for it")
    a = mx.nd.random.uniform(shape=(1000, 1000))
    a.wait_to_read()
    started = time.perf_counter()
    b = mx.nd.dot(a, a)
    queued = time.perf_counter()
    b.wait_to_read()
    done = time.perf_counter()
    print(f"queued after {1e6 * (queued - started):.0f} us, done after {1e3 * (done - started):.1f} ms")


def errors():
    title("Errors say what came and what was expected")
    try:
        mx.nd.dot(mx.nd.ones((2, 3)), mx.nd.ones((2, 3))).wait_to_read()
    except mx.MXNetError as error:
        print(f"{type(error).__name__}: {str(error).splitlines()[0]}")


def gradients():
    title("Gradients")
    x = mx.nd.array([1, 2, 3])
    x.attach_grad()
    with mx.autograd.record():
        y = (x * x).sum()
    y.backward()
    print("d(sum of squares)/dx =", x.grad.asnumpy())


def devices():
    title("Devices")
    with mx.cpu(1):
        print("made on", mx.nd.ones((2,)).context)
    print("copied to", mx.nd.ones((2,)).as_in_context(mx.cpu(1)).context)


def files():
    title("Files: MXNet reads them, too")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "weights.params")
        mx.nd.save(path, {"w": mx.nd.ones((2, 2)), "b": mx.nd.zeros((2,))})
        loaded = mx.nd.load(path)
        print({name: array.shape for name, array in loaded.items()})


def exchange():
    title("To NumPy and back")
    values = np.linspace(0, 1, 3)
    array = mx.nd.array(values, dtype="float64")
    print(array.dtype.__name__, bool((array.asnumpy() == values).all()))


if __name__ == "__main__":
    for part in (making, computing, views, laziness, errors, gradients, devices, files, exchange):
        part()
