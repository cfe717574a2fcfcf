# SPDX-License-Identifier: Apache-2.0
"""Blocks of any kind: names, parameters, files, children and hooks."""

from __future__ import annotations

import functools
import json
import re
import threading
import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from .. import initializer, name
from .. import ndarray as nd
from .._arguments import expect
from ..base import (
    AssertedError,
    MXNetError,
    MXNetTypeError,
    StateError,
    unknown_arguments,
)
from ..model import write_whole
from .error_place import add_place
from .parameter import Parameter, ParameterDict
from .parameter_dict import brief, read_arrays
from .utils import HookHandle, indented

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import DTypeLike
    from typing_extensions import Self, TypedDict

    from ..context import Context

    class BlockNames(TypedDict, total=False):
        """What all blocks take beside arguments of their own."""

        prefix: str | None
        params: ParameterDict | None


__all__ = ["Block"]


class _Naming(threading.local):
    """The innermost name scope of a thread."""

    scope: _BlockScope | None = None


class _BlockScope:
    """Gives the blocks made inside ``with block.name_scope()`` names that begin with that block's."""

    _naming = _Naming()

    def __init__(self, block: Block) -> None:
        self._block = block
        self._counters: dict[str, int] = {}
        self._outer: list[Any] = []

    @classmethod
    def create(cls, prefix: str | None, params: ParameterDict | None, hint: str) -> tuple[str, ParameterDict]:
        """Prefix and parameters of a new block."""
        scope = cls._naming.scope
        if prefix is None:
            if scope is None:
                prefix = name.current().get(None, hint) + "_"
            else:
                count = scope._counters.get(hint, 0)
                scope._counters[hint] = count + 1
                prefix = f"{hint}{count}_"
        if params is not None:
            expect(isinstance(params, ParameterDict), hint, "params", params, "a ParameterDict")
            made = ParameterDict(params.prefix, params)
        elif scope is None:
            made = ParameterDict(prefix)
        else:
            parent = scope._block.params
            made = ParameterDict(parent.prefix + prefix, parent._shared)
        return (prefix if scope is None else scope._block.prefix + prefix), made

    def __enter__(self) -> Self:
        if not self._block._empty_prefix:
            manager = name.Prefix(self._block.prefix)
            self._outer.append((_BlockScope._naming.scope, manager))
            _BlockScope._naming.scope = self
            manager.__enter__()
        return self

    def __exit__(self, *exc_info: Any) -> None:
        if not self._block._empty_prefix:
            _BlockScope._naming.scope, manager = self._outer.pop()
            manager.__exit__(*exc_info)


def _hides_block(value: Any, children: set[int]) -> bool:
    """Whether nested lists, tuples and dicts hold a block that is none of these."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return any(_hides_block(item, children) for item in value)
    return isinstance(value, Block) and id(value) not in children


_FLAGS = (
    "static_alloc",
    "static_shape",
    "inline_limit",
    "forward_bulk_size",
    "backward_bulk_size",
    "memory_budget",
)


def check_flags(flags: Mapping[str, Any]) -> None:
    """Raises for arguments that ``hybridize`` has not; a backend may have options of its own."""
    unknown = [flag for flag in flags if flag not in ("backend", "clear", *_FLAGS)]
    if unknown and flags.get("backend") is None:
        raise MXNetTypeError(
            f"[hybridize] unknown argument {', '.join(unknown)}; expected active, backend, clear, {', '.join(_FLAGS)}."
        )


class Block:
    """A part of a network: parameters, children, and a ``forward`` that computes on arrays.

    Children and parameters are registered when they are assigned as attributes.

    Parameters
    ----------
    prefix : str, optional
        What the names of its parameters begin with; by default the class in lower case and a number.
    params : ParameterDict, optional
        Where to take parameters from that another block has, too.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.gluon import nn
    >>> class Net(mx.gluon.Block):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         with self.name_scope():
    ...             self.first = nn.Dense(4, in_units=3)
    ...             self.second = nn.Dense(2, in_units=4)
    ...     def forward(self, x):
    ...         return self.second(mx.nd.relu(self.first(x)))
    >>> net = Net(prefix="net_")
    >>> net.initialize()
    >>> net(mx.nd.ones((5, 3))).shape
    (5, 2)
    >>> list(net.collect_params(".*bias").keys())
    ['net_dense0_bias', 'net_dense1_bias']
    """

    _traces_forward = False  # whether a call is one of `_run_traced`
    _split: Any = None  # over ranks: a parallel.Split, of a layer of its own
    _examples: Any = None  # parallel.shard.Examples of this block, or of one around
    # The axis of each parameter that is cut, by the kind of split.
    _split_axes: ClassVar[dict[str, dict[str, int]]] = {}

    def __init__(
        self, prefix: str | None = None, params: ParameterDict | None = None, **unknown: NoReturn
    ) -> None:
        if unknown:
            raise unknown_arguments(self, unknown)
        wanted = "a str; blocks are added by add(...)" if isinstance(prefix, Block) else "a str"
        expect(prefix is None or isinstance(prefix, str), type(self).__name__, "prefix", prefix, wanted)
        self._empty_prefix = prefix == ""
        self._prefix, self._params = _BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix[:-1] if self._prefix.endswith("_") else self._prefix
        self._scope = _BlockScope(self)
        self._children: OrderedDict[str, Block] = OrderedDict()
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self._forward_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()

    def __repr__(self) -> str:
        lines = "\n".join(
            f"  ({key}): {indented(block._described(), 2)}"
            for key, block in self.__dict__.items()
            if isinstance(block, Block)
        )
        return f"{type(self).__name__}(\n{lines}\n)"

    def __setattr__(self, name: str, value: Any) -> None:
        existing = getattr(self, name, None)
        if isinstance(existing, (Parameter, Block)) and not isinstance(value, type(existing)):
            raise MXNetTypeError(
                f"[Block] attribute {name} is of type {type(existing).__name__} and cannot become one "
                f"of type {type(value).__name__}."
            )
        if isinstance(value, (Block, Parameter)) and "_children" not in self.__dict__:
            raise StateError(
                f"[{type(self).__name__}] attribute {name} is set before super().__init__(); expected that call first."
            )
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            own = self._reg_params.get(name)
            if own is not None and own is not value:
                raise AssertedError(
                    f"[Block] attribute {name} is Parameter '{own.name}' and cannot become another one. To share "
                    "parameters, make the block with params=..., or set the attribute to the shared one first."
                )
            self._reg_params[name] = value
        super().__setattr__(name, value)

    def _alias(self) -> str:
        return type(self).__name__.lower()

    # ---- names ----

    @property
    def prefix(self) -> str:
        """What the names of its parameters begin with."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without the underscore at its end."""
        return self._name

    def name_scope(self) -> Any:
        """A ``with`` scope: what is made inside it gets names that begin with this block's prefix."""
        return self._scope

    # ---- parameters ----

    @property
    def params(self) -> ParameterDict:
        """The block's own parameters, without those of its children."""
        return self._params

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """The parameters of this block and its children.

        Parameters
        ----------
        select : str, optional
            A regular expression: only parameters whose names it matches, from their start.
        """
        self._warn_of_hidden_blocks()
        found = ParameterDict(self._params.prefix)
        if select is None:
            found.update(self.params)
        else:
            try:
                pattern = re.compile(select)
            except (TypeError, re.error) as error:
                raise AssertedError(
                    f"[collect_params] select is {select!r}; expected a regular expression ({error})."
                ) from None
            found._params.update((key, param) for key, param in self.params.items() if pattern.match(key))
        for child in self._children.values():
            found.update(child.collect_params(select))
        return found

    def _warn_of_hidden_blocks(self) -> None:
        """Blocks in a list, tuple or dict are no children, so their parameters are not found."""
        children = {id(child) for child in self._children.values()}
        for key, value in self.__dict__.items():
            if (
                key != "_children"
                and isinstance(value, (list, tuple, dict))
                and _hides_block(value, children)
            ):
                warnings.warn(
                    f"[Block] {type(self).__name__}.{key} is a {type(value).__name__} with blocks that are no children "
                    "of this block, so their parameters are left out; use register_child or a Sequential.",
                    stacklevel=3,
                )

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Parameters by their places in the tree of blocks: "0.weight"."""
        if prefix:
            prefix += "."
        found = {prefix + key: param for key, param in self._reg_params.items()}
        for key, child in self._children.items():
            found.update(child._collect_params_with_prefix(prefix + key))
        return found

    def initialize(
        self,
        init: Any = initializer.Uniform(),
        ctx: Context | Sequence[Context] | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initialises all parameters; those of unknown shape in the first forward pass.

        Parameters
        ----------
        init : Initializer or str
            For parameters without an own one.
        ctx : Context or list of Context, optional
        verbose : bool
            Whether each initialisation is logged.
        force_reinit : bool
            Whether parameters that have values get new ones.
        """
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def cast(self, dtype: DTypeLike) -> None:
        """Casts all parameters to another element type."""
        for child in self._children.values():
            child.cast(dtype)
        for param in self.params.values():
            param.cast(dtype)

    def save_parameters(self, filename: str, deduplicate: bool = False) -> None:
        """Writes all parameters to a file, named by their places: "0.weight".

        Parameters
        ----------
        filename : str
        deduplicate : bool
            Whether parameters that are shared are written once, under the last of their names.
        """
        params = self._collect_params_with_prefix()
        if deduplicate:
            last = {id(param): key for key, param in params.items()}
            params = {key: params[key] for key in last.values()}

        def value(key: str) -> Any:
            try:
                return params[key]._saved()
            except MXNetError as error:
                error.args = (f"{error} (parameter '{key}' of block '{self.name}')",)
                raise

        if any(param._cut is not None for param in params.values()):
            from ..parallel.whole_files import write_params, write_together

            makers = [(key, functools.partial(value, key)) for key in params]
            write_together(filename, lambda file: write_params(file, makers))
        else:
            nd.save(filename, {key: value(key) for key in params})

    def save_params(self, filename: str) -> None:
        """Older form of :meth:`save_parameters`, under the full names without the block's prefix."""
        warnings.warn("[Block] save_params is an old name; use save_parameters.", stacklevel=2)
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_parameters(
        self,
        filename: str,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Reads parameters from a file of any of the forms that Gluon writes.

        Parameters
        ----------
        filename : str
        ctx : Context or list of Context, optional
            Devices of parameters that are not initialised yet.
        allow_missing : bool
            Whether the file may lack parameters, which then keep their values.
        ignore_extra : bool
            Whether it may have others.
        cast_dtype : bool
            Whether element types may differ.
        dtype_source : {'current', 'saved'}
            Whose type is then kept.

        Raises
        ------
        ValueError
            Naming the parameter and its place, when names, shapes or types do not fit.
        """
        params = self._collect_params_with_prefix()
        loaded = read_arrays(filename, params.values())
        if not isinstance(loaded, dict):
            raise AssertedError(f"[load_parameters] the arrays in {filename} have no names.")
        if not loaded and not params:
            return
        if not any("." in key for key in loaded) and not set(params) & set(loaded):
            del loaded  # names of another form: "net0_dense0_weight", or a checkpoint's
            self.collect_params().load(
                filename, ctx, allow_missing, ignore_extra, self.prefix, cast_dtype, dtype_source
            )
            return
        if not allow_missing:
            in_file = {id(params[key]) for key in loaded if key in params}
            for key, param in params.items():
                if id(param) not in in_file:
                    raise AssertedError(
                        f"[load_parameters] file '{filename}' has nothing for Parameter '{key}' ({param.name}) of "
                        f"block '{self.name}'; it has {brief(loaded)}. allow_missing=True lets parameters keep their "
                        "values."
                    )
        for key, value in loaded.items():
            if key in params:
                where = f"'{key}' ({params[key].name}) of block '{self.name}'"
                params[key]._load_init(value, ctx, cast_dtype, dtype_source, where, f"file '{filename}'")
            elif not ignore_extra:
                raise AssertedError(
                    f"[load_parameters] file '{filename}' has '{key}', which is none of the parameters "
                    f"{brief(params)} of block '{self.name}'. ignore_extra=True passes over it."
                )

    def load_params(
        self,
        filename: str,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> None:
        """Older name of :meth:`load_parameters`."""
        warnings.warn("[Block] load_params is an old name; use load_parameters.", stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> None:
        """Writes the parameters to PREFIX-model.params and the tree of blocks to PREFIX-model.json, for
        :meth:`load`."""
        from .saved_blocks import describe_blocks  # it knows hybrid blocks

        text = json.dumps(describe_blocks(self))
        self.save_parameters(f"{prefix}-model.params")

        def write(path: str) -> None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

        write_whole(f"{prefix}-model.json", write)

    def load(self, prefix: str) -> None:
        """Reads what :meth:`save` wrote, into a network that is made in the same way.

        Blocks and parameters get the names that they had, and what was compiled is compiled again.

        Raises
        ------
        ValueError
            When the network has other blocks.
        """
        from .saved_blocks import restore_blocks

        with open(f"{prefix}-model.json", encoding="utf-8") as file:
            saved = json.load(file)
        restore_blocks(self, saved, f"{prefix}-model.json")
        self.load_parameters(f"{prefix}-model.params")

    # ---- split over ranks ----

    def _described(self) -> str:
        """As networks show their layers."""
        if self._split is None:
            return repr(self)
        return f"{self!r}, {self._split.kind} over {self._split.axis!r}"

    def _cuts(self, kind: str) -> dict[str, int] | None:
        """The axis of each parameter that is cut where the layer is split by columns or rows; None: it cannot be."""
        return self._split_axes.get(kind)

    # ---- children and hooks ----

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Makes a block a child; assigning it as an attribute does the same."""
        self._children[str(len(self._children)) if name is None else name] = block

    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls ``hook(block, inputs, output)`` after each forward pass; the result has ``detach()``."""
        return HookHandle(self._forward_hooks, hook)

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls ``hook(block, inputs)`` before each forward pass; the result has ``detach()``."""
        return HookHandle(self._forward_pre_hooks, hook)

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """Calls ``callback(name, operator, array)`` after the operators of the hybridized blocks below run.

        Parameters
        ----------
        callback : function
        monitor_all : bool
            Whether it sees inputs, too.
        """
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def apply(self, fn: Callable[[Block], Any]) -> Self:
        """Calls ``fn(block)`` for all children, however deep, and then this block."""
        expect(callable(fn), "Block.apply", "fn", fn, "a function of a block")
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Compiles the :class:`HybridBlock` parts below (``active=False``: no longer), with the other arguments."""
        check_flags(kwargs)
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    # ---- running ----

    def __call__(self, *args: Any) -> Any:
        """Runs ``forward``, with the hooks around it."""
        if self._forward_pre_hooks:
            for hook in list(self._forward_pre_hooks.values()):
                hook(self, args)
        try:
            out = self._run_traced(*args) if self._traces_forward else self.forward(*args)
        except (MXNetError, TypeError, AttributeError) as error:
            add_place(error, self, args)
            raise
        if self._forward_hooks:
            for hook in list(self._forward_hooks.values()):
                hook(self, args, out)
        return out

    def forward(self, *args: Any) -> Any:
        """Computes the outputs from arrays; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward.")

    def _run_traced(self, *args: Any) -> Any:
        """Runs ``forward`` compiled, where a subclass can."""
        return self.forward(*args)

    def summary(self, *inputs: Any) -> None:
        """Prints the layers, the shapes of their outputs, their parameters and their FLOPs for these inputs.

        FLOPs are two for each multiply-add of a forward pass in convolutions (deformable and transposed ones too),
        ``FullyConnected``, ``dot``, ``batch_dot``, ``linalg.gemm`` and ``gemm2``, the interleaved products of
        attention, and the matrices of ``RNN``. Nothing else counts: no bias, activation, normalisation or pooling, and
        not what the body of a loop or branch (``contrib.foreach``) does. The number of a layer leaves out the layers
        inside of it. It is "-" where the layer cannot be traced, as a plain ``Block``; the total has the layers
        inside.
        """
        from .summary import print_summary

        print_summary(self, inputs)
