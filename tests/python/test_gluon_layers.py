# SPDX-License-Identifier: Apache-2.0
"""Gluon's layers and losses: NumPy references, and the same results and gradients hybridized or not."""

import math

import loomix as mx
import numpy as np
import pytest
from loomix import autograd
from loomix.gluon import loss as losses
from loomix.gluon import nn

pytestmark = pytest.mark.library

nd = mx.nd
needs_deconvolution = pytest.mark.skipif(not hasattr(nd, "Deconvolution"), reason="no Deconvolution yet")

LAYERS = {
    "dense": (lambda: nn.Dense(3), (4, 5)),
    "dense tanh": (lambda: nn.Dense(3, activation="tanh"), (4, 2, 3)),
    "dense unflattened": (lambda: nn.Dense(3, flatten=False, use_bias=False), (4, 2, 5)),
    "dropout": (lambda: nn.Dropout(0.4), (5, 6)),
    "dropout axes": (lambda: nn.Dropout(0.4, axes=(1,)), (5, 6)),
    "no dropout": (lambda: nn.Dropout(0), (5, 6)),
    "batch norm": (lambda: nn.BatchNorm(), (4, 3, 5)),
    "batch norm last axis": (lambda: nn.BatchNorm(axis=-1, momentum=0.5), (4, 5, 3)),
    "batch norm fixed": (lambda: nn.BatchNorm(scale=False, center=False), (4, 3)),
    "batch norm global": (lambda: nn.BatchNorm(use_global_stats=True), (4, 3)),
    "batch norm relu": (lambda: nn.BatchNormReLU(), (4, 3, 2)),
    "instance norm": (lambda: nn.InstanceNorm(scale=True), (2, 3, 5)),
    "instance norm axis": (lambda: nn.InstanceNorm(axis=2), (2, 5, 3)),
    "layer norm": (lambda: nn.LayerNorm(), (4, 6)),
    "layer norm axis": (lambda: nn.LayerNorm(axis=1, scale=False), (4, 6, 2)),
    "group norm": (lambda: nn.GroupNorm(2), (3, 4, 5)),
    "flatten": (lambda: nn.Flatten(), (3, 4, 5)),
    "lambda": (lambda: nn.HybridLambda("tanh"), (3, 4)),
    "lambda function": (lambda: nn.HybridLambda(lambda F, x: F.exp(x) + 1), (3, 4)),
    "conv1d": (lambda: nn.Conv1D(4, 3, strides=2, padding=1), (2, 3, 9)),
    "conv2d": (lambda: nn.Conv2D(4, 3, activation="relu"), (2, 3, 7, 6)),
    "conv2d groups": (lambda: nn.Conv2D(4, (3, 2), groups=2, dilation=(1, 2), use_bias=False), (2, 4, 7, 6)),
    "conv3d": (lambda: nn.Conv3D(2, 2), (2, 3, 3, 4, 3)),
    "max pool 1d": (lambda: nn.MaxPool1D(), (2, 3, 8)),
    "max pool 2d": (lambda: nn.MaxPool2D(3, 2, 1), (2, 3, 8, 7)),
    "max pool 2d ceil": (lambda: nn.MaxPool2D(2, 2, ceil_mode=True), (2, 3, 7, 7)),
    "max pool 3d": (lambda: nn.MaxPool3D(), (2, 3, 4, 4, 4)),
    "avg pool 1d": (lambda: nn.AvgPool1D(), (2, 3, 8)),
    "avg pool 2d": (lambda: nn.AvgPool2D(3, 2, 1, count_include_pad=False), (2, 3, 8, 7)),
    "avg pool 3d": (lambda: nn.AvgPool3D(), (2, 3, 4, 4, 4)),
    "global max pool 1d": (lambda: nn.GlobalMaxPool1D(), (2, 3, 8)),
    "global max pool 2d": (lambda: nn.GlobalMaxPool2D(), (2, 3, 8, 7)),
    "global max pool 3d": (lambda: nn.GlobalMaxPool3D(), (2, 3, 4, 4, 4)),
    "global avg pool 1d": (lambda: nn.GlobalAvgPool1D(), (2, 3, 8)),
    "global avg pool 2d": (lambda: nn.GlobalAvgPool2D(), (2, 3, 8, 7)),
    "global avg pool 3d": (lambda: nn.GlobalAvgPool3D(), (2, 3, 4, 4, 4)),
    "reflection pad": (lambda: nn.ReflectionPad2D(2), (2, 3, 5, 4)),
    "relu": (lambda: nn.Activation("relu"), (3, 4)),
    "softsign": (lambda: nn.Activation("softsign"), (3, 4)),
    "leaky relu": (lambda: nn.LeakyReLU(0.2), (3, 4)),
    "prelu": (lambda: nn.PReLU(), (3, 4)),
    "prelu channels": (lambda: nn.PReLU(in_channels=4), (3, 4, 2)),
    "elu": (lambda: nn.ELU(0.7), (3, 4)),
    "selu": (lambda: nn.SELU(), (3, 4)),
    "gelu": (lambda: nn.GELU(), (3, 4)),
    "swish": (lambda: nn.Swish(1.5), (3, 4)),
}
TRANSPOSED = {
    "conv1d transposed": (lambda: nn.Conv1DTranspose(4, 3, strides=2, output_padding=1), (2, 3, 5)),
    "conv2d transposed": (lambda: nn.Conv2DTranspose(4, 3, strides=2, padding=1), (2, 3, 4, 5)),
    "conv3d transposed": (lambda: nn.Conv3DTranspose(2, 2), (2, 3, 3, 2, 3)),
}
CASES = [pytest.param(*case, id=name) for name, case in LAYERS.items()]
CASES += [pytest.param(*case, id=name, marks=needs_deconvolution) for name, case in TRANSPOSED.items()]


def passes(net, arrays, weights):
    """Outputs and gradients of two recorded passes, the first with the random numbers of seed 5."""
    results = []
    mx.random.seed(5)
    for _ in range(2):
        for array in arrays:
            array.attach_grad()
        with autograd.record():
            out = net(*arrays)
            scaled = out * weights
        scaled.backward()
        results += [out.asnumpy(), *(array.grad.asnumpy() for array in arrays)]
        for param in net.collect_params().values():
            results.append((param.data() if param.grad_req == "null" else param.grad()).asnumpy())
    return results


@pytest.mark.parametrize(("make", "shape"), CASES)
def test_hybridized_is_eager(make, shape):
    mx.random.seed(1)
    x = nd.random.normal(shape=shape)
    net = make()
    net.initialize(mx.init.Normal(0.5))
    out = net(x)
    weights = nd.random.normal(shape=out.shape)
    start = {key: param.data().copy() for key, param in net.collect_params().items()}
    eager = passes(net, [x], weights)
    for key, param in net.collect_params().items():
        param.set_data(start[key])
    net.hybridize()
    np.testing.assert_array_equal(net(x).asnumpy().shape, out.shape)
    hybrid = passes(net, [x], weights)
    assert len(eager) == len(hybrid) and any(np.abs(item).max() > 0 for item in eager[1:])
    for one, other in zip(eager, hybrid):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)


def randoms(*shapes):
    rng = np.random.default_rng(3)
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def test_dense_is_a_matrix_product():
    (x,) = randoms((4, 2, 3))
    net = nn.Dense(5, activation="sigmoid", in_units=6)
    net.initialize(mx.init.Normal(1))
    weight, bias = net.weight.data().asnumpy(), net.bias.data().asnumpy()
    expected = 1 / (1 + np.exp(-(x.reshape(4, 6) @ weight.T + bias)))
    np.testing.assert_allclose(net(nd.array(x)).asnumpy(), expected, rtol=1e-5)


def test_batch_norm_keeps_moving_averages():
    (x,) = randoms((8, 3, 4))
    net = nn.BatchNorm(momentum=0.8, epsilon=1e-3)
    net.initialize()
    with autograd.record():
        out = net(nd.array(x))
    out.backward()
    mean, var = x.mean((0, 2)), x.var((0, 2))
    expected = (x - mean[:, None]) / np.sqrt(var[:, None] + 1e-3)
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(net.running_mean.data().asnumpy(), 0.2 * mean, rtol=1e-4, atol=1e-6)
    running = net.running_var.data().asnumpy()
    np.testing.assert_allclose(running, 0.8 + 0.2 * var, rtol=0.03)
    expected = (x - 0.2 * mean[:, None]) / np.sqrt(running[:, None] + 1e-3)
    np.testing.assert_allclose(net(nd.array(x)).asnumpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "axes", "shape"),
    [
        (lambda: nn.LayerNorm(epsilon=1e-3), (2,), (2, 4, 6)),
        (lambda: nn.InstanceNorm(epsilon=1e-3), (2,), (2, 4, 6)),
        (lambda: nn.GroupNorm(1, epsilon=1e-3), (1, 2), (2, 4, 6)),
    ],
)
def test_normalisations(make, axes, shape):
    (x,) = randoms(shape)
    net = make()
    net.initialize()
    expected = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-3)
    np.testing.assert_allclose(net(nd.array(x)).asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_convolution_and_pool():
    (x,) = randoms((1, 2, 4, 4))
    net = nn.Conv2D(3, 3, padding=1)
    net.initialize(mx.init.Normal(1))
    out = net(nd.array(x)).asnumpy()
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    weight = net.weight.data().asnumpy()
    expected = [
        [[(padded[0, :, i : i + 3, j : j + 3] * weight[k]).sum() for j in range(4)] for i in range(4)]
        for k in range(3)
    ]
    np.testing.assert_allclose(out[0], expected, rtol=1e-4, atol=1e-5)
    blocks = x.reshape(1, 2, 2, 2, 2, 2)
    assert (nn.MaxPool2D()(nd.array(x)).asnumpy() == blocks.max((3, 5))).all()
    np.testing.assert_allclose(nn.AvgPool2D()(nd.array(x)).asnumpy(), blocks.mean((3, 5)), rtol=1e-5)
    assert nn.GlobalMaxPool2D()(nd.array(x)).shape == (1, 2, 1, 1)


def test_embedding():
    net = nn.Embedding(4, 2)
    net.initialize(mx.init.Normal(1))
    table = net.weight.data().asnumpy()
    for _ in range(2):
        with autograd.record():
            out = net(nd.array([[1, 3], [1, 0]]))
        out.backward()
        assert (out.asnumpy() == table[[[1, 3], [1, 0]]]).all()
        assert net.weight.grad().asnumpy()[:, 0].tolist() == [1, 2, 0, 1]
        net.hybridize()
    assert nn.Embedding(4, 2, sparse_grad=True).weight.grad_stype == "row_sparse"


def test_reflection():
    x = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    expected = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), "reflect")
    assert (nn.ReflectionPad2D(1)(nd.array(x)).asnumpy() == expected).all()


def test_errors_of_layers():
    with pytest.raises(ValueError, match="layout is 'NCWH'; expected 'NCHW' or 'NHWC'"):
        nn.Conv2D(1, 1, layout="NCWH")
    with pytest.raises(ValueError, match="kernel_size is .*expected a number or 2 of them"):
        nn.Conv2D(1, (1, 1, 1))
    with pytest.raises(ValueError, match="alpha is -1"):
        nn.LeakyReLU(-1)
    with pytest.raises(ValueError, match="function 'no_such'"):
        nn.HybridLambda("no_such")
    with pytest.raises(TypeError, match="unexpected keyword argument 'unit'"):
        nn.Dense(3, unit=3)


# ---- losses ----

P, L = randoms((4, 3), (4, 3))
SIGNS = np.where(L > 0, 1, -1).astype(np.float32)
BINARY = (L > 0).astype(np.float32)
CLASSES = np.array([2, 0, 1, 2], np.float32)
POSITIVE = np.abs(L) + 0.1


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def softplus(x):
    return np.log1p(np.exp(x))


def cosine(x, y):
    return (x * y).sum(-1) / np.linalg.norm(x, axis=-1) / np.linalg.norm(y, axis=-1)


def smoothed(x, y, share=0.3):
    distances = ((x[:, None] - y[None]) ** 2).sum(2)
    own = np.eye(len(x))
    labels = own * (1 - share) + (1 - own) * share / (len(x) - 1)
    return (labels * (np.log(labels) - log_softmax(-distances))).sum(1)


LOSSES = {
    "l2": (losses.L2Loss(), (P, L), ((P - L) ** 2).mean(1) / 2),
    "l2 weighted": (losses.L2Loss(weight=3), (P, L), ((P - L) ** 2).mean(1) * 1.5),
    "l1": (losses.L1Loss(), (P, L), np.abs(P - L).mean(1)),
    "sigmoid": (
        losses.SigmoidBCELoss(),
        (P, BINARY),
        (softplus(-P) * BINARY + softplus(P) * (1 - BINARY)).mean(1),
    ),
    "sigmoid probabilities": (
        losses.SigmoidBCELoss(from_sigmoid=True),
        (1 / (1 + np.exp(-P)), BINARY),
        (softplus(-P) * BINARY + softplus(P) * (1 - BINARY)).mean(1),
    ),
    "softmax": (
        losses.SoftmaxCELoss(),
        (P, CLASSES),
        -log_softmax(P)[np.arange(4), CLASSES.astype(int)],
    ),
    "softmax axis": (
        losses.SoftmaxCELoss(axis=0, batch_axis=1),
        (P.T.copy(), CLASSES[None]),
        -log_softmax(P)[np.arange(4), CLASSES.astype(int)],
    ),
    "softmax dense": (
        losses.SoftmaxCELoss(sparse_label=False),
        (P, POSITIVE),
        -(log_softmax(P) * POSITIVE).sum(1),
    ),
    "softmax logits": (losses.SoftmaxCELoss(from_logits=True), (P, CLASSES), -P[np.arange(4), CLASSES.astype(int)]),
    "kl": (losses.KLDivLoss(), (P, POSITIVE), (POSITIVE * (np.log(POSITIVE) - P)).sum(1)),
    "kl softmax": (
        losses.KLDivLoss(from_logits=False),
        (P, POSITIVE),
        (POSITIVE * (np.log(POSITIVE) - log_softmax(P))).sum(1),
    ),
    "huber": (
        losses.HuberLoss(rho=0.5),
        (P, L),
        np.where(np.abs(P - L) > 0.5, np.abs(P - L) - 0.25, (P - L) ** 2).mean(1),
    ),
    "hinge": (losses.HingeLoss(), (P, SIGNS), np.maximum(0, 1 - P * SIGNS).mean(1)),
    "squared hinge": (losses.SquaredHingeLoss(margin=2), (P, SIGNS), (np.maximum(0, 2 - P * SIGNS) ** 2).mean(1)),
    "logistic": (losses.LogisticLoss(), (P, SIGNS), softplus(-P * SIGNS).mean(1)),
    "logistic binary": (
        losses.LogisticLoss(label_format="binary"),
        (P, BINARY),
        softplus(-P * np.where(BINARY > 0, 1, -1)).mean(1),
    ),
    "triplet": (
        losses.TripletLoss(margin=2),
        (P, L, P[::-1].copy()),
        np.maximum(0, ((L - P) ** 2 - (P[::-1] - P) ** 2).sum(1) + 2),
    ),
    "poisson": (losses.PoissonNLLLoss(), (P, POSITIVE), (np.exp(P) - POSITIVE * P).mean(keepdims=True)[0]),
    "poisson counts": (
        losses.PoissonNLLLoss(from_logits=False, compute_full=True),
        (np.exp(P), np.array([[0, 1, 2]] * 4, np.float32)),
        np.array([
            (np.exp(P) - np.array([0, 1, 2]) * P).mean()
            + (2 * math.log(2) - 2 + 0.5 * math.log(4 * math.pi)) / 3
        ]),
    ),
    "cosine": (
        losses.CosineEmbeddingLoss(margin=0.1),
        (P, L, SIGNS[:, 0].copy()),
        np.where(SIGNS[:, 0] == 1, 1 - cosine(P, L), np.maximum(0, cosine(P, L) - 0.1))[:, None],
    ),
    "sdml": (losses.SDMLLoss(), (P, L), smoothed(P.astype(np.float64), L.astype(np.float64))),
}  # fmt: skip


@pytest.mark.parametrize(("loss", "inputs", "expected"), LOSSES.values(), ids=LOSSES)
def test_losses(loss, inputs, expected):
    arrays = [nd.array(item) for item in inputs]
    results = []
    for hybrid in (False, True):
        loss.hybridize(hybrid)
        arrays[0].attach_grad()
        with autograd.record():
            out = loss(*arrays)
        out.backward()
        np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-4, atol=1e-5)
        results.append(arrays[0].grad.asnumpy())
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-6)
    assert np.abs(results[0]).max() > 0


def test_sample_weights():
    weights = np.array([[1.0], [0], [2], [0.5]], np.float32)
    expected = ((P - L) ** 2).mean(1) / 2 * weights[:, 0]
    for hybrid in (False, True):
        loss = losses.L2Loss()
        loss.hybridize(hybrid)
        out = loss(nd.array(P), nd.array(L), nd.array(weights))
        np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-5)
    positive = np.array([[2.0, 1, 3]], np.float32)
    out = losses.SigmoidBCELoss()(nd.array(P), nd.array(BINARY), None, nd.array(positive))
    expected = (softplus(-P) * BINARY * positive + softplus(P) * (1 - BINARY)).mean(1)
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-5)


# What MXNet gives.
@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize(
    "steps, label, lengths",
    [
        (20, [[1, 0, -1, -1], [2, 1, 1, -1]], ()),
        (20, [[2, 1, 2, 2], [3, 2, 2, 2]], (None, [2, 3])),
        (25, [[2, 1, -1, -1], [3, 2, 2, -1]], ([20, 20],)),
        (25, [[2, 1, 3, 3], [3, 2, 2, 3]], ([20, 20], [2, 3])),
    ],
)
def test_ctc(steps, label, lengths, hybrid):
    loss = losses.CTCLoss()
    loss.hybridize(hybrid)
    given = [length and nd.array(length) for length in lengths]
    out = loss(nd.ones((2, steps, 4)), nd.array(label), *given)
    np.testing.assert_allclose(out.asnumpy(), [18.82820702, 16.50581741], rtol=1e-4)


def test_errors_of_losses():
    with pytest.raises(ValueError, match="label_format is 'ternary'"):
        losses.LogisticLoss(label_format="ternary")
    with pytest.raises(ValueError, match="layout is 'CNT'"):
        losses.CTCLoss(layout="CNT")
