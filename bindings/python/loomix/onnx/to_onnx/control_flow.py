# SPDX-License-Identifier: Apache-2.0
"""Loops and branches: nodes with graphs inside."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph import Node
from ..library import type_number
from ..writer import Writer


def _arguments(subgraph: Any) -> list[str]:
    return [subgraph["nodes"][number]["name"] for number in subgraph["arg_nodes"]]


def _places(n: Node, name: str) -> list[int]:
    value = n[name]
    return list(ast.literal_eval(value) if isinstance(value, str) else value)


def _info(w: Writer, name: str, dtype: Any, shape: Sequence[int]) -> Any:
    return w.package.helper.make_tensor_value_info(name, type_number(f"[onnx] '{name}'", dtype), list(shape))


def _graph(w: Writer, body: Writer, inputs: list[Any], outputs: list[str], inner: Any) -> Any:
    infos = [
        _info(w, name, inner.dtype(entry), inner.shapes[entry]) for name, entry in zip(outputs, inner.heads)
    ]
    return w.package.helper.make_graph(
        body.nodes, body.scope, inputs, infos, list(body.initializers.values())
    )


def foreach(n: Node, w: Writer) -> list[str]:
    """A loop over the first axis of arrays, as Scan."""
    (subgraph,) = n.subgraphs
    names = _arguments(subgraph)
    data, states, rest = (_places(n, f"{kind}_locs") for kind in ("in_data", "in_state", "remain"))
    body = w.inner(f"{w.scope}_body")
    given, shapes, types, infos = {}, {}, {}, {}
    for i, place in enumerate([*data, *states, *rest]):
        name = names[place]
        shapes[name] = n.shape(i)[1:] or (1,) if i < len(data) else n.shape(i)
        types[name] = n.dtype(i)
        if i < len(data) and n.rank(i) < 2:
            n.fail("data with one axis have no ONNX form.")
        if i < len(data) + len(states):
            given[name] = body.unique(f"{body.scope}_{name}")
            infos[name] = _info(w, given[name], types[name], shapes[name])
        else:
            given[name] = n.input(i)
    outputs, inner = w.convert(body, subgraph, given, shapes, types)
    w.convert = body.convert
    count = n["num_out_data"]
    order = [*range(count, len(outputs)), *range(count)]  # states come first there
    inner.heads = [inner.heads[i] for i in order]
    inputs = [infos[names[place]] for place in [*states, *data]]
    graph = _graph(w, body, inputs, [outputs[i] for i in order], inner)
    begin = [n.input(len(data) + i) for i in range(len(states))]
    arrays = [n.input(i) for i in range(len(data))]
    found = w.add_many("Scan", len(outputs), *begin, *arrays, num_scan_inputs=len(data), body=graph)
    return [*found[len(states) :], *found[: len(states)]]


def cond(n: Node, w: Writer) -> list[str]:
    """A branch, as If."""

    def run(writer: Writer, subgraph: Any, places: list[int]) -> tuple[list[str], Any]:
        names = _arguments(subgraph)
        given = {name: n.input(place) for name, place in zip(names, places)}
        shapes = {name: n.shape(place) for name, place in zip(names, places)}
        types = {name: n.dtype(place) for name, place in zip(names, places)}
        return w.convert(writer, subgraph, given, shapes, types)

    (decision,), _ = run(w, n.subgraphs[0], _places(n, "cond_input_locs"))
    graphs = {}
    for branch, subgraph in zip(("then", "else"), n.subgraphs[1:]):
        body = w.inner(f"{w.scope}_{branch}")
        outputs, inner = run(body, subgraph, _places(n, f"{branch}_input_locs"))
        graphs[f"{branch}_branch"] = _graph(w, body, [], outputs, inner)
    return w.add_many("If", len(inner.heads), w.reshape(w.truth(decision), []), **graphs)


def while_loop(n: Node, w: Writer) -> list[str]:
    """A loop on variables, as Loop."""
    if n["num_out_data"]:
        n.fail("stacked outputs have max_iterations rows; ONNX' Loop gives as many as there were steps.")
    places = {kind: _places(n, f"{kind}_locs") for kind in ("cond_input", "func_input", "func_var")}
    begins = [places["func_input"][place] for place in places["func_var"]]

    def run(writer: Writer, which: int, variables: list[str]) -> tuple[list[str], Any]:
        """A subgraph, with these in place of the variables."""
        subgraph, kind = n.subgraphs[which], ("cond_input", "func_input")[which]
        given, shapes, types = {}, {}, {}
        for i, (name, place) in enumerate(zip(_arguments(subgraph), places[kind])):
            given[name], shapes[name], types[name] = n.input(place), n.shape(place), n.dtype(place)
            own = begins.index(place) if not which and place in begins else None
            if which:
                own = places["func_var"].index(i) if i in places["func_var"] else None
            if own is not None:
                given[name] = variables[own]
        found = w.convert(writer, subgraph, given, shapes, types)
        w.convert = writer.convert
        return found

    first = [n.input(place) for place in begins]
    (decision,), _ = run(w, 0, first)
    body = w.inner(f"{w.scope}_body")
    count, going, *before = (
        body.unique(f"{body.scope}_{name}") for name in ("count", "going", *map(str, range(len(begins))))
    )
    outputs, inner = run(body, 1, before)
    (again,), _ = run(body, 0, outputs)
    ends = body.reshape(body.truth(again), [])
    variables = [_info(w, name, n.dtype(place), n.shape(place)) for name, place in zip(before, begins)]
    inputs = [_info(w, count, np.int64, []), _info(w, going, np.bool_, []), *variables]
    graph = _graph(w, body, inputs, outputs, inner)
    graph.output.insert(0, _info(w, ends, np.bool_, []))
    begin = w.reshape(w.truth(decision), [])
    return w.add_many("Loop", len(outputs), np.int64(n["max_iterations"]), begin, *first, body=graph)


CONVERTERS: dict[str, Callable[[Node, Writer], Any]] = {
    "_cond": cond,
    "_foreach": foreach,
    "_while_loop": while_loop,
}
