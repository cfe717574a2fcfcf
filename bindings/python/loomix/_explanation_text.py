# SPDX-License-Identifier: Apache-2.0
"""The report that an :class:`~loomix.explanation.Explanation` prints."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .explanation import Arena, Array, Explanation, Operator, Operators, Pass

_ROWS = 10  # of the picture of memory
_SHADES = " ░▒▓█"
_SHOWN = 10  # rows of a table
_ALIGNMENT = 64  # bytes: where planned values begin
_STRATEGIES = {
    "naive": "no sharing",
    "inplace": "in place",
    "co_share": "co-share",
    "both": "both",
    "lower_bound": "lower bound",
}


def byte_text(count: float, like: float | None = None) -> str:
    """'1.5 MiB', in the unit that `like` bytes would have."""
    size = count if like is None else like
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        size, count = size / 1024, count / 1024
    return f"{count:.2f} GiB"


def number_text(value: float) -> str:
    """Three digits or more: '0.123', '1.23', '12.3', '1,234'."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3g}"


def _number_of(count: int, what: str) -> str:
    """'1 view', '2 views', '3 values in place'."""
    noun, _, rest = what.partition(" ")
    return f"{count} {noun}{'' if count == 1 else 's'} {rest}".rstrip()


def _flop_text(flops: float) -> str:
    for unit in ("", "k", "M", "G"):
        if flops < 1000:
            return f"{number_text(flops)} {unit}FLOP"
        flops /= 1000
    return f"{number_text(flops)} TFLOP"


def _time_text(ms: float) -> str:
    return f"{number_text(ms)} ms" if ms >= 0.1 else f"{number_text(ms * 1000)} µs"


def taken_over(explanation: Explanation) -> set[int]:
    """Numbers of the values whose memory another one takes over in place."""
    return {value.inplace_of for value in explanation.values if value.inplace_of >= 0}


def alive(explanation: Explanation, device: str) -> np.ndarray:
    """Bytes of a device's planned memory that are in use at each step."""
    change = np.zeros(len(explanation.operators) + 1, dtype=np.int64)
    roots: list[int] = []
    ends: dict[int, int] = {}  # by the first value of those that follow each other in place
    for number, value in enumerate(explanation.values):
        roots.append(roots[value.inplace_of] if value.inplace_of >= 0 else number)
        ends[roots[number]] = max(value.last, ends.get(roots[number], 0))
    for root, last in ends.items():
        value = explanation.values[root]
        if value.offset < 0 or value.device != device:
            continue
        size = -(-value.bytes // _ALIGNMENT) * _ALIGNMENT
        change[value.first] += size
        change[last + 1] -= size
    return np.cumsum(change)[:-1]


def _covered(begin: float, end: float, count: int) -> tuple[int, np.ndarray]:
    """The first of `count` cells that an interval of 0 to 1 touches, and how much of each cell it covers."""
    begin, end = begin * count, end * count
    first = min(int(begin), count - 1)
    last = min(max(first, int(np.ceil(end)) - 1), count - 1)
    cells = np.arange(first, last + 1)
    return first, np.clip(np.minimum(cells + 1, end) - np.maximum(cells, begin), 0, 1)


def _map(explanation: Explanation, arena: Arena, width: int) -> list[str]:
    """The memory plan in characters: steps from left to right, offsets upwards."""
    label = max(9, len(byte_text(arena.planned)))
    columns = width - label - 2
    cells = np.zeros((_ROWS, columns))
    taken = taken_over(explanation)
    steps, high = max(1, len(explanation.operators)), max(1, arena.planned)
    for number, value in enumerate(explanation.values):
        if value.offset < 0 or value.device != arena.device:
            continue
        end = value.last + (number not in taken)
        column, across = _covered(value.first / steps, end / steps, columns)
        row, upwards = _covered(value.offset / high, (value.offset + value.bytes) / high, _ROWS)
        cells[row : row + len(upwards), column : column + len(across)] += np.outer(upwards, across)
    shades = np.ceil(np.clip(cells, 0, 1) * (len(_SHADES) - 1) - 1e-9).astype(int)
    bound = min(_ROWS - 1, int(_ROWS * arena.lower_bound / high))
    lines = []
    for row in reversed(range(_ROWS)):
        name = byte_text(arena.planned) if row == _ROWS - 1 else "0" if row == 0 else ""
        edge = "┼" if row == bound else "│"
        lines.append(f"{name:>{label}} {edge}" + "".join(_SHADES[shade] for shade in shades[row]))
    peak = min(columns - 1, int(columns * (arena.peak + 0.5) / steps))
    axis = ["─"] * columns
    axis[peak] = "▲"
    lines.append(" " * label + " └" + "".join(axis))
    under = f"step {arena.peak}: {byte_text(arena.lower_bound)} in use, the most"
    start = min(peak, max(0, columns - len(under)))
    lines.append(" " * (label + 2 + start) + under)
    return lines


def _memory_maps(explanation: Explanation, width: int) -> list[str]:
    lines = []
    for arena in explanation.arenas:
        if not arena.planned:
            continue
        place = f" of {arena.device}" if len(explanation.arenas) > 1 else ""
        lines += ["", f"memory{place} by step (the darker, the more of it is in use)"]
        lines += _map(explanation, arena, width)
    return lines


def _arrays_text(arrays: Sequence[Array]) -> str:
    shown = ", ".join(f"{array.name} {array.shape}" for array in arrays[:3])
    more = f" and {len(arrays) - 3} more" if len(arrays) > 3 else ""
    return f"{shown}{more}: {byte_text(sum(array.bytes for array in arrays))}"


def _head(explanation: Explanation) -> list[str]:
    lines = [f"{explanation.title}, on {explanation.device}"]

    def line(what: str, text: str) -> None:
        lines.append(f"  {what:<13} {text}")

    parameters = explanation.parameter_arrays()
    names = {array.name for array in parameters}
    inputs = [array for array in explanation.arrays if array.kind == "argument" and array.name not in names]
    if inputs:
        line("inputs", _arrays_text(inputs))
    line("outputs", _arrays_text([array for array in explanation.arrays if array.kind == "output"]))
    if parameters:
        size = sum(array.bytes for array in parameters)
        text = f"{explanation.parameters:,} in {len(parameters)} arrays: {byte_text(size)}"
        gradients = sum(array.bytes for array in explanation.arrays if array.has_gradient)
        line(
            "parameters",
            text + (f"; their gradients: {byte_text(gradients)}" if explanation.with_gradients else ""),
        )
    if explanation.flops:
        forward = sum(operator.flops for operator in explanation.operators[: explanation.forward_steps])
        text = f"{_flop_text(forward)} forward"
        if explanation.with_gradients:
            text += f", {_flop_text(explanation.flops - forward)} backward"
        line("arithmetic", text)
    for what, text in _memory_text(explanation):
        line(what, text)
    if explanation.held:
        line(
            "held weights",
            f"{byte_text(explanation.held_bytes)} in {len(explanation.held)} copies, made when weights change",
        )
    if 0 < explanation.tasks < len(explanation.operators):
        line(
            "tasks",
            f"{explanation.tasks} for {len(explanation.operators)} steps: short neighbours are one task",
        )
    if explanation.budget:
        line("budget", _budget_text(explanation))
    if explanation.ms is not None:
        line("last pass", f"{_time_text(explanation.ms)} in all steps that were timed")
    return lines


def _memory_text(explanation: Explanation) -> list[tuple[str, str]]:
    planned, bound = explanation.planned, explanation.lower_bound
    counts = (
        (explanation.inplace, "value in place"),
        (explanation.views, "view"),
        (explanation.waits, "wait"),
    )
    how = ", ".join(_number_of(count, what) for count, what in counts)
    lines = [("memory", f"{byte_text(planned)} planned: {how}")]
    if bound:
        lines.append(("", f"{byte_text(bound)} is the lower bound: {planned / bound:.3f} x"))
        lines.append(
            (
                "",
                f"{byte_text(explanation.naive)} without sharing: {number_text(explanation.naive / planned)} x",
            )
        )
    return lines


def _budget_text(explanation: Explanation) -> str:
    budget = explanation.budget
    assert budget is not None
    text = f"{byte_text(budget.bytes)} allowed; without it {byte_text(budget.bytes_without)}"
    if budget.estimated_ms_without and explanation.planned < budget.bytes_without:
        more = budget.estimated_ms / budget.estimated_ms_without - 1
        text += f", and {100 * more:.0f} % more time by the operators' estimates"
    return text


def _counted(operators: Iterable[Operators], most: int = 6) -> str:
    parts = [f"{one.count} {one.op}" for one in operators]
    return ", ".join(parts[:most]) + (f", {len(parts) - most} more" if len(parts) > most else "")


def _pass_text(one: Pass) -> str:
    if one.name in ("recompute", "fit_memory"):
        return f"computed again: {_counted(one.made)}" if one.made else ""
    parts = []
    if one.gone:
        parts.append(f"- {_counted(one.gone)}")
    if one.made:
        parts.append(f"+ {_counted(one.made)}")
    if one.conversions:
        parts.append(_number_of(one.conversions, "conversion of layout"))
    if one.held:
        parts.append(f"{one.held} for weights, held")
    return "; ".join(parts)


def _passes(explanation: Explanation, width: int) -> list[str]:
    lines = ["", "pass         operators    what it did"]
    for one in explanation.passes:
        counts = f"{one.before} → {one.after}" if one.before != one.after else str(one.after)
        start = f"  {one.name:<10} {counts:<12} "
        lines += textwrap.wrap(
            _pass_text(one) or "nothing", width, initial_indent=start, subsequent_indent=" " * len(start)
        )
    return lines


def _apart(explanation: Explanation, width: int) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for one in explanation.apart:
        who = (
            f"{one.input} ({one.input_op}) and {one.name} ({one.op})"
            if one.input
            else f"{one.name} ({one.op})"
        )
        reasons.setdefault(one.reason, []).append(who)
    lines = ["", "why operators are not one pass over memory"] if reasons else []
    for reason, pairs in sorted(reasons.items(), key=lambda item: -len(item[1])):
        lines.append(_cut(f"  {len(pairs):>4} x {reason}, such as {pairs[0]}", width))
    return lines


def _whole(explanation: Explanation, width: int) -> list[str]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in explanation.whole:
        reasons.setdefault((one.runs, one.reason), []).append(one.name)
    lines = ["", "how layers of 8 bits run"] if reasons else []
    for (runs, reason), names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        why = f": {reason}" if reason else ""
        lines.append(_cut(f"  {len(names):>4} x {runs}, such as {names[0]}{why}", width))
    return lines


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "…"


def _strategies(explanation: Explanation) -> list[str]:
    sizes = explanation.strategies
    if not sizes:
        return []
    lines = ["", "way of sharing memory"]
    for key, name in _STRATEGIES.items():
        bar = "█" * round(40 * sizes[key] / max(1, sizes["naive"]))
        lines.append(f"  {name:<12} {byte_text(sizes[key]):>10}  {bar}")
    return lines


def _slowest(explanation: Explanation, width: int) -> list[str]:
    timed = explanation.ms is not None

    def ms(operator: Operator) -> float:
        return (operator.ms or 0.0) if timed else operator.estimated_ms

    total = sum(map(ms, explanation.operators)) or 1.0
    kinds: dict[str, list[Operator]] = {}
    for operator in explanation.operators:
        kinds.setdefault(operator.op, []).append(operator)
    what = "took in the last pass" if timed else "takes, as operators estimate for one core"
    lines = ["", f"what time it {what}"]
    ranked = sorted(kinds.items(), key=lambda item: -sum(map(ms, item[1])))[:_SHOWN]
    column = max((len(op) for op, _ in ranked), default=0) + 1
    for op, operators in ranked:
        own = sum(map(ms, operators))
        flops = sum(operator.flops for operator in operators)
        rate = f"{number_text(flops / own / 1e6):>7} GFLOP/s" if timed and flops and own else ""
        count = f"{len(operators)} x"
        line = f"  {100 * own / total:4.0f} %  {_time_text(own):>9}  {count:>6} {op:<{column}} {rate}"
        lines.append(_cut(line.rstrip(), width))
    lines += ["", f"steps that {'took' if timed else 'are estimated to take'} the longest"]
    for operator in sorted(explanation.operators, key=lambda item: -ms(item))[: _SHOWN // 2]:
        rate = (
            f", {number_text(operator.flops / ms(operator) / 1e6)} GFLOP/s"
            if timed and operator.flops and ms(operator)
            else ""
        )
        who = f"step {operator.step:<4} {operator.name} ({operator.op}, {operator.kernel})"
        lines.append(_cut(f"  {_time_text(ms(operator)):>9}  {who}{rate}", width))
    return lines


def _largest(explanation: Explanation, width: int) -> list[str]:
    planned = [value for value in explanation.values if value.offset >= 0]
    lines = ["", "largest values in that memory"]
    for value in sorted(planned, key=lambda item: -item.bytes)[: _SHOWN // 2]:
        name = value.name or f"scratch of {explanation.operators[value.first].name}"
        shape = "" if value.kind == "scratch" else f" {value.dtype} {value.shape}"
        lines.append(
            _cut(f"  {byte_text(value.bytes):>10}  steps {value.first} to {value.last}: {name}{shape}", width)
        )
    return lines if planned else []


def table(explanation: Explanation) -> str:
    """A line for each step."""
    timed = explanation.ms is not None
    rows = [
        ("step", "name", "operator", "kernel", "makes", "scratch", "FLOP", "time" if timed else "estimate")
    ]
    for operator in explanation.operators:
        ms = operator.ms if timed else operator.estimated_ms
        rows.append(
            (
                str(operator.step),
                operator.name,
                operator.op,
                operator.kernel,
                byte_text(operator.bytes),
                byte_text(operator.scratch_bytes) if operator.scratch_bytes else "",
                _flop_text(operator.flops).removesuffix("FLOP").rstrip() if operator.flops else "",
                "" if ms is None else _time_text(ms),
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if 1 <= i <= 3 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def report(explanation: Explanation, width: int) -> str:
    """All of it as text."""
    lines = [_cut(line, width) for line in _head(explanation)]
    lines += _passes(explanation, width)
    lines += _apart(explanation, width)
    lines += _whole(explanation, width)
    lines += _memory_maps(explanation, width)
    lines += _strategies(explanation)
    lines += _largest(explanation, width)
    lines += _slowest(explanation, width)
    return "\n".join(lines) + "\n"
