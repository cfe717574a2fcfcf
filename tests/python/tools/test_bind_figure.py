# SPDX-License-Identifier: Apache-2.0
"""The picture of binding times is drawn from what is measured."""

import importlib.util
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

pytestmark = pytest.mark.library

ROOT = Path(__file__).resolve().parents[3]


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem + "_under_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


figure = load(ROOT / "tools/bind_figure.py")


def test_small_graphs_are_measured_and_drawn(tmp_path, capsys):
    svg = tmp_path / "times.svg"
    assert figure.main(["--most", "300", "--svg", str(svg)]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line.split(" | ")[1] for line in lines] == ["prediction"] * 2 + ["training"] * 2
    for line in lines:
        assert 90 <= int(line.split(" | ")[0].strip("| ")) <= 400
        # Small plans for training leave memory alone for parallelism.
        most = 1.1 if "prediction" in line else 2.5
        assert float(line.split(" | ")[3].split()[0]) < most, "far above the lower bound"
    drawn = ElementTree.parse(svg).getroot()
    assert len([part for part in drawn if part.tag.endswith("circle")]) == 4
