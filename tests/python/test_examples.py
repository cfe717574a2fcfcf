# SPDX-License-Identifier: Apache-2.0
"""The examples run, and a resumed run of the training example gives the same bits."""

import json
import os
import runpy
import struct
import subprocess
import sys
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def data(tmp_path):
    """Two small parts in the form of Fashion-MNIST: bright bars whose row is the class."""
    folder = tmp_path / "data"
    folder.mkdir()
    random = np.random.RandomState(0)
    for part, count in (("train", 300), ("t10k", 64)):
        labels = random.randint(0, 10, count).astype(np.uint8)
        images = random.randint(0, 50, (count, 28, 28)).astype(np.uint8)
        for image, label in zip(images, labels):
            image[2 * label + 2 : 2 * label + 5] = 220
        header = struct.pack(">IIII", 2051, count, 28, 28)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(header + images.tobytes())
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels.tobytes())
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("network", ["mlp", "lenet"])
def test_training(network, data, tmp_path):
    for package in ("tqdm", "matplotlib"):
        pytest.importorskip(package)

    def run(output, epochs, *more):
        options = ["--network", network, "--epochs", str(epochs), "--batch-size", "32", "--lr", "0.005"]
        options += ["--data-dir", str(data), "--output", str(output), *more]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, str(EXAMPLES / "train_fashion_mnist.py"), *options]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        arrays = mx.nd.load(str(output / f"{network}-{epochs:04d}.params"))
        return {name: array.asnumpy() for name, array in arrays.items()}

    whole = run(tmp_path / "whole", 4)
    run(tmp_path / "parts", 2)
    resumed = run(tmp_path / "parts", 4, "--resume")
    assert whole.keys() == resumed.keys()
    assert all((whole[name] == resumed[name]).all() for name in whole)
    assert (tmp_path / "parts" / f"{network}-0004.states").read_bytes() == (
        tmp_path / "whole" / f"{network}-0004.states"
    ).read_bytes()
    assert (tmp_path / "whole" / f"{network}-curve.png").stat().st_size > 1000
    history = json.loads((tmp_path / "whole" / f"{network}-0004.run.json").read_text())["history"]
    assert len(history) == 4
    assert history[-1]["train"]["cross-entropy"] < history[0]["train"]["cross-entropy"]


def test_missing_data(tmp_path):
    for package in ("tqdm", "matplotlib"):
        pytest.importorskip(package)
    example = runpy.run_path(str(EXAMPLES / "train_fashion_mnist.py"))
    with pytest.raises(SystemExit, match="missing"):
        example["train"](example["parse"](["--data-dir", str(tmp_path), "--output", str(tmp_path)]))


def test_tour(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["ndarray_tour.py"])
    runpy.run_path(str(EXAMPLES / "ndarray_tour.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "d(sum of squares)/dx = [2. 4. 6.]" in out and "made on cpu(1)" in out


@pytest.mark.slow
def test_language_model(tmp_path):
    for package in ("tqdm", "matplotlib"):
        pytest.importorskip(package)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [
        sys.executable,
        str(EXAMPLES / "rnn" / "language_model.py"),
        "--quick",
        "--output",
        str(tmp_path),
    ]
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    assert (
        float(output.split("test perplexity: ")[1].split(";")[0]) < 300
    )  # 1,871 before it has learnt anything
    assert (tmp_path / "perplexity.png").stat().st_size > 1000
    _, parameters, _ = mx.model.load_checkpoint(str(tmp_path / "language_model"), 2)
    assert parameters["rnn_l0_h2h_o_weight"].shape == (64, 64)
