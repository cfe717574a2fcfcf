# SPDX-License-Identifier: Apache-2.0
"""Networks and graphs for the tests of ONNX, and how these are run."""

import loomix as mx
import numpy as np
import pytest
from loomix.gluon import nn

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
onnxruntime.set_default_logger_severity(4)


def random_params(symbol, shapes, seed=1):
    """Parameters and states by name, as training might leave them."""
    random = np.random.RandomState(seed)
    arg_shapes, _, aux_shapes = symbol.infer_shape(**shapes)
    params = {}
    for name, shape in zip(symbol.list_arguments(), arg_shapes):
        if name not in shapes and not name.endswith("label"):
            size = 1 if len(shape) < 2 else np.prod(shape[1:]) ** -0.5
            params[name] = mx.nd.array(random.uniform(-1, 1, shape) * size)
    for name, shape in zip(symbol.list_auxiliary_states(), aux_shapes):
        params[name] = mx.nd.array(random.uniform(0.5, 1.5, shape))
    return params


def run(symbol, params, inputs):
    values = {**params, **{name: mx.nd.array(x, dtype=x.dtype) for name, x in inputs.items()}}
    shapes = {name: x.shape for name, x in inputs.items()}
    arguments, _, _ = symbol.infer_shape(**shapes)
    labels = {
        name: mx.nd.zeros(shape)
        for name, shape in zip(symbol.list_arguments(), arguments)
        if name not in values
    }
    assert all(name.endswith("label") for name in labels)
    values.update(labels)
    executor = symbol.bind(
        mx.cpu(),
        {name: values[name] for name in symbol.list_arguments()},
        aux_states={name: values[name] for name in symbol.list_auxiliary_states()},
        grad_req="null",
    )
    return [output.asnumpy() for output in executor.forward(is_train=False)]


def run_file(path, inputs):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {item.name: inputs[item.name] for item in session.get_inputs()})


def there_and_back(symbol, params, inputs, path, **keywords):
    """Exports, and compares onnxruntime and the imported symbol with the symbol; the imported one."""
    expected = run(symbol, params, inputs)
    shapes = {name: x.shape for name, x in inputs.items()}
    types = {name: x.dtype for name, x in inputs.items()}
    assert mx.onnx.export_model(symbol, params, shapes, types, path, **keywords) == path
    onnx.checker.check_model(path, full_check=True)
    got = run_file(path, inputs)
    assert len(got) == len(expected)
    for a, b in zip(expected, got):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(b, a, 1e-4, 1e-4)
    again, arguments, states = mx.onnx.import_model(path)
    for a, b in zip(expected, run(again, {**arguments, **states}, inputs)):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(b, a, 1e-5, 1e-5)
    return again, arguments, states


# ---- networks ----


def mlp():
    x = mx.sym.Variable("data")
    for i, size in enumerate((32, 16)):
        x = mx.sym.Activation(mx.sym.FullyConnected(x, num_hidden=size, name=f"fc{i}"), act_type="relu")
    x = mx.sym.Dropout(mx.sym.FullyConnected(x, num_hidden=10, name="last"), p=0.3)
    return mx.sym.SoftmaxOutput(x, name="softmax"), {"data": (4, 1, 6, 6)}


def lenet():
    x = mx.sym.Variable("data")
    for i, size in enumerate((8, 12)):
        x = mx.sym.Convolution(x, kernel=(5, 5), num_filter=size, name=f"conv{i}")
        x = mx.sym.Pooling(
            mx.sym.Activation(x, act_type="tanh"), kernel=(2, 2), stride=(2, 2), pool_type="max"
        )
    x = mx.sym.FullyConnected(mx.sym.flatten(x), num_hidden=20, name="fc0")
    x = mx.sym.FullyConnected(mx.sym.Activation(x, act_type="tanh"), num_hidden=10, name="fc1")
    return mx.sym.SoftmaxOutput(x, name="softmax"), {"data": (3, 1, 28, 28)}


def of_zoo(name):
    network = mx.gluon.model_zoo.vision.get_model(name, classes=10)
    return network(mx.sym.var("data")), {"data": (1, 3, 48, 48)}


def small_resnet(version):
    vision = mx.gluon.model_zoo.vision
    block = {1: vision.BottleneckV1, 2: vision.BottleneckV2}[version]
    kind = {1: vision.ResNetV1, 2: vision.ResNetV2}[version]
    network = kind(block, [2, 1], [8, 16, 32], classes=10)
    return network(mx.sym.var("data")), {"data": (2, 3, 40, 40)}


def fused_lstm():
    cell = mx.rnn.FusedRNNCell(
        12, num_layers=2, bidirectional=True, mode="lstm", prefix="lstm_", get_next_state=True
    )
    outputs, states = cell.unroll(5, mx.sym.Variable("data"), layout="TNC", merge_outputs=True)
    return mx.sym.Group([outputs, *states]), {"data": (5, 3, 7)}


def lstm_cells():
    stack = mx.rnn.SequentialRNNCell()
    for i in range(2):
        stack.add(mx.rnn.LSTMCell(8, prefix=f"l{i}_"))
    words = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=20, output_dim=6, name="embed")
    outputs, _ = stack.unroll(4, words, merge_outputs=True)
    scores = mx.sym.FullyConnected(mx.sym.Reshape(outputs, shape=(-1, 8)), num_hidden=20, name="pred")
    return mx.sym.SoftmaxOutput(scores, name="softmax"), {"data": (3, 4)}


def ssd():
    def convolution(x, channels, name, **keywords):
        x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=channels, name=name, **keywords)
        return mx.sym.Activation(mx.sym.BatchNorm(x, name=f"{name}_bn"), act_type="relu")

    x = mx.sym.Variable("data")
    classes, anchors, scores, moves = 3, [], [], []
    for i, sizes in enumerate(((0.2, 0.3), (0.5, 0.6))):
        x = mx.sym.Pooling(convolution(x, 8, f"conv{i}"), kernel=(2, 2), stride=(2, 2), pool_type="max")
        anchors.append(mx.sym.contrib.MultiBoxPrior(x, sizes=sizes, ratios=(1, 2, 0.5)))
        score = mx.sym.Convolution(
            x, kernel=(3, 3), pad=(1, 1), num_filter=4 * (classes + 1), name=f"score{i}"
        )
        scores.append(mx.sym.flatten(mx.sym.transpose(score, axes=(0, 2, 3, 1))))
        move = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=4 * 4, name=f"move{i}")
        moves.append(mx.sym.flatten(mx.sym.transpose(move, axes=(0, 2, 3, 1))))
    scores = mx.sym.reshape(mx.sym.concat(*scores, dim=1), shape=(0, -1, classes + 1))
    probabilities = mx.sym.softmax(mx.sym.transpose(scores, axes=(0, 2, 1)) * 4, axis=1)
    anchor = mx.sym.concat(*anchors, dim=1)
    move = mx.sym.concat(*moves, dim=1)
    found = mx.sym.contrib.MultiBoxDetection(
        probabilities, move, anchor, nms_threshold=0.45, nms_topk=100, name="found"
    )
    return found, {"data": (2, 3, 32, 32)}


class Transformer(nn.HybridBlock):
    """An encoder of two layers over words."""

    def __init__(self, units=16, heads=4):
        super().__init__()
        self.heads, self.units = heads, units
        with self.name_scope():
            self.words = nn.Embedding(30, units)
            self.layers = nn.HybridSequential()
            for _ in range(2):
                layer = nn.HybridSequential()
                layer.add(nn.Dense(3 * units, flatten=False), nn.Dense(units, flatten=False), nn.LayerNorm())
                layer.add(
                    nn.Dense(4 * units, flatten=False),
                    nn.GELU(),
                    nn.Dense(units, flatten=False),
                    nn.LayerNorm(),
                )
                self.layers.add(layer)

    def split(self, F, x):
        apart = x.reshape((0, 0, self.heads, -1)).transpose((0, 2, 1, 3))
        return apart.reshape((-1, 0, 0), reverse=True)

    def hybrid_forward(self, F, words):
        x = self.words(words)
        for mix, join, norm, wide, gelu, narrow, last in self.layers:
            queries, keys, values = (self.split(F, part) for part in F.split(mix(x), num_outputs=3, axis=2))
            scores = F.contrib.div_sqrt_dim(F.batch_dot(queries, keys, transpose_b=True))
            mixed = F.batch_dot(F.softmax(scores, axis=-1), values)
            mixed = mixed.reshape((-1, self.heads, 0, 0), reverse=True).transpose((0, 2, 1, 3))
            x = norm(x + join(mixed.reshape((0, 0, -1))))
            x = last(x + narrow(gelu(wide(x))))
        return x


def transformer():
    return Transformer()(mx.sym.var("data")), {"data": (2, 5)}


def loop():
    """A recurrence written with foreach, and a branch."""
    weight, gate = mx.sym.Variable("step_weight", shape=(5, 5)), mx.sym.Variable("gate_weight", shape=(1,))

    def step(x, state):
        state = mx.sym.tanh(mx.sym.broadcast_add(x, mx.sym.dot(state, weight)))
        return state * 2, state

    outputs, state = mx.sym.contrib.foreach(step, mx.sym.Variable("data"), mx.sym.Variable("begin"))
    last = mx.sym.contrib.cond(
        mx.sym.sum(state) > gate, lambda: mx.sym.relu(state), lambda: mx.sym.broadcast_add(state, gate)
    )
    return mx.sym.Group([outputs, last]), {"data": (4, 3, 5), "begin": (3, 5)}


NETWORKS = {
    "mlp": mlp,
    "lenet": lenet,
    "resnet": lambda: small_resnet(1),
    "resnet_v2": lambda: small_resnet(2),
    "resnet18": lambda: of_zoo("resnet18_v1"),
    "mobilenet": lambda: of_zoo("mobilenet0.25"),
    "mobilenet_v2": lambda: of_zoo("mobilenetv2_0.25"),
    "fused_lstm": fused_lstm,
    "lstm_cells": lstm_cells,
    "ssd": ssd,
    "transformer": transformer,
    "loop": loop,
}
OF_WORDS = ("lstm_cells", "transformer")


def network(name, batch=None):
    """A symbol, its parameters, and inputs."""
    symbol, shapes = NETWORKS[name]()
    params = random_params(symbol, shapes)
    return symbol, params, {key: inputs(name, shape, batch) for key, shape in shapes.items()}


def inputs(name, shape, batch=None, seed=2):
    random = np.random.RandomState(seed)
    if batch:
        axis = 1 if name == "fused_lstm" else 0
        shape = (*shape[:axis], batch, *shape[axis + 1 :])
    if name in OF_WORDS:
        return random.randint(0, 20, shape).astype(np.float32)
    return random.uniform(-1, 1, shape).astype(np.float32)


# ---- small graphs ----


def fully_connected():
    symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    return symbol, {"fc_weight": mx.nd.array([[1, 2, 3], [4, 5, 6]]), "fc_bias": mx.nd.array([1, -1])}


def model_of(nodes, initializers=(), shape=(2, 3), opset=17, outputs=("y",), dtype=1):
    helper = onnx.helper
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", dtype, shape)],
        [helper.make_tensor_value_info(name, dtype, None) for name in outputs], list(initializers),
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def node(op, *inputs, outputs=("y",), name="", **attributes):
    return onnx.helper.make_node(op, ["x", *inputs], list(outputs), name, **attributes)


def tensor(name, values, dtype=np.int64):
    return onnx.numpy_helper.from_array(np.array(values, dtype), name)
