# SPDX-License-Identifier: Apache-2.0
"""One executor for each device: a batch is cut into parts, and the parts run side by side."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core, _star
from ..base import MXNetTypeError, MXNetValueError, as_list
from ..executor import gradient_kinds, of_local, split_of, variable_storage
from ..io import DataDesc
from .unpadded import Unpadded

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..context import Context
    from ..io import DataBatch
    from ..monitor import Monitor
    from ..ndarray import NDArray
    from ..symbol import Symbol

__all__ = ["DataParallelExecutorGroup"]

_REMEMBERED_SHAPES = 8  # executors kept for shapes seen before; they share parameters and memory


def split_batch(size: Any, workload: Any) -> Any:
    """Slices of a batch of ``size`` samples, in proportion to ``workload``.

    >>> split_batch(10, [1, 1])
    [slice(0, 5, None), slice(5, 10, None)]

    Raises
    ------
    ValueError
        When a device would get nothing.
    """
    total, slices, begin, share = sum(workload), [], 0, 0.0
    for load in workload:
        share += load
        end = int(round(size * share / total))
        if end <= begin:
            raise MXNetValueError(f"[Module] a batch of {size} is too small for {len(workload)} devices.")
        slices.append(slice(begin, end))
        begin = end
    return slices


def _axis_of(description: Any) -> int:
    return DataDesc.get_batch_axis(getattr(description, "layout", None))


def _part(array: NDArray, axis: Any, rows: Any) -> NDArray:
    """``array`` cut to ``rows`` along the batch axis; a negative axis means the array has none."""
    if axis < 0 or (rows.start == 0 and rows.stop == array.shape[axis]):
        return array
    if axis == 0:
        return array[rows]
    return array.slice_axis(axis=axis, begin=rows.start, end=rows.stop)


def _merge(parts: Any, axis: Any) -> Any:
    """The devices' parts as one array on the first device."""
    if len(parts) == 1 or axis < 0:
        return parts[0]
    from ..ndarray import concat

    return concat(*(part.as_in_context(parts[0].context) for part in parts), dim=axis)


def _descriptions(shapes: Any) -> Any:
    """Tuples of name and shape become DataDesc."""
    return shapes and [item if hasattr(item, "name") else DataDesc(*item) for item in shapes]


def _part_of(arrays: dict[str, Any], name: str, shape: Any, dtype: Any, context: Any) -> Any:
    """An array of this shape in the memory of ``arrays[name]``, which is made anew where it is too small."""
    from ..ndarray import zeros

    size = math.prod(shape)
    whole = arrays.get(name)
    if whole is not None and whole.dtype == dtype and whole.context == context and whole.size >= size > 0:
        return whole.reshape((-1,))[:size].reshape(shape)
    arrays[name] = zeros(shape, context, dtype=dtype)
    return arrays[name]


class DataParallelExecutorGroup:
    """Executors of one symbol on several devices.

    Parameters
    ----------
    symbol : Symbol
        The network.
    contexts : list of Context
        The devices.
    workload : list of float
        Their shares of a batch.
    data_shapes, label_shapes : list of DataDesc
        Shapes of a batch.
    param_names : list of str
        Arguments that are parameters.
    for_training, inputs_need_grad : bool
        Whether gradients are wanted, and those of the inputs, too.
    shared_group : DataParallelExecutorGroup, optional
        A group whose parameters, gradients and memory are used.
    fixed_param_names : list of str
        Parameters without gradient.
    grad_req : str, list or dict
        ``"write"``, ``"add"`` or ``"null"``, for all or for each argument.
    state_names : list of str
        Inputs that are kept from batch to batch.
    group2ctxs : dict or list of dict, optional
        Devices of the symbol's ``ctx_group`` attributes: one dict for each context, or a dict of lists.
    """

    def __init__(
        self,
        symbol: Symbol,
        contexts: Any,
        workload: Any,
        data_shapes: Any,
        label_shapes: Any,
        param_names: Any,
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: Any = None,
        logger: Any = None,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
    ) -> None:
        self.symbol = symbol
        self.contexts = contexts
        self.workload = workload
        self.param_names = param_names
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self.logger = logger
        self.fixed_param_names = list(fixed_param_names or ())
        self.state_names = state_names or []
        self.arg_names = symbol.list_arguments()
        self.aux_names = symbol.list_auxiliary_states()
        self.output_names = symbol.list_outputs()
        self.output_layouts = [
            DataDesc.get_batch_axis(symbol[name].attr("__layout__")) for name in self.output_names
        ]
        self.num_outputs = len(self.output_names)
        self.group2ctxs = self._spread_groups(group2ctxs)
        self.local: Any = (
            None  # of the last executor, where groups are split over ranks: a parallel.groups.LocalSymbol
        )
        self._is_train = for_training
        self._monitors: list[Any] = []
        self._bound: OrderedDict[Any, Any] = OrderedDict()
        self.execs: Any
        self.input_grad_arrays: Any
        self.execs = shared_group.execs if shared_group is not None else None
        # By context: arrays of what is no parameter, the largest so far; those of other shapes are parts of them.
        self.shared_data_arrays: list[dict[str, Any]] = (
            [{} for _ in contexts] if shared_group is None else shared_group.shared_data_arrays
        )
        self._set_shapes(data_shapes, label_shapes)
        self.grad_req = self._requests(grad_req)
        self._bind()

    def _spread_groups(self, groups: Any) -> list[Any] | list[dict[str, Context]]:
        count = len(self.contexts)
        if groups is None:
            return [None] * count
        if isinstance(groups, (list, tuple)):
            if len(groups) != count:
                raise MXNetValueError(f"[Module] group2ctxs has {len(groups)} entries for {count} contexts.")
            return list(groups)
        spread: list[dict[str, Context]] = [{} for _ in range(count)]
        for name, devices in groups.items():
            devices = as_list(devices)
            devices = devices * count if len(devices) == 1 else devices
            if len(devices) != count:
                raise MXNetValueError(
                    f"[Module] group2ctxs[{name!r}] has {len(devices)} entries for {count} contexts."
                )
            for place, device in zip(spread, devices):
                place[name] = device
        return spread

    def _set_shapes(self, data_shapes: Any, label_shapes: Any) -> None:
        data_shapes, label_shapes = _descriptions(data_shapes), _descriptions(label_shapes)
        self.data_shapes, self.label_shapes = data_shapes, label_shapes
        self.data_names = [item.name for item in data_shapes]
        self.label_names = [item.name for item in label_shapes or []]
        self._cut(data_shapes)

    def _cut(self, data_shapes: Any) -> None:
        sizes = {item.shape[_axis_of(item)] for item in data_shapes if _axis_of(item) >= 0}
        if len(sizes) != 1:
            raise MXNetValueError(f"[Module] inputs differ in their batch size: {data_shapes}.")
        self.batch_size = sizes.pop()
        self.slices = split_batch(self.batch_size, self.workload)

    def _requests(self, grad_req: str | Sequence[str] | Mapping[str, str]) -> dict[Any, str]:
        """What becomes of the gradient of each argument."""
        if isinstance(grad_req, str):
            given = dict.fromkeys(self.arg_names, grad_req)
        elif isinstance(grad_req, (list, tuple)):
            given = dict(zip(self.arg_names, grad_req))
        elif isinstance(grad_req, dict):
            defaults = dict.fromkeys((*self.param_names, *self.data_names), "write")
            given = {**defaults, **grad_req}
        else:
            raise MXNetTypeError(
                f"[Module] grad_req is of type {type(grad_req).__name__}; expected a str, list or dict."
            )
        requests = {}
        for name in self.arg_names:
            wanted = self.for_training and (
                (name in self.param_names and name not in self.fixed_param_names)
                or (name in self.data_names and self.inputs_need_grad)
            )
            requests[name] = given.get(name, "write") if wanted else "null"
        return requests

    def _bind(self) -> None:
        """Makes the executors for the current shapes, or takes those made before for the same."""
        items = [*self.data_shapes, *(self.label_shapes or [])]
        key = tuple((item.name, tuple(item.shape), str(item.dtype)) for item in items)
        if key in self._bound:
            self._bound.move_to_end(key)
            self.execs = self._bound[key]
        else:
            shared = self.execs or [None] * len(self.contexts)
            self.execs = [self._bind_one(i, items, shared[i]) for i in range(len(self.contexts))]
            self._bound[key] = self.execs
            while len(self._bound) > _REMEMBERED_SHAPES:
                self._bound.popitem(last=False)
            for monitor in self._monitors:
                for executor in self.execs:
                    monitor.install(executor)
        self._collect()

    def _bind_one(self, i: int, items: Any, shared: Any) -> Any:
        context, rows = self.contexts[i], self.slices[i]
        shapes, types = {}, {}
        for item in items:
            shape, axis = list(item.shape), _axis_of(item)
            if axis >= 0:
                shape[axis] = rows.stop - rows.start
            shapes[item.name], types[item.name] = tuple(shape), item.dtype
        known = set(self.arg_names)
        shapes = {name: shape for name, shape in shapes.items() if name in known}
        symbol, groups, local = self.symbol, self.group2ctxs[i], None
        self._bound_to = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        if split_of(groups) is not None:
            if len(self.contexts) > 1:
                raise MXNetValueError(
                    f"[Module] group2ctxs has a split over ranks, and there are {len(self.contexts)} contexts; "
                    "expected one."
                )
            local = split_of(groups).localize(
                symbol,
                groups,
                shapes,
                types,
                [name for name in self.arg_names if self.grad_req[name] == "null"],
            )
            symbol, groups = local.made.symbol, local.groups
            shapes = {name: local.own_shapes[name] for name in self.arg_names}
        arg_names, aux_names = symbol.list_arguments(), symbol.list_auxiliary_states()
        arg_shapes, _, aux_shapes = symbol.infer_shape(**shapes)
        if arg_shapes is None:
            raise MXNetValueError(f"[Module] the shapes {shapes} do not determine those of all parameters.")
        # Types of parameters do not follow through casts: float32, as in simple_bind.
        arg_types, _, aux_types = symbol.infer_type_partial(
            **{name: dtype for name, dtype in types.items() if name in known}
        )
        arg_contexts, aux_contexts = _core.variable_contexts(
            symbol.handle, context, list((groups or {}).items())
        )
        args, grads = {}, {}
        kept = (*self.param_names, *self.state_names)
        stypes = variable_storage(symbol)
        for name, shape, dtype, place in zip(arg_names, arg_shapes, arg_types, arg_contexts):
            stype = stypes.get(name, "default")
            if name in kept or stype != "default":
                source = shared if name in kept else None
                args[name] = self._array(
                    source and source.arg_dict, name, shape, dtype or np.float32, place, stype
                )
            else:
                args[name] = _part_of(
                    self.shared_data_arrays[i], name, shape, np.dtype(dtype or np.float32), place
                )
        aux = {
            name: self._array(shared and shared.aux_dict, name, shape, dtype or np.float32, place, "default")
            for name, shape, dtype, place in zip(aux_names, aux_shapes, aux_types, aux_contexts)
        }
        requests = [self.grad_req[name] for name in arg_names]
        kinds = gradient_kinds(
            symbol,
            context,
            [args[name] for name in arg_names],
            requests,
            [aux[name] for name in aux_names],
            groups,
        )
        for name, request, kind in zip(arg_names, requests, kinds):
            if request == "null":
                continue
            source = shared if name in kept else None
            array = args[name]
            stype = "default" if request == "add" else kind
            grads[name] = self._array(
                source and source.grad_dict, name, array.shape, array.dtype, array.context, stype
            )
        executor = symbol.bind(
            context,
            args,
            args_grad=grads,
            grad_req=self.grad_req,
            aux_states=aux,
            group2ctx=groups,
            shared_exec=shared,
        )
        if local is None:
            return executor
        self.local = local
        return of_local(executor, self.symbol, self.group2ctxs[i], local)

    def cut_of(self, name: str) -> Any:
        """Which part of a parameter this rank has (a parallel.splits.Cut); None: all of it."""
        return None if self.local is None else self.local.cuts.get(name)

    def whole_array(self, name: str, array: NDArray) -> NDArray:
        """A parameter, of which the array is this rank's part; all ranks call it."""
        cut = self.cut_of(name)
        return array if cut is None else cut.whole(array, self.local.shapes[name])

    def saved(self, name: str, array: NDArray) -> Any:
        """What goes into files: the array, or where it is this rank's part, one that knows of which whole."""
        cut = self.cut_of(name)
        return array if cut is None else cut.of_whole(array, self.local.shapes[name])

    def whole_shape(self, name: str, array: NDArray) -> tuple[int, ...]:
        """The shape on all ranks together of the parameter that is in the array."""
        return array.shape if self.cut_of(name) is None else self.local.shapes[name]

    def _array(
        self,
        existing: Any,
        name: str,
        shape: Sequence[int],
        dtype: DTypeLike | None,
        context: Any,
        stype: str,
    ) -> Any:
        """The existing array of this name, if its shape and dtype are right, else zeros."""
        from ..ndarray import zeros

        found = existing.get(name) if existing else None
        if found is not None:
            if found.shape != shape or found.dtype != dtype:
                raise MXNetValueError(
                    f"[Module] inputs {self._bound_to} do not fit the parameters: {name} has shape {found.shape} "
                    f"and dtype {np.dtype(found.dtype)}, and they need shape {shape} and dtype {np.dtype(dtype)}."
                )
            return found
        return zeros(shape, context, dtype=dtype, stype=stype)

    def _collect(self) -> None:
        execs = self.execs
        live = [name for name in self.param_names if name in self.arg_names]
        self.param_arrays = [[e.arg_dict[name] for e in execs] for name in live]
        self.grad_arrays = [
            [e.grad_dict[name] if self.grad_req[name] != "null" else None for e in execs] for name in live
        ]
        self.aux_arrays = [[e.aux_dict[name] for e in execs] for name in self.aux_names]
        self.state_arrays = [[e.arg_dict[name] for e in execs] for name in self.state_names]
        self.input_grad_arrays = None
        if self.inputs_need_grad:
            self.input_grad_arrays = [[e.grad_dict.get(name) for e in execs] for name in self.data_names]
        self._data_targets = [[e.arg_dict.get(name) for e in execs] for name in self.data_names]
        self._label_targets = [[e.arg_dict.get(name) for e in execs] for name in self.label_names]

    @property
    def data_arrays(self) -> list[Any]:
        """For each input the devices' parts: (rows of the batch, array)."""
        return [list(zip(self.slices, targets)) for targets in self._data_targets]

    @property
    def label_arrays(self) -> list[Any] | None:
        """For each label the devices' parts, like :attr:`data_arrays`; None where there are no labels."""
        if self.label_shapes is None:
            return None
        return [list(zip(self.slices, targets)) for targets in self._label_targets]

    @property
    def data_layouts(self) -> list[int]:
        """The batch axis of each input."""
        return [_axis_of(item) for item in self.data_shapes]

    @property
    def label_layouts(self) -> list[int] | None:
        """The batch axis of each label; None where there are no labels."""
        return None if self.label_shapes is None else [_axis_of(item) for item in self.label_shapes]

    def decide_slices(self, data_shapes: Any) -> list[int]:
        """Cuts batches of these shapes into the devices' parts; returns the batch axis of each."""
        self._cut(data_shapes)
        return [_axis_of(item) for item in data_shapes]

    def bind_exec(
        self, data_shapes: Any, label_shapes: Any, shared_group: Any = None, reshape: bool = False
    ) -> None:
        """Makes the executors for shapes; ``reshape`` keeps what there are for others."""
        if shared_group is not None:
            self.execs = shared_group.execs
        if not reshape:
            self._bound.clear()
        self._set_shapes(data_shapes, label_shapes)
        self._bind()

    def reshape(self, data_shapes: Any, label_shapes: Any) -> None:
        """Goes over to other shapes; parameters stay."""
        if (data_shapes, label_shapes) == (self.data_shapes, self.label_shapes):
            return
        self._set_shapes(data_shapes, label_shapes)
        self._bind()

    def set_params(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray], allow_extra: bool = False
    ) -> None:
        """Copies values to all devices."""
        for executor in self.execs:
            for source, target in ((arg_params, executor.arg_dict), (aux_params or {}, executor.aux_dict)):
                for name, value in source.items():
                    if name in target:
                        cut = self.cut_of(name)
                        (value if cut is None else cut.part(value)).copyto(target[name])
                    elif not allow_extra:
                        raise MXNetValueError(f"[Module] {name!r} is no parameter of the symbol.")

    def get_params(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> Any:
        """Copies the devices' mean values into two dicts of arrays."""
        groups = (
            (self.param_names, self.param_arrays, arg_params),
            (self.aux_names, self.aux_arrays, aux_params),
        )
        for names, arrays, target in groups:
            for name, parts in zip(names, arrays):
                mean = parts[0]
                if len(parts) > 1:
                    context = target[name].context
                    mean = sum(
                        (part.as_in_context(context) for part in parts[1:]), parts[0].as_in_context(context)
                    )
                    mean = (mean / len(parts)).astype(target[name].dtype)
                self.whole_array(name, mean).copyto(target[name])

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Copies a batch to the devices and starts the computation."""
        is_train = self.for_training if is_train is None else is_train
        self._is_train = is_train
        self._load(data_batch.data, self._data_targets, self.data_shapes)
        labels = getattr(data_batch, "label", None)  # named tuples of the user's own may have none
        if labels and self.label_shapes:
            self._load(labels, self._label_targets, self.label_shapes)
        for executor in self.execs:
            executor.forward(is_train=is_train)

    def _load(self, arrays: Any, targets: Any, descriptions: Any) -> None:
        if len(arrays) != len(targets):
            raise MXNetValueError(f"[Module] a batch has {len(arrays)} arrays; expected {len(targets)}.")
        for array, parts, description in zip(arrays, targets, descriptions):
            axis = _axis_of(description)
            for target, rows in zip(parts, self.slices):
                if target is None:
                    continue  # bound, but not used by the symbol
                part = _part(array, axis, rows)
                (part if part.dtype == target.dtype else part.astype(target.dtype)).copyto(target)

    def backward(self, out_grads: Any = None) -> None:
        """Starts the computation of the gradients."""
        if not self.for_training:
            raise MXNetValueError(
                "[Module.backward] the module was bound with for_training=False; expected bind(..., for_training=True)."
            )
        out_grads = [] if out_grads is None else as_list(out_grads)
        for executor, rows in zip(self.execs, self.slices):
            parts = [
                _part(grad, axis, rows).as_in_context(output.context)
                for grad, axis, output in zip(out_grads, self.output_layouts, executor.outputs)
            ]
            executor.backward(out_grads=parts)

    def get_output_shapes(self) -> list[tuple[Any, tuple[Any, ...]]]:
        """(name, shape) pairs of the merged outputs."""
        shapes = []
        for i, (name, axis) in enumerate(zip(self.output_names, self.output_layouts)):
            shape = list(self.execs[0].outputs[i].shape)
            if axis >= 0 and len(shape) > axis and len(self.execs) > 1:
                shape[axis] = sum(e.outputs[i].shape[axis] for e in self.execs)
            shapes.append((name, tuple(shape)))
        return shapes

    def get_outputs(
        self, merge_multi_context: bool = True, begin: Any = 0, end: Any = None
    ) -> list[list[Any]] | list[Any]:
        """Outputs ``begin`` to ``end`` of the last ``forward``."""
        end = len(self.output_names) if end is None else end
        parts = [[e.outputs[i] for e in self.execs] for i in range(begin, end)]
        if not merge_multi_context:
            return parts
        return [_merge(part, axis) for part, axis in zip(parts, self.output_layouts[begin:end])]

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        """Gradients of the inputs."""
        if not self.inputs_need_grad:
            raise MXNetValueError(
                "[Module.get_input_grads] the module was bound with inputs_need_grad=False; expected "
                "bind(..., inputs_need_grad=True)."
            )
        if not merge_multi_context:
            return self.input_grad_arrays
        return [_merge(part, _axis_of(item)) for part, item in zip(self.input_grad_arrays, self.data_shapes)]

    def get_states(self, merge_multi_context: bool = True) -> list[Any] | list[list[Any]]:
        """Values of the states."""
        parts = self.state_arrays
        return [_merge(part, 0) for part in parts] if merge_multi_context else parts

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Sets the states to arrays (one for each, or a list of the devices' parts), or to one number."""
        if (states is None) == (value is None):
            raise MXNetValueError("[Module] set_states takes either states or value.")
        for i, name in enumerate(self.state_names):
            for k, (executor, rows) in enumerate(zip(self.execs, self.slices)):
                target = executor.arg_dict[name]
                if states is None:
                    target[:] = value
                elif isinstance(states[i], (list, tuple)):
                    states[i][k].copyto(target)
                else:
                    _part(states[i], 0, rows).copyto(target)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool) -> None:
        """Updates a metric, device by device; where groups are split over ranks, by the examples of all of them."""
        if self.local is not None and self.local.over:
            self._update_by_all(eval_metric, (labels[0] if pre_sliced else labels) or [])
            return
        for k, (executor, rows) in enumerate(zip(self.execs, self.slices)):
            own = labels[k] if pre_sliced else labels or []
            if not pre_sliced:
                own = [
                    _part(label, _axis_of(item), rows) for label, item in zip(own, self.label_shapes or own)
                ]
            named = OrderedDict(zip(self.label_names, own))
            eval_metric.update_dict(named, OrderedDict(zip(self.output_names, executor.outputs)))

    def _update_by_all(self, eval_metric: Any, labels: Any) -> None:
        """Each rank gets the labels and outputs of all, so that metrics are the same on all."""
        from ..ndarray import array as nd_array

        outputs = self.execs[0].outputs
        labels, outputs = (
            [self.local.of_all(one) if one.shape[:1] == (self.batch_size,) else one for one in arrays]
            for arrays in (labels, outputs)
        )
        if not self._is_train:  # what fills up the last batches is not measured
            padded = isinstance(eval_metric, Unpadded)
            pad = eval_metric.pad if padded else 0
            eval_metric = eval_metric.metric if padded else eval_metric
            counts = nd_array([i < self.batch_size - pad for i in range(self.batch_size)])
            found = self.local.of_all(counts).asnumpy().nonzero()[0]
            if len(found) < self.batch_size * self._parts():
                rows = nd_array(found)
                labels, outputs = ([one.take(rows) for one in arrays] for arrays in (labels, outputs))
        eval_metric.update_dict(
            OrderedDict(zip(self.label_names, labels)), OrderedDict(zip(self.output_names, outputs))
        )

    def _parts(self) -> int:
        return math.prod(len(axis.ranks) for axis in self.local.over)

    def install_monitor(self, mon: Monitor) -> None:
        """Lets a monitor watch all executors, those made later included."""
        self._monitors.append(mon)
        for executors in self._bound.values():
            for executor in executors:
                mon.install(executor)


_star.complete(globals(), "DataDesc OrderedDict ctx logging nd")
