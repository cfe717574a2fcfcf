# SPDX-License-Identifier: Apache-2.0
"""The usual module: one symbol on one device or several."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _star
from .. import optimizer as opt
from .._arguments import as_mapping, as_number, expect, settings
from ..base import MXNetError, MXNetTypeError, MXNetValueError, StateError, as_list
from ..context import as_context_list, cpu, current_context
from ..executor import split_of
from ..initializer import InitDesc, Uniform
from ..initializer import create as create_initializer
from ..io import DataDesc
from ..kvstore import write_bytes
from ..log import note, of
from ..model import (
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
    checkpoint_by,
    checkpoint_name,
    read_whole,
    save_checkpoint,
    write_whole,
)
from ..ndarray import array, load, zeros
from ..ndarray.utils import load_mapped
from ..symbol import Symbol
from .base_module import BaseModule, as_descriptions, as_names, check_batch, check_input_names
from .executor_group import DataParallelExecutorGroup

if TYPE_CHECKING:
    from ..io import DataBatch
    from ..kvstore import KVStore
    from ..monitor import Monitor
    from ..ndarray import NDArray
    from ..optimizer import Optimizer

__all__ = ["Module"]


def as_arrays(who: str, what: str, given: Any) -> dict[str, NDArray]:
    """A dict of names to NDArrays, of one that may hold NumPy arrays and lists, too."""
    arrays = {}
    for name, value in as_mapping(who, what, given).items():
        right = hasattr(value, "copyto") or isinstance(value, (np.ndarray, list, tuple))
        expect(right, who, f"{name!r} in {what}", value, "an array")
        arrays[name] = value if hasattr(value, "copyto") else array(value)
    return arrays


def check_metric(who: str, metric: Any, labels: Any) -> None:
    """Raises a TypeError unless the metric takes outputs by their names, and the labels are a list."""
    wanted = "an EvalMetric, such as mx.metric.create('acc')"
    expect(hasattr(metric, "update_dict"), who, "eval_metric", metric, wanted)
    expect(
        labels is None or isinstance(labels, (list, tuple)),
        who,
        "labels",
        labels,
        "a list of NDArrays, or None",
    )


class Module(BaseModule):
    """A symbol, its parameters, and an optimizer.

    Parameters
    ----------
    symbol : Symbol
        The network.
    data_names, label_names : str or sequence of str
        Arguments that are inputs and labels; the others are parameters.
    logger : Logger
        Where progress is written to.
    context : Context or list of Context
        The devices; a batch is split over several. The default device by default.
    work_load_list : list of float, optional
        The devices' shares of a batch.
    fixed_param_names : list of str, optional
        Parameters that are not trained.
    state_names : list of str, optional
        Inputs that are kept from batch to batch.
    group2ctxs : dict or list of dict, optional
        Devices of the symbol's ``ctx_group`` attributes.
    compression_params : dict, optional
        Gradient compression of the store.

    Raises
    ------
    ValueError
        When a name is not an argument of the symbol.

    Examples
    --------
    >>> import loomix as mx
    >>> data = mx.sym.Variable("data")
    >>> net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=10), name="softmax")
    >>> module = mx.mod.Module(net, context=[mx.cpu(0), mx.cpu(1)])
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] = ("softmax_label",),
        logger: Any = logging,
        context: Any = None,
        work_load_list: Any = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(symbol, Symbol):
            raise MXNetTypeError(f"[Module] symbol is of type {type(symbol).__name__}; expected a Symbol.")
        super().__init__(logger)
        self._context = as_context_list(current_context() if context is None else context)
        shares = work_load_list or [1] * len(self._context)
        expect(isinstance(shares, (list, tuple)), "Module", "work_load_list", shares, "a list of numbers")
        self._work_load_list = [
            as_number("Module", "a share in work_load_list", share, 0) for share in shares
        ]
        if len(self._work_load_list) != len(self._context):
            raise MXNetValueError(
                f"[Module] work_load_list has {len(self._work_load_list)} entries for {len(self._context)} "
                f"contexts."
            )
        self._symbol = symbol
        self._data_names = as_names(data_names, "data_names")
        self._label_names = as_names(label_names, "label_names")
        self._state_names = as_names(state_names, "state_names")
        self._fixed_param_names = as_names(fixed_param_names, "fixed_param_names")
        check_input_names(symbol, self._data_names, "data", throw=True)
        check_input_names(symbol, self._label_names, "label", throw=False)
        check_input_names(symbol, self._state_names, "state", throw=True)
        check_input_names(symbol, self._fixed_param_names, "fixed_param", throw=True)
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [name for name in symbol.list_arguments() if name not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        self._group2ctxs = group2ctxs
        self._compression_params = compression_params
        self._params: tuple[dict[str, NDArray], dict[str, NDArray]] | None = None  # see _copies
        self._params_dirty = False
        self._optimizer: Any = None
        self._kvstore: Any = None
        self._update_on_kvstore: Any = None
        self._updater: Any = None
        self._preload_opt_states: Any = None
        self._grad_req: Any = None
        self._exec_group: Any = None
        self._data_shapes: Any = None
        self._label_shapes: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Network, parameters, and, unless a store of a cluster holds it, the optimizer with its states."""
        if self.binded and self.params_initialized:
            self.get_params()
        state = super().__getstate__()
        states = None
        if self.optimizer_initialized and not (self._kvstore is not None and "dist" in self._kvstore.type):
            owner = self._kvstore._states_owner() if self._update_on_kvstore else self._updater
            kind = None if self._kvstore is None else self._kvstore.type
            states = (kind, self._optimizer, owner.get_states())
        for name in ("_exec_group", "_kvstore", "_updater", "_optimizer"):
            state[name] = None
        state["optimizer_initialized"] = False
        state["_pickled_optimizer"] = states
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        pickled = state.pop("_pickled_optimizer")
        super().__setstate__(state)
        if self.binded:
            self.binded = False
            self.bind(
                self._data_shapes,
                self._label_shapes,
                self.for_training,
                self.inputs_need_grad,
                grad_req=self._grad_req,
            )
        if pickled is not None:
            kind, optimizer, states = pickled
            self.init_optimizer(kind, optimizer)
            self._optimizer_asked = None
            owner = self._kvstore._states_owner() if self._update_on_kvstore else self._updater
            owner.set_states(states)

    @staticmethod
    def load(prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Any:
        """A module from a checkpoint.

        Parameters
        ----------
        prefix, epoch : str, int
            As given to :meth:`save_checkpoint`.
        load_optimizer_states : bool
            Whether ``init_optimizer`` will read the states.
        **kwargs
            For :class:`Module`.
        """
        is_split = any(split_of(groups) is not None for groups in as_list(kwargs.get("group2ctxs")))
        read = load_mapped if is_split else load  # each rank reads its own parts
        symbol, arg_params, aux_params = checkpoint_by(read, prefix, epoch)
        module = Module(symbol, **kwargs)
        module._params = (arg_params, aux_params)
        module.params_initialized = True
        if load_optimizer_states:
            module._preload_opt_states = checkpoint_name(prefix, epoch, "states")
        return module

    def save_checkpoint(
        self, prefix: str, epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True
    ) -> None:
        """Writes symbol and parameters, and if wanted the optimizer's states; see
        ``model.save_checkpoint``."""
        if self._is_split():
            self._save_split(prefix, epoch, remove_amp_cast)
        else:
            arg_params, aux_params = self.get_params()
            save_checkpoint(prefix, epoch, self._symbol, arg_params, aux_params, remove_amp_cast)
        if save_optimizer_states:
            name = checkpoint_name(prefix, epoch, "states")
            self.save_optimizer_states(name)
            note(logging, 'Saved optimizer state to "%s"', name)

    def _is_split(self) -> bool:
        """Whether layers are split over ranks, so that what is whole takes more memory than there may be."""
        return self._exec_group is not None and self._exec_group.local is not None

    def _load(self, fname: str) -> Any:
        return load_mapped(fname) if self._is_split() else load(fname)

    def _save_split(self, prefix: str, epoch: int, remove_amp_cast: bool) -> None:
        """The files of :meth:`save_checkpoint`, by all ranks; no rank has a whole parameter for it."""
        from ..parallel.whole_files import write_params, write_together

        self._require()
        text = self._symbol.tojson(remove_amp_cast=remove_amp_cast)
        write_together(f"{prefix}-symbol.json", lambda file: file.write(text.encode()))
        group = self._exec_group
        items = [
            (f"{kind}:{name}", functools.partial(group.saved, name, parts[0]))
            for kind, names, arrays in (
                ("arg", self._param_names, group.param_arrays),
                ("aux", self._aux_names, group.aux_arrays),
            )
            for name, parts in zip(names, arrays)
        ]
        params = checkpoint_name(prefix, epoch, "params")
        write_together(params, lambda file: write_params(file, items))
        note(logging, 'Saved checkpoint to "%s"', params)

    @property
    def data_names(self) -> list[str]:
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> Any:
        return self._output_names

    @property
    def data_shapes(self) -> Any:
        self._require(params=False)
        return self._data_shapes

    @property
    def label_shapes(self) -> Any:
        self._require(params=False)
        return self._label_shapes

    @property
    def output_shapes(self) -> list[Any]:
        self._require(params=False)
        known = {item.name: item.shape for item in (*self._data_shapes, *(self._label_shapes or []))}
        arguments = set(self._symbol.list_arguments())
        known = {name: shape for name, shape in known.items() if name in arguments}
        return list(zip(self._output_names, self._symbol.infer_shape(**known)[1]))

    # Parameters

    def _copies(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """The module's own copies of parameters and auxiliary states, which ``get_params`` gives.

        Made when first needed, for they take as much memory as the parameters."""
        if self._params is None:
            group = self._exec_group
            self._params = (
                self._host_arrays(self._param_names, group.param_arrays),
                self._host_arrays(self._aux_names, group.aux_arrays),
            )
            group.get_params(*self._params)
        return self._params

    @property
    def _arg_params(self) -> dict[str, NDArray]:
        return self._copies()[0]

    @property
    def _aux_params(self) -> dict[str, NDArray]:
        return self._copies()[1]

    def _is_in_one_place(self) -> bool:
        """Whether one executor's dense arrays are all that there is of the parameters, where the copies would be.

        Not on another device: initial values come from a device's own random numbers."""
        arrays = self._exec_group.param_arrays + self._exec_group.aux_arrays
        return all(
            len(parts) == 1 and parts[0].stype == "default" and parts[0].context == cpu() for parts in arrays
        )

    def get_params(self) -> Any:
        self._require()
        if self._params_dirty:
            self._sync_params_from_devices()
        return self._copies()

    def _sync_params_from_devices(self) -> None:
        """Brings the devices' values back to the copies."""
        self._exec_group.get_params(*self._copies())
        if self._kvstore is not None and self._update_on_kvstore:
            for name, array in sorted(self._copies()[0].items()):
                if array.stype == "row_sparse":
                    self._kvstore.pull(name, array, ignore_sparse=False)
        self._params_dirty = False

    def init_params(
        self,
        initializer: Callable[..., Any] | None = Uniform(0.01),
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        if self.params_initialized and not force_init:
            return
        self._require(params=False)
        if isinstance(initializer, str):
            initializer = create_initializer(initializer)
        # A class can be called, too, but that makes an initializer only.
        right = initializer is None or (callable(initializer) and not isinstance(initializer, type))
        wanted = "an Initializer, a name such as 'xavier', or None"
        expect(right, "init_params", "the initializer", initializer, wanted)
        arg_params = None if arg_params is None else as_arrays("init_params", "arg_params", arg_params)
        aux_params = None if aux_params is None else as_arrays("init_params", "aux_params", aux_params)
        group = self._exec_group
        in_place = self._params is None and self._is_in_one_place()
        if in_place:
            targets = tuple(
                {name: parts[0] for name, parts in zip(names, arrays)}
                for names, arrays in (
                    (self._param_names, group.param_arrays),
                    (self._aux_names, group.aux_arrays),
                )
            )
        else:
            targets = self._copies()
        attributes = self._symbol.attr_dict()
        for own, given in zip(targets, (arg_params, aux_params)):
            for name in sorted(own):
                desc = InitDesc(name, attributes.get(name))
                cut = group.cut_of(name) if in_place else None
                if cut is None:
                    self._init_one(desc, own[name], given, initializer, allow_missing)
                    continue
                shape = group.whole_shape(name, own[name])
                value = self._given(desc, shape, given, allow_missing)
                if value is not None:
                    cut.part(value).copyto(own[name])
                elif initializer is not None:
                    make = functools.partial(zeros, dtype=own[name].dtype)
                    cut.first_value(initializer, desc, shape, make).copyto(own[name])
        self.params_initialized = True
        self._params_dirty = False
        if not in_place:
            group.set_params(*targets, allow_extra=True)

    def _host_arrays(self, names: Any, arrays: Any) -> dict[Any, Any]:
        group = self._exec_group
        return {
            name: zeros(group.whole_shape(name, parts[0]), cpu(), dtype=parts[0].dtype, stype=parts[0].stype)
            for name, parts in zip(names, arrays)
        }

    def _init_one(self, desc: Any, array: NDArray, given: Any, initializer: Any, allow_missing: bool) -> None:
        value = self._given(desc, array.shape, given, allow_missing)
        if value is None:
            if initializer is not None:
                initializer(desc, array)
        elif value is not array:
            value.copyto(array)

    def _given(self, desc: Any, shape: Any, given: Any, allow_missing: bool) -> NDArray | None:
        """The value of this whole shape among those that a program gives; None: the initializer makes it."""
        if given is None or (allow_missing and desc not in given):
            return None
        if desc not in given:
            raise StateError(
                f"[init_params] {desc} is missing in the given parameters; allow_missing=True fills it."
            )
        value: NDArray = given[desc]
        if value.shape != shape:
            raise MXNetValueError(
                f"[init_params] {desc} has shape {value.shape}; the network needs {shape} for "
                f"{', '.join(f'{item.name} {item.shape}' for item in self._data_shapes)}."
            )
        return value

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray],
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        if not allow_missing:
            self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)
            return
        if self.params_initialized and not force_init:
            return
        self._require(params=False)
        arg_params = as_arrays("set_params", "arg_params", arg_params)
        aux_params = as_arrays("set_params", "aux_params", aux_params)
        self._exec_group.set_params(arg_params, aux_params, allow_extra=allow_extra)
        self._params_dirty = True
        self.params_initialized = True

    # Binding

    def _reset_bind(self) -> None:
        self.binded = False
        self._exec_group = None
        self._data_shapes = None
        self._label_shapes = None

    def _descriptions(self, data_shapes: Any, label_shapes: Any) -> Any:
        data = as_descriptions(self._data_names, data_shapes, "data")
        if not label_shapes:
            return data, None
        return data, as_descriptions(self._label_names, label_shapes, "label", throw=False)

    def _check_labels(self) -> None:
        """Labels of which the symbol uses none would be left out, and training would go on without."""
        used = sorted(set(self._label_names) & set(self._symbol.list_arguments()))
        given = [item.name for item in self._label_shapes or ()]
        if used and given and not set(used) & set(given):
            raise MXNetValueError(
                f"[bind] label_shapes are for {given}, but the labels that the symbol uses are {used}: it would "
                "be trained without labels. Name the iterator's labels so (`label_name=` of NDArrayIter), or give "
                "the Module their names (`label_names=`)."
            )

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    ) -> None:
        if force_rebind:
            if self.params_initialized and self._params_dirty:
                self._sync_params_from_devices()
            elif self.params_initialized and self.binded:
                self._copies()
            self._reset_bind()
        if self.binded:
            of(self.logger).warning("Already bound, ignoring bind()")
            return
        if inputs_need_grad and not for_training:
            raise MXNetValueError("[bind] inputs_need_grad=True needs for_training=True.")
        if shared_module is not None:
            if not isinstance(shared_module, Module) or not (
                shared_module.binded and shared_module.params_initialized
            ):
                raise StateError(
                    "[bind] shared_module must be a Module that is bound and has its parameters."
                )
            if len(shared_module._context) < len(self._context):
                raise MXNetValueError("[bind] shared_module has fewer contexts than this module.")
        self._data_shapes, self._label_shapes = self._descriptions(data_shapes, label_shapes)
        if for_training:
            self._check_labels()
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._grad_req = grad_req
        self._exec_group = DataParallelExecutorGroup(
            self._symbol,
            self._context,
            self._work_load_list,
            self._data_shapes,
            self._label_shapes,
            self._param_names,
            for_training,
            inputs_need_grad,
            shared_group=shared_module._exec_group if shared_module is not None else None,
            logger=self.logger,
            fixed_param_names=self._fixed_param_names,
            grad_req=grad_req,
            state_names=self._state_names,
            group2ctxs=self._group2ctxs,
        )
        self.binded = True
        if shared_module is not None:
            self.params_initialized = True
            self._params = shared_module._params
            if shared_module.optimizer_initialized:
                self.borrow_optimizer(shared_module)
        elif self.params_initialized:  # bound again, or loaded from a checkpoint
            self._exec_group.set_params(*self._copies(), allow_extra=True)
            if self._is_split():
                self._params = None  # the parts are enough

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Goes over to other shapes; parameters and optimizer stay."""
        self._require(params=False)
        with self._passes:
            self._data_shapes, self._label_shapes = self._descriptions(data_shapes, label_shapes)
            self._exec_group.reshape(self._data_shapes, self._label_shapes)

    # Optimizer

    def init_optimizer(
        self,
        kvstore: str | KVStore = "local",
        optimizer: str | Optimizer = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        self._require()
        if self._keeps_optimizer(kvstore, optimizer, optimizer_params, force_init):
            return
        shapes = {name: parts[0] for name, parts in zip(self._param_names, self._exec_group.param_arrays)}
        store, on_store = _create_kvstore(kvstore, len(self._context), shapes)
        if store is not None and self._params_dirty:
            self._sync_params_from_devices()
        batch_size = self._exec_group.batch_size
        together = (
            store is not None and "dist" in store.type and ("_sync" in store.type or "_mpi" in store.type)
        )
        if together or (store is not None and store.type == "parallel"):
            batch_size *= store.num_workers
        if self._exec_group.local is not None:
            batch_size *= self._exec_group.local.examples
        devices = 1 if on_store else len(self._context)
        names = {i * devices + k: name for i, name in enumerate(self._param_names) for k in range(devices)}
        if isinstance(optimizer, str):
            own = settings("init_optimizer", "optimizer_params", optimizer_params)
            own = {"rescale_grad": 1.0 / batch_size, **own}
            optimizer = opt.create(optimizer, sym=self._symbol, param_idx2name=names, **own)
        elif isinstance(optimizer, opt.Optimizer):
            if optimizer.rescale_grad != 1.0 / batch_size:
                of(self.logger).warning(
                    "The optimizer's rescale_grad is %s, not 1/batch_size (%s). Is this intended?",
                    optimizer.rescale_grad,
                    1.0 / batch_size,
                )
            if not optimizer.idx2name:
                optimizer.idx2name = names
        else:
            expect(False, "init_optimizer", "optimizer", optimizer, "a name or an Optimizer")
        self._optimizer, self._kvstore, self._update_on_kvstore = optimizer, store, on_store
        self._updater = None if on_store else opt.get_updater(optimizer)
        if self._updater is not None:
            self._updater.part_of = self._part_of
        if store is not None:
            self._init_store(store, on_store)
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def _init_store(self, store: Any, on_store: Any) -> None:
        """Hands the parameters to the store; in a cluster all workers begin with those of rank 0."""
        shared = "dist" in store.type
        if self._compression_params:
            store.set_gradient_compression(self._compression_params)
        if on_store:
            store.set_optimizer(self._optimizer)
        arrays = self._exec_group.param_arrays
        if hasattr(store, "init"):
            values = self._copies()[0]
        else:  # what it gives out are the first device's values
            values = {name: parts[0] for name, parts in zip(self._param_names, arrays)}
        _initialize_kvstore(store, arrays, values, self._param_names, on_store or shared)
        if hasattr(store, "_note_trained"):
            store._note_trained(self._trained_names())
        self._params_dirty = self._params_dirty or shared or not hasattr(store, "init")

    def _part_of(self, i: Any) -> tuple[Any, Any] | None:
        """Of a parameter's number, which part this rank has, and the whole shape; None: all of it."""
        if not self._is_split() or not isinstance(i, int) or i >= len(self._param_names):
            return None
        cut = self._exec_group.cut_of(self._param_names[i])
        return None if cut is None else (cut, self._exec_group.local.shapes[self._param_names[i]])

    def _trained_names(self) -> list[str]:
        return [name for name in self._param_names if self._exec_group.grad_req[name] != "null"]

    def _pass_over(self, data_iter: Any, epoch: int) -> tuple[int, Any]:
        batch = next(data_iter, None)
        if not self._update_on_kvstore or not hasattr(self._kvstore, "_steps_to_pass_over"):
            return 0, batch
        to_pass = self._kvstore._steps_to_pass_over(self._trained_names())
        passed = 0
        while passed < to_pass and batch is not None:
            passed += 1
            batch = next(data_iter, None)
        self._kvstore._steps_passed_over += passed
        if to_pass > 0 and batch is not None:
            of(self.logger).warning(
                "[fit] worker %d was started again; it goes on with batch %d of epoch %d, as its pushes up to there "
                "are in.",
                self._kvstore.rank,
                passed,
                epoch,
            )
        return passed, batch

    def borrow_optimizer(self, shared_module: Any) -> None:
        """Uses the optimizer, its states and the store of another module."""
        expect(
            hasattr(shared_module, "optimizer_initialized"),
            "borrow_optimizer",
            "shared_module",
            shared_module,
            "a Module",
        )
        if not shared_module.optimizer_initialized:
            raise StateError(
                "[borrow_optimizer] the other module has no optimizer; call its init_optimizer first."
            )
        self._optimizer = shared_module._optimizer
        self._optimizer_asked = shared_module._optimizer_asked
        self._kvstore = shared_module._kvstore
        self._update_on_kvstore = shared_module._update_on_kvstore
        self._updater = shared_module._updater
        self.optimizer_initialized = True

    def prepare(self, data_batch: DataBatch, sparse_row_id_fn: Callable[[Any], Any] | None = None) -> None:
        if sparse_row_id_fn is None or self._kvstore is None or not self._update_on_kvstore:
            super().prepare(data_batch, sparse_row_id_fn)
            return
        self._require()
        for name, rows in sparse_row_id_fn(data_batch).items():
            arrays = [executor.arg_dict.get(name) for executor in self._exec_group.execs]
            if name not in self._param_names or arrays[0].stype != "row_sparse":
                raise MXNetValueError(
                    f"[Module] sparse_row_id_fn gives rows of {name!r}; expected names of row_sparse parameters."
                )
            self._kvstore.row_sparse_pull(name, arrays, row_ids=rows)

    def update(self) -> None:
        self._require(optimizer=True)
        with self._passes:
            self._passes.check("update")
            self._params_dirty = True
            group = self._exec_group
            names = self._param_names
            if self._update_on_kvstore:
                if getattr(self._optimizer, "_amp_loss_scaler", None) is not None:
                    raise MXNetError(
                        "[Module] the optimizer has a loss scale, which needs gradients that are looked at before the "
                        "update, but the parameters are updated on the kvstore; give kvstore=None."
                    )
                _update_params_on_kvstore(group.param_arrays, group.grad_arrays, self._kvstore, names)
            else:
                _update_params(
                    group.param_arrays,
                    group.grad_arrays,
                    self._updater,
                    len(self._context),
                    self._kvstore,
                    names,
                    next(iter(group.local.cuts.values())).anywhere if self._is_split() else None,
                )

    def save_optimizer_states(self, fname: str) -> None:
        """Writes the optimizer's states to a file that MXNet 1.9.1 reads, too."""
        self._require(optimizer=True)
        if self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname)
            return
        if self._is_split():
            from ..parallel.whole_files import write_together

            write_together(fname, lambda file: self._updater.write_states(file, is_kept=file.is_first))
            return
        data = self._updater.get_states()
        write_whole(fname, lambda name: write_bytes(name, data))

    def load_optimizer_states(self, fname: str) -> None:
        """Reads what :meth:`save_optimizer_states`, or MXNet's, wrote.

        Raises
        ------
        OSError or ValueError
            When the file is missing, or no file of states.
        """
        self._require(optimizer=True)
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
            return
        read_whole(fname, self._updater.set_states, in_parts=self._is_split())

    # Computing

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        self._require()
        check_batch("forward", data_batch)
        with self._passes:
            self._passes.begin()
            shapes = tuple(array.shape for array in data_batch.data)
            if shapes != tuple(item.shape for item in self._data_shapes):
                self._reshape_for(data_batch)
            self._exec_group.forward(data_batch, is_train)

    def _reshape_for(self, batch: Any) -> None:
        """Takes over the shapes of a batch that differ from the bound ones."""
        if len(batch.data) != len(self._data_shapes):
            raise MXNetValueError(
                f"[forward] the batch has {len(batch.data)} inputs; expected {len(self._data_shapes)}."
            )
        data = getattr(batch, "provide_data", None) or [
            DataDesc(item.name, array.shape, item.dtype, item.layout)
            for item, array in zip(self._data_shapes, batch.data)
        ]
        labels = getattr(batch, "provide_label", None)
        given = getattr(batch, "label", None)
        if not labels and given and self._label_shapes:
            labels = [
                DataDesc(item.name, array.shape, item.dtype, item.layout)
                for item, array in zip(self._label_shapes, given)
            ]
        elif not labels and self._label_shapes:
            old, new = self._data_shapes[0].shape[0], data[0].shape[0]
            labels = [
                DataDesc(
                    item.name,
                    (new if item.shape[0] == old else item.shape[0], *item.shape[1:]),
                    item.dtype,
                    item.layout,
                )
                for item in self._label_shapes
            ]
        self.reshape(data, labels)

    def backward(self, out_grads: Any = None) -> None:
        self._require()
        for grad in () if out_grads is None else as_list(out_grads):
            expect(
                hasattr(grad, "copyto"), "backward", "out_grads", grad, "an NDArray for each output, or None"
            )
        with self._passes:
            self._passes.check("backward")
            self._exec_group.backward(out_grads)

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        self._require()
        self._passes.check("get_outputs")
        return self._exec_group.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        self._require()
        self._passes.check("get_input_grads")
        return self._exec_group.get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> Any:
        self._require()
        return self._exec_group.get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        self._require()
        self._exec_group.set_states(states, value)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        self._require()
        self._passes.check("update_metric")
        check_metric("update_metric", eval_metric, labels)
        self._exec_group.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor) -> None:
        self._require(params=False)
        expect(hasattr(mon, "install"), "install_monitor", "mon", mon, "a Monitor")
        self._exec_group.install_monitor(mon)


_star.complete(
    globals(),
    "BaseModule DataDesc DataParallelExecutorGroup InitDesc Uniform ctx load_checkpoint logging nd "
    "opt warnings zeros",
)
