# SPDX-License-Identifier: Apache-2.0
"""The MLP of MagmaDNN's paper (784, L hidden layers of 500, 10; sigmoid, batch 100, rate 0.05, decay 0.001) in C++ and
Python, beside
PyTorch in both. The programs take turns; printed are medians of seconds an epoch.

python benchmarks/magma/compare.py --torch PATH/TO/python [--rounds 3] [--layers 1 2 4]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def build_loomix(folder: Path) -> Path:
    """The C++ program, against the library of the folder build/."""
    library = ROOT / "build/bindings/c/api"
    includes = [f"-I{ROOT}/bindings/{part}/include" for part in ("c", "cpp")]
    link = [f"-L{library}", "-lloomix_c", f"-Wl,-rpath,{library}"]
    subprocess.run(
        ["g++", "-std=c++20", "-O2", *includes, HERE / "mlp.cc", "-o", folder / "mlp", *link], check=True
    )
    return folder / "mlp"


def build_libtorch(folder: Path, python: str) -> Path:
    """The program of PyTorch's C++ frontend, against the libraries of its wheel."""
    code = "import torch, os; print(os.path.dirname(torch.__file__), int(torch.compiled_with_cxx11_abi()))"
    text = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout
    where, abi = text.split()
    includes = [f"-I{where}/include", f"-I{where}/include/torch/csrc/api/include"]
    link = [
        f"-L{where}/lib",
        "-ltorch",
        "-ltorch_cpu",
        "-lc10",
        f"-Wl,-rpath,{where}/lib",
        "-Wl,--no-as-needed",
    ]
    target = folder / "mlp_libtorch"
    flags = ["-std=c++20", "-O2", f"-D_GLIBCXX_USE_CXX11_ABI={abi}"]
    subprocess.run(["g++", *flags, *includes, HERE / "mlp_libtorch.cc", "-o", target, *link], check=True)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch", help="a Python that has PyTorch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--folder", type=Path, default=Path("out/magma"), help="where programs are built")
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    programs = {
        "Loomix C++": [build_loomix(folder)],
        "Loomix Python": [sys.executable, HERE / "mlp_loomix.py"],
    }
    if arguments.torch:
        programs["libtorch"] = [build_libtorch(folder, arguments.torch)]
        programs["PyTorch"] = [arguments.torch, HERE / "mlp_torch.py"]
    for layers in arguments.layers:
        times: dict[str, list[float]] = {name: [] for name in programs}
        for _ in range(arguments.rounds):
            for name, command in programs.items():
                output = subprocess.run(
                    [*command, str(layers), "2"], check=True, capture_output=True, text=True
                )
                times[name].append(float(output.stdout.split()[-1]))  # of the second epoch
        line = ", ".join(f"{name} {statistics.median(found):.2f} s" for name, found in times.items())
        print(f"L = {layers}: {line}", flush=True)


if __name__ == "__main__":
    main()
