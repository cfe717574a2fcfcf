# SPDX-License-Identifier: Apache-2.0
"""From an ONNX file to a symbol and its parameters."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import symbol as sym
from ..base import MXNetError, MXNetNotImplementedError, MXNetValueError, ShapeError, suggest
from ..context import current_context
from ..ndarray import NDArray
from .builder import Builder, Value, probe_shapes
from .constants import FOLDED, Folder
from .from_onnx import IMPORTERS, own_function
from .reader import Model, Node, text_of
from .writer import DOMAIN

if TYPE_CHECKING:
    from ..context import Context
    from ..gluon import SymbolBlock
    from ..symbol import Symbol

_KNOWN = sorted({*IMPORTERS, *FOLDED, "Constant", "Shape", "Size"})
_DEEPEST = 16  # of graphs inside of nodes
# What a wrong file makes NumPy and Python raise, where a number or a shape is not what it should be.
_FAULTS = (
    ArithmeticError, AttributeError, IndexError, KeyError, MemoryError, RecursionError, TypeError, ValueError,
)  # fmt: skip


def _constant(n: Node) -> np.ndarray[Any, Any]:
    """The value of a node Constant."""
    found: list[Any] = [n.tensor("value")]
    for name, read, dtype in (
        ("value_float", n.float, np.float32), ("value_int", n.int, np.int64),
        ("value_floats", n.floats, np.float32), ("value_ints", n.ints, np.int64),
    ):  # fmt: skip
        value = read(name)
        found.append(None if value is None else np.array(value, dtype))
    given = [value for value in found if value is not None]
    if len(given) != 1:
        n.fail("its value is of a kind that is not supported.")
    return given[0]


class _Importer:
    def __init__(self, model: Model, who: str, shapes: Mapping[str, Any] | None) -> None:
        self.model, self.who = model, who
        inputs = model.inputs()
        names = [name for name, _, _ in inputs]
        given = dict(shapes or {})
        unknown = [name for name in given if name not in names]
        if unknown:
            raise MXNetValueError(f"[{who}] input_shapes names '{unknown[0]}'. {suggest(unknown[0], names)}")
        found = probe_shapes(inputs, given, self._shape_fault)
        worlds = max((len(worlds) for worlds in found.values()), default=1)
        self.builder = Builder(worlds)
        self.folder = Folder()
        self.values: dict[str, Value] = {}
        self.depth = 0
        for name, dtype, _ in inputs:
            self._put(name, self.builder.variable(name, dtype, found[name]))

    def _shape_fault(self, text: str) -> None:
        raise ShapeError(f"[{self.who}] {text}")

    def _put(self, name: str, value: Value) -> None:
        if name in self.values:
            raise MXNetValueError(f"[{self.who}] two values are called '{name}'.")
        self.values[name] = value

    def run(self) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
        self._add_graph(self.model.graph)
        outputs = [self._output(name, self._value(name)) for name in self.model.outputs()]
        if not outputs:
            raise MXNetValueError(f"[{self.who}] the graph has no outputs.")
        return self.builder.finish(outputs)

    def _add_graph(self, graph: Any) -> None:
        for name, array in self.model.initializers(graph).items():
            self._put(name, self.builder.constant(array, name))
        for node in self.model.nodes(graph):
            self._node(node)

    def _value(self, name: str) -> Value:
        if name not in self.values:
            raise MXNetValueError(f"[{self.who}] the output '{name}' is no value of the graph.")
        return self.values[name]

    def _inner(self, graph: Any, given: Mapping[str, Value]) -> list[Value]:
        """The outputs of a graph inside of a node, which sees the values outside."""
        outside, self.depth = self.values, self.depth + 1
        if self.depth > _DEEPEST:
            raise MXNetValueError(f"[{self.who}] graphs are more than {_DEEPEST} deep.")
        self.values = {**outside, **given}
        try:
            self._add_graph(graph)
            return [self._value(text_of(item.name)) for item in graph.output]
        finally:
            self.values, self.depth = outside, self.depth - 1

    def _output(self, name: str, value: Value) -> Any:
        """The symbol of an output, which has the type that the file says."""
        if value.dtype.kind == "b":
            value = self.builder.elementwise("Cast", value, dtype="bool")
        elif not self.builder.is_operator(value):
            value = self.builder.elementwise("_copy", value)
        self._name(name, [name], [value])
        return value.symbol

    def _node(self, n: Node) -> None:
        """Reads one node, and adds its outputs."""
        for name in n.input_names:
            if name and name not in self.values:
                n.fail(f"there is no value '{name}' before it.", MXNetValueError)
        n.run = self._inner
        n.inputs = [self.values[name] if name else None for name in n.input_names]
        try:
            found = self._import(n)
            n.check_all_read()
        except MXNetError as error:
            if str(error).startswith("[onnx]"):
                raise
            raise type(error)(f"[onnx] node '{n.name}' ({n.op}): {error}") from None
        except _FAULTS as error:
            text = f"[onnx] node '{n.name}' ({n.op}): it is not as ONNX says: {error!r}"
            raise MXNetValueError(text) from error
        values = [found] if isinstance(found, Value) else list(found)
        if len([name for name in n.output_names if name]) > len(values):
            n.fail(f"{len(n.output_names)} outputs are not supported; expected {len(values)}.")
        self._name(n.name, n.output_names, values)
        for name, value in zip(n.output_names, values):
            if name:
                self._put(name, dataclasses.replace(value, name=name))

    def _import(self, n: Node) -> Any:
        if n.domain == DOMAIN and n.op in self.model.own_functions:
            return own_function(n, self.builder)
        if n.domain not in ("", "ai.onnx"):
            n.fail(f"operators of the domain '{n.domain}' are not supported.")
        if n.op == "Constant":
            return self.builder.constant(_constant(n), n.output_names[0])
        arrays = self.folder.fold(n, self.builder.worlds)
        if arrays is not None:
            return self.builder.constant(arrays, n.output_names[0])
        if n.op not in IMPORTERS:
            near = suggest(n.op, _KNOWN) if n.op not in FOLDED else "It is supported on constants only."
            raise MXNetNotImplementedError(
                f"[onnx] node '{n.name}' ({n.op}): this operator is not supported. {near}"
            )
        return IMPORTERS[n.op](n, self.builder)

    def _name(self, prefix: str, names: Sequence[str], values: Sequence[Value]) -> None:
        """Names what a node became after its outputs, without the ending that ``list_outputs`` adds."""
        titles: dict[str, str] = {}
        for name, value in zip(names, values):
            if name and value.node is not None and value.node.name:
                titles.setdefault(value.node.name, re.sub(r"_output(_?\d+)?$", "", name) or name)
        self.builder.name_operators(titles, prefix or "node")


def read_model(
    source: Any, shapes: Mapping[str, Any] | None, who: str = "import_model"
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """What :func:`loomix.onnx.import_model` does."""
    return _read(Model(source, who), who, shapes)


def _read(
    model: Model, who: str, shapes: Mapping[str, Any] | None
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    try:
        return _Importer(model, who, shapes).run()
    except MXNetError:
        raise
    except _FAULTS as error:
        raise MXNetValueError(f"[{who}] {model.title} is not as ONNX says: {error!r}") from error


def to_block(
    source: Any, ctx: Context | list[Context] | None, shapes: Mapping[str, Any] | None
) -> SymbolBlock:
    """What :func:`loomix.onnx.import_to_gluon` does."""
    from ..gluon import SymbolBlock

    model = Model(source, "import_to_gluon")
    names = [name for name, _, _ in model.inputs()]
    symbol, arguments, states = _read(model, "import_to_gluon", shapes)
    block = SymbolBlock(symbol, [sym.var(name) for name in names])
    given = {**arguments, **states}
    for name, parameter in block.collect_params().items():
        parameter._load_init(
            given[name], current_context() if ctx is None else ctx, cast_dtype=True, dtype_source="saved"
        )
    return block


def metadata(source: Any) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """What :func:`loomix.onnx.get_model_metadata` does."""
    model = Model(source, "get_model_metadata")

    def rows(infos: Any) -> list[tuple[str, tuple[int, ...]]]:
        return [
            (name, tuple(size if isinstance(size, int) else 0 for size in sizes or ()))
            for name, _, sizes in infos
        ]

    return {"input_tensor_data": rows(model.inputs()), "output_tensor_data": rows(model.output_infos())}
