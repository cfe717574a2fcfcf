# SPDX-License-Identifier: Apache-2.0
"""Blocks made from symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core, symbol
from .. import ndarray as nd
from ..base import AssertedError, MXNetValueError
from ..context import cpu
from .hybrid_block import HybridBlock, flatten, regroup
from .parameter import Parameter, ParameterDict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..context import Context

__all__ = ["SymbolBlock"]


class SymbolBlock(HybridBlock):
    """A block that runs a symbol.

    Parameters
    ----------
    outputs : Symbol or list of Symbol
    inputs : Symbol or list of Symbol
        Variables of the outputs that a call gives; all others are parameters.
    params : dict, optional
        Parameters to use, by name.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.sym.var("x")
    >>> block = mx.gluon.SymbolBlock(mx.sym.FullyConnected(x, num_hidden=2, name="fc"), x)
    >>> list(block.collect_params().keys())
    ['fc_weight', 'fc_bias']
    """

    @staticmethod
    def imports(
        symbol_file: str,
        input_names: str | Sequence[str],
        param_file: str | None = None,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> SymbolBlock:
        """A block from the files that :meth:`HybridBlock.export` or a module's checkpoint wrote.

        Parameters
        ----------
        symbol_file : str
        input_names : str or list of str
        param_file : str, optional
        ctx : Context or list of Context, optional
        allow_missing : bool
            Whether the file may lack parameters, which must then be initialised.
        ignore_extra : bool
            Whether it may have others.
        """
        sym = symbol.load(symbol_file)
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        block = SymbolBlock(sym, [symbol.var(item) for item in names])
        if param_file is not None:
            block.collect_params().load(
                param_file,
                ctx=ctx,
                allow_missing=allow_missing,
                ignore_extra=ignore_extra,
                cast_dtype=True,
                dtype_source="saved",
            )
        return block

    def __init__(self, outputs: Any, inputs: Any, params: Any = None) -> None:
        super().__init__(prefix=None, params=None)
        self._prefix = ""
        self._params = ParameterDict("", _as_params(params))
        leaves, self._in_format = flatten(inputs, "input", (symbol.Symbol,))
        if isinstance(inputs, symbol.Symbol):
            self._in_format = [0]
        outs, self._out_format = flatten(outputs, "output", (symbol.Symbol,))
        if len(outs) == 1:
            outs = list(outs[0])
            self._out_format = 0 if len(outs) == 1 else [0] * len(outs)
        self._out_leaves = [len(item) for item in outs]
        out = symbol.Group(outs) if len(outs) != 1 else outs[0]
        for item in leaves:
            if len(item.get_internals().list_outputs()) != 1:
                raise MXNetValueError(
                    f"[SymbolBlock] the input {item.name} is an operator's output; expected a variable."
                )
        names = {item.name for item in leaves}
        attrs = out.attr_dict()
        for states, items in ((False, out.list_arguments()), (True, out.list_auxiliary_states())):
            for item in items:
                if item not in names:
                    self._add_parameter(item, attrs.get(item, {}), states)
        self._graph = leaves, out
        prefix = _common_prefix(list(self._params.keys()))
        self._reg_params = {key[len(prefix) :]: param for key, param in self._params.items()}

    def __repr__(self) -> str:
        assert self._graph is not None
        inputs, out = self._graph
        return f"{type(self).__name__}(\n{out} : {len(inputs)} -> {len(out.list_outputs())}\n)"

    def _add_parameter(self, item: str, attrs: dict[str, str], is_state: bool) -> None:
        own = self._params._find(item)
        if own is not None:
            return
        if attrs.get("__storage_type__", "0") != "0":
            raise AssertedError(
                f"[SymbolBlock] the variable '{item}' is sparse; expected parameters of the storage type 'default'."
            )
        settings: dict[str, Any] = {"allow_deferred_init": True}
        if "__dtype__" in attrs:
            settings["dtype"] = _DTYPES.get(attrs["__dtype__"], np.float32)
        if is_state:
            settings["grad_req"] = "null"
        self._params.get(item, **settings)

    def _clear_cached_op(self) -> None:
        """The graph is what the block is; only what was compiled from it goes."""
        if getattr(self, "_graph", None) is None:
            super()._clear_cached_op()
        self._cached = None

    def reset_ctx(self, ctx: Context | Sequence[Context]) -> None:
        """Moves all parameters to other devices."""
        self.collect_params().reset_ctx(ctx)

    def forward(self, x: Any, *args: Any) -> Any:
        """Runs the symbol on arrays, or puts symbols in the place of its inputs."""
        if isinstance(x, nd.NDArray) or not isinstance(x, symbol.Symbol):
            return self._call_cached_op(x, *args)
        assert self._graph is not None
        leaves, form = flatten((x, *args), "input", (symbol.Symbol,))
        if form != self._in_format:
            raise MXNetValueError(
                f"[SymbolBlock] got inputs of the structure {form}; expected {self._in_format}."
            )
        inputs, out = self._graph
        composed = out(**{item.name: leaf for item, leaf in zip(inputs, leaves) if item is not None})
        return regroup(list(composed), self._out_format)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Not used: the symbol is there already."""
        raise NotImplementedError


_DTYPES: dict[str, Any] = {
    str(_core.dtype_number(item)): np.dtype(item).type
    for item in ("float32", "float64", "float16", "uint8", "int32", "int8", "int64")
} | {str(_core.dtype_number("bfloat16")): "bfloat16"}


def _as_params(params: Any) -> ParameterDict | None:
    if params is None or isinstance(params, ParameterDict):
        return params
    shared = ParameterDict("")
    for key, value in params.items():
        if not isinstance(value, Parameter):
            param = Parameter(key, shape=value.shape, dtype=value.dtype)
            param._load_init(value, cpu())
            value = param
        shared._params[key] = value
    return shared


def _common_prefix(names: list[str]) -> str:
    """What all names begin with."""
    if not names:
        return ""
    low, high = min(names), max(names)
    count = next((i for i, letter in enumerate(low) if i >= len(high) or high[i] != letter), len(low))
    return low[:count]
