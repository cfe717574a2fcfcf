# SPDX-License-Identifier: Apache-2.0
"""What the compiler made of a network: passes, memory, arithmetic and times, as text, picture and data.

:meth:`Symbol.explain <loomix.symbol.Symbol.explain>`, :meth:`Executor.explain <loomix.executor.Executor.explain>` and
:meth:`HybridBlock.explain <loomix.gluon.HybridBlock.explain>` make an :class:`Explanation`.
"""

from __future__ import annotations

import dataclasses
import html
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._multiply_adds import multiply_adds
from .base import MXNetError
from .visualization import _PARAMETER_ENDINGS

if TYPE_CHECKING:
    from .symbol import Symbol

__all__ = [
    "Apart",
    "Arena",
    "Array",
    "Budget",
    "Explanation",
    "Held",
    "Operator",
    "Operators",
    "Pass",
    "Value",
    "Whole",
]


# The attributes and sums of an Explanation that are no objects.
_PLAIN = (
    "title", "training", "with_gradients", "device", "planned", "naive", "lower_bound", "held_bytes", "parameters",
    "flops", "conversions", "ms", "forward_steps", "tasks", "on_one_core", "views", "inplace", "waits", "strategies",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Array:
    """An array that is not planned: it belongs to the user, or is one of the outputs.

    ``kind`` is "argument", "auxiliary state" or "output". ``bytes`` is 0 for sparse arrays.

    >>> import loomix as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc")
    >>> [(array.name, array.size) for array in net.explain(data=(8, 4)).arrays]
    [('data', 32), ('fc_weight', 40), ('fc_bias', 10), ('fc_output', 80)]
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    has_gradient: bool

    @property
    def size(self) -> int:
        """How many numbers it has."""
        count = 1
        for length in self.shape:
            count *= length
        return count


@dataclasses.dataclass(frozen=True)
class Operators:
    """Operators of one kind that a pass removed or added. ``names`` are those of the nodes that have one.

    >>> import loomix as mx
    >>> made = mx.sym.tanh(mx.sym.Variable("x") * 2).explain(x=(8, 4))
    >>> fused = next(one for one in made.passes if one.name == "fuse")
    >>> [(one.op, one.count) for one in fused.gone], [(one.op, one.count) for one in fused.made]
    ([('_mul_scalar', 1), ('tanh', 1)], [('_fused', 1)])
    """

    op: str
    count: int
    names: list[str]


@dataclasses.dataclass(frozen=True)
class Pass:
    """What a pass of the compiler did.

    ``before`` and ``after`` count the operators; those that run only when a weight has changed (``held``: how many of
    these the pass added) are left out. ``gone`` and ``made`` are the operators that only the graph before has, or
    only the one after. ``conversions`` counts the conversions of layouts among ``made``. ``ms`` is what the pass
    took.

    >>> import loomix as mx
    >>> made = mx.sym.tanh(mx.sym.Variable("x") * 2).explain(x=(8, 4))
    >>> [(one.before, one.after) for one in made.passes if one.name == "fuse"]
    [(2, 1)]
    """

    name: str
    before: int
    after: int
    gone: list[Operators]
    made: list[Operators]
    conversions: int
    held: int
    ms: float


@dataclasses.dataclass(frozen=True)
class Apart:
    """An operator that is not in one pass over memory with another one whose result it reads, and why.

    ``input`` and ``input_op`` are that other one. They are empty where the operator can be with no others.

    >>> import loomix as mx
    >>> x = mx.sym.Variable("x")
    >>> e = mx.sym.exp(x, name="e")
    >>> net = mx.sym.broadcast_div(e, mx.sym.sum(e, axis=1, keepdims=True, name="s"), name="share")
    >>> for one in net.explain(x=(8, 64)).apart:
    ...     print(f"{one.name} and {one.input}: {one.reason}")
    share and e: a reduction has its result when its pass ends
    share and s: a reduction has its result when its pass ends
    """

    name: str
    op: str
    input: str
    input_op: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Whole:
    """How prediction runs an operator of 8 bits: see :doc:`/quantization`.

    ``runs`` is "int8" where it is compiled with its neighbours, "int8, alone" where it runs as it is, or "float32";
    ``reason`` says why it is not "int8".

    >>> import loomix as mx
    >>> whole = mx.sym.contrib.quantize_v2(mx.sym.Variable("x"), name="q")
    >>> [(one.name, one.runs, one.reason) for one in whole[0].explain(x=(8, 4)).whole]
    [('q', 'int8, alone', 'its range is found in each run')]
    """

    name: str
    op: str
    runs: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Operator:
    """One step of a pass.

    Attributes
    ----------
    step : int
        Its place in the order in which the steps are pushed.
    name, op, kernel, device : str
        ``kernel`` is "transfer" for a copy between devices.
    gradient_of : str
        In the backward pass: the node to whose gradient the step belongs. Else empty.
    again : bool
        It computes a value of the forward pass a second time, which was not kept.
    converts_layout : bool
        It does nothing else.
    parts : list of str
        Of several operators that are one pass over memory: which.
    bytes : int
        What it makes; also what a gradient keeps of it, and no scratch memory.
    scratch_bytes : int
        What it needs beside that while it runs.
    flops : int
        Two for each multiply-add of convolutions, matrix products and recurrent layers; nothing else is counted.
    estimated_ms : float
        By the operator's own estimate, on one core.
    ms : float or None
        What it took in the last pass. None before the first one, for very short operators, which are not timed, and for
        those of other devices than CPUs.

    Examples
    --------
    >>> import loomix as mx
    >>> made = mx.sym.tanh(mx.sym.Variable("x") * 2).explain(x=(8, 4))
    >>> [(operator.op, operator.parts, operator.bytes) for operator in made.operators]
    [('_fused', ['_mul_scalar', 'tanh'], 128)]
    """

    step: int
    name: str
    op: str
    kernel: str
    device: str
    gradient_of: str
    again: bool
    converts_layout: bool
    parts: list[str]
    bytes: int
    scratch_bytes: int
    flops: int
    estimated_ms: float
    ms: float | None


@dataclasses.dataclass(frozen=True)
class Value:
    """A stretch of memory: what a step makes (``kind`` "output"), keeps for its gradient ("saved"), or needs while it
    runs ("scratch").

    It is written by step ``first`` and used last by step ``last``. ``offset`` is its place in the memory of
    ``device``, -1 where it has memory of its own. ``inplace_of`` is the number of the value whose memory it took
    over, or -1.

    >>> import loomix as mx
    >>> net = mx.sym.softmax(mx.sym.sum(mx.sym.Variable("x"), axis=1, name="s"), name="soft")
    >>> [(value.name, value.first, value.last) for value in net.explain(x=(8, 4)).values if value.kind == "output"]
    [('s_output', 0, 1), ('soft_output', 1, 1)]
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    offset: int
    first: int
    last: int
    inplace_of: int
    device: str


@dataclasses.dataclass(frozen=True)
class Arena:
    """The planned memory of a device, in bytes.

    ``lower_bound`` is the most that is alive at once, which is at step ``peak``. ``naive`` is what the values would
    take without sharing, where views of other values take nothing.

    >>> import loomix as mx
    >>> net = mx.sym.softmax(mx.sym.softmax(mx.sym.Variable("x"), name="one"), name="two")
    >>> [(arena.device, arena.planned, arena.lower_bound) for arena in net.explain(x=(8, 4)).arenas]
    [('cpu(0)', 128, 128)]
    """

    device: str
    planned: int
    naive: int
    lower_bound: int
    peak: int


@dataclasses.dataclass(frozen=True)
class Held:
    """A copy of a weight as kernels want it, made again when the weight has changed.

    >>> import loomix as mx
    >>> net = mx.sym.BatchNorm(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10), name="norm")
    >>> sum(held.bytes for held in net.explain(data=(8, 4)).held) > 0  # the weights, with the normalisation
    True
    """

    name: str
    shape: tuple[int, ...]
    bytes: int


@dataclasses.dataclass(frozen=True)
class Budget:
    """What ``memory_budget`` changed: bytes allowed, bytes that are planned without it, and the estimated time of a
    pass on one core with and without.

    >>> import loomix as mx
    >>> net = mx.sym.tanh(mx.sym.softmax(mx.sym.Variable("x")))
    >>> net.explain(x=(8, 4), memory_budget=2**20).budget.bytes
    1048576
    """

    bytes: int
    bytes_without: int
    estimated_ms: float
    estimated_ms_without: float


class Explanation:
    """What the compiler made of a symbol. ``str()`` is a report of one or two screens; notebooks show the picture, too.

    Attributes
    ----------
    title : str
    training : bool
        Whether the pass is one in training mode.
    with_gradients : bool
        Whether it has a backward part.
    device : str
    arrays : list of Array
        Arguments, auxiliary states and outputs.
    passes : list of Pass
    apart : list of Apart
        Why operators that read each other's results are not one pass over memory (see :doc:`/fusion`).
    whole : list of Whole
        How operators of 8 bits run.
    operators : list of Operator
        The steps, in their order.
    values : list of Value
    arenas : list of Arena
        One for each device.
    forward_steps : int
        The steps of the forward pass; those of the backward pass come after them.
    tasks : int
        How many tasks of the engine the steps are; fewer than steps where short ones are joined. 0 for what was only
        planned.
    on_one_core : int
        Operators of branches that run side by side, on a core each, since that was measured to be faster.
    views, inplace, waits : int
        Nodes that are views of others' memory; values that took over the memory of an input; waits of a step for memory
        that is used again.
    held : list of Held
    budget : Budget or None
    strategies : dict or None
        Planned bytes by each way of sharing: ``naive``, ``inplace``, ``co_share``, ``both`` and ``lower_bound``.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc")
    >>> made = mx.sym.softmax(net).explain(data=(8, 4))
    >>> made.flops, made.parameters
    (640, 50)
    """

    def __init__(self, data: Mapping[str, Any], symbol: Symbol) -> None:
        program = data["program"]
        self.title: str = data["title"]
        self.training: bool = data["training"]
        self.with_gradients: bool = data["with_gradients"]
        self.device: str = data["device"]
        self.arrays = [Array(**array) for array in data["arrays"]]
        self.passes = [
            Pass(**{**one, **{key: [Operators(**same) for same in one[key]] for key in ("gone", "made")}})
            for one in data["passes"]
        ]
        self.apart = [Apart(**apart) for apart in data["apart"]]
        self.whole = [Whole(**whole) for whole in data["whole"]]
        self.arenas = [Arena(**arena) for arena in program["arenas"]]
        self.forward_steps: int = program["forward_calls"]
        self.views: int = program["views"]
        self.tasks: int = program["tasks"]
        self.on_one_core: int = program["on_one_core"]
        self.inplace: int = program["inplace"]
        self.waits: int = program["waits"]
        self.held = [Held(**held) for held in data["held"]]
        self.strategies: dict[str, int] | None = data["strategies"]
        self.values: list[Value] = []
        self.operators: list[Operator] = []
        self._read(program, self._multiply_adds(symbol))
        self.budget: Budget | None = None
        if data["budget"]:
            self.budget = Budget(
                estimated_ms=sum(operator.estimated_ms for operator in self.operators), **data["budget"]
            )

    def _multiply_adds(self, symbol: Symbol) -> dict[str, tuple[str, int]]:
        try:
            return multiply_adds(
                symbol, {array.name: array.shape for array in self.arrays if array.kind == "argument"}
            )
        except MXNetError:  # operators whose shapes follow from data, or from the types
            return {}

    def _read(self, program: Mapping[str, Any], counts: Mapping[str, tuple[str, int]]) -> None:
        calls = program["calls"]
        made: list[list[dict[str, Any]]] = [[] for _ in calls]
        for value in program["values"]:
            made[value["first"]].append(value)
            fields = {key: item for key, item in value.items() if key != "place"}
            self.values.append(Value(device=calls[value["first"]]["device"], **fields))
        for step, call in enumerate(calls):
            own = made[step]
            self.operators.append(
                Operator(
                    step=step,
                    bytes=sum(value["bytes"] for value in own if value["kind"] != "scratch"),
                    scratch_bytes=sum(value["bytes"] for value in own if value["kind"] == "scratch"),
                    flops=2 * _share(call, own, counts),
                    **call,
                )
            )

    # ---- sums ----

    @property
    def planned(self) -> int:
        """Bytes of the memory that the values share."""
        return sum(arena.planned for arena in self.arenas)

    @property
    def naive(self) -> int:
        """Bytes of the same values without sharing."""
        return sum(arena.naive for arena in self.arenas)

    @property
    def lower_bound(self) -> int:
        """The most bytes that are alive at once: no plan takes less."""
        return sum(arena.lower_bound for arena in self.arenas)

    @property
    def held_bytes(self) -> int:
        """Bytes of the copies of weights."""
        return sum(held.bytes for held in self.held)

    @property
    def parameters(self) -> int:
        """How many numbers the parameters have: arguments that are named like parameters, or that have a gradient and
        are not named like data or labels."""
        return sum(array.size for array in self.parameter_arrays())

    def parameter_arrays(self) -> list[Array]:
        """The arguments that are parameters."""
        return [array for array in self.arrays if array.kind == "argument" and _is_parameter(array)]

    @property
    def flops(self) -> int:
        """Of a whole pass: of the forward part, and of the backward part if there is one."""
        return sum(operator.flops for operator in self.operators)

    @property
    def conversions(self) -> int:
        """Steps that only convert layouts."""
        return sum(operator.converts_layout for operator in self.operators)

    @property
    def again(self) -> list[Operator]:
        """Steps that compute again what was not kept."""
        return [operator for operator in self.operators if operator.again]

    @property
    def ms(self) -> float | None:
        """The times of all steps that were timed in the last pass; None if none was. Steps may run at the same time."""
        times = [operator.ms for operator in self.operators if operator.ms is not None]
        return sum(times) if times else None

    # ---- forms ----

    def to_text(self, width: int = 100) -> str:
        """The report, in lines of at most so many characters."""
        from ._explanation_text import report

        return report(self, max(60, int(width)))

    def table(self) -> str:
        """A line for each step: its kernel, the bytes that it makes and needs, its FLOPs, and what it took in the
        last pass, or, before one, would take on one core by its own estimate."""
        from ._explanation_text import table

        return table(self)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<Explanation of {self.title}: {len(self.operators)} steps, {self.planned} bytes planned>"

    def to_svg(self, path: str | os.PathLike[str] | None = None) -> str:
        """The memory plan as a picture: steps from left to right, offsets upwards, a rectangle for each value. Names
        appear when the mouse is on a rectangle.

        Parameters
        ----------
        path : path, optional
            A file to write it to.

        Returns
        -------
        str
            The SVG.
        """
        from ._explanation_svg import picture

        svg = picture(self)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(svg)
        return svg

    def as_dict(self) -> dict[str, Any]:
        """All fields and sums, as dicts, lists, strings and numbers."""
        result: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN}
        result["budget"] = dataclasses.asdict(self.budget) if self.budget else None
        for name in ("arrays", "passes", "apart", "whole", "arenas", "held", "operators", "values"):
            result[name] = [dataclasses.asdict(item) for item in getattr(self, name)]
        return result

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """:meth:`as_dict` as JSON, also written to a file if a path is given."""
        text = json.dumps(self.as_dict(), indent=1)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + "\n")
        return text

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _repr_html_(self) -> str:
        return f"<div>{self.to_svg()}<pre>{html.escape(str(self))}</pre></div>"


def _is_parameter(array: Array) -> bool:
    if array.name.endswith(_PARAMETER_ENDINGS):
        return True
    return array.has_gradient and not array.name.startswith("data") and not array.name.endswith("label")


def _share(
    call: Mapping[str, Any], values: list[dict[str, Any]], counts: Mapping[str, tuple[str, int]]
) -> int:
    """The multiply-adds of a step. The gradient of an operand takes as many as the operator itself."""
    if not call["gradient_of"] or call["again"]:
        return counts.get(call["name"], ("", 0))[1]
    op, count = counts.get(call["gradient_of"], ("", 0))
    if op == "RNN":
        return 2 * count if call["op"].startswith("_backward") else 0
    if call["op"] != op and not call["op"].startswith("_backward"):
        return 0
    operands = [value for value in values if value["place"] != "unused" and len(value["shape"]) > 1]
    return count * sum(value["kind"] == "output" for value in operands)
