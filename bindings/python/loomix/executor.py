# SPDX-License-Identifier: Apache-2.0
"""Executors: symbols bound to arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _star
from ._passes import Passes
from .base import MXNetTypeError, MXNetValueError, suggest
from .base import py_str as py_str
from .ndarray import NDArray, zeros

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from .context import Context
    from .explanation import Explanation
    from .symbol import Symbol

__all__ = ["Executor"]


class Executor:
    """A symbol that runs on arrays; made by :meth:`Symbol.bind` and :meth:`Symbol.simple_bind`.

    Attributes
    ----------
    arg_arrays, grad_arrays, aux_arrays : list of NDArray
        Arguments, their gradients (None where there is none) and auxiliary states, in the symbol's order.
    outputs : list of NDArray
        The results of the last forward pass, which the next one overwrites. (One of another thread leaves them alone
        and has arrays of its own.)

    An executor serves one thread at a time: calls that overlap raise StateError, and so does reading the results of a
    pass that another thread's has replaced.

    Examples
    --------
    >>> import loomix as mx
    >>> y = mx.sym.Variable("x") * 2
    >>> run = y.bind(mx.cpu(), {"x": mx.nd.ones(2)})
    >>> run.forward()[0].asnumpy()
    array([2., 2.], dtype=float32)
    """

    def __init__(
        self,
        handle: Any,
        symbol: Symbol,
        ctx: Context,
        grad_req: str | Sequence[str] | Mapping[str, str],
        group2ctx: Mapping[str, Context] | None,
        arrays: Any = None,
    ) -> None:
        self._handle = handle
        self._symbol = symbol
        self._ctx = ctx
        self._grad_req = grad_req
        self._group2ctx = group2ctx
        arguments, gradients, states = arrays or (
            handle.arguments(),
            handle.gradients(),
            handle.auxiliary_states(),
        )
        self.arg_arrays, self.grad_arrays, self.aux_arrays = arguments, gradients, states
        self._outputs = handle.outputs()
        self._is_dynamic = handle.is_dynamic()
        self._dicts: dict[Any, Any] = {}
        self._local: Any = None  # what this rank bound of it: a parallel.groups.LocalSymbol
        self._passes = Passes("Executor")

    def __repr__(self) -> str:
        names = self._symbol.list_arguments()
        shown = [f"{name} {array.shape}" for name, array in zip(names, self.arg_arrays)]
        shown = shown if len(shown) <= 4 else [*shown[:3], f"{len(shown) - 3} more"]
        wanted = sum(request != "null" for request in self._requests())
        outputs = ", ".join(self._symbol.list_outputs())
        return f"<Executor of {outputs} @{self._ctx}: arguments {', '.join(shown) or 'none'}; {wanted} with gradients>"

    def _named(self, kind: str, names: Any, arrays: Any) -> Any:
        if kind not in self._dicts:
            names = names()
            if len(set(names)) != len(names):
                doubled = sorted({name for name in names if names.count(name) > 1})
                raise MXNetValueError(
                    f"[Executor.{kind}_dict] more than one is called {', '.join(doubled)}; {kind}_arrays has them in "
                    "order."
                )
            self._dicts[kind] = dict(zip(names, arrays))
        return self._dicts[kind]

    @property
    def handle(self) -> Any:
        """What the executor is for the C++ core."""
        return self._handle

    @property
    def arg_dict(self) -> Any:
        """The arguments by name."""
        return self._named("arg", self._symbol.list_arguments, self.arg_arrays)

    @property
    def grad_dict(self) -> Any:
        """The gradients by argument's name; None where there is none."""
        return self._named("grad", self._symbol.list_arguments, self.grad_arrays)

    @property
    def aux_dict(self) -> Any:
        """The auxiliary states by name."""
        return self._named("aux", self._symbol.list_auxiliary_states, self.aux_arrays)

    @property
    def outputs(self) -> list[NDArray]:
        """The results of the last forward pass."""
        self._passes.check("outputs")
        return self._outputs

    @property
    def output_dict(self) -> Any:
        """The outputs by name."""
        return self._named("output", self._symbol.list_outputs, self.outputs)

    def forward(self, is_train: bool = False, **kwargs: Any) -> Any:
        """Computes the outputs.

        Parameters
        ----------
        is_train : bool
            Whether operators behave as in training.
        **kwargs
            Arguments to change first, by name: NDArrays or NumPy arrays of the same shape.

        Returns
        -------
        list of NDArray
        """
        with self._passes:
            if kwargs:
                arguments = self.arg_dict
                for name, value in kwargs.items():
                    if name not in arguments:
                        raise MXNetTypeError(
                            f"[Executor.forward] the symbol has no argument '{name}'. {suggest(name, arguments)}"
                        )
                    if not isinstance(value, (NDArray, np.ndarray)):
                        raise MXNetValueError(
                            f"[Executor.forward] argument '{name}' is of type {type(value).__name__}; expected an "
                            "NDArray or a numpy.ndarray."
                        )
                    if value.shape != arguments[name].shape:
                        raise MXNetValueError(
                            f"[Executor.forward] argument '{name}' has shape {value.shape}; it was bound with "
                            f"{arguments[name].shape}."
                        )
                    arguments[name][:] = value
            if self._passes.begin():  # the other thread may still read what it got
                self._handle.renew_outputs()
                self._take_outputs()
            self._handle.forward(bool(is_train))
            if self._is_dynamic:
                self._take_outputs()
            return self._outputs

    def _take_outputs(self) -> None:
        self._outputs = self._handle.outputs()
        self._dicts.pop("output", None)

    def backward(self, out_grads: Any = None, is_train: bool | None = None) -> None:
        """Computes the gradients of the arguments for the last forward pass; without one, a pass is run first.

        It may be called again, with other head gradients for example: what the first call has overwritten is
        computed again with the same random numbers. So is, the first time, what ``forward(is_train=False)`` does not
        keep. Arguments that this reads must not have changed since the forward pass: StateError names one that has.
        Where no gradient was asked for, nothing happens.

        Parameters
        ----------
        out_grads : NDArray, list or dict of NDArray, optional
            Gradients of the final value with respect to the outputs. Not needed where every output is a loss.
        is_train : bool, optional
            Whether operators behave as in training. By default as in the forward pass, or, if there was none, yes;
            it is an error to contradict that pass.
        """
        if out_grads is None:
            out_grads = []
        elif isinstance(out_grads, NDArray):
            out_grads = [out_grads]
        elif isinstance(out_grads, dict):
            out_grads = [out_grads[name] for name in self._symbol.list_outputs()]
        for item in out_grads:
            if not isinstance(item, NDArray):
                raise MXNetTypeError("inputs must be NDArray")
        with self._passes:
            self._passes.check("backward")
            self._handle.backward(list(out_grads), None if is_train is None else bool(is_train))

    def copy_params_from(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copies parameters into the arguments and auxiliary states.

        Parameters
        ----------
        arg_params, aux_params : dict of str to NDArray
        allow_extra_params : bool
            Whether names that the symbol does not have are ignored.
        """
        for params, own in ((arg_params, self.arg_dict), (aux_params or {}, self.aux_dict)):
            for name, array in params.items():
                if name in own:
                    array.astype(own[name].dtype, copy=False).copyto(own[name])
                elif not allow_extra_params:
                    raise MXNetValueError(
                        f"[copy_params_from] '{name}' is no argument of the symbol. {suggest(name, own)} "
                        "allow_extra_params=True passes over it."
                    )

    def reshape(
        self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Any
    ) -> Executor:
        """An executor for other shapes that shares memory with this one.

        Parameters
        ----------
        partial_shaping : bool
            Whether shapes that are not given may change.
        allow_up_sizing : bool
            Whether arrays may grow, which takes new memory.
        **kwargs
            New shapes of arguments, by name.

        Returns
        -------
        Executor
        """
        if self._local is not None:
            raise MXNetValueError(
                "[Executor.reshape] groups of the symbol are split over ranks; call simple_bind for other shapes."
            )
        handle = self._handle.reshape(list(kwargs.items()), bool(partial_shaping), bool(allow_up_sizing))
        return Executor(handle, self._symbol, self._ctx, self._grad_req, self._group2ctx)

    def set_monitor_callback(
        self, callback: Callable[[str, NDArray], Any], monitor_all: bool = False
    ) -> None:
        """Calls ``callback(name, array)`` for each operator's outputs in every pass from now on.

        Parameters
        ----------
        callback : callable
            Gets names such as ``"fc1_output"``.
        monitor_all : bool
            Whether it gets the inputs of each operator, too, as ``"fc1_data"`` and ``"fc1_weight"``.
        """
        self._handle.set_monitor(callback, bool(monitor_all))

    def get_optimized_symbol(self) -> Symbol:
        """A copy of the symbol that was bound, in which operators that compute the same are one. What else the compiler
        made of it is no symbol; :meth:`debug_str` shows it."""
        if self._handle.merges_equal():
            return type(self._symbol)(self._symbol.handle.with_equal_merged())
        return self._symbol.__copy__()

    def debug_str(self) -> str:
        """What was compiled: the operations in order, their kernels and their memory; last the planned megabytes."""
        training = any(request != "null" for request in self._requests())
        megabytes = self._handle.planned_bytes(training) >> 20
        # Scripts look for MXNet's line, the third from the end when split at "\n".
        return f"{self._handle.explain(training)}Total {megabytes} MB allocated\n\n"

    def planned_memory(self, is_train: bool = False) -> dict[str, int]:
        """Bytes that the values of a pass take, without arguments, gradients of arguments and outputs.

        Parameters
        ----------
        is_train : bool
            Whether for a pass in training mode, with its gradients; else for prediction.

        Returns
        -------
        dict
            ``naive``: each value in memory of its own. ``inplace``: outputs take the memory of inputs. ``co_share``:
            values that are not alive together lie in the same place. ``both``: as it is. ``lower_bound``: the most
            that is alive at once.
        """
        return self._handle.compare_sharing(bool(is_train))

    def explain(self, is_train: bool | None = None, compare_strategies: bool = False) -> Explanation:
        """What was compiled: passes, the plan of memory, bytes, arithmetic, and what each operator took in the last
        pass. Waits for that pass. Everything is compiled a second time for it, without taking memory.

        Parameters
        ----------
        is_train : bool, optional
            Whether a training pass is explained, or one for prediction. By default the last pass; before the first
            one, training where there are gradients.
        compare_strategies : bool
            Whether memory is planned by each way of sharing, too.

        Returns
        -------
        loomix.explanation.Explanation

        Examples
        --------
        >>> import loomix as mx
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc")
        >>> run = net.simple_bind(mx.cpu(), data=(8, 4))
        >>> run.explain(is_train=True).with_gradients
        True
        """
        from .explanation import Explanation

        with self._passes:
            data = self._handle.explanation(
                None if is_train is None else bool(is_train), bool(compare_strategies)
            )
        return Explanation(data, self._symbol)

    def _requests(self) -> list[Any]:
        names = self._symbol.list_arguments()
        return _requests(self._grad_req, names)


def _requests(grad_req: str | Sequence[str] | Mapping[str, str], names: Any) -> list[Any]:
    """One request an argument, from one for all, a list, or a dict."""
    if isinstance(grad_req, str):
        return [grad_req] * len(names)
    if isinstance(grad_req, (list, tuple)):
        if len(grad_req) != len(names):
            raise MXNetValueError(f"[bind] got {len(grad_req)} grad_reqs for {len(names)} arguments.")
        return list(grad_req)
    if isinstance(grad_req, dict):
        return [grad_req.get(name, "null") for name in names]
    raise MXNetTypeError(
        f"[bind] grad_req is of type {type(grad_req).__name__}; expected a str, a list or a dict."
    )


def _arrays(what: str, given: Any, names: Any, allow_missing: bool) -> list[Any]:
    """Arrays in the order of the names, from a list or a dict; None where one is missing."""
    if isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise MXNetValueError(
                f"[bind] {what} has {len(given)} arrays; expected {len(names)}, for {', '.join(names)}."
            )
        arrays = list(given)
    elif isinstance(given, dict):
        missing = [name for name in names if name not in given]
        if missing and not allow_missing:
            raise MXNetValueError(
                f"[bind] {what} has nothing for '{missing[0]}'; it has {', '.join(given) or 'nothing'}."
            )
        arrays = [given.get(name) for name in names]
    else:
        raise MXNetTypeError(
            f"[bind] {what} is of type {type(given).__name__}; expected a list of NDArrays, or a dict of names to them."
        )
    for name, array in zip(names, arrays):
        if array is None and not allow_missing or array is not None and not isinstance(array, NDArray):
            raise MXNetTypeError(
                f"[bind] {what} {name} is of type {type(array).__name__}; expected an NDArray."
            )
    return arrays


def bind(
    symbol: Symbol,
    ctx: Context,
    args: Any,
    args_grad: Any,
    grad_req: str | Sequence[str] | Mapping[str, str],
    aux_states: Any,
    group2ctx: Mapping[str, Context] | None,
    shared_exec: Executor | None,
    memory_budget: int | None,
) -> Executor:
    """What :meth:`Symbol.bind` does."""
    _refuse_split("Symbol.bind", group2ctx)
    budget = check_budget("Symbol.bind", memory_budget)
    names, state_names = symbol.list_arguments(), symbol.list_auxiliary_states()
    arguments = _arrays("args", args, names, False)
    gradients = _arrays("args_grad", {} if args_grad is None else args_grad, names, True)
    states = _arrays(
        "aux_states", [] if aux_states is None and not state_names else aux_states or {}, state_names, False
    )
    states = [state if state.stype == "default" else state.tostype("default") for state in states]
    requests = _requests(grad_req, names)
    written = [None if request == "null" else array for array, request in zip(gradients, requests)]
    effective = ["null" if array is None else request for array, request in zip(written, requests)]
    shared = None if shared_exec is None else shared_exec._handle
    groups = list((group2ctx or {}).items())
    known = dict(zip([*names, *state_names], [*arguments, *states]))
    expanded = symbol.expanded(
        {key: array.shape for key, array in known.items()}, {key: array.dtype for key, array in known.items()}
    )
    rows: list[list[Any]] = [arguments, written, effective]
    own_states = states
    if expanded is not symbol:  # in its order
        read = [names.index(key) for key in expanded.list_arguments()]
        rows = [[row[i] for i in read] for row in rows]
        own_states = [known[key] for key in expanded.list_auxiliary_states()]
    handle = _core.bind(expanded.handle, ctx, rows[0], rows[1], rows[2], own_states, groups, shared, budget)
    return Executor(handle, symbol, ctx, grad_req, group2ctx, (arguments, gradients, states))


def simple_bind(
    symbol: Symbol,
    ctx: Context,
    grad_req: str | Sequence[str] | Mapping[str, str],
    type_dict: Mapping[str, DTypeLike] | None,
    stype_dict: Mapping[str, str] | None,
    group2ctx: Mapping[str, Context] | None,
    shared_arg_names: Sequence[str] | None,
    shared_exec: Executor | None,
    shared_buffer: dict[str, NDArray] | None,
    memory_budget: int | None,
    shapes: Any,
) -> Any:
    """What :meth:`Symbol.simple_bind` does."""
    if "force_rebind" not in symbol.list_inputs():  # of Module.bind; MXNet's scripts pass it on
        shapes.pop("force_rebind", None)
    budget = check_budget("Symbol.simple_bind", memory_budget)
    names = symbol.list_arguments()
    requests = _requests(grad_req, names)
    split = split_of(group2ctx)
    if split is not None:
        local = split.localize(symbol, group2ctx, shapes, type_dict or {}, _fixed(names, requests))
        own = {name: local.own_shapes[name] for name in names}
        wanted = dict(zip(names, requests))
        inner = simple_bind(
            local.made.symbol, ctx, wanted, type_dict, stype_dict, local.groups, shared_arg_names, shared_exec,
            shared_buffer, memory_budget, own,
        )  # fmt: skip
        return of_local(inner, symbol, group2ctx, local)
    types = list((type_dict or {}).items())
    stypes = {**variable_storage(symbol), **(stype_dict or {})}
    if shared_buffer is not None or symbol.handle.has_late_nodes():
        return _bind_buffered(
            symbol,
            ctx,
            requests,
            types,
            stypes,
            group2ctx,
            shared_exec,
            shared_buffer,
            memory_budget,
            shapes,
        )
    shared = None if shared_exec is None else shared_exec._handle
    handle = _core.simple_bind(
        symbol.handle,
        ctx,
        list(shapes.items()),
        types,
        list(stypes.items()),
        requests,
        list(shared_arg_names or []),
        list((group2ctx or {}).items()),
        shared,
        budget,
    )
    return Executor(handle, symbol, ctx, grad_req, group2ctx)


def explain(
    symbol: Symbol,
    ctx: Context,
    is_train: bool,
    grad_req: str | Sequence[str] | Mapping[str, str] | None,
    type_dict: Mapping[str, DTypeLike] | None,
    stype_dict: Mapping[str, str] | None,
    group2ctx: Mapping[str, Context] | None,
    memory_budget: int | None,
    compare_strategies: bool,
    shapes: Any,
) -> Explanation:
    """What :meth:`Symbol.explain` does."""
    _refuse_split("Symbol.explain", group2ctx)
    from .explanation import Explanation

    names = symbol.list_arguments()
    if grad_req is None:
        grad_req = ["null" if name in shapes or name.endswith("label") else "write" for name in names]
    requests = _requests(grad_req, names) if is_train else ["null"] * len(names)
    expanded = symbol.expanded(shapes, type_dict or {})
    if expanded is not symbol:
        by_name = dict(zip(names, requests))
        requests = [by_name[key] for key in expanded.list_arguments()]
    data = _core.explain_symbol(
        expanded.handle,
        ctx,
        list(shapes.items()),
        list((type_dict or {}).items()),
        list({**variable_storage(symbol), **(stype_dict or {})}.items()),
        requests,
        list((group2ctx or {}).items()),
        check_budget("Symbol.explain", memory_budget),
        bool(is_train),
        bool(compare_strategies),
    )
    return Explanation(data, symbol)


def split_of(group2ctx: Mapping[str, Any] | None) -> Any:
    """The split (``parallel.split``) that a group is bound to, if there is one."""
    return next((value for value in (group2ctx or {}).values() if hasattr(value, "localize")), None)


def _fixed(names: Sequence[str], requests: Sequence[str]) -> list[str]:
    return [name for name, request in zip(names, requests) if request == "null"]


def _refuse_split(who: str, group2ctx: Mapping[str, Any] | None) -> None:
    if split_of(group2ctx) is not None:
        raise MXNetValueError(
            f"[{who}] group2ctx has a split over ranks, and arrays do not say of what they are parts; expected "
            "simple_bind or Module."
        )


def of_local(inner: Executor, symbol: Symbol, group2ctx: Mapping[str, Any] | None, local: Any) -> Executor:
    """The executor of a symbol, by one of what this rank bound of it."""
    by_name = [
        dict(zip(inner._symbol.list_arguments(), arrays)) for arrays in (inner.arg_arrays, inner.grad_arrays)
    ]
    states = dict(zip(inner._symbol.list_auxiliary_states(), inner.aux_arrays))
    arrays = (
        *([kind[name] for name in symbol.list_arguments()] for kind in by_name),
        [states[name] for name in symbol.list_auxiliary_states()],
    )
    made = Executor(inner._handle, symbol, inner._ctx, inner._grad_req, group2ctx, arrays)
    made._local = local
    return made


def check_budget(who: str, memory_budget: int | None) -> int:
    """The bytes that a plan may take; 0 for no bound."""
    if memory_budget is None:
        return 0
    if (
        isinstance(memory_budget, bool)
        or not isinstance(memory_budget, (int, np.integer))
        or memory_budget <= 0
    ):
        raise MXNetValueError(
            f"[{who}] memory_budget is {memory_budget!r}; expected a number of bytes above 0."
        )
    return int(memory_budget)


def gradient_kinds(
    symbol: Symbol,
    ctx: Context,
    arguments: list[Any],
    requests: Sequence[str],
    states: list[Any],
    group2ctx: Mapping[str, Context] | None,
) -> Sequence[str]:
    """The storage types of the arguments' gradients."""
    if symbol.handle.has_late_nodes():  # functions of mx.np are dense
        return ["default"] * len(arguments)
    groups = list((group2ctx or {}).items())
    return _core.gradient_storage(symbol.handle, ctx, arguments, requests, states, groups)


def gradient_array(argument: NDArray, request: str, stype: str) -> NDArray:
    """Zeros for the gradient of an argument; what gradients are added to is dense."""
    stype = "default" if request == "add" else stype
    return zeros(argument.shape, ctx=argument.context, dtype=argument.dtype, stype=stype)


def variable_storage(symbol: Symbol) -> dict[str, str]:
    """Storage types of the arguments whose variables name one: ``Variable(name, stype="csr")``."""
    attributes = symbol.attr_dict()
    names = {"1": "row_sparse", "2": "csr"}
    found = {name: attributes.get(name, {}).get("__storage_type__") for name in symbol.list_arguments()}
    return {name: names[stype] for name, stype in found.items() if stype in names}


def _bind_buffered(
    symbol: Symbol,
    ctx: Context,
    requests: Any,
    types: Any,
    stypes: Any,
    group2ctx: Mapping[str, Context] | None,
    shared_exec: Executor | None,
    shared_buffer: dict[str, NDArray] | None,
    memory_budget: int | None,
    shapes: Any,
) -> Executor:
    """Binds to arrays that come from a dict of buffers by name, where they are large enough, and go into it if not."""
    _core.check_can_run(symbol.expanded(shapes, dict(types)).handle)
    arg_shapes, _, aux_shapes = symbol.infer_shape(**shapes)
    if arg_shapes is None:
        raise MXNetValueError(f"[simple_bind] the shapes given, {shapes}, do not decide all others.")
    arg_types, _, aux_types = symbol.infer_type_partial(**dict(types))
    buffers = {} if shared_buffer is None else shared_buffer
    arg_contexts, aux_contexts = _core.variable_contexts(symbol.handle, ctx, list((group2ctx or {}).items()))

    def take(name: str, shape: int | Sequence[int], dtype: DTypeLike | None, ctx: Context) -> Any:
        dtype = np.float32 if dtype is None else dtype
        if stypes.get(name, "default") != "default":
            return zeros(shape, ctx=ctx, dtype=dtype, stype=stypes[name])
        size = int(np.prod(shape))
        known = buffers.get(name)
        if known is not None and known.dtype == dtype and known.size >= size and known.context == ctx:
            return known._reshape_view((known.size,))._slice(0, size)._reshape_view(shape)
        buffers[name] = zeros(shape, ctx=ctx, dtype=dtype)
        return buffers[name]

    arguments = [take(*row) for row in zip(symbol.list_arguments(), arg_shapes, arg_types, arg_contexts)]
    states = [take(*row) for row in zip(symbol.list_auxiliary_states(), aux_shapes, aux_types, aux_contexts)]
    kinds = gradient_kinds(symbol, ctx, arguments, requests, states, group2ctx)
    gradients = [
        None if request == "null" else gradient_array(array, request, kind)
        for request, kind, array in zip(requests, kinds, arguments)
    ]
    return bind(symbol, ctx, arguments, gradients, requests, states, group2ctx, shared_exec, memory_budget)


_star.complete(
    globals(),
    "ExecutorHandle NDArray NDArrayHandle SymbolHandle c_array_buf c_str_array check_call copy ctypes "
    "mx_int mx_uint ndarray np py_array py_str",
    "_LIB _ndarray_cls",
)
