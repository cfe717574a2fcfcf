# SPDX-License-Identifier: Apache-2.0
"""Layers with weights of 8 and 4 bits, and mx.contrib.quantization.quantize_weights."""

import ctypes
import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import loomix as mx
import numpy as np
import pytest
from loomix.contrib import quantization


def weight_of(rng, bits, rows, columns, group_size):
    """The numbers of a weight, as arrays of the operator and as floats."""
    groups = -(-columns // group_size) if group_size else 1
    scales = rng.normal(size=(rows, groups)).astype("float32")
    low, high = (-128, 128) if bits == 8 else (-8, 8)
    whole = rng.integers(low, high, size=(rows, columns))
    whole[0, 0] = low
    real = whole * np.repeat(scales.astype("float64"), group_size or columns, axis=1)[:, :columns]
    if bits == 4:
        pairs = np.pad(whole + 8, ((0, 0), (0, columns % 2)), constant_values=8).astype("uint8")
        return mx.nd.array(pairs[:, 0::2] | pairs[:, 1::2] << 4, dtype="uint8"), mx.nd.array(scales), real
    return mx.nd.array(whole, dtype="int8"), mx.nd.array(scales), real


def assert_near(got, data, real, bias=0):
    """Within what the order of sums allows. Kernels keep numbers with an offset, as large as the largest of them."""
    want = data.astype("float64") @ real.T + bias
    most = np.abs(real).max() * np.abs(data).sum(1, keepdims=True)
    assert (np.abs(got.asnumpy() - want) <= 3e-6 * most + 1e-6 * np.abs(bias) + 1e-6).all()


@pytest.mark.parametrize("rows", [1, 3, 5, 20])
@pytest.mark.parametrize("bits", [8, 4])
def test_products(bits, rows):
    rng = np.random.default_rng(rows)
    for columns in (1, 7, 32, 100, 128, 257, 520):
        for group_size in (0, 32, 64, 256):
            for hidden in (1, 6, 70):
                weight, scale, real = weight_of(rng, bits, hidden, columns, group_size)
                data = rng.normal(size=(rows, columns)).astype("float32")
                bias = rng.normal(size=hidden).astype("float32")
                got = mx.nd.contrib.low_bit_fully_connected(
                    mx.nd.array(data),
                    weight,
                    scale,
                    mx.nd.array(bias),
                    num_hidden=hidden,
                    bits=bits,
                    group_size=group_size,
                )
                assert_near(got, data, real, bias)


def test_axes_are_joined_or_kept():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(2, 3, 32)).astype("float32")
    weight, scale, real = weight_of(rng, 8, 5, 32, 0)
    got = mx.nd.contrib.low_bit_fully_connected(
        mx.nd.array(data), weight, scale, num_hidden=5, no_bias=True, flatten=False
    )
    assert got.shape == (2, 3, 5)
    assert_near(got.reshape((6, 5)), data.reshape(6, 32), real)
    weight, scale, real = weight_of(rng, 8, 5, 96, 32)
    got = mx.nd.contrib.low_bit_fully_connected(
        mx.nd.array(data), weight, scale, num_hidden=5, no_bias=True, group_size=32
    )
    assert_near(got, data.reshape(2, 96), real)
    with mx.util.np_shape():
        empty = mx.nd.zeros((0, 96))
        attrs = {"num_hidden": 5, "no_bias": True, "group_size": 32}
        assert mx.nd.contrib.low_bit_fully_connected(empty, weight, scale, **attrs).shape == (0, 5)
        weight, scale = mx.nd.zeros((5, 0), dtype="int8"), mx.nd.ones((5, 1))
        for rows in (1, 20):
            for dynamic in (False, True):
                attrs = {"num_hidden": 5, "no_bias": True, "dynamic": dynamic}
                got = mx.nd.contrib.low_bit_fully_connected(mx.nd.zeros((rows, 0)), weight, scale, **attrs)
                assert (got.asnumpy() == np.zeros((rows, 5))).all()


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_dynamic(rows):
    """Data that is rounded is exactly what is multiplied."""
    rng = np.random.default_rng(rows)
    for columns in (1, 15, 64, 100, 300, 40000):
        hidden = 3 if columns > 1000 else 70
        weight, scale, real = weight_of(rng, 8, hidden, columns, 0)
        data = rng.normal(size=(rows, columns)).astype("float32")
        steps = np.abs(data).max(1, keepdims=True) / np.float32(127)
        whole = np.rint(data / steps)
        got = mx.nd.contrib.low_bit_fully_connected(
            mx.nd.array(data), weight, scale, num_hidden=hidden, no_bias=True, dynamic=True
        )
        # A number halfway between two steps may go either way.
        unsure = np.abs(np.abs(data / steps - whole) - 0.5) < 1e-4
        allowed = (unsure * steps) @ np.abs(real).T
        want = (whole * steps) @ real.T
        size = np.abs(whole * steps) @ np.abs(real).T
        assert (np.abs(got.asnumpy() - want) <= allowed + 1e-6 * size + 1e-6).all()


def test_dynamic_rows_without_range():
    weight, scale, _ = weight_of(np.random.default_rng(1), 8, 4, 70, 0)
    data = np.ones((3, 70), "float32")
    data[1] = 0
    data[2, 3] = np.nan
    got = mx.nd.contrib.low_bit_fully_connected(
        mx.nd.array(data), weight, scale, num_hidden=4, no_bias=True, dynamic=True
    ).asnumpy()
    assert np.isfinite(got[0]).all() and (got[1] == 0).all() and np.isnan(got[2]).all()


@pytest.mark.parametrize("bits,group_size", [(8, 0), (8, 32), (4, 0), (4, 64)])
def test_embedding(bits, group_size):
    weight, scale, real = weight_of(np.random.default_rng(2), bits, 6, 101, group_size)
    got = mx.nd.contrib.low_bit_embedding(
        mx.nd.array([[5, 0], [-1, 9]]),
        weight,
        scale,
        input_dim=6,
        output_dim=101,
        bits=bits,
        group_size=group_size,
    )
    np.testing.assert_allclose(got.asnumpy(), real[[[5, 0], [0, 5]]], rtol=1e-6)


@pytest.mark.parametrize(
    "attrs,message",
    [
        ({"bits": 5}, "bits is 5; expected 4 or 8"),
        ({"group_size": 48}, "group_size is 48; expected 0 or a power of two"),
        ({"dynamic": True, "group_size": 32}, "dynamic goes with bits 8 and group_size 0"),
        ({"bits": 4}, "weight"),  # its shape
    ],
)
def test_errors(attrs, message):
    weight = mx.nd.zeros((2, 64), dtype="int8")
    with pytest.raises(ValueError, match=message):
        mx.nd.contrib.low_bit_fully_connected(
            mx.nd.ones((1, 64)), weight, mx.nd.ones((2, 1)), num_hidden=2, no_bias=True, **attrs
        ).wait_to_read()


def test_other_instruction_sets():
    """The kernels of all levels that this processor has."""
    for level in ("sse41", "avx2"):
        tests = [f"{__file__}::{name}" for name in ("test_products", "test_dynamic", "test_embedding")]
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
            env={**os.environ, "LOOMIX_MAX_CPU_ISA": level},
            capture_output=True,
            text=True,
        )
        if "this processor has no more than" not in run.stdout + run.stderr:
            assert run.returncode == 0, run.stdout


def language_model():
    """Embedding, a dense layer and a decoder that shares the embedding's weight."""
    data = mx.sym.var("data")
    words = mx.sym.var("words_weight")
    x = mx.sym.Embedding(data, words, input_dim=50, output_dim=64, name="words")
    x = mx.sym.Activation(
        mx.sym.FullyConnected(x, num_hidden=64, flatten=False, name="fc"), act_type="tanh", name="act"
    )
    net = mx.sym.FullyConnected(x, words, num_hidden=50, flatten=False, no_bias=True, name="decoder")
    rng = np.random.default_rng(3)
    args = {
        "words_weight": mx.nd.array(rng.normal(size=(50, 64))),
        "fc_weight": mx.nd.array(rng.normal(size=(64, 64)) / 8),
        "fc_bias": mx.nd.array(rng.normal(size=64)),
    }
    return net, args


@pytest.mark.parametrize("bits,dynamic,most", [(8, False, 0.02), (8, True, 0.03), (4, False, 0.15)])
def test_symbols(tmp_path, bits, dynamic, most):
    net, args = language_model()
    data = mx.nd.array(np.arange(40).reshape(4, 10))
    want = net.bind(mx.cpu(), {"data": data, **args}).forward()[0].asnumpy()
    made, values = quantization.quantize_weights(net, args, bits=bits, dynamic=dynamic)
    assert set(values) == {
        "words_weight_quantize", "words_weight_scale", "fc_weight_quantize", "fc_weight_scale", "fc_bias",
    }  # fmt: skip
    assert made.list_outputs() == net.list_outputs()
    mx.model.save_checkpoint(str(tmp_path / "lm"), 0, made, values, {})
    mx.model.save_checkpoint(str(tmp_path / "real"), 0, net, args, {})
    sym, loaded, _ = mx.model.load_checkpoint(str(tmp_path / "lm"), 0)
    got = sym.bind(mx.cpu(), {"data": data, **loaded}).forward()[0].asnumpy()
    assert np.sqrt(np.mean((got - want) ** 2)) <= most * want.std()
    size = [(tmp_path / f"{name}-0000.params").stat().st_size for name in ("lm", "real")]
    assert size[0] < size[1] * (0.32 if bits == 8 else 0.22)  # small ones, with their scales and names


def test_what_stays():
    net, args = language_model()
    made, values = quantization.quantize_weights(net, args, excluded_sym_names=["words"])
    assert "words_weight" in values and "words_weight_quantize" in values  # one reader each
    args["fc_weight"] = args["fc_weight"].astype("float16")
    assert "fc_weight" in quantization.quantize_weights(net, args)[1]
    args["fc_weight"] = mx.nd.full((64, 64), np.nan)
    with pytest.raises(ValueError, match="fc_weight of fc has NaN"):
        quantization.quantize_weights(net, args)
    with pytest.raises(ValueError, match="bits is 2"):
        quantization.quantize_weights(net, args, bits=2)


def test_blocks(tmp_path):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(64, activation="relu"), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(10))
    net.initialize(mx.init.Xavier())
    data = mx.nd.random.normal(shape=(8, 128))
    want = net(data).asnumpy()
    made = quantization.quantize_net_weights(net, bits=4, group_size=32)
    assert np.sqrt(np.mean((made(data).asnumpy() - want) ** 2)) < 0.15 * want.std()
    made.hybridize()
    made(data)
    made.export(str(tmp_path / "net"))
    again = mx.gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    np.testing.assert_allclose(again(data).asnumpy(), made(data).asnumpy(), rtol=1e-6)


def test_rounding_is_close():
    """4 bits by the best of some scales; groups are better than rows."""
    weight = np.random.default_rng(4).normal(size=(16, 256)).astype("float32")
    args = {"fc_weight": mx.nd.array(weight)}
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=16, no_bias=True, name="fc")
    errors = []
    for bits, group_size in ((8, 0), (8, 32), (4, 32), (4, 128), (4, 0)):
        made, values = quantization.quantize_weights(net, args, bits=bits, group_size=group_size)
        real = made.bind(mx.cpu(), {"data": mx.nd.eye(256), **values}).forward()[0].asnumpy().T
        errors.append(np.sqrt(np.mean((real - weight) ** 2)))
    assert errors[1] < errors[0] < 0.008
    assert errors[2] < errors[3] < errors[4] < 0.12 and errors[2] < 0.09


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_recurrent_layers(mode, bidirectional):
    """Beside RNN with the weights that the rounded ones stand for."""
    rng = np.random.default_rng(5)
    steps, batch, inputs, hidden, layers = 6, 3, 20, 17, 2
    directions = 2 if bidirectional else 1
    attrs = {
        "state_size": hidden, "num_layers": layers, "mode": mode, "bidirectional": bidirectional, "state_outputs": True,
    }  # fmt: skip
    rows = {"lstm": 4, "gru": 3}.get(mode, 1) * hidden
    weights = [
        rng.normal(size=(rows, c)) / 6
        for w in (inputs, directions * hidden)
        for c in (w, hidden) * directions
    ]
    biases = rng.normal(size=layers * directions * 2 * rows).astype("float32")
    vector = np.concatenate([*(w.ravel() for w in weights), biases]).astype("float32")
    names = ["state", "state_cell"] if mode == "lstm" else ["state"]
    states = {name: mx.nd.array(rng.normal(size=(layers * directions, batch, hidden))) for name in names}
    net = mx.sym.RNN(
        mx.sym.var("data"), mx.sym.var("vector"), *(mx.sym.var(name) for name in names), **attrs, name="rnn"
    )
    data = mx.nd.array(rng.normal(size=(steps, batch, inputs)))
    made, values = quantization.quantize_weights(net, {"vector": mx.nd.array(vector)}, dynamic=True)
    assert set(values) == {"rnn_weight_quantize", "rnn_weight_scale", "rnn_bias"}
    got = made.bind(mx.cpu(), {"data": data, **states, **values}).forward()
    want = net.bind(mx.cpu(), {"data": data, "vector": mx.nd.array(vector), **states}).forward()
    assert len(got) == len(want)
    for g, w in zip(got, want):
        assert g.shape == w.shape
        assert np.sqrt(np.mean((g - w).asnumpy() ** 2)) < 0.03 * max(1, np.abs(w.asnumpy()).max())


def text_of(rng, count, words=40):
    """Numbers of which each follows from the one before it, and from chance: at best a perplexity of 3."""
    text = [0]
    for _ in range(count):
        text.append((text[-1] * 7 + int(rng.integers(0, 3))) % words)
    return np.array(text, "float32")


class LanguageModel(mx.gluon.HybridBlock):
    def __init__(self, words, units):
        super().__init__()
        with self.name_scope():
            self.words = mx.gluon.nn.Embedding(words, units)
            self.layers = mx.gluon.rnn.LSTM(units, layout="NTC", input_size=units)
            self.decoder = mx.gluon.nn.Dense(words, flatten=False, in_units=units)

    def hybrid_forward(self, F, data):
        return self.decoder(self.layers(self.words(data)))


def test_language_model():
    """Perplexity grows by at most 1 % with 8 bits, dynamic ones included."""
    mx.random.seed(1)
    rng = np.random.default_rng(6)
    text, test = text_of(rng, 8000), text_of(rng, 2000)
    net = LanguageModel(40, 48)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    data, label = (mx.nd.array(part.reshape(-1, 20)) for part in (text[:-1], text[1:]))
    for _ in range(6):
        for i in range(0, len(data), 50):
            with mx.autograd.record():
                loss = loss_of(net(data[i : i + 50]), label[i : i + 50]).mean()
            loss.backward()
            trainer.step(1)

    def perplexity(model):
        data, label = (mx.nd.array(part.reshape(-1, 20)) for part in (test[:-1], test[1:]))
        return np.exp(loss_of(model(data), label).mean().asscalar())

    real = perplexity(net)
    assert real < 4  # it has learnt something
    for options in ({}, {"dynamic": True}):
        made = quantization.quantize_net_weights(net, **options)
        assert any(name.endswith("lstm0_rnn0_weight_quantize") for name in made.collect_params()) == bool(
            options
        )
        assert perplexity(made) < real * 1.01
    assert perplexity(quantization.quantize_net_weights(net, bits=4, group_size=32)) < real * 1.1


def predicted(where, sym, values, data):
    """The outputs of a library for prediction: of that of C, or of the single file."""
    module = importlib.import_module(where)
    if not module.LIBRARY.exists():
        pytest.skip(f"{module.LIBRARY.name} is not built")
    library = ctypes.CDLL(str(module.LIBRARY))
    library.MXGetLastError.restype = ctypes.c_char_p
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "params"
        mx.nd.save(str(path), {f"arg:{name}": value for name, value in values.items()})
        inputs = {"data": data.asnumpy()}
        shapes = {"data": data.shape} if where == "test_c_predict" else inputs
        predictor = module.Predictor(library, sym.tojson(), path.read_bytes(), shapes)
        predictor.predict(**inputs) if where == "test_c_predict" else predictor.predict(inputs)
        return predictor.output()


@pytest.mark.source
@pytest.mark.parametrize("where", ["test_c_predict", "test_single_file"])
@pytest.mark.parametrize("options", [{}, {"bits": 4, "group_size": 32}, {"dynamic": True}])
def test_libraries_for_prediction(where, options):
    net, args = language_model()
    sym, values = quantization.quantize_weights(net, args, **options)
    data = mx.nd.array(np.arange(40).reshape(4, 10))
    want = sym.bind(mx.cpu(), {"data": data, **values}).forward()[0].asnumpy()
    np.testing.assert_allclose(predicted(where, sym, values, data), want, rtol=1e-4, atol=1e-4)


@pytest.mark.source
def test_library_of_c_runs_calibrated_networks():
    data = mx.nd.random.normal(shape=(2, 3, 12, 12))
    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=8, name="conv")
    x = mx.sym.Flatten(mx.sym.Activation(x, act_type="relu"))
    net = mx.sym.FullyConnected(x, num_hidden=5, name="fc")
    shapes = net.infer_shape(data=data.shape)[0]
    args = {
        name: mx.nd.random.normal(shape=s) * 0.1
        for name, s in zip(net.list_arguments(), shapes)
        if name != "data"
    }
    sym, values, _ = quantization.quantize_model(net, args, {}, calib_mode="naive", calib_data=[data])
    want = sym.bind(mx.cpu(), {"data": data, **values}).forward()[0].asnumpy()
    np.testing.assert_allclose(predicted("test_c_predict", sym, values, data), want, rtol=1e-5, atol=1e-5)
