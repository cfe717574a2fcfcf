# SPDX-License-Identifier: Apache-2.0
"""Symbols that are called like operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .. import _core
from .._arguments import as_whole
from ..base import MXNetTypeError, MXNetValueError
from ..engine import as_bulk_size

if TYPE_CHECKING:
    from ..symbol import Symbol

__all__ = ["CachedOp"]

# MXNet's flags; a compiled graph always keeps its memory and its plan for each combination of shapes.
_FLAGS = (
    "static_alloc",
    "static_shape",
    "inline_limit",
    "forward_bulk_size",
    "backward_bulk_size",
    "data_indices",
    "param_indices",
)


def _deliver(source: Any, target: Any) -> None:
    """Writes an output where it is wanted, which then stands for it on the tape, too."""
    from . import identity

    if source.dtype == target.dtype and source.context == target.context:
        identity(source, out=target)
    else:
        source.copyto(target)


class CachedOp:
    """A symbol that is compiled once for each combination of shapes, and called with arrays; it can be recorded.

    Parameters
    ----------
    sym : Symbol
        The computation.
    flags : iterable of (str, value)
        MXNet's flags. ``forward_bulk_size`` and ``backward_bulk_size`` bound how many short operators are one task of
        the engine. A symbol of at most ``inline_limit`` operators (2) is recorded operator by operator, so that its
        gradients have gradients; not with ``static_alloc``. The others make no difference.

    Examples
    --------
    >>> import loomix as mx
    >>> double = CachedOp(mx.sym.Variable("x") * 2)
    >>> double(mx.nd.ones(2)).asnumpy()
    array([2., 2.], dtype=float32)
    """

    def __init__(self, sym: Symbol, flags: Iterable[Any] = ()) -> None:
        if not hasattr(sym, "list_inputs"):
            raise MXNetTypeError(f"[CachedOp] sym is of type {type(sym).__name__}; expected a Symbol.")
        given = {str(name): value for name, value in flags}
        unknown = sorted(set(given) - set(_FLAGS))
        if unknown:
            raise MXNetValueError(
                f"[CachedOp] there are no flags {unknown}; expected some of {', '.join(_FLAGS)}."
            )
        self._inputs = sym.list_inputs()
        forward, backward = (
            as_bulk_size("CachedOp", flag, int(given.get(flag, 0)))
            for flag in ("forward_bulk_size", "backward_bulk_size")
        )
        limit = as_whole("CachedOp", "inline_limit", int(given.get("inline_limit", 2)))
        static = str(given.get("static_alloc", False)).lower() in ("1", "true")

        def compiled(graph: Symbol) -> Any:
            return _core.CachedGraph(graph.handle, "cached_op", 0, forward, backward, 0 if static else limit)

        self._graph = sym.compiled(compiled)

    @property
    def handle(self) -> Any:
        """The compiled symbol."""
        return self._graph

    @property
    def is_np_sym(self) -> bool:
        """Whether the symbol is one of ``mx.sym.np``; those of ``mx.sym`` are not."""
        return False

    def __call__(self, *args: Any, out: Any = None) -> Any:
        """The outputs for arrays in the order of the symbol's inputs: one array, or a list.

        ``out``, an array or a list of them, gets the values.
        """
        if len(args) != len(self._inputs):
            raise MXNetValueError(
                f"[CachedOp] got {len(args)} arrays; the inputs are {', '.join(self._inputs)}."
            )
        outputs = self._graph(list(args))
        if out is not None:
            targets = out if isinstance(out, (list, tuple)) else [out]
            if len(targets) != len(outputs):
                raise MXNetValueError(f"[CachedOp] out has {len(targets)} arrays for {len(outputs)} outputs.")
            for source, target in zip(outputs, targets):
                _deliver(source, target)
            return out
        return outputs[0] if len(outputs) == 1 else outputs

    def _register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """Calls ``callback(name, operator, array)`` for each operator's outputs, and inputs with ``monitor_all``."""
        self._graph.set_monitor(callback, monitor_all)
