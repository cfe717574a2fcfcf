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
from onnx_networks import NETWORKS, fully_connected, model_of, network, run, run_file, there_and_back  # noqa: E402

pytestmark = pytest.mark.library


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


@pytest.mark.parametrize("more", [1.0, -100.0])
def test_both_branches(more, tmp_path):
    symbol, params, given = network("loop")
    params["gate_weight"] = mx.nd.array([more])
    again, _, _ = there_and_back(symbol, params, given, str(tmp_path / "a.onnx"))
    assert {"_foreach", "_cond"} <= {item["op"] for item in json.loads(again.tojson())["nodes"]}


class LanguageModel(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.words, self.scores = nn.Embedding(20, 5), nn.Dense(20, flatten=False)
            self.layers = mx.gluon.rnn.GRU(6, num_layers=2, layout="NTC", bidirectional=True)

    def hybrid_forward(self, F, x):
        return self.scores(self.layers(self.words(x)))


def test_an_exported_block_with_any_batch_and_length(tmp_path):
    block = LanguageModel()
    block.initialize(mx.init.Xavier())
    block.hybridize()
    words = mx.nd.array(np.random.RandomState(0).randint(0, 20, (3, 4)))
    block(words)
    block.export(str(tmp_path / "net"))
    files = f"{tmp_path}/net-symbol.json", f"{tmp_path}/net-0000.params"
    path = str(tmp_path / "net.onnx")
    mx.onnx.export_model(
        *files, [(3, 4)], np.float32, path, dynamic=True, dynamic_input_shapes=[("n", "length")]
    )
    again = mx.onnx.import_to_gluon(path, mx.cpu())
    for x in (words, mx.nd.array([[3, 5, 7, 11, 13, 17, 19]])):
        expected = block(x).asnumpy()
        np.testing.assert_allclose(run_file(path, {"data": x.asnumpy()})[0], expected, 1e-4, 1e-4)
        np.testing.assert_allclose(again(x).asnumpy(), expected, 1e-5, 1e-5)


# ---- the interface ----


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
