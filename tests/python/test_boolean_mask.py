# SPDX-License-Identifier: Apache-2.0
"""Operators whose output's shape depends on data."""

import loomix as mx
import numpy as np
import pytest
from loomix import autograd, nd


def data(*shape):
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["float32", "int32", "float16", "int64", "bool"])
def test_it_takes_slices(axis, dtype):
    x = data(3, 4, 5)
    mask = np.arange(x.shape[axis]) % 2 == 1
    got = nd.contrib.boolean_mask(nd.array(x), nd.array(mask.astype(dtype), dtype=dtype), axis=axis)
    np.testing.assert_array_equal(got.asnumpy(), np.compress(mask, x, axis))
    assert got.dtype == np.float32


def test_nothing_and_everything():
    x = nd.array(data(3, 2))
    none = nd.contrib.boolean_mask(x, nd.zeros(3))
    assert none.shape == (0, 2) and none.asnumpy().shape == (0, 2)
    assert (nd.contrib.boolean_mask(x, nd.ones(3)).asnumpy() == x.asnumpy()).all()


def test_it_is_pushed_like_any_other():
    x = nd.array(data(200, 50))
    for _ in range(4):
        x = nd.contrib.boolean_mask(x, nd.dot(nd.ones((x.shape[0], 1)), nd.ones((1, 1))).reshape(-1)) + 1
    assert (x.asnumpy() == data(200, 50) + 4).all()
    total = nd.zeros((2, 2))
    total += nd.contrib.boolean_mask(nd.array(data(3, 2)), nd.array([1, 0, 1]))
    assert total.asnumpy().tolist() == [[0, 1], [4, 5]]
    out = nd.zeros((1, 2))
    assert nd.contrib.boolean_mask(nd.array(data(3, 2)), nd.array([0, 1, 0]), out=out) is out
    assert out.asnumpy().tolist() == [[2, 3]]
    with pytest.raises(ValueError, match="copied"):
        nd.contrib.boolean_mask(nd.array(data(3, 2)), nd.array([1, 1, 0]), out=out)


@pytest.mark.parametrize("axis", [0, 1])
def test_gradient(axis):
    x = nd.array(data(3, 4))
    x.attach_grad()
    mask = np.array([1, 0, 1, 1][: x.shape[axis]])
    with autograd.record():
        y = nd.contrib.boolean_mask(x, nd.array(mask), axis=axis) * 3
    y.backward()
    want = np.zeros((3, 4)) + 3 * np.expand_dims(mask, 1 - axis)
    np.testing.assert_array_equal(x.grad.asnumpy(), want)


def test_mistakes():
    x = nd.array(data(3, 2))
    with pytest.raises(ValueError, match="one entry for each of the 3 along axis 0"):
        nd.contrib.boolean_mask(x, nd.ones(2))
    bad = nd.sparse.zeros("csr", (3, 2))
    assert nd.contrib.boolean_mask(bad, nd.ones(3)).shape == (3, 2)
    symbol = mx.sym.contrib.boolean_mask(mx.sym.var("x"), mx.sym.var("m"), name="mask")
    assert mx.sym.load_json(symbol.tojson()).list_arguments() == ["x", "m"]
    with pytest.raises(NotImplementedError, match="'mask'.*depends on data"):
        symbol.bind(mx.cpu(), {"x": x, "m": nd.ones(3)})
    with pytest.raises(NotImplementedError, match="'mask'.*depends on data"):
        symbol.simple_bind(mx.cpu(), x=(3, 2))
