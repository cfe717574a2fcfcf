# SPDX-License-Identifier: Apache-2.0
"""Searches: begun, taken up, looked at."""

from __future__ import annotations

import dataclasses
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..base import MXNetError
from . import space as spaces
from .objectives import to_plain as objective_to_plain
from .plan import Plan
from .storage import FileLock, optuna
from .work import Objective, Team, open_study, work_here

__all__ = ["Study", "TrialResult", "search", "work"]


@dataclasses.dataclass(frozen=True)
class TrialResult:
    """What became of a trial.

    Attributes
    ----------
    number : int
    params : dict
    value : float or None
        None in a search with several directions, and where there is no result.
    values : dict
        All named results.
    state : str
        ``"complete"``, ``"pruned"``, ``"fail"``, ``"running"`` or ``"waiting"``.
    seconds : float or None
        From its begin to its end, with the time between a worker that died and the next one.
    error : str or None

    Examples
    --------
    >>> [(trial.params, trial.value) for trial in study.trials if trial.state == "complete"]  # doctest: +SKIP
    """

    number: int
    params: dict[str, Any]
    value: float | None
    values: dict[str, float]
    state: str
    seconds: float | None
    error: str | None


class Study:
    """A search in a folder: its results, also while it runs.

    Parameters
    ----------
    folder : path

    Attributes
    ----------
    plan : object
        What the folder's ``study.json`` holds.
    optuna : optuna.study.Study
        The library's study.

    Examples
    --------
    >>> from loomix import tune
    >>> study = tune.Study("search1")  # doctest: +SKIP
    >>> study.best.params  # doctest: +SKIP
    """

    def __init__(self, folder: str | Path) -> None:
        self.plan = Plan.load(Path(folder))
        self.optuna = open_study(self.plan)

    def _result(self, trial: Any) -> TrialResult:
        single = len(self.plan.directions) == 1
        found = trial.values or []
        values = dict(trial.user_attrs.get("results") or zip(self.plan.directions, found))
        duration = trial.duration
        return TrialResult(
            number=trial.number,
            params=dict(trial.params),
            value=found[0] if single and found else None,
            values=values,
            state=trial.state.name.lower(),
            seconds=duration.total_seconds() if duration is not None else None,
            error=trial.user_attrs.get("error"),
        )

    @property
    def trials(self) -> list[TrialResult]:
        """All trials by their numbers."""
        return [self._result(trial) for trial in self.optuna.get_trials(deepcopy=False)]

    @property
    def best(self) -> TrialResult:
        """The best trial that is complete."""
        if len(self.plan.directions) > 1:
            raise MXNetError("[tune.Study] best: a search in several directions has none; see front.")
        if not any(trial.state == "complete" for trial in self.trials):
            raise MXNetError(f"[tune.Study] best: no trial of {self.plan.folder} is complete.")
        return self._result(self.optuna.best_trial)

    @property
    def front(self) -> list[TrialResult]:
        """The Pareto front: trials than which no other is better in every direction."""
        return [self._result(trial) for trial in self.optuna.best_trials]

    def show(self, folder: str | Path) -> list[Path]:
        """Draws pictures, where there is enough to draw: history, parallel coordinates, importance, and the Pareto
        front; their paths."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna().exceptions.ExperimentalWarning)  # all its pictures are
            return self._draw(Path(folder))

    def _draw(self, target: Path) -> list[Path]:
        import matplotlib

        if "matplotlib.pyplot" not in sys.modules:
            matplotlib.use("Agg")
        from matplotlib import pyplot

        library = optuna()
        draw = library.visualization.matplotlib
        target.mkdir(parents=True, exist_ok=True)
        complete = sum(trial.state == "complete" for trial in self.trials)
        names = list(self.plan.directions)
        made = []

        def picture(name: str, axes: Any) -> None:
            figure = (axes.flat[0] if hasattr(axes, "flat") else axes).figure
            made.append(target / f"{name}.png")
            figure.savefig(made[-1], dpi=110, bbox_inches="tight")
            pyplot.close(figure)

        if complete == 0:
            raise MXNetError(f"[tune.Study] show: no trial of {self.plan.folder} is complete.")
        for i, name in enumerate(names):
            ending = f"_{name}" if len(names) > 1 else ""
            what = (
                {"target": lambda trial, i=i: trial.values[i], "target_name": name} if len(names) > 1 else {}
            )
            picture(f"history{ending}", draw.plot_optimization_history(self.optuna, **what))
            picture(f"parallel{ending}", draw.plot_parallel_coordinate(self.optuna, **what))
            if complete > 1:
                measure = library.importance.PedAnovaImportanceEvaluator()
                picture(
                    f"importance{ending}", draw.plot_param_importances(self.optuna, evaluator=measure, **what)
                )
        if len(names) in (2, 3):
            picture("pareto", draw.plot_pareto_front(self.optuna, target_names=names))
        return made


def search(
    objective: Objective,
    space: spaces.Space,
    *,
    folder: str | Path,
    direction: str | Mapping[str, str] = "maximize",
    weights: Mapping[str, float] | None = None,
    method: str = "tpe",
    pruning: str | None = None,
    trials: int | None = None,
    seconds: float | None = None,
    threshold: float | None = None,
    workers: int = 1,
    devices: Sequence[str] | None = None,
    seed: int = 0,
    storage: str | None = None,
    name: str = "study",
    failures: int = 10,
    progress: bool = True,
) -> Study:
    """Searches, or goes on with the search that the folder holds.

    Parameters
    ----------
    objective : callable
        Is given a :class:`Trial`; returns a number, or a mapping of named numbers. ``seconds`` is measured.
    space : mapping of str to Float, Int or Choice
    folder : path
        Of the search. All machines that take part share it.
    direction : str or mapping of str to str
        ``"maximize"`` or ``"minimize"``; by name, the search is for a Pareto front of the named results.
    weights : mapping of str to float, optional
        One value is made of named results, and maximised.
    method : {"tpe", "random", "grid"}
    pruning : {None, "halving", "hyperband", "median"}
        Gives trials up by what they report.
    trials, seconds, threshold : number, optional
        What ends the search; no trial is begun after it. Seconds count from this call.
    workers : int
        Processes of this machine, each with its part of the cores. One works in this process.
    devices : sequence of str, optional
        Given to the workers in turn, as ``trial.device``.
    seed : int
    storage : str, optional
        None for a journal in the folder, a database's URL, or ``grpc://HOST:PORT``.
    name : str
        Of the study in the storage.
    failures : int
        More trials than this that fail end the search with an error.
    progress : bool
        Whether a bar is shown on a terminal.

    Examples
    --------
    >>> import tempfile
    >>> from loomix import tune
    >>> found = tune.search(  # doctest: +SKIP
    ...     lambda trial: -((trial["x"] - 2) ** 2), {"x": tune.Float(0, 4)}, trials=30, folder=tempfile.mkdtemp()
    ... )
    """
    spaces.check(space)
    if weights is not None and not isinstance(direction, str):
        raise MXNetError(
            "[tune.search] weights make one value of the results; allowed is no mapping of directions."
        )
    if weights is not None and direction != "maximize":
        raise MXNetError(
            "[tune.search] a weighted value is maximised; a negative weight makes a result small."
        )
    if not isinstance(workers, int) or workers < 1:
        raise MXNetError(f"[tune.search] workers is {workers!r}; allowed is a whole number of at least 1.")
    if not callable(objective):
        raise MXNetError(f"[tune.search] the objective is {objective!r}; allowed is a callable.")
    plan = Plan(
        folder=Path(folder).absolute(),
        space=spaces.to_plain(space),
        directions={"value": direction} if isinstance(direction, str) else dict(direction),
        weights=None if weights is None else dict(weights),
        method=method,
        pruning=pruning,
        trials=trials,
        seconds=seconds,
        threshold=threshold,
        seed=seed,
        storage=storage,
        name=name,
        failures=failures,
        objective=objective_to_plain(objective),
    )
    plan.check()
    if method == "grid":
        for key, dimension in space.items():
            dimension.values(key)  # raises where there is no end of them
    try:
        plan.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MXNetError(f"[tune.search] {folder} cannot be made: {error.strerror}.") from error
    with FileLock(plan.folder / "next.lock").held():
        if (plan.folder / "study.json").exists():
            plan.check_same(Plan.load(plan.folder))
        plan.save()
    return run(plan, objective, workers, devices, progress)


def run(
    plan: Plan,
    objective: Objective,
    workers: int,
    devices: Sequence[str] | None = None,
    progress: bool = True,
) -> Study:
    """Works on a plan that its folder holds, to the end."""
    deadline = None if plan.seconds is None else time.time() + plan.seconds
    if workers == 1:
        work_here(plan, objective, devices[0] if devices else None, deadline, progress)
    else:
        Team(plan, objective, workers, devices, deadline).run(progress)
    study = Study(plan.folder)
    failed = [trial for trial in study.trials if trial.state == "fail"]
    if len(failed) > plan.failures:
        last = failed[-1]
        raise MXNetError(
            f"[tune.search] {len(failed)} trials failed, and {plan.failures} may. The last one, trial {last.number} "
            f"with {last.params}: {last.error}"
        )
    return study


def work(folder: str | Path, objective: Objective, *, device: str | None = None) -> Study:
    """One more worker of the search in a folder, in this process: on any machine that shares the folder.

    Examples
    --------
    >>> from loomix import tune
    >>> tune.work("/shared/search1", objective, device="gpu(0)")  # doctest: +SKIP
    """
    return run(Plan.load(Path(folder).absolute()), objective, 1, None if device is None else [device], False)
