# SPDX-License-Identifier: Apache-2.0
"""What MagmaDNN's paper measures: an MLP (784, L hidden layers of 500, 10; sigmoid, batch 100, rate 0.05, decay 0.001)
in C++ and Python, beside PyTorch in both and TensorFlow. The programs take turns; printed are medians of seconds an
epoch, of the best of three; with --one-thread of processor time, which other work on the machine changes little.

python benchmarks/magma/compare.py --torch PYTHON --tensorflow PYTHON [--rounds 3] [--layers 1 2 4] [--svg FILE]
python benchmarks/magma/compare.py --processes 1 2 4 [--layers 1]       trained by so many processes of one thread each
"""

from __future__ import annotations

import argparse
import os
import resource
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


def run(command: list, **settings: str) -> float:
    """Seconds of the best epoch."""
    done = subprocess.run(
        [str(part) for part in command], check=True, capture_output=True, text=True, env=os.environ | settings
    )
    return min(float(line.split()[-1]) for line in done.stdout.splitlines())


def run_on_one_thread(command: list, after: list) -> float:
    """Seconds of processor time that an epoch takes: three less one, halved."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    times = []
    for epochs in (1, 3):
        begin = spent()
        run([*command, epochs, *after], OMP_NUM_THREADS="1", LOOMIX_CPU_WORKER_NTHREADS="1")
        times.append(spent() - begin)
    return (times[1] - times[0]) / 2


def scale(program: Path, layers: int, processes: list[int], rounds: int) -> None:
    """Each process has a thread and its part of the samples; the servers have what is left."""
    for store in ("dist_sync", "dist_mpi"):
        found = {}
        for count in processes:
            start = [sys.executable, "-m", "loomix", "launch", "-n", count, "-s", 1]
            if store == "dist_mpi":
                start = [
                    "mpirun",
                    "--allow-run-as-root",
                    "--oversubscribe",
                    "--mca",
                    "mpi_yield_when_idle",
                    "1",
                    "-n",
                    count,
                ]
            times = [run([*start, program, layers, 3, store], OMP_NUM_THREADS="1") for _ in range(rounds)]
            found[count] = statistics.median(times)
        line = ", ".join(f"{count} processes {seconds:.2f} s" for count, seconds in found.items())
        print(f"L = {layers}, {store}: {line}", flush=True)


def draw(path: Path, found: dict[int, dict[str, float]]) -> None:
    """Bars of seconds an epoch, as SVG."""
    names = list(next(iter(found.values())))
    most = max(max(times.values()) for times in found.values())
    rows, y = [], 24
    for layers, times in found.items():
        rows.append(f'<text x="0" y="{y + 12}" font-weight="bold">L = {layers}</text>')
        for name in names:
            width = 400 * times[name] / most
            colour = "#1f5fa8" if name.startswith("Loomix") else "#c7cdd4"
            rows.append(f'<text x="160" y="{y + 12}" text-anchor="end">{name}</text>')
            rows.append(f'<rect x="168" y="{y + 2}" width="{width:.1f}" height="12" fill="{colour}"/>')
            rows.append(f'<text x="{172 + width:.1f}" y="{y + 12}">{times[name]:.2f}</text>')
            y += 17
        y += 10
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {y}" font-family="sans-serif" font-size="12">\n'
        f'<text x="168" y="14">seconds an epoch</text>\n' + "\n".join(rows) + "\n</svg>\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch", help="a Python that has PyTorch")
    parser.add_argument("--tensorflow", help="a Python that has TensorFlow")
    parser.add_argument("--one-thread", action="store_true")
    parser.add_argument("--processes", type=int, nargs="+", help="only Loomix, by so many processes")
    parser.add_argument("--svg", type=Path, help="a picture of the result")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--folder", type=Path, default=Path("out/magma"), help="where programs are built")
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if arguments.processes:
        program = build_loomix(folder)
        for layers in arguments.layers:
            scale(program, layers, arguments.processes, arguments.rounds)
        return
    programs: dict[str, list] = {
        "Loomix C++": [build_loomix(folder)],
        "Loomix Python": [sys.executable, HERE / "mlp_loomix.py"],
    }
    programs["products alone"] = [sys.executable, HERE / "limit.py"]
    if arguments.torch:
        programs["libtorch"] = [build_libtorch(folder, arguments.torch)]
        programs["PyTorch"] = [arguments.torch, HERE / "mlp_torch.py"]
    endings: dict[str, list] = {name: [] for name in programs}
    if arguments.tensorflow:
        for kind in ("fit", "step"):
            programs[f"TensorFlow, {kind}"] = [arguments.tensorflow, HERE / "mlp_tensorflow.py"]
            endings[f"TensorFlow, {kind}"] = [kind]
    found: dict[int, dict[str, float]] = {}
    for layers in arguments.layers:
        times: dict[str, list[float]] = {name: [] for name in programs}
        for _ in range(arguments.rounds):
            for name, command in programs.items():
                if arguments.one_thread:
                    times[name].append(run_on_one_thread([*command, layers], endings[name]))
                else:
                    times[name].append(run([*command, layers, 3, *endings[name]]))
        found[layers] = {name: statistics.median(taken) for name, taken in times.items()}
        line = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in found[layers].items())
        print(f"L = {layers}: {line}", flush=True)
    if arguments.svg:
        draw(arguments.svg, found)


if __name__ == "__main__":
    main()
