#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes all figures that the README shows, and writes its table from results.json.

    python benchmarks/take.py --python mxnet=MXNET_ENV/bin/python --python torch=TORCH_ENV/bin/python
    python benchmarks/take.py --only engine images     # these groups; the others' rows stay
    python benchmarks/take.py --table                  # measures nothing, writes the table
    python benchmarks/take.py --check                  # fails if the table or the kept rows are wrong

Run it with the Python that has the package, on a quiet machine, with everything committed. OMP_NUM_THREADS and
OMP_WAIT_POLICY hold for all frameworks where they are set.
"""

import argparse
import os
import re
import subprocess
import sys

import kept
from compare import HERE, show

ROOT = HERE.parent
README = ROOT / "README.md"
BEGIN, END = "<!-- figures: benchmarks/take.py writes them -->\n", "<!-- end of figures -->\n"
PEERS = ("loomix", "mxnet", "torch")
COMPARED = ("training", "gluon", "recurrent", "imperative", "import_time", "io", "images", "kvstore")


def times(values):
    """A row's seconds."""
    return [show(value).replace(" us", " µs") for value in values]


def per(amount, unit, digits=2):
    """Cells that say how much of something passes in a second, `amount` a run."""
    return lambda values: [f"{amount / v:,.{digits}g}{unit}" for v in values]


def images_a_second(values):
    """Cells of the case whose run is a batch of 64 images."""
    return [f"{round(64 / v, -2):,.0f}" for v in values]


def million_a_second(values):
    """Cells of cases whose run is one task."""
    return [f"{1e-6 / v:,.2g} million" for v in values]


# What a line of the table says, the cases whose figures it shows, how, and the command (C: see the README).
LINES = [
    ("training step, MLP 784-1024-1024-10, batch 100", ["training/mlp"], times, "C training mlp"),
    ("training step, LeNet, batch 64", ["training/lenet"], times, "C training lenet"),
    (
        "training step, the zoo's ResNet-18, batch 16, hybridized",
        ["gluon/resnet18_hybridized"],
        times,
        "C gluon resnet18_hybridized",
    ),
    ("the same, eager", ["gluon/resnet18_eager"], times, "C gluon resnet18_eager"),
    (
        "training step, LSTM language model, 2 x 200 units, 10,000 words, batch 20, 35 steps",
        ["recurrent/language_model"],
        times,
        "C recurrent language_model",
    ),
    (
        "`LSTMCell` of 200 units, batch 20, 35 steps, eager, forward and backward",
        ["recurrent/cell_loop"],
        times,
        "C recurrent cell_loop",
    ),
    (
        "`Dense` of 128 units on (32, 128), eager, forward and backward",
        ["gluon/dense"],
        times,
        "C gluon dense",
    ),
    (
        "`DataLoader` of 4 workers, an epoch, by processes / by threads",
        ["gluon/loader_processes", "gluon/loader_threads"],
        times,
        "C gluon",
    ),
    ("`a + b` of two elements, pushed", ["imperative/add_pushed"], times, "C imperative add_pushed"),
    ("the same, and waited for", ["imperative/add_waited"], times, "C imperative add_waited"),
    ("the same, recorded", ["imperative/add_recorded"], times, "C imperative add_recorded"),
    (
        "100 operators, forward and backward",
        ["imperative/forward_backward_100"],
        times,
        "C imperative forward_backward_100",
    ),
    ("`x.asscalar()`", ["imperative/asscalar"], times, "C imperative asscalar"),
    ("`import` of the package, with NumPy", ["import_time/package"], times, "C import_time package"),
    (
        "records of 10 kB as `bytes` on tmpfs: read again / random / written, GB/s",
        ["io/record_read", "io/record_random_read", "io/record_write"],
        per(1e-5, ""),
        "C io",
    ),
    (
        "256 x 256 JPEGs to 224 x 224 crops a second, 1 / 2 threads",
        ["images/image_record_iter_1", "images/image_record_iter_2"],
        images_a_second,
        "C images",
    ),
    *(
        (
            f"engine, tasks a second: {case}; the same after an error",
            [f"engine/{case}", f"engine/{case}, after an error"],
            million_a_second,
            "build/benchmarks/bench_engine 2",
        )
        for case in (
            "128 Vars, one write",
            "128 Vars, one read",
            "a Var a task, one write",
            "no tags",
            "one chain",
            "128 Vars, 2 reads + 1 write",
        )
    ),
    (
        "operators of two elements a second, prepared, on 128 arrays; the same after an error",
        [f"calls/prepared additions on 128 arrays{more}" for more in ("", ", after an error")],
        million_a_second,
        "build/benchmarks/bench_imperative",
    ),
    (
        "operators a second in a bound chain of 1,000 additions of two elements",
        ["calls/an operator of a bound chain of 1,000"],
        million_a_second,
        "build/benchmarks/bench_imperative",
    ),
    (
        "3 x 3 convolution of (1, 8, 14, 14) to 16 channels, bound, one thread; by oneDNN's primitive alone: its "
        "layouts and copies / the user's layout",
        [
            f"prepared/{how}"
            for how in ("bound executor", "oneDNN, its own layouts and copies", "oneDNN, the user's layout")
        ],
        times,
        "build/benchmarks/bench_prepared",
    ),
    (
        "push and pull of ResNet-50's gradients from two CPU devices",
        ["kvstore/local_keys"],
        times,
        "C kvstore local_keys",
    ),
    (
        "the same from 2 workers through 1 server; PyTorch: all-reduce by gloo",
        ["kvstore/dist_sync"],
        times,
        "C kvstore dist_sync",
    ),
    (
        "a value of 1 KiB / 1 MiB pushed to a server over shared memory, and over tcp",
        [f"comm/{way} push, {size} bytes" for way in ("shared memory", "tcp") for size in (1024, 1048576)],
        times,
        "build/benchmarks/bench_comm",
    ),
]
SECONDS = {
    "M tasks/s": lambda value: 1e-6 / value,
    "us": lambda value: value * 1e-6,
    "ns": lambda value: value * 1e-9,
}


def engine_rows(output):
    """Cases that bench_engine prints: `name  median X  min Y  max Z  unit`; kept as seconds."""
    line = r"^(.+?)\s+median\s+([\d.]+)\s+min\s+[\d.]+\s+max\s+[\d.]+\s+(\S.*?)\s*$"
    return {name: SECONDS[unit](float(value)) for name, value, unit in re.findall(line, output, re.M)}


def comm_rows(output):
    """Cases that bench_comm prints: `what  bytes  in flight  X us  ...`; those with one value in flight."""
    line = r"^(\S.*?)\s+(\d+)\s+1\s+([\d.]+) us\s"
    return {f"{what}, {size} bytes": float(us) * 1e-6 for what, size, us in re.findall(line, output, re.M)}


def call_rows(output):
    """Cases that bench_imperative prints: `name  X ns median ...`."""
    line = r"^(\S.*?)\s+([\d.]+) ns median"
    return {name: float(value) * 1e-9 for name, value in re.findall(line, output, re.M)}


def prepared_rows(output):
    """Cases that bench_prepared prints: `X us  name`."""
    return {
        name: float(value) * 1e-6 for value, name in re.findall(r"^\s*([\d.]+) us  (\S.*)$", output, re.M)
    }


# The groups whose figures a C++ program prints: its name, and what reads them.
PROGRAMS = {
    "engine": ("bench_engine", engine_rows),
    "calls": ("bench_imperative", call_rows),
    "prepared": ("bench_prepared", prepared_rows),
    "comm": ("bench_comm", comm_rows),
}
BESIDE_MXNET = ("engine", "calls")  # cases of the same names run on MXNet's library, by bench_engine


def build(program):
    """Builds a benchmark's program."""
    subprocess.run(
        ["cmake", "--build", ROOT / "build", "--target", program], check=True, stdout=subprocess.DEVNULL
    )


def run(*command, **more):
    """What a program prints, which is printed here, too."""
    output = subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout
    print(output, end="", flush=True)
    return output


def take_program(group, pythons):
    """Runs a C++ benchmark, and the same program on MXNet's library where there is one."""
    program, read = PROGRAMS[group]
    build(program)
    path = ROOT / "build/benchmarks" / program
    medians = {case: {"loomix": seconds} for case, seconds in read(run(path)).items()}
    mxnet = dict(item.split("=", 1) for item in pythons).get("mxnet")
    if group in BESIDE_MXNET and mxnet:
        build("bench_engine")
        site = run(mxnet, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip()
        workers = {**os.environ, "MXNET_CPU_WORKER_NTHREADS": "2"}
        library = f"{site}/mxnet/libmxnet.so"
        output = run(path.with_name("bench_engine"), "--mxnet", library, env=workers)
        for case, seconds in engine_rows(output).items():
            if case in medians:
                medians[case]["mxnet"] = seconds
    kept.save([{"group": group, "case": case, "medians": values} for case, values in medians.items()])


def take(groups, pythons, more):
    """Runs the benchmarks of these groups and keeps what they measure."""
    for group in groups:
        print(f"== {group}", flush=True)
        kept.drop(group)  # its cases may have other names now
        if group in PROGRAMS:
            take_program(group, pythons)
        else:
            if group == "kvstore":
                build("bench_kvstore")  # which its worker starts
            command = [sys.executable, HERE / "compare.py", group, "--save", *more]
            for python in pythons:
                command += ["--python", python]
            subprocess.run(command, check=True)


def table(rows):
    """The README's section of figures."""
    by_case = {f"{row['group']}/{row['case']}": row for row in rows}
    text = "| what | Loomix | MXNet 1.9.1 | PyTorch | command |\n|---|---|---|---|---|\n"
    shown = []
    for what, cases, cells, command in LINES:
        found = [by_case[case] for case in cases if case in by_case]
        if len(found) < len(cases):
            continue
        shown += found
        columns = []
        for peer in PEERS:
            values = [row["medians"].get(peer) for row in found]
            columns.append(" / ".join(cells([value for value in values if value])))
        by_module = [row["medians"]["module"] for row in found if "module" in row["medians"]]
        if by_module:
            columns[0] += f" (by `Module`: {' / '.join(cells(by_module))})"
        text += f"| {what} | {' | '.join(columns)} | `{command}` |\n"
    stamps = {}
    for row in shown:
        m = row["machine"]
        key = (m["cpu"], m["cores"], m.get("threads", "?"), m.get("wait_policy", "?"), m["commit"])
        stamps.setdefault(key, []).append(row["group"])
    text += "\n"
    for (cpu, cores, threads, policy, commit), names in stamps.items():
        groups = "" if len(stamps) == 1 else f"{', '.join(dict.fromkeys(names))}: "
        text += f"{groups}{cores} cores, {cpu}, {threads} threads, wait policy {policy}, commit {commit}.\n"
    return text


def main():
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", action="append", default=[], metavar="FRAMEWORK=PATH")
    parser.add_argument("--only", nargs="+", choices=(*COMPARED, *PROGRAMS), default=(*COMPARED, *PROGRAMS))
    parser.add_argument("--table", action="store_true", help="write the table from the figures that are kept")
    parser.add_argument(
        "--check", action="store_true", help="fail if the table or the kept figures are wrong"
    )
    parser.add_argument("--dirty", action="store_true", help="measure with changes that are not committed")
    args, more = parser.parse_known_args()  # the rest is compare.py's
    text = README.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    if args.check:
        rows = kept.load()
        have = {f"{row['group']}/{row['case']}" for row in rows}
        faults = kept.faults(rows)
        faults += [f"{case}: no figure is kept" for line in LINES for case in line[1] if case not in have]
        if text != before + BEGIN + table(kept.load()) + END + after:
            faults.append(
                "README.md: its table is not that of results.json; python benchmarks/take.py --table"
            )
        print("\n".join(faults) or "figures: all name their machine and commit")
        return 1 if faults else 0
    if not args.table:
        if kept.commit().endswith("+changes") and not args.dirty:
            sys.exit(
                "there are changes that are not committed; figures belong to a commit (--dirty takes them all the same)"
            )
        take(args.only, args.python, more)
    README.write_text(before + BEGIN + table(kept.load()) + END + after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
