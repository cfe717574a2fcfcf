# SPDX-License-Identifier: Apache-2.0
"""The picture of training times follows from the figures that are kept."""

import importlib.util
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

pytestmark = pytest.mark.library

ROOT = Path(__file__).resolve().parents[3]
STAMP = {"cpu": "Z80", "cores": 2, "threads": 2, "wait_policy": "active", "commit": "abc"}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem + "_under_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


figure = load(ROOT / "tools/training_figure.py")


def row(case, loomix, **peers):
    ratios = {name: loomix / seconds for name, seconds in peers.items()}
    medians = {"loomix": loomix, **peers}
    return {"group": "training", "case": case, "medians": medians, "ratios": ratios, "machine": STAMP}


def test_table_and_picture(tmp_path, capsys):
    rows = [
        row("inception_bn", 0.5, mxnet=1.0),
        row("alexnet", 0.25, mxnet=0.5, torch=0.75),
        row("resnet50_bfloat16", 0.1, torch=0.2),
        {"group": "training", "case": "mlp", "medians": {"loomix": 1}, "machine": STAMP},
    ]
    kept, svg = tmp_path / "results.json", tmp_path / "times.svg"
    kept.write_text(json.dumps(rows))
    assert figure.main(["--results", str(kept), "--svg", str(svg)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:] == [
        "| AlexNet, batch 32 | 250 | 500 | 750 | 2.00 | 3.00 |",
        "| Inception-BN, batch 16 | 500 | 1000 |  | 2.00 |  |",
        "| ResNet-50, batch 8, bfloat16 | 100 |  | 200 |  | 2.00 |",
    ]
    root = ElementTree.parse(svg).getroot()
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert (
        "AlexNet, batch 32" in texts and "750 ms (3.00 x)" in texts and any("Z80" in text for text in texts)
    )
    widths = [
        float(r.get("width"))
        for r in root.iter("{http://www.w3.org/2000/svg}rect")
        if r.get("height") == "14"
    ]
    assert widths == [97.5, 195, 292.5, 195, 390, 39, 78]


def test_without_figures(tmp_path, capsys):
    kept = tmp_path / "results.json"
    kept.write_text("[]")
    assert figure.main(["--results", str(kept)]) == 2
    assert "no figures of image networks" in capsys.readouterr().err


def test_the_networks_are_those_of_the_benchmark():
    assert set(figure.batches_of_benchmark()) == set(figure.NAMES)
