# SPDX-License-Identifier: Apache-2.0
"""What is packed here, and how the other machine makes the CUDA module of it.

Packed are a wheel of Loomix that holds the libraries it needs, and the headers that the CUDA sources include.
The module itself is compiled there: the machine has more cores than a developer's, and its own toolkit.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FLAGS = ["-std=c++20", "-O2", "-DNDEBUG", "-DFMT_HEADER_ONLY", '-DLOOMIX_VERSION="0.1.0"']
NVCC_FLAGS = [
    "--expt-relaxed-constexpr",
    "--extended-lambda",
    "-DFMT_USE_CONSTEXPR=1",
    "--compress-mode=size",
]
LIBRARIES = ["cudart", "cublas", "cublasLt", "cudnn", "cusolver", "cufft", "cusparse", "nccl", "nvrtc"]


MOST_BYTES = 60 << 20  # of tree and pack together


def pack(root: Path, version: str) -> int:
    """`version`: of the Python that the other machine has."""
    folder = root / ".gpu_check"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    subprocess.run(["bash", "tools/make_wheel.sh", version], cwd=root, check=True)
    tag = "cp" + version.replace(".", "")
    newest = max((root / "dist").glob(f"*-{tag}-*.whl"), key=lambda wheel: wheel.stat().st_mtime)
    shutil.copy(newest, folder)
    pack_headers(folder)
    packed = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True
    ).stdout
    tree = sum((root / name).stat().st_size for name in listed.split("\0") if (root / name).is_file())
    print(f"{folder}: {packed / 2**20:.1f} MiB, with the tree {(packed + tree) / 2**20:.1f} MiB")
    if packed + tree > MOST_BYTES:
        print(f"[gpu_check] at most {MOST_BYTES >> 20} MiB are allowed.", file=sys.stderr)
        return 1
    return 0


def pack_headers(folder: Path) -> None:
    shutil.copytree("/usr/include/fmt", folder / "include/fmt")


def embed_sources(root: Path, file: Path) -> Path:
    """As loomix_embed_sources() in cmake/LoomixTargets.cmake does."""
    names = (root / "ops/cuda/embedded.txt").read_text().split()
    items = "".join(f'{{"{name}", R"____({(root / name).read_text()})____"}},\n' for name in names)
    file.write_text(
        '#include "ops/cuda/embedded.h"\n\nnamespace loomix::cuda {\nnamespace {\nconstexpr EmbeddedSource kAll[] = {\n'
        + items
        + "};\n}\nconst std::span<const EmbeddedSource> kEmbeddedSources(kAll);\n}\n"
    )
    return file


def sources(root: Path) -> list[Path]:
    """As CMake finds them: kernels, wrappers of libraries, and what is in folders called cuda."""
    found = [p for f in ("engine", "ndarray", "ops", "comm") for p in (root / f).rglob("*.cu")]
    has_cupti = any((folder / "cupti.h").is_file() for folder in include_folders())
    for folder in ("engine", "ops", "comm"):
        for path in (root / folder).rglob("*.cc"):
            stem = path.stem.rsplit("_", 1)[-1]
            if stem == "cupti":
                if stem_is_stub(path) != has_cupti:
                    found.append(path)
                continue
            in_folder = path.parent.name == "cuda" and not stem_is_stub(path)
            if in_folder or not stem_is_stub(path) and stem in ("cuda", "cublas", "cudnn", "nccl"):
                found.append(path)
    return sorted(found)


def stem_is_stub(path: Path) -> bool:
    """For builds without one of the libraries, which are all there."""
    return path.stem.startswith("no_")


def include_folders() -> list[Path]:
    """Of the toolkit, and of NVIDIA's packages in this Python."""
    folders = [Path("/usr/local/cuda/include"), Path("/usr/local/cuda/extras/CUPTI/include")]
    for base in map(Path, sys.path):
        folders += sorted(base.glob("nvidia/*/include"))
    return [f for f in folders if f.is_dir()]


def library_folders() -> list[Path]:
    folders = [Path("/usr/local/cuda/lib64")]
    for base in map(Path, sys.path):
        folders += sorted(base.glob("nvidia/*/lib"))
    return [f for f in folders if f.is_dir()]


def find_library(name: str, folders: list[Path]) -> Path | None:
    for folder in folders:
        for candidate in sorted(folder.glob(f"lib{name}.so*")):
            return candidate
    return None


def compile_one(root: Path, source: Path, objects: Path, architecture: str) -> tuple[Path, float, str]:
    parts = source.relative_to(root).parts if source.is_relative_to(root) else (source.name,)
    target = objects / ("_".join(parts) + ".o")
    includes = [
        f"-I{root}",
        f"-isystem{root}/.gpu_check/include",
        *(f"-isystem{f}" for f in include_folders()),
    ]
    if source.suffix == ".cu":
        command = [
            "nvcc",
            *FLAGS,
            *NVCC_FLAGS,
            f"-gencode=arch=compute_{architecture},code=sm_{architecture}",
            "-Xcompiler=-fPIC",
        ]
        command += [i.replace("-isystem", "-isystem=") for i in includes]
    else:
        command = ["g++", *FLAGS, "-fPIC", *includes]
    begin = time.monotonic()
    done = subprocess.run([*command, "-c", str(source), "-o", str(target)], capture_output=True, text=True)
    return (
        target,
        time.monotonic() - begin,
        "" if done.returncode == 0 else (done.stdout + done.stderr)[:3000],
    )


def prepare(root: Path, findings) -> dict[str, str]:
    """Installs the wheel, compiles and links the module; gives the environment in which both are used."""
    work = Path("/tmp/loomix_gpu_check")
    site = work / "site"
    environment = {
        **os.environ,
        "PYTHONPATH": str(site),
        "LOOMIX_CUDA_LIBRARY": str(work / "libloomix_cuda.so"),
    }
    environment["OMP_NUM_THREADS"] = "4"
    environment["LD_LIBRARY_PATH"] = ":".join(map(str, library_folders()))
    wheel = next((root / ".gpu_check").glob("*.whl"))
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--upgrade", "--target", site, wheel],
        check=True,
    )  # fmt: skip
    begin = time.monotonic()
    objects = work / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    architecture = os.environ.get("GPU_CHECK_ARCHITECTURE", "90")
    all_sources = [*by_size(sources(root)), embed_sources(root, objects / "embedded_sources.cc")]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(lambda s: compile_one(root, s, objects, architecture), all_sources))
    failed = {str(target.name): text for target, _, text in made if text}
    slowest = sorted(((round(seconds), target.name) for target, seconds, _ in made), reverse=True)[:5]
    libraries = [find_library(name, library_folders()) for name in LIBRARIES]
    loomix = next(site.glob("loomix/libloomix.so"))
    link = ["g++", "-shared", "-o", environment["LOOMIX_CUDA_LIBRARY"]]
    link += [str(target) for target, _, text in made if not text] + [str(loomix)]
    link += [str(library) for library in libraries if library]
    linked = subprocess.run(link, capture_output=True, text=True)
    findings.add(
        "build",
        {
            "gpu": gpu_name(),
            "seconds": round(time.monotonic() - begin),
            "slowest": slowest,
            "not compiled": failed,
            "missing libraries": [n for n, found in zip(LIBRARIES, libraries) if not found],
            "link": linked.stderr[-2000:],
        },
    )
    return environment


def by_size(paths: list[Path]) -> list[Path]:
    return sorted(paths, key=lambda p: -p.stat().st_size)


def gpu_name() -> str:
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return ""
