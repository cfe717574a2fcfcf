# SPDX-License-Identifier: Apache-2.0
"""A symbol's nodes with their attributes, shapes and types, as the exporter's converters read them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import _core
from ..base import MXNetError, MXNetNotImplementedError, ShapeError
from ..context import cpu
from ..ndarray import NDArray, zeros

if TYPE_CHECKING:
    from ..symbol import Symbol

Entry = tuple[int, int]  # number of a node, number of its output
Sizes = tuple["int | None", ...]  # None: known only when the model runs
_FILLED = {"_zeros": 0, "_zeros_without_dtype": 0, "_ones": 1}
_RANDOM = ("_random_", "_sample_", "_shuffle", "Dropout", "Custom")


def parse_attribute(text: str, kind: str) -> Any:
    """The value that an attribute's text stands for.

    >>> parse_attribute("(3, 3)", "Shape(tuple)"), parse_attribute("1", "boolean"), parse_attribute("avg", "{'avg'}")
    ((3, 3), True, 'avg')
    """
    if kind == "boolean":
        return text.lower() in ("1", "true")
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    if isinstance(value, list):
        value = tuple(value)
    is_tuple = "tuple" in kind or kind.startswith("Shape")
    return (value,) if is_tuple and isinstance(value, (int, float)) else value


@dataclass
class Node:
    """One node; its inputs and outputs are counted from 0."""

    graph: Graph
    number: int
    op: str
    name: str
    entries: list[Entry]
    attributes: dict[str, Any]
    names: dict[Entry, Any] = field(repr=False)  # what is known so far: names of ONNX's values, or errors
    subgraphs: list[Any] = field(default_factory=list)

    def __getitem__(self, attribute: str) -> Any:
        return self.attributes[attribute]

    def __len__(self) -> int:
        return len(self.entries)

    def fail(self, reason: str) -> NoReturn:
        raise MXNetNotImplementedError(f"[onnx] node '{self.name}' ({self.op}): {reason}")

    def input(self, i: int) -> str:
        """The name of an input in the ONNX graph."""
        return self.graph.use(self.entries[i])

    def inputs(self) -> list[str]:
        return [self.input(i) for i in range(len(self))]

    def _known(self, entry: Entry) -> Sizes:
        shape = self.graph.shapes.get(entry)
        if shape is None:
            raise ShapeError(
                f"[onnx] node '{self.name}' ({self.op}): the shape of '{self.graph.title(entry)}' does not follow from "
                "the inputs' shapes; give all of them as in_shapes."
            )
        return shape

    def sizes(self, i: int = 0) -> Sizes:
        """The shape of an input, None for what may change from call to call."""
        return self._known(self.entries[i])

    def out_sizes(self, i: int = 0) -> Sizes:
        return self._known((self.number, i))

    def _fixed(self, shape: Sizes, axes: Sequence[int] | None) -> tuple[int, ...]:
        for axis in range(len(shape)) if axes is None else axes:
            if shape[axis] is None:
                self.fail(f"axis {axis} of shape {shape} must have a fixed size, but is dynamic.")
        return tuple(-1 if size is None else size for size in shape)

    def shape(self, i: int = 0, axes: Sequence[int] | None = None) -> tuple[int, ...]:
        """The shape of an input, of which these axes (all by default) must have fixed sizes."""
        return self._fixed(self.sizes(i), axes)

    def out_shape(self, i: int = 0, axes: Sequence[int] | None = None) -> tuple[int, ...]:
        return self._fixed(self.out_sizes(i), axes)

    def rank(self, i: int = 0) -> int:
        return len(self.sizes(i))

    def axis(self, name: str = "axis", i: int = 0) -> int:
        """An attribute that counts axes, from 0 on."""
        axis = self[name]
        return axis + self.rank(i) if axis < 0 else axis

    def dtype(self, i: int = 0) -> np.dtype[Any]:
        return self.graph.dtype(self.entries[i])

    def out_dtype(self, i: int = 0) -> np.dtype[Any]:
        return self.graph.dtype((self.number, i))

    def number_like(self, value: float, i: int = 0) -> np.ndarray[Any, Any]:
        """A scalar of an input's type."""
        dtype = self.dtype(i)
        if dtype.kind in "iub" and value != int(value):
            self.fail(f"the scalar {value} with data of type {dtype.name} has no ONNX form.")
        return np.array(value, dtype)

    def constant(self, i: int) -> np.ndarray[Any, Any] | None:
        """The value of an input that depends on parameters alone; None for others."""
        return self.graph.constant(self.entries[i])

    def is_zeros(self, i: int) -> bool:
        """Whether an input is an operator's array of zeros, such as the begin state of a recurrent layer."""
        node = self.graph.nodes[self.entries[i][0]]
        return _FILLED.get(node.op) == 0


class Graph:
    """The nodes of a symbol in order.

    Parameters
    ----------
    symbol : Symbol
    params : dict of str to NDArray
        Parameters and auxiliary states by name.
    shapes, types : dict
        Of the inputs.
    dynamic : dict, optional
        Other shapes of the inputs: sizes that differ in what follows from them are None.
    """

    def __init__(
        self,
        symbol: Symbol,
        params: Mapping[str, NDArray],
        shapes: Mapping[str, tuple[int, ...]],
        types: Mapping[str, Any],
        dynamic: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        known = {name: array for name, array in params.items() if name in set(symbol.list_inputs())}
        symbol = symbol.expanded(
            {**{name: array.shape for name, array in known.items()}, **shapes},
            {**{name: array.dtype for name, array in known.items()}, **types},
        )
        self.symbol = symbol
        self.params = params
        self.names: dict[Entry, Any] = {}
        self.ranges: dict[Entry, tuple[float, float]] = {}  # of whole numbers, known before their readers
        self._internals = symbol.get_internals()
        self._constants: dict[Entry, np.ndarray[Any, Any] | None] = {}
        graph = json.loads(symbol.handle.to_json())
        self.heads: list[Entry] = [(number, output) for number, output, *_ in graph["heads"]]
        self.nodes = [self._node(number, entry) for number, entry in enumerate(graph["nodes"])]
        self.order = list(self._order())
        self._positions = {entry: position for position, entry in enumerate(self.order)}
        self.shapes = self._infer_shapes(shapes)
        if dynamic is not None:
            self._mark_dynamic(self._infer_shapes(dynamic))
        self.types = self._infer_types(types)

    def _node(self, number: int, entry: Mapping[str, Any]) -> Node:
        texts = entry.get("attrs", {})
        op, values = entry["op"], {}
        if op != "null":
            info = _core.operator_info(op)
            op = info["name"]
            for param in info["params"]:
                text = texts.get(param["name"], param["default"])
                values[param["name"]] = parse_attribute(text, param["type"])
            values.update({key: text for key, text in texts.items() if key not in values})
        inputs = [(source, output) for source, output, *_ in entry["inputs"]]
        return Node(self, number, op, entry["name"], inputs, values, self.names, entry.get("subgraphs", []))

    def _order(self) -> Iterator[Entry]:
        """The entries in the order of the internals, whose names need not be unique."""
        number = -1
        for output in self._internals:
            index = output.handle.output_index()
            number += index == 0
            yield number, index

    def __contains__(self, entry: Entry) -> bool:
        """Whether there is such an output that a user can see."""
        return entry in self._positions

    def title(self, entry: Entry) -> str:
        """The name of an output, as ``list_outputs`` has it."""
        return self._internals[self._positions[entry]].list_outputs()[0]

    def _infer_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[Entry, Sizes]:
        variables = {*self.symbol.list_arguments(), *self.symbol.list_auxiliary_states()}
        known = {name: array.shape for name, array in self.params.items() if name in variables}
        known.update(shapes)
        _, found, _ = self._internals.infer_shape_partial(**known)
        return {entry: tuple(shape) for entry, shape in zip(self.order, found) if shape and all(shape)}

    def _mark_dynamic(self, other: Mapping[Entry, Sizes]) -> None:
        for entry, shape in self.shapes.items():
            theirs = other.get(entry, ())
            if len(theirs) != len(shape):
                raise ShapeError(
                    f"[onnx] the shape of '{self.title(entry)}' does not follow from dynamic_input_shapes."
                )
            self.shapes[entry] = tuple(a if a == b else None for a, b in zip(shape, theirs))

    def _infer_types(self, types: Mapping[str, Any]) -> dict[Entry, np.dtype[Any]]:
        variables = {*self.symbol.list_arguments(), *self.symbol.list_auxiliary_states()}
        known = {name: array.dtype for name, array in self.params.items() if name in variables}
        known.update(types)
        _, found, _ = self._internals.infer_type_partial(**known)
        return {entry: np.dtype(kind) for entry, kind in zip(self.order, found) if kind is not None}

    def dtype(self, entry: Entry) -> np.dtype[Any]:
        return self.types.get(entry, np.dtype(np.float32))

    def use(self, entry: Entry) -> str:
        """The name of an entry's value in the ONNX graph."""
        found = self.names[entry]
        if isinstance(found, MXNetError):
            raise found
        return found

    def _is_constant(self, number: int) -> bool:
        """Whether a node depends on parameters alone; without recursion, as graphs may be deep."""
        todo, seen = [number], {number}
        while todo:
            node = self.nodes[todo.pop()]
            if node.op == "null" and node.name not in self.params:
                return False
            if node.op.startswith(_RANDOM):
                return False
            new = {source for source, _ in node.entries} - seen
            seen |= new
            todo += new
        return True

    def constant(self, entry: Entry) -> np.ndarray[Any, Any] | None:
        if entry not in self._constants:
            self._constants[entry] = self._evaluate(entry) if self._is_constant(entry[0]) else None
        return self._constants[entry]

    def _evaluate(self, entry: Entry) -> np.ndarray[Any, Any]:
        node = self.nodes[entry[0]]
        if node.op == "null":
            return self.params[node.name].asnumpy()
        if node.op in _FILLED:  # whose shape may have come from its readers
            return np.full(node.out_shape(), _FILLED[node.op], node.out_dtype())
        part = self._internals[self._positions[entry]]
        arrays = {name: self.params[name] for name in part.list_arguments()}
        states = {name: self.params[name] for name in part.list_auxiliary_states()}
        executor = part.bind(cpu(), arrays, aux_states=states, grad_req="null")
        return executor.forward(is_train=False)[0].asnumpy()

    def call(self, node: Node, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray[Any, Any]]:
        """What an operator gives for arrays of zeros: for operators of which only the shapes matter."""
        function = _core.op_function(node.op, node.op, __name__, False)
        attributes = {key: value for key, value in node.attributes.items() if value not in (None, "None")}
        found = function(*(zeros(shape) for shape in shapes), **attributes)
        return [array.asnumpy() for array in ([found] if isinstance(found, NDArray) else found)]
