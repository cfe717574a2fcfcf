# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix convert``: MXNet's files as safetensors and back, bit by bit; and as ONNX."""

import json
from pathlib import Path

import loomix as mx
import numpy as np
import pytest
from loomix.__main__ import main

safetensors = pytest.importorskip("safetensors", reason="the package safetensors is not installed")
PARAMS = str(Path(__file__).parents[1] / "compat" / "files" / "checkpoint" / "lenet-0001.params")


def convert(*arguments):
    return main(["convert", *map(str, arguments)])


def test_a_checkpoint_of_mxnet_there_and_back(tmp_path, capsys):
    there, back = tmp_path / "lenet.safetensors", tmp_path / "lenet.params"
    assert convert(PARAMS, there) == 0 and convert(there, back) == 0
    assert capsys.readouterr().out.splitlines() == [f"{there}: 8 arrays", f"{back}: 8 arrays"]
    expected, found = mx.nd.load(PARAMS), mx.nd.load(str(back))
    assert set(expected) == set(found)
    for name, value in expected.items():
        np.testing.assert_array_equal(value.asnumpy(), found[name].asnumpy())


def test_other_programs_read_it(tmp_path):
    there = tmp_path / "lenet.safetensors"
    assert convert(PARAMS, there) == 0
    expected = mx.nd.load(PARAMS)
    with safetensors.safe_open(there, "np") as file:
        assert set(file.keys()) == {name.removeprefix("arg:") for name in expected}
        for name in file.keys():
            np.testing.assert_array_equal(file.get_tensor(name), expected[f"arg:{name}"].asnumpy())


TYPES = ["float16", "float32", "float64", "bfloat16", "bool", "int8", "int32", "int64", "uint8"]


def test_types_shapes_and_kinds_stay(tmp_path):
    values = np.array([[0, 1, 2], [3, 100, 127]])
    arrays = {f"aux:{dtype}": mx.nd.array(values, dtype=dtype) for dtype in TYPES}
    arrays["arg:one"] = mx.nd.ones((1, 1, 1))
    arrays["plain"] = mx.nd.array([np.inf, -0.0, np.nan])
    mx.nd.save(str(tmp_path / "a.params"), arrays)
    assert convert(tmp_path / "a.params", tmp_path / "a.safetensors") == 0
    assert convert(tmp_path / "a.safetensors", tmp_path / "b.params") == 0
    found = mx.nd.load(str(tmp_path / "b.params"))
    assert set(found) == set(arrays)
    for name, value in arrays.items():
        assert np.dtype(found[name].dtype) == np.dtype(value.dtype) and found[name].shape == value.shape
        assert found[name].asnumpy().tobytes() == value.asnumpy().tobytes()


def test_files_of_other_programs(tmp_path):
    from safetensors.numpy import save_file

    weights = {"layer.0.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "step": np.array(3)}
    save_file(weights, tmp_path / "torch.safetensors", {"format": "pt"})
    assert convert(tmp_path / "torch.safetensors", tmp_path / "torch.params") == 0
    found = mx.nd.load(str(tmp_path / "torch.params"))
    np.testing.assert_array_equal(found["layer.0.weight"].asnumpy(), weights["layer.0.weight"])
    assert found["step"].shape == (1,) and found["step"].asnumpy().item() == 3


def test_what_cannot_be_converted(tmp_path, capsys):
    target = tmp_path / "a.safetensors"
    target.write_bytes(b"what was there")
    sparse = mx.nd.ones((3, 2)).tostype("row_sparse")
    same = {"arg:w": mx.nd.ones(1), "aux:w": mx.nd.ones(1)}
    for arrays, message in (
        ({"w": sparse}, "'w'"),
        ([mx.nd.ones(2)], "without names"),
        (same, "'arg:w' and 'aux:w'"),
    ):
        mx.nd.save(str(tmp_path / "a.params"), arrays)
        assert convert(tmp_path / "a.params", target) == 2
        assert message in capsys.readouterr().err
        assert target.read_bytes() == b"what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.params", "a.safetensors"]


def test_types_that_loomix_lacks_are_named(tmp_path, capsys):
    from safetensors.numpy import save_file

    save_file({"ids": np.zeros(2, np.uint32)}, tmp_path / "a.safetensors")
    assert convert(tmp_path / "a.safetensors", tmp_path / "a.params") == 2
    assert "'ids'" in (text := capsys.readouterr().err) and "U32" in text
    assert not (tmp_path / "a.params").exists()


def test_damaged_files(tmp_path, capsys):
    whole, damaged = tmp_path / "whole.safetensors", tmp_path / "damaged.safetensors"
    assert convert(PARAMS, whole) == 0
    content = whole.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["__metadata__"]["loomix.kinds"] = "[["
    text = json.dumps(header).encode()
    for wrong in (b"", content[:7], content[:100], content[:-1], b"\xff" * 64,
                  len(text).to_bytes(8, "little") + text + content[8 + size :]):  # fmt: skip
        damaged.write_bytes(wrong)
        assert convert(damaged, tmp_path / "a.params") == 2
        assert "is no whole safetensors file" in capsys.readouterr().err
    assert not (tmp_path / "a.params").exists()


@pytest.mark.parametrize(
    "source, target, message",
    [
        ("a.params", "b.params", "no way from a.params to b.params"),
        ("a.onnx", "b.params", "no way from a.onnx"),
        ("/nowhere/a.params", "b.safetensors", "there is no file /nowhere/a.params"),
        ("/nowhere/a.onnx", "b-symbol.json", "there is no file /nowhere/a.onnx"),
        ("a.json", "b.onnx", "no way from a.json to b.onnx; the ways are .*-symbol.json to *.onnx"),
        (PARAMS, "/nowhere/b.safetensors", "/nowhere/b.safetensors"),
    ],
)
def test_wrong_uses(source, target, message, capsys):
    assert convert(source, target) == 2
    start, _, rest = message.partition(".*")
    assert start in (text := capsys.readouterr().err) and rest in text


SYMBOL = PARAMS.replace("0001.params", "symbol.json")
IMAGES = np.load(PARAMS.replace("lenet-0001.params", "lenet_images.npy")).astype(np.float32) / 255


def lenet_of(symbol, params):
    return mx.Predictor(symbol, params, {"data": IMAGES.shape}).predict(IMAGES).asnumpy()


@pytest.mark.parametrize("sizes", ["32,1,28,28", "batch,1,28,28"])
def test_a_checkpoint_as_onnx_and_back(sizes, tmp_path, capsys):
    pytest.importorskip("onnx", reason="the package onnx is not installed")
    there, back = tmp_path / "lenet.onnx", tmp_path / "back-symbol.json"
    assert convert(SYMBOL, there, "--shape", f"data:{sizes}", "--opset", 15) == 0
    assert convert(there, back) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{there}: opset 15",
        f"{back} and {tmp_path}/back-0000.params: 8 arrays",
    ]
    expected = lenet_of(SYMBOL, PARAMS)
    np.testing.assert_allclose(lenet_of(str(back), f"{tmp_path}/back-0000.params"), expected, 1e-5, 1e-6)
    assert convert(there, back, "--params", tmp_path / "other.params", "--shape", "data:32,1,28,28") == 0
    assert set(mx.nd.load(f"{tmp_path}/other.params")) == set(mx.nd.load(PARAMS))


def test_onnx_that_cannot_be_written(tmp_path, capsys):
    pytest.importorskip("onnx", reason="the package onnx is not installed")
    target = tmp_path / "a.onnx"
    for arguments, message in (
        ((SYMBOL, target), "the shape of 'data' does not follow"),
        ((SYMBOL, target, "--shape", "data:1,1,28,28", "--opset", 3), "opset 3 is not known"),
        ((SYMBOL, target, "--shape", "data:1,1,28,28", "--params", "/nowhere/a.params"), "/nowhere/a.params"),
    ):
        assert convert(*arguments) == 2
        assert message in capsys.readouterr().err
    (tmp_path / "net-symbol.json").write_bytes(Path(SYMBOL).read_bytes())
    assert convert(tmp_path / "net-symbol.json", target, "--shape", "data:1,1,28,28") == 2
    assert (
        "there must be one file net-NUMBER.params, or --params names it; there is none"
        in capsys.readouterr().err
    )
    target.write_bytes(b"no model")
    assert convert(target, tmp_path / "b-symbol.json") == 2
    assert "is no ONNX file, or damaged" in capsys.readouterr().err
    assert not (tmp_path / "b-symbol.json").exists()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["a.params", "b.safetensors", "--opset", "13"], "are for ONNX"),
        (["a.onnx", "b-symbol.json", "--opset", "13"], "--opset is for writing ONNX"),
        (["a-symbol.json", "b.onnx", "--shape", "data"], "is no NAME:SIZE"),
        (["a-symbol.json", "b.onnx", "--shape", "data:1,a b"], "neither a number nor a name"),
    ],
)
def test_wrong_options(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        convert(*arguments)
    assert caught.value.code == 2 and message in capsys.readouterr().err
