# SPDX-License-Identifier: Apache-2.0
"""The parts of a check. Each takes the tree, the environment and the seconds that it may take; each gives what it
found, with the number of wrong results as `wrong`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

HERE = Path(__file__).resolve().parent


def last_line(root: Path, environment: dict[str, str], seconds: float, program: str, *arguments: str) -> dict:
    """Runs a program of this folder, which prints lines of JSON as it goes on: the last of them."""
    try:
        done = subprocess.run(
            [sys.executable, str(HERE / program), *arguments],
            cwd=root, env=environment, timeout=seconds, capture_output=True, text=True,
        )  # fmt: skip
        output, errors, code = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"").decode(errors="replace")
        errors, code = (late.stderr or b"").decode(errors="replace"), "too late"
    lines = [line for line in output.splitlines() if line.startswith("{")]
    found = json.loads(lines[-1]) if lines else {"wrong": 1}
    if code != 0:
        found.update({"exit": code, "wrong": found.get("wrong", 0) or 1, "end of its errors": errors[-3000:]})
    return found


def convolutions(root: Path, environment: dict[str, str], seconds: float) -> dict:
    """The networks' convolutions with their biases: whether the real library has them, and whether they are right."""
    return last_line(root, environment, seconds, "convolutions.py", str(seconds))


def smoke(root: Path, environment: dict[str, str], seconds: float) -> dict:
    """One operator of each family, and the copies; what crashes shows here."""
    return last_line(root, environment, seconds, "smoke.py")


def cases(root: Path, environment: dict[str, str], seconds: float) -> dict:
    """The operators' case tables on the GPU, each in a process that may crash."""
    results = Path("/tmp/loomix_gpu_check/cases.xml")
    results.unlink(missing_ok=True)
    command = [
        sys.executable, "-m", "pytest", "-q", "-n", "8", "-p", "no:cacheprovider", "--device", "gpu(0)",
        "--timeout", "60", "--junitxml", str(results), "tests/ops/run.py",
    ]  # fmt: skip
    quiet = {
        **environment,
        "LOOMIX_LOG_LEVEL": "warning",
        "OMP_NUM_THREADS": "1",
        "LOOMIX_CPU_WORKER_NTHREADS": "2",
    }
    try:
        done = subprocess.run(command, cwd=root, env=quiet, timeout=seconds, capture_output=True, text=True)
        output = done.stdout
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"").decode(errors="replace")
    failed = {}
    passed = 0
    if results.exists():
        for case in tree.parse(results).iter("testcase"):
            problem = case.find("failure")
            if problem is None:
                problem = case.find("error")
            if problem is None:
                passed += 1
            else:
                failed[case.get("name")] = (problem.get("message") or "")[:400]
    found = {"passed": passed, "wrong": len(failed), "failed": dict(list(failed.items())[:50])}
    if not results.exists():
        found.update({"wrong": 1, "end of its output": output[-2000:]})
    return found


def sanitizer(root: Path, environment: dict[str, str], seconds: float) -> dict:
    """compute-sanitizer over one operator of each family."""
    command = [
        "compute-sanitizer",
        "--tool",
        "memcheck",
        "--print-limit",
        "20",
        sys.executable,
        str(HERE / "smoke.py"),
    ]
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, timeout=seconds, capture_output=True, text=True
        )
    except (subprocess.TimeoutExpired, FileNotFoundError) as error:
        return {"not run": str(error)[:300]}
    output = done.stdout + done.stderr
    summary = re.findall(r"ERROR SUMMARY: (\d+)", output)
    errors = int(summary[-1]) if summary else -1
    return {"wrong": max(errors, 0), "errors": errors, "output": output[-1500:] if errors else ""}


def training(root: Path, environment: dict[str, str], seconds: float) -> dict:
    """The losses of some steps of LeNet and ResNet-20 on the GPU beside the CPU's."""
    return last_line(root, environment, seconds, "training.py")


def benchmarks(root: Path, environment: dict[str, str], seconds: float) -> dict:
    """Operators and training steps beside PyTorch's, in one process."""
    return last_line(root, environment, seconds, "benchmarks.py", str(seconds))


def kernels(root: Path, environment: dict[str, str], seconds: float) -> dict:
    """Training steps of ResNet-50 (a smaller one without a GPU): idle time, and the longest kernels."""
    return last_line(root, environment, seconds, "kernels.py")


def layouts(root: Path, environment: dict[str, str], seconds: float) -> dict:
    """Convolutions in both orders of their axes, and training steps with channels last and first."""
    return last_line(root, environment, seconds, "layouts.py", str(seconds))


ALL = {
    "convolutions": convolutions,
    "smoke": smoke,
    "training": training,
    "cases": cases,
    "benchmarks": benchmarks,
    "sanitizer": sanitizer,
    "kernels": kernels,
    "layouts": layouts,
}
LONGEST = {
    "convolutions": 60,
    "smoke": 60,
    "cases": 180,
    "training": 90,
    "sanitizer": 90,
    "benchmarks": 200,
    "kernels": 90,
    "layouts": 150,
}
