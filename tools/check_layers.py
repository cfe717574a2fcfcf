#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what the compiler does not: the include arrows between folders, where backends' headers and preprocessor
conditions may stand, that only the settings table reads the environment, the layers of the Python package, and the size
of files."""

from __future__ import annotations

import ast
import pathlib
import re
import subprocess
import sys

# Folder -> folders that it may include, besides itself.
ARROWS = {
    "base": [],
    "engine": ["base"],
    "memplan": ["base"],
    "ndarray": ["base", "engine"],
    "ops": ["base", "engine", "ndarray"],
    "symbol": ["base", "engine", "memplan", "ndarray", "ops"],
    "comm": ["base", "engine"],
    "kvstore": ["base", "engine", "memplan", "ndarray", "ops", "symbol", "comm"],
    "linalg": ["base", "engine", "memplan", "ndarray", "ops", "symbol", "comm"],
    "io": ["base", "engine", "ndarray", "ops"],
}
EVERYTHING = [*ARROWS, "bindings"]
NOT_INCLUDED = {"tests", "tools", "benchmarks", "examples", "docs"}
# Subfolders with narrower rights than their folder.
NARROW = {"io/record/": ["base"]}

BACKEND_FILE = re.compile(
    r"^engine/device/cuda/|^ops/cuda/|^comm/(nccl|mpi)|_(cuda|cudnn|cublas|nccl|mpi)\.(cu|cuh|cc|h)$|^tests/(cpp/cuda|standin)/"
)
BACKEND_HEADER = re.compile(
    r"^(cuda[\w/]*|cudnn[\w/]*|cublas\w*|curand\w*|cusolver\w*|cusparse\w*|nccl\w*|cupti\w*|mpi)(\.h|\.hpp)$|^(cub|thrust)/"
)
BACKEND_CONDITION = re.compile(
    r"^\s*#\s*(if|ifdef|ifndef|elif)\b.*\b("
    r"__CUDACC__|__CUDA_ARCH__|(LOOMIX|MXNET)_(HAS|USE|WITH|ENABLE)_?\w*|(USE|HAVE|WITH)_[A-Z0-9_]+|"
    r"LOOMIX_(DNNL|CUDA|CUDNN|CUBLAS|NCCL|MPI|NETWORK|OPENMP|JPEG|PNG|ZLIB|CURL|CBLAS)\w*)\b"
)
DNNL_HEADER = re.compile(r"^(oneapi/)?dnnl")
DNNL_FILE = re.compile(r"_dnnl\.(cc|h)$")
SUFFIX_FILE = re.compile(r"_(dnnl|cblas|openmp|jpeg|png|zlib|curl)\.(cc|h)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
# An operator's name in a comparison or a look-up: what passes need to know is a trait in OpDef.
OPERATOR_NAME = re.compile(
    r'\bop(_name\(\w*\))?(\(\))?(->|\.)name\s*[=!]=|\btable(_|\(\))?(->|\.)(at|find)\("'
)
ENVIRONMENT = re.compile(r"\b(getenv|secure_getenv|environ)\b")
MAX_LINES = 1000
GENERATED = re.compile(r"/(_generated_\w+|_internal)\.pyi$|^bindings/cpp/include/loomix/(cpp/op|nn/ops)\.h$")
CODE = {".h", ".cc", ".cu", ".cuh"}

PYTHON = "bindings/python/loomix/"
# The Python package from below: a file imports its own layer and those before it, also inside of functions. The longest
# name that fits counts. bindings/python/README.md describes them.
LAYERS = [
    "_arguments _control_flow _custom _files _operators _passes _star alias attribute base c_types candidates context "
    "debug engine error habits libinfo library log misc name profiler progress_bar registry rtc runtime util",
    "autograd ndarray random",
    "array_api numpy numpy_extension",
    "_explanation_svg _explanation_text _multiply_adds executor explanation operator symbol symbol_doc visualization",
    "image io recordio",
    "_parts callback initializer kvstore kvstore_dist kvstore_server lr_scheduler metric model monitor optimizer "
    "parallel",
    "executor_manager feed_forward module predictor rnn",
    "gluon",
    "__main__ commands contrib gluon.contrib.data gluon.contrib.estimator onnx test_utils tune",
]
LAYER_OF = {name: level for level, names in enumerate(LAYERS) for name in names.split()}
# Files that reach above their layer, and to what.
ABOVE = {
    ("ndarray/ndarray.py", "numpy"),  # as_np_ndarray makes arrays of that layer
    ("ndarray/_pictures.py", "image"),  # nd.imdecode is image.imdecode under an old name
    ("gluon/contrib/__init__.py", "gluon"),  # the front door of its parts, of which two stand on contrib
}


def may_include(path: str) -> tuple[str, list[str]]:
    """The rule that `path` is under: its name, and the folders that it may include."""
    for prefix, allowed in NARROW.items():
        if path.startswith(prefix):
            return prefix, [prefix, *allowed]
    folder = folder_of(path)
    if folder in ARROWS:
        return folder, [folder, *ARROWS[folder]]
    programs = ["tools"] if folder == "tests" else []  # that it tests
    return folder, [folder, *EVERYTHING, *programs]


def folder_of(path: str) -> str:
    return path.split("/")[0]


def check_code(path: str, text: str) -> list[str]:
    faults = []
    rule, allowed = may_include(path)
    backend_file = bool(BACKEND_FILE.search(path))
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}:{number}"
        include = INCLUDE.match(line)
        if include:
            own, system = include.groups()
            if own and "/" in own:
                folder = own.split("/")[0]
                known = folder in ARROWS or folder in NOT_INCLUDED or folder == "bindings"
                permitted = any(own.startswith(a if a.endswith("/") else a + "/") for a in allowed)
                if known and not permitted:
                    names = ", ".join(name.rstrip("/") for name in allowed)
                    faults.append(f'{where}: {rule} may not include "{own}"; it may include {names}')
            header = own or system
            if BACKEND_HEADER.search(header) and not backend_file:
                faults.append(
                    f"{where}: <{header}> belongs in engine/device/cuda/, ops/cuda/, comm/nccl*, comm/mpi*, *_cuda.cu, "
                    "*_cudnn.cc or *_cublas.cc"
                )
            if not DNNL_FILE.search(path) and (DNNL_HEADER.search(header) or DNNL_FILE.search(header)):
                faults.append(f"{where}: <{header}> belongs in *_dnnl.cc")
        if ENVIRONMENT.search(line.split("//")[0]) and path != "base/settings.cc":
            faults.append(f"{where}: only base/settings.cc reads the environment")
        if folder_of(path) == "symbol" and OPERATOR_NAME.search(line):
            faults.append(f"{where}: no operator is known by its name here; ask for a trait of OpDef")
        if BACKEND_CONDITION.search(line) and not backend_file and not SUFFIX_FILE.search(path):
            faults.append(
                f"{where}: no condition on a backend here; use a *_<backend> file and a no_<backend>.cc stub"
            )
    return faults


def layer_of(module: str) -> int | None:
    """The layer of "gluon.nn.activations"; None of what has none."""
    while module and module not in LAYER_OF:
        module = module.rpartition(".")[0]
    return LAYER_OF.get(module)


def imported(path: str, tree: ast.AST) -> list[tuple[int, str]]:
    """Line and module, without "loomix.", of each import of the package that happens when the code runs."""
    package = path.split("/")[:-1]
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for item in node.body
        for inner in ast.walk(item)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom):
            base = node.module.split(".") if node.module else []
            if node.level:
                base = [*package[: len(package) + 1 - node.level], *base]
            elif base[:1] == ["loomix"]:
                base = base[1:]
            else:
                continue
            names = [alias.name for alias in node.names]
            found += [(node.lineno, ".".join([*base, name])) for name in names]
        elif isinstance(node, ast.Import):
            named = [alias.name for alias in node.names if alias.name.startswith("loomix.")]
            found += [(node.lineno, name.removeprefix("loomix.")) for name in named]
    return found


def check_python(path: str, text: str) -> list[str]:
    """Imports of the package against its layers; `path` begins behind the package's folder."""
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if module in ("__init__", ""):
        return []  # the front door, which knows all
    level = layer_of(module)
    if level is None:
        return [f"{PYTHON}{path}: the file is in no layer; LAYERS in tools/check_layers.py lists them"]
    faults = []
    for line, name in imported(path, ast.parse(text)):
        other = layer_of(name)
        if other is not None and other > level and (path, name.split(".")[0]) not in ABOVE:
            faults.append(f"{PYTHON}{path}:{line}: imports {name}, which is in a higher layer")
    return faults


def check_file(path: str, text: str) -> list[str]:
    faults = []
    lines = text.count("\n")
    if lines > MAX_LINES and not GENERATED.search(path):
        faults.append(f"{path}: {lines} lines; at most {MAX_LINES} are allowed")
    if pathlib.PurePath(path).suffix in CODE:
        faults += check_code(path, text)
    if path.startswith(PYTHON) and path.endswith(".py"):
        faults += check_python(path.removeprefix(PYTHON), text)
    return faults


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout.split("\n")  # fmt: skip
    paths = [
        p for p in listed if pathlib.PurePath(p).suffix in CODE | {".py", ".pyi"} and (root / p).is_file()
    ]
    faults = [
        fault
        for path in sorted(paths)
        for fault in check_file(path, (root / path).read_text(encoding="utf-8"))
    ]
    for fault in faults:
        print(fault)
    print(f"check_layers: {len(paths)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
