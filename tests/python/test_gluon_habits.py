# SPDX-License-Identifier: Apache-2.0
"""Gluon as scripts written for MXNet use it: what they pass, and what they get back."""

import warnings

import loomix as mx
import numpy as np
import pytest
from loomix import autograd, gluon, nd
from loomix.gluon import nn


class Sum(gluon.HybridBlock):
    """Takes None for any input but one."""

    def hybrid_forward(self, F, a, b=None, c=None):
        given = [x for x in (a, b, c) if x is not None]
        return F.add_n(*given) * (1 if c is None else 10)


both = pytest.mark.parametrize("hybrid", [False, True])


def made(block, hybrid=True, **kwargs):
    block.initialize(**kwargs)
    if hybrid:
        block.hybridize()
    return block


# ---- inputs ----


@both
def test_any_input_may_be_none(hybrid):
    one = nd.ones((2,))
    for inputs, wanted in [
        ((None, one), 1),
        ((None, one, None), 1),
        ((one, None), 1),
        ((one, one, None), 2),
        ((one, None, one), 20),
        ((None, None, one), 10),
    ]:
        net = made(Sum(), hybrid)
        assert net(*inputs).asnumpy().tolist() == [wanted] * 2
    with pytest.raises(ValueError, match="got None for each input"):
        made(Sum(), hybrid)(None)


def test_inputs_at_the_end_that_are_none_may_be_left_out_later():
    one = nd.ones((1,))
    net = made(Sum())
    assert [net(*inputs).asscalar() for inputs in ((one, None), (one,), (one, None, None))] == [1, 1, 1]
    with pytest.raises(ValueError, match="nested"):
        net(one, one)


def test_inputs_of_a_graph_are_named_as_mxnet_names_them():
    net = made(Sum())
    net(None, nd.ones((1,)))
    assert net._graph[1].list_inputs() == ["data"]
    net = made(Sum())
    net(nd.ones((1,)), None, nd.ones((1,)))
    assert net._graph[1].list_inputs() == ["data0", "data1"]


def test_inputs_on_two_devices():
    total = made(Sum())
    out = total(nd.ones((2,), ctx=mx.cpu(0)), nd.ones((2,), ctx=mx.cpu(1)))
    assert out.context == mx.cpu(0) and out.asnumpy().tolist() == [2, 2]

    class Both(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(2)

        def hybrid_forward(self, F, a, b):
            return self.dense(a) + b

    net = made(Both(), init="ones", ctx=[mx.cpu(0), mx.cpu(1)])
    assert net(nd.ones((1, 2), ctx=mx.cpu(1)), nd.ones((1, 2))).asnumpy().tolist() == [[3, 3]]


def test_arrays_and_symbols_do_not_mix():
    for hybrid in (False, True):
        for inputs in ((nd.ones((1,)), mx.sym.var("a")), (mx.sym.var("a"), nd.ones((1,)))):
            with pytest.raises(ValueError, match="NDArrays and Symbols in one call"):
                made(Sum(), hybrid)(*inputs)


@both
def test_sparse_inputs(hybrid):
    class Product(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = self.params.get("weight", shape=(4, 2), init="ones", grad_stype="row_sparse")

        def hybrid_forward(self, F, x, weight):
            return F.dot(x, weight)

    x = nd.array([[1, 0, 0, 2], [0, 0, 3, 0]])
    net = made(Product(), hybrid)
    with autograd.record():
        out = net(x.tostype("csr"))
    out.backward()
    assert out.asnumpy().tolist() == [[3, 3], [3, 3]]
    assert net.weight.grad().asnumpy().tolist() == [[1, 1], [0, 0], [3, 3], [2, 2]]
    dense = made(nn.Dense(2, in_units=4), hybrid, init="ones")
    out = dense(x.tostype("csr"))
    assert out.stype == "default" and out.asnumpy().tolist() == [[3, 3], [3, 3]]


# ---- layers ----


def test_a_layer_of_no_units_can_be_made():
    assert repr(nn.Dense(0)) == "Dense(None -> 0, linear)"
    with pytest.raises(ValueError):
        made(nn.Dense(0, in_units=3))(nd.ones((2, 3)))


def test_any_text_is_an_activation_until_it_runs():
    assert repr(nn.Activation("x")) == "Activation(x)"
    assert "Activation(foo)" in repr(nn.Dense(2, activation="foo"))
    for layer in (nn.Dense(2, activation="foo"), nn.Conv1D(2, 1, activation="foo")):
        layer.initialize()
        with pytest.raises(mx.MXNetError, match="foo"):
            layer(nd.ones((1, 2, 3)))
    with pytest.raises(mx.MXNetError, match="'x'"):
        nn.Activation("x")(nd.ones((2,)))
    with pytest.raises(TypeError, match="a name such as 'relu'"):
        nn.Activation(3)
    cell = gluon.rnn.RNNCell(2, activation="foo")
    cell.initialize()
    with pytest.raises(mx.MXNetError, match="foo"):
        cell(nd.ones((1, 2)), cell.begin_state(1))


@both
def test_unknown_sizes_under_numpy_shapes(hybrid):
    with mx.util.np_shape(True):
        layer = made(nn.Dense(3), hybrid)
        assert layer.weight.shape == (3, -1) and layer.bias.shape == (3,)
        layer(nd.ones((2, 4)))
        assert layer.weight.shape == (3, 4)
        conv = made(nn.Conv2D(2, 3), hybrid)
        conv(nd.ones((1, 5, 4, 4)))
        assert conv.weight.shape == (2, 5, 3, 3)
        norm = made(nn.BatchNorm(), hybrid)
        norm(nd.ones((1, 5, 4, 4)))
        assert norm.gamma.shape == (5,)
    assert nn.Dense(3).weight.shape == (3, 0)


def test_exponential_units_are_their_formulas():
    x = nd.array(np.linspace(-6, 6, 4001))
    below = nd.expm1(x)
    assert (nn.ELU()(x) == nd.where(x > 0, x, below)).asnumpy().all()
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    selu = nn.SELU()(x).asnumpy()
    wanted = nd.where(x > 0, x * scale, below * alpha * scale).asnumpy()
    assert np.abs(selu - wanted).max() < 3e-7  # the factors in another order
    gelu = nn.GELU()(x).asnumpy()
    assert np.abs(gelu - (0.5 * x * (1 + nd.erf(x / 2**0.5))).asnumpy()).max() < 1e-6
    swish = nn.Swish()(x)
    assert (swish == x * nd.sigmoid(x)).asnumpy().all()


@both
def test_convolutional_cells_find_out_their_channels(hybrid):
    cells = gluon.contrib.rnn
    for kind, size, gates in [
        (cells.Conv1DLSTMCell, (10,), 4),
        (cells.Conv2DGRUCell, (6, 6), 3),
        (cells.Conv2DRNNCell, (6, 6), 1),
        (cells.Conv3DLSTMCell, (4, 4, 4), 4),
    ]:
        cell = kind(input_shape=(0, *size), hidden_channels=4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
        assert "None -> " in repr(cell)
        made(cell, hybrid)
        out, _ = cell(nd.ones((2, 3, *size)), cell.begin_state(2))
        assert out.shape == (2, 4, *size) and cell.i2h_weight.shape == (4 * gates, 3, *[3] * len(size))
    cell = cells.Conv2DLSTMCell((6, 5, 0), 4, 3, 3, i2h_pad=1, conv_layout="NHWC")
    made(cell, hybrid)
    out, _ = cell.unroll(2, nd.ones((2, 2, 6, 5, 3)), merge_outputs=True)
    assert out.shape == (2, 2, 6, 5, 4) and cell.i2h_weight.shape == (16, 3, 3, 3)


def test_sizes_of_resize_are_checked_when_it_is_called():
    transforms = gluon.data.vision.transforms
    for bad in ("x", -3, (3, 4, 5)):
        layer = transforms.Resize(bad)
        with pytest.raises((mx.MXNetError, ValueError, TypeError)):
            layer(nd.zeros((4, 4, 3), dtype="uint8")).wait_to_read()


def test_blocks_in_lists_are_warned_of():
    class Hidden(gluon.Block):
        def __init__(self, layers):
            super().__init__()
            self.layers = layers

    for layers in ([nn.Dense(0)], {"a": [nn.Dense(1), nn.Dense(2)]}):
        with pytest.warns(UserWarning, match="Hidden.layers is a .* with blocks that are no children"):
            Hidden(layers).collect_params()
    net = nn.Sequential()
    net.add(nn.Dense(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for quiet in (Hidden({"a": "4"}), Hidden(net)):
            quiet.collect_params()


def test_symbols_with_sparse_parameters_are_no_blocks():
    weight = mx.sym.var("weight", stype="row_sparse")
    out = mx.sym.broadcast_add(mx.sym.dot(mx.sym.var("data"), weight), mx.sym.var("bias"))
    with pytest.raises(AssertionError, match="'weight' is sparse"):
        gluon.SymbolBlock(out, mx.sym.var("data"))


class _Halved(gluon.Parameter):
    """A parameter that takes over what another one has, as other projects derive them."""

    def __init__(self, parameter):
        super().__init__(parameter.name, shape=parameter.shape)
        self._data, self._grad, self._var = parameter._data, parameter._grad, parameter._var
        self._ctx_list, self._ctx_map = parameter._ctx_list, parameter._ctx_map

    def data(self, ctx=None):
        return self._check_and_get(self._data, ctx) / 2


def test_parameters_derived_from_others():
    parameter = gluon.Parameter("weight", shape=(2, 3))
    assert parameter._ctx_list is None
    parameter.initialize("ones", ctx=[mx.cpu(0), mx.cpu(2)])
    assert parameter._ctx_list == [mx.cpu(0), mx.cpu(2)]
    assert parameter._ctx_map[mx.cpu().device_typeid & 1] == [0, None, 1]
    half = _Halved(parameter)
    assert (half.data(mx.cpu(2)).asnumpy() == 0.5).all() and half.data(mx.cpu(2)).context == mx.cpu(2)


# ---- compiling, printing, saving ----


def test_arguments_of_hybridize():
    net = made(nn.Dense(2))
    net.hybridize(inline_limit=0)
    first = net(nd.ones((1, 3))).asnumpy()
    net.hybridize(inline_limit=100, static_alloc=True, static_shape=True)
    assert (net(nd.ones((1, 3))).asnumpy() == first).all()
    with pytest.raises((mx.MXNetError, TypeError), match="inline_limit"):
        net.hybridize(inline_limit="x")


class _Sines(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.sin(F.sin(x))


def _second_derivative(block, **options):
    block.hybridize(**options)
    x = nd.array([0.3])
    x.attach_grad()
    with mx.autograd.record():
        slope = mx.autograd.grad(block(x), x, create_graph=True, retain_graph=True)[0]
    slope.backward()
    return float(x.grad.asscalar())


def test_short_blocks_have_second_derivatives():
    for options in ({}, {"inline_limit": 2}, {"inline_limit": -1}):
        assert _second_derivative(_Sines(), **options) == pytest.approx(-0.5485, abs=1e-4)
    for options in ({"inline_limit": 1}, {"inline_limit": 0}, {"inline_limit": 5, "static_alloc": True}):
        with pytest.raises(mx.MXNetError):
            _second_derivative(_Sines(), **options)


def test_short_blocks_train_as_others():
    def trained(limit):
        net = nn.HybridSequential(prefix="net_")
        net.add(nn.Dense(3, in_units=4), nn.BatchNorm(in_channels=3))
        net.initialize("ones")
        net.hybridize(inline_limit=limit)
        x = nd.arange(8).reshape((2, 4))
        with mx.autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        params = net.collect_params().values()
        return [
            loss,
            net(x),
            *(p.grad() for p in params if p.grad_req != "null"),
            *(p.data() for p in params),
        ]

    for short, compiled in zip(trained(2), trained(0)):
        np.testing.assert_allclose(short.asnumpy(), compiled.asnumpy(), rtol=1e-5, atol=1e-5)


def test_dense_copies_are_warned_of_once(capfd):
    x = nd.array([[1, 0, 0, 2]]).tostype("csr")
    layer = made(nn.Dense(2, in_units=4))
    for _ in range(2):
        layer(x).wait_to_read()
    nd.FullyConnected(x, nd.ones((2, 4)), no_bias=True, num_hidden=2).wait_to_read()
    assert capfd.readouterr().err.count("[FullyConnected] storage type fallback") <= 1


def test_a_compiled_network_has_no_summary(capsys):
    net = made(nn.HybridSequential(), hybrid=False)
    net.add(nn.Dense(2))
    net.initialize()
    net.hybridize()
    net(nd.ones((1, 3)))
    with pytest.raises(AssertionError, match="hybridized"):
        net.summary(nd.ones((1, 3)))
    net.hybridize(False)
    net.summary(nd.ones((1, 3)))
    assert "Total params: 8" in capsys.readouterr().out


class Chain(nn.Block):
    """Its children's keys have the names of the blocks, which differ from network to network."""

    def add(self, block):
        self._children[block.name + str(len(self._children))] = block

    def forward(self, x):
        for block in self._children.values():
            x = block(x)
        return x


def chain():
    inside = Chain()
    inside.add(nn.Dense(10))
    net = Chain()
    net.add(inside)
    net.add(nn.Dense(10))
    return net


def test_any_tree_of_blocks_is_saved_and_loaded(tmp_path):
    net = made(chain())
    x = nd.array(np.random.RandomState(0).rand(1, 10))
    out = net(x)
    net.save(str(tmp_path / "net"))
    other = chain()
    other.load(str(tmp_path / "net"))
    assert (other(x) == out).asnumpy().all()
    assert other.name == net.name and list(other._children) == list(net._children)
    assert list(other.collect_params()) == list(net.collect_params())
    assert all(param.name == key for key, param in other.collect_params().items())
    assert other._children[list(other._children)[1]]._active  # it was compiled
    larger = chain()
    larger.add(nn.Dense(1))
    with pytest.raises(ValueError, match="holds another network"):
        larger.load(str(tmp_path / "net"))


def test_a_loaded_network_is_compiled_and_trained_again(tmp_path):
    def network():
        net = nn.HybridSequential()
        with net.name_scope():
            net.add(nn.Dense(3, activation="relu"), nn.Dropout(0.5), nn.Dense(2))
        return net

    net, x = made(network()), nd.ones((1, 4))
    out = net(x)
    net.save(str(tmp_path / "net"))
    other = network()
    other.load(str(tmp_path / "net"))
    assert other._active and (other(x) == out).asnumpy().all()
    trainer = gluon.Trainer(other.collect_params(), "sgd")
    with autograd.record():
        loss = other(x).sum()
    loss.backward()
    trainer.step(1)
    assert (other(x) != out).asnumpy().any()
    other.export(str(tmp_path / "exported"))


# ---- parameters ----


def test_deferred_initialization_shows():
    layer = nn.Dense(2)
    assert layer.weight._deferred_init == ()
    layer.initialize()
    assert len(layer.weight._deferred_init) == 4 and not layer.bias._deferred_init
    layer(nd.ones((1, 3)))
    assert layer.weight._deferred_init == ()


def sparse_parameter(ctx=None):
    param = gluon.Parameter("weight", shape=(4, 2), stype="row_sparse", grad_stype="row_sparse")
    param.initialize("ones", ctx=ctx)
    return param


def test_row_sparse_parameters_give_rows():
    param = sparse_parameter([mx.cpu(0), mx.cpu(1)])
    rows = nd.array([1, 3], dtype="int64", ctx=mx.cpu(1))
    for ask in (param.data, param.list_data, lambda: param.row_sparse_data(rows)):
        with pytest.raises(RuntimeError):
            ask()
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1.0})
    assert len(param.list_row_sparse_data(rows)) == 2
    found = param.row_sparse_data(rows)
    assert found.stype == "row_sparse" and found.context == mx.cpu(1) and found.shape == (4, 2)
    assert found.indices.asnumpy().tolist() == [1, 3]
    assert found.asnumpy().tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]]
    assert param.grad(mx.cpu(0)).stype == "row_sparse" and param.var().attr("__storage_type__") == "1"
    with pytest.raises(TypeError, match="row_id"):
        param.row_sparse_data([1])
    with pytest.raises(RuntimeError, match="another Trainer"):
        gluon.Trainer([param], "sgd")
    with pytest.raises(ValueError, match="update_on_kvstore is False"):
        gluon.Trainer([sparse_parameter()], "sgd", update_on_kvstore=False)._init_kvstore()
    with pytest.raises(RuntimeError, match="has the storage type 'default'"):
        gluon.Parameter("dense", shape=(2, 2)).row_sparse_data(rows)
    assert trainer._update_on_kvstore is True


def test_row_sparse_parameters_are_trained_and_saved(tmp_path):
    param = sparse_parameter()
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.5})
    ids = nd.array([1, 3], dtype="int64")
    with autograd.record():
        rows = param.row_sparse_data(ids)
        loss = nd.Embedding(ids, rows, input_dim=4, output_dim=2, sparse_grad=True).sum()
    loss.backward()
    trainer.step(1)
    everything = param.row_sparse_data(nd.arange(4, dtype="int64")).asnumpy().tolist()
    assert everything == [[1, 1], [0.5, 0.5], [1, 1], [0.5, 0.5]]
    param.row_sparse_data(nd.array([0], dtype="int64"))  # fewer rows here than in the store
    params = gluon.ParameterDict()
    params._params["weight"] = param
    params.save(str(tmp_path / "params"))
    saved = nd.load(str(tmp_path / "params"))["weight"]
    assert saved.stype == "row_sparse" and saved.asnumpy().tolist() == everything
    param.reset_ctx([mx.cpu(1), mx.cpu(2)])
    assert param.list_ctx() == [mx.cpu(1), mx.cpu(2)]


def test_a_layer_with_a_row_sparse_parameter_refuses_to_run():
    params = gluon.ParameterDict("net_")
    params.get("weight", shape=(5, 5), stype="row_sparse", dtype="float32")
    params.get("bias", shape=(5,), dtype="float32")
    net = nn.Dense(5, params=params)
    net.initialize()
    with pytest.raises(RuntimeError, match="row_sparse_data"):
        net(nd.ones((2, 5)))


class OutputLoss(gluon.HybridBlock):
    """A loss whose value is computed behind a stop: the gradient is that of SoftmaxOutput."""

    def hybrid_forward(self, F, logits, labels):
        out = F.SoftmaxOutput(logits, labels, use_ignore=True, ignore_label=0, normalization="valid")
        chosen = F.log(F.pick(F.BlockGrad(F.reshape(out, shape=(0, -1))), labels, axis=-1))
        return -F.sum(chosen * (labels != 0))


@both
def test_a_stop_behind_a_loss_does_not_stop_it(hybrid):
    logits = nd.array([[1, 1, 1, 1], [4, 2, 2, 2], [1, 1, 1, 1], [1, 1, 1, 1]])
    labels = nd.array([1, 0, 2, 3])
    logits.attach_grad()
    net = made(OutputLoss(), hybrid)
    with autograd.record():
        loss = net(logits * 1, labels)
    loss.backward()
    wanted = (np.full((4, 4), 0.25) - np.eye(4)[[1, 0, 2, 3]]) / 3
    wanted[1] = 0
    assert np.abs(logits.grad.asnumpy() - wanted).max() < 1e-6


def test_a_stop_behind_a_loss_in_an_executor():
    x, y = mx.sym.var("x"), mx.sym.var("y")
    out = mx.sym.BlockGrad(mx.sym.SoftmaxOutput(x * 2, y))
    executor = out.simple_bind(mx.cpu(), x=(1, 2), y=(1,))
    executor.forward(is_train=True, x=nd.zeros((1, 2)), y=nd.array([1]))
    executor.backward(nd.ones((1, 2)))
    assert executor.grad_dict["x"].asnumpy().tolist() == [[1, -1]]
    stopped = mx.sym.BlockGrad(x * x).simple_bind(mx.cpu(), x=(1,))
    stopped.forward(is_train=True, x=nd.ones((1,)))
    stopped.backward(nd.ones((1,)))
    assert stopped.grad_dict["x"].asnumpy().tolist() == [0]


# ---- trainers ----


def parameter(contexts):
    param = gluon.Parameter("weight", shape=(2,))
    param.initialize("ones", ctx=contexts)
    return param


def test_wrong_uses_of_trainers_are_assertions():
    trainer = gluon.Trainer([parameter([mx.cpu(0), mx.cpu(1)])], "sgd", update_on_kvstore=True)
    with pytest.raises(AssertionError, match="update_on_kvstore=False"):
        trainer.allreduce_grads()
    with pytest.raises(AssertionError, match="update_on_kvstore=False"):
        trainer.update(1)


@pytest.mark.parametrize(
    ("stype", "grad_stype", "asked", "on_store"),
    [
        ("default", "default", None, True),
        ("default", "row_sparse", None, False),
        ("default", "row_sparse", True, True),
        ("row_sparse", "row_sparse", None, True),
    ],
)
def test_where_sparse_parameters_are_updated(stype, grad_stype, asked, on_store):
    param = gluon.Parameter("x", shape=(10, 1), stype=stype, grad_stype=grad_stype)
    param.initialize("zeros", ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.1}, update_on_kvstore=asked)
    rows = nd.arange(10)
    with autograd.record():
        values = param.list_data() if stype == "default" else param.list_row_sparse_data(rows)
        for value in values:
            (value + 1).backward()
    trainer.step(1)
    assert trainer._update_on_kvstore is on_store
    found = param.data(mx.cpu(0)) if stype == "default" else param.row_sparse_data(rows)
    assert np.allclose(found.asnumpy(), -0.2)


def test_parameters_come_to_the_store_while_they_are_recorded():
    class Net(gluon.Block):
        def __init__(self):
            super().__init__()
            self.table = self.params.get("table", stype="row_sparse", shape=(4, 3), grad_stype="row_sparse")
            self.dense = nn.Dense(2)

        def forward(self, x):
            rows = self.table.row_sparse_data(x)
            return self.dense(nd.Embedding(x, rows, input_dim=4, output_dim=3, sparse_grad=True))

    contexts = [mx.cpu(1), mx.cpu(2)]
    net = Net()
    net.initialize("ones", ctx=contexts)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1})
    with autograd.record():
        losses = [net(x) for x in gluon.utils.split_and_load(nd.array([[0, 2], [1, 2]]), contexts)]
    for loss in losses:
        loss.backward()
    trainer.step(1)
    rows = net.table.row_sparse_data(nd.arange(4, ctx=mx.cpu(1))).asnumpy()
    assert rows[:, 0].tolist() == [-1, -1, -3, 1]


def test_one_device_has_no_store():
    trainer = gluon.Trainer([parameter(mx.cpu())], "sgd")
    trainer._init_kvstore()
    assert trainer._kvstore is None and trainer._update_on_kvstore is None


@pytest.mark.parametrize(("count", "on_store"), [(1, None), (1, False), (2, None), (2, True), (2, False)])
def test_states_of_trainers(tmp_path, count, on_store):
    contexts = [mx.cpu(i) for i in range(count)]

    def step(param, trainer):
        for ctx in contexts:
            with autograd.record():
                loss = (param.data(ctx) ** 2).sum()
            loss.backward()
        trainer.step(1)

    settings = {"learning_rate": 0.1, "momentum": 0.9}
    param = parameter(contexts)
    trainer = gluon.Trainer([param], "sgd", settings, update_on_kvstore=on_store)
    step(param, trainer)
    step(param, trainer)
    trainer.save_states(str(tmp_path / "states"))
    other = parameter(contexts)
    other.set_data(param.data(contexts[0]))
    again = gluon.Trainer([other], "sgd", {"learning_rate": 0.3}, update_on_kvstore=on_store)
    again.load_states(str(tmp_path / "states"))
    step(param, trainer)
    step(other, again)
    assert again.learning_rate == 0.1
    assert (param.data(contexts[0]) == other.data(contexts[0])).asnumpy().all()


# ---- the estimator ----


def estimator(**kwargs):
    kinds = gluon.contrib.estimator
    net = nn.Dense(2, in_units=2)
    net.initialize()
    return kinds.Estimator(net, kwargs.pop("loss", gluon.loss.L2Loss()), **kwargs)


def test_warnings_of_estimators():
    with pytest.warns(UserWarning, match="No trainer specified"):
        estimator()
    with pytest.warns(UserWarning) as seen:
        estimator(initializer=mx.init.Xavier())
    assert any("Network already fully initialized" in str(item.message) for item in seen)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"loss": "x"},
        {"trainer": "sgd"},
        {"train_metrics": [1]},
        {"context": "cpu"},
        {"context": [mx.cpu(), "cpu"]},
    ],
)
def test_wrong_arguments_of_estimators(kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError):
            estimator(**kwargs)


def test_a_network_of_evaluations_shares_its_parameters():
    def network(params=None):
        net = nn.HybridSequential(prefix="net_", params=params)
        net.add(nn.Dense(2, in_units=2, prefix="net_dense_", params=params))
        return net

    data = gluon.data.DataLoader(
        gluon.data.ArrayDataset(np.ones((4, 2), "float32"), np.ones((4, 2), "float32")), 2
    )
    net = network()
    net.initialize()
    kinds = gluon.contrib.estimator
    for other in (network(net.collect_params()), network()):
        trainer = gluon.Trainer(net.collect_params(), "sgd")
        metric = mx.metric.MSE()
        own = kinds.Estimator(net, gluon.loss.L2Loss(), metric, trainer=trainer, val_net=other)
        own.logger.setLevel("WARNING")
        if other[0].weight is net[0].weight:
            own.fit(data, data, epochs=1)
        else:
            with pytest.raises(RuntimeError, match="has not been initialized"):
                own.fit(data, data, epochs=1)


# ---- batches ----


def joined(samples):
    return np.stack(samples)


@pytest.mark.parametrize("workers", [{}, {"num_workers": 1}, {"num_workers": 1, "thread_pool": True}])
def test_batches_are_ndarrays_whatever_the_samples_were(workers):
    loader = gluon.data.DataLoader
    samples = [np.ones(2, "float32"), np.zeros(2, "float32")]
    for kind, data in (
        (np.float32, samples),
        (np.float64, [1.0, 2.0]),
        (np.int64, [1, 2]),
        (np.int64, [[1, 2], [3, 4]]),
    ):
        for batchify in (None, gluon.data.dataloader.default_mp_batchify_fn):
            (batch,) = loader(gluon.data.SimpleDataset(data), 2, batchify_fn=batchify, **workers)
            assert type(batch) is nd.NDArray and batch.dtype == kind
    for batchify in (None, gluon.data.dataloader.default_mp_batchify_fn):
        pairs = gluon.data.SimpleDataset([(np.ones(2), 1), (np.ones(2), 2)])
        ((x, y),) = loader(pairs, 2, batchify_fn=batchify, **workers)
        assert type(x) is nd.NDArray and x.dtype == np.float64
        assert type(y) is nd.NDArray and y.dtype == np.int64
    (batch,) = loader(gluon.data.SimpleDataset(samples), 2, batchify_fn=joined, **workers)
    assert type(batch) is np.ndarray  # what a function of one's own makes stays that


class OwnError(Exception):
    def __init__(self, number, text):
        super().__init__(number, text)
        self.number = number


class Unpicklable(Exception):
    def __init__(self, one, two):
        super().__init__("both")


def failing(error):
    class Samples:
        def __len__(self):
            return 4

        def __getitem__(self, index):
            if index == 2:
                raise_it(error)
            return index

    return Samples()


def raise_it(error):
    raise error


@pytest.mark.parametrize("workers", [{}, {"num_workers": 2}, {"num_workers": 2, "thread_pool": True}])
def test_errors_of_samples_keep_their_class_and_traceback(workers):
    import traceback

    for error in (OwnError(7, "bad sample"), KeyError("k"), mx.base.MXNetValueError("[x] bad")):
        with pytest.raises(type(error)) as caught:
            list(gluon.data.DataLoader(failing(error), 2, **workers))
        assert caught.value.args == error.args
        text = "".join(traceback.format_exception(caught.value))
        assert "in raise_it" in text and "in __getitem__" in text
        if isinstance(error, OwnError):
            assert caught.value.number == 7


def test_errors_that_cannot_be_sent_are_told():
    with pytest.raises(
        mx.MXNetError, match=r"(?s)worker . .*failed to load a batch.*in raise_it.*Unpicklable"
    ):
        list(gluon.data.DataLoader(failing(Unpicklable(1, 2)), 2, num_workers=1))


# ---- arrays ----


def test_astype_takes_what_has_a_type():
    x, whole = nd.ones((2,)), nd.ones((1,), dtype="int32")
    assert x.astype(whole).dtype == np.int32 and x.astype(np.ones(1)).dtype == np.float64
    assert x.astype(nd.ones((1,)), copy=False) is x and x.astype(nd.ones((1,))) is not x
    assert x.astype(np.dtype("int8")).dtype == np.int8 and x.astype(None).dtype == np.float32
    rows = x.reshape((2, 1)).tostype("row_sparse")
    assert rows.astype(whole).dtype == np.int32 and rows.astype(x, copy=False) is rows
    symbol = mx.sym.var("x").astype(whole)
    assert symbol.infer_type(x="float32")[1] == [np.int32]
