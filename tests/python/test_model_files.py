# SPDX-License-Identifier: Apache-2.0
"""The models that MXNet wrote, by programs in C and C++ and with the single file. (`.ci/long single_file` adds aarch64
and WebAssembly, by the same program.)"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
PROGRAMS = ROOT / "tests/compat"
HEADERS = [f"-I{ROOT / folder}" for folder in ("bindings/c/include", "bindings/cpp/include")]
WAYS = {
    "c": ("run_model.cc", BUILD / "bindings/c/libloomix_predict.so"),
    "cpp": ("run_model_cpp.cc", BUILD / "bindings/c/api/libloomix_c.so"),
    "single_file": ("run_model.cc", BUILD / "tools/libloomix_single_file.so"),
}

pytestmark = [
    pytest.mark.source,
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++"),
]


@pytest.mark.parametrize("way", WAYS)
def test_models_that_mxnet_wrote(tmp_path, way):
    program, library = WAYS[way]
    if not library.exists():
        pytest.skip(f"{library.name} is not built")
    made = tmp_path / "program"
    link = [library, f"-Wl,-rpath,{library.parent}", f"-Wl,-rpath-link,{BUILD}"]
    subprocess.run(["g++", "-std=c++20", *HEADERS, PROGRAMS / program, "-o", made, *link], check=True)
    done = subprocess.run(
        [sys.executable, PROGRAMS / "run_models.py", made], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 of 12 failed" in done.stdout
