# SPDX-License-Identifier: Apache-2.0
"""The class Symbol, and functions that make and combine symbols."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core, attribute
from .._arguments import element_type, expect
from ..base import (
    MXNetIndexError,
    MXNetTypeError,
    MXNetValueError,
    NotImplementedForSymbol,
    numeric_types,
)
from ..context import Context, as_context, current_context
from ..util import is_np_shape
from . import _internal, op

__all__ = [
    "Group",
    "Symbol",
    "Variable",
    "arange",
    "eye",
    "full",
    "histogram",
    "hypot",
    "linspace",
    "load",
    "load_json",
    "maximum",
    "minimum",
    "ones",
    "pow",
    "power",
    "split_v2",
    "var",
    "zeros",
]


_BACKENDS = ("default", "MKLDNN")


def check_backend(who: str, backend: str, options: Mapping[str, Any]) -> None:
    """Raises unless there is such a backend with such options; all are built in, and binding chooses among their
    kernels."""
    if backend not in _BACKENDS:
        raise MXNetValueError(
            f"[{who}] there is no backend {backend!r}; expected one of {', '.join(_BACKENDS)}."
        )
    if options:
        raise MXNetValueError(f"[{who}] backend {backend!r} has no options {sorted(options)}.")


def _scalar(value: Any) -> Any:
    """A number as MXNet writes it into attributes."""
    return value if isinstance(value, (int, float)) else value.item()


def _binary(doc: str, on_symbols: Any, on_right: Any, on_left: Any = None) -> Any:
    """Methods for `symbol OP other` and, given `on_left`, for `number OP symbol`."""
    on_symbols, on_right = getattr(_internal, on_symbols, None), getattr(_internal, on_right, None)
    on_left = getattr(_internal, on_left, None) if on_left else None

    def forward(self: Any, other: Any) -> Any:
        if isinstance(other, Symbol):
            return on_symbols(self, other)
        if isinstance(other, numeric_types):
            return on_right(self, scalar=_scalar(other))
        raise MXNetTypeError(
            f"[Symbol] the operand is of type {type(other).__name__}; expected a Symbol or a number."
        )

    def backward(self: Any, other: Any) -> Any:
        if isinstance(other, numeric_types):
            return on_left(self, scalar=_scalar(other))
        raise MXNetTypeError(
            f"[Symbol] the operand is of type {type(other).__name__}; expected a Symbol or a number."
        )

    forward.__doc__ = backward.__doc__ = doc
    return forward, backward


if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..executor import Executor
    from ..explanation import Explanation
    from ..ndarray import NDArray
    from ._generated_methods import SymbolMethods as _Base
else:
    _Base = object


class Symbol(_Base):
    """One or more outputs of a computation that is described, not run.

    Symbols are made by :func:`Variable`, by the operators in ``mx.sym``, and by arithmetic; :meth:`bind` makes them
    run on arrays.

    Examples
    --------
    >>> import loomix as mx
    >>> y = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc")
    >>> y.list_arguments()
    ['x', 'fc_weight', 'fc_bias']
    """

    __slots__ = ("handle",)
    __array_priority__ = 1000.0
    __hash__ = object.__hash__

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    __add__, __radd__ = _binary("Elementwise sum.", "_plus", "_PlusScalar", "_PlusScalar")
    __sub__, __rsub__ = _binary("Elementwise difference.", "_minus", "_MinusScalar", "_RMinusScalar")
    __mul__, __rmul__ = _binary("Elementwise product.", "_mul", "_MulScalar", "_MulScalar")
    __truediv__, __rtruediv__ = _binary("Elementwise quotient.", "_div", "_DivScalar", "_RDivScalar")
    __mod__, __rmod__ = _binary("Elementwise remainder.", "_mod", "_ModScalar", "_RModScalar")
    __pow__, __rpow__ = _binary("Elementwise power.", "_power", "_PowerScalar", "_rpower_scalar")
    __eq__, _ = _binary("1 where equal, else 0.", "_equal", "_equal_scalar")
    __ne__, _ = _binary("1 where different, else 0.", "_not_equal", "_not_equal_scalar")
    __gt__, _ = _binary("1 where greater, else 0.", "_greater", "_greater_scalar")
    __ge__, _ = _binary("1 where greater or equal, else 0.", "_greater_equal", "_greater_equal_scalar")
    __lt__, _ = _binary("1 where less, else 0.", "_lesser", "_lesser_scalar")
    __le__, _ = _binary("1 where less or equal, else 0.", "_lesser_equal", "_lesser_equal_scalar")
    del _

    def __neg__(self) -> Symbol:
        return _internal._MulScalar(self, scalar=-1.0)

    def __abs__(self) -> Symbol:
        return op.abs(self)

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        raise NotImplementedForSymbol(self.__iadd__, "+=", other, 1)

    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]
        raise NotImplementedForSymbol(self.__isub__, "-=", other)

    def __imul__(self, other: Any) -> Any:  # type: ignore[misc]
        raise NotImplementedForSymbol(self.__imul__, "*=", other)

    def __itruediv__(self, other: Any) -> Any:  # type: ignore[misc]
        raise NotImplementedForSymbol(self.__itruediv__, "/=", other)

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol(
            self.__bool__,
            "F.where, F.contrib.cond or an eager block (a symbol has no value yet that a branch could depend on)",
        )

    # ---- outputs ----

    def __repr__(self) -> str:
        name = self.name
        if name is None:
            name = ", ".join(str(item.name) for item in self)
            return f"<{type(self).__name__} group [{name}]>"
        return f"<{type(self).__name__} {name}>"

    def __len__(self) -> int:
        return len(self.handle)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Group([self[i] for i in range(*index.indices(len(self)))])
        if isinstance(index, str):
            return Symbol(self.handle.output(index))
        if not isinstance(index, (int, np.integer)):
            raise MXNetTypeError(
                f"[Symbol] an index is of type {type(index).__name__}; expected an int, a str or a slice."
            )
        if not -len(self) <= index < len(self):
            raise MXNetIndexError(f"[Symbol] output {index} is out of range; the symbol has {len(self)}.")
        return Symbol(self.handle.at(int(index) % len(self)))

    @property
    def name(self) -> Any:
        """The name of the node; None for a group."""
        return self.handle.name()

    def get_internals(self) -> Symbol:
        """All outputs of all nodes, as a group."""
        return Symbol(self.handle.internals())

    def get_children(self) -> Symbol | None:
        """The inputs of the node as a group, or None."""
        children = self.handle.children()
        return None if children is None else Symbol(children)

    def list_arguments(self) -> Any:
        """The names of the variables that must be given."""
        return self.handle.list_arguments()

    def list_auxiliary_states(self) -> Any:
        """The names of the variables that operators change, such as moving averages."""
        return self.handle.list_auxiliary_states()

    def list_inputs(self) -> Any:
        """The names of all variables."""
        return self.handle.list_inputs()

    def list_outputs(self) -> Any:
        """The names of the outputs."""
        return self.handle.list_outputs()

    # ---- composition ----

    def __call__(self, *args: Any, **kwargs: Any) -> Symbol:
        """A copy with other symbols in place of variables, given by name or in the order of the inputs."""
        name = kwargs.pop("name", None)
        if args and kwargs:
            raise MXNetTypeError("[compose] inputs come by position and by name; expected one or the other.")
        pairs = [("", item) for item in args] + list(kwargs.items())
        for key, item in pairs:
            if not isinstance(item, Symbol):
                raise MXNetTypeError(
                    f"[compose] input {key or 'by position'} is of type {type(item).__name__}; expected a Symbol."
                )
        return Symbol(self.handle.compose([(key, item.handle) for key, item in pairs], name or ""))

    def _compose(self, *args: Any, **kwargs: Any) -> None:
        self.handle = self(*args, **kwargs).handle

    if not TYPE_CHECKING:  # a type checker shall tell of names that there are not

        def __getattr__(self, name: str) -> Any:
            from ..ndarray import NDArray

            text = f"'Symbol' object has no attribute {name!r}"
            if not name.startswith("_") and hasattr(NDArray, name):
                text += (
                    ", which arrays have; a hybridized block's hybrid_forward gets symbols, and shapes and values are "
                    "not known yet (use reshape with 0 and -1, slice_like, shape_array ...)"
                )
            raise AttributeError(text, name=name, obj=self)

    def __copy__(self) -> Symbol:
        return Symbol(self.handle.copy())

    def __deepcopy__(self, memo: Any) -> Symbol:
        return Symbol(self.handle.copy())

    # ---- attributes ----

    def attr(self, key: Any) -> Any:
        """The value of an attribute of the node, or None."""
        expect(isinstance(key, str), "Symbol.attr", "key", key, "the name of an attribute")
        return self.handle.attr(key)

    def list_attr(self, recursive: bool = False) -> Any:
        """The attributes of the node, a dict of str to str."""
        if recursive:
            raise DeprecationWarning(
                "[Symbol.list_attr] recursive=True is gone; attr_dict() has the attributes of all nodes."
            )
        return self.handle.list_attr()

    def attr_dict(self) -> Any:
        """The attributes of every node that has any: name to dict."""
        return self.handle.attr_dict()

    def _set_attr(self, **kwargs: Any) -> None:
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise MXNetValueError(
                    f"[Symbol] attribute {key} is of type {type(value).__name__}; expected a str."
                )
        self.handle.set_attr(kwargs)

    # ---- inference ----

    def _known(self, what: str, args: Any, kwargs: Any) -> list[Any]:
        if args and kwargs:
            raise MXNetValueError(f"[infer] {what}s come by position and by name; expected one or the other.")
        if not args:
            return [(key, value) for key, value in kwargs.items() if value is not None]
        names = self.list_arguments()
        if len(args) > len(names):
            raise MXNetValueError(f"[infer] got {len(args)} {what}s for {len(names)} arguments.")
        return [(name, value) for name, value in zip(names, args) if value is not None]

    def _infer_shape(self, partial: bool, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
        known = self._known("shape", args, kwargs)
        if self.handle.has_late_nodes():
            from .numpy import _late

            found = _late.infer_shape(self, dict(known))
        else:
            found = self.handle.infer_shape(known, is_np_shape())
        arguments, outputs, states, complete, unresolved = found
        if not complete and not partial:
            unknown = [
                f"{name}: {shape}"
                for name, shape in zip(self.list_arguments(), arguments)
                if shape is None or not shape or any(size in (0, -1, None) for size in shape)
            ]
            texts = []
            if unknown:
                texts.append(
                    "[infer_shape] the shapes of these arguments do not follow from those given (0 is unknown); give "
                    "them, too:\n\t" + "\n\t".join(unknown)
                )
            if unresolved:
                texts.append(
                    "The output shapes of these operators are unknown:\n\t" + "\n\t".join(unresolved)
                )
            warnings.warn("\n".join(texts), stacklevel=3)
            return None, None, None
        return arguments, outputs, states

    def infer_shape(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Shapes of the arguments, the outputs and the auxiliary states, from those that are given.

        Returns three lists, or None three times when the given shapes do not suffice.

        >>> import loomix as mx
        >>> y = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc")
        >>> y.infer_shape(x=(5, 3))
        ([(5, 3), (2, 3), (2,)], [(5, 2)], [])
        """
        return self._infer_shape(False, args, kwargs)

    def infer_shape_partial(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Like :meth:`infer_shape`, but unknown shapes are returned as (), and unknown sizes as 0."""
        return self._infer_shape(True, args, kwargs)

    def _infer_type(self, partial: bool, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
        known = self._known("type", args, kwargs)
        arguments, outputs, states, complete = self.handle.infer_type(known)
        return (arguments, outputs, states) if complete or partial else (None, None, None)

    def infer_type(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Types of the arguments, the outputs and the auxiliary states, from those that are given."""
        return self._infer_type(False, args, kwargs)

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Like :meth:`infer_type`, but unknown types are returned as None."""
        return self._infer_type(True, args, kwargs)

    def compiled(self, compile: Callable[[Symbol], Any]) -> Any:
        """``compile(self)``, or what calls it for each combination of the inputs' shapes and types where there are
        functions of ``mx.sym.np``."""
        if not self.handle.has_late_nodes():
            return compile(self)
        from .numpy import _late

        return _late.LateGraph(self, compile)

    # ---- files ----

    def tojson(self, remove_amp_cast: bool = True) -> Any:
        """The symbol as JSON text, as MXNet writes it: without the casts of mixed precision, but for those that are
        its outputs, unless ``remove_amp_cast`` is False."""
        return (self.handle.without_amp_cast() if remove_amp_cast else self.handle).to_json()

    def save(self, fname: str, remove_amp_cast: bool = True) -> None:
        """Writes the symbol's JSON to a file."""
        (self.handle.without_amp_cast() if remove_amp_cast else self.handle).save(os.fspath(fname))

    def debug_str(self) -> Any:
        """The nodes as text, for people."""
        return self.handle.dump()

    def __reduce__(self) -> Any:
        return _from_json, (self.handle.to_json(),)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes what MXNet's pickles hold: the symbol's JSON."""
        self.handle = _from_json(state["handle"]).handle

    # ---- running ----

    def bind(
        self,
        ctx: Context,
        args: Any,
        args_grad: Any = None,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
        aux_states: Any = None,
        group2ctx: Mapping[str, Context] | None = None,
        shared_exec: Executor | None = None,
        memory_budget: int | None = None,
    ) -> Executor:
        """Makes the symbol run on given arrays.

        Parameters
        ----------
        ctx : Context
        args : list or dict of str to NDArray
            The arguments.
        args_grad : list or dict of str to NDArray, optional
            Where gradients go; those left out are not computed.
        grad_req : {'write', 'add', 'null'}, or list or dict of them
            What to do with each gradient.
        aux_states : list or dict of str to NDArray, optional
        group2ctx : dict of str to Context, optional
            Devices of the groups named by the attribute ``ctx_group``.
        shared_exec : Executor, optional
            Share memory for intermediate values with this one.
        memory_budget : int, optional
            Bytes that values between operators may take (not the arrays given here, nor the outputs). In training,
            values are then not kept for gradients but computed again, as far as the budget needs it.

        Returns
        -------
        Executor

        Raises
        ------
        ValueError
            Among others, where ``memory_budget`` is too small; the message says what would be enough.
        """
        from ..executor import bind

        return bind(
            self, _context(ctx), args, args_grad, grad_req, aux_states, group2ctx, shared_exec, memory_budget
        )

    def simple_bind(
        self,
        ctx: Context,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
        type_dict: Mapping[str, DTypeLike] | None = None,
        stype_dict: Mapping[str, str] | None = None,
        group2ctx: Mapping[str, Context] | None = None,
        shared_arg_names: Sequence[str] | None = None,
        shared_exec: Executor | None = None,
        shared_buffer: dict[str, NDArray] | None = None,
        memory_budget: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Makes the symbol run on new arrays, whose shapes follow from those given as keyword arguments.

        The other arguments are those of :meth:`bind`.

        Returns
        -------
        Executor
        """
        from ..executor import simple_bind

        return simple_bind(
            self,
            _context(ctx),
            grad_req,
            type_dict,
            stype_dict,
            group2ctx,
            shared_arg_names,
            shared_exec,
            shared_buffer,
            memory_budget,
            kwargs,
        )

    def explain(
        self,
        ctx: Context | None = None,
        is_train: bool = False,
        grad_req: str | Sequence[str] | Mapping[str, str] | None = None,
        type_dict: Mapping[str, DTypeLike] | None = None,
        stype_dict: Mapping[str, str] | None = None,
        group2ctx: Mapping[str, Context] | None = None,
        memory_budget: int | None = None,
        compare_strategies: bool = False,
        **kwargs: Any,
    ) -> Explanation:
        """What the compiler makes of the symbol for inputs of the shapes given as keyword arguments: its passes, the
        plan of memory, bytes, arithmetic. Nothing is computed, and arguments take no memory.

        Parameters
        ----------
        ctx : Context, optional
            The device; by default the current one.
        is_train : bool
            Whether a training pass with its gradients is explained, or one for prediction.
        grad_req : str, list or dict of str, optional
            For training: as in :meth:`bind`. By default ``"write"`` for all arguments but the inputs: those whose
            shapes are given here, and labels.
        type_dict, stype_dict, group2ctx, memory_budget
            As in :meth:`simple_bind`.
        compare_strategies : bool
            Whether memory is planned by each way of sharing, too.
        **kwargs
            Shapes of arguments, by name; the others must follow from them.

        Returns
        -------
        loomix.explanation.Explanation

        Examples
        --------
        >>> import loomix as mx
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc")
        >>> print(net.explain(data=(8, 4)))  # doctest: +ELLIPSIS
        fc_output, for prediction, on cpu(0)
          inputs        data (8, 4): 128 bytes
        ...
        """
        from ..executor import explain

        return explain(
            self,
            _context(ctx or current_context()),
            is_train,
            grad_req,
            type_dict,
            stype_dict,
            group2ctx,
            memory_budget,
            compare_strategies,
            kwargs,
        )

    def optimize_for(
        self,
        backend: str,
        args: Any = None,
        aux: Any = None,
        ctx: Context | None = None,
        shape_dict: Mapping[str, Any] | None = None,
        type_dict: Mapping[str, Any] | None = None,
        stype_dict: Mapping[str, str] | None = None,
        skip_infer: bool = False,
        **kwargs: Any,
    ) -> Symbol:
        """The symbol for a backend: for those that are built in, a copy, since binding chooses among their kernels.

        Parameters
        ----------
        backend : str
            ``"default"`` or ``"MKLDNN"``.
        args, aux, ctx, shape_dict, type_dict, stype_dict, skip_infer
            What MXNet infers shapes and types from; a copy needs none of it.

        Raises
        ------
        ValueError
            For other backends, and for options, which these have not.
        """
        check_backend("optimize_for", backend, kwargs)
        return self.__copy__()

    def get_backend_symbol(self, backend: str) -> Symbol:
        """The symbol for a backend; see :meth:`optimize_for`."""
        check_backend("Symbol", backend, {})
        return self.__copy__()

    def eval(self, ctx: Context | None = None, **kwargs: Any) -> Any:
        """The outputs for the given arrays, as a list."""
        return self.bind(ctx or current_context(), kwargs).forward()

    def gradient(self, wrt: Any) -> Any:
        """Not available, as in MXNet: bind the symbol and call ``backward``."""
        raise NotImplementedForSymbol(self.gradient, "Executor.backward", wrt)

    def reshape(self, *args: Any, **kwargs: Any) -> Symbol:
        """Reshape operator; sizes as one tuple or as several arguments."""
        if args and "shape" not in kwargs:
            shape = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
            return op.reshape(self, shape=shape, **kwargs)
        return op.reshape(self, *args, **kwargs)

    def astype(self, dtype: DTypeLike | None, **kwargs: Any) -> Symbol:
        """Cast operator."""
        return op.cast(self, dtype=element_type(dtype), **kwargs)

    def expand_dims(self, axis: Any, inplace: bool = False, **kwargs: Any) -> Symbol:
        """Expand_dims operator."""
        return op.expand_dims(self, axis=axis, **kwargs)

    def squeeze(self, axis: Any = None, inplace: bool = False, **kwargs: Any) -> Symbol:
        """Squeeze operator."""
        return op.squeeze(self, axis=axis, **kwargs)

    def flatten(self, inplace: bool = False, **kwargs: Any) -> Symbol:
        """Flatten operator."""
        return op.flatten(self, **kwargs)

    def diag(self, k: int = 0, **kwargs: Any) -> Symbol:
        """Diag operator."""
        return op.diag(self, k=k, **kwargs)

    def split_v2(self, *args: Any, **kwargs: Any) -> Symbol:
        """Split at positions, or into equal sections."""
        return split_v2(self, *args, **kwargs)

    def as_nd_ndarray(self) -> Symbol:
        """The symbol itself; for code that also handles NumPy-like symbols."""
        return self

    def as_np_ndarray(self) -> Symbol:
        """The symbol with the operators, methods and indexing of NumPy's arrays: an ``mx.sym.np._Symbol``."""
        from .numpy import _Symbol

        return _Symbol(self.handle)

    def expanded(self, shapes: Mapping[str, Any], dtypes: Mapping[str, Any]) -> Symbol:
        """The symbol with operators in place of functions of ``mx.sym.np``, which follow from the inputs' shapes and
        types; itself if it has none.

        Parameters
        ----------
        shapes, dtypes : dict
            What is known of the variables, by name. Types that are not are float32.

        Examples
        --------
        >>> import loomix as mx
        >>> half = mx.sym.np.true_divide(mx.sym.var("x"), 2, name="half")
        >>> half.expanded({"x": (3,)}, {"x": "int32"}).get_internals().list_outputs()[1:]
        ['half_cast0_output', 'half__div_scalar0_output']
        """
        if not self.handle.has_late_nodes():
            return self
        from .numpy import _late

        return _late.expand(self, shapes, dtypes)


def _not_for_symbols(name: str) -> Any:
    def method(self: Any, *args: Any) -> Any:
        raise NotImplementedForSymbol(name, None, *args)

    method.__name__ = name
    method.__doc__ = "Only arrays have it."
    return method


for _name in ("asnumpy", "asscalar", "as_in_context", "backward", "copy", "detach", "wait_to_read"):
    setattr(Symbol, _name, _not_for_symbols(_name))

# Methods that are operators with the symbol as their first input.
_FLUENT = (
    "abs arccos arccosh arcsin arcsinh arctan arctanh argmax argmax_channel argmin argsort broadcast_axes "
    "broadcast_like broadcast_to cbrt ceil clip cos cosh degrees depth_to_space exp expm1 fix flip floor "
    "log log10 log1p log2 log_softmax max mean min nanprod nansum norm one_hot ones_like pad pick prod "
    "radians rcbrt reciprocal relu repeat reshape_like rint round rsqrt shape_array sigmoid sign sin sinh "
    "size_array slice slice_axis slice_like softmax softmin sort space_to_depth split sqrt square sum "
    "swapaxes take tan tanh tile topk transpose trunc zeros_like "
).split()
for _name in _FLUENT:
    if hasattr(op, _name):
        setattr(Symbol, _name, getattr(op, _name))


def _context(ctx: Context) -> Context:
    ctx = as_context(ctx)
    if not isinstance(ctx, Context):
        raise MXNetTypeError(
            f"[bind] ctx is of type {type(ctx).__name__}; expected a Context such as mx.cpu()."
        )
    return ctx


def _from_json(text: str) -> Symbol:
    return Symbol(_core.SymbolHandle.from_json(text))


def var(
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: int | Sequence[int] | None = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: DTypeLike | None = None,
    init: Any = None,
    stype: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """A symbol that stands for an array to be given.

    Parameters
    ----------
    name : str
    attr : dict of str to str, optional
        Attributes.
    shape : tuple of int, optional
        Its shape; 0 stands for an unknown size.
    lr_mult, wd_mult : float, optional
        Factors of the learning rate and of the weight decay.
    dtype : NumPy type or str, optional
    init : Initializer or str, optional
        Initializer instead of the module's.
    stype : str, optional
        Storage type.
    **kwargs
        Further attributes, of the form ``__name__``.

    Examples
    --------
    >>> var("x", shape=(2, 3)).attr("__shape__")
    '(2, 3)'
    """
    if not isinstance(name, str):
        raise MXNetTypeError(f"[Variable] name is of type {type(name).__name__}; expected a str.")
    attrs = dict(attribute.current().get(attr))
    if shape is not None:
        try:
            sizes = tuple(int(size) for size in np.atleast_1d(shape))
        except (TypeError, ValueError):
            raise MXNetTypeError(
                f"[Variable] shape is {shape!r}; expected an integer or a sequence of integers."
            ) from None
        attrs["__shape__"] = str(sizes)
    if lr_mult is not None:
        attrs["__lr_mult__"] = str(lr_mult)
    if wd_mult is not None:
        attrs["__wd_mult__"] = str(wd_mult)
    if dtype is not None:
        attrs["__dtype__"] = str(_core.dtype_number(dtype))
    if init is not None:
        if not isinstance(init, str) and not hasattr(init, "dumps"):
            raise MXNetTypeError(
                f"[Variable] init is of type {type(init).__name__}; expected an Initializer or its name."
            )
        attrs["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        if stype not in ("default", "row_sparse", "csr"):
            raise MXNetValueError(
                f"[Variable] stype is {stype!r}; expected 'default', 'row_sparse' or 'csr'."
            )
        attrs["__storage_type__"] = str({"default": 0, "row_sparse": 1, "csr": 2}[stype])
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise MXNetValueError(
                f"[Variable] unknown argument {key}; expected shape, lr_mult and so on, or an attribute of your own "
                "with two underscores before and behind, as in __mine__."
            )
        attrs[key] = str(value)
    return Symbol(_core.SymbolHandle.variable(name, attrs))


Variable = var


def Group(symbols: Iterable[Symbol], create_fn: Callable[[Any], Any] = Symbol) -> Any:
    """Several symbols as one, with all their outputs.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.sym.Variable("x")
    >>> mx.sym.Group([x + 1, x * 2]).list_arguments()
    ['x']
    """
    symbols = list(symbols) if isinstance(symbols, Iterable) else []
    if not symbols or any(not isinstance(item, Symbol) for item in symbols):
        raise MXNetTypeError("[Group] expected a list of one or more Symbols.")
    return create_fn(_core.SymbolHandle.group([item.handle for item in symbols]))


def load(fname: str) -> Symbol:
    """Reads a symbol from a JSON file of any MXNet version.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> name = os.path.join(tempfile.mkdtemp(), "net.json")
    >>> (mx.sym.Variable("x") + 1).save(name)
    >>> mx.sym.load(name).list_arguments()
    ['x']
    """
    return Symbol(_core.SymbolHandle.load(os.fspath(fname)))


def load_json(json_str: str) -> Symbol:
    """Reads a symbol from JSON text of any MXNet version.

    Examples
    --------
    >>> import loomix as mx
    >>> text = (mx.sym.Variable("x") + 1).tojson()
    >>> mx.sym.load_json(text).eval(x=mx.nd.array([1]))[0].asnumpy()
    array([2.], dtype=float32)
    """
    if not isinstance(json_str, str):
        raise MXNetTypeError(f"[load_json] json_str is of type {type(json_str).__name__}; expected a str.")
    return _from_json(json_str)


# ---- functions of two ----


def _function(name: str, what: str, on_symbols: Any, on_right: Any, on_left: Any, on_numbers: Any) -> Any:
    on_symbols, on_right, on_left = (
        getattr(_internal, item, None) for item in (on_symbols, on_right, on_left)
    )

    def function(left: Any, right: Any) -> Any:
        if isinstance(left, Symbol) and isinstance(right, Symbol):
            return on_symbols(left, right)
        if isinstance(left, Symbol) and isinstance(right, numeric_types):
            return on_right(left, scalar=_scalar(right))
        if isinstance(left, numeric_types) and isinstance(right, Symbol):
            return on_left(right, scalar=_scalar(left))
        if isinstance(left, numeric_types) and isinstance(right, numeric_types):
            return on_numbers(left, right)
        raise MXNetTypeError(
            f"types ({type(left)}, {type(right)}) not supported; expected Symbols and numbers."
        )

    function.__name__ = function.__qualname__ = name
    values = [round(float(on_numbers(value, 2)), 3) for value in (2, 5)]
    function.__doc__ = f"""{what} of two symbols, or of a symbol and a number, for each element.

    Examples
    --------
    >>> import loomix as mx
    >>> result = mx.sym.{name}(mx.sym.Variable("x"), 2).eval(x=mx.nd.array([2, 5]))[0]
    >>> [round(value, 3) for value in result.asnumpy().tolist()]
    {values}
    """
    return function


_power = _function("power", "Power", "_power", "_PowerScalar", "_rpower_scalar", lambda a, b: a**b)


def power(base: Any, exp: Any) -> Any:
    """``base`` to the power ``exp``: two symbols, or a symbol and a number, for each element.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.sym.pow(2, mx.sym.Variable("x")).eval(x=mx.nd.array([1, 3]))[0].asnumpy().round(3)
    array([2., 8.], dtype=float32)
    """
    return _power(base, exp)


pow = power
maximum = _function("maximum", "Larger value", "_maximum", "_MaximumScalar", "_MaximumScalar", max)
minimum = _function("minimum", "Smaller value", "_minimum", "_MinimumScalar", "_MinimumScalar", min)
hypot = _function("hypot", "Hypotenuse", "_hypot", "_hypot_scalar", "_hypot_scalar", np.hypot)


# ---- symbols without inputs ----


def zeros(shape: int | Sequence[int], dtype: DTypeLike | None = None, **kwargs: Any) -> Symbol:
    """A symbol of zeros.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.sym.zeros((2,)).eval()[0].asnumpy()
    array([0., 0.], dtype=float32)
    """
    return _internal._zeros(shape=shape, dtype=np.float32 if dtype is None else dtype, **kwargs)


def ones(shape: int | Sequence[int], dtype: DTypeLike | None = None, **kwargs: Any) -> Symbol:
    """A symbol of ones.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.sym.ones((2,)).eval()[0].asnumpy()
    array([1., 1.], dtype=float32)
    """
    return _internal._ones(shape=shape, dtype=np.float32 if dtype is None else dtype, **kwargs)


def full(shape: int | Sequence[int], val: Any, dtype: DTypeLike | None = None, **kwargs: Any) -> Symbol:
    """A symbol with one value everywhere.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.sym.full((2,), 7).eval()[0].asnumpy()
    array([7., 7.], dtype=float32)
    """
    return _internal._full(
        shape=shape, dtype=np.float32 if dtype is None else dtype, value=float(val), **kwargs
    )


def eye(N: int, M: int = 0, k: int = 0, dtype: DTypeLike | None = None, **kwargs: Any) -> Symbol:
    """A matrix with ones on its ``k``-th diagonal.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.sym.eye(2).eval()[0].asnumpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return _internal._eye(N, M, k, dtype=np.float32 if dtype is None else dtype, **kwargs)


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: DTypeLike | None = None,
) -> Symbol:
    """Evenly spaced values from ``start`` below ``stop``, each ``repeat`` times.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.sym.arange(0, 6, 2).eval()[0].asnumpy()
    array([0., 2., 4.], dtype=float32)
    """
    return _internal._arange(
        start=start,
        stop=stop,
        step=step,
        repeat=repeat,
        infer_range=infer_range,
        name=name,
        dtype=np.float32 if dtype is None else dtype,
    )


def linspace(
    start: Any,
    stop: Any,
    num: int,
    endpoint: bool = True,
    name: str | None = None,
    dtype: DTypeLike | None = None,
) -> Symbol:
    """``num`` evenly spaced values from ``start`` to ``stop``.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.sym.linspace(0, 1, 3).eval()[0].asnumpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    return _internal._linspace(
        start=start,
        stop=stop,
        num=num,
        endpoint=endpoint,
        name=name,
        dtype=np.float32 if dtype is None else dtype,
    )


def histogram(a: Any, bins: Any = 10, range: Any = None, **kwargs: Any) -> Symbol:
    """Counts of the values in bins, and the bins' edges.

    Examples
    --------
    >>> import loomix as mx
    >>> counts = mx.sym.histogram(mx.sym.Variable("x"), bins=3, range=(1, 4))[0]
    >>> counts.eval(x=mx.nd.array([1, 2, 2, 4]))[0].asnumpy()
    array([1, 2, 1])
    """
    if isinstance(bins, Symbol):
        return _internal._histogram(data=a, bins=bins, **kwargs)
    if range is None:
        raise MXNetValueError(
            "[histogram] range is missing: a symbol's values are not known yet; expected (lowest, highest)."
        )
    return _internal._histogram(data=a, bin_cnt=bins, range=range, **kwargs)


def split_v2(
    ary: Any, indices_or_sections: int | Sequence[int], axis: Any = 0, squeeze_axis: bool = False
) -> Symbol:
    """Splits a symbol into equal sections, or at the given positions, along one axis.

    Examples
    --------
    >>> import loomix as mx
    >>> parts = mx.sym.split_v2(mx.sym.Variable("x"), (1, 3))
    >>> [part.shape for part in parts.eval(x=mx.nd.zeros((4, 2)))]
    [(1, 2), (2, 2), (1, 2)]
    """
    if isinstance(indices_or_sections, int):
        return _internal._split_v2(ary, (0,), axis, squeeze_axis, indices_or_sections)
    if isinstance(indices_or_sections, (tuple, list, set)):
        return _internal._split_v2(ary, [0, *indices_or_sections], axis, squeeze_axis)
    raise MXNetValueError(
        f"[split_v2] indices_or_sections is {indices_or_sections!r}; expected a number of parts or a list of positions."
    )
