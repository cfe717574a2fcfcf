# SPDX-License-Identifier: Apache-2.0
"""Gluon's blocks: names, parameters, files, hybridizing. Expected values are worked out by hand or in NumPy."""

import gc
import threading

import loomix as mx
import numpy as np
import pytest
from loomix import autograd, gluon
from loomix.gluon import nn

nd = mx.nd


@pytest.fixture(autouse=True)
def fresh_names():
    with mx.name.NameManager():
        yield


def mlp(**kwargs):
    net = nn.HybridSequential(**kwargs)
    with net.name_scope():
        net.add(nn.Dense(4, activation="relu"), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(2))
    return net


def gradients(net, x, loss=lambda y: (y * y).sum()):
    with autograd.record():
        value = loss(net(x))
    value.backward()
    return {k: p.grad().asnumpy() for k, p in net.collect_params().items() if p.grad_req != "null"}


# ---- names ----


def test_names_follow_the_scopes():
    net = mlp(prefix="net_")
    assert list(net.collect_params().keys()) == [
        "net_dense0_weight", "net_dense0_bias", "net_batchnorm0_gamma", "net_batchnorm0_beta",
        "net_batchnorm0_running_mean", "net_batchnorm0_running_var", "net_dense1_weight", "net_dense1_bias",
    ]  # fmt: skip
    assert net.name == "net" and net[0].name == "net_dense0" and net.prefix == "net_"
    assert nn.Dense(1).prefix == "dense0_" and nn.Dense(1).prefix == "dense1_"
    assert nn.Conv2D(1, 1).prefix == "conv0_" and nn.MaxPool2D().prefix == "pool0_"
    assert nn.Activation("tanh").prefix == "tanh0_"


def test_names_without_a_scope_are_counted_globally():
    class Net(gluon.Block):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.outside = nn.Dense(1)
            with self.name_scope():
                self.inside = nn.Dense(1)

    net = Net()
    assert (net.prefix, net.outside.prefix, net.inside.prefix) == ("net0_", "dense0_", "net0_dense0_")


def test_an_empty_prefix_leaves_names_alone():
    net = nn.HybridSequential(prefix="")
    with net.name_scope():
        net.add(nn.Dense(1))
    assert net[0].prefix == "dense0_"


def test_collect_params_by_pattern():
    net = mlp(prefix="net_")
    assert list(net.collect_params(".*weight").keys()) == ["net_dense0_weight", "net_dense1_weight"]
    assert list(net.collect_params("dense").keys()) == []
    assert list(net.collect_params(".*gamma|.*beta").keys()) == [
        "net_batchnorm0_gamma",
        "net_batchnorm0_beta",
    ]


def test_texts():
    assert repr(nn.Dense(3)) == "Dense(None -> 3, linear)"
    assert repr(nn.Dense(3, "tanh", in_units=2)) == "Dense(2 -> 3, Activation(tanh))"
    net = nn.Sequential()
    net.add(nn.Dropout(0.5), nn.Flatten())
    assert repr(net) == "Sequential(\n  (0): Dropout(p = 0.5, axes=())\n  (1): Flatten\n)"
    assert repr(nn.Conv2D(3, 2, in_channels=2)) == "Conv2D(2 -> 3, kernel_size=(2, 2), stride=(1, 1))"


# ---- parameters ----


def test_a_parameter_is_initialised_once():
    param = gluon.Parameter("w", shape=(2, 3))
    with pytest.raises(RuntimeError, match="'w' has not been initialized"):
        param.data()
    param.initialize(init="ones")
    assert param.data().asnumpy().tolist() == [[1] * 3] * 2 and param.grad().shape == (2, 3)
    with pytest.warns(UserWarning, match="has values and keeps them"):
        param.initialize(init="zeros")
    param.initialize(init="zeros", force_reinit=True)
    assert param.data().asnumpy().sum() == 0
    with pytest.raises(RuntimeError, match=r"not on cpu\(3\)"):
        param.data(mx.cpu(3))


def test_deferred_initialisation():
    net = mlp()
    weight = net[0].weight
    with pytest.raises(RuntimeError, match=f"'{weight.name}' has not been initialized"):
        net(nd.ones((2, 3)))
    net.initialize()
    assert weight.shape == (4, 0) and weight.list_ctx() == [mx.current_context()]
    with pytest.raises(gluon.DeferredInitializationError, match=weight.name):
        weight.data()
    weight.set_data(nd.full((4, 3), 2))  # kept until the rest is known
    net(nd.ones((2, 3)))
    assert weight.shape == (4, 3) and (weight.data().asnumpy() == 2).all()
    with pytest.raises(ValueError, match="cannot be initialized: expected sizes above 0"):
        gluon.Parameter("w", shape=(0, 2)).initialize()


@pytest.mark.parametrize("hybrid", [False, True])
def test_shapes_that_do_not_fit_name_block_and_parameter(hybrid):
    net = mlp(prefix="net_")
    net.initialize()
    net.hybridize(hybrid)
    net(nd.ones((2, 3)))
    with pytest.raises(ValueError, match="net_dense0"):
        net(nd.ones((2, 5)))
    layer = nn.Conv2D(2, 3, prefix="conv_")
    layer.initialize()
    layer.hybridize(hybrid)
    with pytest.raises(ValueError, match="conv"):
        layer(nd.ones((2, 5)))


def test_requests_and_factors():
    param = gluon.Parameter("w", shape=(1,), lr_mult=0.5, grad_req="add")
    param.initialize(init="ones")
    for _ in range(2):
        with autograd.record():
            y = param.data() * 3
        y.backward()
    assert param.grad().asscalar() == 6
    param.zero_grad()
    assert param.grad().asscalar() == 0
    param.grad_req = "null"
    with pytest.raises(RuntimeError, match="grad_req is 'null'"):
        param.grad()
    with pytest.raises(ValueError, match="expected 'write', 'add' or 'null'"):
        param.grad_req = "sum"
    assert param.var().attr("__lr_mult__") == "0.5" and param.var() is param.var()


def test_several_devices():
    devices = [mx.cpu(0), mx.cpu(1)]
    net = nn.Dense(2, in_units=3)
    net.initialize(init="ones", ctx=devices)
    assert net.weight.list_ctx() == devices == net.collect_params().list_ctx()
    x = nd.ones((1, 3), ctx=devices[1])
    for _ in range(2):
        assert net(x).context == devices[1]
        net.hybridize()
    net.weight.set_data(nd.zeros((2, 3)))
    assert all(w.asnumpy().sum() == 0 for w in net.weight.list_data())
    net.collect_params().reset_ctx(mx.cpu(2))
    assert net.weight.list_ctx() == [mx.cpu(2)] and net.bias.data().context == mx.cpu(2)


def test_cast():
    net = mlp()
    net.initialize()
    net.cast("float64")
    net.hybridize()
    assert net(nd.ones((2, 3), dtype="float64")).dtype == np.float64
    net.cast("float16")
    assert net[0].weight.data().dtype == np.float16 and net[1].gamma.data().dtype == np.float32
    assert net(nd.ones((2, 3), dtype="float16")).dtype == np.float16


def test_constants():
    class Net(gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.factor = self.params.get_constant("factor", [2.0, 3.0])

        def hybrid_forward(self, F, x, factor):
            return F.broadcast_mul(x, factor)

    net = Net()
    net.initialize()
    assert net.factor.grad_req == "null"
    for _ in range(2):
        x = nd.ones((1, 2))
        x.attach_grad()
        with autograd.record():
            y = net(x)
        y.backward()
        assert x.grad.asnumpy().tolist() == [[2, 3]]
        net.hybridize()
    with pytest.raises(ValueError, match="has other values"):
        net.params.get_constant("factor", [2.0, 4.0])


def test_parameter_dicts():
    params = gluon.ParameterDict("net_")
    weight = params.get("w", shape=(2, 0), allow_deferred_init=True)
    assert params.get("w", shape=(0, 3)) is weight and weight.shape == (2, 3)
    with pytest.raises(ValueError, match="'net_w' has shape .*cannot be shared with shape"):
        params.get("w", shape=(4, 3))
    with pytest.raises(KeyError, match="no parameter 'b'.*'net_w'"):
        params["b"]
    shared = gluon.ParameterDict("net_", shared=params)
    assert shared.get("w") is weight
    other = gluon.ParameterDict()
    other._params["net_w"] = gluon.Parameter("net_w")
    with pytest.raises(ValueError, match="both dicts have a Parameter 'net_w'"):
        params.update(other)


def test_sharing():
    first = nn.Dense(3, in_units=3, prefix="shared_")
    second = nn.Dense(3, in_units=3, params=first.params, prefix="other_")
    assert second.weight is first.weight
    net = nn.HybridSequential()
    net.add(first, second)
    net.initialize()
    x = nd.random.uniform(shape=(2, 3))
    eager = gradients(net, x)
    net.hybridize()
    hybrid = gradients(net, x)
    assert list(eager) == ["shared_weight", "shared_bias"]
    for key in eager:
        np.testing.assert_allclose(hybrid[key], eager[key], rtol=1e-5)
    first.weight.set_data(nd.zeros((3, 3)))
    assert second.weight.data().asnumpy().sum() == 0


# ---- blocks ----


def test_attributes_keep_their_kind():
    net = mlp()
    net.layer = nn.Dense(1)
    with pytest.raises(TypeError, match="cannot become one of type int"):
        net.layer = 3
    with pytest.raises(ValueError, match="expected a HybridBlock"):
        net.other = nn.Lambda("relu")


def test_apply_and_hooks():
    net = mlp()
    net.initialize()
    seen = []
    net.apply(lambda block: seen.append(type(block).__name__))
    assert seen == ["Activation", "Dense", "BatchNorm", "Dropout", "Dense", "HybridSequential"]
    calls = []
    before = net.register_forward_pre_hook(lambda block, inputs: calls.append(("before", inputs[0].shape)))
    with net.register_forward_hook(lambda block, inputs, out: calls.append(("after", out.shape))):
        net(nd.ones((2, 3)))
    assert calls == [("before", (2, 3)), ("after", (2, 2))]
    before.detach()
    net(nd.ones((2, 3)))
    assert len(calls) == 2


def test_op_hooks():
    net = mlp(prefix="net_")
    net.initialize()
    net.hybridize()
    seen = []
    net.register_op_hook(lambda name, op, array: seen.append((name, array.shape)))
    net(nd.ones((2, 3)))
    assert ("net_dense0_fwd_output", (2, 4)) in seen


def test_summary(capsys):
    net = mlp()
    net.initialize()
    net.summary(nd.ones((2, 3)))
    text = capsys.readouterr().out
    assert "HybridSequential-" not in text  # a stack is not a layer; other blocks made of blocks are
    assert "Dense-2 " in text and "Total params: 42" in text and "Non-trainable params: 8" in text
    net.hybridize()
    with pytest.raises(RuntimeError, match="is hybridized, so its layers"):
        net.summary(nd.ones((2, 3)))


def test_summary_has_a_line_for_each_block_but_stacks(capsys):
    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.body = mlp()

        def hybrid_forward(self, F, x):
            return self.body(x)

    outer = nn.HybridSequential()
    outer.add(Net())
    outer.initialize()
    outer.summary(nd.ones((2, 3)))
    lines = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[3:10] == ["Input", "Activation-1", "Dense-2", "BatchNorm-3", "Dropout-4", "Dense-5", "Net-6"]


class Attention(gluon.HybridBlock):
    """A layer, and a product of its own."""

    def __init__(self):
        super().__init__()
        self.project = nn.Dense(4, flatten=False)

    def hybrid_forward(self, F, x):
        keys = self.project(x)
        return F.batch_dot(keys, F.transpose(keys, axes=(0, 2, 1)))


class Looking(gluon.HybridBlock):
    """A network that asks for values, so that it cannot be traced."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Dense(3)

    def hybrid_forward(self, F, x):
        return self.layer(x) if x.sum().asscalar() > 0 else x


def both_parts():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(6, 3, padding=1, groups=2), nn.BatchNorm(), nn.MaxPool2D(), nn.Flatten(), nn.Dense(5))
    return net


# block -> shape of its input, multiply-adds of its layers in the order of their ends, and of all
MULTIPLY_ADDS = {
    "conv, dense": (both_parts, (2, 4, 4, 4), [2 * 6 * 16 * 18, 0, 0, 0, 2 * 5 * 24], 2 * 6 * 16 * 18 + 240),
    "transposed": (lambda: nn.Conv2DTranspose(2, 3, strides=2), (1, 3, 5, 5), [75 * 18], 75 * 18),
    "channels last": (lambda: nn.Conv2D(2, 3, layout="NHWC"), (1, 5, 5, 3), [2 * 9 * 27], 2 * 9 * 27),
    "own products": (Attention, (2, 3, 8), [2 * 3 * 4 * 8, 2 * 3 * 3 * 4], 192 + 72),
    "recurrent": (
        lambda: gluon.rnn.LSTM(5, 2, bidirectional=True),
        (7, 3, 4),
        [7 * 3 * 2 * 4 * 5 * (4 + 5 + 10 + 5)],
        7 * 3 * 2 * 4 * 5 * (4 + 5 + 10 + 5),
    ),
    "not traced": (Looking, (2, 4), [2 * 3 * 4, None], 2 * 3 * 4),
}


@pytest.mark.parametrize("what", MULTIPLY_ADDS)
def test_summary_counts_flops(capsys, what):
    make, shape, layers, total = MULTIPLY_ADDS[what]
    net = make()
    net.initialize()
    net.summary(nd.ones(shape))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    rows = [line[-1] for line in lines if line and line[0].rpartition("-")[2].isdigit()]
    assert rows == ["-" if count is None else str(2 * count) for count in layers]
    assert ["Total", "FLOPs:", str(2 * total)] in lines


def test_text_of_a_block_of_a_symbol():
    out = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    assert repr(mx.gluon.SymbolBlock(out, mx.sym.var("data"))) == "SymbolBlock(\n<Symbol fc> : 1 -> 1\n)"
    both = mx.gluon.SymbolBlock([out, out * 2], [mx.sym.var("data")])
    assert repr(both).endswith(" : 1 -> 2\n)")


def test_an_attribute_of_another_kind_is_named():
    net = mlp()
    net.head = nn.Dense(2)
    with pytest.raises(TypeError, match="attribute head is of type Dense"):
        net.head = 3


def test_stacks():
    net = mlp()
    assert len(net) == 4 and isinstance(net[1], nn.BatchNorm) and len(net[1:3]) == 2
    assert [type(layer).__name__ for layer in net] == ["Dense", "BatchNorm", "Dropout", "Dense"]
    plain = nn.Sequential()
    plain.add(nn.Dense(1))
    with pytest.warns(UserWarning, match="HybridSequential"):
        plain.hybridize()


# ---- files ----


@pytest.mark.parametrize("deduplicate", [False, True])
def test_parameters_by_place(tmp_path, deduplicate):
    path = str(tmp_path / "net.params")
    net = mlp()
    net.initialize()
    x = nd.random.uniform(shape=(2, 3))
    expected = net(x).asnumpy()
    net.save_parameters(path, deduplicate)
    assert "0.weight" in nd.load(path) and "1.running_mean" in nd.load(path)
    for ready in (False, True):
        other = mlp()
        if ready:
            other.initialize()
            other.hybridize()
            other(x)
        other.load_parameters(path, ctx=mx.current_context())
        assert (other(x).asnumpy() == expected).all()


def test_files_that_do_not_fit(tmp_path):
    path = str(tmp_path / "net.params")
    net = mlp(prefix="net_")
    net.initialize()
    net(nd.ones((2, 3)))
    net.save_parameters(path)
    longer = mlp(prefix="longer_")
    longer.add(nn.Dense(1, prefix="extra_"))
    with pytest.raises(
        ValueError, match=r"has nothing for Parameter '4.weight' \(extra_weight\) of block 'longer'"
    ):
        longer.load_parameters(path, ctx=mx.current_context())
    longer.load_parameters(path, ctx=mx.current_context(), allow_missing=True)
    shorter = mlp(prefix="shorter_")[:2]
    with pytest.raises(
        ValueError, match="has '3.weight', which is none of the parameters .* of block 'shorter'"
    ):
        shorter.load_parameters(path, ctx=mx.current_context())
    shorter.load_parameters(path, ctx=mx.current_context(), ignore_extra=True)
    wider = nn.HybridSequential()
    wider.add(nn.Dense(5), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(2))
    with pytest.raises(
        ValueError,
        match=r"'0.weight' \(dense\d_weight\) of block 'hybridsequential\d' has shape \(5, 0\); its values in file "
        r"'.*net.params' have shape \(4, 3\)",
    ):
        wider.load_parameters(path, ctx=mx.current_context())
    net.cast("float64")
    with pytest.raises(
        ValueError, match=r"of block 'net' has type float64; .*net.params' have.*cast_dtype=True"
    ):
        net.load_parameters(path, ctx=mx.current_context())
    net.load_parameters(path, ctx=mx.current_context(), cast_dtype=True)
    assert net[0].weight.data().dtype == np.float64
    net.load_parameters(path, ctx=mx.current_context(), cast_dtype=True, dtype_source="saved")
    assert net[0].weight.data().dtype == np.float32
    with pytest.raises(OSError, match="no_such"):
        net.load_parameters(str(tmp_path / "no_such"))


def test_files_of_full_names_that_do_not_fit(tmp_path):
    path = str(tmp_path / "names.params")
    net = nn.Dense(4, in_units=3, prefix="net_")
    net.initialize()
    net.collect_params().save(path)
    for params, text in [
        (
            nn.Dense(4, in_units=2, prefix="net_").collect_params(),
            r"shape \(4, 2\); its values in file '.*names.params'",
        ),
        (
            nn.Dense(4, dtype="float64", prefix="net_").collect_params(),
            "type float64; its values in file '.*names",
        ),
    ]:
        with pytest.raises(ValueError, match="Parameter 'net_weight' has " + text):
            params.load(path)


def test_parameters_without_values_are_not_saved(tmp_path):
    net = mlp(prefix="net_")
    net.initialize()
    with pytest.raises(
        gluon.DeferredInitializationError,
        match=r"has no values yet.* \(parameter '0.weight' of block 'net'\)",
    ):
        net.save_parameters(str(tmp_path / "net.params"))


def test_shared_parameters_are_saved_under_the_last_name(tmp_path):
    path = str(tmp_path / "net.params")
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=2))
    net.add(nn.Dense(2, in_units=2, params=net[0].params), nn.Dense(1, in_units=2))
    net.initialize()
    net.save_parameters(path, deduplicate=True)
    assert list(nd.load(path)) == ["1.weight", "1.bias", "2.weight", "2.bias"]  # as MXNet
    net.load_parameters(path, ctx=mx.current_context())


def test_files_of_blocks_without_parameters(tmp_path):
    path = str(tmp_path / "net.params")
    net = nn.Dropout(0.5)
    net.save_parameters(path)
    assert nd.load(path) in ([], {})
    net.load_parameters(path, ctx=mx.current_context())
    net.collect_params().load(path)
    with pytest.raises(ValueError, match="has nothing for Parameter 'dense0_weight'; it has nothing"):
        nn.Dense(1).load_parameters(path)


def test_older_forms(tmp_path):
    path = str(tmp_path / "net.params")
    net = mlp(prefix="net_")
    net.initialize()
    net(nd.ones((2, 3)))
    with pytest.warns(UserWarning, match="save_params is an old name"):
        net.save_params(path)
    assert "dense0_weight" in nd.load(path)
    other = mlp(prefix="net_")
    other.load_parameters(path, ctx=mx.current_context())
    assert (other[0].weight.data() == net[0].weight.data()).asnumpy().all()
    net.collect_params().save(path)
    assert "net_dense0_weight" in nd.load(path)
    with pytest.raises(ValueError, match="does not start with strip_prefix, 'other_'"):
        net.collect_params().save(path, strip_prefix="other_")
    other.collect_params().load(path)
    with pytest.raises(ValueError, match="has 'net_dense0_weight', which is none of the parameters"):
        nn.Dense(1).collect_params().load(path, allow_missing=True)


def test_a_tree_of_blocks_is_saved_and_compared(tmp_path):
    net = mlp()
    net.initialize()
    net(nd.ones((2, 3)))
    net.save(str(tmp_path / "net"))
    other = mlp()
    other.load(str(tmp_path / "net"))
    assert (other[3].weight.data().asnumpy() == net[3].weight.data().asnumpy()).all()
    with pytest.raises(ValueError, match="another network"):
        nn.Dense(2).load(str(tmp_path / "net"))


def test_export_and_import(tmp_path):
    net = mlp(prefix="net_")
    net.initialize()
    path = str(tmp_path / "net")
    with pytest.raises(RuntimeError, match="call hybridize"):
        net.export(path)
    net.hybridize()
    x = nd.random.uniform(shape=(5, 3))
    expected = net(x).asnumpy()
    assert net.export(path, epoch=7) == (path + "-symbol.json", path + "-0007.params")
    assert {"arg:net_dense0_weight", "aux:net_batchnorm0_running_mean"} <= set(nd.load(path + "-0007.params"))
    ctx = mx.current_context()
    block = gluon.SymbolBlock.imports(path + "-symbol.json", ["data"], path + "-0007.params", ctx=ctx)
    assert (block(x).asnumpy() == expected).all()
    # a module reads them, too
    symbol, arguments, states = mx.model.load_checkpoint(path, 7)
    arguments, states = ({k: v.as_in_context(ctx) for k, v in part.items()} for part in (arguments, states))
    run = symbol.bind(ctx, {"data": x, **arguments}, aux_states=states)
    assert (run.forward()[0].asnumpy() == expected).all()


def test_symbol_blocks():
    x, y = mx.sym.var("x"), mx.sym.var("y")
    out = mx.sym.FullyConnected(x + y, num_hidden=2, name="fc")
    block = gluon.SymbolBlock([out, out * 2], [x, y])
    block.initialize(init="ones")
    one, two = block(nd.ones((1, 3)), nd.ones((1, 3)))
    assert one.asnumpy().tolist() == [[7, 7]] and two.asnumpy().tolist() == [[14, 14]]
    composed = block(mx.sym.var("a"), mx.sym.var("b"))
    assert "a" in composed[0].list_arguments()
    with pytest.raises(ValueError, match="expected a variable"):
        gluon.SymbolBlock(out, out * 2)


# ---- hybridizing ----


class Branches(gluon.HybridBlock):
    """Nested inputs and outputs, an input that may be None, and an output that is an input."""

    def hybrid_forward(self, F, x, pair, mask=None):
        a, b = pair
        out = x + a * b
        return [out if mask is None else out * mask, (a, [b * 2])]


@pytest.mark.parametrize("mask", [None, 3])
def test_nested_arguments(mask):
    x, a, b = (nd.full((2,), value) for value in (1, 2, 3))
    mask = None if mask is None else nd.full((2,), mask)
    results = []
    for hybrid in (False, True):
        net = Branches()
        net.hybridize(hybrid)
        out, (same, (double,)) = net(x, (a, b), mask)
        results.append([item.asnumpy().tolist() for item in (out, same, double)])
    assert results[0] == results[1] and results[0][1:] == [[2, 2], [6, 6]]
    with pytest.raises(ValueError, match="are nested as"):
        net(x, (a, [b]), mask)


def test_one_graph_for_each_signature():
    net = mlp()
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    for size in (2, 3, 2, 3):
        net(nd.ones((size, 3)))
    assert net._cached.num_signatures == 2 and net._cached.num_executors == 2
    with autograd.record():
        net(nd.ones((2, 3)))
    assert net._cached.num_signatures == 3


@pytest.mark.parametrize("train_mode", [True, False])
def test_hybrid_is_eager(train_mode):
    x = nd.random.uniform(shape=(6, 3))
    net = mlp()
    net.initialize(mx.init.Xavier())
    net(x)
    start = {k: p.data().asnumpy() for k, p in net.collect_params().items()}
    results = []
    for hybrid in (False, True):
        net.hybridize(hybrid)
        for key, value in start.items():
            net.collect_params()[key].set_data(nd.array(value))
        mx.random.seed(3)
        steps = []
        for _ in range(3):
            x.attach_grad()
            with autograd.record(train_mode=train_mode):
                y = net(x)
            y.backward(train_mode=train_mode)
            steps += [y.asnumpy(), x.grad.asnumpy(), net[1].running_var.data().asnumpy()]
            steps += [p.grad().asnumpy() for p in net.collect_params(".*(weight|bias|gamma)").values()]
        results.append(steps)
    for eager, hybrid in zip(*results):
        np.testing.assert_allclose(hybrid, eager, rtol=1e-5, atol=1e-6)


def test_calls_before_backward_keep_their_own_values():
    net = nn.Dense(1, in_units=1, use_bias=False)
    net.initialize(init="ones")
    net.hybridize(inline_limit=0)
    xs = [nd.array([[value]]) for value in (1.0, 2.0, 4.0)]
    with autograd.record():
        outs = [net(x) ** 2 for x in xs]
    outs[1].backward()
    assert net.weight.grad().asscalar() == 8
    autograd.backward([outs[0], outs[2]])
    assert net.weight.grad().asscalar() == 2 + 32
    assert net._cached.num_executors == 3
    del outs
    gc.collect()
    with autograd.record():
        y = net(xs[0])
    y.backward()
    assert net._cached.num_executors == 3


class Returning(gluon.HybridBlock):
    """A block that computes a function; it has a parameter of two elements."""

    def __init__(self, function, **kwargs):
        super().__init__(**kwargs)
        self.function = function
        self.weight = self.params.get("weight", shape=(2,), init=mx.init.Constant(2))

    def hybrid_forward(self, F, *inputs, weight):
        return self.function(F, weight, *inputs)


# name -> what the block returns, for one input of the shape of its outputs
FED_BACK = {
    "computed": lambda F, w, x: F.tanh(x) + w,
    "two operators": lambda F, w, x: F.sqrt(F.dot(F.exp(x), F.ones((2, 2)))) + w,
    "input": lambda F, w, x: [x, x * w],
    "parameter": lambda F, w, x: [x * w, w],
    "identity": lambda F, w, x: [F.identity(x), F.BlockGrad(x), F.cast(x, "float32"), x * w],
    "one value, several outputs": lambda F, w, x: [x * w] * 2 + [F.reshape(x * w, (-1,)), F.identity(x * w)],
    "constant": lambda F, w, x: [F.ones((2,)) + 1, x * w],
}


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("mode", ["plain", "training", "recorded"])
@pytest.mark.parametrize("what", FED_BACK)
def test_a_block_may_be_called_on_its_own_outputs(what, mode, static):
    def chain(hybrid):
        net = Returning(FED_BACK[what])
        net.initialize()
        net.hybridize(hybrid, static_alloc=static, static_shape=static)
        first = nd.array([0.5, 1.5])
        seen, last = [first], first
        for step in range(5):
            with autograd.train_mode() if mode == "training" else autograd.pause():
                with (
                    autograd.record() if mode == "recorded" else autograd.pause(train_mode=mode == "training")
                ):
                    out = net(last)
            seen += out if isinstance(out, list) else [out]
            last = (out[step % len(out)] if isinstance(out, list) else out).detach()
        return [array.asnumpy() for array in seen]

    for hybrid, eager in zip(chain(True), chain(False)):
        np.testing.assert_allclose(hybrid, eager, rtol=1e-6)


@pytest.mark.parametrize("recorded", [False, True])
def test_outputs_in_other_places_of_the_next_call(recorded):
    def mix(hybrid):
        net = Returning(lambda F, w, x, y: [x * 2 + y, F.tanh(y) * w, x - y])
        net.initialize()
        net.hybridize(hybrid)
        arrays = [nd.array([0.1, 0.2]), nd.array([0.3, 0.4])]
        seen, gradients_ = list(arrays), []
        for first, second in [(0, 1), (1, 0), (2, 2), (0, 2), (1, 1), (2, 0)]:
            x, y = arrays[first % len(arrays)], arrays[second % len(arrays)]
            if recorded:
                x = x.detach()
                x.attach_grad()
                with autograd.record():
                    arrays = net(x, y)
                    value = sum((array * array).sum() for array in arrays)
                value.backward()
                gradients_ += [x.grad.copy(), net.weight.grad().copy()]
                arrays = [array.detach() for array in arrays]
            else:
                arrays = net(x, y)
            seen += arrays
        return [array.asnumpy() for array in seen + gradients_]

    for hybrid, eager in zip(mix(True), mix(False)):
        np.testing.assert_allclose(hybrid, eager, rtol=1e-5, atol=1e-6)


def test_recorded_calls_that_are_alive_may_feed_each_other():
    def run(hybrid):
        net = Returning(lambda F, w, x, y: F.tanh(x * w + y))
        net.initialize()
        net.hybridize(hybrid)
        x = nd.array([0.1, 0.2])
        x.attach_grad()
        last, done = x, []
        for _ in range(3):
            with autograd.record():
                graphs = [net(last.detach(), x) for _ in range(2)]
                graphs.append(net(graphs[0], graphs[1].detach()))
            for graph in (graphs[2], graphs[1]):
                graph.backward()
                done += [x.grad.copy(), net.weight.grad().copy()]
            last = graphs[0]
            done += graphs
        return [array.asnumpy() for array in done]

    for hybrid, eager in zip(run(True), run(False)):
        np.testing.assert_allclose(hybrid, eager, rtol=1e-5, atol=1e-6)


def test_outputs_belong_to_the_caller():
    net = Returning(lambda F, w, x: [x, w, x * w, F.ones((2,)), F.identity(x)])
    net.initialize()
    net.hybridize()
    x = nd.array([1.0, 2.0])
    for _ in range(2):
        outputs = net(x)
        values = [array.asnumpy().tolist() for array in outputs]
        assert values == [[1, 2], [2, 2], [2, 4], [1, 1], [1, 2]]
        for array in outputs:
            array[:] = 7
        assert (x.asnumpy() == [1, 2]).all() and (net.weight.data().asnumpy() == 2).all()


@pytest.mark.parametrize("hybrid", [False, True])
def test_outputs_written_before_backward_are_an_error(hybrid):
    net = nn.Activation("tanh")
    net.hybridize(hybrid)
    x = nd.ones(2)
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y[:] = 0
    with pytest.raises(mx.MXNetError, match="output.*overwritten"):
        y.backward()


@pytest.mark.parametrize("second", ["float64", "row_sparse"])
def test_head_gradients_are_not_written(second):
    net = nn.Activation("tanh")
    net.hybridize(inline_limit=0)
    x = nd.array([[0.0], [0.0]])
    x.attach_grad()
    head = nd.array([[1.0], [2.0]])
    other = nd.array([[3.0], [4.0]])
    for given in (head, other.astype("float64") if second == "float64" else other.tostype(second)):
        with autograd.record():
            y = net(x)
        y.backward(given)
        del y
    assert x.grad.asnumpy().tolist() == [[3], [4]]
    assert head.asnumpy().tolist() == [[1], [2]]


def test_inputs_written_before_backward_are_an_error():
    net = nn.Dense(1, in_units=1)
    net.initialize()
    net.hybridize()
    x = nd.ones((1, 1))
    with autograd.record():
        y = net(x)
    x[:] = 2
    with pytest.raises(mx.MXNetError, match="input 'data'.*overwritten"):
        y.backward()


def test_a_fixed_gamma_that_gradients_set_is_not_overwritten():
    net = nn.BatchNorm(scale=False)
    net.initialize()
    net.hybridize()
    xs = [nd.random.normal(shape=(4, 3)) for _ in range(2)]
    with autograd.record():
        outs = [net(x) * 3 for x in xs]
    for retain in (True, False):
        for out in outs:
            out.backward(retain_graph=retain)
            assert (net.beta.grad().asnumpy() == 12).all()


def test_a_list_of_children_that_changes_is_traced_again():
    net = nn.HybridSequential()
    net.add(nn.HybridLambda(lambda F, x: x + 1))
    net.hybridize()
    assert net(nd.zeros(1)).asscalar() == 1
    net.add(nn.HybridLambda(lambda F, x: x * 5))
    assert net(nd.zeros(1)).asscalar() == 5


def test_hybrid_calls_from_threads():
    net = mlp()
    net.initialize()
    net.hybridize()
    expected = {size: net(nd.ones((size, 3))).asnumpy() for size in (1, 2, 3)}
    failures, done = [], []
    ctx = mx.current_context()

    def work():
        for i in range(30):
            size = i % 3 + 1
            if not (net(nd.ones((size, 3), ctx=ctx)).asnumpy() == expected[size]).all():
                failures.append(size)
        done.append(True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(done) == 4


def test_hybridized_training_within_a_budget():
    def gradients(budget):
        mx.random.seed(3)
        net = nn.HybridSequential()
        for _ in range(12):
            net.add(nn.Conv2D(8, 3, padding=1, in_channels=8), nn.Activation("tanh"))
        net.initialize(mx.init.Xavier())
        net.hybridize(memory_budget=budget)
        x = mx.random.uniform(shape=(2, 8, 24, 24))
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        return [p.grad().asnumpy() for p in net.collect_params().values()]

    with pytest.raises(
        ValueError, match=r"memory_budget of 1 bytes is too small.* without a budget, (\d+)"
    ) as error:
        gradients(1)
    without = int(str(error.value).split("without a budget, ")[1].split(" ")[0])
    for got, want in zip(gradients(without * 4 // 5), gradients(None)):
        np.testing.assert_array_equal(got, want)
    with pytest.raises(ValueError, match="memory_budget is 0; expected a number of bytes above 0"):
        mlp().hybridize(memory_budget=0)


def test_arguments_of_hybridize():
    net = mlp()
    net.hybridize(inline_limit=4, forward_bulk_size=3, backward_bulk_size=2)
    for block in (net, nn.Sequential(), gluon.Block()):
        with pytest.raises(TypeError, match="unknown argument static_allocation"):
            block.hybridize(static_allocation=True)
    with pytest.raises(ValueError, match="no backend 'TensorRT'; expected one of default, MKLDNN"):
        net.hybridize(backend="TensorRT")
    with pytest.raises(ValueError, match="no backend 'TensorRT'"):
        net.optimize_for(nd.ones((1, 3)), backend="TensorRT")
    with pytest.raises(ValueError, match="no backend is given"):
        net.optimize_for(nd.ones((1, 3)))
    with pytest.raises(ValueError, match=r"backend 'MKLDNN' has no options \['precision'\]"):
        net.optimize_for(nd.ones((1, 3)), backend="MKLDNN", precision="int8")


@pytest.mark.parametrize("backend", ["default", "MKLDNN"])
def test_optimize_for_compiles_and_runs(backend):
    net, x = mlp(), nd.random.uniform(shape=(2, 3))
    net.initialize()
    net.optimize_for(x, backend=backend, static_alloc=True)
    assert net[0].weight.shape == (4, 3)  # it ran
    compiled = net._cached
    assert compiled is not None
    out = net(x).asnumpy()
    net.optimize_for(x, backend=backend)
    assert net._cached is compiled  # clear is False
    net.optimize_for(x, backend=backend, clear=True)
    assert net._cached is not compiled
    net.hybridize(False)
    np.testing.assert_allclose(net(x).asnumpy(), out, rtol=1e-5)
    net.hybridize(backend=backend)
    np.testing.assert_allclose(net(x).asnumpy(), out, rtol=1e-5)


def test_inference_of_shapes_and_types():
    net = mlp()
    net.infer_shape(nd.ones((2, 3)))
    assert net[0].weight.shape == (4, 3) and net[3].weight.shape == (2, 4)
    net = nn.Dense(2)
    net.infer_type(nd.ones((2, 3)))
    assert np.dtype(net.weight.dtype) == np.float32
    with pytest.raises(TypeError, match=r"'dense\d_weight'"):
        nn.Dense(2).infer_type(nd.ones((2, 3), dtype="float64"))


def test_symbols_go_through_blocks():
    net = mlp(prefix="net_")
    out = net(mx.sym.var("x"))
    assert out.list_arguments()[:2] == ["x", "net_dense0_weight"]
    assert out.list_auxiliary_states() == ["net_batchnorm0_running_mean", "net_batchnorm0_running_var"]
    assert out.name == "net_dense1_fwd"
