# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix tune``: searches that a file describes; and looks at them, goes on with them, helps with them."""

from __future__ import annotations

import argparse
import collections
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import tune
from ..base import MXNetError, suggest
from ..tune.objectives import from_plain as objective_of
from ..tune.plan import Plan
from ..tune.space import from_plain as space_of
from ..tune.study import run

_KEYS = (
    "folder direction weights method pruning trials seconds threshold workers devices seed storage name failures"
).split()
_SHOWN = 5  # trials in a status

_USAGE = """usage: python -m loomix tune STUDY.toml [--workers N]   searches, or goes on
       python -m loomix tune resume FOLDER [--workers N]  goes on
       python -m loomix tune work FOLDER [--device D]     one more worker, on any machine that shares the folder
       python -m loomix tune status FOLDER                how far it is, and the best trials
       python -m loomix tune show FOLDER [--to FOLDER]    draws pictures
"""


def _read(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise MXNetError(f"[tune] {path}: {error.strerror}.") from error
    except tomllib.TOMLDecodeError as error:
        raise MXNetError(f"[tune] {path} is no TOML: {error}.") from error


def _begin(path: Path, workers: int | None) -> tune.Study:
    plain = _read(path)
    allowed = [*_KEYS, "space", "command", "objective"]
    for key in plain:
        if key not in allowed:
            raise MXNetError(f"[tune] {path} has the key {key!r}. {suggest(key, allowed)}")
    settings = {key: plain[key] for key in _KEYS if key in plain}
    settings["folder"] = path.parent / settings.get("folder", path.stem)
    if "objective" in plain:
        plain["objective"] = str(path.parent.absolute() / str(plain["objective"]))
    if workers is not None:
        settings["workers"] = workers
    return tune.search(objective_of(plain, str(path)), space_of(plain.get("space", {})), **settings)


def _status(study: tune.Study) -> None:
    counts = collections.Counter(trial.state for trial in study.trials)
    wanted = f" of {study.plan.trials}" if study.plan.trials is not None else ""
    print(f"{len(study.trials)}{wanted} trials: " + ", ".join(f"{n} {state}" for state, n in counts.items()))
    if len(study.plan.directions) > 1:
        best = study.front
    else:
        complete = [trial for trial in study.trials if trial.state == "complete"]
        up = study.plan.directions["value"] == "maximize"
        best = sorted(complete, key=lambda trial: trial.value or 0.0, reverse=up)[:_SHOWN]
    for trial in best:
        found = " ".join(f"{name}={value:.6g}" for name, value in trial.values.items())
        params = " ".join(
            f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v}" for k, v in trial.params.items()
        )
        print(f"{trial.number:6}  {found}  {params}")
    for trial in [trial for trial in study.trials if trial.state == "fail"][-1:]:
        print(f"trial {trial.number} failed: {trial.error}")


def main(name: str, arguments: Sequence[str]) -> int:
    """Runs the command; its exit status."""
    parser = argparse.ArgumentParser(prog=f"python -m loomix {name}", usage=_USAGE[len("usage: ") :])
    parser.add_argument("words", nargs="+", metavar="STUDY.toml | COMMAND FOLDER")
    parser.add_argument("--workers", type=int, help="processes on this machine")
    parser.add_argument("--device", help="given to the trials of `work` as their device")
    parser.add_argument("--to", type=Path, help="where `show` puts its pictures; FOLDER/pictures by default")
    given = parser.parse_args(arguments)
    words = given.words
    try:
        if len(words) == 1 and words[0].endswith(".toml"):
            _status(_begin(Path(words[0]), given.workers))
            return 0
        if len(words) != 2 or words[0] not in ("status", "show", "resume", "work"):
            parser.error(
                f"{' '.join(words)!r}: allowed are a .toml file, and status, show, resume, work with a folder"
            )
        plan = Plan.load(Path(words[1]).absolute())
        if words[0] in ("resume", "work"):
            objective = objective_of(
                plan.objective or {}, f"{words[1]}/study.json, for a search that Python began,"
            )
            workers = (given.workers or 1) if words[0] == "resume" else 1
            _status(run(plan, objective, workers, [given.device] if given.device else None))
        elif words[0] == "status":
            _status(tune.Study(plan.folder))
        else:
            for path in tune.Study(plan.folder).show(given.to or plan.folder / "pictures"):
                print(path)
    except (MXNetError, ImportError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\n[tune] stopped; the same command goes on.", file=sys.stderr)
        return 130
    return 0
