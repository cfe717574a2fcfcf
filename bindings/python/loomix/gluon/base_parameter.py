# SPDX-License-Identifier: Apache-2.0
"""Parameters of Gluon blocks: arrays on one or several devices, with their gradients."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core, autograd, initializer, symbol, util
from .. import ndarray as nd
from .._arguments import as_shape, expect
from ..base import AssertedError, AssertedShapeError, MXNetError, StateError
from ..context import Context, as_context_list, cpu, current_context

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from ..ndarray import NDArray
    from ..symbol import Symbol

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "tensor_types"]

tensor_types = (symbol.Symbol, nd.NDArray)

_NOT_INITIALIZED = (
    "[Parameter] Parameter '{}' has not been initialized; call initialize() first, of the block or of what its "
    "collect_params() gives (params leaves out those of children)."
)


class DeferredInitializationError(MXNetError):
    """A parameter is asked for whose shape is not known yet: it gets its values in the first forward pass.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.nn.Dense(2)  # its number of inputs follows from the first call
    >>> net.initialize()
    >>> try:
    ...     net.weight.data()
    ... except mx.gluon.DeferredInitializationError:
    ...     print("not known yet")
    not known yet
    """


def _known(shape: Sequence[int] | None) -> bool:
    return shape is not None and all(size > 0 for size in shape)


def _same_shape(known: Sequence[int], given: Sequence[int]) -> bool:
    return len(known) == len(given) and all(size in (0, -1, other) for size, other in zip(known, given))


def _in_mode(array: NDArray) -> NDArray:
    """The same array of the class that blocks hand out now: mx.np's in NumPy mode, which has dense ones alone."""
    if util.is_np_array() and array.stype == "default":
        return array.as_np_ndarray()
    return array.as_nd_ndarray()


def _contexts(ctx: Context | Sequence[Context] | None) -> list[Context]:
    if ctx is None:
        return [current_context()]
    return as_context_list(ctx)


class Parameter:
    """A weight of a network: one array a device, and one gradient each.

    Parameters
    ----------
    name : str
        Its name; that of the block comes first.
    grad_req : {'write', 'add', 'null'}
        Whether a backward pass overwrites the gradient, adds to it, or computes none.
    shape : int or tuple of int, optional
        0 stands for a size that the first forward pass finds out.
    dtype : NumPy type or str
    lr_mult, wd_mult : float
        Factors of the learning rate and of the weight decay.
    init : Initializer or str, optional
        Initializer instead of the one that ``initialize`` is called with.
    allow_deferred_init : bool
        Whether ``initialize`` may be called before the shape is known.
    differentiable : bool
        False for what has no gradient, such as moving averages.
    stype : {'default', 'row_sparse'}
        Storage type of the values; with 'row_sparse', a ``Trainer`` keeps them, and :meth:`row_sparse_data` gives rows.
    grad_stype : {'default', 'row_sparse'}
        Storage type of the gradient.

    Examples
    --------
    >>> import loomix as mx
    >>> weight = mx.gluon.Parameter("fc_weight", shape=(2, 3))
    >>> weight.initialize(init="ones")
    >>> weight.data().asnumpy().tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: Any = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        for key, value in (("stype", stype), ("grad_stype", grad_stype)):
            if value not in ("default", "row_sparse"):
                raise AssertedError(
                    f"[Parameter] {key} of Parameter '{name}' is {value!r}; expected 'default' or 'row_sparse'."
                )
        self.name = name
        self._shape: tuple[int, ...] | None = None
        self._data: list[NDArray] | None = None
        self._grad: list[NDArray] | None = None
        self._seen: list[int] = []  # versions of the gradients that an update has used
        self._deferred_init: tuple[Any, ...] = ()  # initializer, devices, default initializer, values
        self._ctx_list: list[Context] | None = None
        # Places in that list by device number, of host memory and of other devices; for parameters derived from others.
        self._ctx_map: list[list[int | None]] | None = None
        self._cut: Any = None  # which part of it this rank has: a parallel.splits.Cut
        self._var: Symbol | None = None
        self._trainer: Any = None
        self._differentiable = differentiable
        self._allow_deferred_init = allow_deferred_init
        self._stype, self._grad_stype = stype, grad_stype
        self._dtype = dtype
        self._grad_req = "null"
        if shape is not None:
            self._shape = as_shape("Parameter", f"the shape of '{name}'", shape)
        self.grad_req = grad_req
        self.lr_mult, self.wd_mult = lr_mult, wd_mult
        self.init = init

    def __repr__(self) -> str:
        return f"Parameter {self.name} (shape={self.shape}, dtype={self.dtype})"

    # ---- what it is ----

    @property
    def grad_req(self) -> str:
        """What a backward pass does with the gradient, one of 'write', 'add' or 'null'."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in ("write", "add", "null"):
            raise AssertedError(
                f"[Parameter] grad_req of '{self.name}' is {req!r}; expected 'write', 'add' or 'null'."
            )
        if not self._differentiable:
            req = "null"
        if req == self._grad_req:
            return
        self._grad_req = req
        if req == "null" and self._grad is not None:
            self._grad = None
            self._data = [array.detach() for array in self._data or []]
        elif self._data is not None:
            self._init_grad()

    @property
    def dtype(self) -> DTypeLike:
        """The element type; setting it casts the values."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: DTypeLike) -> None:
        self.cast(dtype)

    @property
    def shape(self) -> Any:
        """The shape; 0 stands for sizes that are not known yet, under NumPy's semantics of shapes -1."""
        if self._shape is not None and util.is_np_shape():
            return tuple(-1 if size == 0 else size for size in self._shape)
        return self._shape

    @shape.setter
    def shape(self, shape: Sequence[int]) -> None:
        if self._shape is not None and not _same_shape(self._shape, shape):
            raise AssertedShapeError(
                f"[Parameter] the shape of '{self.name}' is {self._shape}; it cannot become {tuple(shape)}: "
                "only sizes that are 0 may change."
            )
        self._shape = tuple(shape)

    @property
    def layout(self) -> Any:
        """Which part of the values :meth:`data` is, where a layer is split over ranks; else None."""
        return self._cut

    def _set_cut(self, cut: Any) -> None:
        """From now on this rank has a part of the values; ``shape`` stays that of the whole."""
        if self._cut is not None:
            raise StateError(f"[shard] Parameter '{self.name}' is split already: {self._cut}.")
        if self._stype != "default" or self._grad_stype != "default":
            raise MXNetError(f"[shard] Parameter '{self.name}' is row_sparse; expected a dense one.")
        self._cut = cut
        if self._data is not None:
            self._init_data(cut.part(self._data[0]), [array.context for array in self._data])

    @property
    def stype(self) -> str:
        """The storage type of the values."""
        return self._stype

    @property
    def grad_stype(self) -> str:
        """The storage type that was asked for the gradient."""
        return self._grad_stype

    def var(self) -> Symbol:
        """The variable that stands for this parameter in symbols; always the same one."""
        if self._var is None:
            self._var = symbol.var(
                self.name,
                shape=self.shape,
                dtype=self.dtype,
                lr_mult=self.lr_mult,
                wd_mult=self.wd_mult,
                init=self.init,
                stype=self._stype,
            )
        return self._var

    # ---- initialisation ----

    def initialize(
        self,
        init: Any = None,
        ctx: Context | Sequence[Context] | None = None,
        default_init: Any = initializer.Uniform(),
        force_reinit: bool = False,
    ) -> None:
        """Makes the arrays and fills them; where the shape is not known yet, in the first forward pass.

        Parameters
        ----------
        init : Initializer or str, optional
            By default the parameter's own `init`, else `default_init`.
        ctx : Context or list of Context, optional
            The devices.
        default_init : Initializer or str
        force_reinit : bool
            Whether values that are there already are replaced.
        """
        if self._data is not None and not force_reinit:
            warnings.warn(
                f"[Parameter] Parameter '{self.name}' has values and keeps them; force_reinit=True replaces them.",
                stacklevel=2,
            )
            return
        self._data = self._grad = None
        contexts = _contexts(ctx)
        if init is None:
            init = default_init if self.init is None else self.init
        if not _known(self.shape):
            if not self._allow_deferred_init:
                raise AssertedError(
                    f"[Parameter] Parameter '{self.name}' of shape {self.shape} cannot be initialized: expected sizes "
                    "above 0, or allow_deferred_init=True."
                )
            self._deferred_init = (init, contexts, default_init, None)
            return
        self._deferred_init = (init, contexts, default_init, None)
        self._finish_deferred_init()

    def _finish_deferred_init(self) -> None:
        if not self._deferred_init:
            return
        init, contexts, default_init, data = self._deferred_init
        if not _known(self.shape):
            raise AssertedError(
                f"[Parameter] Parameter '{self.name}' has shape {self.shape}, whose zeros no input has filled in; run "
                "the block on a batch, or give the layer its in_units, in_channels and so on."
            )
        self._deferred_init = ()
        trace = _core.exchange_trace(
            None
        )  # a block's forward may be traced; this is no part of what it computes
        try:
            self._fill(init, contexts, default_init, data)
        finally:
            _core.exchange_trace(trace)
        if trace is not None:
            self._bind(trace)

    def _bind(self, trace: _core.Trace) -> None:
        """Says to a trace that the arrays are this parameter."""
        for array in self._data or []:
            trace.bind(array, self.var().handle)

    def _fill(self, init: Any, contexts: list[Context], default_init: Any, data: NDArray | None) -> None:
        with autograd.pause():
            if data is None:
                data = self._first_value(initializer.create(default_init), init)
            elif self._cut is not None:
                data = self._cut.part(data)
            if data.stype != self._stype:
                data = data.as_nd_ndarray().tostype(self._stype)  # mx.np has dense arrays alone
            self._init_data(data, contexts)

    def _first_value(self, default_init: Any, init: Any) -> NDArray:
        """What the initializer gives; where the parameter is split, this rank's part."""
        desc = initializer.InitDesc(self.name, {"__init__": init})
        if self._cut is not None:
            part: NDArray = self._cut.first_value(default_init, desc, self.shape, self._zeros)
            return part
        data = self._zeros(self.shape)
        default_init(desc, data)
        return data

    def _zeros(self, shape: Any) -> NDArray:
        return _in_mode(nd.zeros(shape, dtype=self.dtype, ctx=cpu()))

    def _init_data(self, data: NDArray, contexts: list[Context]) -> None:
        """Takes over the values: all, or this rank's part."""
        self._ctx_list = list(contexts)
        self._ctx_map = [[], []]
        for i, ctx in enumerate(self._ctx_list):
            places = self._ctx_map[ctx.device_typeid & 1]
            places.extend([None] * (ctx.device_id + 1 - len(places)))
            places[ctx.device_id] = i
        data = _in_mode(data)
        self._data = [data.copyto(ctx) for ctx in self._ctx_list]
        self._init_grad()

    def _init_grad(self) -> None:
        if self._grad_req == "null" or self._data is None:
            self._grad = None
            return
        stype = self._grad_stype
        self._grad = [
            _in_mode(nd.zeros(array.shape, array.context, array.dtype, stype=stype)) for array in self._data
        ]
        autograd.mark_variables(self._data, self._grad, self._grad_req)
        self._mark_used()

    def _is_stale(self, i: int) -> bool:
        """Whether nothing has written the gradient on the i-th device since the last update."""
        assert self._grad is not None
        return self._grad[i]._version == self._seen[i]

    def _mark_used(self) -> None:
        self._seen = [array._version for array in self._grad or []]

    def _load_init(
        self,
        data: NDArray,
        ctx: Context | Sequence[Context] | None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
        where: str | None = None,
        source: str | None = None,
    ) -> None:
        """Takes over values from a file; errors say which parameter `where` this is, and the `source` of the values."""
        if data.stype != self._stype:
            data = data.as_nd_ndarray().tostype(self._stype)
        where = where or f"'{self.name}'"
        saved = "the saved values have" if source is None else f"its values in {source} have"
        if self.shape is not None and not _same_shape(self.shape, data.shape):
            raise AssertedShapeError(
                f"[Parameter] Parameter {where} has shape {self.shape}; {saved} shape {data.shape}."
            )
        self._shape = data.shape
        if cast_dtype:
            if dtype_source not in ("current", "saved"):
                raise AssertedError(f"dtype_source is {dtype_source!r}; expected 'current' or 'saved'.")
            if dtype_source == "current":
                data = data.astype(self.dtype, copy=False)
            else:
                self.dtype = data.dtype
        elif not _core.same_dtype(self.dtype, data.dtype):
            raise AssertedError(
                f"[Parameter] Parameter {where} has type {np.dtype(self.dtype)}; {saved} type "
                f"{np.dtype(data.dtype)}. cast_dtype=True converts them."
            )
        contexts = None if ctx is None else _contexts(ctx)
        if self._data is None:
            if self._deferred_init:
                if contexts is not None and set(contexts) != set(self._deferred_init[1]):
                    raise AssertedError(
                        f"[Parameter] Parameter {where} is to be loaded to {contexts}, but was initialized for "
                        f"{self.list_ctx()}."
                    )
                contexts = self._deferred_init[1]
            self._deferred_init = ()
            self._init_data(data if self._cut is None else self._cut.part(data), contexts or [cpu()])
            return
        if contexts is not None and set(contexts) != set(self.list_ctx()):
            raise AssertedError(
                f"Failed to load Parameter {where} on {contexts} because it was previously "
                f"initialized on {self.list_ctx()}."
            )
        self.set_data(data)

    # ---- values ----

    def _check(self, arrays: list[NDArray] | None) -> list[NDArray]:
        if arrays is not None:
            return arrays
        if self._deferred_init:
            raise DeferredInitializationError(
                f"[Parameter] Parameter '{self.name}' has no values yet: its shape, {self.shape} so far, follows from "
                "the first batch. Run the block on one, or give the layer its in_units, in_channels and so on."
            )
        raise MXNetError(_NOT_INITIALIZED.format(self.name))

    def _check_and_get(self, arrays: list[NDArray] | None, ctx: Context | None) -> NDArray:
        """The array on a device; derived parameters call it, too."""
        arrays = self._check(arrays)
        if ctx is None:
            if len(arrays) == 1:
                return arrays[0]
            ctx = current_context()
        for array in arrays:
            own = array.context
            if own is ctx or own == ctx:  # mostly the same object
                return array
        raise MXNetError(
            f"[Parameter] Parameter '{self.name}' is not on {ctx}; it was initialized for "
            f"{[array.context for array in arrays]}."
        )

    def _check_stype(self, is_sparse: bool, what: str, instead: str) -> None:
        if (self._stype != "default") != is_sparse:
            raise MXNetError(
                f"[Parameter.{what}] Parameter '{self.name}' has the storage type '{self._stype}'; use {instead}."
            )

    def data(self, ctx: Context | None = None) -> NDArray:
        """The array on a device, by default the only one or that of the current device."""
        if self._stype != "default":
            self._check_stype(False, "data", "row_sparse_data(row_id)")
        return self._check_and_get(self._data, ctx)

    def list_data(self) -> list[NDArray]:
        """The arrays on all devices."""
        self._check_stype(False, "list_data", "list_row_sparse_data(row_id)")
        return self._check(self._data)

    def _pull_rows(self, out: Any, row_id: NDArray) -> None:
        expect(isinstance(row_id, nd.NDArray), "Parameter.row_sparse_data", "row_id", row_id, "an NDArray")
        if self._trainer is None:
            raise MXNetError(
                f"[Parameter.row_sparse_data] Parameter '{self.name}' is in no Trainer yet, which keeps all of its "
                "rows; make the Trainer first."
            )
        self._trainer._row_sparse_pull(self, out, row_id)

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """The array on the device of `row_id`, with the rows of these numbers as the ``Trainer`` has them."""
        self._check_stype(True, "row_sparse_data", "data()")
        expect(isinstance(row_id, nd.NDArray), "Parameter.row_sparse_data", "row_id", row_id, "an NDArray")
        array = self._check_and_get(self._data, row_id.context)
        self._pull_rows(array, row_id)
        return array

    def list_row_sparse_data(self, row_id: NDArray) -> list[NDArray]:
        """As :meth:`row_sparse_data`, on all devices."""
        self._check_stype(True, "list_row_sparse_data", "list_data()")
        arrays = self._check(self._data)
        self._pull_rows(arrays, row_id)
        return arrays

    def _set_trainer(self, trainer: Any) -> None:
        """Takes note of the trainer that updates this parameter."""
        if self._stype != "default" and self._trainer is not None and trainer not in (None, self._trainer):
            raise MXNetError(
                f"[Trainer] Parameter '{self.name}' of storage type '{self._stype}' is in another Trainer, which keeps "
                "its rows; expected one Trainer for it."
            )
        self._trainer = trainer

    def _check_grad(self) -> None:
        if self._data is not None and self._grad is None:
            raise MXNetError(
                f"[Parameter] Parameter '{self.name}' has no gradient, as its grad_req is 'null'."
            )

    def grad(self, ctx: Context | None = None) -> NDArray:
        """The gradient on a device."""
        self._check_grad()
        return self._check_and_get(self._grad, ctx)

    def list_grad(self) -> list[NDArray]:
        """The gradients on all devices."""
        self._check_grad()
        return self._check(self._grad)

    def list_ctx(self) -> list[Context]:
        """The devices."""
        if self._data is None:
            if self._deferred_init:
                return self._deferred_init[1]
            raise MXNetError(_NOT_INITIALIZED.format(self.name))
        return [array.context for array in self._data]

    def set_data(self, data: Any) -> None:
        """Writes these values on all devices."""
        expect(hasattr(data, "shape"), "Parameter.set_data", f"the data of '{self.name}'", data, "an array")
        self.shape = data.shape
        if self._data is None:
            if not self._deferred_init:
                raise StateError(_NOT_INITIALIZED.format(self.name))
            if not isinstance(data, nd.NDArray):
                data = nd.array(data, dtype=self.dtype)
            self._deferred_init = (*self._deferred_init[:3], data)
            return
        trainer = self._trainer
        if trainer is not None and trainer._kv_initialized and trainer._update_on_kvstore:
            if self not in trainer._params_to_init:
                trainer._reset_kvstore()
        if self._cut is not None:
            data = self._cut.part(data if isinstance(data, nd.NDArray) else nd.array(data, dtype=self.dtype))
        with autograd.pause():
            for array in self._data:
                array[:] = data

    def zero_grad(self) -> None:
        """Sets the gradients to 0; nothing happens where there are none."""
        if self._grad is None:
            return
        stale = [self._is_stale(i) for i in range(len(self._grad))]
        for i, array in enumerate(self._grad):
            array[:] = 0
            if stale[i]:
                self._seen[i] = array._version

    def reset_ctx(self, ctx: Context | Sequence[Context]) -> None:
        """Moves the parameter to other devices."""
        contexts = _contexts(ctx)
        if self._data is not None:
            with autograd.pause():
                self._init_data(self._mean(), contexts)
        elif self._deferred_init:
            init, _, default_init, data = self._deferred_init
            self._deferred_init = (init, contexts, default_init, data)
        else:
            raise AssertedError(
                f"[Parameter.reset_ctx] Parameter '{self.name}' is not initialized; there is nothing to move."
            )

    def _reduce(self) -> NDArray:
        """As :meth:`_mean`, but the whole where the parameter is split over ranks, which all call it then."""
        mean = self._mean()
        return mean if self._cut is None else self._cut.whole(mean, self._shape)

    def _saved(self) -> Any:
        """What goes into files: the values, or a part of them that knows of which."""
        if self._cut is None:
            return self._mean()
        arrays = self._check(self._data)
        part = arrays[0].as_in_context(cpu()) if len(arrays) == 1 else self._mean()
        return self._cut.of_whole(part, self._shape)

    def _mean(self) -> NDArray:
        """The mean of the arrays on all devices, on the host; of a row_sparse one all rows."""
        if self._stype != "default" and self._trainer is not None:
            rows = nd.zeros(self.shape, stype=self._stype, dtype=self.dtype)
            self._trainer._row_sparse_pull(self, rows, nd.arange(self.shape[0], dtype="int64"))
            return rows
        arrays = [array.copyto(cpu()) for array in self._check(self._data)]
        return arrays[0] if len(arrays) == 1 else nd.add_n(*arrays) / len(arrays)

    def cast(self, dtype: DTypeLike) -> None:
        """Turns values and gradients into another element type."""
        self._dtype = dtype
        self._var = None
        if self._data is None:
            return
        with autograd.pause():
            self._data = [array.astype(dtype) for array in self._data]
            self._init_grad()


class Constant(Parameter):
    """A parameter that training does not change.

    Parameters
    ----------
    name : str
    value : NDArray or what :func:`nd.array` takes

    Examples
    --------
    >>> import loomix as mx
    >>> one = mx.gluon.Constant("one", [1.0, 1.0])
    >>> one.initialize()
    >>> one.data().asnumpy()
    array([1., 1.], dtype=float32)
    """

    def __init__(self, name: str, value: Any) -> None:
        if not isinstance(value, nd.NDArray):
            value = nd.array(value)
        self.value = value = _in_mode(value)

        class Init(initializer.Initializer):
            def _init_weight(self, _: Any, arr: NDArray) -> None:
                value.copyto(arr)

        super().__init__(name, grad_req="null", shape=value.shape, dtype=value.dtype, init=Init())

    def __repr__(self) -> str:
        return f"Constant {self.name} (shape={self.shape}, dtype={self.dtype})"

    @property
    def grad_req(self) -> str:
        """Always 'null'."""
        return "null"

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req != "null":
            warnings.warn(
                f"[Constant] grad_req is {req!r}, but constant '{self.name}' has no gradient; it stays 'null'.",
                stacklevel=2,
            )

    def var(self) -> Symbol:
        """The variable that stands for this constant in symbols."""
        if self._var is None:
            self._var = symbol.var(self.name, shape=self.shape, dtype=self.dtype)
        return self._var
