# SPDX-License-Identifier: Apache-2.0
"""Expands late nodes: what operators they are follows from the shapes and types of their inputs.

A call of a function of ``mx.np`` with symbols makes one node (`_symbol.compose`). Where a graph is inferred or bound,
and shapes are known, the function runs on arrays of zeros, and the operators that it calls take the node's place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as onp

from ... import _core, attribute, autograd, name
from ...base import MXNetValueError, StateError
from ...context import cpu
from ...numpy._base import F, asarray
from ...util import is_np_shape
from .. import _internal, op
from ..symbol import Symbol
from . import _calls, _operators

_MOST_CONSTANTS = 4096  # elements of an array of values in a graph


def _constant(array: Any) -> Symbol:
    """A graph without inputs of an array's values: numbers that are the same, or at equal distances, are one node."""
    values = array.asnumpy()
    kind = array.dtype
    if values.size > _MOST_CONSTANTS:
        raise MXNetValueError(
            f"[sym.np] the graph would hold an array of {values.size} values; expected at most {_MOST_CONSTANTS}. "
            "Give it as an input."
        )
    flat = values.reshape(-1).astype("float64")
    steps = onp.diff(flat)
    if flat.size == 0:
        return _internal._zeros(shape=values.shape, dtype=kind)
    if flat.size > 2 and steps[0] and (steps == steps[0]).all() and float(flat[0]).is_integer():
        start, step = flat[0], steps[0]
        line = _internal._arange(start=start, stop=start + step * (flat.size - 0.5), step=step, dtype=kind)
        return _internal._np_reshape(line, newshape=values.shape)
    ends = [*(onp.flatnonzero(steps != 0) + 1).tolist(), flat.size]
    begins = [0, *ends[:-1]]
    if len(ends) == 1:
        return _internal._full(shape=values.shape, dtype=kind, value=float(flat[0]))
    pieces = [
        _internal._full(shape=(end - begin,), dtype=kind, value=float(flat[begin]))
        for begin, end in zip(begins, ends)
    ]
    return _internal._np_reshape(op.concat(*pieces, dim=0), newshape=values.shape)


def _run(operator: str, attrs: Mapping[str, str], arrays: list[Any]) -> list[Any]:
    if operator == _calls.OPERATOR:
        args, kwargs = json.loads(attrs["arguments"])
        function = _operators.function_of(attrs["function"])
        result = function(
            *_calls.decode(args, arrays), **{key: _calls.decode(v, arrays) for key, v in kwargs.items()}
        )
    else:
        result = _operators.call(operator, dict(attrs), arrays)
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _expand_node(operator: str, label: str, attrs: dict[str, str], inputs: list[Any]) -> list[Any]:
    """The outputs, as (symbol, shape, type), as the inputs are given."""
    arrays = [F._zeros(shape=shape, dtype=dtype, ctx=cpu()).as_np_ndarray() for _, shape, dtype in inputs]
    # Recording, so that what the function does not record has no gradient in the graph, either.
    with autograd.record(train_mode=False), name.Prefix(f"{label}_"):
        trace = _core.Trace()
        for array, (symbol, _, _) in zip(arrays, inputs):
            trace.bind(array, symbol)
        before = _core.exchange_trace(trace)
        try:
            outputs = [asarray(item) for item in _run(operator, attrs, arrays)]
        except StateError as error:
            what = attrs.get("function", operator)
            raise StateError(
                f"[sym.np] node '{label}' ({what}) depends on the values of its inputs, and a graph knows their shapes "
                "and types only when it is compiled."
            ) from error
        finally:
            _core.exchange_trace(before)
            trace.forget_errors()  # a matrix of zeros has no inverse, for instance
        found = trace.group(outputs)
        for key, array in trace.constants().items():
            found.become(key, _constant(array).handle)
    return [(found.at(i), array.shape, array.dtype) for i, array in enumerate(outputs)]


class _NumpyShapes:
    """NumPy's rule of shapes for a while."""

    def __enter__(self) -> None:
        self._before = _core.exchange_numpy_shapes(True)

    def __exit__(self, *exc_info: Any) -> None:
        _core.exchange_numpy_shapes(self._before)


def _sizes(shape: Any, numpy_shapes: bool) -> Any:
    if numpy_shapes:
        return shape
    return tuple(size if size else -1 for size in shape) if shape else None


def expand(symbol: Symbol, shapes: Mapping[str, Any], dtypes: Mapping[str, Any]) -> Symbol:
    """The symbol with operators in place of the late nodes whose inputs are known."""
    rule = is_np_shape()
    known = {key: _sizes(tuple(shape), rule) for key, shape in shapes.items() if shape is not None}
    with _NumpyShapes(), attribute.AttrScope():
        handle = symbol.handle.expand_late_nodes(
            [(key, shape) for key, shape in known.items() if shape is not None],
            [(key, value) for key, value in dtypes.items() if value is not None],
            _expand_node,
        )
    return Symbol(handle)


def in_order(symbol: Symbol, expanded: Symbol, arguments: Any, states: Any, others: Mapping[str, Any]) -> Any:
    """What belongs to the inputs of the expanded symbol, in the order of the symbol's own; `others` has what those have
    that the expanded one does not read."""
    found = {**others, **dict(zip(expanded.list_arguments(), arguments))}
    found.update(zip(expanded.list_auxiliary_states(), states))
    return (
        [found.get(key) for key in symbol.list_arguments()],
        [found.get(key) for key in symbol.list_auxiliary_states()],
    )


def infer_shape(symbol: Symbol, shapes: Mapping[str, Any]) -> tuple[Any, Any, Any, bool, list[str]]:
    """As of a symbol's handle."""
    rule = is_np_shape()
    expanded = expand(symbol, shapes, {})
    read = set(expanded.list_inputs())
    with _NumpyShapes():
        known = [(key, shape) for key, shape in shapes.items() if key in read]
        arguments, outputs, states, complete, unresolved = expanded.handle.infer_shape(known, rule)
    arguments, states = in_order(symbol, expanded, arguments, states, shapes)
    return arguments, outputs, states, complete, unresolved


class LateGraph:
    """A graph with late nodes that is called: compiled for each combination of shapes and types."""

    def __init__(self, symbol: Symbol, compile: Any) -> None:
        self._symbol, self._compile = symbol, compile
        self._names = symbol.list_inputs()
        self._graphs: dict[Any, Any] = {}
        self._last: Any = None
        self._monitor: Any = None

    def __call__(self, inputs: list[Any]) -> Any:
        key = tuple((array.shape, array.dtype) for array in inputs)
        found = self._graphs.get(key)
        with _NumpyShapes():
            if found is None:
                shapes = {name: array.shape for name, array in zip(self._names, inputs)}
                dtypes = {name: array.dtype for name, array in zip(self._names, inputs)}
                expanded = expand(self._symbol, shapes, dtypes)
                places = [self._names.index(name) for name in expanded.list_inputs()]
                found = self._graphs[key] = self._compile(expanded), places
                if self._monitor is not None:
                    found[0].set_monitor(*self._monitor)
            self._last, places = found
            return self._last([inputs[place] for place in places])

    def explanation(self, compare_strategies: bool) -> Any:
        """Of the graph that ran last."""
        return None if self._last is None else self._last.explanation(compare_strategies)

    def set_monitor(self, callback: Any, monitor_all: bool) -> None:
        self._monitor = callback, monitor_all
        for graph, _ in self._graphs.values():
            graph.set_monitor(callback, monitor_all)
