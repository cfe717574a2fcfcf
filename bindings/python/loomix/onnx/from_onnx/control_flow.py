# SPDX-License-Identifier: Apache-2.0
"""Loops and branches: nodes with graphs inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...symbol import contrib
from ..builder import Builder, Value
from ..reader import Node, text_of
from .elementwise import as_number


def _operator(b: Builder, value: Value) -> Value:
    """A value that an operator gives."""
    if b.is_operator(value):
        return value
    found = b.elementwise("_copy", value)
    return b.truth(found) if value.dtype.kind == "b" else found


def _symbols(found: Any) -> list[Any]:
    return list(found) if isinstance(found, (list, tuple)) else [found]


def _check_straight(n: Node) -> None:
    for name in ("scan_input_axes", "scan_output_axes", "scan_input_directions", "scan_output_directions"):
        if any(n.ints(name, [])):
            n.fail(f"attribute {name} is supported with zeros only.")


def scan(n: Node, b: Builder) -> list[Value]:
    _check_straight(n)
    count, graph = n.int("num_scan_inputs", 0), n.graph("body")
    names = [text_of(item.name) for item in graph.input]
    if not 0 < count <= len(n.inputs) or len(names) != len(n.inputs):
        n.fail(f"num_scan_inputs {count} does not fit to {len(n.inputs)} inputs and a body of {len(names)}.")
    states, arrays = n.inputs[:-count], n.inputs[-count:]
    if not states or len(graph.output) <= len(states) or any(value.rank < 2 for value in arrays):
        n.fail("a loop needs states, and arrays of at least two axes that it reads and makes.")
    found: list[Value] = []

    def body(data: Any, begin: Any) -> tuple[list[Any], list[Any]]:
        given = {}
        for name, value, node in zip(names, states, _symbols(begin)):
            given[name] = Value(b, name, value.shapes, value.dtype, node, value.symbol_type)
        for name, value, node in zip(names[len(states) :], arrays, _symbols(data)):
            shapes = [shape[1:] for shape in value.shapes]
            given[name] = Value(b, name, shapes, value.dtype, node, value.symbol_type)
        found[:] = [_operator(b, value) for value in n.run(graph, given)]
        symbols = [value.symbol for value in found]
        return symbols[len(states) :], symbols[: len(states)]

    outputs, last = contrib.foreach(body, [v.symbol for v in arrays], [v.symbol for v in states])
    whole = [*_symbols(last), *_symbols(outputs)]
    b.adopt(whole[0], "_foreach")
    values = []
    for i, (value, node) in enumerate(zip(found, whole)):
        shapes = value.shapes
        if i >= len(states):
            shapes = [(array[0], *(shape or (1,))) for array, shape in zip(arrays[0].shapes, shapes)]
        values.append(Value(b, "", shapes, value.dtype, node, value.symbol_type))
    return values


def branch(n: Node, b: Builder) -> list[Value]:
    graphs = n.graph("then_branch"), n.graph("else_branch")
    condition = n.inputs[0]
    decided = as_number(condition, 1)
    if decided is not None:
        return n.run(graphs[0] if decided else graphs[1], {})
    found: list[list[Value]] = []

    def run(graph: Any) -> Callable[[], list[Any]]:
        def branch_of() -> list[Any]:
            values = [_operator(b, value) for value in n.run(graph, {})]
            found.append(values)
            return [value.symbol for value in values]

        return branch_of

    whole = _symbols(contrib.cond(b.reshape(condition, [1]).symbol, run(graphs[0]), run(graphs[1])))
    left, right = found[-2:]
    if any(a.shapes != c.shapes or a.dtype != c.dtype for a, c in zip(left, right)):
        n.fail("both branches must give the same shapes and types.")
    b.adopt(whole[0], "_cond")
    return [Value(b, "", v.shapes, v.dtype, node, v.symbol_type) for v, node in zip(left, whole)]


IMPORTERS: dict[str, Callable[[Node, Builder], Any]] = {"If": branch, "Scan": scan}
