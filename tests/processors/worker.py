# SPDX-License-Identifier: Apache-2.0
"""Runs cases in one process, whose environment says by which instructions and kernels: `worker.py FOLDER NAME...`.

Writes each case's results to FOLDER as NumPy's file, and prints a line of JSON with its time. `levels.py` starts it.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

import loomix as mx
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples/image_classification"))


def geometry(seed: int, training: bool) -> tuple[mx.sym.Symbol, tuple[int, ...]]:
    """A random convolution between two of one pixel, so that its arrays may be in blocks; and the data's shape."""
    chance = random.Random(seed)
    axes = chance.choice([1, 2, 2, 2, 2, 2, 3])
    groups = chance.choice([1, 1, 1, 1, 2, 4, 0])
    channels = chance.choice([1, 3, 4, 8, 16, 20, 24, 32, 48, 64, 128])
    filters = chance.choice([8, 16, 20, 32, 50, 64, 96, 128])
    if groups == 0:  # each channel is one
        groups = filters = channels = chance.choice([16, 24, 32, 64])
    channels, filters = (-(-of // groups) * groups for of in (channels, filters))
    kernel = chance.choice([1, 3, 3, 3, 5, 7, 11] if axes < 3 else [1, 3, 3])
    stride = chance.choice([1, 1, 1, 2, 4 if kernel > 4 else 2])
    dilate = chance.choice([1, 1, 1, 2, 6 if kernel == 3 else 1, 12 if kernel == 3 else 1])
    reach = (kernel - 1) * dilate + 1
    pad = chance.choice([0, kernel // 2, reach // 2])
    size = max(chance.choice([7, 12, 14, 19, 28, 40]) if axes < 3 else 8, reach - 2 * pad + 1)
    data = mx.sym.Variable("data")
    first = chance.random() < 0.3  # it reads the network's input
    net = (
        data
        if first
        else mx.sym.Convolution(data, num_filter=channels, kernel=(1,) * axes, no_bias=True, name="before")
    )
    net = mx.sym.Convolution(
        net,
        num_filter=filters,
        kernel=(kernel,) * axes,
        stride=(stride,) * axes,
        dilate=(dilate,) * axes,
        pad=(pad,) * axes,
        num_group=groups,
        no_bias=chance.random() < 0.5,
        name="tried",
    )
    # Gradients have no corner: where rounding moves a number over ReLU's, they differ as much as they are large.
    net = mx.sym.Activation(net, act_type="softrelu" if training else "relu")
    net = mx.sym.Convolution(net, num_filter=16, kernel=(1,) * axes, no_bias=True, name="after")
    if chance.random() < 0.3:
        net = mx.sym.Pooling(net, pool_type="avg", kernel=(2,) * axes, stride=(2,) * axes, pad=(1,) * axes)
    batch = chance.choice([1, 2, 8])
    return net, (batch, channels, *(size,) * axes)


def lenet() -> mx.sym.Symbol:
    net = mx.sym.Variable("data")
    for filters in (20, 50):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters)
        net = mx.sym.Activation(net, act_type="tanh")
        net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2))
    net = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=500), act_type="tanh")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=10), name="softmax")


def network(name: str) -> tuple[mx.sym.Symbol, tuple[int, ...]]:
    """LeNet, one of `examples/image_classification`, or of Gluon's model zoo after `zoo_`; and the data's shape."""
    if name == "lenet":
        return lenet(), (64, 1, 28, 28)
    if name.startswith("zoo_"):
        net = mx.gluon.model_zoo.vision.get_model(name.removeprefix("zoo_"), classes=10)
        net.initialize()
        size = 299 if "inception" in name else 224
        return mx.sym.SoftmaxOutput(net(mx.sym.Variable("data")), name="softmax"), (1, 3, size, size)
    from symbols import NETWORKS, create

    return create(name, 10), (4, 3, *(NETWORKS[name][0],) * 2)


def bound(symbol: mx.sym.Symbol, shape: tuple[int, ...], training: bool):
    executor = symbol.simple_bind(mx.cpu(), grad_req="write" if training else "null", data=shape)
    numbers = np.random.RandomState(7)
    for name, array in sorted(executor.arg_dict.items()):
        scale = 1 if array.ndim < 2 or name == "data" else (2 / np.prod(array.shape[1:])) ** 0.5
        values = numbers.standard_normal(array.shape) * scale
        array[:] = values % 4 // 1 if name.endswith("label") else abs(values) if "gamma" in name else values
    for name, array in executor.aux_dict.items():
        array[:] = 1 if "var" in name else 0
    return executor


def measured(executor, training: bool, heads, least: int) -> tuple[float, list[np.ndarray]]:
    """The shortest processor time of some runs, and what they give."""

    def step():
        out = executor.forward(is_train=training)
        if training:
            executor.backward(heads)
        mx.nd.waitall()
        return out

    out = [array.asnumpy() for array in step()]
    if training:
        out += [array.asnumpy() for _, array in sorted(executor.grad_dict.items()) if array is not None]
    times = []
    while len(times) < least:
        start = time.process_time()
        step()
        times.append(time.process_time() - start)
    return min(times, default=0), out


def main() -> None:
    folder, least, *names = sys.argv[1:]
    for name in names:
        for training in (True, False):
            symbol, shape = geometry(int(name), training) if name.isdigit() else network(name)
            executor = bound(symbol, shape, training)
            heads = [
                mx.nd.array(np.random.RandomState(1).standard_normal(of.shape)) for of in executor.outputs
            ]
            seconds, out = measured(executor, training, heads, int(least))
            case = f"{name}-{'training' if training else 'prediction'}"
            np.savez(Path(folder) / case, *out)
            described = f"{shape} {symbol.attr_dict().get('tried', '')}"
            print(json.dumps({"case": case, "ms": seconds * 1e3, "what": described}), flush=True)


main()
