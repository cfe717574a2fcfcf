# SPDX-License-Identifier: Apache-2.0
"""ONNX files, which nobody vouches for: their bytes become plain values, or an error that says what is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from ..base import (
    MXNetError,
    MXNetFileError,
    MXNetNotImplementedError,
    MXNetTypeError,
    MXNetValueError,
    ShapeError,
)
from .library import check_opset, load_package, type_of
from .writer import DOMAIN

_KINDS = {1: "f", 2: "i", 3: "s", 4: "t", 5: "g", 6: "floats", 7: "ints", 8: "strings"}
_NAMES = {
    "f": "a float",
    "i": "an int",
    "s": "a string",
    "t": "a tensor",
    "g": "a graph",
    "ints": "ints",
    "floats": "floats",
}
_OWN_DOMAINS = ("", "ai.onnx")
_DEEPEST, _MOST_NODES = 16, 100_000  # of functions, which may call each other
Array = np.ndarray[Any, Any]


def text_of(value: Any) -> str:
    """A name; protobuf gives bytes where it is no UTF-8."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


class Node:
    """A node's attributes, each of which the importer must read: what it does not know is an error."""

    def __init__(self, proto: Any, opset: int) -> None:
        self.op = text_of(proto.op_type)
        self.domain = text_of(proto.domain)
        self.opset = opset
        self.inputs: list[Any] = []  # values of the builder, None for those left out
        self.run: Any = None  # reads a graph inside of this node, for values of its inputs
        self.input_names = [text_of(name) for name in proto.input]
        self.output_names = [text_of(name) for name in proto.output]
        self.name = text_of(proto.name) or next((name for name in self.output_names if name), "")
        self._attributes = {text_of(attribute.name): attribute for attribute in proto.attribute}
        self._unread = set(self._attributes)

    def fail(self, reason: str, kind: type[MXNetError] = MXNetNotImplementedError) -> NoReturn:
        raise kind(f"[onnx] node '{self.name}' ({self.op}): {reason}")

    def _read(self, name: str, kind: str, default: Any) -> Any:
        self._unread.discard(name)
        if name not in self._attributes:
            return default
        attribute = self._attributes[name]
        if attribute.ref_attr_name:
            self.fail(f"attribute {name} refers to a function's.")
        if _KINDS.get(attribute.type) != kind:
            self.fail(f"attribute {name} is not {_NAMES[kind]}.", MXNetTypeError)
        return getattr(attribute, kind)

    def int(self, name: str, default: Any = None) -> Any:
        return self._read(name, "i", default)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.int(name, int(default))
        if value not in (0, 1):
            self.fail(f"attribute {name} is {value}; expected 0 or 1.", MXNetValueError)
        return bool(value)

    def float(self, name: str, default: Any = None) -> Any:
        return self._read(name, "f", default)

    def ints(self, name: str, default: Any = None) -> Any:
        found = self._read(name, "ints", None)
        return default if found is None else list(found)

    def floats(self, name: str, default: Any = None) -> Any:
        found = self._read(name, "floats", None)
        return default if found is None else list(found)

    def strings(self, name: str) -> list[str]:
        return [text_of(item) for item in self._read(name, "strings", [])]

    def string(self, name: str, default: str, allowed: Sequence[str] = ()) -> str:
        """A text, which must be one of those allowed if there are any."""
        found = self._read(name, "s", None)
        text = default if found is None else found.decode(errors="replace")
        if allowed and text not in allowed:
            self.fail(f"attribute {name} is '{text}'; expected {' or '.join(allowed)}.")
        return text

    def tensor(self, name: str) -> Array | None:
        found = self._read(name, "t", None)
        return None if found is None else tensor_array(found, f"attribute {name} of node '{self.name}'", None)

    def graph(self, name: str) -> Any:
        found = self._read(name, "g", None)
        if found is None:
            self.fail(f"attribute {name} is missing.", MXNetValueError)
        return found

    def refuse(self, name: str, meaning: str, *allowed: Any) -> None:
        """An attribute that only these values, or none, may be given for."""
        if name in self._attributes:
            attribute = self._attributes[name]
            value = self._read(name, _KINDS.get(attribute.type, "i"), None)
            value = list(value) if not isinstance(value, (int, float, bytes)) else value
            if value not in allowed:
                self.fail(f"attribute {name} ({meaning}) is not supported with the value {value!r}.")

    def plain_attributes(self) -> dict[str, Any]:
        """All attributes, for a function of Loomix' own."""
        found = {}
        for name, attribute in self._attributes.items():
            value = self._read(name, _KINDS.get(attribute.type, "i"), None)
            found[name] = value.decode(errors="replace") if isinstance(value, bytes) else value
            if attribute.type in (6, 7):
                found[name] = tuple(value)
        return found

    def check_all_read(self) -> None:
        if self._unread:
            self.fail(f"attribute {sorted(self._unread)[0]} is not supported.")


def _external(tensor: Any, what: str, folder: str | None) -> bytes:
    """The bytes of a tensor that another file holds, which must lie in the model's folder."""
    entries = {text_of(entry.key): text_of(entry.value) for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None or not location:
        raise MXNetFileError(f"[onnx] {what} is in a file '{location}'; the path of the model must be given.")
    base = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(base, location))
    if os.path.isabs(location) or os.path.commonpath([base, path]) != base:
        raise MXNetFileError(
            f"[onnx] {what} is in the file '{location}', which is outside of the model's folder."
        )
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", -1))
    except ValueError:
        offset, length = -1, -1
    if not os.path.isfile(path):
        raise MXNetFileError(f"[onnx] {what} is in the file '{location}', which is missing.")
    size = os.path.getsize(path)
    length = size - offset if length < 0 else length
    if offset < 0 or offset + length > size:
        raise MXNetFileError(f"[onnx] {what} reaches beyond the end of the file '{location}'.")
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(length)


def tensor_array(tensor: Any, what: str, folder: str | None) -> Array:
    """A tensor's numbers.

    Raises
    ------
    MXNetError
        When they are of a type that Loomix lacks, or not as many as the shape says.
    """
    dtype = type_of(f"[onnx] {what}", tensor.data_type)
    shape = tuple(tensor.dims)
    if any(size < 0 for size in shape):
        raise ShapeError(f"[onnx] {what} has the shape {shape}.")
    count = 1
    for size in shape:  # which may be too many for NumPy
        count *= size
    if tensor.data_location == 1:
        raw = _external(tensor, what, folder)
    elif tensor.HasField("raw_data"):
        raw = tensor.raw_data
    else:
        return _listed(tensor, what, dtype, shape, count)
    if len(raw) != count * dtype.itemsize:
        raise MXNetValueError(
            f"[onnx] {what} has {len(raw)} bytes for the shape {shape} of {dtype.name}; expected "
            f"{count * dtype.itemsize}."
        )
    return np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype).reshape(shape)


def _listed(tensor: Any, what: str, dtype: np.dtype[Any], shape: tuple[int, ...], count: int) -> Array:
    """Numbers that are not bytes but a list, in a field that depends on their type."""
    fields = {"float32": "float_data", "float64": "double_data", "int64": "int64_data"}
    numbers = np.array(getattr(tensor, fields.get(dtype.name, "int32_data")))
    if numbers.size != count:
        raise MXNetValueError(f"[onnx] {what} has {numbers.size} numbers for the shape {shape}.")
    if dtype == np.float16:  # as the bits of integers
        return (numbers.astype(np.int64) & 0xFFFF).astype(np.uint16).view(np.float16).reshape(shape)
    return numbers.astype(dtype).reshape(shape)


def _called(call: Any, function: Any, who: str) -> list[Any]:
    """The nodes of a function's body for one call: with the call's names and attributes."""
    title = text_of(call.name) or next(iter(text_of(name) for name in call.output), "")
    if len(call.input) > len(function.input) or len(call.output) > len(function.output):
        raise MXNetValueError(f"[{who}] node '{title}' has more inputs or outputs than its function.")
    names = dict.fromkeys([*function.input, *function.output], "")
    names.update(zip(function.input, call.input))
    own = {name: f"{title}/{text_of(name)}" for name in function.output}
    names.update({name: given or own[name] for name, given in zip(function.output, call.output)})
    given = {item.name: item for item in [*function.attribute_proto, *call.attribute]}
    found = []
    for proto in function.node:
        node = type(proto)()
        node.CopyFrom(proto)
        node.name = f"{title}/{text_of(proto.name) or text_of(proto.op_type)}"
        for field in (node.input, node.output):
            field[:] = [names.get(name, f"{title}/{text_of(name)}" if name else "") for name in field]
        del node.attribute[:]
        for attribute in proto.attribute:
            if not attribute.ref_attr_name:
                node.attribute.append(attribute)
            elif attribute.ref_attr_name in given:
                copy = node.attribute.add()
                copy.CopyFrom(given[attribute.ref_attr_name])
                copy.name = attribute.name
        found.append(node)
    return found


class Model:
    """A file's graph.

    Parameters
    ----------
    source : str or bytes
        A path, or the content.
    who : str
        The function of the package, for errors.
    """

    def __init__(self, source: Any, who: str) -> None:
        package = load_package(who)
        self.folder: str | None = None
        self.title = "the model"
        if isinstance(source, (bytes, bytearray)):
            content = bytes(source)
        else:
            try:
                path = os.fspath(source)
            except TypeError:
                raise MXNetTypeError(
                    f"[{who}] model_file is of type {type(source).__name__}; expected a path, or bytes."
                ) from None
            self.title, self.folder = f"'{path}'", os.path.dirname(os.path.abspath(path))
            with open(path, "rb") as file:
                content = file.read()
        proto = package.ModelProto()
        try:
            proto.ParseFromString(content)
        except Exception as error:  # protobuf's own, which other versions name differently
            raise MXNetFileError(f"[{who}] {self.title} is no ONNX file, or damaged: {error}.") from None
        if not proto.graph.node and not proto.graph.output:
            raise MXNetFileError(f"[{who}] {self.title} is no ONNX file, or damaged: it has no graph.")
        opsets = {text_of(item.domain): item.version for item in proto.opset_import}
        self.opset = check_opset(who, next((opsets[d] for d in _OWN_DOMAINS if d in opsets), None))
        self.graph = proto.graph
        self._who = who
        self._functions = {(text_of(item.domain), text_of(item.name)): item for item in proto.functions}
        # Functions that Loomix wrote are operators of its own.
        self.own_functions = {text_of(item.name) for item in proto.functions if item.domain == DOMAIN}

    def initializers(self, graph: Any) -> dict[str, Array]:
        if len(graph.sparse_initializer):
            raise MXNetNotImplementedError(f"[{self._who}] sparse initializers are not supported.")
        found: dict[str, Array] = {}
        for tensor in graph.initializer:
            name = text_of(tensor.name)
            if name in found:
                raise MXNetValueError(f"[{self._who}] two initializers are called '{name}'.")
            found[name] = tensor_array(tensor, f"initializer '{name}'", self.folder)
        return found

    def nodes(self, graph: Any) -> list[Node]:
        """The nodes of the graph, or of one inside of it, in order; bodies of functions are in their places."""
        found: list[Node] = []
        self._add_nodes(graph.node, self.opset, found, 0)
        return found

    def _add_nodes(self, protos: Iterable[Any], opset: int, found: list[Node], depth: int) -> None:
        for proto in protos:
            key = text_of(proto.domain), text_of(proto.op_type)
            function = self._functions.get(key)
            if function is None or key[0] == DOMAIN:
                found.append(Node(proto, opset))
            elif depth == _DEEPEST:
                raise MXNetValueError(f"[{self._who}] functions call each other more than {_DEEPEST} deep.")
            else:
                opsets = {text_of(item.domain): item.version for item in function.opset_import}
                inside = check_opset(self._who, next((opsets[d] for d in _OWN_DOMAINS if d in opsets), opset))
                self._add_nodes(_called(proto, function, self._who), inside, found, depth + 1)
            if len(found) > _MOST_NODES:
                raise MXNetValueError(f"[{self._who}] the graph has more than {_MOST_NODES} nodes.")

    def _info(self, item: Any) -> tuple[str, np.dtype[Any], list[int | str | None] | None]:
        """Name, type and sizes: a number, a name, or None; None for all where the rank is unknown."""
        name = text_of(item.name)
        if item.type.WhichOneof("value") != "tensor_type":
            raise MXNetTypeError(f"[{self._who}] '{name}' is no tensor.")
        tensor = item.type.tensor_type
        dtype = type_of(f"[{self._who}] '{name}'", tensor.elem_type)
        if not tensor.HasField("shape"):
            return name, dtype, None
        sizes: list[int | str | None] = []
        for dim in tensor.shape.dim:
            sizes.append(dim.dim_value if dim.dim_value > 0 else text_of(dim.dim_param) or None)
        return name, dtype, sizes

    def inputs(self) -> list[tuple[str, np.dtype[Any], list[int | str | None] | None]]:
        """The inputs, without those that are initializers."""
        known = {text_of(tensor.name) for tensor in self.graph.initializer}
        return [self._info(item) for item in self.graph.input if text_of(item.name) not in known]

    def outputs(self) -> list[str]:
        return [text_of(item.name) for item in self.graph.output]

    def output_infos(self) -> list[tuple[str, np.dtype[Any], list[int | str | None] | None]]:
        return [self._info(item) for item in self.graph.output]
