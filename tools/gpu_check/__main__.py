# SPDX-License-Identifier: Apache-2.0
"""Everything that only a GPU can show, by one command, for a machine that is there for minutes.

python3 tools/gpu_check --pack                      here: what the machine lacks, into .gpu_check/
python3 tools/gpu_check --run --minutes 8 --out DIR there: builds the CUDA module, checks, measures
python3 tools/gpu_check --report DIR                the tables of docs/gpu.md from what it found
python3 tools/gpu_check --run --here --parts smoke  with the package and the CUDA module that are installed

The machine needs an NVIDIA driver, nvcc, g++, and a Python of the packed version with NumPy and pytest.
Results are written after each part, so a run that is cut loses nothing. The exit code is not 0 if a result was wrong.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import packing
import parts
import report

ROOT = Path(__file__).resolve().parent.parent.parent


class Findings:
    """What was found, by part; in the file after each."""

    def __init__(self, folder: Path, minutes: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "gpu_check.json"
        self.end = time.monotonic() + minutes * 60
        self.data = json.loads(self.file.read_text()) if self.file.exists() else {}

    def left(self) -> float:
        return self.end - time.monotonic()

    def add(self, part: str, found: object) -> None:
        self.data[part] = found
        self.file.write_text(json.dumps(self.data, indent=1))
        print(f"== {part}: {json.dumps(found)[:2000]}", flush=True)


def run(arguments: argparse.Namespace) -> int:
    findings = Findings(arguments.out, arguments.minutes)
    if arguments.here:
        environment = dict(os.environ)
        findings.add("build", {"gpu": packing.gpu_name() or "stand-in"})
    else:
        environment = packing.prepare(ROOT, findings)
    wanted = arguments.parts or list(parts.ALL)
    wrong = 0
    for name in wanted:
        if findings.left() < 15:
            findings.add(name, {"skipped": "no time was left"})
            continue
        begin = time.monotonic()
        found = parts.ALL[name](ROOT, environment, min(findings.left(), parts.LONGEST[name]))
        found["seconds"] = round(time.monotonic() - begin, 1)
        findings.add(name, found)
        wrong += found.get("wrong", 0)
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--pack", action="store_true")
    what.add_argument("--run", action="store_true")
    what.add_argument("--report", type=Path, metavar="DIR")
    parser.add_argument("--here", action="store_true", help="with --run: what is installed here is checked")
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--out", type=Path, default=Path("gpu_check_results"))
    parser.add_argument("--parts", nargs="*", choices=list(parts.ALL), help="only these")
    parser.add_argument(
        "--python", default="3.12", help="with --pack: the version that the other machine has"
    )
    arguments = parser.parse_args()
    if arguments.pack:
        return packing.pack(ROOT, arguments.python)
    if arguments.run:
        return run(arguments)
    print(report.tables(json.loads((arguments.report / "gpu_check.json").read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
