# SPDX-License-Identifier: Apache-2.0
"""Products on a GPU that end with a bias, beside the CPU's."""

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one")
GPU, CPU = mx.gpu(0), mx.cpu()
CLOSE = {"float64": 1e-9, "float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}


def numbers(random, shape, ctx, dtype):
    return mx.nd.array(random.uniform(-1, 1, shape), ctx=ctx).astype(dtype)


def layer(ctx, dtype, rows, columns, hidden, **attrs):
    """The result and all gradients, as float64."""
    random = np.random.RandomState(1)
    shapes = [(*rows, columns), (hidden, columns)] + ([] if attrs.get("no_bias") else [(hidden,)])
    given = [numbers(random, shape, ctx, dtype) for shape in shapes]
    for array in given:
        array.attach_grad()
    with mx.autograd.record():
        out = mx.nd.FullyConnected(*given, num_hidden=hidden, **attrs)
    out.backward(numbers(random, out.shape, ctx, dtype))
    return [a.astype("float64").asnumpy() for a in [out, *(array.grad for array in given)]]


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize(
    "rows,columns,hidden,attrs",
    [
        ((8,), 16, 32, {}),
        ((1,), 7, 5, {}),
        ((3,), 5, 1, {}),
        ((2, 3), 6, 9, {"flatten": False}),
        ((4,), 6, 9, {"no_bias": True}),
    ],
)
def test_layers(dtype, rows, columns, hidden, attrs):
    got = layer(GPU, dtype, rows, columns, hidden, **attrs)
    want = layer(CPU, dtype, rows, columns, hidden, **attrs)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=CLOSE[dtype], atol=CLOSE[dtype])


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("apart", ["data", "weight", "bias", "none"])
def test_arrays_that_lie_anywhere(dtype, apart):
    """A row of an array may begin where the library's kernels do not read."""
    random = np.random.RandomState(1)

    def placed(name, *shape):
        array = numbers(random, (shape[0] + 1, *shape[1:]), GPU, dtype)
        return array[1:] if name == apart else array[:-1]

    data, weight, bias = placed("data", 4, 3), placed("weight", 5, 3), placed("bias", 5)
    got = mx.nd.FullyConnected(data, weight, bias, num_hidden=5).astype("float64").asnumpy()
    x, w, b = (a.astype("float64").asnumpy() for a in (data, weight, bias))
    np.testing.assert_allclose(got, x @ w.T + b, rtol=CLOSE[dtype], atol=CLOSE[dtype])


def test_half_types_are_rounded_once():
    # 2049 has no float16, but 2050 has; the product rounded alone would be 2048.
    data = mx.nd.array([[1, 1]], ctx=GPU, dtype="float16")
    weight = mx.nd.array([[2048, 1]] * 8, ctx=GPU, dtype="float16")
    bias = mx.nd.ones((8,), ctx=GPU, dtype="float16")
    got = mx.nd.FullyConnected(data, weight, bias, num_hidden=8).asnumpy()
    assert got.tolist() == [[2050] * 8]


@pytest.mark.parametrize("rows,columns", [(0, 3), (2, 0)])
def test_nothing_to_multiply(rows, columns):
    with mx.np_shape():
        data, weight = mx.nd.zeros((rows, columns), ctx=GPU), mx.nd.zeros((4, columns), ctx=GPU)
        bias = mx.nd.arange(4, ctx=GPU)
        got = mx.nd.FullyConnected(data, weight, bias, num_hidden=4).asnumpy()
    np.testing.assert_array_equal(got, np.tile(np.arange(4), (rows, 1)))


def test_a_bias_may_be_a_column():
    data, weight = mx.nd.ones((2, 3), ctx=GPU), mx.nd.ones((4, 3), ctx=GPU)
    bias = mx.nd.arange(4, ctx=GPU).reshape((4, 1))
    got = mx.nd.FullyConnected(data, weight, bias, num_hidden=4).asnumpy()
    np.testing.assert_array_equal(got, [[3, 4, 5, 6]] * 2)
