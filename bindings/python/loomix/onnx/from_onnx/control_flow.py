# SPDX-License-Identifier: Apache-2.0
"""Loops and branches: nodes with graphs inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import MXNetValueError
from ...symbol import contrib
from ..builder import Builder, Value
from ..reader import Node, tensor_array, text_of
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


def _like(value: Value, node: Any) -> Value:
    return Value(value.builder, value.name, value.shapes, value.dtype, node, value.symbol_type)


def _stacked(b: Builder, value: Value, node: Any, counts: Sequence[int]) -> Value:
    """What the steps of a loop gave, along a new first axis."""
    shapes = [(count, *(shape or (1,))) for count, shape in zip(counts, value.shapes)]
    whole = Value(b, "", shapes, value.dtype, node, value.symbol_type)
    return whole if value.rank else b.reshape(whole, [-1])


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
            given[name] = _like(value, node)
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
        counts = [shape[0] for shape in arrays[0].shapes]
        values.append(_like(value, node) if i < len(states) else _stacked(b, value, node, counts))
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


_LONGEST = (1 << 31) - 1  # of loops whose end is a condition only


def _stays_true(graph: Any, name: str, given: str) -> bool:
    """Whether a body hands on the condition that it is given, or gives a constant that is true."""
    made = {text_of(output): node for node in graph.node for output in node.output}
    constants = {text_of(item.name): item for item in graph.initializer}
    for _ in range(len(graph.node) + 1):
        if name == given:
            return True
        node = made.get(name)
        if node is None or text_of(node.op_type) not in ("Constant", "Identity") or text_of(node.domain):
            break
        if text_of(node.op_type) == "Constant":
            constants[name] = next((item.t for item in node.attribute if text_of(item.name) == "value"), None)
            break
        name = text_of(node.input[0])
    item = constants.get(name)
    return item is not None and bool(np.all(tensor_array(item, f"'{name}'", None)))


class _Loop:
    """A node Loop as a while loop.

    Its variables are the step's number, the condition (unless it stays true), and what is carried from step to step.
    """

    def __init__(self, n: Node, b: Builder) -> None:
        self.n, self.b, self.graph = n, b, n.graph("body")
        self.names = [text_of(item.name) for item in self.graph.input]
        self.carried = n.inputs[2:]
        if len(n.inputs) < 2 or len(self.names) != len(n.inputs) or None in self.carried:
            n.fail(f"{len(n.inputs)} inputs do not fit to a body of {len(self.names)}.", MXNetValueError)
        self.stacked = len(self.graph.output) - 1 - len(self.carried)
        if self.stacked < 0:
            n.fail(
                f"its body gives {len(self.graph.output)} values for {len(self.carried)}.", MXNetValueError
            )
        self.limit, self.first = n.inputs[:2]
        self.most = as_number(self.limit, 1)
        self.begin = 1 if self.first is None else as_number(self.first, 1)
        ends = text_of(self.graph.output[0].name)
        self.counted = bool(self.begin) and _stays_true(self.graph, ends, self.names[1])
        if self.stacked and (self.most is None or not self.counted):
            n.fail("how many rows it gives depends on numbers; expected a constant number of steps.")
        if self.counted and self.limit is None:
            n.fail("it never ends.", MXNetValueError)
        if self.most is not None and self.most > _LONGEST:
            n.fail(f"{self.most} steps are too many; expected at most {_LONGEST}.")
        self.variables: list[Value] = []
        self.found: list[Value] = []

    def run(self) -> list[Value]:
        n, b = self.n, self.b
        if self.begin == 0 or (self.most is not None and self.most <= 0):
            if self.stacked:
                n.fail("a loop without steps gives arrays without rows.")
            return self.carried
        number = b.constant(np.array(0, np.int64), self.names[0])
        self.variables = [number, *([] if self.counted else [self._condition()]), *self.carried]
        steps = _LONGEST if self.most is None else int(self.most)
        outputs, last = contrib.while_loop(
            self._goes_on, self._step, [v.symbol for v in self.variables], steps
        )
        b.adopt(last[0], "_while_loop")
        first = len(self.variables) - len(self.carried)
        values = [_like(value, node) for value, node in zip(self.carried, last[first:])]
        for value, node in zip(self.found, outputs):
            values.append(_stacked(b, value, node, [steps] * b.worlds))
        return values

    def _condition(self) -> Value:
        """The first condition, of a type that it keeps."""
        b = self.b
        value = b.constant(np.array(True), self.names[1]) if self.first is None else self.first
        return b.without_axes(b.truth(b.cast(b.truth(value), "float32")))

    def _goes_on(self, *nodes: Any) -> Any:
        condition = None if self.counted else _like(self.variables[1], nodes[1])
        if condition is not None and (self.most is not None or self.limit is None):
            return condition.symbol  # the operator counts the steps itself
        number = _like(self.variables[0], nodes[0])
        if self.most is not None:
            return self.b.scalar("_lesser_scalar", number, self.most).symbol
        below = self.b.elementwise("_lesser", number, self.b.cast(self.limit, "int64"))
        if condition is None:
            return below.symbol
        return self.b.elementwise("elemwise_mul", self.b.cast(below, "float32"), condition).symbol

    def _step(self, *nodes: Any) -> tuple[list[Any], list[Any]]:
        b = self.b
        values = [_like(value, node) for value, node in zip(self.variables, nodes)]
        condition = b.constant(np.array(True)) if self.counted else values[1]
        carried = values[len(values) - len(self.carried) :]
        outputs = self.n.run(self.graph, dict(zip(self.names, [values[0], condition, *carried])))
        following = [b.scalar("_plus_scalar", values[0], 1)]
        if not self.counted:
            following.append(b.cast(b.truth(outputs[0]), "float32"))
        for before, after in zip(carried, outputs[1:]):
            if before.shapes != after.shapes or before.dtype != after.dtype:
                self.n.fail("what it carries changes its shape or type from step to step.")
            same = before.symbol_type == after.symbol_type
            following.append(
                _operator(b, after) if same else b.elementwise("Cast", after, dtype=before.symbol_type.name)
            )
        self.found = [_operator(b, value) for value in outputs[1 + len(carried) :]]
        used = {name for value in [*following, *self.found] for name in value.symbol.list_inputs()}
        for i, node in enumerate(nodes):
            if node.name not in used:  # each variable takes part, even if the body does not look at it
                following[i] = b.elementwise("_identity_with_attr_like_rhs", following[i], values[i])
        return [value.symbol for value in self.found], [value.symbol for value in following]


def loop(n: Node, b: Builder) -> list[Value]:
    return _Loop(n, b).run()


IMPORTERS: dict[str, Callable[[Node, Builder], Any]] = {"If": branch, "Loop": loop, "Scan": scan}
