# SPDX-License-Identifier: Apache-2.0
"""How far a training is: a bar in a terminal, lines elsewhere."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, TextIO

from ....base import MXNetValueError
from ....progress_bar import EpochBar
from .events import BatchEnd, EpochBegin, EpochEnd, TrainBegin, TrainEnd, batch_size, metric_list, metric_text

if TYPE_CHECKING:
    from ....metric import EvalMetric
    from .estimator import Estimator

__all__ = ["ProgressHandler"]


class ProgressHandler(TrainBegin, EpochBegin, BatchEnd, EpochEnd, TrainEnd):
    """Shows how far an epoch is, samples a second, metrics, and the time that is left.

    In a terminal this is a bar, which is drawn at most five times a second and goes when the epoch ends; elsewhere it
    is a line of the estimator's logger now and then. Either waits for the batches so far. ``fit`` adds one by itself
    where the standard error is a terminal.

    Parameters
    ----------
    metrics : EvalMetric or list of EvalMetric, optional
        What is shown; the estimator's training metrics by default.
    interval : float
        Seconds between two lines where there is no terminal.
    stream : file, optional
        Where the bar is drawn; the standard error by default.
    priority : float
        Higher than those of handlers that change the metrics.

    Examples
    --------
    >>> from loomix.gluon.contrib.estimator import ProgressHandler
    >>> progress = ProgressHandler(interval=30)
    >>> estimator.fit(loader, epochs=10, event_handlers=[progress])  # doctest: +SKIP
    """

    def __init__(
        self,
        metrics: Any = None,
        interval: float = 10.0,
        stream: TextIO | None = None,
        priority: float = float("inf"),
    ) -> None:
        if not interval > 0:
            raise MXNetValueError(
                f"[ProgressHandler] interval is {interval!r}; expected seconds, more than 0."
            )
        self.metrics = None if metrics is None else metric_list(metrics, "ProgressHandler")
        self.interval = interval
        self.priority = priority
        self.stream = stream
        self.current_epoch = self._batches = self._samples = 0
        self._began = self._logged = 0.0
        self._bar: EpochBar | None = None

    def _shown(self, estimator: Estimator) -> list[EvalMetric]:
        return estimator.train_metrics if self.metrics is None else self.metrics

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Counts from 0."""
        self.current_epoch = 0
        estimator.logger.addFilter(self._make_way)

    def train_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Leaves lines of the logger alone again."""
        estimator.logger.removeFilter(self._make_way)

    def epoch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Begins a bar."""
        self._batches = self._samples = 0
        self._began = self._logged = time.perf_counter()
        total = estimator.batches_per_epoch
        self._bar = EpochBar(self.current_epoch, estimator.max_epoch, total, self.stream)

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Removes the bar."""
        if self._bar is not None:
            self._bar.clear()
        self.current_epoch += 1

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Draws or logs if it is time to."""
        samples = batch_size(kwargs["loss"])
        self._batches += 1
        self._samples += samples
        if self._bar is not None and self._bar.on:
            self._bar.step(
                self._batches,
                samples,
                lambda: [pair for metric in self._shown(estimator) for pair in metric.get_name_value()],
            )
        elif time.perf_counter() - self._logged >= self.interval:
            self._log(estimator)

    def _log(self, estimator: Estimator) -> None:
        values = metric_text(self._shown(estimator))  # before the time is taken: this waits for the batches
        self._logged = time.perf_counter()
        total = estimator.batches_per_epoch
        estimator.logger.info(
            "[Epoch %d][Batch %s] %.1f samples/s %s",
            self.current_epoch,
            f"{self._batches}/{total}" if total else self._batches,
            self._samples / (self._logged - self._began),
            values,
        )

    def _make_way(self, record: logging.LogRecord) -> bool:
        """A filter that lets every line pass, and clears its place."""
        if self._bar is not None:
            self._bar.clear()
        return True
