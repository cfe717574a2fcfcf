# SPDX-License-Identifier: Apache-2.0
"""The check for machines that have a GPU for minutes (tools/gpu_check), run where the stand-in plays one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import loomix as mx
import pytest

pytestmark = [
    pytest.mark.source,
    pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one"),
]
TOOL = Path(__file__).parents[2] / "tools" / "gpu_check"


def check(*arguments, **settings):
    return subprocess.run(
        [sys.executable, str(TOOL), *arguments],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
    )


def test_operators_and_training_agree_and_make_a_report(tmp_path):
    done = check("--run", "--here", "--parts", "smoke", "training", "--out", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "gpu_check.json").read_text())
    assert found["smoke"]["wrong"] == 0 and found["smoke"]["ok"] > 40
    assert len(found["training"]["resnet20"]["gpu"]) == 6
    report = check("--report", str(tmp_path)).stdout
    assert (
        f"| smoke | 0 wrong, {found['smoke']['ok']} right |" in report and "| training | 0 wrong |" in report
    )


def test_convolutions_of_networks_are_asked_for(tmp_path):
    done = check("--run", "--here", "--parts", "convolutions", "--out", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "gpu_check.json").read_text())["convolutions"]
    assert found["ok"] == 12 and found["wrong"] == found["not reached"] == 0
    assert 0 < found["worst errors"]["bfloat16"] < 1e-2
    assert "| convolutions | 0 wrong, 12 right |" in check("--report", str(tmp_path)).stdout


def test_kernels_of_resnet_are_counted_and_reported(tmp_path):
    done = check("--run", "--here", "--parts", "kernels", "--out", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads((tmp_path / "gpu_check.json").read_text())["kernels"]
    assert seen["kernels a step"] >= 1 and 0 < seen["busy"] <= 1 and len(seen["longest"]) > 1
    assert "| kernel | µs a step | times |" in check("--report", str(tmp_path)).stdout


def test_both_orders_of_convolutions_are_measured_and_reported(tmp_path):
    done = check("--run", "--here", "--parts", "layouts", "--out", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    times = json.loads((tmp_path / "gpu_check.json").read_text())["layouts"]["times"]
    assert all(by["first"] > 0 and by["last"] > 0 for by in times.values()), times
    assert {"training step float32", "4 to 6, 3 x 3 / 1, 8 float16, with gradients"} <= times.keys()
    assert (
        "| what | channels first, µs | channels last, µs | last / first |"
        in check("--report", str(tmp_path)).stdout
    )


def test_time_between_kernels():
    sys.path.insert(0, str(TOOL))
    from kernels import STEPS, summary

    seen = summary([(0.0, 10.0, "a"), (5.0, 10.0, "b"), (25.0, 5.0, "a")])
    assert seen["busy"] == round(20 / 30, 4) and seen["idle a step"] == 10 / STEPS
    assert [kernel["name"] for kernel in seen["longest"]] == ["a", "b"]
    assert summary([])["wrong"] == 1


def test_what_is_wrong_is_told_and_the_rest_is_checked(tmp_path):
    done = check(
        "--run", "--here", "--parts", "smoke", "--out", str(tmp_path), LOOMIX_CUDA_LIBRARY="/none.so"
    )
    assert done.returncode == 1
    found = json.loads((tmp_path / "gpu_check.json").read_text())
    assert found["smoke"]["ok"] == 0 and "cannot load /none.so" in found["smoke"]["bad"]["unary"]
