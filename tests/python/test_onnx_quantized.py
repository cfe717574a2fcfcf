# SPDX-License-Identifier: Apache-2.0
"""Networks of 8 bits as ONNX files with QuantizeLinear and DequantizeLinear, by ONNX Runtime and read again."""

from collections import Counter

import loomix as mx
import numpy as np
import pytest
from loomix.contrib import quantization
from test_quantized_prediction import chain, grouped, joined, quantized, residual

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
onnxruntime.set_default_logger_severity(4)


def exported(network, dtype, path, granularity="tensor-wise"):
    sym, args = quantized(network, 2, dtype, granularity)
    params = {name: value for name, value in args.items() if name != "data"}
    mx.onnx.export_model(sym, params, {"data": args["data"].shape}, "float32", path)
    return sym, args


def distance(ours, theirs):
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    return np.sqrt(np.square(ours - theirs).mean()) / np.abs(theirs).max()


@pytest.mark.parametrize(
    "dtype, granularity", [("int8", "tensor-wise"), ("auto", "tensor-wise"), ("auto", "channel-wise")]
)
@pytest.mark.parametrize("network", [chain, residual, joined, grouped])
def test_onnxruntime_gives_what_we_give(network, dtype, granularity, tmp_path):
    path = str(tmp_path / "a.onnx")
    sym, args = exported(network, dtype, path, granularity)
    ours = sym.bind(mx.cpu(), args, grad_req="null").forward(is_train=False)[0].asnumpy()
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    theirs = session.run(None, {"data": args["data"].asnumpy()})[0]
    assert distance(ours, theirs) < 0.015  # rounded at other places: a few values are a step apart
    again, arguments, states = mx.onnx.import_model(path)
    executor = again.bind(mx.cpu(), {**arguments, "data": args["data"]}, aux_states=states, grad_req="null")
    assert distance(executor.forward(is_train=False)[0].asnumpy(), theirs) < 0.015


def test_weights_are_of_8_bits(tmp_path):
    path = str(tmp_path / "a.onnx")
    exported(residual, "auto", path)
    onnx.checker.check_model(path, full_check=True)
    model = onnx.load(path).graph
    large = [tensor for tensor in model.initializer if np.prod(tensor.dims) > 100]
    assert {tensor.data_type for tensor in large} == {onnx.TensorProto.INT8}
    count = Counter(node.op_type for node in model.node)
    assert count["Conv"] == 6 and count["Gemm"] == 1 and count["Relu"] == 0


def test_ranges_must_be_calibrated(tmp_path):
    sym = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    args = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    sym, params, _ = quantization.quantize_model(sym, args, {}, calib_mode="none")
    with pytest.raises(NotImplementedError, match=r"data_quantize.*calibrated"):
        mx.onnx.export_model(sym, params, {"data": (1, 3)}, "float32", str(tmp_path / "a.onnx"))
