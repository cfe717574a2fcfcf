# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix inspect``: what a model's files hold, and what is wrong with them."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .. import symbol as sym
from .._explanation_text import byte_text
from ..base import MXNetError, MXNetValueError, suggest
from ..ndarray import NDArray, load
from ..visualization import _PARAMETER_ENDINGS, print_summary

if TYPE_CHECKING:
    from ..symbol import Symbol

_SHOWN = 10  # names in a list of problems


def _nodes(graph: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The nodes of a graph as its file has them, with those of the subgraphs of loops and branches."""
    for node in graph["nodes"]:
        yield node
        for inside in node.get("subgraphs", ()):
            yield from _nodes(inside)


def _is_known(operator: str) -> bool:
    try:
        _core.operator_info(operator)
    except MXNetError:
        return False
    return True


def _version(graph: Mapping[str, Any]) -> str:
    """'1.9.1'; None of the files of the first versions says it."""
    kind, number = graph.get("attrs", {}).get("mxnet_version", (None, None))
    if kind != "int":
        return "0.8 or older"
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def _short(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(f"'{name}'" for name in names[:_SHOWN]) + more


def _type(array: NDArray) -> str:
    kind = np.dtype(array.dtype)
    return "bfloat16" if kind.names else kind.name


class Model:
    """A model's files: a graph, and its parameters if they are given.

    Parameters
    ----------
    symbol_file : str
        A JSON file of any MXNet version.
    params_file : str, optional
        A ``.params`` file, as ``save_checkpoint``, ``export`` or ``nd.save`` write it.
    shapes : mapping of str to tuple, optional
        Shapes of the inputs.

    Raises
    ------
    MXNetError
        When a file cannot be read, or is none of this kind.
    """

    def __init__(
        self,
        symbol_file: str,
        params_file: str | None = None,
        shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        self.symbol: Symbol = sym.load(symbol_file)
        with open(symbol_file, encoding="utf-8") as file:
            graph = json.load(file)
        self.version = _version(graph)
        self.shapes = dict(shapes or {})
        # Old files name operators by names that are upgraded when they are read.
        self.graph = json.loads(self.symbol.tojson(remove_amp_cast=False))
        self.problems: list[str] = []
        self.arrays: dict[str, NDArray] | None = None
        states = self.symbol.list_auxiliary_states()
        self._variables = [*self.symbol.list_arguments(), *states]
        if params_file is not None:
            arrays = load(params_file)
            if not isinstance(arrays, dict):
                raise MXNetValueError(
                    f"[inspect] {params_file} holds {len(arrays)} arrays without names; a model's have names."
                )
            self.arrays = {name.removeprefix("arg:").removeprefix("aux:"): a for name, a in arrays.items()}
        self.inputs = [name for name in self.symbol.list_arguments() if self._is_input(name)]
        unknown = [name for name in self.shapes if name not in self._variables]
        if unknown:
            raise MXNetValueError(
                f"[inspect] --shape names '{unknown[0]}'. {suggest(unknown[0], self.inputs)}"
            )
        self._find_problems()
        self.outputs = self._infer()

    def _is_input(self, name: str) -> bool:
        return not name.endswith(_PARAMETER_ENDINGS) if self.arrays is None else name not in self.arrays

    def operators(self) -> dict[str, int]:
        """How often each operator stands in the graph, the most frequent first."""
        found = Counter(node["op"] for node in _nodes(self.graph) if node["op"] != "null")
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def _find_problems(self) -> None:
        for operator in self.operators():
            if not _is_known(operator):
                names = [node["name"] for node in _nodes(self.graph) if node["op"] == operator]
                self.problems.append(f"operator {operator} is unknown; node {_short(names)}.")
        if self.arrays is None:
            return
        missing = [
            name for name in self._variables if name not in self.arrays and name.endswith(_PARAMETER_ENDINGS)
        ]
        if missing:
            self.problems.append(f"the file of parameters lacks {_short(missing)}.")
        extra = [name for name in self.arrays if name not in self._variables]
        if extra:
            self.problems.append(f"the graph does not use {_short(extra)} of the file of parameters.")

    def _infer(self) -> dict[str, tuple[int, ...] | None]:
        """The outputs' shapes as far as they follow from the parameters and the shapes given."""
        names = self.symbol.list_outputs()
        known = {name: tuple(a.shape) for name, a in (self.arrays or {}).items() if name in self._variables}
        known.update(self.shapes)
        try:
            _, shapes, _ = self.symbol.infer_shape_partial(**known)
        except MXNetError as error:
            if all(_is_known(operator) for operator in self.operators()):
                self.problems.append(f"shapes do not fit: {error}")
            return dict.fromkeys(names)
        complete = [shape if shape and all(shape) else None for shape in shapes or [()] * len(names)]
        return dict(zip(names, complete))

    def count(self) -> tuple[int, int]:
        """Numbers and bytes of the parameters that the graph uses."""
        used = [a for name, a in (self.arrays or {}).items() if name in self._variables]
        return sum(a.size for a in used), sum(a.size * np.dtype(a.dtype).itemsize for a in used)

    def as_dict(self) -> dict[str, Any]:
        """All of it for programs."""
        return {
            "mxnet_version": self.version,
            "nodes": sum(1 for _ in _nodes(self.graph)),
            "inputs": {name: self.shapes.get(name) for name in self.inputs},
            "outputs": self.outputs,
            "operators": self.operators(),
            "parameters": {
                name: {"dtype": _type(a), "shape": a.shape} for name, a in (self.arrays or {}).items()
            },
            "problems": self.problems,
        }

    def print(self) -> None:
        """The same for people, with the table of layers where the shapes are known."""

        def line(what: str, text: str) -> None:
            print(f"{what:<12} {text}")

        def with_shape(name: str, shape: Sequence[int] | None) -> str:
            return name if shape is None else f"{name} {tuple(shape)}"

        line("file", f"of MXNet {self.version}, {sum(1 for _ in _nodes(self.graph))} nodes")
        line("inputs", ", ".join(with_shape(name, self.shapes.get(name)) for name in self.inputs))
        line("outputs", ", ".join(with_shape(*output) for output in self.outputs.items()))
        line("operators", ", ".join(f"{name} {count}" for name, count in self.operators().items()))
        if self.arrays is not None:
            numbers, size = self.count()
            line("parameters", f"{numbers:,} in {len(self.arrays)} arrays, {byte_text(size)}")
            width = max(map(len, self.arrays), default=0)
            for name, value in self.arrays.items():
                line("", f"{name:<{width}}  {_type(value):<8} {value.size:>12,}  {value.shape}")
        for problem in self.problems:
            line("problem", problem)
        if any(shape is None for shape in self.outputs.values()):
            example = next((name for name in self.inputs if not name.endswith("label")), "data")
            print(f"\nMore is known with the inputs' shapes, such as --shape {example}=1,3,224,224")
        elif self.shapes:
            print()
            print_summary(self.symbol, self.shapes)


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, sizes = text.partition("=")
    try:
        shape = tuple(int(size) for size in sizes.strip("()").split(",") if size.strip())
    except ValueError:
        shape = ()
    if not name or not shape or min(shape) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no shape; expected NAME=1,3,224,224")
    return name, shape


def main(_: str, arguments: Sequence[str]) -> int:
    """Runs ``inspect`` with these arguments; its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m loomix inspect",
        description="Shows a model's inputs, outputs, operators and parameters, and what would keep it from running: "
        "unknown operators, parameters that are missing or do not fit. The exit status is 1 if there are such.",
    )
    parser.add_argument("symbol", help="the graph: NAME-symbol.json")
    parser.add_argument("params", nargs="?", help="the parameters: NAME-0000.params")
    parser.add_argument(
        "--shape", type=_shape, action="append", default=[], metavar="NAME=SIZES", help="an input's shape"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    args = parser.parse_args(arguments)
    for path in (args.symbol, args.params):
        if path is not None and not os.path.isfile(path):
            print(f"[inspect] there is no file {path}.", file=sys.stderr)
            return 2
    try:
        model = Model(args.symbol, args.params, dict(args.shape))
    except (MXNetError, OSError, ValueError) as error:
        print(f"[inspect] {args.symbol}: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(model.as_dict(), indent=2))
    else:
        model.print()
    return 1 if model.problems else 0
