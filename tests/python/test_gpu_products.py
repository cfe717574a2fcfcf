# SPDX-License-Identifier: Apache-2.0
"""Products on a GPU that end with a bias, beside the CPU's."""

import os
import pathlib
import subprocess
import sys

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


# ---- layers that end with max(x, 0) ----


def network(flatten=True, no_bias=False):
    net = mx.sym.Variable("data")
    for i, hidden in enumerate((8, 7)):
        net = mx.sym.FullyConnected(net, num_hidden=hidden, flatten=flatten, no_bias=no_bias, name=f"fc{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
    return mx.sym.FullyConnected(net, num_hidden=3, name="fc2")


def bound(net, ctx, dtype, shape, grad_req="write"):
    executor = net.simple_bind(ctx, data=shape, grad_req=grad_req, type_dict={"data": dtype})
    random = np.random.RandomState(3)
    for name in net.list_arguments():
        array = executor.arg_dict[name]
        array[:] = numbers(random, array.shape, mx.cpu(), "float64").astype(dtype).as_in_context(ctx)
        if executor.grad_dict[name] is not None:
            executor.grad_dict[name][:] = 1
    return executor


def passes(net, ctx, dtype, shape, grad_req="write", train=True):
    """What four passes give: from the third on a GPU plays what it recorded."""
    executor = bound(net, ctx, dtype, shape, grad_req if train else "null")
    found = []
    for _ in range(4):
        out = executor.forward(is_train=train)[0]
        found.append(out)
        if train:
            executor.backward(mx.nd.ones(out.shape, ctx=ctx, dtype=dtype))
            found += [executor.grad_dict[name] for name in net.list_arguments()]
        found = [a.astype("float64").asnumpy() if isinstance(a, mx.nd.NDArray) else a for a in found]
    return found


def operators(net, train, ctx=GPU, **shapes):
    return [operator.op for operator in net.explain(ctx, is_train=train, **shapes).operators]


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("no_bias", [False, True])
def test_an_activation_is_a_part_of_its_layer(train, no_bias):
    net = network(no_bias=no_bias)
    found = operators(net, train, data=(4, 5))
    assert found.count("_relu_FullyConnected") == 2 and found.count("FullyConnected") == 1
    assert "Activation" not in found
    assert operators(net, train, CPU, data=(4, 5)).count("Activation") == 2
    if not train:
        assert len(found) == 3
    closed = next(one for one in net.explain(GPU, is_train=train, data=(4, 5)).passes if one.name == "close")
    assert closed.before - closed.after == 2
    assert [name for one in closed.gone if one.op == "Activation" for name in one.names] == ["relu0", "relu1"]


def test_the_operator_relu_is_one_of_these():
    net = mx.sym.relu(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4))
    assert operators(net, True, data=(4, 5)).count("_relu_FullyConnected") == 1
    assert operators(mx.sym.clip(net.get_children(), 0, 6), False, data=(4, 5))[0] == "FullyConnected"


def test_it_can_be_switched_off():
    code = "import test_gpu_products as t; print(t.operators(t.network(), True, data=(4, 5)).count('Activation'))"
    found = {}
    for fuse in ("0", "1"):
        environment = {**os.environ, "LOOMIX_FUSE": fuse, "PYTHONPATH": str(pathlib.Path(__file__).parent)}
        found[fuse] = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        ).stdout
    assert found == {"0": "2\n", "1": "0\n"}


def test_one_that_something_else_reads_stays():
    sums = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4)
    positive = mx.sym.Activation(sums, act_type="relu")
    for net in (mx.sym.Group([sums, positive]), mx.sym.dot(sums, positive, transpose_b=True)):
        assert "_relu_FullyConnected" not in operators(net, False, data=(4, 5))
        assert "Activation" in operators(net, False, data=(4, 5))


def test_other_activations_stay():
    layer = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4)
    for net in (mx.sym.Activation(layer, act_type="tanh"), mx.sym.LeakyReLU(layer, act_type="gelu")):
        assert operators(net, False, data=(4, 5))[0] == "FullyConnected"


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("flatten", [False, True])
@pytest.mark.parametrize("train,grad_req", [(False, "null"), (True, "write"), (True, "add")])
def test_networks(dtype, flatten, train, grad_req):
    net, shape = network(flatten), (4, 2, 5)
    got = passes(net, GPU, dtype, shape, grad_req, train)
    want = passes(net, CPU, dtype, shape, grad_req, train)
    # Sums of two layers, of which each was rounded.
    close = {**CLOSE, "float16": 1e-2, "bfloat16": 8e-2}[dtype]
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=close, atol=close * max(1, np.abs(w).max()))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_a_network_that_is_not_joined_gives_the_same(dtype):
    """Max(x, 0) before rounding is max(x, 0) after it."""
    net = network()
    seen = bound(net, GPU, dtype, (4, 5), "null")
    alone = bound(net, GPU, dtype, (4, 5), "null")
    alone.set_monitor_callback(lambda name, array: None)
    got, want = (e.forward(is_train=False)[0].asnumpy() for e in (seen, alone))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_an_operator_alone_on_arrays_that_lie_anywhere(dtype):
    """A bias that begins where the library does not read, in a layer with an activation."""
    net = mx.sym.Activation(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="fc"), act_type="relu"
    )
    random = np.random.RandomState(1)
    data, weight = (numbers(random, s, GPU, dtype) for s in ((4, 3), (5, 3)))
    bias = numbers(random, (6,), GPU, dtype)[1:]
    executor = net.bind(GPU, {"data": data, "fc_weight": weight, "fc_bias": bias})
    x, w, b = (a.astype("float64").asnumpy() for a in (data, weight, bias))
    for _ in range(4):
        got = executor.forward(is_train=False)[0].astype("float64").asnumpy()
        np.testing.assert_allclose(got, np.maximum(x @ w.T + b, 0), rtol=CLOSE[dtype], atol=CLOSE[dtype])
