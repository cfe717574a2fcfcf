# SPDX-License-Identifier: Apache-2.0
"""The symbol that an importer builds, with the shape and type of each value on the way.

Sizes that a file leaves open (a batch, as a rule) have no numbers. Shapes are therefore computed in two *worlds*, with other numbers
for them: what is the same in both is fixed. So a reshape to a shape that the graph computes from an open size can be
told from one to a fixed shape.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .. import symbol as sym
from ..base import MXNetValueError, ShapeError
from ..ndarray import NDArray, array
from . import whole as of_8_bits
from .whole import Whole

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
# In each world open sizes are the next of these primes, which hardly appear as fixed sizes.
_PROBES = ((1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049), (1301, 1303, 1307, 1319, 1321, 1327, 1361, 1367))


@dataclass
class Value:
    """A value of the ONNX graph.

    An array without axes is held as one of shape (1,), and booleans as numbers 0 and 1 of any type.
    """

    builder: Builder
    name: str
    shapes: list[Shape]  # in each world
    dtype: np.dtype[Any]  # ONNX's
    node: Any = None  # the symbol; None for constants that are no parameters yet
    held: np.dtype[Any] | None = None  # the symbol's type, if it is not the same
    arrays: list[Array] | None = None  # of constants, in each world
    whole: Whole | None = None  # the numbers of 8 bits that it was, or would be, rounded to

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape, None for open sizes."""
        if any(len(shape) != len(self.shapes[0]) for shape in self.shapes):
            raise ShapeError(f"[onnx] the number of axes of '{self.name}' depends on sizes that the file leaves open.")
        return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*self.shapes))

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def fixed(self) -> Shape | None:
        """The shape, if no size is open."""
        return None if None in self.shape else self.shapes[0]

    @property
    def array(self) -> Array | None:
        """The value, if it is a constant in all worlds."""
        if self.arrays is None or any(
            a.shape != self.arrays[0].shape or not np.array_equal(a, self.arrays[0], a.dtype.kind == "f")
            for a in self.arrays[1:]
        ):
            return None
        return self.arrays[0]

    @property
    def symbol_type(self) -> np.dtype[Any]:
        return self.dtype if self.held is None else self.held

    @property
    def symbol(self) -> Any:
        if self.node is None:
            self.builder.hold(self)
        return self.node


def _held_shape(shape: Shape) -> Shape:
    return shape or (1,)


class Builder:
    """Makes operators of Loomix.

    Parameters
    ----------
    worlds : int
        2 where the file leaves sizes open, else 1.
    """

    def __init__(self, worlds: int) -> None:
        self.worlds = worlds
        self.params: dict[str, Array] = {}
        self.taken: set[str] = set()
        self.made: list[str] = []  # operators of the node at hand, in order
        self._operators: dict[str, str] = {}
        self._names: dict[str, str] = {}

    # ---- values ----

    def variable(self, name: str, dtype: np.dtype[Any], shapes: list[Shape]) -> Value:
        """An input of the graph."""
        self.taken.add(name)
        node = sym.var(name, dtype=dtype)
        value = Value(self, name, shapes, dtype, node)
        if any(not shape for shape in shapes):
            value = Value(self, name, [() for _ in shapes], dtype, node)
        return self.number(value) if dtype.kind == "b" else value

    def number(self, value: Value) -> Value:
        """Booleans as float32: not all operators take them as they are."""
        node, _, _ = self._apply("Cast", [value], {"dtype": "float32"})
        return Value(self, value.name, value.shapes, value.dtype, node, np.dtype(np.float32))

    def constant(self, arrays: Any, name: str = "constant") -> Value:
        """A constant: an array, or one for each world."""
        arrays = arrays if isinstance(arrays, list) else [arrays] * self.worlds
        return Value(self, name, [a.shape for a in arrays], arrays[0].dtype, arrays=arrays)

    def hold(self, value: Value) -> None:
        """Makes a parameter of a constant."""
        found = value.array
        if found is None:
            value.node = self._zeros(value)
            return
        name = self.unique(value.name)
        value.held = np.dtype(np.float32) if found.dtype.kind == "b" else found.dtype
        self.params[name] = found.astype(value.held).reshape(_held_shape(found.shape))
        value.node = sym.var(name, shape=self.params[name].shape, dtype=value.held)

    def _zeros(self, value: Value) -> Any:
        """Zeros whose open sizes follow from who reads them."""
        assert value.arrays is not None
        if any(a.any() for a in value.arrays) or None not in value.shape:
            raise MXNetValueError(
                f"[onnx] '{value.name}' depends on sizes that the file leaves open; give input_shapes."
            )
        shape = tuple(0 if size is None else size for size in value.shape)
        return self._apply("_zeros", [], {"shape": shape, "dtype": value.dtype.name})[0]

    def unique(self, hint: str) -> str:
        name, count = hint, 0
        while name in self.taken:
            count += 1
            name = f"{hint}_{count}"
        self.taken.add(name)
        return name

    # ---- operators ----

    def _apply(self, op: str, inputs: Sequence[Value | None], attributes: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """An operator's symbol, and its outputs' shapes (in each world) and types. Inputs that are left out are None."""
        function = _core.op_function(op, op, __name__, True)
        given = {key: value for key, value in attributes.items() if value is not None}
        temporary = f"{op}/{len(self._operators)}"
        node = function(*(value and value.symbol for value in inputs), name=temporary, **given)
        self._operators[temporary] = op
        self.made.append(temporary)
        there = {f"x{i}": value for i, value in enumerate(inputs) if value is not None}
        alone = function(*(value and sym.var(f"x{i}") for i, value in enumerate(inputs)), name=op, **given)
        types = {name: value.symbol_type for name, value in there.items()}
        shapes = []
        for world in range(self.worlds):
            known = {name: _held_shape(value.shapes[world]) for name, value in there.items()}
            _, found, _ = alone.infer_shape_partial(**known)
            shapes.append([tuple(shape) for shape in found])
        _, kinds, _ = alone.infer_type_partial(**types)
        return node, shapes, kinds

    def adopt(self, node: Any, op: str) -> None:
        """Takes an operator that was made elsewhere for one of its own."""
        self._operators[node.name] = op
        self.made.append(node.name)

    def make_many(self, op: str, *inputs: Value | None, **attributes: Any) -> list[Value]:
        """An operator on values; its outputs."""
        node, shapes, kinds = self._apply(op, inputs, attributes)
        return [
            Value(self, "", [found[i] for found in shapes], np.dtype(kind or np.float32), node[i])
            for i, kind in enumerate(kinds)
        ]

    def make(self, op: str, *inputs: Value, **attributes: Any) -> Value:
        """The first output of an operator on values; of a layer of 8 bits, if they are such."""
        found = of_8_bits.layer(self, op, inputs, attributes)
        if found is not None:
            return found
        found = self.make_many(op, *inputs, **attributes)[0]
        found.whole = of_8_bits.moved(self, op, inputs, attributes)
        return found

    def elementwise(self, op: str, *inputs: Value, **attributes: Any) -> Value:
        """The same, without axes if no input has any."""
        found = self.make(op, *inputs, **attributes)
        return self.without_axes(found) if all(not shape for x in inputs for shape in x.shapes) else found

    def without_axes(self, value: Value) -> Value:
        """An array of one element as one without axes."""
        return Value(
            self, value.name, [() for _ in value.shapes], value.dtype, value.node, value.held, value.arrays
        )

    def truth(self, value: Value) -> Value:
        """Numbers 0 and 1 as booleans."""
        return Value(self, value.name, value.shapes, np.dtype(bool), value.symbol, value.symbol_type)

    def cast(self, value: Value, dtype: Any) -> Value:
        dtype = np.dtype(dtype)
        if value.symbol_type == dtype and value.dtype.kind != "b":
            return value
        return self.elementwise("Cast", value, dtype=dtype.name)

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        return self.make("Reshape", value, shape=tuple(int(size) for size in shape))

    def transpose(self, value: Value, axes: Sequence[int]) -> Value:
        axes = tuple(int(axis) for axis in axes)
        return value if axes == tuple(range(len(axes))) else self.make("transpose", value, axes=axes)

    def squeeze(self, value: Value, axes: Sequence[int]) -> Value:
        """Without axes of size 1; all may go."""
        if not axes:
            return value
        if len(axes) == value.rank:
            return self.without_axes(self.reshape(value, [1]))
        kept = [size for axis, size in enumerate(value.shape) if axis not in axes]
        if kept.count(None) <= 1:
            return self.reshape(value, [-1 if size is None else size for size in kept])
        return self.make("squeeze", value, axis=tuple(axes))

    def unsqueeze(self, value: Value, axes: Sequence[int]) -> Value:
        """With axes of size 1 at these places of the result."""
        if not value.rank:
            return self.reshape(value, [1] * len(axes))
        for axis in sorted(axes):
            value = self.make("expand_dims", value, axis=int(axis))
        return value

    def slice_axis(self, value: Value, axis: int, begin: int, end: int | None) -> Value:
        return self.make("slice_axis", value, axis=int(axis), begin=int(begin), end="None" if end is None else int(end))

    def scalar(self, op: str, value: Value, scalar: float) -> Value:
        """One of the operators on an array and a number."""
        return self.elementwise(op, value, scalar=repr(float(scalar)))

    def is_operator(self, value: Value) -> bool:
        """Whether a value is an operator's, and no variable."""
        return value.node is not None and value.node.name in self._operators

    # ---- the result ----

    def name_operators(self, titles: Mapping[str, str], prefix: str) -> None:
        """Names for the operators made since the last call: those of outputs get these titles."""
        for temporary in self.made:
            hint = titles.get(temporary) or f"{prefix}_{self._operators[temporary].strip('_').lower()}"
            self._names[temporary] = self.unique(hint)
        self.made = []

    def _rename(self, graph: Any) -> None:
        """Gives the nodes of a graph their final names, and those of graphs inside of them."""
        for node in graph["nodes"]:
            name = node["name"]
            if name not in self._names and name.endswith("_output"):  # a variable for a value outside
                name = name.removesuffix("_output")
                node["name"] = f"{self._names[name]}_output" if name in self._names else node["name"]
            else:
                node["name"] = self._names.get(name, name)
            for inner in node.get("subgraphs", ()):
                self._rename(inner)

    def finish(self, outputs: Sequence[Any]) -> tuple[Any, dict[str, NDArray], dict[str, NDArray]]:
        """The whole symbol with its final names, its parameters and its auxiliary states."""
        graph = json.loads(sym.Group(list(outputs)).handle.to_json())
        self._rename(graph)
        symbol = sym.load_json(json.dumps(graph))

        def arrays(names: Sequence[str]) -> dict[str, NDArray]:
            return {
                name: array(self.params[name], dtype=self.params[name].dtype) for name in names if name in self.params
            }

        return symbol, arrays(symbol.list_arguments()), arrays(symbol.list_auxiliary_states())


def probe_shapes(
    inputs: Sequence[tuple[str, Any, list[int | str | None] | None]],
    given: Mapping[str, Sequence[int]],
    fail: Callable[[str], Any],
) -> dict[str, list[Shape]]:
    """The inputs' shapes in each world: one where all sizes are known, else two."""
    opened: dict[str, int] = {}
    found: dict[str, list[list[int]]] = {}
    for name, _, sizes in inputs:
        if sizes is None and name not in given:
            fail(f"the shape of '{name}' is not in the file; give input_shapes.")
        wanted = list(given.get(name, ()))
        if sizes is not None and wanted:
            if len(wanted) != len(sizes) or any(isinstance(s, int) and s != w for s, w in zip(sizes, wanted)):
                fail(f"input_shapes has {tuple(wanted)} for '{name}', whose shape in the file is {tuple(sizes)}.")
        worlds: list[list[int]] = [[], []]
        for axis, size in enumerate(wanted or sizes or []):
            if isinstance(size, int):
                numbers = (size, size)
            else:
                number = opened.setdefault(size or f"{name}/{axis}", len(opened))
                if number >= len(_PROBES[0]):
                    fail("it leaves more than 8 sizes open; give input_shapes.")
                numbers = _PROBES[0][number], _PROBES[1][number]
            for world, size_there in zip(worlds, numbers):
                world.append(size_there)
        found[name] = worlds
    return {name: [tuple(w) for w in worlds[: 2 if opened else 1]] for name, worlds in found.items()}
