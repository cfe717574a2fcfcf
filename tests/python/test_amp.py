# SPDX-License-Identifier: Apache-2.0
"""Mixed precision: networks that cast while they train, converted symbols, loss scales."""

import json

import loomix as mx
import numpy as np
import pytest
from loomix import _core, autograd, gluon
from loomix.contrib import amp
from loomix.contrib.amp.loss_scaler import LossScaler
from loomix.gluon import nn

nd, sym = mx.nd, mx.sym
LOW = ["float16", "bfloat16"]
F32 = np.float32


def name_of(dtype):
    return "bfloat16" if np.dtype(dtype).names else np.dtype(dtype).name


@pytest.fixture
def start():
    """amp.init, undone after the test."""
    yield amp.init
    _core.use_precision_rules(None)
    amp.amp._amp_initialized = None


def types(symbol, **known):
    """The type of each value inside, by name."""
    nodes = symbol.get_internals()
    return dict(
        zip(
            nodes.list_outputs(),
            [None if t is None else name_of(t) for t in nodes.infer_type_partial(**known)[1]],
        )
    )


def casts(symbol):
    nodes = json.loads(symbol.tojson(remove_amp_cast=False))["nodes"]
    return [node["name"] for node in nodes if node["op"].startswith("amp_")]


def lenet_symbol():
    x = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    x = sym.Activation(sym.BatchNorm(x, name="bn", fix_gamma=False), act_type="relu", name="relu")
    x = sym.Pooling(x, kernel=(2, 2), stride=(2, 2), name="pool")
    x = sym.FullyConnected(x, num_hidden=3, name="fc")
    return sym.softmax(x, name="softmax")


def parameters(symbol, shape=(2, 1, 8, 8)):
    generator = np.random.RandomState(3)
    arguments, _, states = symbol.infer_shape(data=shape)
    args = {
        key: nd.array(generator.uniform(-0.5, 0.5, size))
        for key, size in zip(symbol.list_arguments(), arguments)
        if key != "data"
    }
    aux = {
        key: nd.ones(size) * (0.2 if "mean" in key else 1.5)
        for key, size in zip(symbol.list_auxiliary_states(), states)
    }
    return args, aux


def run(symbol, args, aux, x):
    return symbol.bind(mx.cpu(), {**args, "data": x}, aux_states=aux).forward()[0].astype(F32).asnumpy()


# ---- training ----


def pictures():
    generator = np.random.RandomState(7)
    labels = generator.randint(0, 4, 64)
    patterns = generator.normal(0, 1, (4, 1, 12, 12))
    return nd.array(patterns[labels] + generator.normal(0, 0.7, (64, 1, 12, 12))), nd.array(labels)


def lenet():
    mx.random.seed(5)
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(6, 3, activation="relu"),
        nn.BatchNorm(),
        nn.MaxPool2D(),
        nn.Conv2D(8, 3),
        nn.PReLU(),
        nn.Flatten(),
        nn.Dense(16, activation="tanh"),
        nn.Dense(4),
    )
    net.initialize(mx.init.Xavier())
    return net


def losses(hybrid, scaled, steps=8):
    net = lenet()
    if hybrid:
        net.hybridize()
    x, y = pictures()
    objective = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    if scaled:
        amp.init_trainer(trainer)
    curve = []
    while len(curve) < steps:
        with autograd.record():
            out = net(x)
            loss = objective(out, y)
            if scaled:
                with amp.scale_loss(loss, trainer) as large:
                    autograd.backward(large)
        if not scaled:
            loss.backward()
        before = scaled and trainer._amp_loss_scaler.loss_scale
        trainer.step(len(x))
        if scaled and trainer._amp_loss_scaler.loss_scale < before:
            continue  # skipped: float16 begins with a scale that is too large
        curve.append(float(loss.mean().asscalar()))
    for param in net.collect_params().values():
        assert param.data().dtype == F32
    return np.array(curve), name_of(out.dtype)


@pytest.fixture(scope="module")
def float32_curve():
    curve, dtype = losses(False, False)
    assert dtype == "float32" and curve[-1] < curve[0] / 4
    return curve


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("low", LOW)
def test_training_follows_float32(start, float32_curve, low, hybrid):
    start(low)
    curve, dtype = losses(hybrid, True)
    assert dtype == low
    np.testing.assert_allclose(curve, float32_curve, atol=0.02 if low == "float16" else 0.08)
    assert not np.array_equal(curve, float32_curve)


def test_module_trains_after_init(start):
    start("bfloat16")
    x = sym.FullyConnected(sym.var("data"), num_hidden=8, name="fc1")
    x = sym.FullyConnected(sym.Activation(x, act_type="relu"), num_hidden=4, name="fc2")
    out = sym.SoftmaxOutput(x, name="softmax")
    assert "softmax_data_amp_cast" in casts(out)
    data, labels = pictures()
    module = mx.mod.Module(out)
    mx.random.seed(2)
    batches = mx.io.NDArrayIter(data.reshape((64, -1)), labels, 16)
    module.fit(batches, num_epoch=8, optimizer_params={"learning_rate": 0.3}, initializer=mx.init.Xavier())
    assert dict(module.score(batches, "acc"))["accuracy"] > 0.9
    assert module.get_params()[0]["fc1_weight"].dtype == F32


# ---- what init does ----


@pytest.mark.parametrize("low", LOW)
def test_calls_cast_their_arrays(start, low):
    x, w = nd.ones((2, 3)), nd.ones((4, 3))
    start(low)
    dense = nd.FullyConnected(x, w, num_hidden=4, no_bias=True)
    assert name_of(dense.dtype) == low
    assert (nd.exp(dense).dtype, nd.softmax(dense).dtype) == (F32, F32)
    assert name_of(nd.relu(dense).dtype) == low  # runs in what comes
    assert (dense + nd.ones((2, 4))).dtype == F32  # the widest, for methods, too
    assert name_of((dense + dense).dtype) == low
    assert name_of(nd.Activation(dense, act_type="tanh").dtype) == low
    assert nd.Activation(dense, act_type="softrelu").dtype == F32
    assert nd.exp(x.astype("float64")).dtype == np.float64
    assert nd.add_n(nd.array([1], dtype="int32"), nd.array([2], dtype="int32")).dtype == np.int32
    assert nd.exp(dense.astype("int32")).dtype == np.int32


def test_gradients_come_back_in_float32(start):
    start("float16")
    w = nd.ones((4, 3))
    w.attach_grad()
    with autograd.record():
        out = nd.FullyConnected(nd.ones((2, 3)), w, num_hidden=4, no_bias=True)
    out.backward()
    assert w.grad.dtype == F32
    assert np.array_equal(w.grad.asnumpy(), np.full((4, 3), 2, F32))


def test_lists_of_the_user(start):
    start("float16", target_precision_ops=["exp"], fp32_ops=["Activation"], conditional_fp32_ops=[])
    x = nd.ones((2, 2))
    assert nd.exp(x).dtype == np.float16
    assert nd.Activation(x.astype("float16"), act_type="relu").dtype == F32
    assert nd.FullyConnected(x, x, num_hidden=2, no_bias=True).dtype == F32  # no longer listed


def test_a_second_call(start):
    start("float16")
    start(np.float16)
    with pytest.raises(ValueError, match="was 'float16' in the first call"):
        start("bfloat16")


# ---- converting ----


@pytest.mark.parametrize("low", LOW)
def test_converted_symbol(low):
    symbol = lenet_symbol()
    args, aux = parameters(symbol)
    x = nd.array(np.random.RandomState(4).uniform(-1, 1, (2, 1, 8, 8)))
    converted = amp.convert_symbol(symbol, low)
    inside = types(converted, data=F32)
    for name in ("conv_output", "bn_output", "pool_output", "fc_output"):
        assert inside[name] == low
    assert (inside["softmax_output"], inside["bn_gamma"], inside["bn_moving_var"]) == ("float32",) * 3
    want, got = run(symbol, args, aux, x), run(converted, args, aux, x)
    np.testing.assert_allclose(got, want, atol=2e-3 if low == "float16" else 1e-2)
    assert not np.array_equal(got, want)
    assert converted.list_arguments() == symbol.list_arguments()
    assert json.loads(converted.tojson()) == json.loads(
        symbol.tojson()
    )  # without the casts it is what it was
    assert json.loads(sym.load_json(converted.tojson(False)).tojson(False)) == json.loads(
        converted.tojson(False)
    )


def test_files_keep_casts_that_are_outputs():
    """As MXNet's do: an output has the name and the type in a file that it has here."""
    x, y = mx.sym.var("x"), mx.sym.var("y")
    both = mx.sym.amp_multicast(mx.sym.amp_cast(x, dtype="float16"), y, num_outputs=2, name="both")
    for symbol in (both, mx.sym.amp_cast(mx.sym.exp(x), dtype="float16", name="low")):
        assert mx.sym.load_json(symbol.tojson()).list_outputs() == symbol.list_outputs()
    inner = mx.sym.load_json(mx.sym.exp(both[1]).tojson())
    assert inner.list_arguments() == ["y"] and len(json.loads(inner.tojson())["nodes"]) == 2
    assert json.loads(both.tojson())["nodes"][-1]["inputs"] == [[0, 0, 0], [1, 0, 0]]


def test_excluded_names_stay_float32():
    converted = amp.convert_symbol(lenet_symbol(), "float16", excluded_sym_names=["fc"])
    inside = types(converted, data=F32)
    assert (inside["conv_output"], inside["fc_output"]) == ("float16", "float32")
    assert "fc_weight_amp_cast_float16" not in casts(converted)


def test_groups_and_shared_values():
    x = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
    converted = amp.convert_symbol(sym.Group([sym.exp(x), sym.log(x), x]), "bfloat16")
    assert casts(converted).count("fc_output_amp_cast_float32") == 1
    assert len(converted.list_outputs()) == 3


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("low", LOW)
def test_converted_model(low, optional):
    symbol = lenet_symbol()
    args, aux = parameters(symbol)
    x = nd.array(np.random.RandomState(4).uniform(-1, 1, (2, 1, 8, 8)))
    converted, new_args, new_aux = amp.convert_model(symbol, args, aux, low, cast_optional_params=optional)
    want = low if optional else "float32"
    assert {key: name_of(array.dtype) for key, array in new_args.items()} == {
        "conv_weight": want,
        "conv_bias": want,
        "bn_gamma": "float32",
        "bn_beta": "float32",
        "fc_weight": want,
        "fc_bias": want,
    }
    assert {array.dtype for array in new_aux.values()} == {F32}
    assert ("conv_weight_amp_cast_" + low in casts(converted)) is not optional
    np.testing.assert_allclose(run(converted, new_args, new_aux, x), run(symbol, args, aux, x), atol=1e-2)


def test_data_names_tell_data_from_parameters():
    symbol = lenet_symbol()
    converted = amp.convert_symbol(symbol, "bfloat16", data_names=["data"], cast_optional_params=True)
    assert converted.attr_dict()["fc_weight"]["__dtype__"] == "12"
    assert casts(converted) == ["data_amp_cast_bfloat16", "fc_output_amp_cast_float32"]
    unknown = amp.convert_symbol(symbol, "bfloat16", cast_optional_params=True)
    assert "fc_weight_amp_cast_bfloat16" in casts(unknown)


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("low", LOW)
def test_converted_block(low, optional, tmp_path):
    net = lenet()
    x, _ = pictures()
    with pytest.raises(mx.base.MXNetError, match="has no graph yet"):
        amp.convert_hybrid_block(net, low)
    net.hybridize()
    want = net(x).asnumpy()
    block = amp.convert_hybrid_block(net, low, cast_optional_params=optional)
    out = block(x)
    assert out.dtype == F32
    inside = types(block._graph[1], data=F32)
    assert {inside[name] for name in inside if name.endswith("_fwd_output")} == {low, "float32"}
    np.testing.assert_allclose(out.asnumpy(), want, atol=0.05)
    assert not np.array_equal(out.asnumpy(), want)
    kinds = {name_of(param.dtype) for param in block.collect_params().values()}
    assert kinds == ({"float32", low} if optional else {"float32"})
    net[0].weight.set_data(net[0].weight.data() * 0)  # the copies stay
    assert np.array_equal(block(x).astype(F32).asnumpy(), out.astype(F32).asnumpy())
    files = block.export(str(tmp_path / "net"), remove_amp_cast=False)
    again = gluon.SymbolBlock.imports(files[0], "data", files[1])
    assert np.array_equal(again(x).astype(F32).asnumpy(), out.astype(F32).asnumpy())


BAD = [
    ({"target_dtype": "int8"}, ValueError, "target_dtype is 'int8'; expected 'float16' or 'bfloat16'"),
    ({"excluded_sym_names": ["nope"]}, ValueError, "no operator of the symbol is called 'nope'"),
    ({"excluded_sym_names": "fc"}, TypeError, "expected a list of names"),
    ({"target_dtype_ops": ["Konvolution"]}, ValueError, "no operator 'Konvolution'.*Convolution"),
    ({"fp32_ops": ["nope"]}, ValueError, "fp32_ops: .*no operator 'nope'"),
    ({"fp32_ops": "exp"}, TypeError, "expected a list of operators' names"),
    ({"conditional_fp32_ops": [("nope", "a", ["b"])]}, ValueError, "no operator 'nope'"),
    ({"conditional_fp32_ops": [("Activation", "a", ["b"])]}, ValueError, "has no attribute 'a'"),
    ({"conditional_fp32_ops": [3]}, TypeError, "expected a list of"),
    ({"target_dtype_ops": ["exp"], "fp32_ops": ["exp"]}, ValueError, "exp: for the target type and"),
    ({"data_names": ["nope"]}, ValueError, "nope is no input; the inputs are data"),
]


@pytest.mark.parametrize(("arguments", "kind", "text"), BAD)
def test_bad_arguments(arguments, kind, text):
    with pytest.raises(kind, match=text):
        amp.convert_symbol(lenet_symbol(), **arguments)


def test_bad_objects():
    symbol = lenet_symbol()
    for call, text in (
        (lambda: amp.convert_symbol("x"), "expected a Symbol"),
        (lambda: amp.convert_model(symbol, [], {}), "expected a dict of NDArrays"),
        (lambda: amp.convert_hybrid_block(symbol), "expected a HybridBlock"),
        (lambda: amp.init_trainer(3), "expected a Trainer or an Optimizer"),
        (lambda: amp.unscale(3), "expected a Trainer or an Optimizer"),
    ):
        with pytest.raises(TypeError, match=text):
            call()


# ---- NumPy mode ----


class Attention(gluon.HybridBlock):
    """A block of ``mx.np``: traced when it is hybridized."""

    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Dense(8, flatten=False), nn.Dense(8, flatten=False)
        self.out = nn.Dense(4)

    def forward(self, x):
        weights = mx.npx.softmax(mx.np.matmul(self.query(x), mx.np.swapaxes(self.key(x), -1, -2)))
        return self.out(mx.np.einsum("bij,bjk->bik", weights, x))


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("dtype", LOW)
def test_training_in_numpy_mode(start, dtype, hybridized):
    def curve(low):
        mx.random.seed(1)
        net = Attention()
        net.initialize(mx.init.Xavier())
        x, y = mx.np.random.normal(size=(16, 5, 6)), mx.np.arange(16) % 4
        net(x)
        if hybridized:
            net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
        if low:
            start(dtype)
            amp.init_trainer(trainer)
        losses = []
        while len(losses) < 12:
            with autograd.record():
                out = net(x)
                loss = gluon.loss.SoftmaxCrossEntropyLoss()(out, y)
                if low:
                    with amp.scale_loss(loss, trainer) as large:
                        autograd.backward(large)
            if not low:
                loss.backward()
            before = low and trainer._amp_loss_scaler.loss_scale
            trainer.step(16)
            if not (
                low and trainer._amp_loss_scaler.loss_scale < before
            ):  # else skipped: the scale was too large
                losses.append(float(loss.mean()))
        assert type(out) is mx.np.ndarray
        return losses, name_of(out.dtype)

    with mx.util.np_shape(), mx.util.np_array():
        expected, whole = curve(low=False)
        losses, low = curve(low=True)
    assert (whole, low) == ("float32", dtype)
    assert losses[-1] < 0.9 * losses[0]
    np.testing.assert_allclose(losses, expected, rtol=0.02)  # halves have 8 or 11 bits


# ---- lists ----


def test_lists():
    groups = [amp.list_lp16_ops, amp.list_fp32_ops, amp.list_widest_type_cast, amp.list_lp16_fp32_ops]
    names = [name for group in groups for name in group("bfloat16")]
    assert len(names) == len(set(names))
    assert {"Convolution", "softmax", "Concat", "Pooling"} <= set(names)
    for name in names:
        assert _core.operator_info(name)["name"] == name
    for name, attribute, values in amp.list_conditional_fp32_ops("float16"):
        options = {p["name"]: p["options"] for p in _core.operator_info(name)["params"]}[attribute]
        assert set(values) <= set(options)
    assert set(amp.list_loss_output_functions("float16")) <= set(amp.list_fp32_ops("float16"))
    for name, inputs in amp.list_lp16_use_fp32_params("float16").items():
        assert {i["name"] for i in _core.operator_info(name)["inputs"]} == {"data", *inputs}
    with pytest.raises(ValueError, match="expected 'float16' or 'bfloat16'"):
        amp.list_lp16_ops("float64")


# ---- loss scales ----


def one_parameter(**arguments):
    param = gluon.Parameter("w", shape=(2,))
    param.initialize(mx.init.One())
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.5, **arguments})
    amp.init_trainer(trainer)
    return param, trainer


def backward(param, trainer, factor):
    with autograd.record():
        loss = (param.data() * factor).sum()
        with amp.scale_loss(loss, trainer) as scaled:
            autograd.backward(scaled)
    return scaled


def test_overflow_halves_the_scale_and_skips_the_step():
    param, trainer = one_parameter(momentum=0.9)
    scaler = trainer._amp_loss_scaler
    assert backward(param, trainer, 2.0).asscalar() == 4 * 65536
    trainer.step(2)
    assert param.data().asnumpy().tolist() == [0.5, 0.5]
    backward(param, trainer, np.inf)
    trainer.step(2)
    assert scaler.loss_scale == 32768 and param.data().asnumpy().tolist() == [0.5, 0.5]
    assert backward(param, trainer, 2.0).asscalar() == 2 * 32768
    trainer.step(2)
    np.testing.assert_allclose(param.data().asnumpy(), -0.45, rtol=1e-6)  # its momentum is that of one step


def test_unscale():
    param, trainer = one_parameter()
    backward(param, trainer, 2.0)
    assert param.grad().asnumpy().tolist() == [2 * 65536] * 2
    for _ in range(2):  # the second time there is nothing to do
        amp.unscale(trainer)
        assert param.grad().asnumpy().tolist() == [2, 2]
    trainer.step(1)
    assert param.data().asnumpy().tolist() == [0, 0]


def test_the_scale_rises():
    param, _ = one_parameter()
    param.grad()[:] = 1
    scaler = LossScaler()
    assert not any(scaler.has_overflow([param]) for _ in range(1999)) and scaler.loss_scale == 65536
    scaler.has_overflow([param])
    assert scaler.loss_scale == 131072
    param.grad()[1] = np.nan
    assert scaler.has_overflow([param]) and scaler.loss_scale == 65536


def test_two_devices_agree():
    param = gluon.Parameter("w", shape=(2,))
    param.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.5})
    amp.init_trainer(trainer)
    for factor, want in ((np.inf, 1.0), (1.0, 0.5)):
        with autograd.record():
            heads = [(a * (factor if i else 0.0)).sum() for i, a in enumerate(param.list_data())]
            with amp.scale_loss(heads, trainer) as scaled:
                autograd.backward(scaled)
        trainer.step(1)
        for array in param.list_data():
            assert array.asnumpy().tolist() == [want, want]


def test_scales_need_gradients_at_hand():
    param = gluon.Parameter("w", shape=(2,))
    param.initialize()
    trainer = gluon.Trainer([param], "sgd", update_on_kvstore=True)
    with pytest.raises(mx.base.MXNetError, match="update_on_kvstore=False"):
        amp.init_trainer(trainer)
    with (
        pytest.raises(mx.base.MXNetError, match=r"call amp\.init_trainer first"),
        amp.scale_loss(nd.ones(1), trainer),
    ):
        pass
    with pytest.raises(mx.base.MXNetError, match=r"call amp\.init_trainer first"):
        amp.unscale(trainer)


def test_scale_of_a_modules_optimizer():
    module = mx.mod.Module(
        sym.FullyConnected(sym.var("data"), num_hidden=1, no_bias=True, name="fc"), label_names=[]
    )
    module.bind([("data", (1, 2))])
    module.init_params(mx.init.One())
    optimizer = mx.optimizer.SGD(learning_rate=0.5)
    amp.init_trainer(optimizer)
    module.init_optimizer(kvstore=None, optimizer=optimizer)
    for head, want in ((np.inf, 1.0), (1.0, 0.0)):
        module.forward(mx.io.DataBatch([nd.array([[2.0, 2.0]])]), is_train=True)
        with amp.scale_loss([nd.array([[head]])], optimizer) as scaled:
            module.backward(scaled)
        module.update()
        assert module.get_params()[0]["fc_weight"].asnumpy().tolist() == [[want, want]]
    assert optimizer._amp_loss_scaler.loss_scale == 32768
    with pytest.raises(TypeError, match="expected a Trainer"):
        amp.unscale(optimizer)
