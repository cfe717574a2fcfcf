# SPDX-License-Identifier: Apache-2.0
import logging

import loomix as mx
import numpy as np
import pytest
from loomix import initializer as init

pytestmark = pytest.mark.library


def fill(initializer, name, shape, **attrs):
    array = mx.nd.full(shape, 7.0)
    initializer(init.InitDesc(name, attrs) if attrs else name, array)
    return array.asnumpy()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fc_bias", 0),
        ("bn_gamma", 1),
        ("bn_beta", 0),
        ("bn_moving_mean", 0),
        ("bn_moving_var", 1),
        ("q_min", 0),
        ("q_max", 1),
    ],
)
def test_names_decide(name, value):
    assert (fill(init.Uniform(), name, (3,)) == value).all()
    array = mx.nd.full((3,), 7.0)
    init.Uniform()(init.InitDesc(name), array)
    assert (array.asnumpy() == value).all()


def test_unknown_name():
    with pytest.raises(ValueError, match="strange"):
        fill(init.Uniform(), "strange", (3,))
    assert (fill(init.One(), "strange", (3,)) == 1).all()


def test_attribute_wins():
    values = fill(init.Uniform(), "fc_weight", (2, 2), __init__=init.Constant(3).dumps())
    assert (values == 3).all()
    assert (fill(init.Uniform(), "x", (2, 2), __init__="ones") == 1).all()


def test_variable_carries_its_initializer():
    variable = mx.sym.Variable("x", init=init.Constant(2.5))
    made = init.create(variable.attr("__init__"))
    assert made.value == 2.5


@pytest.mark.parametrize("factor", ["avg", "in", "out"])
@pytest.mark.parametrize("kind", ["uniform", "gaussian"])
def test_xavier(kind, factor):
    mx.random.seed(1)
    values = fill(init.Xavier(kind, factor, 2.0), "c_weight", (64, 32, 3, 3))
    count = {"avg": (64 + 32) * 9 / 2, "in": 32 * 9, "out": 64 * 9}[factor]
    scale = np.sqrt(2.0 / count)
    if kind == "uniform":
        assert np.abs(values).max() <= scale and np.abs(values).max() > 0.99 * scale
        scale /= np.sqrt(3)
    assert abs(values.mean()) < 0.05 * scale
    assert values.std() == pytest.approx(scale, rel=0.03)


def test_msra_prelu_normal_uniform():
    mx.random.seed(1)
    assert fill(init.MSRAPrelu("in", 0.5), "w_weight", (100, 200)).std() == pytest.approx(
        np.sqrt(2 / 1.25 / 200), rel=0.05
    )
    assert fill(init.Normal(0.3), "w_weight", (100, 200)).std() == pytest.approx(0.3, rel=0.05)
    assert np.abs(fill(init.Uniform(0.3), "w_weight", (100, 200))).max() == pytest.approx(0.3, rel=0.01)


@pytest.mark.parametrize("shape", [(4, 10), (10, 4), (4, 5, 2)])
@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_orthogonal(shape, kind):
    np.random.seed(0)
    values = fill(init.Orthogonal(2.0, kind), "w_weight", shape).reshape(shape[0], -1)
    small = values @ values.T if values.shape[0] <= values.shape[1] else values.T @ values
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-5)


def test_bilinear_interpolates():
    kernel = fill(init.Bilinear(), "up_weight", (2, 1, 4, 4))
    line = np.array([0.25, 0.75, 0.75, 0.25])
    np.testing.assert_allclose(kernel, np.broadcast_to(np.outer(line, line), (2, 1, 4, 4)))


def test_lstm_bias():
    array = mx.nd.full((8,), 7.0)
    init.LSTMBias(2.0)._init_weight("b", array)
    assert array.asnumpy().tolist() == [0, 0, 2, 2, 0, 0, 0, 0]


@pytest.mark.parametrize("bidirectional", [False, True])
def test_fused_rnn(bidirectional):
    hidden, inputs, ways = 3, 4, 2 if bidirectional else 1
    weights = ways * 4 * hidden * (inputs + hidden) + ways * 4 * hidden * (ways * hidden + hidden)
    biases = 2 * ways * 8 * hidden
    array = mx.nd.full((weights + biases,), 7.0)
    init.FusedRNN(init.Zero(), hidden, 2, "lstm", bidirectional, forget_bias=5.0)("r_weight", array)
    values = array.asnumpy()
    assert (values[:weights] == 0).all()
    gates = values[weights:].reshape(2, ways, 2, 4, hidden)
    assert (gates[..., 1, :] == 5).all()
    assert (gates[..., [0, 2, 3], :] == 0).all()
    with pytest.raises(ValueError):
        init.FusedRNN(init.Zero(), hidden, 2, "lstm")("r_weight", mx.nd.zeros((weights + biases + 1,)))


def test_mixed_and_load(tmp_path):
    mixed = init.Mixed([".*scale", ".*"], [init.One(), init.Constant(4)])
    assert (fill(mixed, "a_scale", (2,)) == 1).all() and (fill(mixed, "a_weight", (2,)) == 4).all()
    with pytest.raises(ValueError, match="pattern"):
        fill(init.Mixed(["b"], [init.One()]), "a", (2,))
    with pytest.raises(ValueError):
        init.Mixed(["a"], [])
    path = str(tmp_path / "x.params")
    mx.nd.save(path, {"arg:a_weight": mx.nd.full((2,), 9), "aux:m": mx.nd.full((2,), 8)})
    load = init.Load(path, default_init=init.Zero())
    assert (fill(load, "a_weight", (2,)) == 9).all() and (fill(load, "m", (2,)) == 8).all()
    assert (fill(load, "b_weight", (2,)) == 0).all()
    with pytest.raises(ValueError, match="shape"):
        fill(load, "a_weight", (3,))
    with pytest.raises(ValueError, match="b_weight"):
        fill(init.Load(path), "b_weight", (2,))


def test_json_round_trip():
    made = [
        init.Xavier("gaussian", "in", 2),
        init.MSRAPrelu("out", 0.1),
        init.Normal(0.2),
        init.Orthogonal(),
        init.LSTMBias(3.0),
        init.FusedRNN(init.Normal(0.2), 3, 1, "gru"),
        init.Zero(),
    ]
    for one in made:
        assert init.create(one.dumps()) == one
    assert init.Normal(1) != init.Normal(2)
    assert init.create(init.Constant(np.array([1, 2])).dumps()).value == [1, 2]


def test_bad_arguments():
    for bad in (
        lambda: fill(init.Xavier(), "x_weight", (3,)),
        lambda: fill(init.Xavier("other"), "x_weight", (3, 3)),
        lambda: fill(init.Xavier(factor_type="other"), "x_weight", (3, 3)),
        lambda: init.Orthogonal(rand_type="other"),
        lambda: init.create("no_such_initializer"),
        lambda: init.FusedRNN(None, 1, 1, "other"),
    ):
        with pytest.raises(ValueError):
            bad()


def test_verbosity(caplog):
    with caplog.at_level(logging.INFO):
        fill(init.Constant(2).set_verbosity(True), "w_weight", (2,))
    assert "w_weight as weight: 2.0" in caplog.text
