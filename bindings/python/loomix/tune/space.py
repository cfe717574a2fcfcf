# SPDX-License-Identifier: Apache-2.0
"""What is searched: dimensions by name, some of which exist only where others have certain values."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ..base import MXNetError, suggest

__all__ = ["Choice", "Float", "Int", "Space"]

_PLAIN = (type(None), bool, int, float, str)


@dataclasses.dataclass(frozen=True)
class Float:
    """Numbers from `low` to `high`, both included.

    Parameters
    ----------
    low, high : float
    step : float, optional
        Only ``low + i * step``; not together with `log`.
    log : bool
        Whether the logarithm is drawn evenly, as for learning rates.
    when : mapping, optional
        Other dimensions and the values, or lists of values, for which this one exists.

    Examples
    --------
    >>> from loomix import tune
    >>> space = {
    ...     "optimizer": tune.Choice(["sgd", "adam"]),
    ...     "momentum": tune.Float(0, 0.99, when={"optimizer": "sgd"}),
    ... }
    """

    low: float
    high: float
    step: float | None = None
    log: bool = False
    when: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def suggest(self, trial: Any, name: str) -> Any:
        """The value that Optuna's trial gives it."""
        return trial.suggest_float(name, self.low, self.high, step=self.step, log=self.log)

    def values(self, name: str) -> list[Any]:
        """All values, for a grid."""
        if self.step is None:
            raise MXNetError(
                f"[tune.search] dimension {name!r} is a Float without steps, which a grid cannot exhaust; give it a "
                "step, or list its values in a Choice."
            )
        count = int((self.high - self.low) / self.step + 1e-9) + 1
        return [min(self.low + i * self.step, self.high) for i in range(count)]


@dataclasses.dataclass(frozen=True)
class Int:
    """Whole numbers from `low` to `high`, both included.

    Parameters
    ----------
    low, high : int
    step : int
        Only ``low + i * step``; 1 together with `log`.
    log : bool
        Whether the logarithm is drawn evenly, as for numbers of units.
    when : mapping, optional
        As for :class:`Float`.

    Examples
    --------
    >>> from loomix import tune
    >>> units = tune.Int(16, 1024, log=True)
    """

    low: int
    high: int
    step: int = 1
    log: bool = False
    when: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def suggest(self, trial: Any, name: str) -> Any:
        """The value that Optuna's trial gives it."""
        return trial.suggest_int(name, self.low, self.high, step=self.step, log=self.log)

    def values(self, name: str) -> list[Any]:
        """All values, for a grid."""
        return list(range(self.low, self.high + 1, self.step))


@dataclasses.dataclass(frozen=True)
class Choice:
    """One of some values: None, booleans, numbers and texts.

    Examples
    --------
    >>> from loomix import tune
    >>> activation = tune.Choice(["relu", "tanh", "sigmoid"])
    """

    options: Sequence[Any]
    when: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def suggest(self, trial: Any, name: str) -> Any:
        """The value that Optuna's trial gives it."""
        return trial.suggest_categorical(name, list(self.options))

    def values(self, name: str) -> list[Any]:
        """All values, for a grid."""
        return list(self.options)


Dimension: TypeAlias = Float | Int | Choice
Space: TypeAlias = Mapping[str, Dimension]


def check(space: Space) -> None:
    """Raises an error that names the dimension which cannot be searched."""
    if not isinstance(space, Mapping) or not space:
        raise MXNetError(
            f"[tune.search] the space is {space!r}; allowed is a mapping of at least one name to Float, Int or Choice."
        )
    seen: dict[str, Dimension] = {}
    for name, dimension in space.items():
        where = f"[tune.search] dimension {name!r}"
        if not isinstance(name, str) or not name.isidentifier():
            raise MXNetError(f"{where}: a name is a text like 'learning_rate'.")
        if isinstance(dimension, Choice):
            _check_choice(where, dimension)
        elif isinstance(dimension, (Float, Int)):
            _check_numbers(where, dimension)
        else:
            raise MXNetError(f"{where} is {dimension!r}; allowed are Float, Int and Choice.")
        for other, wanted in dimension.when.items():
            if other not in seen:
                raise MXNetError(
                    f"{where} depends on {other!r}, which does not come before it. {suggest(other, seen)}"
                )
            possible = seen[other]
            if isinstance(possible, Choice) and not any(
                value in possible.options for value in _listed(wanted)
            ):
                raise MXNetError(
                    f"{where} depends on {other} = {wanted!r}, which never is; {other} is {possible!r}."
                )
        seen[name] = dimension


def _check_choice(where: str, dimension: Choice) -> None:
    options = dimension.options
    if isinstance(options, str) or not isinstance(options, Sequence) or not options:
        raise MXNetError(f"{where} has the options {options!r}; allowed is a list of at least one value.")
    for option in options:
        if not isinstance(option, _PLAIN):
            raise MXNetError(
                f"{where} has the option {option!r}; allowed are None, booleans, numbers and texts."
            )


def _check_numbers(where: str, dimension: Float | Int) -> None:
    low, high, step = dimension.low, dimension.high, dimension.step
    whole = isinstance(dimension, Int)
    for value in (low, high) if step is None else (low, high, step):
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            raise MXNetError(f"{where} is {dimension!r}; its bounds and step are {'whole ' * whole}numbers.")
    if not low <= high:
        raise MXNetError(f"{where} goes from {low} to {high}, which holds no value.")
    if step is not None and not step > 0:
        raise MXNetError(f"{where} has the step {step}; allowed is more than 0.")
    if dimension.log and (low <= 0 or step not in (None, 1) or (step == 1 and not whole)):
        raise MXNetError(f"{where} is {dimension!r}; with log=True it begins above 0 and has no step.")


def _listed(wanted: Any) -> Sequence[Any]:
    return wanted if isinstance(wanted, (list, tuple)) else [wanted]


def _exists(dimension: Dimension, chosen: Mapping[str, Any]) -> bool:
    return all(
        other in chosen and chosen[other] in _listed(wanted) for other, wanted in dimension.when.items()
    )


def draw(trial: Any, space: Space) -> dict[str, Any]:
    """The parameters that Optuna's trial suggests, each once all that it depends on is known."""
    chosen: dict[str, Any] = {}
    for name, dimension in space.items():
        if _exists(dimension, chosen):
            chosen[name] = dimension.suggest(trial, name)
    return chosen


def grid(space: Space) -> Iterator[dict[str, Any]]:
    """All points of the space, the last dimension changing fastest."""
    points: list[dict[str, Any]] = [{}]
    for name, dimension in space.items():
        values = dimension.values(name)
        points = list(
            itertools.chain.from_iterable(
                [{**point, name: value} for value in values] if _exists(dimension, point) else [point]
                for point in points
            )
        )
    return iter(points)


def from_plain(plain: Mapping[str, Any]) -> dict[str, Dimension]:
    """A space from JSON or TOML: a list is a Choice, a table with `low` and `high` a Float or an Int.

    Whole bounds and steps make an Int, unless ``type = "float"`` says otherwise.
    """
    space: dict[str, Dimension] = {}
    for name, value in plain.items():
        where = f"[tune] dimension {name!r}"
        if isinstance(value, list):
            space[name] = Choice(value)
            continue
        if not isinstance(value, Mapping):
            raise MXNetError(f"{where} is {value!r}; allowed are a list and a table.")
        fields = dict(value)
        kind = fields.pop("type", None)
        if kind is None:
            whole = all(isinstance(fields.get(key, 0), int) for key in ("low", "high", "step"))
            kind = "choice" if "options" in fields else "int" if whole else "float"
        kinds = {"float": Float, "int": Int, "choice": Choice}
        if kind not in kinds:
            raise MXNetError(f"{where} has the type {kind!r}. {suggest(kind, kinds)}")
        known = [field.name for field in dataclasses.fields(kinds[kind])]
        for key in fields:
            if key not in known:
                raise MXNetError(f"{where} has the key {key!r}. {suggest(key, known)}")
        missing = [key for key in (["options"] if kind == "choice" else ["low", "high"]) if key not in fields]
        if missing:
            raise MXNetError(f"{where} has no {' and no '.join(missing)}.")
        space[name] = kinds[kind](**fields)
    return space


def to_plain(space: Space) -> dict[str, Any]:
    """What :func:`from_plain` reads."""
    kinds = {Float: "float", Int: "int", Choice: "choice"}
    return {
        name: {"type": kinds[type(dimension)], **dataclasses.asdict(dimension)}
        for name, dimension in space.items()
    }
