# SPDX-License-Identifier: Apache-2.0
"""The second wheel, loomix-cuda: the package finds what it installs, and says what is missing where there is no GPU."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import loomix as mx
import pytest

ROOT = Path(__file__).parents[2]
STANDIN = os.environ.get("LOOMIX_CUDA_LIBRARY", "")
LIBRARY = Path(STANDIN or ROOT / "build" / "libloomix_cuda.so")
pytestmark = [
    pytest.mark.source,
    pytest.mark.skipif(not LIBRARY.is_file(), reason="no CUDA module was built, nor the stand-in"),
    pytest.mark.skipif(importlib.util.find_spec("auditwheel") is None, reason="auditwheel is not installed"),
]

PROGRAM = """
import loomix as mx
print(mx.context.num_gpus())
try:
    print(mx.nd.ones((2,), ctx=mx.gpu(0)).asnumpy())
except mx.MXNetError as error:
    print(error)
print(mx.nd.ones((2,), ctx=mx.cpu()).asnumpy())
"""


def test_what_is_installed_is_found(tmp_path):
    made = subprocess.run(
        [
            sys.executable,
            str(ROOT / "tools/make_cuda_wheel.py"),
            "--library",
            str(LIBRARY),
            "--out",
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    (wheel,) = tmp_path.glob("loomix_cuda-*.whl")
    assert wheel.stat().st_size <= 100e6 and "-py3-none-manylinux" in wheel.name
    site = tmp_path / "lib" / "python{}.{}".format(*sys.version_info) / "site-packages"
    shutil.copytree(Path(mx.__file__).parent, site / "loomix")
    install = [
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--ignore-installed",
        "--prefix",
        str(tmp_path),
    ]
    subprocess.run([sys.executable, "-m", *install, str(wheel)], check=True)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    environment.pop("LOOMIX_CUDA_LIBRARY", None)
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    count, *found, on_host = done.stdout.splitlines()
    assert on_host == "[1. 1.]"
    if int(count) > 0:
        assert found == ["[1. 1.]"]
    else:
        # Without a driver, or with one that sees no device.
        assert "gpu(0) needs a driver for CUDA" in found[0] or "looking for gpu(0) failed: " in found[0]
    assert "standin" not in STANDIN or int(count) == 3
