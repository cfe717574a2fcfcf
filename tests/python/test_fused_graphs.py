# SPDX-License-Identifier: Apache-2.0
"""Random graphs with reductions, forward and backward: the same fused and not, to 1e-10 of the norm in float64."""

import os
import subprocess
import sys

import numpy as np
import pytest

GRAPHS = 60
CODE = """
import sys

import numpy as np

import loomix as mx

dtype, file, graphs = sys.argv[1], sys.argv[2], int(sys.argv[3])
ctx = mx.gpu(0) if sys.argv[4:] == ["gpu"] else mx.cpu()
OPERATORS = (
    lambda s, t, row, axis: -s,
    lambda s, t, row, axis: s * t,
    lambda s, t, row, axis: s + t * 0.5,
    lambda s, t, row, axis: mx.sym.tanh(s),
    lambda s, t, row, axis: mx.sym.sqrt(mx.sym.square(s) + 1),
    lambda s, t, row, axis: mx.sym.broadcast_add(s, row),
    lambda s, t, row, axis: mx.sym.broadcast_mul(s, mx.sym.mean(t, axis=axis, keepdims=True)),
    lambda s, t, row, axis: mx.sym.broadcast_sub(s, mx.sym.max(t, axis=axis, keepdims=True)),
    lambda s, t, row, axis: mx.sym.broadcast_add(s, mx.sym.min(t, axis=axis, keepdims=True)),
)
REDUCTIONS = (
    mx.sym.sum,
    lambda s: mx.sym.sum(s, axis=0),
    lambda s: mx.sym.mean(s, axis=1),
    lambda s: mx.sym.max(s, axis=0),
    lambda s: mx.sym.norm(s, axis=1),
    mx.sym.min,
)
results = {}
for seed in range(graphs):
    random = np.random.RandomState(seed)

    def pick(items):
        return items[random.randint(len(items))]

    shape = random.randint(1, 70), random.randint(1, 90)
    shapes = {"x": shape, "y": shape, "row": (1, shape[1])}
    row, *values = (mx.sym.Variable(name) for name in ("row", "x", "y"))
    for _ in range(random.randint(4, 12)):
        values.append(pick(OPERATORS)(pick(values), pick(values), row, random.randint(2)))
    net = mx.sym.Group([pick(REDUCTIONS)(values[-1]) * 1.5, pick(REDUCTIONS)(pick(values[2:]))])
    names = net.list_arguments()
    given = {name: mx.nd.array(random.uniform(-1, 1, shapes[name]), dtype=dtype, ctx=ctx) for name in names}
    gradients = {name: mx.nd.zeros(shapes[name], dtype=dtype, ctx=ctx) for name in names}
    executor = net.bind(ctx, given, args_grad=gradients)
    outputs = executor.forward(is_train=True)
    heads = [mx.nd.array(random.uniform(0.5, 1, out.shape), dtype=dtype, ctx=ctx) for out in outputs]
    executor.backward(heads)
    for i, array in enumerate(list(outputs) + [gradients[name] for name in names]):
        results[f"graph {seed}, array {i}"] = array.asnumpy()
np.savez(file, **results)
"""


def results(folder, dtype, fused, *device, graphs=GRAPHS, **settings):
    file = folder / f"{dtype}{fused}.npz"
    environment = {**os.environ, "LOOMIX_FUSE": fused, **settings}
    command = [sys.executable, "-c", CODE, dtype, str(file), str(graphs), *device]
    subprocess.run(command, env=environment, timeout=100, check=True)
    with np.load(file) as arrays:
        return {name: arrays[name].astype("float64") for name in arrays.files}


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-4)])
def test_random_graphs(tmp_path, dtype, tolerance):
    expected, got = (results(tmp_path, dtype, fused) for fused in "01")
    assert len(got) > 3 * GRAPHS
    expect_close(got, expected, tolerance)


def expect_close(got, expected, tolerance):
    assert got.keys() == expected.keys()
    for name, array in got.items():
        norm = np.linalg.norm(expected[name])
        assert np.linalg.norm(array - expected[name]) <= tolerance * max(norm, 1e-30), name
