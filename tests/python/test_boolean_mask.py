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
    run = symbol.bind(mx.cpu(), {"x": x, "m": nd.ones(2)})
    with pytest.raises(ValueError, match="one entry for each of the 3 along axis 0"):
        run.forward()
    with pytest.raises(ValueError, match="do not follow"):
        symbol.simple_bind(mx.cpu(), x=(3, 2))


def _masked():
    before = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, flatten=False, name="before")
    masked = mx.sym.contrib.boolean_mask(before * 2, mx.sym.var("m"), name="mask")
    return mx.sym.FullyConnected(masked, num_hidden=3, name="after")


def _gradients(run):
    return {name: array.asnumpy() for name, array in run.grad_dict.items() if array is not None}


def test_bound_symbols_run_with_each_mask():
    # A mask of ones shows what no mask computes.
    requests = {"m": "null"}
    arguments = {"x": nd.array(data(4, 5)), "m": nd.ones(4)}
    shapes, _, _ = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="before").infer_shape(x=(4, 5))
    arguments["before_weight"], arguments["before_bias"] = (nd.random.uniform(shape=s) for s in shapes[1:])
    arguments["after_weight"], arguments["after_bias"] = nd.random.uniform(shape=(3, 2)), nd.zeros(3)
    symbol = _masked()
    requests.update({name: "write" for name in arguments if name != "m"})
    gradients = {name: nd.ones(array.shape) for name, array in arguments.items() if name != "m"}
    run = symbol.bind(mx.cpu(), arguments, args_grad=gradients, grad_req=requests)
    assert run.forward(is_train=True)[0].shape == (4, 3)
    whole = run.outputs[0].asnumpy()
    head = nd.array(data(4, 3))
    for mask in ([1, 0, 1, 1], [0, 0, 0, 1], [1, 1, 1, 1]):
        kept = np.flatnonzero(mask)
        run.arg_dict["m"][:] = nd.array(mask)
        assert run.forward(is_train=True)[0] is run.outputs[0]
        np.testing.assert_allclose(run.outputs[0].asnumpy(), whole[kept], rtol=1e-6)
        assert run.output_dict["after_output"].shape == (len(kept), 3)
        x = arguments["x"].copy()
        x.attach_grad()
        with mx.autograd.record():
            y = nd.FullyConnected(x, arguments["before_weight"], arguments["before_bias"], num_hidden=2) * 2
            y = nd.FullyConnected(y, arguments["after_weight"], arguments["after_bias"], num_hidden=3)
        y.backward(head * nd.array(mask).reshape((-1, 1)))
        for _ in range(2):  # a second backward computes the same
            run.backward([nd.array(head.asnumpy()[kept])])
            np.testing.assert_allclose(_gradients(run)["x"], x.grad.asnumpy(), rtol=1e-5)
        np.testing.assert_allclose(_gradients(run)["after_bias"], head.asnumpy()[kept].sum(0), rtol=1e-5)
    with pytest.raises(ValueError, match="'after_output' is no loss"):
        run.backward()


def test_simple_bind_and_outputs_that_need_no_mask():
    x = mx.sym.var("x")
    symbol = mx.sym.Group([mx.sym.contrib.boolean_mask(x, mx.sym.var("m")), x * 3, x])
    run = symbol.simple_bind(mx.cpu(), grad_req="null", x=(3, 2), m=(3,))
    run.arg_dict["x"][:] = 2
    run.arg_dict["m"][1:] = 1
    assert [out.shape for out in run.forward()] == [(2, 2), (3, 2), (3, 2)]
    assert run.outputs[1].asnumpy().tolist() == [[6, 6]] * 3
    wider = run.reshape(x=(3, 1), m=(3,))
    assert [out.shape for out in wider.forward()] == [(2, 1), (3, 1), (3, 1)]


def test_what_a_monitor_sees():
    shapes = {"x": (4, 5), "m": (4,), "after_weight": (3, 2), "after_bias": (3,)}
    run = _masked().simple_bind(mx.cpu(), grad_req="null", **shapes)
    seen = []
    run.set_monitor_callback(lambda name, array: seen.append((name, array.shape)))
    run.arg_dict["m"][:2] = 1
    run.forward()
    nd.waitall()
    assert seen[0] == ("before_output", (4, 2))
    assert seen[-2:] == [("mask_output", (2, 2)), ("after_output", (2, 3))]


class _Masked(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.before = mx.gluon.nn.Dense(2, flatten=False, in_units=5)
        self.after = mx.gluon.nn.Dense(3, in_units=2)

    def hybrid_forward(self, F, x, mask):
        return self.after(F.contrib.boolean_mask(self.before(x), mask))


@pytest.mark.parametrize("flags", [{}, {"static_alloc": True, "static_shape": True}])
def test_hybridized_blocks(flags):
    net = _Masked()
    net.initialize(mx.init.Xavier())
    x = nd.array(data(4, 5))
    x.attach_grad()
    for mask in ([1, 0, 1, 1], [0, 0, 0, 1]):
        results = []
        for hybridized in (False, True):
            net.hybridize(hybridized, **(flags if hybridized else {}))
            assert net(x, nd.array(mask)).shape == (sum(mask), 3)
            with mx.autograd.record():
                y = net(x, nd.array(mask))
            y.backward()
            grads = [p.grad().asnumpy() for p in net.collect_params().values()]
            results.append([y.asnumpy(), x.grad.asnumpy(), *grads])
        for eager, compiled in zip(*results, strict=True):
            np.testing.assert_allclose(compiled, eager, rtol=1e-5)
