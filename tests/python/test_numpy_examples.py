# SPDX-License-Identifier: Apache-2.0
"""examples/numpy: each learns, and the same whether it is compiled or not."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "numpy"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "lesson")


def losses_of(name, *options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--epochs", "2", *map(str, options)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return [float(text) for text in re.findall(r"loss (\d+\.\d+)", result.stdout)]


@pytest.mark.parametrize("name", NAMES)
def test_example(name, tmp_path):
    picture = tmp_path / "loss.png"
    drawn = importlib.util.find_spec("matplotlib") is not None
    losses = losses_of(name, *(["--picture", picture] if drawn else []))
    assert len(losses) == 2 and losses[1] < losses[0]
    assert losses_of(name, "--hybridize") == pytest.approx(losses, rel=2e-3, abs=2e-4)
    assert not drawn or picture.stat().st_size > 1000
