# SPDX-License-Identifier: Apache-2.0
"""Learning rates by iteration, as they were before :mod:`loomix.lr_scheduler`."""

from __future__ import annotations

import logging

from . import _star
from .base import MXNetValueError
from .log import note

__all__ = ["FactorScheduler", "LearningRateScheduler"]


class LearningRateScheduler:
    """Base of the schedules: ``base_lr`` is set by who uses it."""

    def __init__(self) -> None:
        self.base_lr = 0.01

    def __call__(self, iteration: int) -> float:
        """The rate at an iteration."""
        raise NotImplementedError(f"[{type(self).__name__}] __call__ is not implemented.")


class FactorScheduler(LearningRateScheduler):
    """The rate ``base_lr * factor ** (iteration // step)``, with a line in the log where it changes.

    >>> schedule = FactorScheduler(10, 0.5)
    >>> [schedule(n) for n in (1, 10, 21)]
    [0.01, 0.005, 0.0025]
    """

    def __init__(self, step: int, factor: float = 0.1) -> None:
        super().__init__()
        if step < 1:
            raise MXNetValueError(f"[FactorScheduler] step is {step}; expected at least 1.")
        if factor >= 1.0:
            raise MXNetValueError(f"[FactorScheduler] factor is {factor}; expected less than 1.")
        self.step = step
        self.factor = factor
        self.old_lr: float | None = None

    def __call__(self, iteration: int) -> float:
        rate = self.base_lr * self.factor ** (iteration // self.step)
        if self.old_lr is not None and rate != self.old_lr:
            note(logging, "At Iteration [%d]: Switch to new learning rate %.5f", iteration, rate)
        self.old_lr = rate
        return rate


_star.complete(globals(), "logging math")
