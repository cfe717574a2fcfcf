# SPDX-License-Identifier: Apache-2.0
"""Convolutions with a bias on GPUs: graphs of cuDNN's, the older interface where there is none, beside the host."""

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one")
ERRORS = {"float64": 1e-9, "float32": 2e-3, "float16": 2e-3, "bfloat16": 1e-2}  # TF32 has float16's bits


def arrays(shapes, dtype, ctx=None):
    random = np.random.RandomState(3)
    rounded = [mx.nd.array(random.uniform(-1, 1, shape)).astype(dtype) for shape in shapes]
    return [x.as_in_context(ctx) if ctx else x for x in rounded]


def agree(got, want, dtype):
    want = want.astype("float64").asnumpy()
    error = np.abs(got.astype("float64").asnumpy() - want).max()
    assert error <= ERRORS[dtype] * np.abs(want).max()


# spatial axes, then attributes
GEOMETRIES = {
    "plain": ((9, 8), {"kernel": (3, 3)}),
    "strided and padded": ((9, 8), {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 0)}),
    "dilated": ((11, 10), {"kernel": (3, 3), "dilate": (2, 3)}),
    "groups": ((7, 7), {"kernel": (3, 3), "num_group": 2}),
    "depthwise": ((7, 7), {"kernel": (3, 3), "num_group": 4}),
    "one axis": ((20,), {"kernel": (5,), "stride": (2,)}),
    "three axes": ((5, 6, 7), {"kernel": (2, 3, 3), "pad": (1, 1, 1)}),
}
LAYOUTS = {1: ("NCW",), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
CASES = [(name, layout) for name, (pixels, _) in GEOMETRIES.items() for layout in LAYOUTS[len(pixels)]]


@pytest.mark.parametrize("no_bias", [False, True])
@pytest.mark.parametrize("dtype", list(ERRORS))
@pytest.mark.parametrize("geometry, layout", CASES)
def test_agree_with_the_host(geometry, layout, dtype, no_bias):
    pixels, attributes = GEOMETRIES[geometry]
    first = LAYOUTS[len(pixels)][0]
    attributes = {**attributes, "num_filter": 8, "no_bias": no_bias}
    inside = 4 // attributes.get("num_group", 1)
    shapes = [(2, 4, *pixels), (8, inside, *attributes["kernel"]), (8,)][: 2 if no_bias else 3]
    on_host = arrays(shapes, dtype)
    want = mx.nd.Convolution(*(x.astype("float64") for x in on_host), layout=first, **attributes)
    there = [x.as_in_context(mx.gpu(0)) for x in on_host]
    if layout == first:
        agree(mx.nd.Convolution(*there, layout=first, **attributes), want, dtype)
        return
    order = (0, *range(2, len(pixels) + 2), 1)
    turned = [mx.nd.transpose(x, axes=order) if x.ndim > 1 else x for x in there]
    agree(mx.nd.Convolution(*turned, layout=layout, **attributes), mx.nd.transpose(want, axes=order), dtype)


def test_arrays_may_begin_anywhere():
    data, weight, bias = arrays(((3, 3, 9, 9), (4, 3, 3, 3), (5,)), "float32")

    def convolve(*inputs):
        return mx.nd.Convolution(*inputs, kernel=(3, 3), num_filter=4)

    want = convolve(data[1:], weight, bias[1:])
    there = [x.as_in_context(mx.gpu(0)) for x in (data, weight, bias)]
    agree(convolve(there[0][1:], there[1], there[2][1:]), want, "float32")


def test_results_are_added_to_what_is_there():
    """A transposed convolution's gradient of its data is a convolution."""
    grads = []
    for ctx in (mx.cpu(), mx.gpu(0)):
        data, weight = arrays(((2, 4, 6, 6), (4, 3, 3, 3)), "float32", ctx)
        data.attach_grad("add")
        for _ in range(2):
            with mx.autograd.record():
                out = mx.nd.Deconvolution(data, weight, kernel=(3, 3), num_filter=3, no_bias=True)
            out.backward()
        grads.append(data.grad)
    agree(grads[1], grads[0], "float32")


def test_several_run_at_once():
    """One plan for all: each has arrays of its own."""
    weight, bias = arrays(((8, 4, 3, 3), (8,)), "float32", mx.gpu(0))
    images = [mx.nd.full((2, 4, 9, 9), i, ctx=mx.gpu(0)) for i in range(12)]
    outs = [mx.nd.Convolution(x, weight, bias, kernel=(3, 3), num_filter=8) for x in images]
    flat = weight.asnumpy().sum(axis=(1, 2, 3))
    for i, out in enumerate(outs):
        want = np.broadcast_to((i * flat + bias.asnumpy())[:, None, None], (2, 8, 7, 7))
        np.testing.assert_allclose(out.asnumpy(), want, rtol=2e-3, atol=2e-2)


# ---- convolutions that end with max(x, 0) ----


def network(**attributes):
    """Two of them, and one that something else reads."""
    net = mx.sym.Variable("data")
    for i in range(2):
        net = mx.sym.Convolution(net, num_filter=8, kernel=(3, 3), pad=(1, 1), name=f"conv{i}", **attributes)
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
    last = mx.sym.Convolution(net, num_filter=8, kernel=(1, 1), name="conv2", **attributes)
    return last + mx.sym.relu(last)


def operators(net, train, dtype="float32", ctx=None):
    types = dict.fromkeys(net.list_arguments(), dtype)
    made = net.explain(ctx or mx.gpu(0), is_train=train, type_dict=types, data=(2, 4, 9, 8))
    return [operator.op for operator in made.operators]


def passes(net, ctx, dtype, train, grad_req):
    """What four passes give: from the third on a GPU plays what it recorded."""
    executor = net.simple_bind(
        ctx, data=(2, 4, 9, 8), grad_req=grad_req, type_dict=dict.fromkeys(net.list_arguments(), dtype)
    )
    for array, values in zip(
        executor.arg_arrays, arrays([a.shape for a in executor.arg_arrays], dtype), strict=True
    ):
        array[:] = values.as_in_context(ctx)
    found = []
    for _ in range(4):
        out = executor.forward(is_train=train)[0]
        if train:
            executor.backward(mx.nd.ones(out.shape, ctx=ctx, dtype=dtype))
        found += [a.copyto(mx.cpu()) for a in (out, *executor.grad_arrays) if a is not None]
    return found


@pytest.mark.parametrize("dtype", list(ERRORS))
@pytest.mark.parametrize("train, grad_req", [(False, "null"), (True, "write"), (True, "add")])
@pytest.mark.parametrize("attributes", [{}, {"num_group": 2}, {"no_bias": True}, {"cudnn_off": True}])
def test_networks_agree_with_the_host(dtype, train, grad_req, attributes):
    net = network(**attributes)
    got, want = (passes(net, ctx, dtype, train, grad_req) for ctx in (mx.gpu(0), mx.cpu()))
    for g, w in zip(got, want, strict=True):
        # Three layers, of which each was rounded. A number near 0 may be on its other side there, which gradients show.
        want64 = w.astype("float64").asnumpy()
        error = np.linalg.norm(g.astype("float64").asnumpy() - want64)
        assert error <= 10 * ERRORS[dtype] * np.linalg.norm(want64)


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_an_activation_is_a_part_of_its_convolution(train, dtype):
    found = operators(network(), train, dtype)
    assert found.count("_relu_Convolution") == 2 and found.count("Convolution") == 1
    assert "Activation" not in found


def test_one_without_a_graph_stays_apart():
    for found in (operators(network(), False, "float64"), operators(network(cudnn_off=True), False),
                  operators(network(algorithm="direct"), False)):  # fmt: skip
        assert "_relu_Convolution" not in found and found.count("Convolution") == 3
    assert "_relu_Convolution" not in operators(network(), False, ctx=mx.cpu())


def test_a_normalisation_between_is_worked_into_the_weight():
    net = mx.sym.Convolution(mx.sym.Variable("data"), num_filter=8, kernel=(3, 3), no_bias=True, name="conv")
    net = mx.sym.relu(mx.sym.BatchNorm(net, name="norm"))
    assert operators(net, False).count("_relu_Convolution") == 1
    assert operators(net, True).count("_relu_Convolution") == 0
