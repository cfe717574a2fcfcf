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


def operators_of(sym):
    return Counter(node.op for node in quantization.graph.nodes_of(sym)[0] if node.op != "null")


def run_here(path, x):
    sym, arguments, states = mx.onnx.import_model(path)
    executor = sym.bind(mx.cpu(), {**arguments, "data": mx.nd.array(x)}, aux_states=states, grad_req="null")
    return sym, arguments, executor.forward(is_train=False)[0].asnumpy()


def run_there(path, x, exact=False):
    options = onnxruntime.SessionOptions()
    if exact:
        # Without it, sums saturate at 16 bits where the processor has no VNNI; not all files load with it.
        options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, {"data": x})[0]


@pytest.mark.parametrize("granularity", ["tensor-wise", "channel-wise"])
@pytest.mark.parametrize("network", [chain, residual, joined, grouped])
def test_files_are_read_as_layers_of_8_bits(network, granularity, tmp_path):
    """Out and in again: the same layers, the same weights, the same numbers; and out once more."""
    path = str(tmp_path / "a.onnx")
    sym, args = exported(network, "auto", path, granularity)
    again, arguments, ours = run_here(path, args["data"].asnumpy())
    before, after = operators_of(sym), operators_of(again)
    for kind in ("conv", "fully_connected", "pooling", "concat", "elemwise_add"):
        name = f"_contrib_quantized_{kind}"
        assert after[name] == before[name], name
    assert after["Convolution"] + after["FullyConnected"] == 0
    for name, value in args.items():
        if name.endswith("weight_quantize"):
            assert (
                np.array_equal(arguments[name].asnumpy(), value.asnumpy())
                and arguments[name].dtype == np.int8
            )
    expected = sym.bind(mx.cpu(), args, grad_req="null").forward(is_train=False)[0].asnumpy()
    assert distance(ours, expected) < 0.006
    mx.onnx.export_model(again, arguments, {"data": args["data"].shape}, "float32", str(tmp_path / "b.onnx"))
    there = run_there(str(tmp_path / "b.onnx"), args["data"].asnumpy())
    assert distance(there, run_there(path, args["data"].asnumpy())) < 0.006


def other_tools_file(path, zero, per_channel):
    """As ONNX Runtime's quantizer writes them: uint8 with a zero point or int8, weights of MatMul the other way."""
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.RandomState(2)
    tensors, nodes = [], []

    def constant(name, value):
        tensors.append(numpy_helper.from_array(value, name))
        return name

    def add(op, name, *inputs, **attributes):
        nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def rounded(x, scale, kind=np.uint8, point=zero):
        ends = constant(f"{x}_scale", np.float32(scale)), constant(f"{x}_zero", kind(point))
        return add("DequantizeLinear", f"{x}_dq", add("QuantizeLinear", f"{x}_q", x, *ends), *ends)

    def weight(name, shape, axis):
        count = shape[axis] if per_channel else 1
        scale = random.uniform(0.001, 0.004, count).astype(np.float32)
        ends = constant(f"{name}_scale", scale if per_channel else scale[0])
        point = constant(f"{name}_zero", np.zeros(count if per_channel else (), np.int8))
        value = constant(name, random.randint(-128, 128, shape).astype(np.int8))
        return add(
            "DequantizeLinear", f"{name}_dq", value, ends, point, **({"axis": axis} if per_channel else {})
        )

    x = rounded("data", 0.03)
    bias = constant("bias", random.normal(size=8).astype(np.float32))
    x = add("Relu", "relu", add("Conv", "conv", x, weight("w", (8, 3, 3, 3), 0), bias, pads=[1, 1, 1, 1]))
    x = rounded(
        add("MaxPool", "pool", rounded(x, 0.02, point=0), kernel_shape=[2, 2], strides=[2, 2]), 0.02, point=0
    )
    x = rounded(add("Reshape", "flat", x, constant("shape", np.array([0, -1]))), 0.02, point=0)
    x = rounded(add("MatMul", "product", x, weight("m", (8 * 16, 5), 1)), 0.05, np.int8, 0)
    graph = helper.make_graph(
        nodes, "other",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, (2, 3, 8, 8))],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, (2, 5))], tensors,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


@pytest.mark.parametrize("zero", [0, 128, 100])
@pytest.mark.parametrize("per_channel", [False, True])
def test_files_of_other_tools(zero, per_channel, tmp_path):
    path = str(tmp_path / "a.onnx")
    other_tools_file(path, zero, per_channel)
    x = np.random.RandomState(1).normal(size=(2, 3, 8, 8)).astype("float32")
    sym, arguments, ours = run_here(path, x)
    # The last rounding, to steps of 0.05, is not done here where its result is made real again.
    assert np.abs(ours - run_there(path, x, exact=True)).max() < 0.05
    count = operators_of(sym)
    whole = zero != 100  # there is no such zero point: the convolution stays one of real numbers
    assert count["_contrib_quantized_conv"] == whole and count["Convolution"] == (not whole)
    assert count["_contrib_quantized_pooling"] == count["_contrib_quantized_fully_connected"] == 1
    assert arguments["m"].dtype == np.int8 and arguments["m"].shape == (5, 128)


def test_parameters_that_are_read_take_a_quarter(tmp_path):
    sym = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=300, name="fc")
    args = {"fc_weight": mx.nd.random.normal(shape=(300, 300)), "fc_bias": mx.nd.zeros(300)}
    made = quantization.quantize_model(sym, args, {}, calib_mode="naive", calib_data=[mx.nd.ones((1, 300))])
    mx.onnx.export_model(made[0], made[1], {"data": (1, 300)}, "float32", str(tmp_path / "a.onnx"))
    _, arguments, _ = mx.onnx.import_model(str(tmp_path / "a.onnx"))
    sizes = []
    for name, values in (("real", args), ("whole", arguments)):
        mx.nd.save(str(tmp_path / name), values)
        sizes.append((tmp_path / name).stat().st_size)
    assert sizes[1] < 0.28 * sizes[0] and (tmp_path / "a.onnx").stat().st_size < 0.28 * sizes[0]
