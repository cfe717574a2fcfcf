# SPDX-License-Identifier: Apache-2.0
"""A module for inputs of several lengths: one symbol for each length, all with the same parameters."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _star
from .._arguments import expect
from ..base import MXNetKeyError, MXNetTypeError, MXNetValueError, integer_types
from ..initializer import Uniform
from ..log import of
from ..model import load_params, save_checkpoint
from ..name import NameManager as NameManager
from ..ndarray import array, save
from ..symbol import Symbol
from .base_module import BaseModule, as_names
from .module import Module

if TYPE_CHECKING:
    from ..io import DataBatch
    from ..kvstore import KVStore
    from ..monitor import Monitor
    from ..ndarray import NDArray
    from ..optimizer import Optimizer

__all__ = ["BucketingModule"]


class BucketingModule(BaseModule):
    """Chooses for each batch the symbol of its ``bucket_key``.

    Parameters
    ----------
    sym_gen : callable
        ``sym_gen(bucket_key)`` returns (symbol, data_names, label_names).
    default_bucket_key
        The key of the largest symbol: the one that is bound first and whose memory the others use.
    logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params
        As for :class:`Module`.

    Examples
    --------
    >>> import loomix as mx
    >>> def network(length):
    ...     data = mx.sym.Variable("data")
    ...     hidden = mx.sym.FullyConnected(mx.sym.sum(data, axis=1), num_hidden=10, name="fc")
    ...     return mx.sym.SoftmaxOutput(hidden, name="softmax"), ("data",), ("softmax_label",)
    >>> module = mx.mod.BucketingModule(network, default_bucket_key=20)
    """

    def __init__(
        self,
        sym_gen: Callable[[Any], Any],
        default_bucket_key: Any = None,
        logger: Any = logging,
        context: Any = None,
        work_load_list: Any = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(logger)
        if default_bucket_key is None:
            raise MXNetValueError(
                "[BucketingModule] default_bucket_key is missing; expected the largest key."
            )
        expect(
            callable(sym_gen) and not isinstance(sym_gen, Symbol),
            "BucketingModule",
            "sym_gen",
            sym_gen,
            "a function of a bucket key that returns (symbol, data_names, label_names)",
        )
        self._sym_gen = sym_gen
        self._default_bucket_key = default_bucket_key
        self._settings = {
            "logger": logger,
            "context": context,
            "work_load_list": work_load_list,
            "fixed_param_names": fixed_param_names,
            "state_names": state_names,
            "group2ctxs": group2ctxs,
            "compression_params": compression_params,
        }
        self._loaded_params: Any = None
        self._bind_settings: dict[Any, Any] = {}
        self._monitor: Any = None
        self._make(default_bucket_key)  # wrong names show now
        self._reset_bind()

    def _make(self, bucket_key: Any) -> Any:
        return Module(*self._network(bucket_key), **self._settings)

    def _network(self, bucket_key: Any) -> Any:
        """Symbol, names of the data and names of the labels of a bucket."""
        with NameManager():  # so that each bucket's nodes without a name are called alike
            made = self._sym_gen(bucket_key)
        if not isinstance(made, (list, tuple)) or len(made) != 3:
            given = f"{len(made)} values" if isinstance(made, (list, tuple)) else f"a {type(made).__name__}"
            raise MXNetTypeError(
                f"[BucketingModule] sym_gen({bucket_key!r}) returned {given}; expected (symbol, data_names, "
                "label_names)."
            )
        return made

    def _reset_bind(self) -> None:
        self.binded = False
        self._buckets: dict[Any, Any] = {}
        self._curr_module: Any = None
        self._curr_bucket_key = None

    @property
    def _default_module(self) -> Any:
        return self._buckets[self._default_bucket_key]

    @property
    def data_names(self) -> Any:
        return (
            self._curr_module.data_names
            if self.binded
            else as_names(self._network(self._default_bucket_key)[1])
        )

    @property
    def output_names(self) -> Any:
        if self.binded:
            return self._curr_module.output_names
        return self._network(self._default_bucket_key)[0].list_outputs()

    @property
    def data_shapes(self) -> Any:
        self._require(params=False)
        return self._curr_module.data_shapes

    @property
    def label_shapes(self) -> Any:
        self._require(params=False)
        return self._curr_module.label_shapes

    @property
    def output_shapes(self) -> Any:
        self._require(params=False)
        return self._curr_module.output_shapes

    @property
    def symbol(self) -> Any:
        """The symbol of the current bucket."""
        self._require(params=False)
        return self._curr_module.symbol

    def get_params(self) -> Any:
        if self._loaded_params is not None:
            return self._loaded_params
        self._require()
        self._curr_module._params_dirty = self._params_dirty
        params = self._curr_module.get_params()
        self._params_dirty = False
        return params

    _params_dirty = False

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray],
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        if self.params_initialized and not force_init:
            return
        self._require(params=False)
        self._curr_module.set_params(arg_params, aux_params, allow_missing, True, allow_extra)
        self._params_dirty = self._curr_module._params_dirty
        self.params_initialized = True

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
        self._curr_module.init_params(
            initializer, arg_params, aux_params, allow_missing, force_init, allow_extra
        )
        self._params_dirty = False
        self.params_initialized = True

    def get_states(self, merge_multi_context: bool = True) -> Any:
        self._require()
        return self._curr_module.get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        self._require()
        self._curr_module.set_states(states, value)

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
        """Prepares the default bucket; the others follow when their first batch comes."""
        if shared_module is not None:
            raise MXNetValueError("[BucketingModule] shared_module is not supported.")
        params = self.get_params() if self.binded and force_rebind and self.params_initialized else None
        if force_rebind:
            self._reset_bind()
        if self.binded:
            of(self.logger).warning("Already bound, ignoring bind()")
            return
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._bind_settings = {
            "for_training": for_training,
            "inputs_need_grad": inputs_need_grad,
            "grad_req": grad_req,
        }
        module = self._make(self._default_bucket_key)
        module.bind(data_shapes, label_shapes, **self._bind_settings)
        self._buckets[self._default_bucket_key] = self._curr_module = module
        self._curr_bucket_key = self._default_bucket_key
        self.binded = True
        params = params or self._loaded_params
        if params is not None:
            module.init_params(None, *params)
            self._loaded_params = None

    def switch_bucket(self, bucket_key: Any, data_shapes: Any, label_shapes: Any = None) -> None:
        """Makes the symbol of ``bucket_key`` the current one, binding it if it is new.

        Parameters
        ----------
        bucket_key
            The key.
        data_shapes, label_shapes : list of DataDesc
            Shapes of its batches.
        """
        self._require(params=False)
        if bucket_key not in self._buckets:
            module = self._make(bucket_key)
            module.bind(data_shapes, label_shapes, shared_module=self._default_module, **self._bind_settings)
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        self._curr_module = self._buckets[bucket_key]
        self._curr_bucket_key = bucket_key

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
        self._curr_module._params_dirty = self._params_dirty
        self._curr_module.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        for module in self._buckets.values():
            if module is not self._curr_module:
                module.borrow_optimizer(self._curr_module)
        self.optimizer_initialized = True

    def _pass_over(self, data_iter: Any, epoch: int) -> tuple[int, Any]:
        return self._default_module._pass_over(data_iter, epoch)

    def _follow(self, data_batch: DataBatch) -> None:
        if not hasattr(data_batch, "bucket_key"):
            raise MXNetTypeError(
                f"[BucketingModule] got an object of type {type(data_batch).__name__}; expected a DataBatch."
            )
        key = data_batch.bucket_key if data_batch.bucket_key is not None else self._default_bucket_key
        if key != self._curr_bucket_key or key not in self._buckets:
            if key in self._buckets:
                self._curr_module, self._curr_bucket_key = self._buckets[key], key
            else:
                self.switch_bucket(key, data_batch.provide_data, data_batch.provide_label)
        if self.optimizer_initialized and not self._curr_module.optimizer_initialized:
            self._curr_module.borrow_optimizer(self._default_module)

    def prepare(self, data_batch: DataBatch, sparse_row_id_fn: Callable[[Any], Any] | None = None) -> None:
        """Binds the batch's bucket; the current one stays current."""
        self._require()
        module, key = self._curr_module, self._curr_bucket_key
        self._follow(data_batch)
        self._curr_module.prepare(data_batch, sparse_row_id_fn)
        self._curr_module, self._curr_bucket_key = module, key

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        self._require()
        with self._passes:
            self._passes.begin()
            self._follow(data_batch)
            self._curr_module.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        self._require()
        with self._passes:
            self._passes.check("backward")
            self._curr_module.backward(out_grads)

    def update(self) -> None:
        self._require(optimizer=True)
        with self._passes:
            self._passes.check("update")
            self._params_dirty = True
            self._curr_module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        self._require()
        self._passes.check("get_outputs")
        return self._curr_module.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        self._require()
        self._passes.check("get_input_grads")
        return self._curr_module.get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        self._require()
        self._passes.check("update_metric")
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor) -> None:
        self._require(params=False)
        expect(hasattr(mon, "install"), "install_monitor", "mon", mon, "a Monitor")
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)

    def save_checkpoint(self, prefix: str, epoch: int, remove_amp_cast: bool = False) -> None:
        """Writes the parameters and every bucket's symbol: ``prefix-KEY-symbol.json``."""
        if not self._buckets:
            raise AssertionError(
                "[BucketingModule] bind must be called first: no bucket is there to be saved."
            )
        self._require()
        save_checkpoint(prefix, epoch, None, *self.get_params())
        if all(isinstance(key, integer_types) for key in self._buckets):
            save(f"{prefix}.buckets", array(list(self._buckets), dtype="int32"))
        for key, module in self._buckets.items():
            module.symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)

    @staticmethod
    def load(
        prefix: str,
        epoch: int,
        sym_gen: Callable[[Any], Any] | None = None,
        default_bucket_key: Any = None,
        **kwargs: Any,
    ) -> Any:
        """A module with the parameters of a checkpoint; ``sym_gen`` gives the symbols, as for the class."""
        if sym_gen is None:
            raise MXNetTypeError("[BucketingModule] load needs sym_gen, the function that makes the symbols.")
        module = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        module._loaded_params = load_params(prefix, epoch)
        module.params_initialized = True
        return module

    @staticmethod
    def load_dict(
        sym_dict: Any = None,
        sym_gen: Callable[[Any], Any] | None = None,
        default_bucket_key: Any = None,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        **kwargs: Any,
    ) -> Any:
        """A module from symbols by key (or ``sym_gen``) and parameters by name.

        With ``sym_dict`` every symbol has the inputs ``data`` and ``softmax_label``.
        """
        if sym_gen is None:
            if sym_dict is None:
                raise MXNetTypeError("[BucketingModule] load_dict needs sym_dict or sym_gen.")
            expect(
                isinstance(sym_dict, Mapping), "load_dict", "sym_dict", sym_dict, "a dict of keys to Symbols"
            )

            def sym_gen(key: Any) -> Any:
                if key not in sym_dict:
                    raise MXNetKeyError(f"[load_dict] sym_dict has no bucket {key!r}; it has {[*sym_dict]}.")
                return sym_dict[key], ("data",), ("softmax_label",)

        module = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        module._loaded_params = (arg_params or {}, aux_params or {})
        module.params_initialized = True
        return module


_star.complete(globals(), "BaseModule Module NameManager Uniform ctx load_params logging nd np sym warnings")
