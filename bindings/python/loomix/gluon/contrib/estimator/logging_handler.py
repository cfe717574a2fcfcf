# SPDX-License-Identifier: Apache-2.0
"""Lines about a training."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ....base import MXNetValueError
from .events import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    TrainBegin,
    TrainEnd,
    batch_size,
    metric_list,
    metric_text,
)

if TYPE_CHECKING:
    from .estimator import Estimator

__all__ = ["LoggingHandler", "check_interval"]


def check_interval(log_interval: Any, who: str) -> Any:
    """Raises unless the interval is ``"epoch"`` or a number of batches."""
    number = isinstance(log_interval, int) and not isinstance(log_interval, bool)
    if log_interval != "epoch" and not (number and log_interval > 0):
        raise MXNetValueError(
            f"[{who}] log_interval is {log_interval!r}; expected 'epoch' or a whole number of 1 or more."
        )
    return log_interval


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Logs the course of a training with the estimator's logger.

    Parameters
    ----------
    log_interval : 'epoch' or int
        Whether there are only lines about epochs, or also one every so many batches, which waits for these.
    metrics : EvalMetric or list of EvalMetric, optional
        What the lines tell.
    priority : float
        Higher than those of handlers that change the metrics.

    Examples
    --------
    >>> import loomix as mx
    >>> log = mx.gluon.contrib.estimator.LoggingHandler(log_interval=50, metrics=mx.metric.Loss())
    >>> log.log_interval, [metric.name for metric in log.metrics]
    (50, ['loss'])
    """

    def __init__(
        self, log_interval: str | int = "epoch", metrics: Any = None, priority: float = float("inf")
    ) -> None:
        self.log_interval = check_interval(log_interval, "LoggingHandler")
        self.metrics = metric_list(metrics, "LoggingHandler")
        self.priority = priority
        self._start()

    def _start(self) -> None:
        self.batch_index = 0
        self.current_epoch = 0
        self.processed_samples = 0
        self._began = self._epoch_began = self._interval_began = time.perf_counter()

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Logs optimizer, learning rate and how long the training is to be."""
        self._start()
        optimizer = type(estimator.trainer.optimizer).__name__
        if estimator.max_epoch is not None:
            length = f"{estimator.max_epoch} epochs"
        else:
            length = f"{estimator.max_batch} batches"
        estimator.logger.info(
            "Training for %s: %s, learning rate %.4f", length, optimizer, estimator.trainer.learning_rate
        )

    def train_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Logs how long it took, and the metrics."""
        estimator.logger.info(
            "Training ended after %d epochs in %.0fs%s",
            self.current_epoch,
            time.perf_counter() - self._began,
            self._values(". "),
        )

    def epoch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Logs the epoch, and the learning rate."""
        self.batch_index = 0
        self._epoch_began = self._interval_began = time.perf_counter()
        ours = {id(metric) for metric in estimator.train_metrics}
        if any(id(metric) in ours for metric in self.metrics):
            estimator.logger.info(
                "[Epoch %d] Begin, current learning rate: %.4f",
                self.current_epoch,
                estimator.trainer.learning_rate,
            )
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Logs how long the epoch took, and the metrics."""
        values = self._values(", ")  # before the time is taken: this waits for the batches
        estimator.logger.info(
            "[Epoch %d] Finished in %.3fs%s",
            self.current_epoch,
            time.perf_counter() - self._epoch_began,
            values,
        )
        self.current_epoch += 1

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Logs the metrics if enough batches are done."""
        if self.log_interval == "epoch":
            return
        self.processed_samples += batch_size(kwargs["loss"])
        if self.batch_index % self.log_interval == 0:
            values = self._values(" ")
            now = time.perf_counter()
            estimator.logger.info(
                "[Epoch %d][Batch %d][Samples %d] time/interval: %.3fs%s",
                self.current_epoch,
                self.batch_index,
                self.processed_samples,
                now - self._interval_began,
                values,
            )
            self._interval_began = now
        self.batch_index += 1

    def _values(self, before: str) -> str:
        return before + metric_text(self.metrics) if self.metrics else ""
