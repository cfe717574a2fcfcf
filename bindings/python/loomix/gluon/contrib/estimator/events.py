# SPDX-License-Identifier: Apache-2.0
"""The events of a training, as base classes of those that handle them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base import MXNetValueError
from ....metric import CompositeEvalMetric, EvalMetric, create

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .estimator import Estimator

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "EpochBegin",
    "EpochEnd",
    "EventHandler",
    "TrainBegin",
    "TrainEnd",
    "batch_size",
    "metric_list",
    "metric_text",
]


class EventHandler:
    """Base of all handlers. An attribute ``priority`` says who is called first: the lowest; without one it is 0.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.contrib import estimator as handlers
    >>> class CountSteps(handlers.TrainBegin, handlers.BatchEnd):
    ...     def train_begin(self, estimator, *args, **kwargs):
    ...         self.steps = 0
    ...     def batch_end(self, estimator, *args, **kwargs):
    ...         self.steps += 1
    >>> count = CountSteps()
    >>> net = mx.gluon.nn.Dense(1)
    >>> net.initialize()
    >>> estimator = handlers.Estimator(net, mx.gluon.loss.L2Loss(), train_metrics=mx.metric.Loss())
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.ones((4, 3)), mx.nd.ones((4, 1)))
    >>> estimator.logger.setLevel("ERROR")
    >>> estimator.fit(mx.gluon.data.DataLoader(data, batch_size=2), epochs=1, event_handlers=[count])
    >>> count.steps
    2
    """


class TrainBegin(EventHandler):
    """A handler of the start of a training.

    Examples
    --------
    >>> import loomix as mx
    >>> class Seeded(mx.gluon.contrib.estimator.TrainBegin):
    ...     def train_begin(self, estimator, *args, **kwargs):
    ...         mx.random.seed(7)
    """

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> Any:
        """Called by ``fit`` before the first epoch."""


class TrainEnd(EventHandler):
    """A handler of the end of a training.

    Examples
    --------
    >>> from loomix.gluon.contrib.estimator import TrainEnd
    >>> class Saving(TrainEnd):
    ...     def train_end(self, estimator, *args, **kwargs):
    ...         estimator.net.save_parameters("trained.params")
    """

    def train_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> Any:
        """Called by ``fit`` after the last epoch."""


class EpochBegin(EventHandler):
    """A handler of the start of an epoch.

    Examples
    --------
    >>> from loomix.gluon.contrib.estimator import EpochBegin
    >>> class Halving(EpochBegin):
    ...     def epoch_begin(self, estimator, *args, **kwargs):
    ...         estimator.trainer.set_learning_rate(estimator.trainer.learning_rate / 2)
    """

    def epoch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> Any:
        """Called before the first batch of an epoch, or of an evaluation."""


class EpochEnd(EventHandler):
    """A handler of the end of an epoch.

    Examples
    --------
    >>> from loomix.gluon.contrib.estimator import EpochEnd
    >>> class UntilGood(EpochEnd):
    ...     def epoch_end(self, estimator, *args, **kwargs):
    ...         return estimator.train_metrics[0].get()[1] > 0.99
    """

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> Any:
        """Called after the last batch of an epoch, or of an evaluation; the training ends if it returns True."""


class BatchBegin(EventHandler):
    """A handler of the start of a batch.

    Examples
    --------
    >>> from loomix.gluon.contrib.estimator import BatchBegin
    >>> class Watching(BatchBegin):
    ...     def batch_begin(self, estimator, *args, batch, **kwargs):
    ...         print("data of shape", batch[0].shape)
    """

    def batch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> Any:
        """Called with ``batch=`` before a batch is computed."""


class BatchEnd(EventHandler):
    """A handler of the end of a batch.

    Examples
    --------
    >>> from loomix.gluon.contrib.estimator import BatchEnd
    >>> class Losses(BatchEnd):
    ...     def batch_end(self, estimator, *args, loss, **kwargs):
    ...         self.last = loss[0].mean()
    """

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> Any:
        """Called with ``batch=, label=, pred=, loss=`` once gradients of a batch are on their way; the epoch ends if it
        returns True. All but ``batch`` are lists with an array for each device."""


def metric_list(metrics: Any, who: str) -> list[EvalMetric]:
    """The metrics as a list, made where a name stands for one; the parts of a composite one by themselves."""
    if metrics is None:
        return []
    if isinstance(metrics, CompositeEvalMetric):
        return list(metrics.metrics)
    if isinstance(metrics, EvalMetric):
        return [metrics]
    if isinstance(metrics, str):
        metrics = [metrics]
    if not isinstance(metrics, (list, tuple)) or not all(
        isinstance(item, (EvalMetric, str)) for item in metrics
    ):
        raise MXNetValueError(
            f"[{who}] metrics is {metrics!r}; expected an EvalMetric, a name such as 'acc', or a list of them."
        )
    return [create(item) if isinstance(item, str) else item for item in metrics]


def batch_size(loss: Any) -> int:
    """The number of samples in a batch, by the losses of all devices."""
    return sum(len(part) for part in (loss if isinstance(loss, (list, tuple)) else [loss]))


def metric_text(metrics: Sequence[EvalMetric]) -> str:
    """Names and values; reading them waits for the batches so far."""
    return ", ".join(f"{name}: {value:.4f}" for metric in metrics for name, value in metric.get_name_value())
