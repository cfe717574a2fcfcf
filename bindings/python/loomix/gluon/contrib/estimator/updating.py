# SPDX-License-Identifier: Apache-2.0
"""Handlers that a training consists of: steps of the trainer, metrics, evaluations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base import MXNetValueError
from ....metric import Loss
from .events import BatchEnd, EpochBegin, EpochEnd, TrainBegin, batch_size, metric_list

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...data import DataLoader
    from .estimator import Estimator
    from .events import EventHandler

__all__ = ["GradientUpdateHandler", "MetricHandler", "ValidationHandler", "is_due", "periods"]


def periods(who: str, **given: int | None) -> None:
    """Raises unless each period is None or a positive number."""
    for name, period in given.items():
        if period is not None and (not isinstance(period, int) or period < 1):
            raise MXNetValueError(
                f"[{who}] {name} is {period!r}; expected None or a whole number of 1 or more."
            )


def is_due(count: int, period: int | None) -> bool:
    """Whether something that happens every `period` times happens now."""
    return period is not None and count % period == 0


class GradientUpdateHandler(BatchEnd):
    """Lets the trainer make a step after each batch.

    Parameters
    ----------
    priority : float
        Low, so that others find the new parameters.

    Examples
    --------
    >>> import loomix as mx
    >>> handlers = mx.gluon.contrib.estimator
    >>> net = mx.gluon.nn.Dense(1)
    >>> net.initialize()
    >>> estimator = handlers.Estimator(net, mx.gluon.loss.L2Loss(), train_metrics=mx.metric.Loss())
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.ones((4, 3)), mx.nd.ones((4, 1)))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=2)
    >>> mine = [handlers.StoppingHandler(max_epoch=2), handlers.GradientUpdateHandler()]
    >>> mine += [handlers.MetricHandler(estimator.train_metrics), handlers.LoggingHandler()]
    >>> mine += [handlers.ValidationHandler(loader, estimator.evaluate)]
    >>> estimator.fit(loader, epochs=2, event_handlers=mine)
    """

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Makes a step; gradients are divided by the number of losses in the batch."""
        estimator.trainer.step(batch_size(kwargs["loss"]))


class MetricHandler(EpochBegin, BatchEnd):
    """Keeps metrics up to date; they begin anew with each epoch.

    Parameters
    ----------
    metrics : list of EvalMetric
        :class:`metric.Loss` gets the losses, others labels and predictions.
    priority : float
        Lower than those of handlers that read the metrics.

    Examples
    --------
    >>> import loomix as mx
    >>> metrics = mx.gluon.contrib.estimator.MetricHandler([mx.metric.Accuracy(), mx.metric.Loss()])
    >>> metrics.batch_end(None, label=[mx.nd.array([1])], pred=[mx.nd.array([[0, 1]])], loss=[mx.nd.array([0.5])])
    >>> [metric.get() for metric in metrics.metrics]
    [('accuracy', 1.0), ('loss', 0.5)]
    """

    def __init__(self, metrics: Any, priority: float = -1000) -> None:
        self.metrics = metric_list(metrics, "MetricHandler")
        self.priority = priority

    def epoch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Resets the metrics."""
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Takes the batch into account."""
        for metric in self.metrics:
            if isinstance(metric, Loss):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Evaluates the network in the course of a training.

    Parameters
    ----------
    val_data : DataLoader
    eval_fn : function
        Called as ``eval_fn(val_data=, batch_axis=, event_handlers=)``: :meth:`Estimator.evaluate`, or one's own.
    epoch_period, batch_period : int, optional
        After how many epochs, and after how many batches, of the training.
    priority : float
    event_handlers : EventHandler or list of them, optional
        For the events of the evaluation.

    Examples
    --------
    >>> from loomix.gluon.contrib.estimator import ValidationHandler
    >>> every_other = ValidationHandler(loader, estimator.evaluate, epoch_period=2)  # doctest: +SKIP
    >>> estimator.fit(loader, epochs=10, event_handlers=[every_other])  # doctest: +SKIP
    """

    def __init__(
        self,
        val_data: DataLoader | Any,
        eval_fn: Callable[..., Any],
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        priority: float = -1000,
        event_handlers: EventHandler | Sequence[EventHandler] | None = None,
    ) -> None:
        periods("ValidationHandler", epoch_period=epoch_period, batch_period=batch_period)
        self.val_data = val_data
        self.eval_fn = eval_fn
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.current_batch = 0
        self.current_epoch = 0
        self.priority = priority
        self.event_handlers = event_handlers

    def _evaluate(self, estimator: Estimator) -> None:
        self.eval_fn(
            val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers
        )

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Counts from 0."""
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Evaluates if enough batches are done."""
        self.current_batch += 1
        if is_due(self.current_batch, self.batch_period):
            self._evaluate(estimator)

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Evaluates if enough epochs are done."""
        self.current_epoch += 1
        if is_due(self.current_epoch, self.epoch_period):
            self._evaluate(estimator)
