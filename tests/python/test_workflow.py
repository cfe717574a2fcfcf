# SPDX-License-Identifier: Apache-2.0
"""The example of a workflow: its modules, and what runs them where that is installed."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples/workflow"
pytestmark = pytest.mark.source


def check(folder):
    best = json.loads((folder / "best.json").read_text())
    found = [json.loads((folder / f"net{size}.json").read_text())["accuracy"] for size in (4, 8, 16)]
    assert best["accuracy"] == max(found) > 0.9


def test_the_modules(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import steps

    steps.data(str(tmp_path / "data.params"))
    results = []
    for size in (4, 8, 16):
        results.append(str(tmp_path / f"net{size}.json"))
        steps.train(str(tmp_path / "data.params"), size, str(tmp_path / f"net{size}.params"), results[-1])
    steps.best(str(tmp_path / "best.json"), *results)
    check(tmp_path)


@pytest.mark.skipif(shutil.which("snakemake") is None, reason="snakemake is not installed")
def test_by_files(tmp_path):
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    command = ["snakemake", "--cores", "2", "--config", f"python={sys.executable}"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    check(tmp_path)
    for name in ("net8.json", "best.json"):
        (tmp_path / name).unlink()
    again = subprocess.run(command, cwd=tmp_path, check=True, timeout=60, capture_output=True, text=True)
    assert "net8" in again.stderr and "net16.params" not in again.stderr  # only what is not there


@pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="dask.distributed is not installed"
)
def test_by_values(tmp_path):
    command = [sys.executable, FOLDER / "with_dask.py", tmp_path]
    done = subprocess.run(
        command, check=True, timeout=60, capture_output=True, text=True, env=dict(os.environ)
    )
    assert "trained: [4, 8, 16] largest: 16" in done.stdout
    check(tmp_path)
