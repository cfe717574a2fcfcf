# SPDX-License-Identifier: Apache-2.0
"""Operators on arrays that kernels split: long rows, few outputs of many elements, many short rows.

The case tables of tests/ops have small arrays. With `--device 'gpu(0)'` these tests run a GPU's kernels.
"""

import loomix as mx
import numpy as np
import pytest
from loomix import autograd, nd

SHAPES = [
    ((3, 40000), 1),
    ((40000, 3), 0),
    ((50000,), 0),
    ((20000, 5), 1),
    ((7, 600), 1),
    ((2, 3, 20000), (0, 2)),
    ((30, 33, 41), 1),
    ((30, 33, 41), (0, 2)),
    ((6, 5000, 2, 2), (1, 3)),
    ((70000, 1), 1),
    ((30, 128), 1),
    ((5, 2048), 1),
    ((3, 8192), 1),
    ((4, 12, 5000), (0, 2)),
]


def numbers(shape, seed=0):
    return np.random.RandomState(seed).normal(1, 2, shape).astype("float32")


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_reductions(shape, axis, dtype):
    x = numbers(shape)
    x = np.rint(x).astype(dtype) if dtype == "int32" else x.astype(dtype)
    exact = x.astype("float64")
    tolerance = {"float16": 1e-2, "float32": 1e-5}.get(dtype, 1e-12)
    array = nd.array(x, dtype=dtype)
    for name in ("sum", "max", "min", "mean"):
        if name == "mean" and dtype == "int32":
            continue
        want = getattr(exact, name)(axis=axis)
        got = getattr(nd, name)(array, axis=axis).asnumpy().astype("float64").reshape(want.shape)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * abs(want).max(), err_msg=name)
    if dtype != "int32":
        want = np.sqrt((exact**2).sum(axis=axis))
        got = nd.norm(array, axis=axis).asnumpy().astype("float64").reshape(want.shape)
        np.testing.assert_allclose(got, want, rtol=tolerance)
        mean, variance = nd.moments(array, axes=axis)
        np.testing.assert_allclose(
            variance.asnumpy().reshape(want.shape), exact.var(axis=axis), rtol=tolerance
        )
        np.testing.assert_allclose(
            mean.asnumpy().reshape(want.shape), exact.mean(axis=axis), rtol=tolerance, atol=10 * tolerance
        )


@pytest.mark.parametrize(("shape", "axis"), [s for s in SHAPES if isinstance(s[1], int)])
def test_lines(shape, axis):
    x = numbers(shape)
    array = nd.array(x)
    assert (nd.argmax(array, axis=axis).asnumpy() == x.argmax(axis)).all()
    assert (nd.argmin(array, axis=axis).asnumpy() == x.argmin(axis)).all()
    sums = nd.cumsum(array, axis=axis).asnumpy()
    np.testing.assert_allclose(sums, x.astype("float64").cumsum(axis), rtol=2e-4, atol=2e-2)  # in float32
    exact = x.astype("float64")
    powers = np.exp(exact - exact.max(axis, keepdims=True))
    soft = powers / powers.sum(axis, keepdims=True)
    array.attach_grad()
    with autograd.record():
        y = nd.softmax(array, axis=axis)
    head = numbers(shape, 1)
    y.backward(nd.array(head))
    np.testing.assert_allclose(y.asnumpy(), soft, rtol=2e-5, atol=1e-8)
    grad = soft * (head - (soft * head).sum(axis, keepdims=True))
    np.testing.assert_allclose(array.grad.asnumpy(), grad, rtol=1e-3, atol=2e-5 * abs(grad).max())
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(
            nd.log_softmax(array, axis=axis).asnumpy(), np.log(soft), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((40, 3, 50, 51), 1),
        ((9, 64, 8, 8), 1),
        ((64, 5, 16, 16), 1),
        ((500, 64), 1),
        ((5000, 7), 1),
        ((2000, 8, 16), 2),
    ],
)
def test_batch_norm(shape, axis):
    x, head = numbers(shape) + 30, numbers(shape, 1)
    channels = shape[axis]
    data, gamma, beta = nd.array(x), nd.array(numbers(channels, 2)), nd.array(numbers(channels, 3))
    mean, var = nd.zeros(channels), nd.ones(channels)
    for array in (data, gamma, beta):
        array.attach_grad()
    with autograd.record():
        y = nd.BatchNorm(data, gamma, beta, mean, var, fix_gamma=False, axis=axis, eps=1e-3)
    y.backward(nd.array(head))
    others = tuple(i for i in range(len(shape)) if i != axis)
    along = [1] * len(shape)
    along[axis] = channels
    exact, g = x.astype("float64"), head.astype("float64")
    inverse = 1 / np.sqrt(exact.var(others, keepdims=True) + 1e-3)
    normal = (exact - exact.mean(others, keepdims=True)) * inverse
    scale = gamma.asnumpy().reshape(along)
    np.testing.assert_allclose(
        y.asnumpy(), normal * scale + beta.asnumpy().reshape(along), rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(
        gamma.grad.asnumpy(), (g * normal).sum(others), rtol=1e-4, atol=1e-5 * x.size / channels
    )
    np.testing.assert_allclose(beta.grad.asnumpy(), g.sum(others), rtol=1e-5)
    to_data = (
        scale
        * inverse
        * (g - g.mean(others, keepdims=True) - normal * (g * normal).mean(others, keepdims=True))
    )
    np.testing.assert_allclose(data.grad.asnumpy(), to_data, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(mean.asnumpy(), 0.1 * exact.mean(others), rtol=1e-5)
    np.testing.assert_allclose(var.asnumpy(), 0.9 + 0.1 * exact.var(others), rtol=1e-4)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((3000, 33), -1), ((5, 9000), -1), ((30, 50, 60), 1), ((70, 256), -1), ((9, 4096), -1)],
)
def test_layer_norm(shape, axis):
    x, head, size = numbers(shape), numbers(shape, 1), shape[axis]
    data, gamma, beta = nd.array(x), nd.array(numbers(size, 2)), nd.array(numbers(size, 3))
    for array in (data, gamma, beta):
        array.attach_grad()
    with autograd.record():
        y = nd.LayerNorm(data, gamma, beta, axis=axis)
    y.backward(nd.array(head))
    along = [1] * len(shape)
    along[axis] = size
    exact, g = x.astype("float64"), head.astype("float64")
    inverse = 1 / np.sqrt(exact.var(axis, keepdims=True) + 1e-5)
    normal = (exact - exact.mean(axis, keepdims=True)) * inverse
    scale = gamma.asnumpy().reshape(along)
    np.testing.assert_allclose(
        y.asnumpy(), normal * scale + beta.asnumpy().reshape(along), rtol=1e-4, atol=1e-4
    )
    others = tuple(i for i in range(len(shape)) if i != axis % len(shape))
    np.testing.assert_allclose(gamma.grad.asnumpy(), (g * normal).sum(others), rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(beta.grad.asnumpy(), g.sum(others), rtol=1e-4, atol=1e-3)
    scaled = g * scale
    to_data = inverse * (
        scaled - scaled.mean(axis, keepdims=True) - normal * (scaled * normal).mean(axis, keepdims=True)
    )
    np.testing.assert_allclose(data.grad.asnumpy(), to_data, rtol=1e-3, atol=1e-4)


def on_both(make):
    """What `make` gives on the device of the test and on the host, from the same seed."""
    got = []
    for device in (mx.current_context(), mx.cpu()):
        with device:
            mx.random.seed(11, ctx=device)
            result = make()
            got.append([a.asnumpy() for a in (result if isinstance(result, (list, tuple)) else [result])])
    return zip(*got)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_draws_are_the_hosts(dtype):
    draws = {
        "uniform": lambda: [nd.random.uniform(-2, 3, (n,), dtype=dtype) for n in (7, 10001)],
        "normal": lambda: [nd.random.normal(1, 2, (n,), dtype=dtype) for n in (7, 10001)],
        "gamma": lambda: nd.random.gamma(0.5, 2, (3001,), dtype=dtype),
        "exponential": lambda: nd.random.exponential(2, (3001,), dtype=dtype),
        "poisson": lambda: [nd.random.poisson(lam, (3001,), dtype=dtype) for lam in (2, 40)],
        "negative": lambda: nd.random.negative_binomial(3, 0.4, (3001,), dtype=dtype),
        "integers": lambda: nd.random.randint(-5, 1 << 20, (3001,)),
        "choices": lambda: nd.random.multinomial(nd.array([[0.1, 0.2, 0.7], [0.5, 0, 0.5]]), 501),
    }
    exact = {"uniform", "integers", "choices"}
    for name, make in draws.items():
        for ours, hosts in on_both(make):
            if name in exact and dtype != "float64":
                np.testing.assert_array_equal(ours, hosts, err_msg=name)
            else:
                np.testing.assert_allclose(ours, hosts, rtol=1e-3 if dtype == "float16" else 2e-5, atol=1e-5)


def test_dropout_is_the_hosts():
    def drop():
        first = nd.random.uniform(shape=(3,))  # an odd place in the stream
        with autograd.train_mode():
            shared = nd.Dropout(nd.ones((33, 77, 5)), p=0.3, axes=(1,))
            return [first, nd.Dropout(nd.ones((101, 103)), p=0.3), shared]

    for ours, hosts in on_both(drop):
        np.testing.assert_array_equal(ours, hosts)


@pytest.mark.parametrize("weights", [1, 70])
def test_many_weights_are_updated_at_once(weights):
    arrays = [[numbers((17 * i + 3,), 3 * i + k) for k in range(3)] for i in range(weights)]
    rates = [0.1 + 0.01 * i for i in range(weights)]
    flat = [nd.array(a) for group in arrays for a in group]
    outs = [flat[3 * i] for i in range(weights)]
    nd.multi_sgd_mom_update(
        *flat, lrs=rates, wds=[0.01] * weights, momentum=0.9, num_weights=weights, out=outs
    )
    for i, (w, g, m) in enumerate(arrays):
        kept = 0.9 * m - rates[i] * (g + 0.01 * w)
        np.testing.assert_allclose(flat[3 * i + 2].asnumpy(), kept, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(outs[i].asnumpy(), w + kept, rtol=1e-5, atol=1e-6)
    squares = nd.multi_sum_sq(*[nd.array(group[0]) for group in arrays], num_arrays=weights).asnumpy()
    np.testing.assert_allclose(
        squares, [(group[0].astype("float64") ** 2).sum() for group in arrays], rtol=1e-5
    )
