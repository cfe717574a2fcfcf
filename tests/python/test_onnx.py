# SPDX-License-Identifier: Apache-2.0
"""Networks to ONNX and back: onnxruntime computes the same from the file, and so does what is read from it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import loomix as mx
import numpy as np
import pytest
from loomix.gluon import nn

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
pytestmark = pytest.mark.library

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


@pytest.mark.parametrize(
    "name, opset",
    [(name, opset) for name in NETWORKS for opset in (13, 17, 21) if opset == 17 or name != "resnet18"],
)
def test_network(name, opset, tmp_path):
    symbol, params, given = network(name)
    again, _, _ = there_and_back(symbol, params, given, str(tmp_path / "a.onnx"), opset_version=opset)
    if name not in ("fused_lstm", "loop"):
        assert again.list_outputs() == symbol.list_outputs()


@pytest.mark.parametrize("name", ["mlp", "lenet", "resnet", "mobilenet", "fused_lstm", "ssd", "transformer"])
def test_batches_of_any_size(name, tmp_path):
    symbol, params, given = network(name)
    axis = 1 if name == "fused_lstm" else 0
    dims = {"data": tuple("batch" if i == axis else size for i, size in enumerate(given["data"].shape))}
    path = str(tmp_path / "a.onnx")
    there_and_back(symbol, params, given, path, dynamic=True, dynamic_input_shapes=dims)
    again, arguments, states = mx.onnx.import_model(path)
    for batch in (1, 5):
        _, _, other = network(name, batch)
        expected = run(symbol, params, other)
        for a, b, c in zip(expected, run_file(path, other), run(again, {**arguments, **states}, other)):
            b = in_the_order_of(a, b) if name == "ssd" else b
            np.testing.assert_allclose(b, a, 1e-4, 1e-4)
            np.testing.assert_allclose(c, a, 1e-5, 1e-5)


def in_the_order_of(expected, got):
    """Rows of boxes sorted as others are: which of two equal scores is first depends on how they were rounded."""
    found = got.copy()
    for i, (ours, theirs) in enumerate(zip(expected, got)):
        left = [k for k, row in enumerate(ours) if np.abs(theirs[k] - row).max() > 1e-4]
        for k in list(left):
            row = ours[k]
            near = min(left, key=lambda j: (np.abs(theirs[j] - row).max() > 1e-4, abs(j - k)))
            left.remove(near)
            found[i, k] = theirs[near]
    return found


@pytest.mark.parametrize("name", ["densenet121", "shufflenet", "squeezenet"])
def test_models_of_another_framework(name):
    """Such as the package onnx brings along, with constants as weights."""
    path = os.path.join(
        os.path.dirname(onnx.__file__), "backend", "test", "data", "light", f"light_{name}.onnx"
    )
    if not os.path.exists(path):
        pytest.skip(f"this version of onnx has no {path}")
    model = onnx.version_converter.convert_version(onnx.load(path), 13).SerializeToString()
    ((title, shape),) = mx.onnx.get_model_metadata(model)["input_tensor_data"]
    data = np.random.RandomState(0).uniform(-1, 1, shape).astype(np.float32)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {title: data})
    symbol, arguments, states = mx.onnx.import_model(model)
    (found,) = run(symbol, {**arguments, **states}, {title: data})
    assert found.shape == expected.shape and expected.any()
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


# ---- the interface ----


def fully_connected():
    symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    return symbol, {"fc_weight": mx.nd.array([[1, 2, 3], [4, 5, 6]]), "fc_bias": mx.nd.array([1, -1])}


@pytest.fixture(scope="module")
def small_file(tmp_path_factory):
    symbol, params, given = network("lenet")
    path = str(tmp_path_factory.mktemp("onnx") / "lenet.onnx")
    mx.onnx.export_model(symbol, params, [given["data"].shape], onnx_file_path=path)
    return path


def test_files_and_prefixed_names(tmp_path):
    symbol, params = fully_connected()
    mx.model.save_checkpoint(str(tmp_path / "net"), 3, symbol, params, {})
    path = str(tmp_path / "a.onnx")
    mx.onnx.export_model(
        f"{tmp_path}/net-symbol.json", f"{tmp_path}/net-0003.params", [(1, 3)], np.float32, path
    )
    data = np.array([[1, 1, 1]], np.float32)
    assert run_file(path, {"data": data})[0].tolist() == [[7, 14]]
    (weights,) = [{f"arg:{name}": value for name, value in params.items()}]
    for given in (weights, [params, {}], params):
        mx.onnx.export_model(symbol, given, input_shape=[(1, 3)], input_type=np.float32, onnx_file_path=path)
        assert run_file(path, {"data": data})[0].tolist() == [[7, 14]]


def test_metadata_and_gluon(tmp_path, small_file):
    found = mx.contrib.onnx.get_model_metadata(small_file)
    assert found == {
        "input_tensor_data": [("data", (3, 1, 28, 28))],
        "output_tensor_data": [("softmax_output", (3, 10))],
    }
    symbol, params, given = network("lenet")
    block = mx.contrib.onnx.import_to_gluon(small_file, mx.cpu())
    data = mx.nd.array(given["data"])
    np.testing.assert_allclose(block(data).asnumpy(), run(symbol, params, given)[0], 1e-5, 1e-5)
    block.hybridize()
    np.testing.assert_allclose(block(data[:1]).asnumpy(), block(data).asnumpy()[:1], 1e-5, 1e-5)


def test_what_was_read_can_be_trained(tmp_path):
    path = str(tmp_path / "a.onnx")
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu"), nn.BatchNorm(), nn.Dropout(0.2), nn.Dense(2))
    net.initialize()
    net.hybridize()
    net(mx.nd.ones((4, 3)))
    net.export(str(tmp_path / "net"))
    mx.onnx.export_model(
        f"{tmp_path}/net-symbol.json", f"{tmp_path}/net-0000.params", [(4, 3)], onnx_file_path=path
    )
    block = mx.onnx.import_to_gluon(path, mx.cpu())
    trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.1})
    random, losses = np.random.RandomState(0), []
    for _ in range(30):
        x = mx.nd.array(random.uniform(-1, 1, (16, 3)))
        with mx.autograd.record():
            loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()(block(x), x[:, 0] > 0).mean()
        loss.backward()
        trainer.step(1)
        losses.append(loss.asscalar())
    assert sum(losses[-5:]) < 0.7 * sum(losses[:5])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_types(dtype, tmp_path):
    symbol, params = fully_connected()
    params = {name: value.astype(dtype) for name, value in params.items()}
    path = str(tmp_path / "a.onnx")
    mx.onnx.export_model(symbol, params, [(2, 3)], dtype, path)
    data = np.array([[1, 2, 3], [0, 1, 0]], dtype)
    (found,) = run_file(path, {"data": data})
    assert found.dtype == dtype and found.tolist() == [[15, 31], [3, 4]]
    again, arguments, _ = mx.onnx.import_model(path)
    (found,) = run(again, arguments, {"data": data})
    assert found.dtype == dtype and found.tolist() == [[15, 31], [3, 4]]


def test_weights_in_a_second_file(tmp_path):
    symbol, params, given = network("lenet")
    path = str(tmp_path / "a.onnx")
    for _ in range(2):  # the second replaces what the first wrote
        mx.onnx.export_model(symbol, params, [given["data"].shape], onnx_file_path=path, large_model=True)
    assert os.path.getsize(path) < 10_000 < os.path.getsize(f"{path}.data") < 60_000
    expected = run(symbol, params, given)[0]
    np.testing.assert_allclose(run_file(path, given)[0], expected, 1e-4, 1e-4)
    again, arguments, states = mx.onnx.import_model(path)
    np.testing.assert_allclose(run(again, {**arguments, **states}, given)[0], expected, 1e-5, 1e-5)
    with open(path, "rb") as file, pytest.raises(OSError, match="the path of the model must be given"):
        mx.onnx.import_model(file.read())
    os.truncate(f"{path}.data", 5000)
    with pytest.raises(OSError, match=r"beyond the end of the file 'a.onnx.data'"):
        mx.onnx.import_model(path)
    os.remove(f"{path}.data")
    with pytest.raises(OSError, match="which is missing"):
        mx.onnx.import_model(path)


@pytest.mark.parametrize("location", ["../secret", "/etc/hostname", "link"])
def test_weights_of_other_folders_are_not_read(location, tmp_path):
    (tmp_path / "secret").write_bytes(b"1234" * 6)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[6], data_location=1)
    tensor.external_data.add(key="location", value=location)
    model = model_of([onnx.helper.make_node("Add", ["x", "w"], ["y"])], initializers=[tensor], shape=[6])
    (folder / "a.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(OSError, match="outside of the model's folder"):
        mx.onnx.import_model(folder / "a.onnx")


def test_options(tmp_path, capsys):
    symbol, params, given = network("lenet")
    path = str(tmp_path / "a.onnx")
    mx.onnx.export_model(
        symbol, params, [given["data"].shape], onnx_file_path=path, verbose=True, run_shape_inference=True
    )
    assert "conv0 (Convolution) -> Conv" in capsys.readouterr().out
    assert any(item.name == "conv0_output" for item in onnx.load(path).graph.value_info)
    assert "Pooling" in mx.onnx.get_operator_support() and "col2im" in mx.onnx.get_operator_support(18)
    assert "col2im" not in mx.onnx.get_operator_support(17)


def test_random_numbers(tmp_path):
    random = mx.sym.random
    like = mx.sym.Variable("data")
    outputs = {
        "uniform": (random.uniform(2, 4, shape=(100, 100)), 3, 1 / 3**0.5),
        "normal": (random.normal(1, 2, shape=(100, 100)), 1, 2),
        "integers": (mx.sym.cast(random.randint(0, 10, shape=(100, 100)), dtype="float32"), 4.5, 2.87),
        "like": (random.normal_like(like, loc=-1, scale=0.5), -1, 0.5),
        "dropout": (mx.sym.Dropout(like + 1, p=0.5, mode="always"), 1, 1),
    }
    path = str(tmp_path / "a.onnx")
    data = np.zeros((100, 100), np.float32)
    mx.onnx.export_model(
        mx.sym.Group([s for s, _, _ in outputs.values()]), {}, [data.shape], onnx_file_path=path
    )
    again, _, _ = mx.onnx.import_model(path)
    for found in (run_file(path, {"data": data}), run(again, {}, {"data": data})):
        for array, (_, mean, deviation) in zip(found, outputs.values()):
            assert abs(array.mean() - mean) < 0.1 and abs(array.std() - deviation) < 0.1


# ---- what is refused ----


def model_of(nodes, initializers=(), shape=(2, 3), opset=17, outputs=("y",), dtype=1):
    helper = onnx.helper
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", dtype, shape)],
        [helper.make_tensor_value_info(name, dtype, None) for name in outputs], list(initializers),
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize(
    "change, kind, message",
    [
        ({"in_shapes": None}, ValueError, "the shape of 'data' does not follow"),
        ({"in_shapes": [(1, 3), (2, 3)]}, ValueError, "in_shapes has 2 items for the inputs data"),
        ({"in_shapes": {"date": (1, 3)}}, ValueError, "names 'date'; the inputs are data"),
        ({"in_shapes": [(0, 3)]}, ValueError, "expected a tuple of positive numbers"),
        ({"in_shapes": [(1, 4)]}, ValueError, "fc"),
        ({"sym": 3}, TypeError, "expected a Symbol"),
        ({"params": 3}, TypeError, "expected a dict of arrays"),
        ({"params": {"fc_weight": 3}}, TypeError, "'fc_weight' of params is of type int"),
        ({"params": {}}, ValueError, "in_shapes has 1 items for the inputs data, fc_weight, fc_bias"),
        ({"opset_version": 12}, ValueError, "opset 12 is not known; expected 13 to 21"),
        ({"opset_version": 22}, ValueError, "opset 22"),
        ({"dynamic_input_shapes": [("n", 3)]}, ValueError, "needs dynamic=True"),
        ({"dynamic": True, "dynamic_input_shapes": [("n", 3, 3)]}, ValueError, "whose shape is"),
        ({"dynamic": True, "dynamic_input_shapes": [("n", "m")]}, ValueError, "other sizes .* do not fit"),
        ({"input_shape": [(1, 3)]}, ValueError, "one argument"),
        ({"onnx_file_path": "/nowhere/a.onnx"}, OSError, "/nowhere/a.onnx"),
    ],
)
def test_wrong_arguments(change, kind, message, tmp_path):
    symbol, params = fully_connected()
    path = tmp_path / "a.onnx"
    path.write_bytes(b"before")
    given = {"sym": symbol, "params": params, "in_shapes": [(1, 3)], "onnx_file_path": path, **change}
    with pytest.raises(kind, match=message):
        mx.onnx.export_model(**given)
    assert path.read_bytes() == b"before"


@pytest.mark.parametrize("more", [1.0, -100.0])
def test_both_branches(more, tmp_path):
    symbol, params, given = network("loop")
    params["gate_weight"] = mx.nd.array([more])
    again, _, _ = there_and_back(symbol, params, given, str(tmp_path / "a.onnx"))
    assert {"_foreach", "_cond"} <= {item["op"] for item in json.loads(again.tojson())["nodes"]}


def test_operators_without_a_form_are_named(tmp_path):
    path = tmp_path / "a.onnx"
    x = mx.sym.Variable("data")
    with pytest.raises(NotImplementedError, match=r"node 'g' \(gamma\): this operator has no ONNX form"):
        mx.onnx.export_model(mx.sym.gamma(x, name="g") + 1, {}, [(2, 3)], onnx_file_path=path)
    with pytest.raises(NotImplementedError, match=r"node 'g' \(RNN\): projection_size has no"):
        rnn = mx.sym.RNN(x, mx.sym.var("p"), mx.sym.var("h"), mx.sym.var("c"), state_size=3, num_layers=1,
                         mode="lstm", projection_size=2, name="g")  # fmt: skip
        shapes = {"data": (2, 2, 2), "p": (78,), "h": (1, 2, 2), "c": (1, 2, 3)}
        mx.onnx.export_model(rnn, {}, shapes, onnx_file_path=path)
    with pytest.raises(NotImplementedError, match=r"node 's' \(split\)|node 's' \(SliceChannel\).* dynamic"):
        parts = mx.sym.split(x, num_outputs=2, axis=1, name="s")
        dims = [("batch", "more")]
        mx.onnx.export_model(
            parts, {}, [(2, 4)], onnx_file_path=path, dynamic=True, dynamic_input_shapes=dims
        )
    assert not path.exists()


def node(op, *inputs, outputs=("y",), name="", **attributes):
    return onnx.helper.make_node(op, ["x", *inputs], list(outputs), name, **attributes)


def tensor(name, values, dtype=np.int64):
    return onnx.numpy_helper.from_array(np.array(values, dtype), name)


@pytest.mark.parametrize(
    "nodes, initializers, message",
    [
        ([node("Foo", name="n")], [], r"node 'n' \(Foo\): this operator is not supported"),
        ([node("Relo")], [], r"Did you mean 'Relu'"),
        ([node("NonMaxSuppression", "x")], [], r"node 'y' \(NonMaxSuppression\)"),
        ([node("Relu", domain="com.acme")], [], "operators of the domain 'com.acme'"),
        ([node("Relu", colour=3)], [], r"attribute colour is not supported"),
        ([node("LeakyRelu", alpha="a")], [], r"attribute alpha is not a float"),
        ([node("Softmax", axis=5)], [], "axis 5 is out of range for 2 axes"),
        ([node("Reshape", "s")], [tensor("s", [4, 2])], r"node 'y' \(Reshape\)"),
        ([node("Reshape", "x")], [], "shape must be a constant"),
        ([node("Transpose", perm=[0, 0])], [], r"perm is \[0, 0\] for 2 axes"),
        ([node("Gather", "i")], [tensor("i", 7)], "index 7 is out of range"),
        ([node("Slice", "s", "s", "s", "s")], [tensor("s", [0])], r"node 'y' \(Slice\)"),
        ([node("Slice", "s", "s")], [tensor("s", [1])], "nothing is left"),
        ([node("Tile", "s")], [tensor("s", [1, 2, -3])], r"node 'y' \(Tile\)"),
        (
            [node("Conv", "w")],
            [tensor("w", np.ones((1, 3, 3, 3)), np.float32)],
            "data of 2 axes with a kernel of 2",
        ),
        ([node("Add", "z")], [], "no value 'z' before it"),
        ([node("Add", "w")], [tensor("w", np.ones((4, 5)), np.float32)], r"node 'y' \(Add\)"),
        ([node("Relu"), node("Relu")], [], "two values are called 'y'"),
        ([node("Relu", outputs=["z"])], [], "the output 'y' is no value"),
        ([node("Relu", outputs=["y", "z"])], [], "2 outputs are not supported; expected 1"),
        ([node("Split", outputs=["y", "z"], axis=1)], [tensor("s", [1])], r"node 'y' \(Split\)|"),
        ([node("Dropout", "", "t", outputs=["y", "z"])], [tensor("t", True, bool)], "the mask as an output"),
        ([node("Concat", "x", axis=9)], [], "axis 9 is out of range"),
        ([node("MatMul", "x")], [], r"node 'y' \(MatMul\)"),
        ([node("Cast", to=8)], [], "ONNX's type number 8"),
        ([node("Cast")], [], "ONNX's type number 0"),
        ([node("Pad", "s")], [tensor("s", [1])], "1 pads for 2 axes"),
        ([node("RandomUniformLike", seed=1.0)], [], "attribute seed"),
        ([node("Einsum", equation="...i->i")], [], r"the equation '\.\.\.i->i' is not supported"),
        ([node("Einsum", equation="ijk->i")], [], "does not fit to inputs of"),
        ([node("GRU", "w", "w", hidden_size=2)], [tensor("w", np.ones((1, 6, 2)), np.float32)], r"\(GRU\)"),
        ([onnx.helper.make_node("Constant", [], ["y"], value_string="a")], [], "not supported"),
        (
            [onnx.helper.make_node("ConstantOfShape", ["s"], ["y"])],
            [tensor("s", [1 << 20, 1 << 20])],
            "is too large",
        ),
        (
            [node("Resize", "", "", "s", mode="cubic")],
            [tensor("s", [1 << 20, 1 << 28])],
            r"constant of shape \(3, 268435456\) is too large",
        ),
        (
            [node("GRU", "w", "w", hidden_size=1 << 40, linear_before_reset=1)],
            [tensor("w", [[[1.0]]], np.float32)],
            r"\(1, 6597069766656\) is too large",
        ),
        ([node("Add", "w")], [tensor("w", [1], np.uint32)], "type number 12"),
        (
            [node("Add", "w")],
            [onnx.TensorProto(name="w", data_type=1, dims=[3], raw_data=b"12")],
            "has 2 bytes",
        ),
        ([node("Add", "w")], [onnx.TensorProto(name="w", data_type=1, dims=[-1])], r"the shape \(-1,\)"),
        ([node("Add", "w")], [onnx.TensorProto(name="w", data_type=1, dims=[1 << 40] * 3)], "0 numbers"),
    ],
)
def test_wrong_graphs(nodes, initializers, message):
    model = model_of(nodes, initializers)
    if message.endswith("|"):
        model.graph.node[0].input.append("s")
    with pytest.raises(mx.MXNetError, match=message.rstrip("|")) as caught:
        mx.onnx.import_model(model.SerializeToString())
    assert str(caught.value).startswith("[")


def function(name, nodes, attributes=(), inputs=("a",), outputs=("b",)):
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("own", 1)]
    return onnx.helper.make_function(
        "own", name, list(inputs), list(outputs), nodes, opsets, list(attributes)
    )


def test_functions():
    helper = onnx.helper
    leaky = helper.make_node("LeakyRelu", ["a"], ["inside"])
    leaky.attribute.append(
        onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    )
    halve = function("Halve", [helper.make_node("Add", ["a", "a"], ["b"], "twice")])
    both = function(
        "Both", [leaky, helper.make_node("Halve", ["inside"], ["b"], "inner", domain="own")], ["slope"]
    )
    model = model_of([helper.make_node("Both", ["x"], ["y"], "outer", domain="own", slope=0.5)])
    model.functions.extend([halve, both])
    model.opset_import.append(helper.make_opsetid("own", 1))
    data = np.array([[-2, 0, 1], [4, -4, 8]], np.float32)
    symbol, arguments, _ = mx.onnx.import_model(model.SerializeToString())
    (found,) = run(symbol, arguments, {"x": data})
    assert (
        found.tolist()
        == run_file(model.SerializeToString(), {"x": data})[0].tolist()
        == [[-2, 0, 2], [8, -4, 16]]
    )
    # A function that calls itself has no end.
    model.functions.append(function("Endless", [helper.make_node("Endless", ["a"], ["b"], domain="own")]))
    model.graph.node[0].op_type = "Endless"
    with pytest.raises(ValueError, match="functions call each other more than 16 deep"):
        mx.onnx.import_model(model.SerializeToString())


@pytest.mark.parametrize(
    "equation, shapes",
    [("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("ij,kj", [(2, 3), (4, 3)]), ("bhqd,bhkd->bhqk", [(2, 3, 4, 5)] * 2),
     ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]), ("ijk->ki", [(2, 3, 4)]), ("i,i->", [(5,), (5,)]),
     ("ab,cd->dbca", [(2, 3), (4, 5)])],
)  # fmt: skip
def test_einsum(equation, shapes):
    random = np.random.RandomState(0)
    arrays = [random.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    names = [f"x{i}" for i in range(len(arrays))]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Einsum", names, ["y"], equation=equation)], "g",
        [onnx.helper.make_tensor_value_info(name, 1, a.shape) for name, a in zip(names, arrays)],
        [onnx.helper.make_tensor_value_info("y", 1, None)],
    )  # fmt: skip
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    symbol, arguments, _ = mx.onnx.import_model(model.SerializeToString())
    (found,) = run(symbol, arguments, dict(zip(names, arrays)))
    expected = np.einsum(equation, *arrays)
    assert found.shape == (expected.shape or (1,))
    np.testing.assert_allclose(found.reshape(expected.shape), expected, 1e-5, 1e-5)


@pytest.mark.parametrize("opset", [12, 22, 0])
def test_other_opsets_are_refused(opset):
    model = model_of([node("Relu")], opset=opset)
    with pytest.raises(ValueError, match=f"opset {opset} is not known; expected 13 to 21"):
        mx.onnx.import_model(model.SerializeToString())


def test_open_sizes():
    def read(nodes, initializers, **keywords):
        model = model_of(nodes, initializers, shape=["n", "m"], **keywords)
        return lambda shapes=None: mx.onnx.import_model(model.SerializeToString(), shapes)

    def output(found, shape):
        symbol, arguments, _ = found
        return run(symbol, arguments, {"x": np.arange(np.prod(shape), dtype=np.float32).reshape(shape)})[0]

    # The rows stay, the columns are doubled: sizes that only the graph computes.
    doubling = [
        onnx.helper.make_node("Shape", ["x"], ["shape"]),
        onnx.helper.make_node("Mul", ["shape", "by"], ["wanted"]),
        onnx.helper.make_node("Concat", ["x", "x"], ["twice"], axis=1),
        onnx.helper.make_node("Reshape", ["twice", "wanted"], ["y"]),
    ]
    for shape in ((2, 3), (4, 1)):
        assert output(read(doubling, [tensor("by", [1, 2])])(), shape).shape == (shape[0], 2 * shape[1])
    turned = read(doubling, [tensor("by", [2, 1])])
    with pytest.raises(NotImplementedError, match="several sizes of the shape are open; give input_shapes"):
        turned()
    assert output(turned({"x": (2, 3)}), (2, 3)).shape == (4, 3)
    with pytest.raises(ValueError, match="input_shapes names 'z'"):
        turned({"z": (2, 3)})
    with pytest.raises(ValueError, match="whose shape in the file is"):
        turned({"x": (2, 3, 4)})


def read_damaged(content):
    """Reads bytes; whether they are a model still."""
    try:
        symbol, _, _ = mx.onnx.import_model(bytes(content))
    except mx.MXNetError as error:
        assert str(error) and "Traceback" not in str(error)
        return False
    assert symbol.list_outputs()
    return True


def test_truncated_files(small_file):
    with open(small_file, "rb") as file:
        content = file.read()
    assert read_damaged(content)
    ends = sorted({*range(0, 400, 7), *range(0, len(content), len(content) // 60)})
    assert sum(read_damaged(content[:end]) for end in ends) <= 1


@pytest.mark.parametrize("name", ["lenet", "fused_lstm", "ssd", "transformer", "loop"])
def test_mutated_files(name, tmp_path):
    symbol, params, given = network(name)
    path = str(tmp_path / "a.onnx")
    mx.onnx.export_model(symbol, params, [x.shape for x in given.values()], onnx_file_path=path)
    model = onnx.load(path)
    for item in model.graph.initializer:  # whose numbers would be most of the bytes
        if len(item.raw_data) > 256:
            item.raw_data = item.raw_data[:256]
            item.dims[:] = [64]
    content = model.SerializeToString()
    seed, changes = 7, int(os.environ.get("LOOMIX_TEST_CHANGES", "250"))
    random = np.random.RandomState(seed)
    for i in range(changes):
        changed = bytearray(content)
        for _ in range(1 + i % 3):
            changed[random.randint(len(changed))] = random.randint(256)
        try:
            read_damaged(changed)
        except Exception as error:
            raise AssertionError(f"change {i} with seed {seed}: {error!r}") from error
    source = onnx.load(path)
    for i in range(changes // 2):  # graphs that are whole, but wrong
        other = onnx.ModelProto.FromString(source.SerializeToString())
        for _ in range(1 + i % 2):
            mutate_graph(other.graph, random)
        try:
            read_damaged(other.SerializeToString())
        except Exception as error:
            raise AssertionError(f"graph {i} with seed {seed}: {error!r}") from error


def mutate_graph(graph, random):
    """Changes a node's operator, inputs or attributes, or an initializer's shape."""
    one = graph.node[random.randint(len(graph.node))]
    other = graph.node[random.randint(len(graph.node))]
    kind = random.randint(6)
    if kind == 0:
        one.op_type = other.op_type
    elif kind == 1 and one.input:
        one.input[random.randint(len(one.input))] = random.choice([*other.input, *other.output, ""])
    elif kind == 2 and one.input:
        del one.input[random.randint(len(one.input))]
    elif kind == 3 and one.attribute:
        attribute = one.attribute[random.randint(len(one.attribute))]
        attribute.i = int(random.choice([-1, 0, 1 << 40, 7]))
        if attribute.ints:
            attribute.ints[random.randint(len(attribute.ints))] = int(random.choice([-1, 0, 1 << 40, 7]))
    elif kind == 4 and graph.initializer:
        item = graph.initializer[random.randint(len(graph.initializer))]
        if item.dims:
            item.dims[random.randint(len(item.dims))] = int(random.choice([0, 1, 7]))
    else:
        graph.node.remove(one)


def test_no_file_and_other_things(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        mx.onnx.import_model(tmp_path / "nowhere.onnx")
    with pytest.raises(TypeError, match="expected a path, or bytes"):
        mx.onnx.import_model(3.5)
    for content in (b"", b"{}", b"\x89PNG\r\n", bytes(100)):
        with pytest.raises(OSError, match="is no ONNX file, or damaged"):
            mx.onnx.import_model(content)


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def test_the_package_is_imported_when_it_is_needed():
    code = "import sys, loomix as mx; mx.onnx.export_model; mx.contrib.onnx; print('onnx' in sys.modules)"
    assert python(code).stdout.strip() == "False"


@pytest.mark.parametrize(
    "call",
    [
        "export_model(mx.sym.var('x') + 1, {}, [(1, 2)])",
        "import_model('a.onnx')",
        "get_model_metadata('a.onnx')",
    ],
)
def test_without_the_package_an_error_says_what_to_install(call):
    found = python(f"import sys; sys.modules['onnx'] = None; import loomix as mx; mx.onnx.{call}")
    name = call.partition("(")[0]
    last = f"MXNetError: [{name}] the package onnx is not installed; run pip install 'loomix[onnx]'."
    assert found.stderr.strip().endswith(last)


# ---- the page ----


@pytest.mark.source
def test_the_page_lists_the_operators():
    from loomix import _operators
    from loomix.onnx.constants import FOLDED
    from loomix.onnx.from_onnx import IMPORTERS

    def public(name):
        space, short = _operators.place_of(name)
        return short if space == "op" else name if space == "_internal" else f"{space}.{short}"

    page = (Path(__file__).parents[2] / "docs" / "onnx.md").read_text()
    written, read = (part.partition("\n\n")[0] for part in page.split("| kind | operators |")[1:])
    expected = {public(name) for name in mx.onnx.get_operator_support(21)}
    assert set(re.findall("`(.*?)`", written)) == expected
    assert set(re.findall("`(.*?)`", read)) == {*IMPORTERS, *FOLDED, "Constant", "Shape", "Size"}
