# SPDX-License-Identifier: Apache-2.0
"""Pushing and pulling the gradients of ResNet-50 (25.5 million floats, 161 keys) from two CPU devices, and what the
machine's memory needs for as many bytes."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from harness import serve

DEVICES = 2


def resnet50_shapes():
    """Shapes of the parameters, in the order of the network."""
    shapes = [(64, 3, 7, 7), (64,), (64,)]
    inputs = 64
    for blocks, width in ((3, 64), (4, 128), (6, 256), (3, 512)):
        for block in range(blocks):
            layers = [(width, inputs, 1, 1), (width, width, 3, 3), (4 * width, width, 1, 1)]
            if block == 0:
                layers.append((4 * width, inputs, 1, 1))
            for layer in layers:
                shapes += [layer, layer[:1], layer[:1]]  # weight, gamma, beta
            inputs = 4 * width
    return [*shapes, (1000, 2048), (1000,)]


def _push_and_pull(name, kind, by="keys"):
    mx = __import__(name)
    store = mx.kv.create(kind)
    shapes = resnet50_shapes()
    keys = list(range(len(shapes)))
    gradients = [[mx.nd.ones(shape, ctx=mx.cpu(k)) for k in range(DEVICES)] for shape in shapes]
    weights = [[mx.nd.zeros(shape, ctx=mx.cpu(k)) for k in range(DEVICES)] for shape in shapes]
    store.init(keys, [mx.nd.zeros(shape) for shape in shapes])
    mx.nd.waitall()

    def run(count):
        for _ in range(count):
            if by == "lists":
                store.push(keys, gradients)
                store.pull(keys, weights)
                continue
            for key in reversed(keys):  # as a backward pass does
                store.push(key, gradients[key], priority=-key)
                store.pull(key, weights[key], priority=-key)
        mx.nd.waitall()
        assert weights[0][1][0, 0, 0, 0].asscalar() == DEVICES

    return run


def _copy():
    """Copies what a push and a pull read and write at least: 6 times the bytes of the gradients, on two threads."""
    import numpy as np

    floats = 25_557_032 * 3 // 2
    pairs = [(np.ones(floats, "float32"), np.zeros(floats, "float32")) for _ in range(2)]
    threads = ThreadPoolExecutor(2)

    def run(count):
        for _ in range(count):
            list(threads.map(lambda pair: np.copyto(pair[1], pair[0]), pairs))

    return run


CASES = {
    f"{kind}_{by}": {name: partial(_push_and_pull, name, kind, by) for name in ("loomix", "mxnet")}
    for kind, by in (("local", "keys"), ("local", "lists"), ("device", "keys"))
}
CASES["copy_of_as_many_bytes"] = {"loomix": _copy}

if __name__ == "__main__":
    serve(CASES)
