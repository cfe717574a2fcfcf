# SPDX-License-Identifier: Apache-2.0
"""The examples run, and a resumed run of the training example gives the same bits."""

import json
import os
import re
import runpy
import struct
import subprocess
import sys
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.library

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


@pytest.mark.parametrize("model", ["linear", "fm"])
def test_sparse(model, capsys, monkeypatch):
    script = str(EXAMPLES / "sparse" / "train_sparse.py")
    monkeypatch.setattr(sys, "argv", [script, "--quick", "--model", model])
    accuracy = runpy.run_path(script)["main"]()
    assert accuracy > 0.65
    assert "samples/s" in capsys.readouterr().out


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


def run_example(path, *options):
    """What an example prints."""
    for package in ("tqdm", "matplotlib"):
        pytest.importorskip(package)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(EXAMPLES / path), *map(str, options)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
def test_layers_on_two_devices(tmp_path):
    folders = [tmp_path / "two", tmp_path / "one"]
    outputs = [
        run_example("model_parallel/lstm.py", "--quick", "--devices", devices, "--output", folder)
        for devices, folder in zip(("cpu:0,cpu:1", "cpu:0"), folders)
    ]
    assert "lstm0_h2h_weight on cpu(0)" in outputs[0] and "lstm1_h2h_weight on cpu(1)" in outputs[0]
    assert "scores_weight on cpu(1)" in outputs[0] and "cpu(1)" not in outputs[1]
    two, one = (
        [float(text) for text in re.findall(r"perplexity: (\d+\.\d+); by .*: (\d+\.\d+)", output)[0]]
        for output in outputs
    )
    assert two == pytest.approx(one, abs=0.05) and two[0] < 0.7 * two[1]
    assert (folders[0] / "perplexity.png").stat().st_size > 1000


@pytest.mark.slow
def test_pictures_are_told_apart(tmp_path):
    output = run_example("image_classification/train.py", "--quick", "--output", tmp_path)
    assert float(output.split("\naccuracy: ")[1].split()[0]) > 0.9
    assert (tmp_path / "resnet20_cifar_v1.png").stat().st_size > 1000
    symbol, parameters, _ = mx.model.load_checkpoint(str(tmp_path / "resnet20_cifar_v1"), 4)
    assert parameters["fc_weight"].shape == (4, 64) and symbol.list_outputs() == ["softmax_output"]


@pytest.mark.slow
def test_pictures_from_records(tmp_path):
    writer = mx.recordio.MXRecordIO(str(tmp_path / "data.rec"), "w")
    random = np.random.RandomState(0)
    for i in range(32):
        picture = random.randint(0, 99, (40, 36, 3)).astype(np.uint8) + np.uint8(120 * (i % 2))
        writer.write(mx.recordio.pack_img(mx.recordio.IRHeader(0, i % 2, i, 0), picture))
    writer.close()
    options = [
        "--records",
        tmp_path / "data.rec",
        "--validation-records",
        tmp_path / "data.rec",
        "--lr",
        0.02,
    ]
    options += ["--classes", 2, "--image-size", 28, "--batch-size", 8, "--epochs", 2, "--output", tmp_path]
    output = run_example("image_classification/train.py", "--network", "mobilenet_0.25", *options)
    assert "epoch 2: accuracy" in output and "in validation" in output


@pytest.mark.slow
def test_clothes_of_another_size(data, tmp_path):
    options = [
        "--data-dir",
        data,
        "--epochs",
        1,
        "--image-size",
        16,
        "--batch-size",
        32,
        "--output",
        tmp_path,
    ]
    output = run_example("image_classification/train.py", *options)
    assert "epoch 1: accuracy" in output


@pytest.mark.slow
def test_speed_of_networks(tmp_path):
    options = [
        "--benchmark",
        "--network",
        "squeezenet_1.1",
        "--image-size",
        64,
        "--batch-size",
        4,
        "--steps",
        2,
    ]
    output = run_example("image_classification/train.py", *options)
    found = re.findall(r"squeezenet_1.1, batches of 4, (\w+): (\d+\.\d) images/s", output)
    assert [what for what, _ in found] == ["training", "prediction"] and all(float(x) > 0 for _, x in found)


@pytest.mark.slow
def test_gluon_resnet(tmp_path):
    output = run_example("gluon/resnet.py", "--quick", "--output", tmp_path)
    assert float(output.split("\naccuracy: ")[1].split()[0]) > 0.9
    assert (tmp_path / "resnet8.png").stat().st_size > 1000
    assert (tmp_path / "resnet8-best.params").exists() and (tmp_path / "resnet8-symbol.json").exists()
    output = run_example("gluon/resnet.py", "--quick", "--resume", "--epochs", 4, "--output", tmp_path)
    assert "1 epochs are left" in output


@pytest.mark.slow
def test_gluon_autoencoder(tmp_path):
    output = run_example("gluon/vae.py", "--quick", "--output", tmp_path)
    bounds = [float(text) for text in re.findall(r"(\d+\.\d+) nats on", output)]
    assert bounds[-1] < 0.8 * bounds[0] and len(bounds) == 20
    assert (tmp_path / "vae.png").stat().st_size > 1000
    assert mx.nd.load(str(tmp_path / "vae.params"))["decoder.2.weight"].shape == (784, 64)


@pytest.mark.slow
def test_gluon_adversarial_networks(tmp_path, monkeypatch):
    """Bars are drawn where bars are: from column 4 to 23."""
    for package in ("tqdm", "matplotlib"):
        pytest.importorskip(package)
    monkeypatch.syspath_prepend(str(EXAMPLES / "gluon"))
    example = runpy.run_path(str(EXAMPLES / "gluon" / "dcgan.py"))
    drawn = example["main"](["--quick", "--output", str(tmp_path)])
    inside, outside = drawn[:, 4:24, 4:24].mean(), drawn[:, :, [0, 1, 26, 27]].mean()
    assert drawn.shape == (40, 28, 28) and inside > outside + 0.1, (inside, outside)
    assert (tmp_path / "dcgan-12.png").stat().st_size > 1000
    assert (tmp_path / "dcgan-losses.png").stat().st_size > 1000


@pytest.mark.slow
def test_gluon_transformer(tmp_path):
    output = run_example("gluon/transformer.py", "--quick", "--output", tmp_path)
    assert float(output.split("right: ")[1].split()[0]) > 0.8
    assert "52 fifty two\n" in output
    assert (tmp_path / "transformer.png").stat().st_size > 1000


@pytest.mark.slow
def test_gluon_character_model(tmp_path):
    output = run_example("gluon/character_model.py", "--quick", "--output", tmp_path)
    costs = [float(text) for text in re.findall(r"(\d+\.\d+) bits for each", output)]
    assert costs[-1] < 3.5 and costs[-1] < costs[0]
    assert (tmp_path / "character_model.png").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
@pytest.mark.skipif(not mx.runtime.Features().is_enabled("DIST_KVSTORE"), reason="no network module")
def test_gluon_cluster(tmp_path):
    output = run_example("gluon/distributed.py", "--quick", "--output", tmp_path)
    assert float(output.split("accuracy: ")[1].split()[0]) > 0.9
    assert "with 4 workers" in output
    assert (tmp_path / "distributed.png").stat().st_size > 1000
    assert mx.nd.load(str(tmp_path / "distributed.params"))["5.weight"].shape == (10, 128)


@pytest.mark.slow
def test_shapes_are_found(tmp_path):
    output = run_example("detection/ssd.py", "--quick", "--output", tmp_path)
    precisions = [float(text) for text in re.findall(r", mAP (\d\.\d+)\n", output)]
    assert (
        precisions[-1] > 0.15 and precisions[0] < 0.05 and len(precisions) == 12
    )  # it takes many steps to learn
    assert (tmp_path / "ssd-found.png").stat().st_size > 1000
    assert (tmp_path / "ssd-curves.png").stat().st_size > 1000
    assert mx.nd.load(str(tmp_path / "ssd.params"))["class_heads.2.weight"].shape == (16, 64, 3, 3)


def test_average_precision(monkeypatch):
    """Worked out by hand."""
    monkeypatch.syspath_prepend(str(EXAMPLES / "detection"))
    example = runpy.run_path(str(EXAMPLES / "detection" / "average_precision.py"))
    metric = example["MeanAveragePrecision"](["cat", "dog", "bird"])
    labels = [
        [[0, 0.0, 0.0, 0.4, 0.4], [0, 0.5, 0.5, 1.0, 1.0], [-1] * 5],
        [[0, 0.1, 0.1, 0.9, 0.9], [1, 0.0, 0.0, 0.2, 0.2], [-1] * 5],
    ]
    found = [
        [
            [0, 0.6, 0.5, 0.5, 1.0, 0.8],  # right: 0.6 of the second cat
            [0, 0.9, 0.0, 0.0, 0.4, 0.4],  # right: the first cat
            [0, 0.8, 0.0, 0.0, 0.4, 0.3],  # wrong: that one again
            [-1, 0.99, 0.0, 0.0, 0.4, 0.4],
        ],
        [
            [0, 0.7, 0.1, 0.1, 0.9, 0.4],  # wrong: 0.375 of the third cat
            [1, 0.3, 0.0, 0.0, 0.2, 0.2],  # right: the dog
            [1, 0.2, 0.0, 0.0, 0.2, 0.2],  # wrong, but after all dogs are found
            [2, 0.9, 0.0, 0.0, 0.2, 0.2],  # wrong: there is no bird
        ],
    ]
    for one_labels, one_found in zip(labels, found):
        metric.update([mx.nd.array([one_labels])], [mx.nd.array([one_found])])
    names, values = metric.get()
    # Cats: recall 1/3 at precision 1, and 2/3 at precision 2/4.
    assert names == ["cat", "dog", "bird", "mAP"]
    assert values == pytest.approx([0.5, 1, np.nan, 0.75], nan_ok=True)
    metric.reset()
    assert np.isnan(metric.get()[1]).all()


def test_drawn_boxes(monkeypatch):
    """A box ends where its shape does, and the same seed draws the same."""
    monkeypatch.syspath_prepend(str(EXAMPLES / "detection"))
    drawings = runpy.run_path(str(EXAMPLES / "detection" / "drawings.py"))
    images, labels = drawings["drawings"](8, 64, seed=3)
    again = drawings["drawings"](8, 64, seed=3)
    assert (images == again[0]).all() and (labels == again[1]).all()
    there = labels[labels[:, :, 0] >= 0]
    assert images.shape == (8, 3, 64, 64) and (labels[:, 0, 0] >= 0).all()
    assert (there[:, 1:] >= 0).all() and (there[:, 1:] <= 1).all() and (there[:, 3:] > there[:, 1:3]).all()
    for kind, area in enumerate((np.pi, 2, 3 * 3**0.5 / 4)):  # of radius 1, before it is squeezed
        random = np.random.RandomState(kind)
        covered = drawings["shape"](random, kind, 200)
        radius = np.random.RandomState(kind).uniform(0.1, 0.3) * 200
        assert 0.62 * area < covered.sum() / radius**2 < 1.02 * area
    boxes = np.array([[0, 0, 2, 2], [0, 0, 1, 1]])
    assert drawings["overlap"](boxes, np.array([[1, 1, 3, 3]])).tolist() == [[1 / 7], [0]]


@pytest.mark.parametrize("package", ["matplotlib", "tqdm"])
def test_missing_packages_are_named_at_the_start(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    for script in (
        "train_fashion_mnist.py",
        "image_classification/train.py",
        "gluon/vae.py",
        "rnn/language_model.py",
    ):
        monkeypatch.syspath_prepend((EXAMPLES / script).parent)
        with pytest.raises(SystemExit, match=f"needs .*: pip install .*{package}"):
            runpy.run_path(str(EXAMPLES / script))
