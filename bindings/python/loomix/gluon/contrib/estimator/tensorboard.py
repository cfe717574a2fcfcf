# SPDX-License-Identifier: Apache-2.0
"""Curves of a training for TensorBoard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....contrib.tensorboard import summary_writer
from .events import BatchEnd, EpochEnd, TrainBegin, TrainEnd, metric_list
from .logging_handler import check_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....metric import EvalMetric
    from .estimator import Estimator

__all__ = ["TensorBoardHandler"]


class TensorBoardHandler(TrainBegin, BatchEnd, EpochEnd, TrainEnd):
    """Writes metrics and the learning rate for TensorBoard, by the number of batches. Needs the package tensorboardX.

    Parameters
    ----------
    logging_dir : str
        Folder for the event file; TensorBoard is started with ``--logdir`` of it.
    metrics : EvalMetric or list of EvalMetric, optional
        The estimator's metrics by default: those of the training and those of its validation.
    log_interval : 'epoch' or int
        Whether to write at the end of epochs only, or also every so many batches: the learning rate, and those of the
        metrics that belong to the training.
    priority : float
        Higher than those of handlers that change the metrics.

    Raises
    ------
    ImportError
        Without the package tensorboardX.

    Examples
    --------
    >>> from loomix.gluon.contrib.estimator import TensorBoardHandler
    >>> curves = TensorBoardHandler("logs/run1", log_interval=50)  # doctest: +SKIP
    >>> estimator.fit(loader, validation, epochs=10, event_handlers=[curves])  # doctest: +SKIP
    """

    def __init__(
        self,
        logging_dir: str,
        metrics: Any = None,
        log_interval: str | int = "epoch",
        priority: float = float("inf"),
    ) -> None:
        self.log_interval = check_interval(log_interval, "TensorBoardHandler")
        self.metrics = None if metrics is None else metric_list(metrics, "TensorBoardHandler")
        self.priority = priority
        self.logging_dir = logging_dir
        self.summary_writer: Any = summary_writer("TensorBoardHandler", logging_dir)
        self._trainings = 0
        self._batches = 0  # of all trainings, so that a second one goes on

    def _write(self, estimator: Estimator, metrics: Sequence[EvalMetric]) -> None:
        for metric in metrics:
            for name, value in metric.get_name_value():
                if value == value:  # of a metric without an instance there is nothing to tell
                    self.summary_writer.add_scalar(name, value, self._batches)
        self.summary_writer.add_scalar("learning rate", estimator.trainer.learning_rate, self._batches)

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Opens a file for each further training."""
        if self.summary_writer is None:  # names go by the second, so a suffix keeps files apart
            self.summary_writer = summary_writer(
                "TensorBoardHandler", self.logging_dir, f".{self._trainings}"
            )
        self._trainings += 1

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Writes if enough batches are done."""
        self._batches += 1
        if self.log_interval == "epoch" or self._batches % self.log_interval:
            return
        training = estimator.train_metrics
        if self.metrics is not None:
            validation = {id(metric) for metric in estimator.val_metrics}
            training = [metric for metric in self.metrics if id(metric) not in validation]
        self._write(estimator, training)

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Writes all metrics."""
        everything = [*estimator.train_metrics, *estimator.val_metrics]
        self._write(estimator, everything if self.metrics is None else self.metrics)

    def train_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Closes the file: nothing less brings all to the disk."""
        self.summary_writer.close()
        self.summary_writer = None
