# SPDX-License-Identifier: Apache-2.0
"""Modules that train with stochastic variance reduced gradients.

Every few epochs the gradient over all data is computed for the parameters as they are then. From there on each batch
goes down along ``g(w) - g(w') + G(w')``: its own gradient, without the same batch's gradient for the parameters w' of
then, and with the one over all data. (R. Johnson and T. Zhang, 2013.)
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import _star
from ...base import MXNetNotImplementedError, MXNetTypeError, MXNetValueError
from ...module import Module

if TYPE_CHECKING:
    from ...io import DataBatch
    from ...symbol import Symbol

__all__ = ["Module", "SVRGModule"]


class SVRGModule(Module):
    """A :class:`Module` that trains with stochastic variance reduced gradients.

    Parameters
    ----------
    symbol, data_names, label_names, logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, \
compression_params
        As for :class:`Module`.
    update_freq : int
        The gradient over all data is computed every so many epochs.

    Examples
    --------
    >>> import loomix as mx
    >>> out = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1), name="lin")
    >>> module = SVRGModule(out, data_names=["data"], label_names=["lin_label"], update_freq=2)
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
        update_freq: int | None = None,
    ) -> None:
        settings = (context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params)
        super().__init__(symbol, data_names, label_names, logger, *settings)
        if not isinstance(update_freq, int):
            raise MXNetTypeError(f"[SVRGModule] update_freq is {update_freq!r}; expected a number of epochs.")
        if update_freq <= 0:
            raise MXNetValueError(f"[SVRGModule] update_freq is {update_freq}; expected at least 1.")
        self.update_freq = update_freq
        self._mod_aux = Module(symbol, data_names, label_names, logger, *settings)
        self._full: list[Any] | None = None  # for each parameter its gradient over all data, or None

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
        super().bind(
            data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req
        )
        if for_training and (force_rebind or not self._mod_aux.binded):
            self._mod_aux.bind(
                data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, grad_req=grad_req
            )

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        super().reshape(data_shapes, label_shapes)
        if self._mod_aux.binded:
            self._mod_aux.reshape(data_shapes, label_shapes)

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        super().forward(data_batch, is_train)
        training = self.for_training if is_train is None else is_train
        if training and self._full is not None:
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        super().backward(out_grads)
        if self._full is not None:
            self._mod_aux.backward(out_grads)

    def update(self) -> None:
        self._update_svrg_gradients()
        super().update()

    def update_full_grads(self, train_data: Any) -> None:
        """Computes the gradient over all data for the parameters as they are now.

        Parameters
        ----------
        train_data : DataIter
            The data.
        """
        self._require()
        arg_params, aux_params = self.get_params()
        if self._mod_aux.params_initialized:
            self._mod_aux.set_params(arg_params, aux_params)
        else:
            self._mod_aux.init_params(None, arg_params, aux_params)
        sums: list[Any] = [None] * len(self._param_names)
        samples = 0
        train_data.reset()
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            samples += train_data.batch_size - (batch.pad or 0)
            for i, grads in enumerate(self._mod_aux._exec_group.grad_arrays):
                if grads[0] is None:
                    continue
                total = sum((grad.as_in_context(grads[0].context) for grad in grads[1:]), grads[0])
                sums[i] = total.copy() if sums[i] is None else sums[i] + total
        if not samples:
            raise MXNetValueError("[SVRGModule] train_data gives no batches.")
        batches = samples / train_data.batch_size
        # The devices' gradients are added up later, so each gets its share.
        share = batches * len(self._context)
        self._full = [
            None if total is None else self._across_workers(i, total / share) for i, total in enumerate(sums)
        ]

    def _across_workers(self, i: int, grad: Any) -> Any:
        """The mean over the workers of a cluster."""
        store = self._kvstore
        if store is None or store.num_workers == 1:
            return grad
        if self._update_on_kvstore:
            raise MXNetNotImplementedError(
                "[SVRGModule] servers that run the optimizer cannot add up gradients for workers; "
                "set MXNET_UPDATE_ON_KVSTORE=0."
            )
        key = f"{self._param_names[i]}_full"
        if self._full is None:
            store.init(key, grad)
        store.push(key, grad)
        store.pull(key, grad)
        return grad / store.num_workers

    def _svrg_grads_update_rule(
        self, g_curr_batch_curr_weight: Any, g_curr_batch_special_weight: Any, g_special_weight_all_batch: Any
    ) -> Any:
        """The gradient to go down along, from those of the batch for the parameters of now and then, and that over all
        data."""
        return g_curr_batch_curr_weight - g_curr_batch_special_weight + g_special_weight_all_batch

    def _update_svrg_gradients(self) -> None:
        if self._full is None:
            return
        own, special = self._exec_group.grad_arrays, self._mod_aux._exec_group.grad_arrays
        for full, now, then in zip(self._full, own, special):
            for grad, before in zip(now, then):
                if grad is not None:
                    everywhere = full.as_in_context(grad.context)
                    self._svrg_grads_update_rule(grad, before, everywhere).copyto(grad)

    def _train_epoch(self, train_data: Any, eval_metric: Any, scope: dict[str, Any]) -> bool:
        # Of Module.fit, which is otherwise the same.
        if (scope["epoch"] - scope["begin_epoch"]) % self.update_freq == 0:
            self.update_full_grads(train_data)
            train_data.reset()
        return super()._train_epoch(train_data, eval_metric, scope)


_star.complete(globals(), "logging mx time")
