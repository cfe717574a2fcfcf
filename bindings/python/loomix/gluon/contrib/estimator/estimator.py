# SPDX-License-Identifier: Apache-2.0
"""The estimator: a network, its loss and its metrics, trained in one call."""

from __future__ import annotations

import copy
import logging
import sys
import warnings
from typing import TYPE_CHECKING, Any

from ...._arguments import as_whole, suggests
from ....base import AssertedError, MXNetValueError
from ....context import Context, cpu, gpu, num_gpus
from ....initializer import Uniform
from ....metric import Accuracy, EvalMetric
from ....metric import Loss as LossMetric
from ....progress_bar import is_terminal
from ...base_block import Block
from ...data import DataLoader
from ...loss import Loss, SoftmaxCrossEntropyLoss
from ...trainer import Trainer
from .batch_processor import BatchProcessor
from .event_handler import (
    EventHandler,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    ProgressHandler,
    StoppingHandler,
    ValidationHandler,
)
from .events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, TrainBegin, TrainEnd, metric_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....initializer import Initializer

__all__ = ["Estimator"]


class Estimator:
    """Trains and evaluates a network.

    Parameters
    ----------
    net : Block
    loss : Loss
    train_metrics, val_metrics : EvalMetric, str or list of them, optional
        Those of the training are by default the loss, and the accuracy where the loss is
        :class:`SoftmaxCrossEntropyLoss`; those of the validation are by default the same ones. Their names get
        "training " and "validation " in front.
    initializer : Initializer, optional
        For parameters that are not initialised yet.
    trainer : Trainer, optional
        By default one for stochastic gradient descent with a learning rate of 0.001.
    context : Context or list of Context, optional
        Where to compute; by default the first GPU if there is one.
    val_net : Block, optional
        The network of evaluations, which shares its parameters with `net`; `net` itself by default. Parameters of its
        own are not initialised.
    val_loss : Loss, optional
        The loss of evaluations; `loss` by default.
    batch_processor : BatchProcessor, optional
        What to do with a batch.

    Attributes
    ----------
    train_metrics, val_metrics : list of EvalMetric
        Those that handlers are made with.
    logger : logging.Logger
        Writes to the standard output.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon.contrib.estimator import Estimator
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.random.uniform(shape=(20, 4)), mx.nd.zeros(20))
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    >>> estimator.logger.setLevel("WARNING")
    >>> estimator.fit(mx.gluon.data.DataLoader(data, batch_size=5), epochs=3)
    >>> estimator.train_metrics[0].get()
    ('training accuracy', 1.0)
    """

    logger: logging.Logger = logging.Logger(
        "Estimator", logging.INFO
    )  # of the class; estimators have their own

    def __init__(
        self,
        net: Block,
        loss: Loss,
        train_metrics: Any = None,
        val_metrics: Any = None,
        initializer: Initializer | None = None,
        trainer: Trainer | None = None,
        context: Context | Sequence[Context] | None = None,
        val_net: Block | None = None,
        val_loss: Loss | None = None,
        batch_processor: BatchProcessor | None = None,
    ) -> None:
        _check("net", net, Block)
        self.net = net
        self.loss = _check("loss", loss, Loss)
        self.val_net = net if val_net is None else _check("val_net", val_net, Block)
        self.val_loss = loss if val_loss is None else _check("val_loss", val_loss, Loss)
        self._set_metrics(metric_list(train_metrics, "Estimator"), metric_list(val_metrics, "Estimator"))
        self.logger = logging.Logger("Estimator", logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.context = _contexts(context)
        self._initialize(initializer)
        if trainer is None:
            warnings.warn(
                "[Estimator] No trainer specified; stochastic gradient descent with a learning rate of 0.001 is "
                "used.",
                stacklevel=2,
            )
            trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.001})
        self.trainer = _check("trainer", trainer, Trainer)
        self.batch_processor = BatchProcessor() if batch_processor is None else batch_processor
        for method in ("fit_batch", "evaluate_batch"):
            if not callable(getattr(self.batch_processor, method, None)):
                raise MXNetValueError(
                    f"[Estimator] batch_processor is {batch_processor!r}; it needs the method {method}."
                )
        self.max_epoch: int | None = None
        self.max_batch: int | None = None
        self.batch_axis = 0
        self.batches_per_epoch: int | None = None

    def _set_metrics(self, training: list[EvalMetric], validation: list[EvalMetric]) -> None:
        if not training:
            if isinstance(self.loss, SoftmaxCrossEntropyLoss):
                training.append(Accuracy())
            training.append(LossMetric(self.loss.name.rstrip("0123456789")))
        if not validation:
            validation = [copy.deepcopy(metric) for metric in training]
        for metrics, prefix in ((training, "training "), (validation, "validation ")):
            for metric in metrics:
                if isinstance(metric.name, str) and not metric.name.startswith(prefix):
                    metric.name = prefix + metric.name
        self._train_metrics, self._val_metrics = training, validation

    def _initialize(self, initializer: Initializer | None) -> None:
        params = self.net.collect_params().values()
        todo = [param for param in params if param._data is None and not param._deferred_init]
        if initializer is not None and not todo:
            warnings.warn(
                "[Estimator] Network already fully initialized, so initializer is not used; "
                "net.initialize(init=..., force_reinit=True) initialises them again.",
                stacklevel=3,
            )
        for param in todo:
            param.initialize(None, self.context, initializer or Uniform())

    def __repr__(self) -> str:
        names = ", ".join(str(metric.name) for metric in self._train_metrics)
        return f"<{type(self).__name__} of {self.net.name}: {self.loss.name}, {names}>"

    @property
    def train_metrics(self) -> list[EvalMetric]:
        """The metrics of the training."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[EvalMetric]:
        """The metrics of the validation."""
        return self._val_metrics

    # ---- running ----

    def evaluate(
        self,
        val_data: DataLoader,
        batch_axis: int = 0,
        event_handlers: EventHandler | Sequence[EventHandler] | None = None,
    ) -> None:
        """Computes the validation metrics over a data set.

        Parameters
        ----------
        val_data : DataLoader
        batch_axis : int
            The axis along which a batch is cut for several devices.
        event_handlers : EventHandler or list of them, optional
            For the events of epochs and batches; one for the metrics and one that logs them are added.
        """
        _check_data("evaluate", val_data)
        handlers = self._handlers("evaluate", event_handlers)
        _add(handlers, MetricHandler, lambda: MetricHandler(self._val_metrics))
        _add(handlers, LoggingHandler, lambda: LoggingHandler(metrics=self._val_metrics))
        handlers.sort(key=_priority)
        _call(handlers, EpochBegin, "epoch_begin", self)
        for batch in val_data:
            _call(handlers, BatchBegin, "batch_begin", self, batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            _call(handlers, BatchEnd, "batch_end", self, batch=batch, pred=pred, label=label, loss=loss)
        _call(handlers, EpochEnd, "epoch_end", self)

    @suggests(num_epoch="Here it is epochs=...", num_epochs="Here it is epochs=...")
    def fit(
        self,
        train_data: DataLoader,
        val_data: DataLoader | None = None,
        epochs: int | None = None,
        event_handlers: EventHandler | Sequence[EventHandler] | None = None,
        batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:
        """Trains the network.

        Parameters
        ----------
        train_data : DataLoader
        val_data : DataLoader, optional
            What to evaluate after each epoch.
        epochs, batches : int
            How long; one of the two.
        event_handlers : EventHandler or list of them, optional
            Called in the order of their ``priority``. What a training needs is added where none of its kind is given:
            :class:`StoppingHandler` (always), :class:`GradientUpdateHandler`, :class:`MetricHandler`,
            :class:`ValidationHandler` (with `val_data`), :class:`LoggingHandler`, and, where the standard error
            is a terminal, :class:`ProgressHandler`.
        batch_axis : int
            The axis along which a batch is cut for several devices.
        """
        _check_data("fit", train_data)
        for what, count in (("epochs", epochs), ("batches", batches)):
            if count is not None:
                as_whole("fit", what, count, least=0)
        if bool(epochs) == bool(batches):
            raise MXNetValueError(
                f"[fit] epochs is {epochs!r} and batches is {batches!r}; expected one of them, above 0."
            )
        self.max_epoch, self.max_batch, self.batch_axis = epochs or None, batches or None, batch_axis
        self.batches_per_epoch = _length(train_data)
        handlers = self._handlers("fit", event_handlers)
        handlers.append(StoppingHandler())
        _add(handlers, GradientUpdateHandler, GradientUpdateHandler)
        _add(handlers, MetricHandler, lambda: MetricHandler(self._train_metrics))
        if val_data is not None:
            _check_data("fit", val_data)
            _add(handlers, ValidationHandler, lambda: ValidationHandler(val_data, self.evaluate))
        if is_terminal(sys.stderr):
            _add(handlers, ProgressHandler, ProgressHandler)
        _add(handlers, LoggingHandler, lambda: LoggingHandler(metrics=self._train_metrics))
        handlers.sort(key=_priority)

        _call(handlers, TrainBegin, "train_begin", self)
        stop = False
        while not stop:
            _call(handlers, EpochBegin, "epoch_begin", self)
            batch = None
            for batch in train_data:
                _call(handlers, BatchBegin, "batch_begin", self, batch=batch)
                _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
                results = {"pred": pred, "label": label, "loss": loss}
                if _call(handlers, BatchEnd, "batch_end", self, batch=batch, **results):
                    break
            if batch is None:  # it would go on for ever, waiting for batches
                raise MXNetValueError(
                    "[fit] train_data gave no batch in an epoch; expected at least one. It is empty, or its sampler "
                    "does not begin again."
                )
            stop = _call(handlers, EpochEnd, "epoch_end", self)
        _call(handlers, TrainEnd, "train_end", self)

    def _handlers(self, who: str, given: Any) -> list[EventHandler]:
        """The handlers that were given, checked."""
        handlers = [given] if isinstance(given, EventHandler) else given or []
        if not isinstance(handlers, (list, tuple)) or not all(
            isinstance(item, EventHandler) for item in handlers
        ):
            raise MXNetValueError(
                f"[{who}] event_handlers is {given!r}; expected an EventHandler or a list of them."
            )
        known = {id(metric) for metric in (*self._train_metrics, *self._val_metrics)}
        for handler in handlers:
            if isinstance(handler, (MetricHandler, LoggingHandler)):
                for metric in handler.metrics:
                    if id(metric) not in known:
                        raise MXNetValueError(
                            f"[{who}] {type(handler).__name__} has the metric {metric.name!r}, which is none of "
                            "estimator.train_metrics and estimator.val_metrics; only these get values."
                        )
        return list(handlers)


def _check(name: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise MXNetValueError(f"[Estimator] {name} is {value!r}; expected a gluon {kind.__name__}.")
    return value


def _contexts(context: Any) -> list[Context]:
    if context is None:
        return [gpu(0) if num_gpus() > 0 else cpu(0)]
    contexts = [context] if isinstance(context, Context) else context
    if not isinstance(contexts, (list, tuple)) or not all(isinstance(item, Context) for item in contexts):
        raise MXNetValueError(f"[Estimator] context is {context!r}; expected a Context or a list of them.")
    for item in contexts:
        if item.device_type == "gpu" and item.device_id >= num_gpus():
            raise AssertedError(f"[Estimator] there is no {item}; this machine has {num_gpus()} GPUs.")
    return list(contexts)


def _check_data(who: str, data: Any) -> None:
    if not isinstance(data, DataLoader):
        raise MXNetValueError(
            f"[{who}] the data is of type {type(data).__name__}; expected a gluon.data.DataLoader. Arrays become one "
            "by gluon.data.ArrayDataset."
        )


def _length(data: Any) -> int | None:
    try:
        return len(data)
    except (TypeError, NotImplementedError):  # a sampler need not know
        return None


def _add(handlers: list[EventHandler], kind: type, make: Any) -> None:
    if not any(isinstance(handler, kind) for handler in handlers):
        handlers.append(make())


def _priority(handler: EventHandler) -> float:
    return getattr(handler, "priority", 0)


def _call(handlers: list[EventHandler], kind: type, event: str, estimator: Estimator, **what: Any) -> bool:
    """Calls the handlers of an event; whether one of them returned something true."""
    answers = [
        getattr(handler, event)(estimator, **what) for handler in handlers if isinstance(handler, kind)
    ]
    return any(answers)
