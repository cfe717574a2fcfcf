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


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("stype", ["default", "csr"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_a_dense_matrix_with_a_csr_one(transpose, stype, dtype):
    results = []
    for ctx in (GPU, mx.cpu()):
        values = drawn(7, 9)
        values[2], values[:, 4] = 0, 0  # neither a row nor a column need store anything
        matrix = nd.array(values, ctx=ctx, dtype=dtype).tostype("csr")
        x = nd.array(drawn(5, 9 if transpose else 7, 1, 2), ctx=ctx, dtype=dtype)
        x.attach_grad()
        with mx.autograd.record():
            y = nd.dot(x, matrix, transpose_b=transpose, forward_stype=stype)
        assert y.stype == stype and y.context == ctx
        kept = y.indices.asnumpy() if stype == "csr" else None
        y.backward(nd.array(drawn(*y.shape, 1, 5), ctx=ctx, dtype=dtype))
        results.append((y.asnumpy(), x.grad.asnumpy(), kept))
    for got, want in zip(*results):
        if want is None:
            assert got is None
        else:
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    empty = nd.sparse.zeros("csr", (7, 9), ctx=GPU, dtype=dtype)
    x = nd.ones((5, 9 if transpose else 7), ctx=GPU, dtype=dtype)
    assert not nd.dot(x, empty, transpose_b=transpose, forward_stype=stype).asnumpy().any()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("operator", [nd.Embedding, nd.contrib.SparseEmbedding])
def test_rows_that_are_looked_up_and_their_gradient(operator, dtype):
    ids = np.array([[7, 1, 7], [9, 12, -3]])  # repeats, and beyond the ends
    results = []
    for ctx in (GPU, mx.cpu()):
        data = nd.array(ids, ctx=ctx, dtype="int32")
        weight = nd.array(drawn(10, 3, 1), ctx=ctx, dtype=dtype)
        weight.attach_grad(stype="row_sparse")
        with mx.autograd.record():
            y = operator(data, weight, input_dim=10, output_dim=3, dtype=dtype, sparse_grad=True)
        y.backward(nd.array(drawn(18, 1, 1, 5).reshape(2, 3, 3), ctx=ctx, dtype=dtype))
        assert weight.grad.stype == "row_sparse" and weight.grad.context == ctx
        assert weight.grad.indices.asnumpy().tolist() == [0, 1, 7, 9]
        stored = nd.array(drawn(10, 3, 1), ctx=mx.cpu(), dtype=dtype)
        stored[7] = 0
        rows = operator(
            data, stored.tostype("row_sparse").as_in_context(ctx), input_dim=10, output_dim=3, dtype=dtype
        )
        assert rows.stype == "default" and rows.context == ctx
        results.append([x.astype("float32").asnumpy() for x in (y, weight.grad, rows)])
        dense = weight.copy()
        dense.attach_grad()
        with mx.autograd.record():
            y = operator(data, dense, input_dim=10, output_dim=3, dtype=dtype)
        y.backward()
        assert dense.grad.astype("float32").asnumpy()[:, 0].tolist() == [1, 1, 0, 0, 0, 0, 0, 2, 0, 2]
    for got, want in zip(*results):
        np.testing.assert_array_equal(got, want)
    with mx.util.np_shape(True), mx.autograd.record():
        y = operator(nd.zeros((0, 3), ctx=GPU), weight.as_in_context(GPU), input_dim=10, output_dim=3)
    assert y.shape == (0, 3, 3)


def test_an_embedding_with_row_sparse_gradients_trains_as_on_hosts():
    trained = []
    for ctx in (GPU, mx.cpu()):
        table = mx.gluon.nn.Embedding(20, 4, sparse_grad=True)
        table.initialize(mx.init.Constant(0.5), ctx=ctx)
        trainer = mx.gluon.Trainer(table.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
        for step in range(4):
            data = nd.array([step, 3, 3, 19], ctx=ctx)
            with mx.autograd.record():
                loss = (table(data) ** 2).sum()
            loss.backward()
            trainer.step(1)
        trained.append(table.weight.data(ctx).asnumpy())
    np.testing.assert_allclose(trained[0], trained[1], rtol=1e-6)
    assert (trained[0][[5, 10]] == 0.5).all() and (trained[0][[0, 3, 19]] < 0.5).all()


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
        found.append(nd.dot(nd.ones((2, 3), ctx=ctx), matrix))
        weight.attach_grad(stype="row_sparse")
        with mx.autograd.record():
            sum = nd.Embedding(nd.array([1, 4, 1], ctx=ctx), weight, input_dim=6, output_dim=3, sparse_grad=True).sum()
        sum.backward()
        assert weight.grad.data.asnumpy()[:, 0].tolist() == [2, 1]
        nd.Embedding(nd.array([1, 4, 1], ctx=ctx), rows, input_dim=6, output_dim=3).wait_to_read()
        print([x.stype for x in found], weight.asnumpy()[:, 0].round(2).tolist(), found[1].asnumpy()[:, 0].tolist())
    """
    environment = {**os.environ, "LOOMIX_DEVICE_FALLBACK": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout.split("]")[0] == "['row_sparse', 'row_sparse', 'default', 'default', 'row_sparse', 'csr'"
    )
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
