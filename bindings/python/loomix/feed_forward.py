# SPDX-License-Identifier: Apache-2.0
"""Networks in the style of scikit-learn: the interface that MXNet had before modules."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .base import MXNetTypeError, MXNetValueError, StateError, as_list
from .callback import LogValidationMetricsCallback
from .context import as_context_list, cpu
from .initializer import Uniform
from .io import DataIter, NDArrayIter, ResizeIter
from .model import BatchEndParam, load_checkpoint, save_checkpoint

if TYPE_CHECKING:
    from .kvstore import KVStore
    from .monitor import Monitor
    from .ndarray import NDArray
    from .symbol import Symbol

__all__ = ["FeedForward"]


def _counting_from_one(callbacks: Any) -> Any:
    """Batch-end callbacks that are told of the first batch as number 1, as this class always did."""

    def counting(callback: Any) -> Any:
        return lambda param: callback(BatchEndParam(param.epoch, param.nbatch + 1, *param[2:]))

    return None if callbacks is None else [counting(callback) for callback in as_list(callbacks)]


def _is_iterator(data: Any) -> bool:
    return isinstance(data, DataIter) or hasattr(data, "provide_data")


class FeedForward:
    """A network with its parameters, that is trained on arrays or iterators. :class:`Module` can do more.

    Parameters
    ----------
    symbol : Symbol or callable
        The network; a callable gives the symbol for a bucket's key.
    ctx : Context or list of Context, optional
        The devices; the CPU by default.
    num_epoch : int, optional
        The number after the last epoch.
    epoch_size : int, optional
        Batches in an epoch; the next epoch goes on after them. By default all that the data have.
    optimizer : str or Optimizer
        The optimizer.
    initializer : Initializer
        Fills parameters that are not given.
    numpy_batch_size : int
        Samples in a batch where the data are arrays.
    arg_params, aux_params : dict of str to NDArray, optional
        Parameters to begin with.
    allow_extra_params : bool
        Whether they may hold names that the network has not.
    begin_epoch : int
        First epoch.
    **kwargs
        Arguments of the optimizer.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2), name="softmax")
    >>> model = mx.model.FeedForward(net, num_epoch=1, learning_rate=0.1)
    >>> model.fit(np.ones((8, 3)), np.zeros(8))
    >>> model.predict(np.ones((8, 3))).shape
    (8, 2)
    """

    def __init__(
        self,
        symbol: Any,
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = Uniform(0.01),
        numpy_batch_size: int = 128,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        warnings.warn(
            "FeedForward is deprecated; use mx.mod.Module, which can do more.",
            DeprecationWarning,
            stacklevel=2,
        )
        generates = not hasattr(symbol, "list_arguments")
        if generates and not callable(symbol):
            raise MXNetTypeError(
                f"[FeedForward] symbol is of type {type(symbol).__name__}; expected a Symbol or a function of bucket "
                "keys."
            )
        self.sym_gen = symbol if generates else None
        self.symbol: Any = None if generates else symbol
        self.ctx = [cpu()] if ctx is None else as_context_list(ctx)
        self.num_epoch = num_epoch
        self.epoch_size = epoch_size
        self.optimizer = optimizer
        self.initializer = initializer
        self.numpy_batch_size = numpy_batch_size
        self.arg_params: Any = arg_params
        self.aux_params: Any = aux_params
        self.allow_extra_params = allow_extra_params
        self.begin_epoch = begin_epoch
        self.kwargs = kwargs
        self._bucket_key: Any = None  # of the data that came last, for arrays
        if self.symbol is not None:
            self._check_arguments()

    def __repr__(self) -> str:
        network = f"made by {self.sym_gen!r}" if self.symbol is None else repr(self.symbol)
        trained = "with parameters" if self.arg_params else "without parameters"
        settings = f"num_epoch={self.num_epoch}, optimizer={self.optimizer!r}"
        return f"<{type(self).__name__}: {network}, {settings}, {trained}>"

    def _check_arguments(self) -> None:
        """Raises ValueError for names that occur twice, or that the network has not; drops the latter if allowed."""
        names = {
            "arg_params": self.symbol.list_arguments(),
            "aux_params": self.symbol.list_auxiliary_states(),
        }
        for known in names.values():
            doubled = sorted({name for name in known if known.count(name) > 1})
            if doubled:
                raise MXNetValueError(f"[FeedForward] the network has several variables called {doubled}.")
        for kind, known in names.items():
            given = getattr(self, kind)
            extra = sorted(set(given or ()) - set(known))
            if extra and not self.allow_extra_params:
                raise MXNetValueError(
                    f"[FeedForward] {extra} are no parameters of the network; allow_extra_params=True ignores them."
                )
            if extra:
                setattr(self, kind, {name: array for name, array in given.items() if name in known})

    # Data

    def _iterator(self, data: Any, labels: Any, training: bool) -> Any:
        """The data as an iterator; arrays become batches."""
        from .ndarray import NDArray

        if _is_iterator(data):
            return data
        if not isinstance(data, (np.ndarray, NDArray)):
            raise MXNetTypeError(
                f"[FeedForward] X is of type {type(data).__name__}; expected a DataIter, an NDArray or a numpy.ndarray."
            )
        if labels is None:
            if training:
                raise MXNetValueError("[FeedForward] y is missing; expected labels, as X is an array.")
            labels = np.zeros(data.shape[0])
        if not isinstance(labels, (np.ndarray, NDArray)):
            raise MXNetTypeError(
                f"[FeedForward] y is of type {type(labels).__name__}; expected an NDArray or a numpy.ndarray, as X is "
                "one."
            )
        if data.shape[0] != labels.shape[0]:
            raise MXNetValueError(
                f"[FeedForward] there are {data.shape[0]} samples but {labels.shape[0]} labels."
            )
        if len(labels.shape) == 2 and labels.shape[1] == 1:
            labels = labels.reshape((-1,))
        if len(labels.shape) != 1:
            raise MXNetValueError(f"[FeedForward] y has shape {labels.shape}; expected one label a sample.")
        batch_size = min(data.shape[0], self.numpy_batch_size)
        handling = "roll_over" if training else "pad"
        return NDArrayIter(data, labels, batch_size, shuffle=training, last_batch_handle=handling)

    def _evaluation_iterator(self, data: Any) -> Any:
        if not isinstance(data, (tuple, list)):
            return data
        if len(data) != 2 or data[0] is None:
            raise MXNetValueError("[FeedForward] eval_data must be an iterator or a pair of data and labels.")
        if _is_iterator(data[0]):
            return data[0]
        return self._iterator(np.asarray(data[0]), np.asarray(data[1]), training=False)

    # Modules

    def _module(self, data: Any, logger: Any, work_load_list: Any = None) -> Any:
        """A module for batches of ``data``."""
        from .module import BucketingModule, Module

        inputs, labels = (
            [item[0] for item in data.provide_data],
            [item[0] for item in data.provide_label or []],
        )
        settings = {"logger": logger, "context": self.ctx, "work_load_list": work_load_list}
        if self.sym_gen is not None:
            key = getattr(data, "default_bucket_key", self._bucket_key)
            self._bucket_key = key
            self.symbol = self.sym_gen(key)
            self._check_arguments()
            generate = self.sym_gen
            return BucketingModule(lambda key: (generate(key), inputs, labels), key, **settings)
        return Module(self.symbol, inputs, labels, **settings)

    def _predictor(self, data: Any) -> Any:
        """A module with the parameters, bound for prediction."""
        if self.arg_params is None:
            raise StateError("[FeedForward] there are no parameters; call fit first, or give arg_params.")
        module = self._module(data, logging)
        arguments = set(self.symbol.list_arguments())
        labels = [item for item in data.provide_label or [] if item[0] in arguments]
        module.bind(data.provide_data, labels, for_training=False)
        module.init_params(None, self.arg_params, self.aux_params or {})
        return module

    def predict(
        self, X: Any, num_batch: int | None = None, return_data: bool = False, reset: bool = True
    ) -> Any:
        """Outputs for all samples.

        Parameters
        ----------
        X : DataIter, NDArray or numpy.ndarray
            The data.
        num_batch : int, optional
            At most so many batches.
        return_data : bool
            Whether data and labels are returned, too.
        reset : bool
            Whether the iterator is reset first.

        Returns
        -------
        numpy.ndarray, or list of them
            One for each output; with ``return_data`` a tuple (outputs, data, labels).
        """
        data = self._iterator(X, None, training=False)
        columns: list[list[list[Any]]] = [[], [], []]
        for outputs, _, batch in self._predictor(data).iter_predict(data, num_batch, reset):
            kept = batch.data[0].shape[0] - (batch.pad or 0)
            columns[0].append([output.asnumpy() for output in outputs])
            if return_data:
                columns[1].append([array.asnumpy()[:kept] for array in batch.data])
                columns[2].append([array.asnumpy()[:kept] for array in batch.label or []])
        joined = [[np.concatenate(parts) for parts in zip(*batches)] for batches in columns]
        results = tuple(parts[0] if len(parts) == 1 else parts for parts in joined)
        return results if return_data else results[0]

    def score(
        self,
        X: Any,
        eval_metric: Any = "acc",
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        reset: bool = True,
    ) -> Any:
        """The value of a metric (a list of several) on data with labels.

        Parameters
        ----------
        X : DataIter, NDArray or numpy.ndarray
            The data; arrays have labels of 0.
        eval_metric : EvalMetric, str or list
            What to measure.
        num_batch : int, optional
            At most so many batches.
        batch_end_callback : callable or list of them, optional
            Called with a BatchEndParam.
        reset : bool
            Whether the iterator is reset first.
        """
        from . import metric as metrics

        data = self._iterator(X, None, training=False)
        eval_metric = metrics.create(eval_metric)
        self._predictor(data).score(
            data, eval_metric, num_batch, batch_end_callback=batch_end_callback, reset=reset
        )
        return eval_metric.get()[1]

    def fit(
        self,
        X: Any,
        y: Any = None,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: str | KVStore = "local",
        logger: Any = None,
        work_load_list: Any = None,
        monitor: Monitor | None = None,
        eval_end_callback: Any = LogValidationMetricsCallback(),
        eval_batch_end_callback: Any = None,
    ) -> None:
        """Trains the network.

        Parameters
        ----------
        X : DataIter, NDArray or numpy.ndarray
            The data.
        y : NDArray or numpy.ndarray, optional
            The labels, where X is an array.
        eval_data : DataIter or pair of arrays, optional
            Validation data.
        eval_metric, epoch_end_callback, batch_end_callback, kvstore, monitor, eval_end_callback, \
eval_batch_end_callback
            As for :meth:`Module.fit`.
        logger : Logger, optional
            Where progress is written to.
        work_load_list : list of float, optional
            The devices' shares of a batch.
        """
        if self.num_epoch is None:
            raise MXNetTypeError("[FeedForward] num_epoch is missing; expected how many epochs to train.")
        data = self._iterator(X, y, training=True)
        module = self._module(data, logging if logger is None else logger, work_load_list)
        if self.epoch_size is not None:
            data.reset()
            data = ResizeIter(data, self.epoch_size, reset_internal=False)
        module.fit(
            data,
            self._evaluation_iterator(eval_data),
            eval_metric,
            epoch_end_callback,
            _counting_from_one(batch_end_callback),
            kvstore,
            self.optimizer,
            self.kwargs,
            eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
            initializer=self.initializer,
            arg_params=self.arg_params,
            aux_params=self.aux_params,
            allow_missing=True,
            begin_epoch=self.begin_epoch,
            num_epoch=self.num_epoch,
            monitor=monitor,
        )
        self.arg_params, self.aux_params = module.get_params()

    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Writes ``prefix-symbol.json`` and ``prefix-EPOCH.params``; the epoch is ``num_epoch`` by default."""
        if self.arg_params is None:
            raise StateError("[FeedForward] there are no parameters to save; call fit first.")
        epoch = self.num_epoch if epoch is None else epoch
        if epoch is None:
            raise MXNetTypeError("[FeedForward] epoch is missing; expected the number for the file.")
        save_checkpoint(prefix, epoch, self.symbol, self.arg_params, self.aux_params or {}, remove_amp_cast)

    @staticmethod
    def load(prefix: str, epoch: int, ctx: Any = None, **kwargs: Any) -> FeedForward:
        """A model from the files of a checkpoint; ``kwargs`` go to the class."""
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        return FeedForward(
            symbol, ctx=ctx, arg_params=arg_params, aux_params=aux_params, begin_epoch=epoch, **kwargs
        )

    @staticmethod
    def create(
        symbol: Symbol,
        X: Any,
        y: Any = None,
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = Uniform(0.01),
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: str | KVStore = "local",
        logger: Any = None,
        work_load_list: Any = None,
        eval_end_callback: Any = LogValidationMetricsCallback(),
        eval_batch_end_callback: Any = None,
        **kwargs: Any,
    ) -> FeedForward:
        """A model that is trained already; the arguments are those of the class and of :meth:`fit`."""
        model = FeedForward(
            symbol,
            ctx=ctx,
            num_epoch=num_epoch,
            epoch_size=epoch_size,
            optimizer=optimizer,
            initializer=initializer,
            **kwargs,
        )
        model.fit(
            X,
            y,
            eval_data=eval_data,
            eval_metric=eval_metric,
            epoch_end_callback=epoch_end_callback,
            batch_end_callback=batch_end_callback,
            kvstore=kvstore,
            logger=logger,
            work_load_list=work_load_list,
            eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
        )
        return model
