# SPDX-License-Identifier: Apache-2.0
"""Errors of Gluon's blocks name the block, the way to it, the parameters, and what was expected and given."""

import loomix as mx
import numpy as np
import pytest
from loomix import gluon
from loomix.gluon import nn

nd = mx.nd


@pytest.fixture(autouse=True)
def fresh_names():
    with mx.name.NameManager():
        yield


def nested(*inner, initialize=True, hybrid=False):
    """Blocks as `body.0`, `body.1` and so on of a block called `net`."""
    net = Outer(prefix="net_")
    with net.name_scope():
        net.body = nn.HybridSequential(prefix="body_")
        with net.body.name_scope():
            net.body.add(*(make() for make in inner))
    if initialize:
        net.initialize()
    net.hybridize(hybrid)
    return net


class Outer(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return self.body(x)


class Branch(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return x if x.sum() > 0 else -x


class Nothing(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        F.relu(x)


class PlainNothing(gluon.Block):
    def forward(self, x):
        pass


def error_of(net, x, kind=mx.MXNetError):
    with pytest.raises(kind) as raised:
        net(x)
    return str(raised.value)


FLAT = nn.Flatten
PLACE = "in block 'net_body_dense0', which is body.1 of 'net', with the parameters 'net_body_dense0_weight'"


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("known", [0, 3])
def test_parameters_that_were_not_initialised(known, hybrid):
    net = nested(FLAT, lambda: nn.Dense(4, in_units=known), initialize=False, hybrid=hybrid)
    text = error_of(net, nd.ones((2, 3)))
    assert "'net_body_dense0_weight' has not been initialized" in text
    assert f"{PLACE} (4, {known}), 'net_body_dense0_bias' (4,)" in text


def test_parameters_that_are_not_filled():
    net = nested(FLAT, lambda: nn.Dense(4))
    with pytest.raises(
        gluon.DeferredInitializationError,
        match=r"'net_body_dense0_weight' has no values yet: its shape, \(4, 0\)",
    ):
        net.body[1].weight.data()


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("filled", [False, True])
def test_shapes_that_do_not_fit(filled, hybrid):
    net = nested(FLAT, lambda: nn.Dense(4, in_units=3), hybrid=hybrid)
    if filled:
        net(nd.ones((2, 3)))
    text = error_of(net, nd.ones((2, 5)), ValueError)
    assert PLACE in text
    assert "(4, 3); the other arguments ask for (4, 5)" in text and "data has shape (2, 5)" in text


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (
            lambda: gluon.loss.SoftmaxCrossEntropyLoss()(nd.array([0, 1]), nd.ones((2, 3))),
            r"called with float32 \(2,\), float32 \(2, 3\)\)",
        ),
        (lambda: nn.Dense("relu", 3), r"\[Dense\] units is 'relu', of type str"),
        (lambda: mx.mod.Module(mx.cpu(), mx.sym.Variable("data")), r"\[Module\] symbol is of type Context"),
        (lambda: nd.zeros(2, 3), r"A shape with several axes is a tuple"),
    ],
)
def test_swapped_arguments(wrong, text):
    with pytest.raises((TypeError, ValueError), match=text):
        wrong()


@pytest.mark.parametrize("hybrid", [False, True])
def test_types_that_do_not_fit(hybrid):
    net = nested(FLAT, lambda: nn.Dense(4, in_units=3), hybrid=hybrid)
    text = error_of(net, nd.ones((2, 3), dtype="float64"), TypeError)
    assert PLACE in text and "float32; the other arguments ask for float64" in text


@pytest.mark.parametrize("hybrid", [False, True])
def test_other_devices(hybrid):
    net = nested(FLAT, lambda: nn.Dense(4, in_units=3), hybrid=hybrid)
    text = error_of(net, nd.ones((2, 3), ctx=mx.cpu(1)))
    assert PLACE in text and "is not on cpu(1); it was initialized for [cpu(0)]" in text


def test_a_branch_on_a_symbol():
    net = nested(FLAT, Branch)
    assert net(nd.ones((2, 3))).shape == (2, 3)
    net.hybridize()
    text = error_of(net, nd.ones((2, 3)))
    assert "use F.where" in text and "in block 'net_body_branch0', which is body.1 of 'net'" in text


def test_a_shape_of_a_symbol():
    class Flat(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x.reshape((x.shape[0], -1))

    net = nested(FLAT, Flat)
    net.hybridize()
    text = error_of(net, nd.ones((2, 3)), AttributeError)
    assert "no attribute 'shape', which arrays have" in text and "use reshape with 0" in text
    assert "in block 'net_body_flat0'" in text
    assert not hasattr(mx.sym.Variable("x"), "shape")
    with pytest.raises(AttributeError, match="no attribute 'shap'$"):
        _ = mx.sym.Variable("x").shap


def test_children_before_the_block():
    class Early(gluon.Block):
        def __init__(self):
            self.layer = nn.Dense(1)
            super().__init__()

    with pytest.raises(
        mx.base.StateError, match=r"\[Early\] attribute layer is set before super\(\).__init__\(\)"
    ):
        Early()


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_forward_that_returns_nothing(hybrid):
    text = error_of(nested(FLAT, Nothing, hybrid=hybrid), nd.ones((2, 3)), TypeError)
    assert "hybrid_forward of block 'net_body_nothing0' returned None; expected " in text
    assert "which is body.1 of 'net'" in text
    alone = Nothing(prefix="alone_")
    alone.hybridize(hybrid)
    assert "[Nothing] hybrid_forward of block 'alone' returned None" in error_of(alone, nd.ones(2), TypeError)


def test_a_plain_block_that_returns_nothing():
    net = nn.Sequential(prefix="net_")
    net.add(PlainNothing(prefix="nothing_"), nn.Dense(2))
    net.initialize()
    assert "[PlainNothing] forward of block 'nothing' returned None" in error_of(net, nd.ones(2), TypeError)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.Dense(3, unit=3), r"\[Dense\] .* argument 'unit'\. Did you mean 'units'"),
        (lambda: nn.Conv2D(3, 3, pad=1), r"\[Conv2D\] .* argument 'pad'\. Did you mean 'padding'"),
        (lambda: nn.MaxPool2D(stride=1), r"\[MaxPool2D\] .* argument 'stride'\. Did you mean 'strides'"),
        (lambda: gluon.rnn.LSTM(3, hidden=2), r"\[LSTM\] .* argument 'hidden'\. Did you mean 'hidden_size'"),
        (lambda: gluon.loss.L2Loss(wight=2), r"\[L2Loss\] .* argument 'wight'\. Did you mean 'weight'"),
        (lambda: gluon.rnn.LSTMCell(3, hidden=2), r"LSTMCell.* argument 'hidden'"),
    ],
)
def test_arguments_that_a_layer_does_not_know(make, text):
    with pytest.raises(TypeError, match=text):
        make()


def test_inputs_of_other_kinds():
    text = error_of(nested(FLAT), np.ones((2, 3)), TypeError)
    assert "first input of block 'net' is a numpy.ndarray (mx.nd.array makes an NDArray of it)" in text


def parameter(**settings):
    param = gluon.Parameter("w", shape=(2, 3), **settings)
    param.initialize()
    return param


def loaded(path, saved, reader):
    saved.initialize()
    saved.save_parameters(path)
    reader.load_parameters(path)


@pytest.mark.parametrize(
    "call",
    [
        lambda path: parameter(stype="dense"),
        lambda path: parameter(grad_req="replace"),
        lambda path: parameter().set_data(nd.ones((3, 2))),
        lambda path: setattr(parameter(), "shape", (5, 5)),
        lambda path: [
            params.get("w", shape=(size,)) for params in [gluon.ParameterDict()] for size in (2, 3)
        ],
        lambda path: gluon.Trainer([parameter()], mx.optimizer.SGD(), {"wd": 1}),
        lambda path: loaded(path, nn.Dense(3, in_units=4), nn.Dense(3, in_units=5)),
        lambda path: loaded(path, nn.Dense(3, in_units=4, use_bias=False), nn.Dense(3, in_units=4)),
        lambda path: loaded(path, nn.Dense(3, in_units=4, dtype="float64"), nn.Dense(3, in_units=4)),
        lambda path: nn.Conv2D(3, 3, layout="NCW"),
        lambda path: nn.Conv2D(3, (3, 3, 3)),
        lambda path: nn.MaxPool2D(layout="NCW"),
        lambda path: nn.MaxPool1D((2, 2)),
        lambda path: nn.Lambda("no_such_operator"),
        lambda path: gluon.rnn.LSTM(3, layout="CNT"),
        lambda path: gluon.rnn.RNNCell(2, input_size=2).unroll(3, [nd.ones((1, 2))] * 2),
        lambda path: gluon.model_zoo.vision.get_resnet(1, 17),
        lambda path: gluon.model_zoo.vision.get_resnet(3, 18),
        lambda path: gluon.model_zoo.vision.get_squeezenet("2.0"),
        lambda path: gluon.data.ArrayDataset(),
        lambda path: gluon.data.ArrayDataset([1, 2], [1]),
        lambda path: gluon.data.SimpleDataset([1, 2]).shard(2, 2),
    ],
)
def test_what_mxnet_asserts_is_an_assertion_error(call, tmp_path):
    for kind in (AssertionError, ValueError, mx.MXNetError):
        with pytest.raises(kind):
            call(str(tmp_path / "net.params"))


@pytest.mark.parametrize("hybrid", [False, True])
def test_an_input_too_many_is_no_second_weight(hybrid):
    layer = nn.Dense(3, in_units=2, prefix="layer_")
    layer.initialize()
    layer.hybridize(hybrid)
    with pytest.raises(TypeError, match=r"\[Dense\] got 2 inputs; expected x\. \(in block 'layer'"):
        layer(nd.ones((1, 2)), nd.ones((1, 2)))
