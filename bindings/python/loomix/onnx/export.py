# SPDX-License-Identifier: Apache-2.0
"""From a symbol and its parameters to an ONNX file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from .. import symbol as sym_module
from ..base import MXNetError, MXNetTypeError, MXNetValueError, ShapeError
from ..model import write_whole
from ..ndarray import NDArray, load
from .graph import Entry, Graph, Node
from .library import check_opset, format_version, load_package, type_number
from .to_onnx import CONVERTERS
from .writer import DOMAIN, Writer

if TYPE_CHECKING:
    from ..symbol import Symbol

_GROWTH = (
    (2, 0),
    (1, 1),
    (3, 1),
)  # what dynamic sizes are multiplied by, and what is added, to see what follows


def _read_symbol(sym: Any) -> Symbol:
    if isinstance(sym, (str, os.PathLike)):
        return sym_module.load(os.fspath(sym))
    if not isinstance(sym, sym_module.Symbol):
        raise MXNetTypeError(
            f"[export_model] sym is of type {type(sym).__name__}; expected a Symbol or the path of its JSON file."
        )
    return sym


def _read_params(params: Any) -> dict[str, NDArray]:
    """Arrays by name, without arg: and aux:."""
    if isinstance(params, (str, os.PathLike)):
        params = load(os.fspath(params))
    tables = params if isinstance(params, (list, tuple)) else [params]
    found: dict[str, NDArray] = {}
    for table in tables:
        if not isinstance(table, Mapping):
            raise MXNetTypeError(
                f"[export_model] params is of type {type(params).__name__}; expected a dict of arrays by name, a list "
                "of them, or the path of a .params file."
            )
        for name, array in table.items():
            if not isinstance(array, NDArray):
                raise MXNetTypeError(
                    f"[export_model] '{name}' of params is of type {type(array).__name__}; expected an NDArray."
                )
            dense = array if array.stype == "default" else array.tostype("default")
            found[name.removeprefix("arg:").removeprefix("aux:")] = dense
    return found


def _input_names(symbol: Symbol, params: Mapping[str, NDArray]) -> list[str]:
    missing = [name for name in symbol.list_auxiliary_states() if name not in params]
    if missing:
        raise MXNetValueError(f"[export_model] params lacks the auxiliary state '{missing[0]}'.")
    return [name for name in symbol.list_arguments() if name not in params]


def _by_name(what: str, given: Any, names: Sequence[str], is_one: Any) -> dict[str, Any]:
    """Values of the inputs by name, from a dict, a list or a single one."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise MXNetValueError(
                f"[export_model] {what} names '{unknown[0]}'; the inputs are {', '.join(names)}."
            )
        return dict(given)
    values = [given] if is_one(given) else list(given)
    inputs = [name for name in names if not name.endswith("label")]
    if len(values) not in (len(inputs), len(names)):
        raise MXNetValueError(
            f"[export_model] {what} has {len(values)} items for the inputs {', '.join(inputs)}; params has no arrays "
            "of these names."
        )
    return dict(zip(inputs if len(values) == len(inputs) else names, values))


def _check_shape(name: str, shape: Any) -> tuple[int, ...]:
    try:
        found = tuple(int(size) for size in shape)
    except (TypeError, ValueError):
        found = ()
    if not found or min(found) < 1:
        raise ShapeError(
            f"[export_model] the shape of '{name}' is {shape!r}; expected a tuple of positive numbers."
        )
    return found


def _dynamic_axes(
    shapes: Mapping[str, tuple[int, ...]], given: Mapping[str, Any]
) -> dict[str, tuple[int | str, ...]]:
    """For each input the sizes of the file: a number, or a name where it may change."""
    found: dict[str, tuple[int | str, ...]] = {}
    for name, shape in shapes.items():
        sizes = given.get(name) or [None] * len(shape)
        if len(sizes) != len(shape):
            raise ShapeError(
                f"[export_model] dynamic_input_shapes has {tuple(sizes)} for '{name}', whose shape is {shape}."
            )
        dims: list[int | str] = []
        for axis, (size, fixed) in enumerate(zip(sizes, shape)):
            if isinstance(size, (int, np.integer)) and size > 0:
                if size != fixed:
                    raise ShapeError(f"[export_model] axis {axis} of '{name}' is {size} and {fixed}.")
                dims.append(int(size))
            else:
                dims.append(size if isinstance(size, str) else f"{name}_{axis}")
        found[name] = tuple(dims)
    return found


def _variants(
    shapes: Mapping[str, tuple[int, ...]], axes: Mapping[str, tuple[int | str, ...]]
) -> list[dict[str, tuple[int, ...]]]:
    """The inputs' shapes with their dynamic sizes changed."""
    return [
        {
            name: tuple(
                size * factor + more if isinstance(dim, str) else size
                for size, dim in zip(shape, axes.get(name, shape))
            )
            for name, shape in shapes.items()
        }
        for factor, more in _GROWTH
    ]


def _read_graph(
    symbol: Symbol, params: Mapping[str, NDArray], shapes: Any, types: Any, axes: Mapping[str, Any]
) -> Graph:
    reason: MXNetError | None = None
    for variant in _variants(shapes, axes) if axes else [None]:
        try:
            return Graph(symbol, params, shapes, types, variant)
        except MXNetError as error:
            if variant is None:
                raise
            reason = error
            Graph(symbol, params, shapes, types)  # if this fails, the sizes are not what is wrong
    raise ShapeError(f"[export_model] other sizes than those of in_shapes do not fit: {reason}")


class _Exporter:
    """Turns the nodes one after the other."""

    def __init__(
        self, graph: Graph, writer: Writer, verbose: bool, given: Mapping[str, str] | None = None
    ) -> None:
        self.graph = graph
        self.writer = writer
        self.verbose = verbose
        self.given = given  # of a graph inside of a node: what its variables are called outside
        self.inputs: dict[str, Entry] = {}
        writer.convert = self._convert

    def _convert(
        self,
        writer: Writer,
        subgraph: Mapping[str, Any],
        given: Mapping[str, str],
        shapes: Mapping[str, tuple[int, ...]],
        types: Mapping[str, Any],
    ) -> tuple[list[str], Graph]:
        """Adds a graph inside of a node; the names of its outputs, which are its own."""
        graph = Graph(sym_module.load_json(json.dumps(subgraph)), {}, shapes, types)
        outputs = _Exporter(graph, writer, self.verbose, given).run()
        writer.convert = self._convert
        return outputs, graph

    def run(self) -> list[str]:
        """Adds all nodes; the names of the outputs."""
        writer = self.writer
        for node in self.graph.nodes:  # variables keep their names
            if node.op == "null" and self.given is None:
                writer.taken.add(node.name)
        for node in self.graph.nodes:
            if node.op == "null":
                self._variable(node)
            else:
                self._operator(node)
        outputs = []
        for entry in self.graph.heads:
            name, title = self.graph.use(entry), self.graph.title(entry)
            if name != title or name in outputs or self._is_source(name):
                name = self._named(name, writer.unique(title))
            outputs.append(name)
        return outputs

    def _is_source(self, name: str) -> bool:
        return not any(name in node.output for node in self.writer.nodes)

    def _named(self, name: str, wanted: str) -> str:
        self.writer.scope = wanted
        self.writer.nodes.append(
            self.writer.package.helper.make_node("Identity", [name], [wanted], self.writer.unique(wanted))
        )
        return wanted

    def _variable(self, node: Node) -> None:
        entry = node.number, 0
        if self.given is not None:
            self.graph.names[entry] = self.given[node.name]
            return
        if node.name in self.graph.params:
            self.writer.initializer(node.name, self.graph.params[node.name].asnumpy())
        else:
            self.inputs[node.name] = entry
        self.graph.names[entry] = node.name

    def _operator(self, node: Node) -> None:
        writer, start = self.writer, len(self.writer.nodes)
        writer.scope = node.name
        convert = CONVERTERS.get(node.op)
        try:
            if convert is None:
                node.fail("this operator has no ONNX form.")
            found = convert(node, writer)
        except MXNetError as error:  # matters if an output needs the node
            del writer.nodes[start:]
            count = sum(entry[0] == node.number for entry in self.graph.order)
            self.graph.names.update({(node.number, i): error for i in range(count)})
            return
        names = [found] if isinstance(found, str) else list(found)
        for i, name in enumerate(names):
            entry = node.number, i
            self.graph.names[entry] = self._titled(name, entry, start)
        if self.verbose:
            made = ", ".join(added.op_type for added in writer.nodes[start:])
            print(f"[export_model] {node.name} ({node.op}) -> {made or 'a constant'}")

    def _titled(self, name: str, entry: Entry, start: int) -> str:
        """Gives a new value the name that Loomix has for it, if that is free."""
        title = self.graph.title(entry) if entry in self.graph else name
        if title in self.writer.taken:
            return name
        for node in self.writer.nodes[start:]:
            if name in node.output:
                node.output[list(node.output).index(name)] = title
                self.writer.taken.add(title)
                if node.name == name and entry[1] == 0:
                    node.name = self.writer.unique(self.graph.nodes[entry[0]].name)
                for reader in self.writer.nodes[start:]:
                    for i, source in enumerate(reader.input):
                        if source == name:
                            reader.input[i] = title
                return title
        return name


def _reads(node: Any) -> set[str]:
    """The names that a node reads, and the graphs inside of it."""
    found = {name for name in node.input if name}
    for attribute in node.attribute:
        for inner in attribute.g.node:
            found |= _reads(inner)
        found.update(output.name for output in attribute.g.output)
    return found


def _alive(writer: Writer, outputs: Sequence[str]) -> tuple[list[Any], set[str]]:
    """The nodes that the outputs need, and the names of all values that are read."""
    needed, kept = set(outputs), []
    for node in reversed(writer.nodes):
        if needed & set(node.output):
            needed |= _reads(node)
            kept.append(node)
    return kept[::-1], needed


def _dims(graph: Graph, entry: Entry, axes: Mapping[str, Any], name: str) -> list[int | str | None] | None:
    """The sizes of an input or output in the file; only those of inputs have names where they are dynamic."""
    shape = graph.shapes.get(entry)
    if name in axes:
        return list(axes[name])
    return None if shape is None else list(shape)


def _make_model(exporter: _Exporter, outputs: list[str], axes: Mapping[str, Any]) -> Any:
    package, writer, graph = load_package("export_model"), exporter.writer, exporter.graph
    nodes, read = _alive(writer, outputs)

    def info(name: str, entry: Entry) -> Any:
        number = type_number(f"[onnx] '{name}'", graph.dtype(entry))
        return package.helper.make_tensor_value_info(name, number, _dims(graph, entry, axes, name))

    inputs = []
    for name, entry in exporter.inputs.items():
        if name not in read:
            continue
        if entry not in graph.shapes:
            raise ShapeError(
                f"[export_model] the shape of the input '{name}' is unknown; give it in in_shapes."
            )
        inputs.append(info(name, entry))
    tensors = [tensor for name, tensor in writer.initializers.items() if name in read]
    infos = [info(name, entry) for name, entry in zip(outputs, graph.heads)]
    used = {node.op_type for node in nodes if node.domain == DOMAIN}
    functions = [function for function in writer.functions if function.name in used]
    opsets = [package.helper.make_opsetid("", writer.opset)]
    opsets += [package.helper.make_opsetid(DOMAIN, 1)] if functions else []
    return package.helper.make_model(
        package.helper.make_graph(nodes, "loomix", inputs, infos, tensors),
        opset_imports=opsets, ir_version=format_version(writer.opset), functions=functions,
        producer_name="loomix", producer_version=__version__,
    )  # fmt: skip


def _write(model: Any, path: str, large: bool) -> None:
    package = load_package("export_model")
    if not large:
        try:
            content = model.SerializeToString()
        except ValueError as error:  # of more than 2 GiB
            raise MXNetValueError(
                f"[export_model] {error}; large_model=True writes the weights to a second file."
            )
        write_whole(path, lambda name: Path(name).write_bytes(content))
        return
    weights = f"{path}.data"
    if os.path.exists(weights):
        os.remove(weights)  # onnx would append to it
    package.external_data_helper.convert_model_to_external_data(
        model, all_tensors_to_one_file=True, location=os.path.basename(weights), size_threshold=1024
    )
    write_whole(path, lambda name: package.save_model(model, name))


def _check(model: Any, infer: bool) -> Any:
    """The model if it keeps ONNX's rules, with the shapes of all values if these are wanted."""
    package = load_package("export_model")
    try:
        package.checker.check_model(model)
        return package.shape_inference.infer_shapes(model, strict_mode=True) if infer else model
    except (package.checker.ValidationError, package.shape_inference.InferenceError) as error:
        raise MXNetError(f"[export_model] the model breaks ONNX's rules: {error}") from None


def export(
    sym: Any,
    params: Any,
    in_shapes: Any,
    in_types: Any,
    onnx_file_path: Any,
    verbose: bool,
    dynamic: bool,
    dynamic_input_shapes: Any,
    run_shape_inference: bool,
    large_model: bool,
    opset_version: int,
) -> str:
    """What :func:`loomix.onnx.export_model` does."""
    load_package("export_model")
    opset = check_opset("export_model", opset_version)
    symbol, arrays = _read_symbol(sym), _read_params(params)
    names = _input_names(symbol, arrays)
    is_one_shape = lambda given: len(given) > 0 and isinstance(given[0], (int, np.integer))
    shapes = {
        name: _check_shape(name, shape)
        for name, shape in _by_name("in_shapes", in_shapes, names, is_one_shape).items()
    }
    is_one_type = lambda given: isinstance(given, (str, type, np.dtype))
    if is_one_type(in_types):
        in_types = dict.fromkeys(names, in_types)
    types = {
        name: np.dtype(kind) for name, kind in _by_name("in_types", in_types, names, is_one_type).items()
    }
    if dynamic_input_shapes is not None and not dynamic:
        raise MXNetValueError("[export_model] dynamic_input_shapes needs dynamic=True.")
    axes = {}
    if dynamic:
        is_one = lambda given: len(given) > 0 and not isinstance(given[0], (tuple, list))
        axes = _dynamic_axes(shapes, _by_name("dynamic_input_shapes", dynamic_input_shapes, names, is_one))
    graph = _read_graph(symbol, arrays, shapes, types, axes)
    exporter = _Exporter(graph, Writer(opset), verbose)
    model = _make_model(exporter, exporter.run(), axes)
    path = os.fspath(onnx_file_path)
    if not large_model:
        model = _check(model, run_shape_inference)
    elif run_shape_inference:
        raise MXNetValueError("[export_model] run_shape_inference does not go with large_model.")
    _write(model, path, large_model)
    return path
