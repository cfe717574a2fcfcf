# SPDX-License-Identifier: Apache-2.0
"""mx.contrib.quantization: networks of 8 bits beside the float ones that they were made from."""

import os

import loomix as mx
import numpy as np
import pytest
from loomix.contrib import quantization
from loomix.gluon import nn


def residual_network():
    class Block(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.body = nn.HybridSequential()
            self.body.add(
                nn.Conv2D(8, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"),
                nn.Conv2D(8, 3, padding=1), nn.BatchNorm(),
            )  # fmt: skip
            self.short = nn.Conv2D(8, 1)

        def hybrid_forward(self, F, x):
            return F.Activation(self.body(x) + self.short(x), act_type="relu")

    net = nn.HybridSequential()
    net.add(
        Block(), nn.MaxPool2D(2), nn.Conv2D(6, 3), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Dense(4)
    )
    net.initialize(mx.init.Xavier())
    return net


@pytest.fixture(scope="module")
def trained():
    """A network whose normalisations have statistics, examples, and what it says of them."""
    mx.random.seed(3)
    net, x = residual_network(), mx.nd.random.normal(shape=(24, 3, 10, 10))
    for _ in range(4):
        with mx.autograd.record():
            net(x)
    return net, x, net(x).asnumpy()


def parts_of(net):
    sym = net(mx.sym.var("data"))
    states = set(sym.list_auxiliary_states())
    values = {name: value.data() for name, value in net.collect_params().items()}
    return (
        sym,
        {name: value for name, value in values.items() if name not in states},
        {name: value for name, value in values.items() if name in states},
    )


def lost(ours, theirs):
    return np.sqrt(np.square(ours - theirs).sum() / np.square(theirs).sum())


def operators_of(sym):
    return [node.op for node in quantization.graph.nodes_of(sym)[0] if node.op != "null"]


@pytest.mark.parametrize("dtype", ["int8", "auto"])
@pytest.mark.parametrize("mode", ["none", "naive", "entropy"])
def test_results_are_near(trained, dtype, mode):
    net, x, expected = trained
    before = x.asnumpy()
    ours = quantization.quantize_net(
        net, dtype, calib_mode=mode, calib_data=mx.io.NDArrayIter(x, batch_size=8), data_shapes=[x.shape]
    )
    assert lost(ours(x).asnumpy(), expected) < 0.06
    assert np.array_equal(x.asnumpy(), before), "calibration writes to the user's data"
    ours.hybridize()
    assert lost(ours(x).asnumpy(), expected) < 0.06


def test_uint8_where_nothing_is_negative(trained):
    _, x, _ = trained
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, activation="relu"), nn.Dense(3, activation="relu"))
    net.initialize(mx.init.Xavier())
    x = mx.nd.abs(x)
    expected = net(x).asnumpy()
    ours = quantization.quantize_net(net, "uint8", calib_mode="naive", calib_data=[x])
    assert lost(ours(x).asnumpy(), expected) < 0.03


def test_normalisations_and_relus_go_into_their_neighbours(trained):
    net, x, _ = trained
    data = mx.io.NDArrayIter(x, batch_size=8)
    for mode in ("smart", "full"):
        sym, args, aux = quantization.quantize_model(
            *parts_of(net), calib_mode="naive", calib_data=data, quantized_dtype="auto", quantize_mode=mode
        )
        found = operators_of(sym)
        assert not {
            "BatchNorm",
            "Activation",
            "Convolution",
            "FullyConnected",
            "_contrib_quantized_act",
        } & set(found)
        assert found.count("_contrib_quantize_v2") == 1 and found.count("_contrib_dequantize") == 1
        assert not aux
        assert all(args[name].dtype == np.int8 for name in args if name.endswith("_quantize"))


def test_files_are_a_quarter(trained, tmp_path):
    net = nn.HybridSequential()
    net.add(nn.Dense(300, in_units=300))
    net.initialize(mx.init.Xavier())
    parts = parts_of(net)
    _, args, _ = quantization.quantize_model(*parts, calib_mode="none")
    sizes = []
    for name, values in (("real", parts[1]), ("whole", args)):
        mx.nd.save(str(tmp_path / name), values)
        sizes.append(os.path.getsize(tmp_path / name))
    assert sizes[1] < 0.26 * sizes[0]


def test_symbol_files(trained, tmp_path):
    net, x, _ = trained
    made = quantization.quantize_model(
        *parts_of(net), calib_mode="naive", calib_data=[x], quantized_dtype="auto"
    )
    mx.model.save_checkpoint(str(tmp_path / "net"), 0, *made)
    sym, args, aux = mx.model.load_checkpoint(str(tmp_path / "net"), 0)
    first, second = (
        s.bind(mx.cpu(), {**a, "data": x}, aux_states=b, grad_req="null").forward()[0].asnumpy()
        for s, a, b in (made, (sym, args, aux))
    )
    assert np.array_equal(first, second)


@pytest.mark.parametrize("mode", ["naive", "entropy", "customize"])
def test_by_a_collector(trained, mode):
    """quantize_graph, the float network with a monitor, calib_graph."""
    net, x, expected = trained

    class Own(quantization.CalibrationCollector):
        def collect(self, name, arr):
            known = self._name(name)
            if known:
                most = float(mx.nd.max(mx.nd.abs(arr)).asscalar())
                self.min_max_dict[known] = (-most, most)

    sym, args, aux = parts_of(net)
    own = Own() if mode == "customize" else None
    qsym, qargs, qaux, collector = quantization.quantize_graph(
        sym, args, aux, calib_mode=mode, quantized_dtype="int8", LayerOutputCollector=own
    )
    executor = sym.bind(mx.cpu(), {**args, "data": x}, aux_states=aux, grad_req="null")
    executor.set_monitor_callback(collector.collect, monitor_all=True)
    executor.forward(is_train=False)
    qsym, qargs, qaux = quantization.calib_graph(
        qsym, qargs, qaux, collector, calib_mode=mode, quantized_dtype="int8"
    )
    ours = qsym.bind(mx.cpu(), {**qargs, "data": x}, aux_states=qaux, grad_req="null").forward()[0]
    assert lost(ours.asnumpy(), expected) < 0.06


def test_excluded(trained):
    net, x, expected = trained
    sym, args, aux = parts_of(net)
    name = next(layer.name for layer in sym.get_internals() if "dense" in layer.name and "fwd" in layer.name)
    report = quantization.QuantizationReport()
    qsym, qargs, _ = quantization.quantize_model(
        sym, args, aux, excluded_sym_names=[name], excluded_op_names=["Pooling"], calib_mode="naive", calib_data=[x],
        report=report,
    )  # fmt: skip
    found = operators_of(qsym)
    assert "FullyConnected" in found and "Pooling" in found and "_contrib_quantized_pooling" not in found
    kept = {layer.name: layer.kept for layer in report.layers}
    assert kept[name] == "excluded by name" and "its operator is excluded" in kept.values()
    text = str(report)
    assert name in text and "left in float: excluded by name" in text
    assert report.svg().startswith("<svg") and all(
        layer.decibels > 20 for layer in report.layers if layer.decibels
    )


def test_from_a_data_loader(trained):
    net, x, expected = trained
    loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(x, mx.nd.zeros(24)), 8)
    ours = quantization.quantize_net(net, calib_mode="naive", calib_data=loader, num_calib_examples=16)
    assert lost(ours(x).asnumpy(), expected) < 0.06


def uneven(filters):
    """Weights whose filters are of very different sizes, one of them empty."""
    random = np.random.RandomState(5)
    sizes = np.r_[0.0, 10.0 ** -np.arange(filters - 1)]
    return mx.nd.array(random.normal(size=(filters, 3, 3, 3)) * sizes[:, None, None, None])


@pytest.mark.parametrize("compiled", [False, True])
def test_a_range_for_each_filter(compiled):
    """Small filters beside large ones keep their digits; biases are as exact."""
    data = mx.sym.var("data")
    sym = mx.sym.Group([
        mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, name="c"),
        mx.sym.FullyConnected(data, num_hidden=3, name="f"),
    ])  # fmt: skip
    random = np.random.RandomState(6)
    x = mx.nd.array(random.normal(size=(2, 3, 8, 8)))
    args = {
        "c_weight": uneven(4), "c_bias": mx.nd.array([0.3, -5, 0.02, 0.004]),
        "f_weight": mx.nd.array(random.normal(size=(3, 192)) * np.array([[1.0], [0.1], [0.01]])),
        "f_bias": mx.nd.array([1.0, -0.1, 0.033]),
    }  # fmt: skip
    expected = [y.asnumpy() for y in sym.bind(mx.cpu(), {**args, "data": x}, grad_req="null").forward()]
    errors = {}
    for granularity in ("tensor-wise", "channel-wise"):
        qsym, qargs, _ = quantization.quantize_model(
            sym, args, {}, calib_mode="naive", calib_data=[x], quantize_granularity=granularity
        )
        executor = qsym.bind(mx.cpu(), {**qargs, "data": x}, grad_req="null")
        if not compiled:
            executor.set_monitor_callback(lambda *_: None)
        errors[granularity] = [
            [lost(ours.asnumpy()[:, i], theirs[:, i]) for i in range(theirs.shape[1])]
            for ours, theirs in zip(executor.forward(is_train=False), expected)
        ]
    assert qargs["c_weight_quantize_max"].shape == (4,) and qargs["f_bias_quantize_min"].shape == (3,)
    conv, dense = errors["channel-wise"]
    # Operators one by one bring all sums to one step, as their output has one range.
    assert max(conv) < 0.03 and max(dense) < 0.03, errors
    conv, dense = errors["tensor-wise"]
    assert conv[3] > 0.1 and dense[2] > 0.05, errors


def test_ranges_of_filters_in_files(tmp_path):
    """A symbol file says which parameters have a number for each filter, so that simple_bind allocates them."""
    sym = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="c")
    args, x = {"c_weight": uneven(4), "c_bias": mx.nd.ones(4)}, mx.nd.ones((1, 3, 5, 5))
    made = quantization.quantize_model(
        sym, args, {}, calib_mode="naive", calib_data=[x], quantize_granularity="channel-wise"
    )
    mx.model.save_checkpoint(str(tmp_path / "net"), 0, *made)
    module = mx.mod.Module.load(str(tmp_path / "net"), 0, label_names=None)
    module.bind([("data", x.shape)], for_training=False)
    ours = module.predict(mx.io.NDArrayIter(x, batch_size=1)).asnumpy()
    again = made[0].bind(mx.cpu(), {**made[1], "data": x}, grad_req="null").forward()[0].asnumpy()
    assert np.array_equal(ours, again)


@pytest.mark.parametrize("first", [1e-30, 1e-6, 0.01, 0.9])
def test_histograms_of_values_that_grow(first):
    """States of recurrent networks are tiny at first: bins as fine as that would take all memory."""
    random = np.random.RandomState(8)
    values = np.clip(random.normal(size=(4, 1000)), -3, 3).astype("float32")
    collector = quantization._LayerHistogramCollector(num_bins=801)
    collector.collect("x", mx.nd.array(values[0] * first))
    for row in values[1:]:
        collector.collect("x", mx.nd.array(row))
    counts, edges, low, high, th = collector.hist_dict["x"]
    assert counts.sum() == 4000 and len(counts) % 2 == 1 and 801 <= len(counts) <= 2500
    assert len(edges) == len(counts) + 1 and edges[-1] == pytest.approx(th) and th >= 3 == high
    assert edges[len(counts) // 2] == pytest.approx(-edges[len(counts) // 2 + 1])
    (found,) = quantization._get_optimal_thresholds(collector.hist_dict, "int8").values()
    assert 1 < found[1] < 3.1


def test_layers_behind_one_of_many_outputs():
    parts = mx.sym.split(mx.sym.var("data"), num_outputs=2, axis=1, name="parts")
    sym = mx.sym.FullyConnected(parts[0], num_hidden=2, name="a") + mx.sym.FullyConnected(
        parts[1], num_hidden=2, name="b"
    )
    x = mx.nd.array([[0.5, -1.0, 0.25, 2.0]])
    args = {
        f"{name}_{part}": value
        for name in "ab"
        for part, value in (("weight", mx.nd.ones((2, 2))), ("bias", mx.nd.ones(2)))
    }
    qsym, qargs, _ = quantization.quantize_model(sym, args, {}, calib_mode="naive", calib_data=[x])
    ours = qsym.bind(mx.cpu(), {**qargs, "data": x}, grad_req="null").forward()[0].asnumpy()
    np.testing.assert_allclose(ours, 3.75, atol=0.05)


def test_rows_of_numbers_with_a_range_each():
    x = mx.nd.array([[1.0, -2.0], [0.01, 0.02], [0.0, 0.0]])
    low, high = mx.nd.array([-2.0, -0.02, 0.0]), mx.nd.array([2.0, 0.01, 0.0])
    whole, least, most = mx.nd.contrib.quantize(x, low, high, out_type="int8")
    assert whole.asnumpy().tolist() == [[64, -127], [64, 127], [0, 0]]
    assert np.array_equal(most.asnumpy(), -least.asnumpy())
    np.testing.assert_allclose(most.asnumpy(), np.float32([2, 0.02, 0]))
    again = mx.nd.contrib.dequantize(whole, least, most).asnumpy()
    np.testing.assert_allclose(again, x.asnumpy(), atol=0.01)
    with pytest.raises(mx.MXNetError, match="min_range"):
        mx.nd.contrib.dequantize(whole, mx.nd.ones(2), mx.nd.ones(2)).asnumpy()


@pytest.mark.parametrize("kind, most", [("int8", 127), ("uint8", 255)])
def test_large_sums_are_exact(kind, most):
    """Products that fill 16 bits, as AVX2's instruction for bytes would cut off; odd shapes, groups, dilation."""
    array, number = mx.nd.array, mx.nd.array([1.0])
    x = np.full((2, 6, 9, 7), most)
    w = np.where(np.arange(4 * 3 * 3 * 3).reshape(4, 3, 3, 3) % 5 == 0, -127, 127)
    attrs = {
        "kernel": (3, 3),
        "num_filter": 4,
        "num_group": 2,
        "dilate": (2, 1),
        "pad": (1, 2),
        "no_bias": True,
    }
    expected = mx.nd.Convolution(array(x, dtype="float64"), array(w, dtype="float64"), **attrs).asnumpy()
    ranges = {"min_data": -number, "max_data": number, "min_weight": -number, "max_weight": number}
    ours = mx.nd.contrib.quantized_conv(array(x, dtype=kind), array(w, dtype="int8"), **ranges, **attrs)[0]
    assert np.array_equal(ours.asnumpy(), expected)
    x, w = np.full((3, 1000), most), np.where(np.arange(7000).reshape(7, 1000) % 3, 127, -127)
    ours = mx.nd.contrib.quantized_fully_connected(
        array(x, dtype=kind), array(w, dtype="int8"), **ranges, num_hidden=7, no_bias=True
    )[0]
    assert np.array_equal(ours.asnumpy(), x @ w.T)


def test_recurrent_network():
    random = np.random.RandomState(1)
    x = mx.nd.array(random.uniform(-1, 1, (5, 2, 6)))
    attrs = {"state_size": 4, "num_layers": 2, "mode": "lstm", "bidirectional": True, "state_outputs": True}
    size = 2 * (16 * (6 + 4) + 16 * (8 + 4)) + 4 * 2 * 16
    parameters = mx.nd.array(random.uniform(-0.5, 0.5, size))
    state, cell = mx.nd.zeros((4, 2, 4)), mx.nd.zeros((4, 2, 4))
    whole, scale, shift = mx.nd.contrib.quantize_asym(x)
    ours = mx.nd.contrib.quantized_rnn(whole, parameters, state, cell, scale, shift, **attrs)
    for mine, expected in zip(ours, mx.nd.RNN(x, parameters, state, cell, **attrs)):
        assert np.abs(mine.asnumpy() - expected.asnumpy()).max() < 0.01
    with pytest.raises(NotImplementedError, match="LSTM"):
        mx.nd.contrib.quantized_rnn(whole, parameters, state, cell, scale, shift, **{**attrs, "mode": "gru"})


@pytest.mark.parametrize("ends", [(1.0, -1.0), (np.nan, 1.0), (0.0, np.inf)])
def test_operators_refuse_what_is_no_range(ends):
    low, high = (mx.nd.array([end]) for end in ends)
    with pytest.raises(ValueError, match="expected two finite numbers"):
        mx.nd.contrib.quantize(mx.nd.ones((2,)), low, high)[0].asnumpy()


def test_all_zero_data_stays_zero():
    for kind in ("int8", "uint8"):
        whole, low, high = mx.nd.contrib.quantize_v2(mx.nd.zeros((3,)), out_type=kind)
        assert not mx.nd.contrib.dequantize(whole, low, high).asnumpy().any()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(
    "shape, options",
    [
        ((2, 3, 11, 13), {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}),
        ((2, 3, 11, 13), {"kernel": (5, 2), "stride": (1, 3), "pad": (2, 0), "pooling_convention": "full"}),
        ((1, 2, 3, 5000), {"kernel": (2, 3)}),  # wider than what rows are kept of
    ],
)
def test_maxima_of_8_bits_are_those_of_floats(shape, options, dtype):
    low, high = (0, 256) if dtype == "uint8" else (-127, 128)
    data = mx.nd.array(np.random.RandomState(3).randint(low, high, shape), dtype=dtype)
    ranges = mx.nd.array([-1]), mx.nd.array([1])
    ours = mx.nd.contrib.quantized_pooling(data, *ranges, pool_type="max", **options)[0]
    assert ours.dtype == np.dtype(dtype).type
    np.testing.assert_array_equal(
        ours.asnumpy(), mx.nd.Pooling(data.astype("float32"), pool_type="max", **options).asnumpy()
    )
