# SPDX-License-Identifier: Apache-2.0
"""Operators on sparse arrays: values and storage types against NumPy, gradients, parts that do not fit."""

import os
import struct
import subprocess
import sys

import loomix as mx
import numpy as np
import pytest

nd = mx.nd
SHAPE = (6, 5)


def dense_values(seed, dtype="float32", shape=SHAPE, density=0.4):
    """Some values, zeros between them, a row without any."""
    random = np.random.RandomState(seed)
    values = random.uniform(-0.9, 0.9, shape) * (random.uniform(size=shape) < density)
    values[1] = 0
    return values.astype(dtype)


def sparse(values, stype):
    return nd.array(values, dtype=values.dtype).tostype(stype)


def check(result, stype, expected, tolerance=1e-5):
    assert result.stype == stype
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result.asnumpy(), expected, rtol=tolerance, atol=tolerance)


UNARY = {
    "abs": np.abs,
    "arcsin": np.arcsin,
    "arctan": np.arctan,
    "ceil": np.ceil,
    "expm1": np.expm1,
    "floor": np.floor,
    "log1p": np.log1p,
    "negative": np.negative,
    "relu": lambda x: np.maximum(x, 0),
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "square": np.square,
    "tanh": np.tanh,
    "trunc": np.trunc,
}


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("name", UNARY)
def test_functions_that_keep_zero_keep_the_storage(name, stype):
    for dtype in ("float32", "float64"):
        values = np.abs(dense_values(0, dtype)) if name == "sqrt" else dense_values(0, dtype)
        check(getattr(nd.sparse, name)(sparse(values, stype)), stype, UNARY[name](values))


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_functions_that_do_not_keep_zero_are_dense(stype):
    values = dense_values(1)
    check(nd.cos(sparse(values, stype)), "default", np.cos(values))
    check(sparse(values, stype) + 2, "default", values + 2)
    check(2 - sparse(values, stype), "default", 2 - values)
    check(nd.clip(sparse(values, stype), 0.5, 1), "default", np.clip(values, 0.5, 1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_numbers(stype, dtype):
    values = (dense_values(2, "float64") * 10).astype(dtype)
    x = sparse(values, stype)
    check(x * 3, stype, values * np.dtype(dtype).type(3))
    check(-x, stype, -values)
    check(x + 0, stype, values)
    check(x - 0, stype, values)
    check((x > 0), stype, (values > 0).astype(dtype))
    check(nd.clip(x, -2, 2), stype, np.clip(values, -2, 2))
    check(nd.zeros_like(x), stype, np.zeros_like(values))
    if dtype != "int64":
        check(x / 4, stype, values / np.dtype(dtype).type(4))


def add(a, b):
    return a + b


def subtract(a, b):
    return a - b


def multiply(a, b):
    return a * b


SUM_STYPES = {("csr", "csr"): "csr", ("row_sparse", "row_sparse"): "row_sparse"}
PRODUCT_STYPES = {
    **SUM_STYPES,
    ("csr", "default"): "csr",
    ("default", "csr"): "csr",
    ("row_sparse", "default"): "row_sparse",
    ("default", "row_sparse"): "row_sparse",
}


@pytest.mark.parametrize("left", ["csr", "row_sparse", "default"])
@pytest.mark.parametrize("right", ["csr", "row_sparse", "default"])
def test_pairs(left, right):
    for dtype in ("float32", "float64", "int64"):
        a = (dense_values(3, "float64") * 10).astype(dtype)
        b = (dense_values(4, "float64") * 10).astype(dtype)
        x, y = sparse(a, left), sparse(b, right)
        for operation in (add, subtract):
            check(operation(x, y), SUM_STYPES.get((left, right), "default"), operation(a, b))
        check(x * y, PRODUCT_STYPES.get((left, right), "default"), a * b)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_results_in_given_arrays(stype):
    a, b = dense_values(5), dense_values(6)
    x, y = sparse(a, stype), sparse(b, stype)
    out = nd.sparse.zeros(stype, SHAPE)
    nd.elemwise_add(x, y, out=out)
    check(out, stype, a + b)
    x += y  # an input is the output
    check(x, stype, a + b)
    nd.square(y, out=y)
    check(y, stype, b * b)
    whole = nd.array(a)
    whole -= y  # a dense output that is an input
    check(whole, "default", a - b * b)
    whole = nd.array(a)
    nd.elemwise_sub(y, whole, out=whole)
    check(whole, "default", b * b - a)
    nd.elemwise_add(nd.array(a), nd.array(b), out=out)  # dense arrays, a sparse output
    check(out, stype, a + b)


@pytest.mark.parametrize("other", [(1, 5), (6, 1), (1, 1), (5,)])
def test_a_csr_matrix_is_scaled(other):
    a, b = dense_values(7), np.random.RandomState(8).uniform(1, 2, other).astype("float32")
    check(nd.broadcast_mul(sparse(a, "csr"), nd.array(b)), "csr", a * b)
    check(nd.broadcast_div(sparse(a, "csr"), nd.array(b)), "csr", a / b)


def test_sums_of_many():
    parts = [dense_values(seed) for seed in range(4)]
    check(nd.add_n(*[sparse(part, "row_sparse") for part in parts]), "row_sparse", sum(parts))
    mixed = nd.add_n(sparse(parts[0], "row_sparse"), nd.array(parts[1]))
    check(mixed, "default", parts[0] + parts[1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_reductions(dtype):
    values = dense_values(9, dtype)
    csr, rows = sparse(values, "csr"), sparse(values, "row_sparse")
    for axis in (0, 1, -1):
        for keepdims in (False, True):
            check(
                nd.sum(csr, axis=axis, keepdims=keepdims), "default", values.sum(axis=axis, keepdims=keepdims)
            )
            check(
                nd.mean(csr, axis=axis, keepdims=keepdims),
                "default",
                values.mean(axis=axis, keepdims=keepdims),
            )
            check(nd.sum(rows, axis=axis), "default", values.sum(axis=axis))
    check(nd.sum(csr), "default", values.sum(keepdims=True).reshape(1))
    for x in (csr, rows):
        check(nd.norm(x), "default", np.sqrt((values**2).sum(keepdims=True)).reshape(1))
        check(nd.norm(x, ord=1), "default", np.abs(values).sum(keepdims=True).reshape(1))
    squares = mx.nd._internal._square_sum
    check(squares(rows, axis=1, keepdims=True), "row_sparse", (values**2).sum(axis=1, keepdims=True))
    check(squares(rows, axis=1), "default", (values**2).sum(axis=1))
    check(squares(rows, axis=0), "default", (values**2).sum(axis=0))
    assert (
        nd.sum(sparse((values * 10).astype("int64"), "csr")).asscalar() == (values * 10).astype("int64").sum()
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("second", ["default", "row_sparse"])
def test_products_of_a_csr_matrix(second, dtype):
    tolerance = 2e-2 if dtype == "float16" else 1e-5
    a = dense_values(10, dtype)
    b, c = dense_values(11, dtype, (5, 3)), dense_values(12, dtype, (6, 3))
    x = sparse(a, "csr")
    wide = lambda *factors: np.dot(*(factor.astype("float64") for factor in factors)).astype(dtype)
    check(nd.dot(x, sparse(b, second)), "default", wide(a, b), tolerance)
    check(nd.dot(x, sparse(c, second), transpose_a=True), "row_sparse", wide(a.T, c), tolerance)
    check(
        nd.dot(x, sparse(c, second), transpose_a=True, forward_stype="default"),
        "default",
        wide(a.T, c),
        tolerance,
    )
    vector = nd.array(b[:, 0], dtype=dtype)
    check(nd.dot(x, vector), "default", wide(a, b[:, 0]), tolerance)
    stored = nd.dot(x, nd.array(c, dtype=dtype), transpose_a=True).indices.asnumpy()
    assert (stored == np.flatnonzero(a.any(axis=0))).all()


def test_products_with_a_csr_matrix():
    a, b = dense_values(13, "float64", (4, 6), 1), dense_values(14, "float64")
    x, y = nd.array(a, dtype="float64"), sparse(b, "csr")
    check(nd.dot(x, y), "csr", a @ b)
    check(nd.dot(x, y, forward_stype="default"), "default", a @ b)
    z = nd.array(a[:, :5], dtype="float64")
    check(nd.dot(z, y, transpose_b=True, forward_stype="default"), "default", a[:, :5] @ b.T)
    check(nd.dot(z, y, transpose_b=True), "csr", a[:, :5] @ b.T)


def test_rows_and_parts_of_csr_matrices():
    a, b = dense_values(25), dense_values(26, shape=(3, 5))
    x = sparse(a, "csr")
    check(nd.slice(x, begin=(1,), end=(4,)), "csr", a[1:4])
    check(nd.slice(x, begin=(1, 1), end=(6, 4)), "csr", a[1:6, 1:4])
    check(nd.slice(x, begin=(5, None), end=(None, None), step=(-2, 1)), "csr", a[::-2])
    check(nd.slice(x, begin=(0, 4), end=(6, 0), step=(1, -1)), "default", a[:, 4:0:-1])
    check(nd.concat(x, sparse(b, "csr"), dim=0), "csr", np.concatenate([a, b]))
    check(nd.concat(x, x, dim=1), "default", np.concatenate([a, a], axis=1))
    ids = np.array([5, 0, 0, 9, -1])
    check(nd.take(x, nd.array(ids)), "csr", a[np.clip(ids, 0, 5)])
    check(nd.take(x, nd.array(ids, dtype="int64"), mode="wrap"), "csr", a[ids % 6])
    check(nd.contrib.quadratic(x, a=2, b=3), "csr", 2 * a**2 + 3 * a)
    check(nd.contrib.quadratic(x, a=2, b=3, c=1), "default", 2 * a**2 + 3 * a + 1)


def test_graphs():
    edges = np.array([[1, 0, 0, 2], [3, 0, 4, 0], [0, 5, 0, 0], [0, 6, 7, 0]])
    for dtype in ("int64", "float32"):
        graph = sparse(edges.astype(dtype), "csr")
        check(nd.contrib.dgl_adjacency(graph), "csr", (edges != 0).astype("float32"))
        vertices = [nd.array([0, 1, 2], dtype="int64"), nd.array([1, 3])]
        first, second, first_edges, second_edges = nd.contrib.dgl_subgraph(
            graph, *vertices, return_mapping=True
        )
        check(first_edges, "csr", edges[:3, :3].astype(dtype))
        check(second_edges, "csr", edges[1::2, 1::2].astype(dtype))
        assert first.data.asnumpy().tolist() == [0, 1, 2, 3] and second.data.asnumpy().tolist() == [0]
        assert (first.indices.asnumpy() == first_edges.indices.asnumpy()).all()
        assert (first.indptr.asnumpy() == first_edges.indptr.asnumpy()).all()
        alone = nd.contrib.dgl_subgraph(graph, vertices[0], return_mapping=False)
        assert alone.shape == (3, 3) and alone.indptr.asnumpy().tolist() == [0, 1, 3, 4]
    for wrong, message in (([2, 0], "must increase"), ([0, 4], "out of range"), ([-1, 0], "out of range")):
        with pytest.raises((ValueError, IndexError), match=message):
            nd.contrib.dgl_subgraph(graph, nd.array(wrong), return_mapping=False).wait_to_read()
    with pytest.raises(TypeError, match="no csr matrix"):
        nd.contrib.dgl_adjacency(nd.array(edges)).wait_to_read()


def test_empty_matrices():
    empty, b = nd.sparse.zeros("csr", SHAPE), nd.ones((5, 2))
    check(nd.dot(empty, b), "default", np.zeros((6, 2), "float32"))
    product = nd.dot(empty, nd.ones((6, 2)), transpose_a=True)
    check(product, "row_sparse", np.zeros((5, 2), "float32"))
    assert product.indices.shape == (0,)
    rows = nd.sparse.zeros("row_sparse", SHAPE)
    check(rows + rows, "row_sparse", np.zeros(SHAPE, "float32"))
    check(rows * nd.ones(SHAPE), "row_sparse", np.zeros(SHAPE, "float32"))
    check(nd.square(empty), "csr", np.zeros(SHAPE, "float32"))
    check(nd.sum(empty, axis=0), "default", np.zeros(5, "float32"))
    check(
        nd.dot(sparse(dense_values(1), "csr"), nd.sparse.zeros("row_sparse", (5, 2))),
        "default",
        np.zeros((6, 2), "float32"),
    )
    none = nd.sparse.csr_matrix((np.zeros(0), np.zeros(0), [0]), shape=(0, 5))
    assert nd.dot(none, b.astype("float64")).shape == (0, 2)


@pytest.mark.parametrize("grad", ["row_sparse", "default"])
def test_gradient_of_a_product(grad):
    a, b = dense_values(15, "float64"), dense_values(16, "float64", (5, 3), 1)
    head = np.random.RandomState(17).uniform(size=(6, 3))
    x, weight = sparse(a, "csr"), nd.array(b, dtype="float64")
    weight.attach_grad(stype=grad)
    for _ in range(2):  # the gradient is overwritten
        with mx.autograd.record():
            y = nd.dot(x, weight)
        y.backward(nd.array(head, dtype="float64"))
    check(weight.grad, grad, a.T @ head)
    with mx.autograd.record():
        z = nd.dot(x, nd.square(weight)) + nd.dot(x, weight)  # two ways to the weight
    z.backward(nd.array(head, dtype="float64"))
    check(weight.grad, grad, 2 * b * (a.T @ head) + a.T @ head)


def test_gradients_are_added_up():
    a = dense_values(18, "float64")
    weight = nd.ones((5, 2), dtype="float64")
    weight.attach_grad("add", stype="row_sparse")
    for _ in range(3):
        with mx.autograd.record():
            y = nd.dot(sparse(a, "csr"), weight)
        y.backward()
    check(weight.grad, "row_sparse", 3 * a.T @ np.ones((6, 2)))


def test_gradients_of_row_sparse_arrays():
    values = dense_values(19, "float64")
    x = sparse(values, "row_sparse")
    x.attach_grad()
    assert x.grad.stype == "row_sparse"
    squares = mx.nd._internal._square_sum
    head = np.arange(1.0, 7.0).reshape(6, 1)
    for function, expected in (
        (lambda x: squares(x, axis=1, keepdims=True), 2 * values * head),
        (lambda x: nd.sum(nd.square(x), axis=1, keepdims=True), 2 * values * head),
        (lambda x: nd.sum(x * 3, axis=1, keepdims=True), 3 * np.ones_like(values) * head),
        (lambda x: nd.sum(x * x + x, axis=1, keepdims=True), (2 * values + 1) * head),
        (lambda x: nd.sum(nd.sparse.retain(x, nd.array([0, 3])), axis=1, keepdims=True),
         np.ones_like(values) * head * np.isin(np.arange(6), [0, 3])[:, None]),
        (lambda x: nd.sum(nd.cast_storage(x, "default"), axis=1, keepdims=True), np.ones_like(values) * head),
    ):  # fmt: skip
        with mx.autograd.record():
            y = function(x)
        y.backward(nd.array(head, dtype="float64"))
        check(x.grad, "row_sparse", expected)


def test_gradient_of_a_sparse_square_sum_is_right_numerically():
    data = mx.sym.Variable("data")
    values = dense_values(20, "float64", density=1)
    for axis in (0, 1):
        net = mx.sym._internal._square_sum(data, axis=axis)
        mx.test_utils.check_numeric_gradient(net, [values], dtype=np.float64, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("operator", [nd.Embedding, nd.contrib.SparseEmbedding])
def test_embedding(operator):
    random = np.random.RandomState(21)
    for dtype, index in (("float32", "float32"), ("float64", "int64"), ("float16", "int32")):
        values = random.uniform(size=(10, 3)).astype(dtype)
        ids = np.array([[7, 1, 7], [9, 12, -3]])  # repeats, and beyond the ends
        kept = np.clip(ids, 0, 9)
        weight = nd.array(values, dtype=dtype)
        weight.attach_grad(stype="row_sparse")
        head = random.uniform(size=(2, 3, 3)).astype(dtype)
        with mx.autograd.record():
            y = operator(
                nd.array(ids, dtype=index), weight, input_dim=10, output_dim=3, dtype=dtype, sparse_grad=True
            )
        y.backward(nd.array(head, dtype=dtype))
        assert (y.asnumpy() == values[kept]).all()
        expected = np.zeros((10, 3), "float64")
        np.add.at(expected, kept, head.astype("float64"))
        check(weight.grad, "row_sparse", expected.astype(dtype), 1e-2 if dtype == "float16" else 1e-5)
        assert weight.grad.indices.asnumpy().tolist() == [0, 1, 7, 9]
        rows = operator(
            nd.array(ids, dtype=index), sparse(values, "row_sparse"), input_dim=10, output_dim=3, dtype=dtype
        )
        assert (rows.asnumpy() == values[kept]).all()
    weight = nd.ones((10, 3))
    weight.attach_grad(stype="row_sparse")
    with mx.util.np_shape(True), mx.autograd.record():
        y = operator(nd.zeros((0, 3)), weight, input_dim=10, output_dim=3, sparse_grad=True)
    y.backward()
    assert weight.grad.indices.shape == (0,)


def test_lazy_updates_touch_the_rows_of_the_gradient():
    weight = nd.ones((50, 2))
    grad = nd.sparse.row_sparse_array((np.ones((2, 2), "float32"), [3, 40]), shape=(50, 2))
    nd.sgd_update(weight, grad, lr=0.5, wd=0.1, out=weight)
    expected = np.ones((50, 2), "float32")
    expected[[3, 40]] -= 0.5 * 1.1
    check(weight, "default", expected)


def test_cast_storage():
    values = dense_values(22)
    stypes = ("default", "csr", "row_sparse")
    for source in stypes:
        for target in stypes:
            for function in (nd.cast_storage, nd.sparse.cast_storage):
                check(function(sparse(values, source), stype=target), target, values)
    x = nd.array(values)
    x.attach_grad()
    with mx.autograd.record():
        y = nd.cast_storage(x, "csr") * 2
    y.backward()
    check(x.grad, "default", np.full(SHAPE, 2, "float32"))
    with pytest.raises(ValueError, match="two axes"):
        nd.cast_storage(nd.ones((2, 3, 4)), stype="csr")


def test_retain():
    values = dense_values(23)
    kept = np.array([4, 0, 4, 1])  # in any order, more than once, and row 1 is not stored
    expected = values * np.isin(np.arange(6), kept)[:, None]
    for ids in (nd.array(kept), nd.array(kept, dtype="int64"), nd.array(kept, dtype="int32")):
        result = nd.sparse.retain(sparse(values, "row_sparse"), ids)
        check(result, "row_sparse", expected)
        assert result.indices.asnumpy().tolist() == [0, 4]
    check(sparse(values, "row_sparse").retain([0, 4]), "row_sparse", expected)
    check(sparse(values, "row_sparse").retain([]), "row_sparse", np.zeros_like(values))
    check(nd.sparse.retain(nd.array(values), nd.array(kept)), "default", expected)


def test_parts_keep_their_types():
    for dtype in ("float64", "int64", "float32", "int32"):
        data = np.array([1, 2, 3], dtype)
        csr = nd.sparse.csr_matrix((data, np.array([0, 2, 1], "int32"), [0, 2, 2, 3]), shape=(3, 4))
        assert np.dtype(csr.dtype) == dtype and csr.indices.dtype == np.int64 and csr.indptr.dtype == np.int64
        assert csr.data.asnumpy().tolist() == [1, 2, 3]
        assert np.dtype(nd.sparse.csr_matrix(csr.asnumpy()).dtype) == dtype
        moved = csr.as_in_context(mx.cpu(1))
        assert moved.stype == "csr" and moved.context == mx.cpu(1) and moved.dtype == csr.dtype
        assert (moved.asnumpy() == csr.asnumpy()).all() and csr.as_in_context(csr.context) is csr
        rows = nd.sparse.row_sparse_array((data.reshape(3, 1), [1, 4, 5]), shape=(8, 1))
        assert rows.dtype == csr.dtype and rows.as_in_context(mx.cpu(1)).stype == "row_sparse"
    large = 2**53 + 1  # a double does not hold it
    csr = nd.sparse.csr_matrix((np.array([large]), [0], [0, 1]), shape=(1, 1))
    assert csr.asnumpy()[0, 0] == large and (csr + csr).asnumpy()[0, 0] == 2 * large


def test_csr_from_coordinates():
    row, column = [2, 0, 2, 0], [1, 3, 1, 0]
    csr = nd.sparse.csr_matrix((np.array([1.0, 2, 3, 4]), (row, column)), shape=(3, 4))
    expected = np.zeros((3, 4))
    np.add.at(expected, (row, column), [1, 2, 3, 4])
    check(csr, "csr", expected)
    assert csr.indices.asnumpy().tolist() == [0, 3, 1]  # the two at (2, 1) are one
    huge = nd.sparse.csr_matrix((np.array([1.0]), ([1], [10**9])), shape=(2, 2 * 10**9))
    assert huge.indices.asnumpy().tolist() == [10**9]
    for places in (([3], [0]), ([0], [4]), ([-1], [0])):
        with pytest.raises(IndexError, match="expected 0 to"):
            nd.sparse.csr_matrix((np.array([1.0]), places), shape=(3, 4))


@pytest.mark.parametrize(
    "columns, starts, message",
    [
        ([0, 2, 1], [0, 2, 1, 3], "row starts"),
        ([0, 2, 1], [1, 2, 2, 3], "row starts"),
        ([0, 2, 1], [0, 2, 2, 4], "row starts"),
        ([0, 9, 1], [0, 2, 2, 3], "out of range"),
        ([0, -1, 1], [0, 2, 2, 3], "out of range"),
    ],
)
def test_wrong_csr_parts_are_found_when_they_are_read(columns, starts, message):
    csr = nd.sparse.csr_matrix((np.ones(3, "float32"), columns, starts), shape=(3, 4))
    csr.check_format(full_check=False)
    for read in (csr.check_format, csr.asnumpy, lambda: nd.dot(csr, nd.ones((4, 2))).asnumpy()):
        with pytest.raises((ValueError, IndexError), match=message):
            read()


def test_csr_columns_may_come_in_any_order():
    """They stay so, and every operator takes them."""
    dense = np.array([[2.0, 0, 1, 0], [0, 3, 0, 0], [7, 0, 5, 6]], "float32")
    parts = (np.array([1.0, 2, 3, 6, 7, 5], "float32"), [2, 0, 1, 3, 0, 2], [0, 2, 3, 6])
    csr = nd.sparse.csr_matrix(parts, shape=(3, 4))
    assert csr.indices.asnumpy().tolist() == parts[1]
    check(csr, "csr", dense)
    with pytest.raises(mx.MXNetError, match="column 0 at position 1 follows 2"):
        csr.check_format()
    csr[1].check_format()
    eye = np.eye(3, 4, dtype="float32")
    other = nd.array(eye).tostype("csr")
    check(csr + other, "csr", dense + eye)
    check(other - csr, "csr", eye - dense)
    check(csr + csr, "csr", 2 * dense)
    check(nd.elemwise_mul(csr, other), "csr", dense * eye)
    check(nd.slice(csr, begin=(0, 1), end=(3, 3)), "csr", dense[:, 1:3])
    weight = np.arange(8, dtype="float32").reshape(4, 2)
    assert np.allclose(nd.dot(csr, nd.array(weight)).asnumpy(), dense @ weight)
    assert np.allclose(
        nd.dot(csr, nd.array(dense[:, :2]), transpose_a=True).asnumpy(), dense.T @ dense[:, :2]
    )
    assert nd.sum(csr, axis=0).asnumpy().tolist() == dense.sum(0).tolist()


def test_arrays_without_rows():
    assert nd.sparse.csr_matrix(([], [], [0]), shape=(0, 3)).shape == (0, 3)
    check(nd.sparse.row_sparse_array((np.zeros((0, 2)), []), shape=(3, 2)), "row_sparse", np.zeros((3, 2)))
    kept = nd.sparse.row_sparse_array(([[0.0, 0.0], [3.0, 4.0]], [0, 1]), shape=(3, 2))
    assert kept.indices.asnumpy().tolist() == [0, 1]  # rows of zeros that were given are stored
    for make in (nd.sparse.row_sparse_array, nd.sparse.csr_matrix):
        for source in ((2, 2), [[1.0, 2.0]]):
            with pytest.raises(ValueError, match="expected"):
                make(source, shape=(3, 2))


def test_csr_files_of_mxnet(tmp_path):
    """An empty matrix, with stored shape (0,), and one whose columns are in another order."""
    head = "120100000000000000000000000000000100000000000000c9fa93f902000000"
    empty = (
        "010000000000000000000000020000000200000000000000030000000000000001000000000000000000000006000000010000000300"
        "000000000000060000000100000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    )
    turned = (
        "010000000300000000000000020000000200000000000000030000000000000001000000000000000000000006000000010000000300"
        "000000000000060000000100000003000000000000000000803f0000004000004040000000000000000002000000000000000300"
        "0000000000000200000000000000000000000000000001000000000000000000000000000000"
    )
    for content, expected in ((empty, np.zeros((2, 3))), (turned, [[2, 0, 1], [0, 3, 0]])):
        path = tmp_path / "x.nd"
        path.write_bytes(bytes.fromhex(head + content))
        (loaded,) = nd.load(str(path))
        check(loaded, "csr", np.array(expected, "float32"))


def test_index_arrays_by_number():
    sparse_rows = nd.sparse.row_sparse_array(([[1.0, 2.0], [3.0, 4.0]], [0, 2]), shape=(3, 2))
    made = nd.array(sparse_rows.indices)
    assert made.dtype == np.int64 and made.asnumpy().tolist() == [0, 2]
    assert nd.sparse.array(sparse_rows).indices.asnumpy().tolist() == [0, 2]
    results = (
        nd._internal._scatter_plus_scalar(sparse_rows, scalar=2),
        nd._internal._scatter_minus_scalar(sparse_rows, scalar=2),
        nd._internal._scatter_elemwise_div(sparse_rows, nd.ones((3, 2)) * 2),
    )
    for result, expected in zip(results, ([3, 0, 5], [-1, 0, 1], [0.5, 0, 1.5])):
        assert result.stype == "row_sparse" and result._num_aux == 1 and result._aux_types == [np.int64]
        assert result._aux_data(0).asnumpy().tolist() == result.indices.asnumpy().tolist() == [0, 2]
        assert result.asnumpy()[:, 0].tolist() == expected
    csr = nd.sparse.csr_matrix(([1.0], [1], [0, 1, 1]), shape=(2, 2))
    assert csr._num_aux == 2 and csr._aux_type(1) == np.int64
    assert csr._aux_data(0).asnumpy().tolist() == [0, 1, 1] and csr._aux_data(1).asnumpy().tolist() == [1]
    with pytest.raises(IndexError):
        csr._aux_data(2)


def test_sparse_auxiliary_states_are_made_dense():
    net = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn")
    mean = nd.sparse.row_sparse_array(([1.0, 2.0], [0, 2]), shape=(3,))
    arguments = {"data": nd.ones((2, 3)), "bn_gamma": nd.ones(3), "bn_beta": nd.zeros(3)}
    states = {"bn_moving_mean": mean, "bn_moving_var": nd.ones(3)}
    bound = net.bind(mx.current_context(), arguments, aux_states=states)
    assert [state.stype for state in bound.aux_arrays] == ["default"] * 2
    assert np.allclose(bound.forward()[0].asnumpy(), [[0, 1, -1]] * 2, atol=1e-2)
    assert bound.aux_dict["bn_moving_mean"].asnumpy().tolist() == [1, 0, 2]


def test_assignment_to_sparse_rows():
    def target():
        return nd.sparse.row_sparse_array(([[1.0, 2.0], [3.0, 4.0]], [0, 2]), shape=(3, 2))

    for value, expected in (
        (5, np.full((3, 2), 5)),
        (nd.ones((3, 2)), np.ones((3, 2))),
        (np.arange(6).reshape(3, 2), np.arange(6).reshape(3, 2)),
        (nd.sparse.zeros("row_sparse", (3, 2)), np.zeros((3, 2))),
        (target() + target(), 2 * target().asnumpy()),
    ):
        x = target()
        x[:] = value
        check(x, "row_sparse", expected.astype("float32"))
    for key, error in ((0, TypeError), (slice(1, 2), ValueError), ((slice(None),), TypeError)):
        with pytest.raises(error):
            target()[key] = 3


def test_wrong_rows():
    for rows, message in (([0, 0], "must increase"), ([0, 7], "out of range"), ([-1, 1], "out of range")):
        wrong = nd.sparse.row_sparse_array((np.ones((2, 2)), rows), shape=(3, 2))
        for read in (wrong.check_format, wrong.asnumpy):
            with pytest.raises((ValueError, IndexError), match=message):
                read()
    rows = nd.sparse.row_sparse_array((np.array([[1.0], [2.0]]), [2, 0]), shape=(3, 1))  # any order
    assert rows.asnumpy().tolist() == [[2.0], [0.0], [1.0]]
    rows.check_format()
    rows.check_format(full_check=False)


def test_a_dense_fallback_is_told():
    code = (
        "import loomix as mx; x = mx.nd.ones((2, 2)).tostype('csr'); mx.nd.square(x).wait_to_read(); "
        "mx.nd.cos(x).wait_to_read()"
    )
    environment = {**os.environ, "LOOMIX_EXPLAIN": "dispatch", "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    said = run.stdout + run.stderr
    assert "square: unary_sparse_cpu runs" in said
    assert "cos: no kernel takes storage types (csr); the inputs are made dense" in said


def test_errors_name_operator_and_shapes():
    x = sparse(dense_values(24), "csr")
    with pytest.raises(ValueError, match="dot"):
        nd.dot(x, nd.ones((4, 2)))
    with pytest.raises(ValueError, match="elemwise_add"):
        nd.elemwise_add(x, nd.sparse.zeros("csr", (6, 4)))
    with pytest.raises(TypeError):
        nd.dot(x, nd.ones((5, 2), dtype="float64"))


def test_files_whose_row_count_was_not_known_yet(tmp_path):
    path = str(tmp_path / "a.nd")
    mx.nd.save(path, [mx.nd.sparse.row_sparse_array(([[1.0, 2], [3, 4]], [0, 3]), shape=(5, 2))])
    with open(path, "rb") as file:
        content = file.read()
    stored = struct.pack("<Iqq", 2, 2, 2)
    assert stored in content
    with open(path, "wb") as file:
        file.write(content.replace(stored, struct.pack("<Iqq", 2, 0, 2), 1))
    (array,) = mx.nd.load(path)
    assert array.indices.asnumpy().tolist() == [0, 3] and array.data.asnumpy().tolist() == [[1, 2], [3, 4]]
