# SPDX-License-Identifier: Apache-2.0
"""Blocks that can be compiled."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import _core, symbol
from .. import ndarray as nd
from .._arguments import as_whole
from ..base import (
    MXNetError,
    MXNetNotImplementedError,
    MXNetTypeError,
    MXNetValueError,
    ShapeError,
    StateError,
)
from ..context import Context, current_context
from ..engine import as_bulk_size
from ..executor import check_budget
from ..model import checkpoint_name, write_whole
from ..ndarray.sparse import BaseSparseNDArray
from ..symbol.symbol import check_backend
from ..util import is_np_array
from .base_block import Block, check_flags
from .error_place import returned_nothing
from .parameter import DeferredInitializationError, Parameter, ParameterDict

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike

    from ..explanation import Explanation
    from ..ndarray import NDArray
    from ..symbol import Symbol
    from .traced_forward import TracedForward

__all__ = ["HybridBlock", "flatten", "regroup"]


def flatten(args: Any, what: str, kinds: tuple[type, ...]) -> tuple[list[Any], Any]:
    """The leaves of nested lists and tuples, and the form that :func:`regroup` takes.

    A leaf is 0, one without a value -1, a Symbol with several outputs their number, and a list a list of forms.
    """
    if isinstance(args, kinds):
        outputs = len(args) if isinstance(args, symbol.Symbol) else 1
        return [args], outputs if outputs > 1 else 0
    if args is None:
        return [None], -1
    if not isinstance(args, (list, tuple)):
        raise MXNetValueError(
            f"[HybridBlock] the {what} {args!r} is of type {type(args).__name__}; expected an NDArray, a Symbol, or "
            "nested lists of them, once the block is hybridized."
        )
    leaves, forms = [], []
    for item in args:
        some, form = flatten(item, what, kinds)
        leaves.extend(some)
        forms.append(form)
    return leaves, forms


def regroup(leaves: list[Any], form: Any) -> Any:
    """Takes from the front of `leaves` what makes up the form."""
    if form == 0:
        return leaves.pop(0)
    if form == -1:
        leaves.pop(0)
        return None
    if isinstance(form, int):
        return [leaves.pop(0) for _ in range(form)]
    return [regroup(leaves, item) for item in form]


class HybridBlock(Block):
    """A block whose computation can be compiled: it is written once, in ``hybrid_forward``, for arrays and symbols, or
    in ``forward``, for arrays.

    After :meth:`hybridize`, a call traces ``hybrid_forward`` once with symbols; what comes out is compiled for each
    combination of input shapes and types, and runs as one operator.

    A block that defines ``forward`` alone is traced on arrays, once for each combination of shapes, types, devices and
    other arguments: the operators that run are recorded. So Python may decide by shapes, but not by values: reading
    the values of an array in ``forward`` is an error once the block is hybridized. Its parameters are
    ``self.weight.data()``.

    Examples
    --------
    >>> import loomix as mx
    >>> class Double(mx.gluon.HybridBlock):
    ...     def hybrid_forward(self, F, x):
    ...         return F.relu(x) * 2
    >>> net = Double()
    >>> net.hybridize()
    >>> net(mx.nd.array([-1.0, 3.0])).asnumpy()
    array([0., 6.], dtype=float32)
    """

    _forward_alone = False  # of a subclass: there is no hybrid_forward

    def __init__(
        self, prefix: str | None = None, params: ParameterDict | None = None, **unknown: NoReturn
    ) -> None:
        super().__init__(prefix, params, **unknown)
        self._active = False
        self._op_hook: tuple[Callable[..., Any], bool] | None = None
        self._memory_budget = 0
        self._bulk_sizes = [0, 0]  # forward, backward
        self._inline_limit = 2
        self._clear_cached_op()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_forward_alone" not in vars(cls):
            own = cls.forward is not HybridBlock.forward
            cls._forward_alone = own and cls.hybrid_forward is HybridBlock.hybrid_forward

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, HybridBlock):
            self._clear_cached_op()

    def _clear_cached_op(self) -> None:
        self._graph: tuple[list[Symbol | None], Symbol] | None = None
        self._cached: Any = None  # a _core.CachedGraph, or what chooses one by shapes
        self._sources: list[Any] = []  # of the graph's inputs: a number of an argument, or a parameter
        self._in_format: Any = None
        self._out_format: Any = None
        self._traced: TracedForward | None = None
        self._constants: dict[
            str, NDArray
        ] = {}  # that the traced graph reads from outside, by their names in it
        self._out_leaves: list[int] = []  # outputs of each symbol that hybrid_forward gave; 0 for None

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Makes a block a child, which must be a HybridBlock, too."""
        if not isinstance(block, HybridBlock):
            raise MXNetValueError(
                f"[HybridBlock] the child {block} of block '{self.name}' is of type {type(block).__name__}; expected a "
                "HybridBlock, such as HybridSequential in place of Sequential."
            )
        super().register_child(block, name)
        self._clear_cached_op()

    def hybridize(
        self,
        active: bool = True,
        backend: str | None = None,
        clear: bool = True,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        memory_budget: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Compiles what this block computes (``active=False``: no longer).

        Parameters
        ----------
        active : bool
        backend : str, optional
            ``"default"`` or ``"MKLDNN"``, which are built in: kernels are chosen among theirs in any case.
        clear : bool
            Whether what is compiled already is forgotten.
        static_alloc, static_shape : bool
            Memory is always planned, and graphs are always compiled for their shapes.
        inline_limit : int
            A block of at most so many operators is recorded operator by operator, so that its gradients have gradients
            (``autograd.grad(create_graph=True)``); not with `static_alloc`. Below 0: of any number.
        forward_bulk_size, backward_bulk_size : int, optional
            How many short operators may be one task of the engine; 1 joins none. By default as
            :func:`loomix.engine.set_bulk_size` and the settings say.
        memory_budget : int, optional
            Bytes that values between operators may take in one call; see :meth:`loomix.sym.Symbol.bind`. A
            non-hybrid block gives it to each of the blocks below that are compiled.
        """
        check_flags({"backend": backend, **kwargs})
        limit = as_whole("hybridize", "inline_limit", inline_limit)
        self._inline_limit = 0 if static_alloc else limit
        self._memory_budget = check_budget("hybridize", memory_budget)
        if backend is not None:
            check_backend("hybridize", backend, kwargs)
        self._bulk_sizes = [
            0 if size is None else as_bulk_size("hybridize", name, size)
            for name, size in (
                ("forward_bulk_size", forward_bulk_size),
                ("backward_bulk_size", backward_bulk_size),
            )
        ]
        self._active = active
        self._traces_forward = active and self._forward_alone
        if clear:
            self._clear_cached_op()
        if active and (self._forward_hooks or self._forward_pre_hooks):
            warnings.warn(
                f"[hybridize] block '{self.name}' has forward hooks, which are not called where it runs inside another "
                "hybridized block.",
                stacklevel=2,
            )
        super().hybridize(
            active,
            clear=clear,
            static_alloc=static_alloc,
            static_shape=static_shape,
            inline_limit=inline_limit,
            forward_bulk_size=forward_bulk_size,
            backward_bulk_size=backward_bulk_size,
            memory_budget=memory_budget,
        )

    def optimize_for(
        self,
        x: Any,
        *args: Any,
        backend: str | None = None,
        clear: bool = False,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        memory_budget: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Compiles what this block computes, as :meth:`hybridize` does, and runs it once.

        Parameters
        ----------
        x, *args : NDArray
            Inputs.
        backend : str
            ``"default"`` or ``"MKLDNN"``; see :meth:`hybridize`, also for the other parameters.
        clear : bool
            Whether what is compiled already is forgotten.

        Raises
        ------
        ValueError
            For other backends, and for options, which these have not.

        Examples
        --------
        >>> import loomix as mx
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> net.optimize_for(mx.nd.ones((1, 3)), backend="MKLDNN", static_alloc=True)
        """
        if not backend:
            raise MXNetValueError("[optimize_for] no backend is given; expected 'default' or 'MKLDNN'.")
        self.hybridize(
            True,
            backend,
            clear,
            static_alloc,
            static_shape,
            inline_limit,
            forward_bulk_size,
            backward_bulk_size,
            memory_budget,
            **kwargs,
        )
        self(x, *args)

    def cast(self, dtype: DTypeLike) -> None:
        """Casts all parameters to another element type."""
        self._clear_cached_op()
        super().cast(dtype)

    def explain(self, compare_strategies: bool = False) -> Explanation:
        """What the last call of this hybridized block was compiled to; see :meth:`loomix.executor.Executor.explain`.
        The times are those of a call whose gradients were computed, or which was not recorded.

        Parameters
        ----------
        compare_strategies : bool
            Whether memory is planned by each way of sharing, too.

        Returns
        -------
        loomix.explanation.Explanation

        Raises
        ------
        StateError
            When the block was not called since it was hybridized.

        Examples
        --------
        >>> import loomix as mx
        >>> net = mx.gluon.nn.Dense(3, in_units=4)
        >>> net.initialize()
        >>> net.hybridize()
        >>> y = net(mx.nd.ones((2, 4)))
        >>> net.explain().flops
        48
        """
        from ..explanation import Explanation

        data = None if self._cached is None else self._cached.explanation(bool(compare_strategies))
        if data is None or self._graph is None:
            raise StateError(
                f"[HybridBlock.explain] block '{self.name}' has compiled nothing yet: call hybridize(), and then the "
                "block once. (Of blocks inside of each other, the outermost hybridized one is compiled.)"
            )
        return Explanation(data, self._graph[1])

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """Calls ``callback(name, operator, array)`` for the results of each operator once this block is hybridized;
        see :meth:`Block.register_op_hook`."""
        self._op_hook = (callback, monitor_all)
        if self._traced is not None:
            self._clear_cached_op()  # its graphs are made again, with the hook
        elif self._cached is not None:
            self._cached.set_monitor(*self._op_hook)
        super().register_op_hook(callback, monitor_all)

    # ---- tracing ----

    def _get_graph(self, *args: Any) -> tuple[list[Symbol | None], Symbol]:
        """The inputs and the outputs as symbols."""
        if self._graph is None:
            leaves, self._in_format = flatten(args, "input", (nd.NDArray, symbol.Symbol))
            given = sum(leaf is not None for leaf in leaves)
            names = iter(["data"] if given == 1 else [f"data{i}" for i in range(given)])
            inputs = [None if leaf is None else symbol.var(next(names)) for leaf in leaves]
            made = inputs
            if is_np_array():
                made = [None if item is None else item.as_np_ndarray() for item in inputs]
            grouped = regroup(list(made), self._in_format)
            params = self._symbols_of_params()
            with self.name_scope():
                out = self.hybrid_forward(symbol, *grouped, **params)
            if out is None:
                raise returned_nothing(self, "hybrid_forward", "a Symbol, or a list of them")
            outputs, self._out_format = flatten(out, "output", (symbol.Symbol,))
            known = [item for item in outputs if item is not None]
            self._graph = inputs, symbol.Group(known) if len(known) != 1 else known[0]
            self._out_leaves = [len(item) if item is not None else 0 for item in outputs]
        return self._graph

    def _symbols_of_params(self) -> dict[str, Symbol]:
        found = {key: param.var() for key, param in self._reg_params.items()}
        return {key: item.as_np_ndarray() for key, item in found.items()} if is_np_array() else found

    def _build_cache(self, *args: Any) -> None:
        inputs, out = self._get_graph(*args)
        positions = {item.name: i for i, item in enumerate(inputs) if item is not None}
        params = self.collect_params()
        used = out.list_inputs()
        unused = [key for key in params if key not in set(used)]
        if unused:
            warnings.warn(
                f"[HybridBlock] block '{self.name}' has parameters that its outputs do not depend on: "
                f"{', '.join(unused)}.",
                stacklevel=5,
            )
        self._sources = []
        for item in used:
            if item not in positions and item not in params:
                raise MXNetValueError(
                    f"[HybridBlock] the graph of block '{self.name}' reads '{item}', which is no parameter and none of "
                    f"its inputs {list(positions)}."
                )
            self._sources.append(positions[item] if item in positions else params[item])
        self._cached = self._make_cached(out)

    def _make_cached(self, out: Symbol) -> Any:
        params = self.collect_params()
        if all(param._cut is None for param in params.values()):
            return out.compiled(self._compile_graph)
        if out.handle.has_late_nodes():
            raise MXNetNotImplementedError(
                f"[HybridBlock] block '{self.name}' has layers that are split over ranks, and functions of mx.sym.np; "
                "expected operators of mx.sym."
            )
        examples = self._examples
        if examples is not None and examples.net is not self:
            raise StateError(
                f"[HybridBlock] block '{self.name}' is split over ranks in '{examples.net.name}', whose ranks have "
                "examples of their own; hybridize that one, and call it."
            )
        from ..parallel.shard import SplitGraph

        cut = None if examples is None else examples.cut
        return SplitGraph(out, self._compile_graph, dict(params.items()), cut)

    def _compile_graph(self, out: Symbol) -> _core.CachedGraph:
        forward, backward = self._bulk_sizes
        cached = _core.CachedGraph(
            out.handle, self.name, self._memory_budget, forward, backward, self._inline_limit
        )
        if self._op_hook is not None:
            cached.set_monitor(*self._op_hook)
        return cached

    def _run_traced(self, *args: Any) -> Any:
        if _core.active_trace() is not None:
            return self._forward_in_trace(*args)
        if self._traced is None:
            from .traced_forward import TracedForward

            self._traced = TracedForward(self)
        return self._traced(args)

    def _forward_in_trace(self, *args: Any) -> Any:
        with self.name_scope():
            return self.forward(*args)

    def _infer_own_shapes(self, args: tuple[Any, ...]) -> None:
        """Before the parameters of a block that defines ``forward`` alone are asked for."""
        if type(self).infer_shape is not HybridBlock.infer_shape:
            self.infer_shape(*args)
            for param in self._reg_params.values():
                param._finish_deferred_init()

    def _call_cached_op(self, *args: Any) -> Any:
        if self._traced is not None or (self._cached is None and _has_forward_alone(self)):
            return self._run_traced(*args)
        leaves, form = flatten(args, "input", (nd.NDArray,))
        if self._cached is None:
            self._build_cache(*args)
        if form != self._in_format and not _differs_in_none(form, self._in_format):
            raise MXNetValueError(
                f"[HybridBlock] the inputs of block '{self.name}' are nested as {form}, but were as {self._in_format} "
                "when its graph was made; call hybridize() again before calls with other inputs."
            )
        ctx = next(leaf for leaf in leaves if leaf is not None).context
        leaves = [leaf if leaf is None else leaf.as_in_context(ctx) for leaf in leaves]
        try:
            inputs = [leaves[s] if isinstance(s, int) else s.data(ctx) for s in self._sources]
        except DeferredInitializationError:
            self._deferred_infer_shape(*args)
            for source in self._sources:
                if isinstance(source, Parameter):
                    source._finish_deferred_init()
            inputs = [leaves[s] if isinstance(s, int) else s.data(ctx) for s in self._sources]
        flat = iter(self._run_cached(inputs))
        outputs: list[Any] = []
        for count in self._out_leaves:
            outputs.extend([next(flat) for _ in range(count)] if count else [None])
        return regroup(outputs, self._out_format)

    def _run_cached(self, inputs: list[NDArray]) -> list[NDArray]:
        """Runs the graph; where a block around is traced, it becomes a part of that one's."""
        assert self._cached is not None and self._graph is not None
        trace = _core.active_trace()
        if trace is None:
            return self._cached(inputs)
        _core.exchange_trace(None)
        try:
            flat = self._cached(inputs)
        finally:
            _core.exchange_trace(trace)
        out = self._graph[1]
        trace.splice(out.handle, dict(zip(out.list_inputs(), inputs)), flat)
        return flat

    # ---- inference ----

    def _infer_attrs(self, what: str, *args: Any) -> None:
        inputs, out = self._get_graph(*args)
        leaves, _ = flatten(args, "input", (nd.NDArray,))
        pairs = [(item, leaf) for item, leaf in zip(inputs, leaves) if item is not None]
        known = {item.name: getattr(leaf, what) for item, leaf in pairs}
        infer = out.infer_shape_partial if what == "shape" else out.infer_type_partial
        arguments, _, states = infer(**known)
        found = dict(zip(out.list_arguments(), arguments))
        found.update(zip(out.list_auxiliary_states(), states))
        params = self.collect_params()
        if what == "shape" and any(0 in (found.get(key) or ()) for key in params):
            nodes = out.get_internals()
            self._infer_from_nodes(dict(zip(nodes.list_outputs(), nodes.infer_shape_partial(**known)[1])))
        for key, param in params.items():
            value = found.get(key)
            if value is None:
                continue
            if what == "dtype":
                param.cast(value)
            elif value and all(size > 0 for size in value):
                param.shape = value
            elif param.shape is not None and not all(size > 0 for size in param.shape):
                raise ShapeError(
                    f"the shape of Parameter '{key}' of block '{self.name}' does not follow from the inputs of "
                    f"shape {[leaf.shape for _, leaf in pairs]}; so far it is {tuple(value or ())}."
                )

    def _infer_from_nodes(self, shapes: dict[str, tuple[int, ...]]) -> None:
        """Finds the shapes of parameters that inference from node to node leaves open, from what it knows of nodes."""
        for child in self._children.values():
            if isinstance(child, HybridBlock):
                child._infer_from_nodes(shapes)

    def infer_shape(self, *args: Any) -> None:
        """Finds the shapes of the parameters from inputs."""
        self._infer_attrs("shape", *args)

    def infer_type(self, *args: Any) -> None:
        """Finds the element types of the parameters from inputs."""
        self._infer_attrs("dtype", *args)

    def _deferred_infer_shape(self, *args: Any) -> None:
        try:
            self.infer_shape(*args)
        except (MXNetError, ValueError) as error:
            raise ShapeError(
                f"[HybridBlock] the shapes of the parameters of block '{self.name}' do not follow from its inputs. "
                f"{error}"
            ) from error

    # ---- running ----

    def forward(self, x: Any, *args: Any) -> Any:
        """Runs ``hybrid_forward`` on arrays or symbols."""
        first = x
        if not isinstance(x, nd.NDArray):
            first = next((leaf for leaf in _leaves((x, *args)) if leaf is not None), None)
            if first is None:
                raise MXNetValueError(
                    f"[HybridBlock] block '{self.name}' got None for each input; expected an NDArray or a Symbol."
                )
        if args and isinstance(first, (nd.NDArray, symbol.Symbol)):
            self._check_kinds(first, x, *args)
        if isinstance(first, nd.NDArray):
            active = self._active or self._split is not None  # a split layer is a graph in any case
            if active and not _has_sparse((x, *args)):  # graphs are compiled for dense arrays
                if _core.active_trace() is None:
                    return self._call_cached_op(x, *args)
                with self.name_scope():
                    return self._forward_arrays(first.context, x, *args)
            return self._forward_arrays(first.context, x, *args)
        if not isinstance(first, symbol.Symbol):
            raise MXNetTypeError(
                f"[HybridBlock] the first input of block '{self.name}' {_what(x, first)}; expected an "
                "NDArray or a Symbol."
            )
        params = self._symbols_of_params()
        with self.name_scope():
            out = self.hybrid_forward(symbol, x, *args, **params)
        if out is None:
            raise returned_nothing(self, "hybrid_forward", "a Symbol, or a list of them")
        return out

    def _check_kinds(self, first: Any, *args: Any) -> None:
        other = symbol.Symbol if isinstance(first, nd.NDArray) else nd.NDArray
        if any(isinstance(leaf, other) for leaf in _leaves(args)):
            raise MXNetValueError(
                f"[HybridBlock] block '{self.name}' got NDArrays and Symbols in one call; expected one kind of inputs."
            )

    def _forward_arrays(self, ctx: Context, *args: Any) -> Any:
        if current_context() == ctx:
            return self._run_arrays(ctx, *args)
        with Context(ctx):  # one of this thread: others may be inside the same object
            return self._run_arrays(ctx, *args)

    def _run_arrays(self, ctx: Context, *args: Any) -> Any:
        try:
            params = {key: param.data(ctx) for key, param in self._reg_params.items()}
        except DeferredInitializationError:
            self._deferred_infer_shape(*args)
            for param in self._reg_params.values():
                param._finish_deferred_init()
            self._clear_cached_op()
            params = {key: param.data(ctx) for key, param in self._reg_params.items()}
        out = self.hybrid_forward(nd, *args, **params)
        if out is None:
            raise returned_nothing(self, "hybrid_forward", "an NDArray, or a list of them")
        return out

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs; `F` is ``mx.nd`` or ``mx.sym``, and parameters come by keyword. Subclasses define
        it."""
        raise NotImplementedError(f"{type(self).__name__} does not define hybrid_forward.")

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> tuple[str, str]:
        """Writes PATH-symbol.json and PATH-EPOCH.params, which :class:`SymbolBlock` and modules load.

        Returns
        -------
        tuple of str
            The names of the two files.
        """
        if self._graph is None:
            raise MXNetError(
                f"[export] block '{self.name}' has no graph yet; call hybridize() and run it once."
            )
        out = self._graph[1]
        files = f"{path}-symbol.json", checkpoint_name(path, epoch, "params")
        write_whole(files[0], lambda name: out.save(name, remove_amp_cast=remove_amp_cast))
        kinds = dict.fromkeys(out.list_arguments(), "arg") | dict.fromkeys(out.list_auxiliary_states(), "aux")
        arrays = {
            f"{kinds[key]}:{key}": param._reduce()
            for key, param in self.collect_params().items()
            if key in kinds
        }
        arrays |= {f"arg:{key}": array for key, array in self._constants.items()}
        write_whole(files[1], lambda name: nd.save(name, arrays))
        return files


def _has_sparse(args: Any) -> bool:
    return any(isinstance(item, BaseSparseNDArray) for item in _leaves(args))


def _has_forward_alone(block: Block) -> bool:
    own = isinstance(block, HybridBlock) and block._forward_alone
    return own or any(map(_has_forward_alone, block._children.values()))


def _differs_in_none(form: Any, other: Any) -> bool:
    """Whether one call only leaves out arguments at the end that are None in the other."""
    shorter, longer = sorted((form, other), key=len)
    rest = longer[len(shorter) :]
    return bool(rest) and shorter == longer[: len(shorter)] and all(item == -1 for item in rest)


def _what(x: Any, first: Any) -> str:
    """What came in place of an array, and how it becomes one."""
    if isinstance(first, np.ndarray):
        return "is a numpy.ndarray (mx.nd.array makes an NDArray of it)"
    if isinstance(x, (list, tuple)) and isinstance(first, (int, float)):
        return f"is a {type(x).__name__} of numbers (mx.nd.array makes an NDArray of it)"
    return f"is of type {type(first).__name__}"


def _leaves(args: Any) -> Any:
    for item in args:
        if isinstance(item, (list, tuple)):
            yield from _leaves(item)
        else:
            yield item
