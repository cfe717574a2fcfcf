# SPDX-License-Identifier: Apache-2.0
"""Networks as tables and images."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _star
from ._arguments import as_mapping
from .base import MXNetNotImplementedError, MXNetTypeError, MXNetValueError
from .symbol import Symbol

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["plot_network", "print_summary"]

_PARAMETER_ENDINGS = (
    "weight",
    "bias",
    "gamma",
    "beta",
    "moving_mean",
    "moving_var",
    "running_mean",
    "running_var",
)


def _check_symbol(who: str, symbol: Symbol) -> None:
    if not hasattr(symbol, "tojson"):
        raise MXNetTypeError(f"[{who}] got an object of type {type(symbol).__name__}; expected a Symbol.")


def _internal_shapes(who: str, symbol: Symbol, shape: Mapping[str, Sequence[int]]) -> dict[Any, Any]:
    """Shapes of all arguments and of all outputs, by name."""
    internals = symbol.get_internals()
    _, shapes, _ = internals.infer_shape(**shape)
    if shapes is None:
        raise MXNetValueError(f"[{who}] the shapes {shape} do not determine all others.")
    return dict(zip(internals.list_outputs(), shapes))


def _internal_types(who: str, symbol: Symbol, dtype: Mapping[str, DTypeLike]) -> dict[str, str]:
    """Types of all arguments and of all outputs, by name."""
    internals = symbol.get_internals()
    if not isinstance(dtype, dict):
        raise MXNetTypeError(
            f"[{who}] dtype is of type {type(dtype).__name__}; expected a dict of types by name."
        )
    _, types, _ = internals.infer_type(**dtype)
    if types is None:
        raise MXNetValueError(f"[{who}] the types {dtype} do not determine all others.")
    known = [np.dtype(one) for one in types]
    names = ["bfloat16" if one.names else one.name for one in known]
    return dict(zip(internals.list_outputs(), names))


def _output_of(shapes: Any, name: str) -> Any:
    """Shape, or type, of a node's first output."""
    for key in (name + "_output", name + "_output0", name):
        if key in shapes:
            return shapes[key]
    return next((shape for key, shape in shapes.items() if key.startswith(name + "_")), None)


def _is_parameter(node: Any, owner: Any) -> Any:
    name = node["name"]
    return (
        node["op"] == "null"
        and not name.endswith("label")
        and (name.startswith(owner["name"] + "_") or name.endswith(_PARAMETER_ENDINGS))
    )


def print_summary(
    symbol: Symbol,
    shape: Mapping[str, Sequence[int]] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
) -> None:
    """Prints a table of the layers: name, output shape, number of parameters, and the layers before.

    Parameters
    ----------
    symbol : Symbol
        The network.
    shape : dict of str to tuple, optional
        Shapes of the inputs; without them no shapes and counts are known, and the last line says so.
    line_length : int
        Width of the table.
    positions : sequence of float
        Where the columns end; shares of the width, or characters.

    Raises
    ------
    ValueError
        When the shapes do not determine those of all layers.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc")
    >>> mx.viz.print_summary(net, shape={"data": (1, 4)})  # doctest: +ELLIPSIS
    ____...
    """
    _check_symbol("print_summary", symbol)
    as_mapping("print_summary", "shape", shape, "a dict of names to shapes, or None")
    shapes = _internal_shapes("print_summary", symbol, shape) if shape is not None else {}
    columns = [int(line_length * p) if p <= 1 else int(p) for p in positions]

    def show(fields: Any) -> None:
        line = ""
        for field, end in zip(fields, columns):
            line = (line + str(field))[:end].ljust(end)
        print(line)

    graph = json.loads(symbol.tojson())
    nodes = graph["nodes"]
    given = set(shape or {})
    heads = {head[0] for head in graph["heads"]}
    counted, total = set(), 0
    print("_" * line_length)
    show(["Layer (type)", "Output Shape", "Param #", "Previous Layer"])
    print("=" * line_length)
    for number, node in enumerate(nodes):
        if node["op"] == "null" and node["name"] not in given and number > 0:
            continue
        before, count = [], 0
        for source in node.get("inputs", []):
            other = nodes[source[0]]
            if other["op"] != "null" or source[0] in heads or other["name"] in given or source[0] == 0:
                before.append(other["name"])
            elif _is_parameter(other, node) and not other["name"].endswith(("moving_mean", "moving_var")):
                if other["name"] not in counted and other["name"] in shapes:
                    count += math.prod(shapes[other["name"]])
                counted.add(other["name"])
        output = _output_of(shapes, node["name"]) or ()
        text = "x".join(str(size) for size in output[1:])
        show([f"{node['name']}({node['op']})", text, count, before[0] if before else ""])
        for name in before[1:]:
            show(["", "", "", name])
        total += count
        print(("=" if number == len(nodes) - 1 else "_") * line_length)
    print(f"Total params: {total}")
    print("_" * line_length)
    if not shapes:
        known = (*_PARAMETER_ENDINGS, "label")
        inputs = [n["name"] for n in nodes if n["op"] == "null" and not n["name"].endswith(known)]
        example = ", ".join(f"{name!r}: (1, ...)" for name in inputs[:3])
        print(
            f"Output shapes and counts of parameters need the inputs' shapes: print_summary(symbol, {{{example}}})."
        )


_COLOURS = {
    "null": "#8dd3c7",
    "Convolution": "#fb8072",
    "Deconvolution": "#fb8072",
    "FullyConnected": "#fb8072",
    "BatchNorm": "#bebada",
    "Activation": "#ffffb3",
    "LeakyReLU": "#ffffb3",
    "Pooling": "#80b1d3",
    "Concat": "#fdb462",
    "Flatten": "#fdb462",
    "Reshape": "#fdb462",
}
_OTHER_COLOUR = "#fccde5"


def _sizes(text: str) -> str:
    return "x".join(re.findall(r"\d+", text))


def _label(node: Any) -> Any:
    """What a box says: the operator and its main attributes."""
    op, attrs = node["op"], node.get("attrs") or node.get("attr") or node.get("param") or {}
    if op in ("Convolution", "Deconvolution"):
        return (
            f"{op}\n{_sizes(attrs['kernel'])}/{_sizes(attrs.get('stride', '1')) or 1}, {attrs['num_filter']}"
        )
    if op == "FullyConnected":
        return f"{op}\n{attrs['num_hidden']}"
    if op in ("Activation", "LeakyReLU"):
        return f"{op}\n{attrs.get('act_type', '')}"
    if op == "Pooling":
        kernel, stride = _sizes(attrs.get("kernel", "")), _sizes(attrs.get("stride", "1")) or "1"
        return f"{op}\n{attrs.get('pool_type', 'max')}, {kernel}/{stride}"
    return node["name"]


def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: Mapping[str, DTypeLike] | None = None,
    node_attrs: Mapping[str, str] | None = None,
    hide_weights: bool = True,
) -> Any:
    """The network as an image; needs the package ``graphviz``.

    Parameters
    ----------
    symbol : Symbol
        The network.
    title : str
        Name of the image and of the file it is rendered to.
    save_format : str
        Format of the file.
    shape : dict of str to tuple, optional
        Shapes of the inputs; they make the arrows tell shapes.
    dtype : dict of str to dtype, optional
        Types of the inputs; they make the arrows tell types, too.
    node_attrs : dict of str to str, optional
        Attributes of graphviz for all nodes.
    hide_weights : bool
        Whether parameters are left out.

    Returns
    -------
    graphviz.Digraph
        ``.view()`` shows it, ``.render()`` writes it.

    Raises
    ------
    NotImplementedError
        When ``graphviz`` is not installed.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.sym.Activation(mx.sym.Variable("data"), act_type="relu")
    >>> mx.viz.plot_network(net, shape={"data": (1, 3)})  # doctest: +SKIP
    """
    _check_symbol("plot_network", symbol)
    try:
        from graphviz import Digraph
    except ImportError:
        raise MXNetNotImplementedError(
            "[plot_network] the package graphviz is missing; install it with: pip install graphviz"
        ) from None
    shapes = _internal_shapes("plot_network", symbol, shape) if shape is not None else {}
    types = _internal_types("plot_network", symbol, dtype) if dtype is not None else {}
    style = {"shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034", "style": "filled"}
    style.update(node_attrs or {})
    nodes = json.loads(symbol.tojson())["nodes"]
    names = [node["name"] for node in nodes if node["op"] == "null"]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        warnings.warn(
            "There are multiple variables with the same name in your graph, this may result in cyclic graph. "
            f"Repeated names: {','.join(repeated)}",
            stacklevel=2,
        )
    owners = {source[0]: node for node in nodes for source in node.get("inputs", [])}
    hidden = set()
    if hide_weights:
        hidden = {i for i, node in enumerate(nodes) if i in owners and _is_parameter(node, owners[i])}
    picture = Digraph(name=title, format=save_format)
    for number, node in enumerate(nodes):
        if number in hidden:
            continue
        own = {**style, "shape": "oval"} if node["op"] == "null" else style
        picture.node(
            name=node["name"], label=_label(node), fillcolor=_COLOURS.get(node["op"], _OTHER_COLOUR), **own
        )
    for node in nodes:
        for source in node.get("inputs", []):
            if source[0] in hidden:
                continue
            other = nodes[source[0]]["name"]
            label = "x".join(str(size) for size in (_output_of(shapes, other) or ())[1:])
            if types:
                label += f"({_output_of(types, other)})"
            picture.edge(tail_name=node["name"], head_name=other, dir="back", arrowtail="open", label=label)
    return picture


_star.complete(globals(), "Symbol copy json re warnings")
