# SPDX-License-Identifier: Apache-2.0
"""An ONNX graph that grows node by node, with the forms that differ between opsets in one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .library import INT64_MAX, NUMBERS, load_package, type_number

Array = np.ndarray[Any, Any]
DOMAIN = "loomix"  # of the functions that a model brings along


def int64s(*values: int) -> Array:
    return np.array(values, np.int64)


class Writer:
    """Nodes, initializers and functions of a graph.

    Where an input of a node is wanted, the name of a value, a NumPy array (which becomes an initializer), or None for
    one that is left out may be given.
    """

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.scope = ""  # begins the names of new nodes
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.functions: list[Any] = []
        self.taken: set[str] = set()
        self.convert: Any = (
            None  # how the exporter adds a graph inside of a node; see ``to_onnx/control_flow.py``
        )
        self._scalars: dict[tuple[Any, ...], str] = {}
        self.package = load_package("export_model")

    def unique(self, hint: str) -> str:
        """A name that nothing has yet."""
        name, count = hint, 0
        while name in self.taken:
            count += 1
            name = f"{hint}_{count}"
        self.taken.add(name)
        return name

    def initializer(self, name: str, array: Array) -> str:
        """An initializer of this name."""
        type_number(f"[onnx] '{name}'", array.dtype)
        self.initializers[name] = self.package.numpy_helper.from_array(np.asarray(array, order="C"), name)
        return name

    def constant(self, array: Any) -> str:
        """The name of an initializer with these values; small ones are shared."""
        array = np.asarray(array)
        key = (array.dtype.str, array.shape, array.tobytes()) if array.size <= 16 else None
        if key in self._scalars:
            return self._scalars[key]
        name = self.initializer(self.unique(f"{self.scope}_constant"), array)
        if key is not None:
            self._scalars[key] = name
        return name

    def _names(self, inputs: Sequence[Any]) -> list[str]:
        names = ["" if x is None else x if isinstance(x, str) else self.constant(x) for x in inputs]
        while names and not names[-1]:
            names.pop()
        return names

    def add_many(self, op: str, outputs: int, *inputs: Any, domain: str = "", **attributes: Any) -> list[str]:
        """Adds a node with several outputs; their names."""
        name = self.unique(f"{self.scope}_{op.lower()}")
        names = [name] + [self.unique(f"{name}_{i}") for i in range(1, outputs)]
        given = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(
            self.package.helper.make_node(op, self._names(inputs), names, name, domain=domain, **given)
        )
        return names

    def add(self, op: str, *inputs: Any, **attributes: Any) -> str:
        """Adds a node with one output; its name."""
        return self.add_many(op, 1, *inputs, **attributes)[0]

    def tensors(self, array: Array) -> Any:
        """An array as the value of an attribute."""
        return self.package.numpy_helper.from_array(array)

    def call(
        self,
        name: str,
        inputs: Sequence[str],
        build: Callable[[Writer, list[str]], str],
        attributes: dict[str, Any],
    ) -> str:
        """Calls a function that the model brings along, whose body ``build`` adds to a writer of its own."""
        helper, body = self.package.helper, Writer(self.opset)
        arguments = [body.unique(f"input{i}") for i in range(len(inputs))]
        body.scope = name
        output = build(body, arguments)
        constants = [
            helper.make_node("Constant", [], [key], value=tensor) for key, tensor in body.initializers.items()
        ]
        names = [function.name for function in self.functions]
        own, count = name, 0
        while own in names:
            count += 1
            own = f"{name}_{count}"
        given = {key: value for key, value in attributes.items() if value is not None}
        self.functions.append(
            helper.make_function(
                DOMAIN,
                own,
                arguments,
                [output],
                constants + body.nodes,
                [helper.make_opsetid("", self.opset)],
                list(given),
            )  # fmt: skip
        )
        return self.add(own, *inputs, domain=DOMAIN, **given)

    def inner(self, scope: str) -> Writer:
        """A writer of a graph inside of a node, which may use the names of this one."""
        writer = Writer(self.opset)
        writer.scope = self.unique(scope)
        writer.taken, writer.convert = self.taken, self.convert
        return writer

    def loop(self, count: int, x: str, build: Callable[[Writer, str, str], str]) -> str:
        """Changes a value again and again; ``build`` gets the step's number and the value before it."""
        helper, body = self.package.helper, self.inner(f"{self.scope}_body")
        step, going, before = (body.unique(f"{body.scope}_{name}") for name in ("step", "going", "before"))
        after = build(body, step, before)
        still = body.add("Identity", going)

        def info(name: str, number: int, shape: list[int] | None) -> Any:
            return helper.make_tensor_value_info(name, number, shape)

        graph = helper.make_graph(
            body.nodes, body.scope, [info(step, 7, []), info(going, 9, []), info(before, 9, None)],
            [info(still, 9, []), info(after, 9, None)], list(body.initializers.values()),
        )  # fmt: skip
        return self.add("Loop", np.int64(count), None, x, body=graph)

    # ---- forms that many operators need ----

    def cast(self, x: Any, dtype: Any) -> str:
        return self.add("Cast", x, to=NUMBERS[np.dtype(dtype)])

    def truth(self, x: Any) -> str:
        """Whether elements are not zero, as booleans."""
        return self.cast(x, bool)

    def reshape(self, x: Any, shape: Sequence[int]) -> str:
        return self.add("Reshape", x, int64s(*shape))

    def transpose(self, x: Any, axes: Sequence[int]) -> str:
        return x if list(axes) == sorted(axes) else self.add("Transpose", x, perm=list(axes))

    def unsqueeze(self, x: Any, *axes: int) -> str:
        return self.add("Unsqueeze", x, int64s(*axes))

    def squeeze(self, x: Any, *axes: int) -> str:
        return self.add("Squeeze", x, int64s(*axes))

    def slice(
        self, x: Any, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Any = None
    ) -> str:
        return self.add(
            "Slice",
            x,
            int64s(*starts),
            int64s(*ends),
            int64s(*axes),
            None if steps is None else int64s(*steps),
        )

    def reverse(self, x: Any, axes: Sequence[int]) -> str:
        """With the order along these axes turned round."""
        count = len(axes)
        return self.slice(x, [-1] * count, [-INT64_MAX] * count, axes, [-1] * count)

    def reduce(self, op: str, x: Any, axes: Sequence[int] | None, keepdims: bool) -> str:
        """A reduction; without axes it is over all."""
        keep = int(keepdims)
        if axes is None:
            return self.add(op, x, keepdims=keep)
        if self.opset >= 18 or op == "ReduceSum":
            return self.add(op, x, int64s(*axes), keepdims=keep)
        return self.add(op, x, axes=list(axes), keepdims=keep)

    def split(self, x: Any, sizes: Sequence[int], axis: int) -> list[str]:
        return self.add_many("Split", len(sizes), x, int64s(*sizes), axis=axis)

    def sizes_of(self, x: str, axes: Sequence[int]) -> str:
        """The sizes of some axes, known when the model runs."""
        return self.add("Gather", self.add("Shape", x), int64s(*axes))

    def clip_index(self, x: str, size: int) -> str:
        """Indices as int64, those outside moved to the nearest."""
        return self.add("Clip", self.cast(x, np.int64), np.int64(0), np.int64(size - 1))

    def wrap_index(self, x: str, size: int) -> str:
        """Indices as int64, modulo a size."""
        return self.add("Mod", self.cast(x, np.int64), np.int64(size))
