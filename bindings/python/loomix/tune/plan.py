# SPDX-License-Identifier: Apache-2.0
"""What every worker of a search knows: the space, what is wanted, and how much of it; ``study.json`` holds it."""

from __future__ import annotations

import dataclasses
import json
import math
import numbers
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..base import MXNetError, suggest
from . import space as spaces

METHODS = ("tpe", "random", "grid")
PRUNING = (None, "halving", "hyperband", "median")
_SAME = "space directions weights method pruning seed name".split()  # of a search that is taken up


@dataclasses.dataclass(frozen=True)
class Plan:
    """A search; all but the folder is plain, as JSON has it."""

    folder: Path
    space: dict[str, Any]
    directions: dict[str, str]
    weights: dict[str, float] | None = None
    method: str = "tpe"
    pruning: str | None = None
    trials: int | None = None
    seconds: float | None = None
    threshold: float | None = None
    seed: int = 0
    storage: str | None = None
    name: str = "study"
    failures: int = 10
    objective: dict[str, Any] | None = None

    @classmethod
    def load(cls, folder: Path) -> Plan:
        """The plan of a folder."""
        path = folder / "study.json"
        try:
            return cls(folder=folder, **json.loads(path.read_text()))
        except OSError as error:
            raise MXNetError(f"[tune] {folder} holds no search: {path}: {error.strerror}.") from error
        except (ValueError, TypeError) as error:
            raise MXNetError(f"[tune] {path} does not describe a search: {error}.") from error

    def save(self) -> None:
        """Writes the folder's study.json, whole or not at all."""
        plain = {key: value for key, value in vars(self).items() if key != "folder"}
        new = self.folder / f"study.json.{os.getpid()}"
        new.write_text(json.dumps(plain, indent=1))
        new.replace(self.folder / "study.json")

    def check(self) -> None:
        """Raises an error that names what cannot be."""
        _one_of("method", self.method, METHODS)
        _one_of("pruning", self.pruning, PRUNING)
        for name, direction in self.directions.items():
            _one_of(f"direction of {name}", direction, ("maximize", "minimize"))
        several = len(self.directions) > 1
        if several and self.pruning is not None:
            raise MXNetError("[tune.search] a search in several directions has no pruning; allowed is None.")
        if several and self.threshold is not None:
            raise MXNetError(
                "[tune.search] a search in several directions has no threshold; allowed is None."
            )
        if self.weights is not None and (not self.weights or not all(map(_is_number, self.weights.values()))):
            raise MXNetError(f"[tune.search] the weights are {self.weights}; allowed are numbers by names.")
        for key in ("trials", "seconds", "failures", "seed"):
            value = getattr(self, key)
            whole = key != "seconds"
            if value is not None and (not _is_number(value) or value < 0 or (whole and value != int(value))):
                allowed = "whole number" if whole else "number"
                raise MXNetError(f"[tune.search] {key} is {value!r}; allowed is a {allowed} of at least 0.")
        if self.method != "grid" and self.trials is None and self.seconds is None and self.threshold is None:
            raise MXNetError("[tune.search] nothing ends the search; give trials, seconds or a threshold.")

    def check_same(self, other: Plan) -> None:
        """Raises an error if the folder's plan, the other one, is of another search."""
        for key in _SAME:
            old, new = json.loads(json.dumps(getattr(other, key))), json.loads(json.dumps(getattr(self, key)))
            if old != new:
                raise MXNetError(
                    f"[tune.search] {self.folder} holds a search with another {key}: {old}; this one has {new}. "
                    "Take another folder, or the same arguments to go on."
                )

    def seed_of(self, number: int) -> int:
        """The seed of a trial."""
        return int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])

    def reached(self, value: float) -> bool:
        """Whether the value is as good as the threshold."""
        if self.threshold is None:
            return False
        (direction,) = self.directions.values()
        return value >= self.threshold if direction == "maximize" else value <= self.threshold

    def values(self, result: Any, seconds: float) -> tuple[list[float], dict[str, float]]:
        """The values for the library, and all named results, of what an objective returned."""
        named = self.weights is not None or list(self.directions) != ["value"]
        if not isinstance(result, Mapping):
            if named:
                wanted = sorted(self.weights or self.directions)
                raise MXNetError(
                    f"[tune] the objective returned {result!r}; wanted is a mapping with {wanted}."
                )
            return [_number("value", result)], {}
        results = {"seconds": seconds, **{name: _number(name, value) for name, value in result.items()}}
        for name in self.weights or self.directions:
            if name not in results:
                raise MXNetError(f"[tune] the objective returned no {name!r}. {suggest(name, results)}")
        if self.weights is not None:
            return [sum(weight * results[name] for name, weight in self.weights.items())], results
        return [results[name] for name in self.directions], results


def _one_of(what: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed:
        hint = (
            suggest(value, [item for item in allowed if item])
            if isinstance(value, str)
            else f"allowed: {allowed}"
        )
        raise MXNetError(f"[tune.search] the {what} is {value!r}. {hint}")


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _number(name: str, value: Any) -> float:
    if not isinstance(value, str):
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isnan(number):
            return number
    raise MXNetError(f"[tune] the objective's {name} is {value!r}; allowed is a number that is not NaN.")


def points(plan: Plan) -> list[dict[str, Any]]:
    """All points of the plan's grid."""
    return list(spaces.grid(spaces.from_plain(plan.space)))
