# SPDX-License-Identifier: Apache-2.0
"""Sparse arrays on GPUs: where they lie, and what runs there without the host."""

import os
import subprocess
import sys

import loomix as mx
import numpy as np
import pytest
from loomix import nd

pytestmark = pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one")
GPU = mx.gpu(0)


def drawn(rows, columns, kept=0.4, seed=1):
    random = np.random.RandomState(seed)
    return (random.uniform(-1, 1, (rows, columns)) * (random.uniform(size=(rows, columns)) < kept)).astype(
        "float32"
    )


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_arrays_go_there_and_back(stype, dtype):
    values = drawn(6, 5).astype(dtype)
    values[2] = 0
    there = nd.array(values, ctx=mx.cpu(), dtype=dtype).tostype(stype).as_in_context(GPU)
    assert there.stype == stype and there.context == there.data.context == there.indices.context == GPU
    np.testing.assert_array_equal(there.asnumpy(), values)
    np.testing.assert_array_equal(there.as_in_context(mx.cpu()).asnumpy(), values)
    np.testing.assert_array_equal(there.copyto(GPU).tostype("default").asnumpy(), values)
    np.testing.assert_array_equal(there.astype("float64").asnumpy(), values.astype("float64"))
    other = nd.sparse.zeros(stype, (6, 5), ctx=GPU, dtype=dtype)
    there.copyto(other)
    np.testing.assert_array_equal(other.asnumpy(), values)


@pytest.mark.parametrize("op", ["sgd_update", "sgd_mom_update", "adam_update", "_sparse_adagrad_update"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lazy_updates_are_those_of_the_host(op, dtype):
    states = {"sgd_update": 0, "adam_update": 2}.get(op, 1)
    kinds = {"lazy_update": True, "wd": 0.1} if "adagrad" not in op else {}
    results = []
    for ctx in (GPU, mx.cpu()):
        weight, *rest = (
            nd.array(np.abs(drawn(9, 4, 1, seed)), ctx=ctx, dtype=dtype) for seed in range(1 + states)
        )
        grad = drawn(9, 4, 1)
        grad[[0, 3, 4, 8]] = 0
        grad = nd.array(grad, ctx=ctx, dtype=dtype).tostype("row_sparse")
        function = getattr(nd, op) if hasattr(nd, op) else getattr(nd.sparse, op.removeprefix("_sparse_"))
        for _ in range(2):
            function(weight, grad, *rest, lr=0.1, out=weight, **kinds)
        results.append([x.asnumpy() for x in (weight, *rest)])
    for got, want in zip(*results):
        np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_products_of_csr_matrices_and_their_gradients(transpose, stype):
    results = []
    for ctx in (GPU, mx.cpu()):
        matrix = nd.array(drawn(7, 9), ctx=ctx).tostype("csr")
        x = nd.array(drawn(7 if transpose else 9, 3, 1), ctx=ctx)
        x.attach_grad(stype=stype)
        with mx.autograd.record():
            y = nd.dot(matrix, x, transpose_a=transpose)
        y.backward(nd.array(drawn(*y.shape, 1, 5), ctx=ctx))
        assert x.grad.stype == stype and x.grad.context == ctx
        results.append((y.asnumpy(), x.grad.asnumpy(), matrix.asnumpy()))
    for got, want in zip(*results):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_no_operator_of_these_needs_the_host():
    code = """if True:
        import loomix as mx, numpy as np
        from loomix import nd
        ctx = mx.gpu(0)
        rows = nd.sparse.row_sparse_array((np.ones((2, 3), "float32"), [1, 4]), shape=(6, 3), ctx=ctx)
        matrix = nd.sparse.csr_matrix(([1.0, 2, 3], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 4), ctx=ctx, dtype="float32")
        weight, mean, var = (nd.ones((6, 3), ctx=ctx) for _ in range(3))
        nd.sgd_update(weight, rows, lr=1, out=weight)
        nd.adam_update(weight, rows, mean, var, lr=1, out=weight)
        found = [nd.tanh(rows), rows * 2, nd.dot(matrix, nd.ones((4, 2), ctx=ctx)), matrix.tostype("default")]
        found.append(nd.dot(matrix, nd.ones((3, 2), ctx=ctx), transpose_a=True))
        print([x.stype for x in found], weight.asnumpy()[:, 0].round(2).tolist(), found[1].asnumpy()[:, 0].tolist())
    """
    environment = {**os.environ, "LOOMIX_DEVICE_FALLBACK": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("]")[0] == "['row_sparse', 'row_sparse', 'default', 'default', 'row_sparse'"
    assert "[0.0, 2.0, 0.0, 0.0, 2.0, 0.0]" in done.stdout and "no kernel" not in done.stderr


SUMS = """if True:
    import sys
    import loomix as mx, numpy as np
    from loomix import nd
    found = {}
    for ctx in (mx.gpu(0), mx.cpu()):
        for stype in ("csr", "row_sparse"):
            for dtype in ("float32", "float16", "bfloat16", "float64"):
                random = np.random.RandomState(3)
                # Of one structure, of two, and one that stores nothing.
                masks = [random.uniform(size=(7, 9)) < kept for kept in (0.4, 0.3, 0)]
                masks[0][2] = masks[1][4] = False
                made = [np.where(m, random.uniform(0.5, 2, (7, 9)), 0) for m in (masks[0], *masks)]
                a, *others = (nd.array(x, ctx=mx.cpu(), dtype=dtype).tostype(stype).as_in_context(ctx) for x in made)
                for i, b in enumerate(others):
                    for op in ("elemwise_add", "elemwise_sub", "elemwise_mul"):
                        y = getattr(nd, op)(a, b)
                        assert y.stype == stype and y.context == ctx
                        found[f"{ctx.device_type} {stype} {dtype} {op} {i}"] = y.asnumpy().astype("float64")
        m = nd.sparse.csr_matrix(([1.0, 2, 3, 4], [2, 0, 1, 3], [0, 2, 2, 4]), shape=(3, 4), ctx=ctx, dtype="float32")
        other = nd.sparse.csr_matrix(([5.0, 6], [0, 3], [0, 1, 1, 2]), shape=(3, 4), ctx=ctx, dtype="float32")
        found[f"{ctx.device_type} unsorted"] = (m + other).asnumpy()
        for axis in (None, 0, 1):
            found[f"{ctx.device_type} getnnz {axis}"] = nd.contrib.getnnz(m, axis=axis).asnumpy()
    np.savez(sys.argv[1], **found)
"""


def test_sums_and_products_of_sparse_arrays_and_what_they_store(tmp_path):
    file = tmp_path / "found.npz"
    environment = {**os.environ, "LOOMIX_DEVICE_FALLBACK": "0"}
    command = [sys.executable, "-c", SUMS, str(file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with np.load(file) as found:
        names = [name for name in found.files if name.startswith("gpu")]
        assert len(names) == 2 * 4 * 3 * 3 + 4
        for name in names:
            np.testing.assert_allclose(
                found[name], found[name.replace("gpu", "cpu")], rtol=1e-6, err_msg=name
            )
