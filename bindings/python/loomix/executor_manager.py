# SPDX-License-Identifier: Apache-2.0
"""Training loops of one's own over several devices, as they were written before modules."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _star
from .base import MXNetValueError
from .context import cpu as cpu
from .io import DataDesc
from .log import note
from .module import executor_group
from .module.executor_group import split_batch

if TYPE_CHECKING:
    from .io import DataBatch
    from .monitor import Monitor
    from .ndarray import NDArray
    from .symbol import Symbol

__all__ = ["DataParallelExecutorGroup", "DataParallelExecutorManager"]


def _split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """The devices' rows of a batch, in proportion to their shares.

    >>> _split_input_slice(10, [1, 4])
    [slice(0, 2, None), slice(2, 10, None)]
    """
    return split_batch(batch_size, work_load_list)


def _check_arguments(symbol: Symbol) -> None:
    """Raises ValueError where several arguments or auxiliary states have one name."""
    for kind, names in (
        ("arguments", symbol.list_arguments()),
        ("auxiliary states", symbol.list_auxiliary_states()),
    ):
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise MXNetValueError(f"[executor_manager] several {kind} are called {doubled}.")


def _load_general(arrays: Any, targets: Any) -> None:
    for array, parts in zip(arrays, targets):
        if not isinstance(parts, (list, tuple)):
            array.copyto(parts)
            continue
        for rows, target in parts:
            if target is not None:
                array[rows].astype(target.dtype, copy=False).copyto(target)


def _load_data(batch: DataBatch, targets: Any) -> None:
    """Copies the inputs of a batch to arrays, or to the devices' (rows, array) pairs."""
    _load_general(batch.data, targets)


def _load_label(batch: DataBatch, targets: Any) -> None:
    """Copies the labels of a batch, as :func:`_load_data` the inputs."""
    _load_general(batch.label, targets)


def _descriptions(items: Any) -> list[DataDesc]:
    return [item if isinstance(item, DataDesc) else DataDesc(*item) for item in items or []]


class DataParallelExecutorGroup:
    """Executors of one symbol, one for each device.

    Parameters
    ----------
    sym : Symbol
        The network.
    arg_names, param_names : list of str
        All its arguments, and those that are parameters.
    ctx : list of Context
        The devices.
    slices : list of slice
        Their rows of a batch.
    train_data : DataIter
        Data, or a batch, that describe themselves.
    shared_group : DataParallelExecutorGroup, optional
        A group whose parameters and memory are used.
    """

    def __init__(
        self,
        sym: Symbol,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        ctx: Any,
        slices: Sequence[slice],
        train_data: Any,
        shared_group: DataParallelExecutorGroup | None = None,
    ) -> None:
        _check_arguments(sym)
        self._group: executor_group.DataParallelExecutorGroup = executor_group.DataParallelExecutorGroup(
            sym,
            ctx,
            [rows.stop - rows.start for rows in slices],
            _descriptions(train_data.provide_data),
            _descriptions(train_data.provide_label),
            [name for name in arg_names if name in set(param_names)],
            for_training=True,
            inputs_need_grad=False,
            shared_group=None if shared_group is None else shared_group._group,
        )
        self.slices = list(slices)
        self.param_names = self._group.param_names
        self.data_names = self._group.data_names
        self.label_names = self._group.label_names
        self.aux_names = self._group.aux_names
        self.train_execs = self._group.execs
        self.param_arrays = self._group.param_arrays
        self.grad_arrays = self._group.grad_arrays
        self.aux_arrays = self._group.aux_arrays
        self.data_arrays = self._group.data_arrays
        self.label_arrays = self._group.label_arrays

    def load_data_batch(self, data_batch: DataBatch) -> None:
        """Copies a batch to the devices."""
        _load_data(data_batch, self.data_arrays)
        if self.label_arrays is not None and data_batch.label:
            _load_label(data_batch, self.label_arrays)

    def forward(self, is_train: bool = False) -> None:
        """Computes the outputs for the batch that was loaded."""
        for executor in self.train_execs:
            executor.forward(is_train=is_train)

    def backward(self) -> None:
        """Computes the gradients."""
        for executor in self.train_execs:
            executor.backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Updates a metric with the outputs, device by device."""
        self._group.update_metric(metric, labels, pre_sliced)


class DataParallelExecutorManager:
    """Executors for the devices, and with ``sym_gen`` for the buckets of the data.

    Parameters
    ----------
    symbol : Symbol
        The network.
    ctx : list of Context
        The devices.
    train_data : DataIter
        The data, which describe their batches.
    arg_names, param_names, aux_names : list of str or None
        The symbol's arguments, those that are parameters (None: all but inputs and labels), and its auxiliary states.
    work_load_list : list of float, optional
        The devices' shares of a batch.
    logger : Logger, optional
        Where progress is written to.
    sym_gen : callable, optional
        The symbol for a bucket's key.
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Any,
        train_data: Any,
        arg_names: Sequence[str] | None,
        param_names: Sequence[str] | None,
        aux_names: Sequence[str] | None,
        work_load_list: Sequence[float] | None = None,
        logger: Any = None,
        sym_gen: Any = None,
    ) -> None:
        work_load_list = [1] * len(ctx) if work_load_list is None else work_load_list
        if len(work_load_list) != len(ctx):
            raise MXNetValueError(
                f"[executor_manager] work_load_list has {len(work_load_list)} entries for {len(ctx)} contexts."
            )
        note(logging if logger is None else logger, "Start training with %s", list(ctx))
        self.ctx = ctx
        self.slices = _split_input_slice(train_data.batch_size, work_load_list)
        self.arg_names = symbol.list_arguments() if arg_names is None else arg_names
        inputs = {item[0] for item in (*train_data.provide_data, *(train_data.provide_label or []))}
        if param_names is None:
            param_names = [name for name in self.arg_names if name not in inputs]
        self.param_names = param_names
        self.aux_names = symbol.list_auxiliary_states() if aux_names is None else aux_names
        self.symbol = symbol
        self.sym_gen = sym_gen
        self.execgrp = self._group(symbol, train_data)
        self.curr_execgrp = self.execgrp
        self.execgrp_bucket = {train_data.default_bucket_key: self.execgrp} if sym_gen is not None else {}
        self._monitors: list[Monitor] = []

    def _group(
        self, symbol: Symbol, data: Any, shared: DataParallelExecutorGroup | None = None
    ) -> DataParallelExecutorGroup:
        return DataParallelExecutorGroup(
            symbol, self.arg_names, self.param_names, self.ctx, self.slices, data, shared
        )

    def install_monitor(self, monitor: Monitor) -> None:
        """Lets a monitor watch the executors."""
        self._monitors.append(monitor)
        for group in {id(group): group for group in (self.execgrp, *self.execgrp_bucket.values())}.values():
            for executor in group.train_execs:
                monitor.install(executor)

    def set_params(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> None:
        """Copies values to all devices."""
        for executor in self.execgrp.train_execs:
            executor.copy_params_from(arg_params, aux_params)

    def copy_to(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> None:
        """Copies the devices' mean values into arrays."""
        self.execgrp._group.get_params(arg_params, aux_params)

    @property
    def param_arrays(self) -> Any:
        """The devices' arrays of each parameter."""
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self) -> Any:
        """The devices' gradients of each parameter."""
        return self.execgrp.grad_arrays

    @property
    def aux_arrays(self) -> Any:
        """The devices' arrays of each auxiliary state."""
        return self.execgrp.aux_arrays

    def load_data_batch(self, data_batch: DataBatch) -> None:
        """Copies a batch to the devices; with ``sym_gen``, to the executors of its bucket."""
        if self.sym_gen is not None:
            key = data_batch.bucket_key
            if key not in self.execgrp_bucket:
                group = self._group(self.sym_gen(key), data_batch, self.execgrp)
                self.execgrp_bucket[key] = group
                for monitor in self._monitors:
                    for executor in group.train_execs:
                        monitor.install(executor)
            self.curr_execgrp = self.execgrp_bucket[key]
        self.curr_execgrp.load_data_batch(data_batch)

    def forward(self, is_train: bool = False) -> None:
        """Computes the outputs for the batch that was loaded."""
        self.curr_execgrp.forward(is_train=is_train)

    def backward(self) -> None:
        """Computes the gradients."""
        self.curr_execgrp.backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Updates a metric with the outputs."""
        self.curr_execgrp.update_metric(metric, labels, pre_sliced)


_star.complete(globals(), "DataDesc cpu logging mx_real_t nd np")
