# SPDX-License-Identifier: Apache-2.0
"""Calibration of networks of 8 bits: its data, what is left out, the report, the command, and bad input."""

import io
import sys

import loomix as mx
import numpy as np
import pytest
import test_quantization
from loomix.__main__ import main as loomix_main
from loomix.contrib import quantization
from loomix.gluon import nn
from test_quantization import lost, operators_of, parts_of

trained = test_quantization.trained


@pytest.mark.parametrize("least, examples", [(None, 24), (1, 8), (9, 16), (100, 24)])
def test_batches_and_a_bar_of_them(trained, least, examples, monkeypatch):
    """No batch runs after so many examples. A terminal sees how far calibration is."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    class Counting(quantization.CalibrationCollector):
        seen = 0

        def collect(self, name, arr):
            self.seen += arr.shape[0] if name == "data" else 0
            self.min_max_dict[name] = (-4.0, 4.0)

    monkeypatch.setattr("loomix.progress_bar._EVERY", 0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", Terminal())
    net, x, _ = trained
    own = Counting()
    quantization.quantize_net_v2(
        net, "int8", calib_mode="customize", LayerOutputCollector=own, num_calib_examples=least,
        calib_data=mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(x), 8),
    )  # fmt: skip
    text = sys.stderr.getvalue()
    assert own.seen == examples and "calibration" in text and f"{examples}" in text, text


def test_what_a_custom_collector_says(trained):
    net, x, expected = trained

    class Halves(quantization.CalibrationCollector):
        def collect(self, name, arr):
            assert name in self.include_layer
            most = float(mx.nd.max(mx.nd.abs(arr)).asscalar())
            self.min_max_dict[name] = (-most, most)

        def post_collect(self):
            return {name: (low / 2, high / 2) for name, (low, high) in self.min_max_dict.items()}

    report = quantization.QuantizationReport()
    ours = quantization.quantize_net_v2(
        net, "int8", calib_mode="custom", calib_data=[x], LayerOutputCollector=Halves(), report=report
    )
    assert lost(ours(x).asnumpy(), expected) < 0.6
    ranged = [layer.range for layer in report.layers if layer.range]
    assert ranged and all(low == -high for low, high in ranged)
    with pytest.raises(NotImplementedError, match="CalibrationCollector does not define collect"):
        quantization.quantize_net_v2(
            net,
            "int8",
            calib_mode="custom",
            calib_data=[x],
            LayerOutputCollector=quantization.CalibrationCollector(),
        )


def test_layers_of_a_block_that_are_excluded(trained):
    net, x, _ = trained
    names = [layer.name for layer in net(mx.sym.var("data")).get_internals()]
    dense = next(name for name in names if "dense" in name and name.endswith("_fwd"))

    def products(**excluded):
        made = quantization.quantize_net(net, calib_mode="naive", calib_data=[x], **excluded)
        found = operators_of(made(mx.sym.var("data")))
        return [found.count(name) for name in ("FullyConnected", "Convolution", "Pooling")]

    assert products() == [0, 0, 0]
    assert products(exclude_layers=[dense]) == [1, 0, 0]
    assert products(exclude_layers_match=["conv"]) == [0, 4, 0]
    assert products(exclude_operators=["Convolution"]) == [0, 4, 0]
    with pytest.warns(UserWarning, match="no layer dense_of_nobody"):
        assert products(exclude_layers=["dense_of_nobody"]) == [0, 0, 0]


def test_report_of_layers_that_have_no_place_here():
    """Each layer that could be one of 8 bits is in the report, with the reason why it is not."""
    data = mx.sym.var("data")
    words = mx.sym.Embedding(data, input_dim=5, output_dim=4, name="words")
    sym = mx.sym.FullyConnected(words * words, num_hidden=2, name="fc")
    sym = mx.sym.BatchNorm(sym, name="norm")
    shapes, _, states = sym.infer_shape(data=(2, 3))
    args = {n: mx.nd.random.normal(shape=s) for n, s in zip(sym.list_arguments(), shapes) if n != "data"}
    aux = {n: mx.nd.ones(s) for n, s in zip(sym.list_auxiliary_states(), states)}
    report = quantization.QuantizationReport()
    x = mx.nd.array([[0, 1, 2], [3, 4, 0]])
    quantization.quantize_model(sym, args, aux, calib_mode="naive", calib_data=[x], report=report)
    kept = {layer.name: layer.kept for layer in report.layers}
    assert kept.pop("fc") is None and "quantize_weights" in kept.pop("words")
    assert "no convolution" in kept.pop("norm") and list(kept.values()) == [
        "products of values stay in float"
    ]


def test_a_network_without_layers_to_round():
    sym, x = mx.sym.exp(mx.sym.var("data")), mx.nd.ones((2, 3))
    for mode in ("none", "naive", "entropy"):
        with pytest.warns(UserWarning, match="no layer that becomes one of 8 bits"):
            made, args, _ = quantization.quantize_model(sym, {}, {}, calib_mode=mode, calib_data=[x])
        assert operators_of(made) == ["exp"] and not args


@pytest.mark.parametrize("mode", ["naive", "entropy"])
@pytest.mark.parametrize(
    "bad, message", [(0.0, "no range|the range of"), (np.nan, "NaN or infinite"), (np.inf, "NaN or infinite")]
)
def test_data_without_range(mode, bad, message):
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=4))
    net.initialize()
    layer = net[0].name
    match = f"({message}).*data, which {layer}_fwd reads|data, which {layer}_fwd reads.*({message})"
    with pytest.raises(ValueError, match=match):
        quantization.quantize_net(net, calib_mode=mode, calib_data=[mx.nd.full((2, 4), bad)])


def test_weight_without_range():
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=2))
    net.initialize()
    net[0].weight.set_data(mx.nd.full((3, 2), np.nan))
    with pytest.raises(ValueError, match="weight of .* has NaN"):
        quantization.quantize_net(net, calib_mode="none", data_shapes=[(1, 2)])


@pytest.mark.parametrize(
    "more, message",
    [
        ({"calib_mode": "naive", "calib_data": []}, "no batch; .* to find the range of data, which fc reads"),
        (
            {"calib_data": [mx.nd.ones((1, 3))], "num_calib_examples": 0},
            "num_calib_examples is 0; expected at least 1",
        ),
        ({"calib_mode": "naive"}, "calib_data must be given"),
        ({"calib_mode": "best", "calib_data": []}, "calib_mode is 'best'; expected none, naive"),
        ({"calib_mode": "customize", "calib_data": []}, "needs LayerOutputCollector"),
        ({"quantized_dtype": "int4"}, "quantized_dtype is 'int4'; expected one of int8"),
        ({"quantize_mode": "no"}, "quantize_mode is 'no'"),
        ({"excluded_sym_names": "fc"}, "excluded_sym_names is 'fc'; expected a list"),
        ({"ctx": [mx.cpu()]}, "expected one context"),
    ],
)
def test_wrong_uses(more, message):
    sym = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    args = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    with pytest.raises(ValueError, match=message):
        quantization.quantize_model(sym, args, {}, **more)


def test_layer_without_range():
    sym = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    args = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    qsym, qargs, qaux, collector = quantization.quantize_graph(sym, args, {}, calib_mode="naive")
    with pytest.raises(ValueError, match="no range came for data, which fc reads"):
        quantization.calib_graph(qsym, qargs, qaux, collector, calib_mode="naive")


def test_report_says_how_layers_run(trained):
    net, x, _ = trained
    report = quantization.QuantizationReport()
    quantization.quantize_net_v2(
        net, "auto", calib_mode="naive", calib_data=[x], quantize_granularity="channel-wise", report=report
    )
    runs = {layer.runs for layer in report.layers}
    assert runs <= {"int8", "float32"} and len(runs) == 1, report
    if runs == {"float32"}:
        assert all(layer.why for layer in report.layers)
    products = [layer for layer in report.layers if layer.weight_decibels is not None]
    assert len(products) == 5 and all(layer.weight_decibels > 35 for layer in products)
    assert "weight dB" in str(report)


def test_report_without_calibration_and_of_what_runs_alone():
    x = mx.nd.ones((2, 3, 4))
    sym = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, flatten=False, name="fc")
    args = {"fc_weight": mx.nd.ones((2, 4)), "fc_bias": mx.nd.zeros(2)}
    report = quantization.QuantizationReport()
    quantization.quantize_model(sym, args, {}, calib_mode="none", report=report)
    assert report.layers[0].runs is None
    report = quantization.QuantizationReport()
    quantization.quantize_model(sym, args, {}, calib_mode="naive", calib_data=[x], report=report)
    (layer,) = report.layers
    if layer.runs != "float32":  # with VNNI
        assert layer.runs == "int8, alone" and "flatten=False" in layer.why


def test_command(trained, tmp_path, capsys):
    net, x, expected = trained
    sym, args, aux = parts_of(net)
    mx.model.save_checkpoint(str(tmp_path / "net"), 0, sym, args, aux)
    np.save(tmp_path / "x.npy", x.asnumpy())
    command = ["quantize", str(tmp_path / "net"), str(tmp_path / "net8")]
    more = ["--data", str(tmp_path / "x.npy"), "--mode", "naive", "--svg", str(tmp_path / "a.svg")]
    more += ["--granularity", "channel-wise"]
    assert loomix_main([*command, *more]) == 0
    assert "error dB" in capsys.readouterr().out and (tmp_path / "a.svg").read_text().startswith("<svg")
    sym, args, aux = mx.model.load_checkpoint(str(tmp_path / "net8"), 0)
    ours = sym.bind(mx.cpu(), {**args, "data": x}, aux_states=aux, grad_req="null").forward()[0]
    assert lost(ours.asnumpy(), expected) < 0.06
    capsys.readouterr()
    assert loomix_main([*command, *more, "--exclude-operator", "Convolution", "--examples", "8"]) == 0
    assert "its operator is excluded" in capsys.readouterr().out


@pytest.mark.parametrize(
    "values, more, message",
    [
        (np.full((4, 3), np.nan), [], "data, which fc reads, has NaN or infinite values"),
        (np.zeros((4, 3)), [], "no range came for data, which fc reads"),
        (np.zeros((0, 3)), [], "is no array of examples"),
        (np.float32(3), [], "is no array of examples"),
        (np.ones((4, 3)), ["--input", "pixels"], "the network reads data, which is neither"),
        (np.ones((4, 3)), ["--examples", "0"], "num_calib_examples is 0"),
        (np.ones((4, 5)), [], "fc"),
    ],
)
def test_command_with_bad_input(values, more, message, tmp_path, capsys):
    sym = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    args = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    mx.model.save_checkpoint(str(tmp_path / "net"), 0, sym, args, {})
    np.save(tmp_path / "x.npy", values)
    command = ["quantize", str(tmp_path / "net"), str(tmp_path / "net8"), "--data", str(tmp_path / "x.npy")]
    assert loomix_main([*command, *more]) == 1
    assert message in capsys.readouterr().err and not (tmp_path / "net8-0000.params").exists()
    assert loomix_main(["quantize", str(tmp_path / "none"), str(tmp_path / "net8"), "--mode", "none"]) == 1
    assert "none-symbol.json" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        loomix_main(command[:3])
    assert "--mode entropy needs --data" in capsys.readouterr().err
