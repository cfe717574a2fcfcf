# SPDX-License-Identifier: Apache-2.0
"""The figures that are kept: results.json, a row a case, each with the machine, its settings and the commit."""

import json
import os
import platform
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
# What a run itself writes.
WRITTEN = (":(top,exclude)benchmarks/results.json", ":(top,exclude)README.md")


def git(*arguments):
    """What git prints, or None where it fails."""
    result = subprocess.run(["git", "-C", HERE, *arguments], capture_output=True, text=True, check=False)
    return result.stdout.strip() if result.returncode == 0 else None


def commit():
    """The commit that is checked out, with "+changes" where files differ from it."""
    name = git("rev-parse", "--short=10", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":(top)", *WRITTEN)
    return f"{name}+changes" if changed or not name else name


def machine():
    """What the figures were taken on, and how."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = [line.split(":", 1)[1].strip() for line in info.splitlines() if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0))
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": cores,
        "threads": int(os.environ.get("OMP_NUM_THREADS", cores)),
        "wait_policy": os.environ.get("OMP_WAIT_POLICY", "each framework's own"),
        "commit": commit(),
    }


def load():
    """The rows that are kept."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else []


def write(rows):
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")


def drop(group):
    """Forgets the rows of a group."""
    write([row for row in load() if row["group"] != group])


def save(rows):
    """Keeps rows instead of those of the same cases."""
    stamp = machine()
    new = {(row["group"], row["case"]) for row in rows}
    kept = [row for row in load() if (row["group"], row["case"]) not in new]
    write(kept + [{**row, "machine": stamp} for row in rows])


def faults(rows):
    """What is wrong with kept rows: settings that are not said, a commit that nobody can check out."""
    found = []
    shallow = git("rev-parse", "--is-shallow-repository") == "true"
    for row in rows:
        where, stamp = f"{row['group']}/{row['case']}", row["machine"]
        missing = [key for key in ("cpu", "cores", "threads", "wait_policy", "commit") if key not in stamp]
        if missing:
            found.append(f"{where}: does not say {', '.join(missing)}")
        name = stamp.get("commit", "")
        if name.endswith("+changes"):
            found.append(f"{where}: was taken with changes that are not committed")
        elif not shallow and git("cat-file", "-e", f"{name}^{{commit}}") is None:
            found.append(f"{where}: there is no commit {name!r}")
    return found
