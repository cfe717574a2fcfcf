# SPDX-License-Identifier: Apache-2.0
"""Searches for good hyper-parameters, by processes on one machine or many. Optuna does the searching.

A search has a folder, which holds all that is known: any of its processes may be killed, and the same call goes on.

Examples
--------
>>> from loomix import tune
>>> space = {"lr": tune.Float(1e-4, 1.0, log=True), "units": tune.Int(16, 256, log=True)}
>>> def objective(trial):
...     return train(trial["lr"], trial["units"])  # the accuracy
>>> study = tune.search(objective, space, trials=50, folder="search1")  # doctest: +SKIP
>>> study.best.params  # doctest: +SKIP
"""

from .objectives import Command, FitEstimator, FitModule, Function
from .space import Choice, Float, Int
from .study import Study, TrialResult, search, work
from .trial import Pruned, Trial

__all__ = [
    "Choice",
    "Command",
    "FitEstimator",
    "FitModule",
    "Float",
    "Function",
    "Int",
    "Pruned",
    "Study",
    "Trial",
    "TrialResult",
    "search",
    "work",
]
