# SPDX-License-Identifier: Apache-2.0
"""The pass that splits a symbol over ranks: local shapes, and operators that move data where neighbours differ.

A value is whole on each rank, cut along one of its axes, or a sum whose summands the ranks have. Rules of operators
(``split_rules.py``) say which of these they take and give. The gradient of a value that is cut is cut in the same way;
that of a whole one is whole, and the same on each rank. So a whole value that ranks go on to use in different ways
passes through ``_parallel_share``, which adds their gradients.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..symbol import Symbol, load_json
from . import loss_rules as loss_rules  # registers its rules
from .split_rules import EVERYWHERE, SHARED, SUM, WHOLE, ignores_heads, rule_of
from .splits import part_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .splits import Cut

__all__ = ["Move", "SplitSymbol", "moves_of", "split_symbol"]


OUTPUT = "the output"  # who reads the outputs of the symbol


class Move(NamedTuple):
    """What travels between two operators."""

    value: str  # the node that made it
    reader: str  # the node that it was first moved for
    operator: str
    forward: int  # bytes that this rank sends
    backward: int


class SplitSymbol(NamedTuple):
    """What the pass made."""

    symbol: Symbol
    moves: list[Move]
    without_rule: list[str]  # "node (operator)" whose inputs were gathered, for want of a rule
    layers: dict[str, str]  # what is cut of which node


class Node:
    """One operator, as its rule sees it."""

    def __init__(self, splitter: _Splitter, node: dict[str, Any], inputs: list[tuple[int, int]]) -> None:
        self._splitter, self._inputs = splitter, inputs
        self.name, self.op, self.attrs = node["name"], node["op"], dict(node.get("attrs", {}))
        self.ranks, self.rank, self.group = splitter.ranks, splitter.rank, splitter.group
        self.replicas = splitter.replicas
        self._node = node

    def __len__(self) -> int:
        return len(self._inputs)

    def shape(self, i: int) -> tuple[int, ...]:
        """The whole shape of input i."""
        return self._splitter.shapes[self._inputs[i]]

    def dtype(self, i: int) -> Any:
        """The type of input i."""
        return self._splitter.dtypes[self._inputs[i]]

    def out_shape(self) -> tuple[int, ...]:
        """The whole shape of output 0."""
        return self._splitter.shapes[self._splitter.current, 0]

    def state(self, i: int) -> Any:
        """What input i is: WHOLE, SUM, or the axis that is cut."""
        return self._splitter.states[self._inputs[i]]

    def cut(self, i: int) -> int | None:
        """The axis that input i is cut along, if any."""
        state = self.state(i)
        return state if isinstance(state, int) else None

    def has_gradient(self, i: int) -> bool:
        """Whether a gradient flows back to input i."""
        return bool(self._splitter.has_gradient[self._inputs[i]])

    def get(self, i: int, wanted: Any) -> list[int]:
        """Input i as it is wanted, brought there if need be."""
        return self._splitter.bring(self._inputs[i], wanted, self.name)

    def note_sum(self) -> None:
        """Counts a sum over ranks of the whole output, which the rule made by itself."""
        attrs = {"partial_gradient": False}
        self.note(
            "_parallel_all_reduce", self.out_shape(), self._splitter.dtypes[self._splitter.current, 0], attrs
        )

    def note(
        self, op: str, shape: tuple[int, ...], dtype: Any, attrs: dict[str, Any], backward: bool = True
    ) -> None:
        """Counts a move that the rule made by itself, of a value of this whole shape."""
        backward = backward and self._splitter.has_gradient[self._splitter.current, 0]
        self._splitter.count(shape, dtype, self.name, self.name, op, attrs, backward)

    def part(self, size: int) -> int:
        """How many of so many this rank has."""
        return part_of(size, self.ranks, self.rank)

    def begin(self, size: int) -> int:
        """Where this rank's part of so many begins."""
        return size // self.ranks * self.rank + min(self.rank, size % self.ranks)

    def same(self, inputs: list[list[int]], **attrs: Any) -> list[int]:
        """The operator itself with other attributes."""
        node = {**self._node, "attrs": {**self.attrs, **{key: str(value) for key, value in attrs.items()}}}
        return self._splitter.add(node, inputs)

    def emit(self, op: str, name: str, inputs: list[list[int]], **attrs: Any) -> list[int]:
        """Another operator, named after this one."""
        texts = {key: str(value) for key, value in attrs.items()}
        return self._splitter.add({"op": op, "name": f"{self.name}_{name}", "attrs": texts}, inputs)


class _Splitter:
    def __init__(
        self,
        symbol: Symbol,
        shapes: Mapping[str, Any],
        dtypes: Mapping[str, Any],
        cuts: Mapping[str, Cut],
        wanted: Mapping[int, Any],
        fixed: Collection[str],
    ) -> None:
        self.wanted, self.fixed = wanted, fixed
        self.has_gradient: dict[tuple[int, int], bool] = {}
        self.graph = json.loads(symbol.tojson(remove_amp_cast=False))
        self.cuts = cuts
        first = next(iter(cuts.values()))
        self.group, self.ranks, self.rank = first.group, first.size, first.rank
        self.replicas = first.replicas
        self.nodes: list[dict[str, Any]] = []
        self.states: dict[tuple[int, int], Any] = {}
        self.places: dict[tuple[int, int], list[int]] = {}
        self.brought: dict[tuple[tuple[int, int], Any], list[int]] = {}
        self.moves: list[Move] = []
        self.without_rule: list[str] = []
        self.layers: dict[str, str] = {}
        self.current = 0
        self._infer(shapes, dtypes)

    def _infer(self, shapes: Mapping[str, Any], dtypes: Mapping[str, Any]) -> None:
        """Whole shapes and types of all values that are used."""
        graph = self.graph
        used = {(a, b) for node in graph["nodes"] for a, b, *_ in node["inputs"]}
        used |= {(a, b) for a, b, *_ in graph["heads"]}
        used |= {(i, 0) for i, node in enumerate(graph["nodes"])}
        keys = sorted(used)
        all_values = load_json(json.dumps({**graph, "heads": [[a, b, 0] for a, b in keys]}))
        self.shapes = dict(zip(keys, all_values.infer_shape(**shapes)[1]))
        known = {key: dtypes[key] for key in all_values.list_arguments() if key in dtypes}
        self.dtypes = dict(zip(keys, all_values.infer_type(**known)[1]))

    def add(self, node: dict[str, Any], inputs: list[list[int]]) -> list[int]:
        self.nodes.append({**node, "inputs": inputs})
        return [len(self.nodes) - 1, 0, 0]

    def bring(self, value: tuple[int, int], wanted: Any, reader: str) -> list[int]:
        state = self.states[value]
        if state == wanted:
            return self.places[value]
        if (value, wanted) in self.brought:
            return self.brought[value, wanted]
        op, attrs = self._mover(state, wanted, self.shapes[value])
        name = self.graph["nodes"][value[0]]["name"]
        texts = {key: str(item) for key, item in {"group": self.group, **attrs}.items()}
        place = self.add(
            {"op": op, "name": f"{name}_{op.removeprefix('_parallel_')}_{value[1]}_{wanted}", "attrs": texts},
            [self.places[value]],
        )
        self.brought[value, wanted] = place
        has_gradient = self.has_gradient[value] and not (
            reader == OUTPUT and ignores_heads(self.graph["nodes"][value[0]])
        )
        self.count(self.shapes[value], self.dtypes[value], name, reader, op, attrs, has_gradient)
        return place

    def _mover(self, state: Any, wanted: Any, shape: tuple[int, ...]) -> tuple[str, dict[str, Any]]:
        shared = wanted == SHARED
        if state == WHOLE:
            if shared:
                return "_parallel_share", {}
            return "_parallel_own", {"axis": wanted, "whole": shape[wanted]}
        if state == SUM:
            if wanted in (WHOLE, SHARED):
                return "_parallel_all_reduce", {"partial_gradient": shared}
            return "_parallel_reduce_scatter", {"axis": wanted, "whole": shape[wanted]}
        if wanted in (WHOLE, SHARED):
            return "_parallel_gather", {"axis": state, "whole": shape[state], "partial_gradient": shared}
        return "_parallel_all_to_all", {
            "axis": state,
            "whole": shape[state],
            "new_axis": wanted,
            "new_whole": shape[wanted],
        }

    def count(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        name: str,
        reader: str,
        op: str,
        attrs: Any,
        has_gradient: bool,
    ) -> None:
        others, item = self.ranks - 1, np.dtype(dtype).itemsize
        count = math.prod(shape)
        axis = attrs.get("axis")
        largest = count if axis is None else count // shape[axis] * part_of(shape[axis], self.ranks, 0)
        gathered = largest * item * others  # also what a reduce_scatter sends
        reduced = 2 * others * count * item // self.ranks
        exchanged = 0
        if op == "_parallel_all_to_all":
            own = count // shape[axis] * part_of(shape[axis], self.ranks, self.rank)
            new = attrs["new_axis"]
            exchanged = own // shape[new] * (shape[new] - part_of(shape[new], self.ranks, self.rank)) * item
        forward, backward = {
            "_parallel_share": (0, reduced),
            "_parallel_own": (0, gathered),
            "_parallel_all_reduce": (reduced, reduced if attrs.get("partial_gradient") else 0),
            "_parallel_reduce_scatter": (gathered, gathered),
            "_parallel_gather": (gathered, gathered if attrs.get("partial_gradient") else 0),
            "_parallel_all_to_all": (exchanged, exchanged),
        }[op]
        self.moves.append(Move(name, reader, op, forward, backward if has_gradient else 0))

    def walk(self) -> list[list[int]]:
        """Goes through all nodes, and counts what moves. Where the outputs are."""
        for number, node in enumerate(self.graph["nodes"]):
            self.current = number
            inputs = [(a, b) for a, b, *_ in node["inputs"]]
            if node["op"] == "null":
                self._variable(number, node)
            else:
                self._operator(number, node, inputs)
        return [
            self.bring((a, b), self.wanted.get(i, WHOLE), OUTPUT)
            for i, (a, b, *_) in enumerate(self.graph["heads"])
        ]

    def run(self) -> SplitSymbol:
        heads = self.walk()
        variables = [i for i, node in enumerate(self.nodes) if node["op"] == "null"]
        made = {"nodes": self.nodes, "arg_nodes": variables, "heads": heads, "attrs": self.graph["attrs"]}
        return SplitSymbol(load_json(json.dumps(made)), self.moves, self.without_rule, self.layers)

    def _variable(self, number: int, node: dict[str, Any]) -> None:
        cut = self.cuts.get(node["name"])
        node = dict(node)
        if cut is not None and "__shape__" in node.get("attrs", {}):
            own_shape = cut.own_shape(self.shapes[number, 0])
            node["attrs"] = {**node["attrs"], "__shape__": str(own_shape)}
        self.has_gradient[number, 0] = node["name"] not in self.fixed
        self.places[number, 0] = self.add(node, [])
        self.states[number, 0] = WHOLE if cut is None else cut.axis

    def _operator(self, number: int, node: dict[str, Any], inputs: list[tuple[int, int]]) -> None:
        seen = Node(self, node, inputs)
        outputs = {value[1] for value in self.shapes if value[0] == number}
        has_gradient = any(self.has_gradient[value] for value in inputs)
        self.has_gradient.update(dict.fromkeys(((number, index) for index in outputs), has_gradient))
        touched = any(self.states[value] != WHOLE for value in inputs)
        rule = rule_of(node["op"]) if touched or node["op"] in EVERYWHERE else None
        result = None if rule is None else rule(seen)
        if result is None:
            if touched and rule is None:
                self.without_rule.append(f"{node['name']} ({node['op']})")
            place = seen.same([seen.get(i, WHOLE) for i in range(len(inputs))])
            result = [place], [WHOLE]
        places, states = result
        for index in outputs:
            self.places[number, index] = [places[0][0], index, 0] if len(places) == 1 else places[index]
            self.states[number, index] = states[0] if len(states) == 1 else states[index]
        if states[0] != WHOLE:
            self.layers[node["name"]] = "sums" if states[0] == SUM else f"axis {states[0]} cut"


def moves_of(
    symbol: Symbol, shapes: Mapping[str, Any], dtypes: Mapping[str, Any], cuts: Mapping[str, Cut]
) -> list[Move]:
    """What :func:`split_symbol` would move, on ranks that need not be there."""
    splitter = _Splitter(symbol, shapes, dtypes, cuts, {}, ())
    splitter.walk()
    return splitter.moves


def split_symbol(
    symbol: Symbol,
    shapes: Mapping[str, Any],
    dtypes: Mapping[str, Any],
    cuts: Mapping[str, Cut],
    heads: Mapping[int, Any] | None = None,
    fixed: Collection[str] = (),
) -> SplitSymbol:
    """The symbol for one rank.

    Parameters
    ----------
    symbol : Symbol
    shapes, dtypes : dict
        Of its inputs; the shapes are whole.
    cuts : dict of str to Cut
        The inputs of which each rank has a part; all over the same axis of a mesh.
    heads : dict, optional
        By number, outputs of which each rank gets its part along an axis; the others are whole on all.
    fixed : collection of str, optional
        Inputs that need no gradient, for what travels.
    """
    return _Splitter(symbol, shapes, dtypes, cuts, heads or {}, fixed).run()
