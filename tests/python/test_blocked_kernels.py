# SPDX-License-Identifier: Apache-2.0
"""Kernels that work in blocks of fixed size, on arrays that take several blocks: values of NumPy."""

import loomix as mx
import numpy as np
import pytest


def _random(*shape, seed=0, dtype="float32"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("shape", [(2, 5, 300), (3, 4, 7), (2, 3, 256)])
@pytest.mark.parametrize("operator", ["softmax", "log_softmax"])
def test_softmax_along_an_inner_axis(operator, shape):
    x, head = _random(*shape), _random(*shape, seed=1)
    data = mx.nd.array(x)
    data.attach_grad()
    with mx.autograd.record():
        y = getattr(mx.nd, operator)(data, axis=1)
    y.backward(mx.nd.array(head))
    wide = x.astype("float64")
    soft = np.exp(wide) / np.exp(wide).sum(1, keepdims=True)
    if operator == "softmax":
        expected, grad = soft, soft * (head - (head * soft).sum(1, keepdims=True))
    else:
        expected, grad = np.log(soft), head - soft * head.sum(1, keepdims=True)
    np.testing.assert_allclose(y.asnumpy(), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(data.grad.asnumpy(), grad, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("channels", [3, 600])
def test_batch_norm_with_channels_last(channels):
    x, head, gamma = _random(20, channels), _random(20, channels, seed=1), _random(channels, seed=2)
    data, scale, shift = mx.nd.array(x), mx.nd.array(gamma), mx.nd.zeros(channels)
    mean, variance = mx.nd.zeros(channels), mx.nd.ones(channels)
    for array in (data, scale, shift):
        array.attach_grad()
    with mx.autograd.record():
        y = mx.nd.BatchNorm(data, scale, shift, mean, variance, fix_gamma=False, eps=1e-3)
    y.backward(mx.nd.array(head))
    wide = x.astype("float64")
    inverse = 1 / np.sqrt(wide.var(0) + 1e-3)
    normal = (wide - wide.mean(0)) * inverse
    grad = gamma * inverse * (head - head.mean(0) - normal * (head * normal).mean(0))
    np.testing.assert_allclose(y.asnumpy(), normal * gamma, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(data.grad.asnumpy(), grad, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(scale.grad.asnumpy(), (head * normal).sum(0), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(shift.grad.asnumpy(), head.sum(0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(mean.asnumpy(), 0.1 * wide.mean(0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("width", [9, 1300])
def test_maxima_of_float64(width):
    x = _random(1, 2, 6, width, dtype="float64")
    x[0, 1, 2, width // 2] = np.nan
    y = mx.nd.Pooling(mx.nd.array(x, dtype="float64"), kernel=(3, 3), stride=(2, 2), pad=(1, 1))
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    out_height, out_width = y.shape[2:]
    expected = np.max(
        [
            padded[:, :, i : i + 2 * out_height - 1 : 2, j : j + 2 * out_width - 1 : 2]
            for i in range(3)
            for j in range(3)
        ],
        axis=0,
    )
    np.testing.assert_array_equal(y.asnumpy(), expected)


@pytest.mark.parametrize("beta", [0.75, 0.5])
def test_lrn_of_planes_longer_than_a_block(beta):
    x, head = _random(2, 6, 30, 20), _random(2, 6, 30, 20, seed=1)
    data = mx.nd.array(x)
    data.attach_grad()
    with mx.autograd.record():
        y = mx.nd.LRN(data, nsize=3, alpha=0.3, beta=beta, knorm=2)
    y.backward(mx.nd.array(head))

    def around(values):
        padded = np.pad(values, [(0, 0), (1, 1), (0, 0), (0, 0)])
        return padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]

    wide = x.astype("float64")
    base = 2 + 0.1 * around(wide**2)
    grad = head * base**-beta - 2 * 0.1 * beta * wide * around(head * wide * base ** (-beta - 1))
    np.testing.assert_allclose(y.asnumpy(), wide * base**-beta, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(data.grad.asnumpy(), grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 37)])
def test_prelu_gradient_of_slopes(shape):
    x, head, slopes = _random(*shape), _random(*shape, seed=1), np.abs(_random(5, seed=2))
    gamma = mx.nd.array(slopes)
    gamma.attach_grad()
    with mx.autograd.record():
        y = mx.nd.LeakyReLU(mx.nd.array(x), gamma, act_type="prelu")
    y.backward(mx.nd.array(head))
    axes = (0, 2)[: x.ndim - 1]
    expected = np.where(x > 0, 0, x * head).sum(axes)
    np.testing.assert_allclose(gamma.grad.asnumpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ratio", [2, 20])
def test_roi_align_with_more_points_than_a_batch(ratio):
    """The data is a plane that rises evenly, so that a place's value is that of its middle."""
    rows, columns = np.mgrid[0:12, 0:14]
    data = np.stack([rows + 10.0 * columns, 3.0 * rows - columns])[None].astype("float32")
    y = mx.nd.contrib.ROIAlign(
        mx.nd.array(data),
        mx.nd.array([[0, 2, 1, 10, 9], [-1, 0, 0, 3, 3]]),
        pooled_size=(4, 2),
        spatial_scale=1,
        sample_ratio=ratio,
    ).asnumpy()
    middle_rows = (1 + 8 * (np.arange(4) + 0.5) / 4)[:, None]
    middle_columns = (2 + 8 * (np.arange(2) + 0.5) / 2)[None]
    expected = np.stack([middle_rows + 10 * middle_columns, 3 * middle_rows - middle_columns])
    np.testing.assert_allclose(y[0], expected, rtol=1e-4)
    np.testing.assert_array_equal(y[1], 0)


@pytest.mark.parametrize("pooled", [3, 40])
def test_roi_pooling_in_blocks_of_places(pooled):
    data = _random(1, 70, 44, 44)
    data[0, 5, 7, 7] = np.nan
    y = mx.nd.ROIPooling(
        mx.nd.array(data),
        mx.nd.array([[0, 2, 1, 41, 40]]),
        pooled_size=(pooled, pooled),
        spatial_scale=1,
    ).asnumpy()
    part = np.float32(40) / np.float32(pooled)
    edges = [
        (int(np.floor(np.float32(i) * part)), int(np.ceil(np.float32(i + 1) * part))) for i in range(pooled)
    ]
    for i, (top, bottom) in enumerate(edges):
        for j, (left, right) in enumerate(edges):
            expected = data[0, :, 1 + top : 1 + bottom, 2 + left : 2 + right].max((1, 2))
            np.testing.assert_array_equal(y[0, :, i, j], expected)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad_and_its_gradient(mode):
    x = _random(2, 3, 6, 2100)
    data = mx.nd.array(x)
    data.attach_grad()
    with mx.autograd.record():
        y = mx.nd.pad(data, mode=mode, pad_width=(0, 0, 0, 0, 2, 1, 3, 4))
    head = _random(*y.shape, seed=1)
    y.backward(mx.nd.array(head))
    width = [(0, 0), (0, 0), (2, 1), (3, 4)]
    np.testing.assert_array_equal(y.asnumpy(), np.pad(x, width, mode=mode))
    source = np.pad(np.arange(1, x.size + 1).reshape(x.shape), width, mode=mode)
    expected = np.bincount(source.ravel(), weights=head.ravel(), minlength=x.size + 1)[1:].reshape(x.shape)
    np.testing.assert_allclose(data.grad.asnumpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(700, 3, 4), (5, 3, 1500), (2000, 2, 1)])
def test_sum_over_a_short_middle_axis(shape):
    x = _random(*shape)
    np.testing.assert_allclose(mx.nd.sum(mx.nd.array(x), axis=1).asnumpy(), x.sum(1), rtol=1e-5, atol=1e-5)
