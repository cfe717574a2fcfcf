# SPDX-License-Identifier: Apache-2.0
"""The interface of modules, and training, scoring and predicting on top of it."""

from __future__ import annotations

import difflib
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _star
from .. import metric as metrics
from .. import optimizer as opt
from .._arguments import as_whole, expect, settings, suggests
from .._passes import Passes
from ..base import MXNetTypeError, MXNetValueError, StateError, as_list
from ..context import cpu
from ..initializer import Uniform
from ..io import DataBatch, DataDesc
from ..io import DataIter as DataIter
from ..kvstore.base import check_type
from ..log import is_silenced, of, progress
from ..model import BatchEndParam
from ..progress_bar import EpochBar
from .unpadded import Unpadded

if TYPE_CHECKING:
    from ..kvstore import KVStore
    from ..metric.base import MetricLike
    from ..monitor import Monitor
    from ..ndarray import NDArray
    from ..optimizer import Optimizer
    from ..symbol import Symbol

__all__ = ["BaseModule"]

# Variables of fit that callbacks do not see: MXNet has no such names.
_UNSEEN = ("scope", "bar", "quiet", "values")


def check_input_names(symbol: Symbol, names: Sequence[str], what: str, throw: bool) -> None:
    """Raises ValueError (or warns) when one of ``names`` is no argument of the symbol."""
    if not hasattr(symbol, "list_arguments"):
        raise MXNetTypeError(f"[Module] symbol is of type {type(symbol).__name__}; expected a Symbol.")
    known = symbol.list_arguments()
    for name in names:
        if name in known:
            continue
        endings = ("_weight", "_bias", "_gamma", "_beta")
        candidates = [argument for argument in known if not argument.endswith(endings)]
        near = difflib.get_close_matches(name, known, 1, 0.6)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        text = (
            f"[Module] {what}_names holds {name!r}, which is no input of the symbol.{hint} "
            f"Its inputs are {candidates[:10]}{' and more' if len(candidates) > 10 else ''}."
        )
        if throw:
            raise MXNetValueError(text)
        logging.getLogger().warning(text)


def as_descriptions(names: Sequence[str], shapes: Any, what: str, throw: bool = True) -> Any:
    """Descriptions from (name, shape) pairs; raises ValueError (or warns) when the names are not the
    module's."""
    try:
        found = [item if isinstance(item, DataDesc) else DataDesc(*item) for item in shapes]
    except TypeError:
        raise MXNetTypeError(
            f"[Module] {what}_shapes are {shapes!r}; expected a list of DataDesc or of (name, shape)."
        ) from None
    if sorted(names) != sorted(item.name for item in found):
        given = [item.name for item in found]
        text = f"[Module] {what}_shapes are for {given}; the module's {what}_names are {names}."
        if throw:
            raise MXNetValueError(text)
        logging.getLogger().warning(text)
    return found


def check_callbacks(who: str, **given: Any) -> None:
    """Raises a TypeError for what cannot be called."""
    for name, callbacks in given.items():
        for callback in as_list(callbacks):
            if callback is not None and not callable(callback):
                raise MXNetTypeError(
                    f"[{who}] {name} holds {callback!r}, of type {type(callback).__name__}; expected a function, a "
                    "list of them, or None."
                )
            # Called for a batch, a class would only make an object.
            wanted = "a function, a list of them, or None"
            expect(not isinstance(callback, type), who, name, callback, wanted)


def check_batch(who: str, batch: Any) -> None:
    """Raises a TypeError unless ``batch`` has a list of arrays, as a DataBatch or a named tuple has."""
    wanted = "a DataBatch, such as mx.io.DataBatch([array])"
    data: Any = getattr(batch, "data", None)
    expect(isinstance(batch, DataBatch) or isinstance(data, (list, tuple)), who, "data_batch", batch, wanted)
    expect(isinstance(data, (list, tuple)), who, "data of the batch", data, "a list of NDArrays")
    for array in data:
        expect(hasattr(array, "copyto"), who, "an input of the batch", array, "an NDArray")


def check_iterator(who: str, what: str, data: Any, reset: bool = True) -> None:
    """Raises a TypeError for what gives no batches, or cannot begin again though it has to."""
    right = hasattr(data, "__iter__") and (hasattr(data, "reset") or not reset)
    expect(right, who, what, data, "a DataIter, such as mx.io.NDArrayIter(...)")


def as_names(names: Any, what: str = "names") -> list[str]:
    """A list of names; a text is one of them.

    >>> as_names("data"), as_names(("a", "b")), as_names(None)
    (['data'], ['a', 'b'], [])
    """
    right = names is None or hasattr(names, "__iter__")
    expect(right, "Module", what, names, "a list of names")
    return [names] if isinstance(names, str) else list(names or [])


def _is_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one is other or one == other)
    except ValueError:  # arrays
        return False


def optimizer_changes(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """What differs between two wishes for a store, an optimizer and its settings, as texts.

    Raises
    ------
    ValueError or TypeError
        When a name in the second one is not known.
    """
    changed = [name for name in wanted if name not in before or not _is_equal(wanted[name], before[name])]
    if changed and isinstance(wanted["optimizer"], str):
        # A schedule would take over the rate.
        others = ("kvstore", "optimizer", "lr_scheduler")
        opt.create(
            wanted["optimizer"], **{name: value for name, value in wanted.items() if name not in others}
        )
    if isinstance(wanted["kvstore"], str):
        check_type(wanted["kvstore"])
    texts = [
        f"{name}={wanted[name]!r} (it has {repr(before[name]) if name in before else 'its default'})"
        for name in changed
    ]
    return texts + [
        f"that {name} is not given (it has {before[name]!r})" for name in before if name not in wanted
    ]


def call_all(callbacks: Any, *args: Any) -> None:
    """Calls one callback, each of a list, or none."""
    if callbacks is not None:
        for callback in as_list(callbacks):
            callback(*args)


class BaseModule:
    """What every module has: see :class:`Module` for the usual one.

    A module is *bound* (shapes known, memory taken), then its parameters are initialised, then its
    optimizer; then come ``forward``, ``backward`` and ``update`` for each batch, which :meth:`fit` does all
    by itself.

    Parameters
    ----------
    logger : Logger
        Where progress is written to.

    Examples
    --------
    >>> import loomix as mx
    >>> isinstance(mx.mod.Module(mx.sym.Variable("data"), label_names=None), mx.mod.BaseModule)
    True
    """

    def __init__(self, logger: Any = logging) -> None:
        expect(
            hasattr(logger, "info"), type(self).__name__, "logger", logger, "a Logger, or the module logging"
        )
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol: Any = None
        self._total_exec_bytes = 0
        self._told_of_row_ids = False
        self._batches_seen: int | None = None  # in the last epoch
        self._optimizer_asked: dict[str, Any] | None = None  # the store, the optimizer and its settings
        self._ignored: list[str] = []  # of what was asked for later
        self._passes = Passes(type(self).__name__)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_passes"]
        state["_optimizer_asked"] = None
        if self.logger is logging:
            state["logger"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.logger = logging if self.logger is None else self.logger
        self._passes = Passes(type(self).__name__)

    def __repr__(self) -> str:
        def text(items: Any) -> str:
            return ", ".join(f"{item[0]} {tuple(item[1])}" for item in items or ())

        name = type(self).__name__
        if not self.binded:
            return f"<{name}: not bound>"
        try:
            parts = [text(self.data_shapes), "->", text(self.output_shapes)]
        except NotImplementedError:  # of a subclass
            parts = []
        steps = (
            ("for training" if self.for_training else "for prediction", True),
            ("parameters set", self.params_initialized),
            ("optimizer set", self.optimizer_initialized),
        )
        return f"<{name}: {' '.join(parts)}; {', '.join(step for step, done in steps if done)}>"

    def _require(self, params: Any = True, optimizer: Any = False) -> None:
        """Raises StateError unless the module is far enough for a call."""
        missing = None
        if not self.binded:
            missing = "bind"
        elif params and not self.params_initialized:
            missing = "init_params"
        elif optimizer and not self.optimizer_initialized:
            missing = "init_optimizer"
        if missing:
            called = sys._getframe(1).f_code.co_name
            raise StateError(f"[{type(self).__name__}.{called}] {missing} must be called first.")

    def _keeps_optimizer(self, kvstore: Any, optimizer: Any, optimizer_params: Any, force_init: bool) -> bool:
        """Whether there is an optimizer, which stays. What else was asked for is checked, and told once."""
        given = settings("init_optimizer", "optimizer_params", optimizer_params)
        wanted = {"kvstore": kvstore, "optimizer": optimizer, **given}
        if not self.optimizer_initialized or force_init:
            self._optimizer_asked, self._ignored = wanted, []
            return False
        ignored = ["kvstore, optimizer and optimizer_params"]
        if self._optimizer_asked is not None:
            ignored = optimizer_changes(self._optimizer_asked, wanted)
        if ignored and ignored != self._ignored:
            of(self.logger).warning(
                "optimizer already initialized, ignoring %s. init_optimizer(..., force_init=True) makes a new one, "
                "without the states of the one there is.",
                ", ".join(ignored),
            )
        self._ignored = ignored
        return True

    # Interface of subclasses

    @property
    def data_names(self) -> Any:
        """Names of the inputs."""
        raise NotImplementedError

    @property
    def output_names(self) -> Any:
        """Names of the outputs."""
        raise NotImplementedError

    @property
    def data_shapes(self) -> Any:
        """Descriptions of the inputs."""
        raise NotImplementedError

    @property
    def label_shapes(self) -> Any:
        """Descriptions of the labels, or None."""
        raise NotImplementedError

    @property
    def output_shapes(self) -> Any:
        """(name, shape) pairs of the outputs."""
        raise NotImplementedError

    @property
    def symbol(self) -> Any:
        """The symbol of the module."""
        return self._symbol

    def get_params(self) -> Any:
        """Parameters and auxiliary states, as two dicts of name to NDArray on the CPU."""
        raise NotImplementedError

    def init_params(
        self,
        initializer: Callable[..., Any] | None = Uniform(0.01),
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> Any:
        """Sets the first values of parameters and auxiliary states.

        Parameters
        ----------
        initializer : Initializer or None
            Fills what is not given.
        arg_params, aux_params : dict of str to NDArray, optional
            Given values.
        allow_missing : bool
            Whether ``initializer`` may fill parameters that are missing in given dicts.
        force_init : bool
            Whether to do it again if it has been done.
        allow_extra : bool
            Has no effect here, as in MXNet: given names that the symbol lacks are always left out. ``set_params``
            refuses them if ``allow_missing=True`` and this is False.
        """
        raise NotImplementedError

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    ) -> Any:
        """Prepares the computation for given shapes.

        Parameters
        ----------
        data_shapes, label_shapes : list of DataDesc or of (name, shape)
            Shapes of a batch.
        for_training : bool
            Whether gradients will be computed.
        inputs_need_grad : bool
            Whether those of the inputs, too.
        force_rebind : bool
            Whether to do it again if it has been done.
        shared_module : BaseModule, optional
            A module whose parameters and memory are used.
        grad_req : str, list or dict
            ``"write"``, ``"add"`` or ``"null"``, for all or for each argument.
        """
        raise NotImplementedError

    def init_optimizer(
        self,
        kvstore: str | KVStore = "local",
        optimizer: str | Optimizer = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> Any:
        """Makes the optimizer and, with several devices, the store.

        Parameters
        ----------
        kvstore : str, KVStore or None
            The store, or its type.
        optimizer : str or Optimizer
            The optimizer, or its name.
        optimizer_params : dict or pairs
            Arguments for an optimizer given by name.
        force_init : bool
            Whether to do it again if it has been done.
        """
        raise NotImplementedError

    def prepare(self, data_batch: DataBatch, sparse_row_id_fn: Callable[[Any], Any] | None = None) -> None:
        """Gets ready for a batch before its ``forward``; e.g. switches to its bucket.

        Parameters
        ----------
        data_batch : DataBatch
            The batch.
        sparse_row_id_fn : callable, optional
            Takes the batch and returns the rows that it needs of row_sparse parameters: a dict of name to row
            numbers. Only these are brought from the store. It is for modules that keep their parameters on a
            store, others warn once.
        """
        if sparse_row_id_fn is not None and not self._told_of_row_ids:
            self._told_of_row_ids = True
            of(self.logger).warning("sparse_row_id_fn is not used: no store has the parameters.")

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> Any:
        """Computes the outputs for a batch; ``is_train`` None means as bound."""
        raise NotImplementedError

    def backward(self, out_grads: Any = None) -> Any:
        """Computes the gradients, from those of the outputs unless the symbol ends in losses."""
        raise NotImplementedError

    def update(self) -> Any:
        """Changes the parameters by the gradients of the last batch."""
        raise NotImplementedError

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        """Outputs of the last ``forward``.

        Returns
        -------
        list of NDArray
            One for each output; unmerged, one list of the devices' parts for each output.
        """
        raise NotImplementedError

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        """Gradients of the inputs of the last ``backward``, like :meth:`get_outputs`."""
        raise NotImplementedError

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Values of the states (inputs that go on from batch to batch)."""
        return []

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Sets the states, to arrays or to one number."""
        if states:
            raise MXNetValueError(f"[{type(self).__name__}] the module has no states.")

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> Any:
        """Updates a metric with the outputs of the last ``forward``."""
        raise NotImplementedError

    def install_monitor(self, mon: Monitor) -> Any:
        """Lets a :class:`Monitor` watch the executors."""
        raise NotImplementedError

    # On top of it

    def forward_backward(self, data_batch: DataBatch) -> None:
        """``forward`` in training mode, then ``backward``."""
        with self._passes:
            self.forward(data_batch, is_train=True)
            self.backward()

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray],
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Sets parameters and auxiliary states; see :meth:`init_params`."""
        self.init_params(
            initializer=None,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
            allow_extra=allow_extra,
        )

    def save_params(self, fname: str) -> None:
        """Writes parameters and auxiliary states to a file."""
        from ..ndarray import save

        arg_params, aux_params = self.get_params()
        arrays = {f"arg:{name}": array.as_in_context(cpu()) for name, array in arg_params.items()}
        arrays.update((f"aux:{name}", array.as_in_context(cpu())) for name, array in aux_params.items())
        save(fname, arrays)

    def load_params(self, fname: str) -> None:
        """Reads what :meth:`save_params` wrote.

        Raises
        ------
        ValueError
            When the file holds other names than ``arg:NAME`` and ``aux:NAME``.
        """
        kinds: dict[str, dict[str, NDArray]] = {"arg": {}, "aux": {}}
        for key, array in self._load(fname).items():
            kind, _, name = key.partition(":")
            if kind not in kinds or not name:
                raise MXNetValueError(f"[load_params] {fname} holds {key!r}; expected arg:NAME or aux:NAME.")
            kinds[kind][name] = array
        self.set_params(kinds["arg"], kinds["aux"])

    def _load(self, fname: str) -> Any:
        from ..ndarray import load

        return load(fname)

    def score(
        self,
        eval_data: Any,
        eval_metric: MetricLike,
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        score_end_callback: Any = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Evaluates predictions on data.

        What fills up the last batch (``batch.pad``) is not measured where samples lie along the first axis of labels
        and outputs. :meth:`predict` leaves it out, too.

        Parameters
        ----------
        eval_data : DataIter
            The data.
        eval_metric : EvalMetric, str or list
            What to measure.
        num_batch : int, optional
            At most so many batches.
        batch_end_callback, score_end_callback : callable or list of them, optional
            Called with a BatchEndParam after each batch, and at the end.
        reset : bool
            Whether the iterator is reset first.
        epoch : int
            For the callbacks.

        Returns
        -------
        list of (str, float)
            Names and values of the metric.
        """
        self._require()
        check_iterator("score", "eval_data", eval_data, reset)
        check_callbacks("score", batch_end_callback=batch_end_callback, score_end_callback=score_end_callback)
        if reset:
            eval_data.reset()
        eval_metric = metrics.create(eval_metric)
        eval_metric.reset()
        actual_num_batch = 0
        for nbatch, eval_batch in enumerate(eval_data):
            if num_batch is not None and nbatch == num_batch:
                break
            self.prepare(eval_batch, sparse_row_id_fn)
            self.forward(eval_batch, is_train=False)
            pad = getattr(eval_batch, "pad", None)
            self._measure(Unpadded(eval_metric, eval_batch, pad) if pad else eval_metric, eval_batch)
            call_all(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
            actual_num_batch += 1
        if actual_num_batch == 0 and num_batch != 0:
            of(self.logger).warning("[score] eval_data gave no batch, so there is nothing to measure.")
        if score_end_callback is not None:
            call_all(score_end_callback, BatchEndParam(epoch, actual_num_batch, eval_metric, locals()))
        return eval_metric.get_global_name_value()

    def _measure(self, eval_metric: Any, batch: Any) -> None:
        if isinstance(batch, list):
            self.update_metric(eval_metric, [part.label for part in batch], pre_sliced=True)
        else:
            self.update_metric(eval_metric, batch.label)

    def iter_predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        reset: bool = True,
        sparse_row_id_fn: Callable[[Any], Any] | None = None,
    ) -> Iterator[Any]:
        """Yields (outputs, number, batch) for the batches of ``eval_data``, without the padding of the last
        one."""
        self._require()
        check_iterator("iter_predict", "eval_data", eval_data, reset)
        if reset:
            eval_data.reset()
        for nbatch, batch in enumerate(eval_data):
            if num_batch is not None and nbatch == num_batch:
                break
            self.prepare(batch, sparse_row_id_fn)
            self.forward(batch, is_train=False)
            pad = batch.pad or 0
            yield [out[0 : out.shape[0] - pad] for out in self.get_outputs()], nbatch, batch

    def predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Outputs for all data.

        Parameters
        ----------
        eval_data : DataIter, NDArray or numpy.ndarray
            The data; an array is one batch.
        num_batch : int, optional
            At most so many batches.
        merge_batches : bool
            Whether the batches' outputs are joined.
        reset : bool
            Whether the iterator is reset first.
        always_output_list : bool
            Whether a single output comes in a list, too.

        Returns
        -------
        NDArray, list of NDArray, or list of lists
            The joined outputs, else one list of outputs for each batch.
        """
        from ..ndarray import NDArray, array, concatenate

        self._require()
        if isinstance(eval_data, (np.ndarray, NDArray)):
            eval_data = eval_data if isinstance(eval_data, NDArray) else array(eval_data)
            self.forward(DataBatch([eval_data]), is_train=False)
            outputs = self.get_outputs()
            return outputs[0] if len(outputs) == 1 and not always_output_list else outputs
        if not hasattr(eval_data, "__iter__") or (reset and not hasattr(eval_data, "reset")):
            raise MXNetValueError(  # of MXNet's type
                f"[predict] got an object of type {type(eval_data).__name__}; expected an iterator or an array."
            )
        batches = [
            [out.copy() for out in outputs]
            for outputs, _, _ in self.iter_predict(eval_data, num_batch, reset, sparse_row_id_fn)
        ]
        if not batches or not merge_batches:
            return batches
        if len({len(outputs) for outputs in batches}) > 1:
            raise MXNetValueError(
                "[predict] batches differ in their number of outputs; use merge_batches=False."
            )
        merged = [concatenate(list(parts)) for parts in zip(*batches)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    @suggests(
        batch_size="The batches are the iterator's: give it to mx.io.NDArrayIter(..., batch_size=...)",
        context="It belongs to the module: mx.mod.Module(symbol, context=...)",
        ctx="It belongs to the module: mx.mod.Module(symbol, context=...)",
        learning_rate="It is the optimizer's: give optimizer_params={'learning_rate': ...}",
        lr="It is the optimizer's: give optimizer_params={'learning_rate': ...}",
        momentum="It is the optimizer's: give optimizer_params={'momentum': ...}",
        wd="It is the optimizer's: give optimizer_params={'wd': ...}",
    )
    def fit(
        self,
        train_data: Any,
        eval_data: Any = None,
        eval_metric: MetricLike = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: str | KVStore = "local",
        optimizer: str | Optimizer = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
        initializer: Callable[..., Any] | None = Uniform(0.01),
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: MetricLike | None = None,
        monitor: Monitor | None = None,
        sparse_row_id_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        """Trains the module: binds it, initialises it, and goes through the data ``num_epoch - begin_epoch``
        times.

        Parameters
        ----------
        train_data : DataIter
            Training data.
        eval_data : DataIter, optional
            Validation data, scored after each epoch.
        eval_metric : EvalMetric, str or list
            What to measure in training.
        epoch_end_callback : callable or list of them, optional
            Called as ``f(epoch, symbol, arg_params, aux_params)``.
        batch_end_callback, eval_batch_end_callback, eval_end_callback : callable or list of them, optional
            Called with a BatchEndParam.
        kvstore, optimizer, optimizer_params
            For :meth:`init_optimizer`. A module that has its optimizer keeps it, and a warning says what else was
            asked for; ``init_optimizer(..., force_init=True)`` before `fit` makes a new one.
        initializer, arg_params, aux_params, allow_missing, force_init
            For :meth:`init_params`.
        force_rebind : bool
            Whether a bound module is bound again.
        begin_epoch, num_epoch : int
            First epoch, and the number after the last. Without an epoch between them the module is made ready, and
            a warning says that nothing was trained.
        validation_metric : EvalMetric, str or list, optional
            What to measure in validation; ``eval_metric`` by default.
        monitor : Monitor, optional
            Watches the executors.

        Examples
        --------
        >>> import loomix as mx
        >>> module.fit(batches, num_epoch=2, optimizer_params={"learning_rate": 0.1})  # doctest: +SKIP
        """
        if num_epoch is None:
            raise MXNetValueError("[fit] num_epoch is missing; expected how many epochs to train.")
        as_whole("fit", "num_epoch", num_epoch, least=0)
        check_callbacks(
            "fit",
            epoch_end_callback=epoch_end_callback,
            batch_end_callback=batch_end_callback,
            eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
        )
        as_whole("fit", "begin_epoch", begin_epoch)
        expect(hasattr(train_data, "provide_data"), "fit", "train_data", train_data, "a DataIter")
        if eval_data is not None:
            check_iterator("fit", "eval_data", eval_data)
        expect(
            monitor is None or hasattr(monitor, "install"), "fit", "monitor", monitor, "a Monitor, or None"
        )
        optimizer_params = settings("fit", "optimizer_params", optimizer_params)
        if force_rebind or not (self.binded and self.for_training):  # a trained module goes on as it is
            self.bind(
                train_data.provide_data,
                train_data.provide_label,
                for_training=True,
                force_rebind=force_rebind,
            )
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(initializer, arg_params, aux_params, allow_missing, force_init)
        self.init_optimizer(kvstore, optimizer, optimizer_params)
        if begin_epoch >= num_epoch:
            of(self.logger).warning(
                "[fit] no epoch is trained: begin_epoch is %d and num_epoch %d, the number after the last.",
                begin_epoch,
                num_epoch,
            )
        self._batches_seen = None
        validation_metric = eval_metric if validation_metric is None else validation_metric
        eval_metric = metrics.create(eval_metric)
        for epoch in range(begin_epoch, num_epoch):
            tic = time.time()
            eval_metric.reset()
            if not self._train_epoch(train_data, eval_metric, locals()):
                train_data.reset()
                continue
            for name, value in eval_metric.get_global_name_value():
                progress(self.logger, "Epoch[%d] Train-%s=%f", epoch, name, value)
            progress(self.logger, "Epoch[%d] Time cost=%.3f", epoch, time.time() - tic)
            if epoch_end_callback is not None or not self._is_split():
                arg_params, aux_params = self.get_params()
                self.set_params(arg_params, aux_params)  # every device goes on from the same values
            call_all(epoch_end_callback, epoch, self.symbol, arg_params, aux_params)
            if eval_data is not None:
                scores = self.score(
                    eval_data,
                    validation_metric,
                    score_end_callback=eval_end_callback,
                    batch_end_callback=eval_batch_end_callback,
                    epoch=epoch,
                )
                for name, value in scores:
                    progress(self.logger, "Epoch[%d] Validation-%s=%f", epoch, name, value)
            train_data.reset()

    def _is_split(self) -> bool:
        """Whether the parameters are in parts on several ranks."""
        return False

    def _pass_over(self, data_iter: Any, epoch: int) -> tuple[int, Any]:
        """Leaves out the batches of an epoch that this worker trained on before it was started again.

        Returns how many these are, and the batch to go on with, or None.
        """
        return 0, next(data_iter, None)

    def _train_epoch(self, train_data: Any, eval_metric: Any, scope: dict[str, Any]) -> bool:
        """One pass; the next batch is fetched while the engine works on the current one.

        ``scope`` holds the variables of :meth:`fit`, which callbacks see together with those of the batch. Returns
        False if all batches were left out.
        """
        epoch, monitor = scope["epoch"], scope["monitor"]
        # Callbacks write lines of their own.
        quiet = scope["batch_end_callback"] is not None or monitor is not None
        bar = None if quiet else self._bar(train_data, scope)
        data_iter = iter(train_data)
        nbatch, data_batch = self._pass_over(data_iter, epoch)
        if nbatch > 0 and data_batch is None:
            return False
        while data_batch is not None:
            if monitor is not None:
                monitor.tic()
            self.forward_backward(data_batch)
            self.update()
            self._measure(eval_metric, data_batch)
            next_data_batch = next(data_iter, None)
            end_of_batch = next_data_batch is None
            if next_data_batch is not None:
                self.prepare(next_data_batch, scope["sparse_row_id_fn"])
            if monitor is not None:
                monitor.toc_print()
            if scope["batch_end_callback"] is not None:
                values = {key: v for key, v in {**scope, **locals()}.items() if key not in _UNSEEN}
                call_all(scope["batch_end_callback"], BatchEndParam(epoch, nbatch, eval_metric, values))
            if bar is not None:
                bar.step(
                    nbatch + 1, _samples(data_batch), getattr(eval_metric, "get_global_name_value", None)
                )
            data_batch = next_data_batch
            nbatch += 1
        if nbatch == 0:
            raise MXNetValueError(
                f"[fit] train_data gave no batch in epoch {epoch}; expected at least one. It is empty, or was read to "
                "its end before: train_data.reset() begins again."
            )
        self._batches_seen = nbatch
        if bar is not None:
            bar.clear()
        return True

    def _bar(self, train_data: Any, scope: dict[str, Any]) -> EpochBar:
        total = self._batches_seen
        if total is None and getattr(train_data, "num_data", None) is not None and train_data.batch_size:
            total = -(-train_data.num_data // train_data.batch_size)
        wanted = not is_silenced(of(self.logger))
        return EpochBar(scope["epoch"], scope["num_epoch"], total, wanted=wanted)


def _samples(batch: Any) -> int:
    first = batch[0] if isinstance(batch, list) and batch else batch
    data = getattr(first, "data", None)
    return data[0].shape[0] if data else 0


_star.complete(
    globals(),
    "BatchEndParam DataBatch DataDesc DataIter Uniform cpu logging metric ndarray np time warnings",
    "_as_list",
)
