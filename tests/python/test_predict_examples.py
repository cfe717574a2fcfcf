# SPDX-License-Identifier: Apache-2.0
"""examples/predict: the programs in C, C++ and Python build, and tell the same classes and boxes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/predict"
LIBRARY = ROOT / "build/bindings/c/libloomix_predict.so"
JPEG_AND_PNG = "#include <stdio.h>\n#include <jpeglib.h>\n#include <png.h>\nint main(void) { return 0; }\n"

pytestmark = [
    pytest.mark.source,
    pytest.mark.library,
    pytest.mark.slow,
    pytest.mark.skipif(not LIBRARY.exists(), reason="the target loomix_predict is not built"),
    pytest.mark.skipif(
        not all(map(shutil.which, ("gcc", "g++", "make", "cmake"))),
        reason="gcc, g++, make or cmake is not installed",
    ),
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The folder of the built programs."""
    folder = tmp_path_factory.mktemp("programs")
    check = subprocess.run(
        ["gcc", "-fsyntax-only", "-x", "c", "-"], input=JPEG_AND_PNG.encode(), capture_output=True
    )
    if check.returncode:
        pytest.skip("the headers of libjpeg or libpng are not installed")
    install = ["cmake", "--install", str(ROOT / "build"), "--component", "predict", "--prefix", str(folder)]
    subprocess.run(install, check=True, capture_output=True)
    library = next(folder.glob("lib*/**/libloomix_predict.so")).parent
    if library.name != "lib":
        (folder / "lib").symlink_to(library)
    make = [
        "make",
        "-C",
        str(EXAMPLES),
        f"LOOMIX={folder}",
        f"OUT={folder}",
        "CFLAGS=-O1 -Wall -Wextra -Werror",
    ]
    subprocess.run([*make, "CXXFLAGS=-O1 -Wall -Wextra -Werror -std=c++17"], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """Arguments for a network that tells in which corner a picture is bright, and its picture."""
    folder = tmp_path_factory.mktemp("classifier")
    net = mx.sym.Pooling(mx.sym.Variable("data"), kernel=(8, 8), stride=(8, 8), pool_type="avg")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=4, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    weight = mx.nd.array(np.tile(np.eye(4), 3))
    mx.model.save_checkpoint(
        str(folder / "net"), 0, net, {"fc_weight": weight, "fc_bias": mx.nd.zeros(4)}, {}
    )
    (folder / "names.txt").write_text("left top\nright top\nleft bottom\nright bottom\n")
    pixels = np.full((40, 64, 3), 30, np.uint8)  # of which the middle 40 x 40 are seen
    pixels[20:, 32:] = (250, 200, 150)
    pixels[:20, 32:] = (90, 90, 90)
    model = [str(folder / "net-symbol.json"), str(folder / "net-0000.params")]
    options = [
        "--shape",
        "3,16,16",
        "--mean",
        "10,20,30",
        "--std",
        "50",
        "--synset",
        str(folder / "names.txt"),
    ]
    return folder, model, options, pixels


def save(path, pixels):
    header = mx.recordio.IRHeader(0, 0, 0, 0)
    record = mx.recordio.pack_img(
        header, pixels, quality=9 if path.suffix == ".png" else 98, img_fmt=path.suffix
    )
    path.write_bytes(mx.recordio.unpack(record)[1])
    return str(path)


def run(*command):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([*map(str, command)], capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("ending", [".png", ".jpg"])
def test_classify(programs, classifier, ending):
    folder, model, options, pixels = classifier
    picture = save(folder / f"picture{ending}", pixels)
    commands = [
        [programs / "classify"],
        [programs / "classify_cpp"],
        [sys.executable, EXAMPLES / "classify.py"],
    ]
    outputs = [run(*command, *model, picture, *options, "--repeat", "3") for command in commands]
    # What the network gives of the middle of the picture, whose quarters are even.
    values = (np.array([[30] * 3, [90] * 3, [30] * 3, [250, 200, 150]]) - [10, 20, 30]) / 50
    scores = np.exp(values.sum(1)) / np.exp(values.sum(1)).sum()
    for output in outputs:
        assert re.search(r"loaded in \d+\.\d ms", output) and "predicted 3 times" in output
        found = re.findall(r"^ +(\d\.\d+)  (.+)$", output, re.M)
        assert [name for _, name in found][:2] == ["right bottom", "right top"] and len(found) == 4
        np.testing.assert_allclose(
            [float(score) for score, _ in found], -np.sort(-scores), atol=2e-4 if ending == ".png" else 0.01
        )


def test_gray_pictures(programs, classifier, tmp_path):
    _, _, _, pixels = classifier
    net = mx.sym.Flatten(mx.sym.Variable("picture"))
    (tmp_path / "net-symbol.json").write_text(mx.sym.FullyConnected(net, num_hidden=2, name="fc").tojson())
    weights = {"arg:fc_weight": mx.nd.array([[1] * 64, [-1] * 64]) / 64, "arg:fc_bias": mx.nd.zeros(2)}
    mx.nd.save(str(tmp_path / "net.params"), weights)
    picture = save(tmp_path / "picture.png", pixels[..., 0])
    model = [tmp_path / "net-symbol.json", tmp_path / "net.params", picture]
    options = ["--shape", "1,8,8", "--std", "100", "--data", "picture"]
    expected = pixels[:, 12:52, 0].mean() / 100
    for command in ([programs / "classify"], [sys.executable, EXAMPLES / "classify.py"]):
        best, worst = re.findall(r"(-?\d\.\d+)  class (\d)", run(*command, *model, *options))
        assert float(best[0]) == pytest.approx(expected, abs=2e-3) and best[1] == "0"
        assert float(worst[0]) == pytest.approx(-expected, abs=2e-3)
        text = run(*command, *model, *options, "--softmax")
        assert float(re.search(r"(\d\.\d+)  class 0", text)[1]) == pytest.approx(
            1 / (1 + np.exp(-2 * expected)), abs=2e-3
        )


@pytest.mark.parametrize(
    "change, message",
    [
        ({2: "/nowhere.png"}, "/nowhere.png: No such file"),
        ({2: "names.txt"}, "neither a JPEG nor a PNG"),
        ({2: "broken.png"}, "PNG: "),
        ({2: "broken.jpg"}, ""),
        ({0: "/nowhere.json"}, "/nowhere.json"),
        ({0: "names.txt"}, "JSON"),
        ({1: "names.txt"}, "no array file"),
        ({4: "3,16"}, "usage"),
        ({4: "3,99999,1"}, "usage"),
        ({6: "a"}, "--mean a is not understood"),
    ],
)
@pytest.mark.parametrize("program", ["classify", "classify_cpp", "detect"])
def test_wrong_uses(programs, classifier, program, change, message):
    folder, model, options, pixels = classifier
    for ending in (".png", ".jpg"):
        whole = Path(save(folder / f"whole{ending}", pixels)).read_bytes()
        (folder / f"broken{ending}").write_bytes(whole[: 60 if ending == ".png" else 20])
    words = [*model, save(folder / "picture.png", pixels), *options]
    for place, word in change.items():
        words[place] = str(folder / word) if (folder / word).exists() else word
    result = subprocess.run([programs / program, *words], capture_output=True, text=True, cwd=folder)
    assert result.returncode == 1 and message in result.stderr, result.stderr


def test_detect(programs, tmp_path):
    """Boxes that the network always gives are drawn where they belong."""
    boxes = [[0, 0.9, 0.25, 0.5, 0.75, 1], [-1, 0.99, 0, 0, 1, 1], [1, 0.3, 0, 0, 0.5, 0.5]]
    rows = mx.sym.broadcast_add(
        mx.sym.Variable("boxes"), 0 * mx.sym.sum(mx.sym.Variable("data")).reshape((1, 1, 1))
    )
    (tmp_path / "net-symbol.json").write_text(rows.tojson())
    mx.nd.save(str(tmp_path / "net.params"), {"arg:boxes": mx.nd.array([boxes])})
    (tmp_path / "names.txt").write_text("cat\ndog\n")
    picture = save(tmp_path / "picture.png", np.full((80, 160, 3), 50, np.uint8))
    model = [tmp_path / "net-symbol.json", tmp_path / "net.params", picture, "--shape", "3,32,32"]
    more = ["--synset", tmp_path / "names.txt", "--output", tmp_path / "found.png"]
    output = run(programs / "detect", *model, *more)
    assert re.search(r"0\.9000  cat +at \(60, 40\) to \(100, 80\)", output) and "dog" not in output
    found = mx.image.imread(str(tmp_path / "found.png")).asnumpy()
    changed = (found != 50).any(-1)
    expected = np.zeros((80, 160), bool)
    expected[40:80, 60:100] = True
    expected[41:79, 61:99] = False
    np.testing.assert_array_equal(changed, expected)
    assert "dog" in run(programs / "detect", *model, *more, "--least", "0.2")


def test_models_are_made(programs, tmp_path):
    for package in ("tqdm", "matplotlib"):
        pytest.importorskip(package)
    data = Path("/usr/share/datasets/fashion-mnist")
    if not data.exists():
        pytest.skip("dataset-fashion-mnist is not installed")
    run(sys.executable, EXAMPLES / "make_models.py", "--quick", "--output", tmp_path)
    model = [tmp_path / "clothes-symbol.json", tmp_path / "clothes-0000.params", tmp_path / "trousers.png"]
    options = [
        "--shape",
        "1,28,28",
        "--mean",
        "72.93",
        "--std",
        "90.02",
        "--synset",
        tmp_path / "clothes.txt",
    ]
    assert re.search(r"\n +\d\.\d+  trousers\n", run(programs / "classify", *model, *options))
    model = [tmp_path / "shapes-symbol.json", tmp_path / "shapes-0000.params", tmp_path / "shapes-1.jpg"]
    options = ["--shape", "3,64,64", "--synset", tmp_path / "shapes.txt", "--output", tmp_path / "found.png"]
    output = run(programs / "detect", *model, *options, "--least", "0.05")
    assert re.search(r"(circle|square|triangle) +at \(", output)
    assert (tmp_path / "found.png").stat().st_size > 10000
