# SPDX-License-Identifier: Apache-2.0
"""Blocks that define ``forward`` alone: their calls are traced and compiled."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from .. import _core, autograd, name, symbol, util
from .. import ndarray as nd
from ..base import StateError
from .error_place import returned_nothing
from .parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..context import Context
    from ..ndarray import NDArray
    from .hybrid_block import HybridBlock

__all__ = ["TracedForward"]

_MOST_GRAPHS = 64  # of one block; the oldest goes

# The forms that `_split` gives: an array (and whether it is one of mx.np), a sequence, a dict, or any other value.
_ARRAY, _SEQUENCE, _DICT, _VALUE = range(4)


def _split(value: Any, leaves: list[NDArray]) -> tuple[Any, ...]:
    """The form of nested lists, tuples and dicts; arrays are put to `leaves`."""
    if isinstance(value, nd.NDArray):
        leaves.append(value)
        return _ARRAY, hasattr(value, "__array_ufunc__")
    if type(value) in (list, tuple):
        return _SEQUENCE, type(value), tuple(_split(item, leaves) for item in value)
    if type(value) is dict:
        return _DICT, tuple(value), tuple(_split(item, leaves) for item in value.values())
    return _VALUE, type(value), value  # with its type, for 1 == True


def _join(form: tuple[Any, ...], leaves: Iterator[NDArray]) -> Any:
    if form[0] == _ARRAY:
        leaf = next(leaves)
        return leaf.as_np_ndarray() if form[1] else leaf.as_nd_ndarray()
    if form[0] == _SEQUENCE:
        return form[1](_join(item, leaves) for item in form[2])
    if form[0] == _DICT:
        return {key: _join(item, leaves) for key, item in zip(form[1], form[2])}
    return form[2]


class _Compiled:
    """One graph, and where its inputs come from: numbers of arguments, parameters, or arrays from outside."""

    def __init__(self, graph: _core.CachedGraph, sources: list[Any], form: Any, numpy_shapes: bool) -> None:
        self.graph, self.sources, self.form, self.numpy_shapes = graph, sources, form, numpy_shapes

    def __call__(self, leaves: list[NDArray], ctx: Context) -> Any:
        inputs = [
            leaves[item] if isinstance(item, int) else item.data(ctx) if isinstance(item, Parameter) else item
            for item in self.sources
        ]
        before = _core.exchange_numpy_shapes(self.numpy_shapes)
        try:
            return _join(self.form, iter(self.graph(inputs)))
        finally:
            _core.exchange_numpy_shapes(before)


class TracedForward:
    """Runs a block on arrays. The first call with inputs of some kind (shapes, types, devices, values that are no
    arrays) runs ``forward`` as ever, and records the operators that it calls; later ones run the graph."""

    def __init__(self, block: HybridBlock) -> None:
        self._block = block
        self._graphs: dict[Any, _Compiled] = {}

    def __call__(self, args: tuple[Any, ...]) -> Any:
        leaves: list[NDArray] = []
        form = _split(args, leaves)
        if not leaves or any(leaf.stype != "default" for leaf in leaves):
            return self._block._forward_in_trace(*args)  # symbols; graphs are compiled for dense arrays
        key = (
            form,
            tuple((leaf.shape, leaf.dtype, leaf.context) for leaf in leaves),
            autograd.is_training(),
            autograd.is_recording(),
            util.is_np_shape(),
        )
        try:
            compiled = self._graphs.get(key)
        except TypeError as error:
            raise StateError(
                f"[HybridBlock] an argument of block '{self._block.name}' cannot be told from others ({error}); "
                "expected arrays, None, numbers, strings, and lists, tuples and dicts of them, once the block is "
                "hybridized."
            ) from error
        if compiled is None:
            return self._trace(key, leaves)
        return compiled(leaves, leaves[0].context)

    def _trace(self, key: Any, leaves: list[NDArray]) -> Any:
        block = self._block
        if any(param._deferred_init for param in block._reg_params.values()):
            block._infer_own_shapes(_join(key[0], iter(leaves)))
        given = [leaf.copy() for leaf in leaves]  # nothing else that forward reads is in the same memory
        trace = _core.Trace()
        names = ["data"] if len(leaves) == 1 else [f"data{i}" for i in range(len(leaves))]
        inputs = [symbol.var(item) for item in names]
        for leaf, variable in zip(given, inputs):
            trace.bind(leaf, variable.handle)
        for param in block.collect_params().values():
            param._bind(trace)
        out_leaves: list[NDArray] = []
        with name.NameManager():
            before = _core.exchange_trace(trace)
            try:
                out = block._forward_in_trace(*_join(key[0], iter(given)))
            finally:
                _core.exchange_trace(before)
            if out is None:
                raise returned_nothing(block, "forward", "an NDArray, or a list of them")
            out_form = _split(out, out_leaves)
            graph = symbol.Symbol(trace.group(out_leaves))
        compiled = self._compile(graph, names, trace, out_form)
        self._check_shapes(graph, compiled, given, out_leaves)
        block._graph = [*inputs], graph
        block._cached = compiled.graph
        block._constants = trace.constants()
        if len(self._graphs) >= _MOST_GRAPHS:
            del self._graphs[next(iter(self._graphs))]
        self._graphs[key] = compiled
        return out

    def _compile(self, graph: symbol.Symbol, names: list[str], trace: _core.Trace, form: Any) -> _Compiled:
        block = self._block
        constants = trace.constants()
        params = block.collect_params()
        used = graph.list_inputs()
        unused = sorted(set(params) - set(used))
        if unused and not self._graphs:
            warnings.warn(
                f"[HybridBlock] block '{block.name}' has parameters that its outputs do not depend on: "
                f"{', '.join(unused)}.",
                stacklevel=6,
            )
        sources = [
            names.index(item) if item in names else params[item] if item in params else constants[item]
            for item in used
        ]
        return _Compiled(block._make_cached(graph), sources, form, trace.numpy_shapes or util.is_np_shape())

    def _check_shapes(
        self, graph: symbol.Symbol, compiled: _Compiled, given: list[NDArray], outputs: list[NDArray]
    ) -> None:
        """The graph is inferred by one rule of shapes; what was traced may have followed both."""
        ctx = given[0].context
        known = {}
        for item, source in zip(graph.list_inputs(), compiled.sources):
            array = given[source] if isinstance(source, int) else source
            known[item] = (array.data(ctx) if isinstance(array, Parameter) else array).shape
        with util.np_shape(compiled.numpy_shapes):
            inferred = graph.infer_shape_partial(**known)[1]
        for shape, output in zip(inferred, outputs):
            # Without NumPy's rule () and 0 are not known.
            known_shape = shape is not None and (shape != () or compiled.numpy_shapes) and -1 not in shape
            if known_shape and (compiled.numpy_shapes or 0 not in shape) and shape != output.shape:
                raise StateError(
                    f"[HybridBlock] forward of block '{self._block.name}' gave an output of shape {output.shape}, and "
                    f"as a graph one of {shape}: it mixes functions of mx.nd and mx.np, which differ in arrays without "
                    "axes. npx.set_np() makes all of them follow NumPy's rule."
                )
