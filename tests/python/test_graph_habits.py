# SPDX-License-Identifier: Apache-2.0
"""What scripts written for MXNet 1.x expect of symbols and executors; each answer is that of MXNet 1.9.1."""

import json

import loomix as mx
import numpy as np
import pytest
from loomix import nd


def dense(x, hidden=4, name="fc"):
    return mx.sym.FullyConnected(x, num_hidden=hidden, name=name)


def network():
    x = mx.sym.Convolution(mx.sym.Variable("data"), num_filter=4, kernel=(3, 3), name="conv")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, name="bn"), act_type="relu", name="act")
    return mx.sym.SoftmaxOutput(dense(mx.sym.Flatten(x, name="flat"), 3), name="softmax")


# Shapes


def test_shapes_follow_from_a_variables_attribute():
    data = mx.sym.Variable("data", shape=(128, 0))
    other = mx.sym.Variable("other")
    assert (data + other).infer_shape_partial() == ([(128, 0)] * 2, [(128, 0)], [])
    assert (data + other).infer_shape() == (None, None, None)
    assert (data + other).infer_shape(other=(0, 7)) == ([(128, 7)] * 2, [(128, 7)], [])
    weight = mx.sym.FullyConnected(other, data, num_hidden=128, name="fc")
    assert weight.infer_shape(other=(2, 7)) == ([(2, 7), (128, 7), (128,)], [(2, 128)], [])


def test_a_convolutions_data_follows_from_its_output():
    data = mx.sym.Variable("data", shape=(0, 10, 0, 0))
    made = mx.sym.Convolution(data, num_filter=21, kernel=(3, 3), pad=(1, 1), name="conv")
    shapes, _, _ = (made + mx.sym.Variable("other", shape=(5, 21, 32, 32))).infer_shape()
    assert shapes[0] == (5, 10, 32, 32)
    strided = mx.sym.Convolution(data, num_filter=21, kernel=(3, 3), stride=(2, 1), name="conv")
    shapes, _, _ = (strided + mx.sym.Variable("other", shape=(5, 21, 32, 32))).infer_shape_partial()
    assert shapes[0] == (5, 10, 0, 34)


def test_partly_known_shapes():
    a, b, c = (mx.sym.Variable(name) for name in "abc")
    where = mx.sym.where(a, b, c)
    assert where.infer_shape_partial(a=(0, 2), b=(0, 2), c=(0, 2))[1] == [()]
    assert where.infer_shape_partial(a=(0,), b=(2, 2), c=(2, 2))[1] == [()]
    assert where.infer_shape_partial(a=(2,), b=(2, 0), c=(0, 4)) == ([(2,), (2, 4), (2, 4)], [(2, 4)], [])
    product = mx.sym.batch_dot(a, b)
    assert product.infer_shape_partial(a=(0, 3, 4), b=(0, 4, 5))[1] == [(0, 3, 5)]
    assert product.infer_shape_partial(a=(0, 3, 4), b=(0, 0, 5))[1] == [()]


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("loaded", [False, True])
def test_files_of_both_rules_for_shapes(saved, loaded):
    with mx.util.np_shape(saved):
        unknown = -1 if saved else 0
        weight = mx.sym.var("weight", shape=(128, unknown))
        text = mx.sym.FullyConnected(mx.sym.var("data"), weight, num_hidden=128, name="fc").tojson()
    assert ("is_np_shape" in json.loads(text)["attrs"]) == saved
    if saved and not loaded:
        return  # -1 is no size by the old rule
    with mx.util.np_shape(loaded):
        shapes, outputs, _ = mx.sym.load_json(text).infer_shape(data=(10, 784))
    assert shapes == [(10, 784), (128, 784), (128,)] and outputs == [(10, 128)]


# Executors


def test_reshaped_executors_share_what_fits():
    run = dense(mx.sym.Variable("x")).simple_bind(mx.cpu(), grad_req="null", x=(5, 4))
    run.arg_dict["x"][:] = 1
    run.arg_dict["fc_weight"][:] = 1
    run.forward(is_train=False)
    smaller = run.reshape(x=(3, 4))
    smaller.arg_dict["x"][:] = 2
    smaller.forward(is_train=False)
    assert run.outputs[0].asnumpy()[:, 0].tolist() == [8, 8, 8, 4, 4]
    larger = run.reshape(allow_up_sizing=True, x=(6, 4))
    larger.arg_dict["x"][:] = 3
    larger.arg_dict["fc_weight"][:] = 2
    larger.forward(is_train=False)
    assert run.outputs[0].asnumpy()[:, 0].tolist() == [8, 8, 8, 4, 4]
    assert run.arg_dict["x"].asnumpy()[:, 0].tolist() == [2, 2, 2, 1, 1]
    assert run.arg_dict["fc_weight"].asnumpy().max() == 2


def test_equal_expressions_are_merged_as_asked_for_at_each_bind(monkeypatch):
    a = mx.sym.Variable("a")
    x = mx.sym.sum(a, axis=0, name="first") + mx.sym.sum(a, axis=0, name="second")
    noise = mx.sym.random.uniform(shape=(2,)) - mx.sym.random.uniform(shape=(2,))
    counts, results = [], []
    for value in ("0", "1", None):
        if value is None:
            monkeypatch.delenv("MXNET_ELIMINATE_COMMON_EXPR")
        else:
            monkeypatch.setenv("MXNET_ELIMINATE_COMMON_EXPR", value)
        run = x.simple_bind(mx.cpu(), a=(2,))
        run.arg_dict["a"][:] = 0.5
        results.append(run.forward(is_train=True)[0].asnumpy())
        counts.append(run.debug_str().count(" sum "))
        names = run.get_optimized_symbol().get_internals().list_outputs()
        assert ("second_output" in names) == (value == "0")
        assert noise.simple_bind(mx.cpu()).forward()[0].asnumpy().max() != 0
    assert counts[0] > counts[1] == counts[2]
    np.testing.assert_array_equal(results[0], results[1])


# Monitors

FORWARD = ["conv_output", "bn_output", "bn_mean", "bn_var", "act_output", "flat_output", "fc_output"]
FORWARD = [*FORWARD, "softmax_output"]
BACKWARD = [
    "softmax_backward_output0",  # in MXNet also softmax_backward_output1, of the label: zeros
    *("fc_backward_output0", "fc_backward_output1", "fc_backward_output2"),
    *("flat_backward_output", "act_backward_output"),
    *("bn_backward_output0", "bn_backward_output1", "bn_backward_output2"),
    *("conv_backward_output0", "conv_backward_output1", "conv_backward_output2"),
]
WITH_INPUTS = [
    *("data", "conv_data", "conv_weight", "conv_weight", "conv_bias", "conv_bias", "conv_output"),
    *("bn_data", "bn_gamma", "bn_gamma", "bn_beta", "bn_beta", "bn_moving_mean", "bn_moving_mean"),
    *("bn_moving_var", "bn_moving_var", "bn_output", "bn_mean", "bn_var", "act_input0", "act_output"),
    *("flat_input0", "flat_output", "fc_data", "fc_weight", "fc_weight", "fc_bias", "fc_bias", "fc_output"),
    *("softmax_data", "softmax_label", "softmax_label", "softmax_output"),
]


def _watched_network(monitor_all):
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
    net = mx.sym.flatten(mx.sym.Activation(net, act_type="relu", name="act"), name="flat")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3, name="fc"), name="softmax")
    run = net.simple_bind(mx.cpu(), data=(2, 1, 6, 6))
    run.arg_dict["data"][:] = 3
    seen = []
    run.set_monitor_callback(lambda name, array: seen.append((name, array)), monitor_all)
    run.forward(is_train=True)
    count = len(seen)
    run.backward()
    return seen[:count], seen[count:]


def test_a_monitor_sees_what_mxnet_shows():
    forward, backward = _watched_network(False)
    assert [name for name, _ in forward] == FORWARD
    assert [name for name, _ in backward] == BACKWARD
    forward, backward = _watched_network(True)
    assert [name for name, _ in forward] == WITH_INPUTS
    shapes = {name: array.shape for name, array in forward}
    assert shapes["data"] == shapes["conv_data"] == (2, 1, 6, 6) and shapes["fc_weight"] == (3, 64)
    # MXNet reads gradient, data and weight, in this order; here the gradient is several operators.
    shapes = {name: array.shape for name, array in backward}
    assert [shapes[f"fc_backward_input{i}"] for i in range(3)] == [(2, 3), (2, 64), (3, 64)]
    assert [shapes[f"conv_backward_input{i}"] for i in range(3)] == [(2, 4, 4, 4), (2, 1, 6, 6), (4, 1, 3, 3)]


def test_inputs_that_have_no_name_of_their_own():
    a, b = mx.sym.var("a"), mx.sym.var("b")
    net = mx.sym.concat(mx.sym.tanh(a, name="t") * 2, b, name="cat")
    net = mx.sym.tile(mx.sym.sum(net, axis=1, name="sum"), reps=2, name="tile")
    run = net.simple_bind(mx.cpu(), a=(2, 3), b=(2, 3))
    seen = []
    run.set_monitor_callback(lambda name, array: seen.append(name), True)
    run.forward()
    scaled = next(name for name in seen if name.endswith("_input0") and name != "t_input0").removesuffix(
        "_input0"
    )
    assert seen == [
        *("a", "t_input0", "t_output", f"{scaled}_input0", f"{scaled}_output"),
        *("cat_arg0", "b", "cat_arg1", "cat_output", "sum_input0", "sum_output", "tile_data", "tile_output"),
    ]


class _Hooked(mx.gluon.HybridBlock):
    def __init__(self, **options):
        super().__init__(**options)
        with self.name_scope():
            self.fc = mx.gluon.nn.Dense(3, activation="relu")
            self.bn = mx.gluon.nn.BatchNorm()

    def hybrid_forward(self, F, x):
        return F.tanh(self.bn(self.fc(x)))


def test_what_hooks_of_blocks_see():
    net = _Hooked(prefix="b_")
    net.initialize()
    net.hybridize()
    x = nd.ones((2, 4))
    net(x)
    seen = []
    net.register_op_hook(lambda name, op, array: seen.append((name, op)), monitor_all=True)
    with mx.autograd.record():
        y = net(x)
    count = len(seen)
    y.backward()
    assert seen[:count] == [
        *((f"b_dense0_fwd_{part}", "FullyConnected") for part in ("data", "weight", "bias", "output")),
        *((f"b_dense0_relu_fwd_{part}", "Activation") for part in ("input0", "output")),
        *((f"b_batchnorm0_fwd_{part}", "BatchNorm") for part in ("data", "gamma", "beta")),
        *((f"b_batchnorm0_fwd_{part}", "BatchNorm") for part in ("moving_mean", "moving_var", "output")),
        *((f"b_tanh0_{part}", "tanh") for part in ("input0", "0")),
    ]
    assert {
        ("b_tanh0_backward_0", "_backward_tanh"),
        ("b_dense0_fwd_backward_1", "_backward_FullyConnected"),
    } <= set(seen[count:])
    assert ("b_dense0_relu_fwd_backward_0", "_backward_Activation") in seen[count:]


def test_what_a_backward_pass_freed_is_a_constant_afterwards():
    x, w = nd.ones(2), nd.ones(2)
    x.attach_grad()
    w.attach_grad()
    with mx.autograd.record():
        y = x * 2
    y.backward()
    x.grad[:] = 7
    with mx.autograd.record():
        z = y * 3 * w
    z.backward()
    assert x.grad.asnumpy().tolist() == [7, 7] and w.grad.asnumpy().tolist() == [6, 6]
    with mx.autograd.record():
        alone = y * 3
    with pytest.raises(mx.MXNetError, match="was not recorded"):
        alone.backward()
    with mx.autograd.record():
        z = x * 2
        before = z * z
    z.backward()
    with pytest.raises(mx.MXNetError, match="was freed by an earlier backward"):
        before.backward()


@pytest.mark.parametrize("flags", [(), (("static_alloc", True), ("static_shape", True))])
def test_a_cached_op_whose_input_was_recorded(flags):
    op = nd.CachedOp(mx.sym.Convolution(kernel=(3, 3), num_filter=2) + 2, flags)
    data, weight, bias = nd.ones((1, 1, 3, 3)), nd.ones((2, 1, 3, 3)), nd.ones(2)
    first = op(data, weight, bias)
    out = nd.zeros((1, 2, 1, 1))
    assert op(data, weight, bias, out=out) is out
    assert out.asnumpy().tolist() == first.asnumpy().tolist()
    weight.attach_grad()
    bias.attach_grad()
    variable = bias
    with mx.autograd.record():
        bias = bias + 1
        y = op(data, weight, bias) * 2
        y.backward()
    assert variable.grad.asnumpy().tolist() == [2, 2]
    with mx.autograd.record():
        bias = bias + 1
        y = op(data, weight, bias) * 2
        y.backward(retain_graph=True)
        gradient = weight.grad.asnumpy()
        y.backward()
    assert (weight.grad.asnumpy() == gradient).all() and gradient[0, 0, 0, 0] == 2


def test_the_output_of_a_cached_op_is_recorded_where_it_goes():
    op = nd.CachedOp(dense(mx.sym.var("data"), 2))
    data, weight, bias, out = nd.ones((2, 3)), nd.ones((2, 3)), nd.ones(2), nd.zeros((2, 2))
    weight.attach_grad()
    with mx.autograd.record():
        assert op(data, weight, bias, out=out) is out
    out.backward()
    assert out.asnumpy().tolist() == [[4, 4], [4, 4]]
    assert weight.grad.asnumpy().tolist() == [[2, 2, 2], [2, 2, 2]]
