# SPDX-License-Identifier: Apache-2.0
"""Handlers that end a training."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

from ....base import MXNetValueError
from ....metric import EvalMetric
from .events import BatchEnd, EpochEnd, TrainBegin, TrainEnd

if TYPE_CHECKING:
    from .estimator import Estimator

__all__ = ["EarlyStoppingHandler", "StoppingHandler", "check_monitor", "larger_is_better"]

_SMALLER = re.compile(
    r"loss|error|entropy|perplexity|nll|\bm[as]e\b|\brmse\b|distance|divergence", re.IGNORECASE
)


def check_monitor(monitor: Any, who: str, why: str) -> None:
    """Raises unless `monitor` is a metric."""
    if not isinstance(monitor, EvalMetric):
        raise MXNetValueError(
            f"[{who}] monitor is {monitor!r}; {why} an EvalMetric of estimator.train_metrics or "
            "estimator.val_metrics."
        )


def larger_is_better(monitor: EvalMetric, mode: str, who: str) -> bool:
    """Whether a larger value of the metric is the better one."""
    if mode not in ("auto", "min", "max"):
        warnings.warn(
            f"[{who}] unknown mode {mode!r}; 'auto' is taken of 'auto', 'min' and 'max'.", stacklevel=3
        )
        mode = "auto"
    return mode == "max" or (mode == "auto" and not _SMALLER.search(str(monitor.name)))


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Ends the training after a number of epochs or batches.

    Parameters
    ----------
    max_epoch, max_batch : int, optional
        What neither gives is what ``fit`` was told.

    Examples
    --------
    >>> from loomix.gluon.contrib.estimator import StoppingHandler
    >>> stop = StoppingHandler(max_batch=500)
    >>> stop.max_epoch, stop.max_batch
    (None, 500)
    """

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self._of_fit = max_epoch is None and max_batch is None
        self.max_epoch = max_epoch
        self.max_batch = max_batch
        self.current_batch = 0
        self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Counts from 0."""
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool:
        """Whether this was the last batch."""
        self.current_batch += 1
        return self._stop(estimator)

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool:
        """Whether this was the last epoch."""
        self.current_epoch += 1
        return self._stop(estimator)

    def _stop(self, estimator: Estimator) -> bool:
        if self._of_fit:  # looked at each time, for a checkpoint that goes on leaves less to do
            self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        if self.current_epoch == self.max_epoch or self.current_batch == self.max_batch:
            self.stop_training = True
        return self.stop_training


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Ends the training when a metric no longer improves.

    Parameters
    ----------
    monitor : EvalMetric
        One of the estimator's metrics.
    min_delta : float
        By how much a value must be better than the best so far.
    patience : int
        After how many epochs without an improvement in a row the training ends; 0 is as 1.
    mode : {'auto', 'min', 'max'}
        Whether smaller or larger values are better; 'auto' goes by the metric's name.
    baseline : float, optional
        What the first improvement must be better than.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.contrib.estimator import EarlyStoppingHandler
    >>> stop = EarlyStoppingHandler(mx.metric.Accuracy(), min_delta=0.001, patience=3)
    """

    def __init__(
        self,
        monitor: EvalMetric,
        min_delta: float = 0,
        patience: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
    ) -> None:
        check_monitor(monitor, "EarlyStoppingHandler", "it must be")
        self.monitor = monitor
        self.baseline = baseline
        self.patience = patience
        self.min_delta = min_delta
        self._sign = 1 if larger_is_better(monitor, mode, "EarlyStoppingHandler") else -1
        self._start()

    def _start(self) -> None:
        self.wait = 0
        self.stopped_epoch = 0
        self.current_epoch = 0
        self.stop_training = False
        self.best = self.baseline if self.baseline is not None else -self._sign * float("inf")

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Starts anew."""
        self._start()

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool:
        """Whether the metric has not improved for long enough."""
        name, value = self.monitor.get()
        if value != value:
            estimator.logger.warning("[EarlyStoppingHandler] %s is NaN, which is no improvement.", name)
        if self._sign * (value - self.best) > abs(self.min_delta):
            self.best = value
            self.wait = 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch = self.current_epoch
                self.stop_training = True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Logs that it has ended the training, if it has."""
        if self.stop_training:
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHandler: %s has not improved since it was %s.",
                self.stopped_epoch,
                self.monitor.get()[0],
                self.best,
            )
