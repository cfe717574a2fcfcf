# SPDX-License-Identifier: Apache-2.0
"""Products of attention whose sides are rounded to 8 bits in each run."""

import loomix as mx
import numpy as np
import pytest
from loomix.contrib import quantization
from test_low_bit import predicted


def rounded(x):
    """What rows of the last axis are rounded to, and half a step of each."""
    steps = np.abs(x).max(-1, keepdims=True) / 127
    return np.rint(x / np.where(steps == 0, 1, steps)) * steps, steps / 2


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_products(transpose_a, transpose_b):
    """Exact products of rounded numbers; one halfway between two steps may go either way."""
    rng = np.random.default_rng(0)
    for items, m, n, k in ((3, 1, 5, 64), (2, 4, 17, 7), (1, 100, 33, 130), (9, 35, 70, 1)):
        a, b = (rng.normal(size=(items, rows, k)).astype("float32") for rows in (m, n))
        (whole_a, half_a), (whole_b, half_b) = rounded(a.astype(float)), rounded(b.astype(float))
        unsure = [np.abs(np.abs(x - whole) - half) < half * 1e-4 for x, whole, half in
                  ((a, whole_a, half_a), (b, whole_b, half_b))]  # fmt: skip
        allowed = (2 * half_a * unsure[0]) @ np.abs(b).swapaxes(1, 2)
        allowed = allowed + np.abs(a) @ (2 * half_b * unsure[1]).swapaxes(1, 2)
        got = mx.nd.contrib.low_bit_batch_dot(
            mx.nd.array(a.swapaxes(1, 2) if transpose_a else a),
            mx.nd.array(b if transpose_b else b.swapaxes(1, 2)),
            transpose_a=transpose_a,
            transpose_b=transpose_b,
        ).asnumpy()
        size = np.abs(whole_a) @ np.abs(whole_b).swapaxes(1, 2)
        assert (np.abs(got - whole_a @ whole_b.swapaxes(1, 2)) <= 1.1 * allowed + 1e-6 * size + 1e-6).all()


def test_rows_that_are_special():
    """Zeros stay, NaN is passed on, and sums of the largest numbers do not overflow."""
    a, b = np.ones((1, 3, 70), "float32"), np.ones((1, 2, 70), "float32")
    a[0, 1], a[0, 2, 5], b[0, 1] = 0, np.nan, -1
    got = mx.nd.contrib.low_bit_batch_dot(mx.nd.array(a), mx.nd.array(b), transpose_b=True).asnumpy()[0]
    np.testing.assert_allclose(got[:2], [[70, -70], [0, 0]], rtol=1e-6)
    assert np.isnan(got[2]).all()
    ones = mx.nd.ones((1, 1, 300000))
    assert mx.nd.contrib.low_bit_batch_dot(ones, ones, transpose_b=True).asscalar() == pytest.approx(3e5)
    with mx.util.np_shape():
        for shapes in (((0, 2, 3), (0, 3, 4)), ((2, 0, 3), (2, 3, 4)), ((2, 2, 0), (2, 0, 4))):
            got = mx.nd.contrib.low_bit_batch_dot(*map(mx.nd.zeros, shapes))
            assert got.shape == mx.nd.batch_dot(*map(mx.nd.zeros, shapes)).shape and not got.asnumpy().any()
    with pytest.raises(ValueError, match="do not multiply"):
        mx.nd.contrib.low_bit_batch_dot(mx.nd.ones((1, 2, 3)), mx.nd.ones((1, 2, 3)))


class Recall(mx.gluon.HybridBlock):
    """Attention of two heads, which finds what followed the last word when it stood there before."""

    def __init__(self, words, units, form):
        super().__init__()
        self.units, self.form = units, form
        with self.name_scope():
            self.words = mx.gluon.nn.Embedding(words, units)
            self.pairs = mx.gluon.nn.Dense(units, "relu", flatten=False, in_units=2 * units)
            self.qkv = mx.gluon.nn.Dense(3 * units, flatten=False, use_bias=False, in_units=units)
            self.out = mx.gluon.nn.Dense(words, flatten=False, in_units=units)

    def hybrid_forward(self, F, data):
        x = self.words(data)  # (batch, length, units); each item with the one before it
        before = F.concat(F.zeros_like(F.slice_axis(x, axis=1, begin=0, end=1)),
                          F.slice_axis(x, axis=1, begin=0, end=-1), dim=1)  # fmt: skip
        qkv = self.qkv(self.pairs(F.concat(x, before, dim=2)))
        if self.form == "interleaved":
            qkv = F.transpose(qkv, (1, 0, 2))
            weights = F.softmax(F.contrib.interleaved_matmul_selfatt_qk(qkv, heads=2))
            made = F.contrib.interleaved_matmul_selfatt_valatt(qkv, weights, heads=2)
            return self.out(F.slice_axis(made, axis=0, begin=-1, end=None).reshape((-1, self.units)))
        q, k, v = F.split(qkv, 3, axis=2)
        weights = F.softmax(F.batch_dot(q, k, transpose_b=True) / self.units**0.5)
        made = F.batch_dot(weights, v)
        return self.out(F.slice_axis(made, axis=1, begin=-1, end=None).reshape((-1, self.units)))


def recalled(rng, count, words=12, length=9):
    """Words of which the last one stood there once before, and the one that followed then."""
    data = np.stack([rng.permutation(words)[:length] for _ in range(count)]).astype("float32")
    at = rng.integers(0, length - 2, count)
    data[:, -1] = data[np.arange(count), at]
    return mx.nd.array(data), mx.nd.array(data[np.arange(count), at + 1])


OPERATORS = {
    "batch_dot": {"_contrib_low_bit_batch_dot"},
    "interleaved": {f"_contrib_low_bit_interleaved_matmul_selfatt_{name}" for name in ("qk", "valatt")},
}


@pytest.mark.parametrize("form", OPERATORS)
def test_networks(form):
    """What attention has learnt stays: its loss grows by at most 1 %, its accuracy by 0.3 points at most."""
    mx.random.seed(2)
    rng = np.random.default_rng(2)
    net = Recall(12, 32, form)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(500):
        data, label = recalled(rng, 64)
        with mx.autograd.record():
            loss = loss_of(net(data), label).mean()
        loss.backward()
        trainer.step(1)
    data, label = recalled(rng, 2000)

    def quality(model):
        made = model(data)
        right = (made.argmax(1) == label).mean().asscalar()
        return np.exp(loss_of(made, label).mean().asscalar()), right

    perplexity, right = quality(net)
    assert right > 0.9  # it has learnt something
    made = quantization.quantize_net_weights(net, dynamic=True, attention=True)
    perplexity8, right8 = quality(made)
    assert perplexity8 <= perplexity * 1.01 and right8 >= right - 0.003
    made.hybridize()
    np.testing.assert_allclose(made(data).asnumpy(), made(data).asnumpy())


@pytest.mark.parametrize("form", OPERATORS)
def test_which_products_are_rounded(form):
    net = Recall(12, 32, form)
    net.initialize()
    net(mx.nd.zeros((1, 9)))
    sym = net(mx.sym.var("data"))
    args = {name: value.data() for name, value in net.collect_params().items()}
    names = {node.op: node.name for node in quantization.graph.nodes_of(sym)[0]}

    def operators(args, **options):
        made, _ = quantization.quantize_weights(sym, args, **options)
        return {node.op for node in quantization.graph.nodes_of(made)[0]}

    assert OPERATORS[form] <= operators(args, dynamic=True, attention=True)
    assert not OPERATORS[form] & operators(args, dynamic=True)
    with pytest.raises(ValueError, match="attention goes with dynamic"):
        operators(args, attention=True)
    doubles = {name: value.astype("float64") for name, value in args.items()}
    assert not OPERATORS[form] & operators(doubles, dynamic=True, attention=True)
    left = [name for op, name in names.items() if op.startswith(("_contrib_interleaved", "batch_dot"))]
    left += [node.name for node in quantization.graph.nodes_of(sym)[0] if node.op == "batch_dot"]
    assert not OPERATORS[form] & operators(args, dynamic=True, attention=True, excluded_sym_names=left)


def test_products_with_parameters_stay():
    net = mx.sym.batch_dot(mx.sym.var("data"), mx.sym.var("weight"), name="dot")
    report = quantization.QuantizationReport()
    made, _ = quantization.quantize_weights(
        net, {"weight": mx.nd.ones((1, 3, 4))}, dynamic=True, attention=True, report=report
    )
    assert [node.op for node in quantization.graph.nodes_of(made)[0]] == ["null", "null", "batch_dot"]
    assert [layer.kept for layer in report.layers] == ["it multiplies by a parameter"]


def test_report():
    """What became of each layer, and why products stay."""
    net = Recall(12, 32, "interleaved")
    net.initialize()
    net(mx.nd.zeros((1, 9)))

    def layers(**options):
        report = quantization.QuantizationReport()
        quantization.quantize_net_weights(net, report=report, **options)
        assert all(layer.name in str(report) for layer in report.layers)
        return report.layers

    def products(report):
        return [layer for layer in report if "interleaved" in layer.name]

    plain, whole = layers(dynamic=True), layers(dynamic=True, attention=True)
    assert [layer.name for layer in plain] == [layer.name for layer in whole] and len(plain) == 6
    for layer in products(plain):
        assert layer.runs == "float32" and "AVX2" in layer.kept and "attention=True" in layer.kept
    assert len(products(plain)) == 2 and all(layer.runs == "int8" for layer in products(whole))
    for layer in plain[:1] + layers(bits=4)[:2]:
        assert layer.kept is None and layer.runs.startswith("float32, weight of")
    losses = [layer.weight_decibels for layer in plain if layer.kept is None]
    assert len(losses) == 4 and all(30 < loss < 60 for loss in losses)
    name = plain[1].name
    excluded = layers(dynamic=True, exclude_layers=[name])[1]
    assert excluded.name == name and excluded.kept == "excluded by name"


@pytest.mark.source
@pytest.mark.parametrize("where", ["test_c_predict", "test_single_file"])
@pytest.mark.parametrize("form", OPERATORS)
def test_libraries_for_prediction(where, form):
    mx.random.seed(3)
    net = Recall(12, 32, form)
    net.initialize(mx.init.Xavier())
    data, _ = recalled(np.random.default_rng(3), 5)
    net(data)
    args = {name: value.data() for name, value in net.collect_params().items()}
    sym, values = quantization.quantize_weights(net(mx.sym.var("data")), args, dynamic=True, attention=True)
    want = sym.bind(mx.cpu(), {"data": data, **values}).forward()[0].asnumpy()
    np.testing.assert_allclose(predicted(where, sym, values, data), want, rtol=1e-3, atol=1e-4)
