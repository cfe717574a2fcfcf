# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix inspect`` on MXNet's files, and on models that would not run."""

import json
import subprocess
import sys
from pathlib import Path

import loomix as mx
import pytest
from loomix.__main__ import main

FILES = Path(__file__).parents[1] / "compat" / "files"
LENET = str(FILES / "checkpoint" / "lenet-symbol.json")
PARAMS = str(FILES / "checkpoint" / "lenet-0001.params")


def inspect(*arguments):
    return main(["inspect", *map(str, arguments)])


def write(path, change):
    graph = json.loads(Path(LENET).read_text())
    for node in graph["nodes"]:
        change(node)
    path.write_text(json.dumps(graph))
    return path


def test_a_model_of_mxnet(capsys):
    assert inspect(LENET, PARAMS, "--shape", "data=2,1,28,28", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mxnet_version"] == "1.9.1"
    assert found["inputs"] == {"data": [2, 1, 28, 28], "softmax_label": None}
    assert found["outputs"] == {"softmax_output": [2, 10]}
    assert found["operators"]["Convolution"] == 2 and list(found["operators"].values()) == sorted(
        found["operators"].values(), reverse=True
    )
    assert found["parameters"]["conv1_weight"] == {"dtype": "float32", "shape": [8, 1, 5, 5]}
    assert found["problems"] == []


def test_what_people_read(capsys):
    assert inspect(LENET, PARAMS, "--shape", "data=2,1,28,28") == 0
    text = capsys.readouterr().out
    assert "of MXNet 1.9.1, 21 nodes" in text
    assert "20,522 in 8 arrays, 80.2 KiB" in text
    assert "softmax_output (2, 10)" in text
    assert "Total params: 20522" in text
    assert inspect(LENET) == 0
    assert "--shape data=" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name, version", [("old_0800", "0.8 or older"), ("old_0904", "0.9.4"), ("resnet", "1.9.1")]
)
def test_versions(name, version, capsys):
    assert inspect(FILES / "symbol" / f"{name}-symbol.json", "--json") == 0
    assert json.loads(capsys.readouterr().out)["mxnet_version"] == version


def test_operators_inside_of_loops_count(capsys):
    assert inspect(FILES / "symbol" / "foreach-symbol.json", "--json") == 0
    assert json.loads(capsys.readouterr().out)["operators"] == {
        "elemwise_add": 2, "_foreach": 1, "elemwise_mul": 1,
    }  # fmt: skip


def test_unknown_operators_are_named_with_their_nodes(tmp_path, capsys):
    def change(node):
        if node["op"] == "Convolution":
            node["op"] = "MyConvolution"

    assert inspect(write(tmp_path / "net.json", change), PARAMS) == 1
    text = capsys.readouterr().out
    assert "operator MyConvolution is unknown; node 'conv1', 'conv2'" in text


def test_python_operators_are_named(tmp_path, capsys):
    def change(node):
        if node["op"] == "Flatten":
            node.update(op="Custom", attrs={"op_type": "inspected_elsewhere"})

    assert inspect(write(tmp_path / "net.json", change)) == 2
    text = capsys.readouterr().err
    assert "op_type 'inspected_elsewhere' is not registered" in text and "in node 'flatten0'" in text


def test_parameters_that_do_not_fit(tmp_path, capsys):
    arrays = mx.nd.load(PARAMS)
    arrays["arg:fc3_weight"] = arrays.pop("arg:fc2_weight")
    mx.nd.save(str(tmp_path / "other.params"), arrays)
    assert inspect(LENET, tmp_path / "other.params") == 1
    text = capsys.readouterr().out
    assert "lacks 'fc2_weight'" in text and "does not use 'fc3_weight'" in text

    arrays = mx.nd.load(PARAMS)
    arrays["arg:fc2_bias"] = mx.nd.zeros((11,))
    mx.nd.save(str(tmp_path / "wrong.params"), arrays)
    assert inspect(LENET, tmp_path / "wrong.params", "--shape", "data=1,1,28,28") == 1
    text = capsys.readouterr().out
    assert "shapes do not fit" in text and "fc2" in text and "(11,)" in text


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["/nowhere/net-symbol.json"], "there is no file /nowhere/net-symbol.json"),
        ([LENET, "/nowhere/net.params"], "there is no file /nowhere/net.params"),
        ([PARAMS], "lenet-0001.params"),
        ([LENET, LENET], "lenet-symbol.json"),
        ([LENET, "--shape", "dta=1,1,28,28"], "Did you mean 'data'"),
    ],
)
def test_wrong_uses(arguments, message, capsys):
    assert inspect(*arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("shape", ["data", "data=", "data=a", "=1,2", "data=0,2"])
def test_what_is_no_shape(shape, capsys):
    with pytest.raises(SystemExit):
        inspect(LENET, "--shape", shape)
    assert "is no shape; expected NAME=1,3,224,224" in capsys.readouterr().err


def test_a_reader_that_leaves_is_no_error():
    command = f"{sys.executable} -m loomix inspect {LENET} {PARAMS} | head -n 1; exit ${{PIPESTATUS[0]}}"
    for _ in range(3):  # the reader may also be slow to leave
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120)
        assert done.returncode in (0, 141) and done.stderr == ""
        assert done.stdout == "file         of MXNet 1.9.1, 21 nodes\n"
