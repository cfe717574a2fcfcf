# SPDX-License-Identifier: Apache-2.0
"""What scripts written for MXNet 1.x expect of symbols and executors; each answer is that of MXNet 1.9.1."""

import loomix as mx
import numpy as np
import pytest
from loomix import nd


def dense(x, hidden=4, name="fc"):
    return mx.sym.FullyConnected(x, num_hidden=hidden, name=name)


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


# The tape


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
