# SPDX-License-Identifier: Apache-2.0
"""One point of the space that is tried."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..base import MXNetError, suggest

__all__ = ["Pruned", "Trial"]


class Pruned(Exception):
    """Raised by :meth:`Trial.report` where the trial is not worth going on; the search takes it as a result."""


class Trial:
    """What an objective is given: parameters, a folder of its own, and who to tell how it goes.

    Attributes
    ----------
    number : int
        Counts the search's trials from 0.
    params : dict
        The parameters that exist at this point; ``trial["learning_rate"]`` is short for one.
    folder : pathlib.Path
        Files of this trial alone: checkpoints. A worker that takes the trial up after another one died finds them.
    seed : int
        Follows from the search's seed and the number alone.
    device : str or None
        The worker's device, one of those that :func:`search` was given.
    reported : dict
        Values by steps that were reported, by a worker that died, too.
    lock : int or None
        The file descriptor that holds the trial. Programs that inherit it keep others from taking the trial up.

    Examples
    --------
    >>> def objective(trial):
    ...     for epoch in range(3):
    ...         value = trial["learning_rate"] * epoch
    ...         trial.report(value, epoch)
    ...     return value
    """

    def __init__(
        self,
        trial: Any,
        params: Mapping[str, Any],
        folder: Path,
        seed: int,
        device: str | None,
        lock: int | None = None,
    ) -> None:
        self._trial = trial
        self.number: int = trial.number
        self.params = dict(params)
        self.folder = folder
        self.seed = seed
        self.device = device
        self.lock = lock
        self.reported: dict[int, float] = dict(trial.storage.get_trial(trial._trial_id).intermediate_values)

    def __getitem__(self, name: str) -> Any:
        try:
            return self.params[name]
        except KeyError:
            raise KeyError(
                f"[tune] the trial has no parameter {name!r}. {suggest(name, self.params)}"
            ) from None

    def __repr__(self) -> str:
        return f"Trial({self.number}, {self.params})"

    @property
    def last_step(self) -> int | None:
        """The last step that was reported; None before the first."""
        return max(self.reported, default=None)

    def report(self, value: float, step: int) -> None:
        """Tells how good the trial is after a step, an epoch as a rule. Raises :class:`Pruned` if others were so
        much better at this step that the search gives the trial up."""
        value = float(value)
        if len(self._trial.study.directions) > 1:
            raise MXNetError(
                "[tune.Trial] report: a search in several directions has no intermediate values."
            )
        if step in self.reported:
            return  # by a worker that died before its checkpoint
        self._trial.report(value, step)
        self.reported[step] = value
        if not math.isfinite(value):
            raise Pruned(f"{value} at step {step}")
        if self._trial.should_prune():
            raise Pruned(f"{value:.6g} at step {step}")
