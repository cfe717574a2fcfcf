# SPDX-License-Identifier: Apache-2.0
"""The memory plan of an :class:`~loomix.explanation.Explanation` as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from ._explanation_text import alive, byte_text, number_text, taken_over

if TYPE_CHECKING:
    from .explanation import Arena, Explanation, Value

_WIDTH, _HEIGHT, _LEFT, _TOP, _BELOW = 960, 380, 74, 46, 58
_PLOT = _WIDTH - _LEFT - 96
_LEAST = 0.25  # pixels: lower rectangles cannot be seen
_MOST = 10_000  # rectangles: those with the smallest areas are left out
# Colour and meaning of each class of values, in the order of the legend.
_CLASSES = {
    "forward": ("#8fb8de", "forward"),
    "kept": ("#1f5fa8", "kept for gradients"),
    "gradient": ("#e9a75b", "backward"),
    "again": ("#6fb98f", "computed again"),
    "scratch": ("#b9bec6", "scratch"),
}


def _class_of(explanation: Explanation, value: Value) -> str:
    if value.kind == "scratch":
        return "scratch"
    operator = explanation.operators[value.first]
    if operator.gradient_of:
        return "again" if operator.again else "gradient"
    return "kept" if value.last >= explanation.forward_steps else "forward"


def _title(explanation: Explanation, value: Value) -> str:
    writer = explanation.operators[value.first]
    lines = [f"{value.name or 'scratch memory of ' + writer.name}: {byte_text(value.bytes)}"]
    if value.kind != "scratch":
        lines.append(
            f"{value.dtype} {value.shape}" + (", kept for the gradient" if value.kind == "saved" else "")
        )
    lines.append(f"step {value.first}: {writer.name} ({writer.op}) writes it")
    if value.last > value.first:
        reader = explanation.operators[value.last]
        lines.append(f"step {value.last}: {reader.name} ({reader.op}) reads it last")
    if value.inplace_of >= 0:
        lines.append(f"in place of {explanation.values[value.inplace_of].name}")
    return "\n".join(lines)


class _Panel:
    """The picture of one device's memory."""

    def __init__(self, explanation: Explanation, arena: Arena, top: float) -> None:
        self.explanation, self.arena, self.top = explanation, arena, top
        self.steps = max(1, len(explanation.operators))
        self.taken = taken_over(explanation)
        self.parts: list[str] = []
        self.classes: set[str] = set()

    def x(self, step: float) -> float:
        return _LEFT + _PLOT * step / self.steps

    def y(self, offset: float) -> float:
        return self.top + _HEIGHT * (1 - offset / max(1, self.arena.planned))

    def height(self, value: Value) -> float:
        return _HEIGHT * value.bytes / max(1, self.arena.planned)

    def draw(self) -> list[str]:
        self._axes()
        planned = [
            (value, value.last + (number not in self.taken))
            for number, value in enumerate(self.explanation.values)
            if value.device == self.arena.device and value.offset >= 0
        ]
        seen = [item for item in planned if self.height(item[0]) >= _LEAST]
        if len(seen) > _MOST:
            seen.sort(key=lambda item: item[0].bytes * (item[1] - item[0].first), reverse=True)
            del seen[_MOST:]
        for value, end in seen:
            self._rectangle(value, end)
        hidden = len(planned) - len(seen)
        self._alive()
        self._lines()
        if hidden:
            self._text(
                _LEFT + _PLOT, self.top + _HEIGHT + 32, f"{hidden} small values are not drawn", "end", "#777"
            )
        return self.parts

    def _text(self, x: float, y: float, text: str, anchor: str = "start", fill: str = "#333") -> None:
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'
        )

    def _line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        self.parts.append(f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" {style}/>')

    def _axes(self) -> None:
        for i in range(5):
            size = self.arena.planned * i / 4
            self._line(_LEFT, self.y(size), _LEFT + _PLOT, self.y(size), 'stroke="#e4e7eb"')
            self._text(_LEFT - 6, self.y(size) + 4, byte_text(size, self.arena.planned) if i else "0", "end")
        ticks = sorted({round(self.steps * i / 6) for i in range(7)})
        for step in ticks:
            self._text(self.x(step), self.top + _HEIGHT + 16, str(step), "middle")
        self._text(_LEFT + _PLOT + 22, self.top + _HEIGHT + 16, "step")

    def _rectangle(self, value: Value, end: int) -> None:
        height = self.height(value)
        kind = _class_of(self.explanation, value)
        self.classes.add(kind)
        left, right = self.x(value.first), self.x(end)
        y = self.y(value.offset) - height
        border = min(0.4, height / 8)
        title = escape(_title(self.explanation, value))
        self.parts.append(
            f'<rect x="{left:.2f}" y="{y:.2f}" width="{right - left:.2f}" height="{height:.2f}" '
            f'fill="{_CLASSES[kind][0]}" stroke="white" stroke-width="{border:.2f}"><title>{title}</title></rect>'
        )

    def _alive(self) -> None:
        """The bytes in use at each step, as a line."""
        points = []
        for step, size in enumerate(alive(self.explanation, self.arena.device)):
            points.append(f"{self.x(step):.1f} {self.y(size):.1f}H{self.x(step + 1):.1f}")
        if points:
            path = "M" + "V".join([points[0], *(f"{p.split()[1]}" for p in points[1:])])
            self.parts.append(
                f'<path d="{path}" fill="none" stroke="#222" stroke-width="0.8" pointer-events="none"/>'
            )

    def _lines(self) -> None:
        arena, right = self.arena, _LEFT + _PLOT
        self._line(_LEFT, self.y(arena.planned), right, self.y(arena.planned), 'stroke="#222"')
        bound = self.y(arena.lower_bound)
        self._line(_LEFT, bound, right, bound, 'stroke="#c0392b" stroke-width="1.5" stroke-dasharray="6 3"')
        near = bound - self.y(arena.planned) < 26
        self._text(right + 4, self.y(arena.planned) + 4, f"{byte_text(arena.planned)} planned")
        self._text(
            right + 4,
            max(bound, self.y(arena.planned) + 14 if near else bound) + 4,
            "lower bound",
            fill="#c0392b",
        )
        if arena.lower_bound:
            x = self.x(arena.peak + 0.5)
            self._line(x, bound, x, self.top + _HEIGHT, 'stroke="#c0392b" stroke-dasharray="2 3"')
            self._text(x, self.top + _HEIGHT + 32, f"peak, step {arena.peak}", "middle", "#c0392b")
        if 0 < self.explanation.forward_steps < self.steps:
            x = self.x(self.explanation.forward_steps)
            self._line(x, self.top, x, self.top + _HEIGHT, 'stroke="#555" stroke-dasharray="1 3"')
            self._text(x - 5, self.top - 6, "forward", "end", "#555")
            self._text(x + 5, self.top - 6, "backward", fill="#555")


def picture(explanation: Explanation) -> str:
    """The SVG: a panel for each device."""
    parts: list[str] = []
    classes: set[str] = set()
    y = float(_TOP)
    for arena in explanation.arenas:
        panel = _Panel(explanation, arena, y)
        place = f" on {arena.device}" if len(explanation.arenas) > 1 else ""
        ratio = arena.naive / max(1, arena.planned)
        panel._text(
            10,
            y - 24,
            f"{explanation.title}{place}: {byte_text(arena.planned)} planned, {number_text(ratio)} times less than "
            f"the {byte_text(arena.naive)} of values that share nothing",
        )
        parts += panel.draw()
        classes |= panel.classes
        y += _HEIGHT + _TOP + _BELOW
    x = float(_LEFT)
    for kind, (colour, meaning) in _CLASSES.items():
        if kind in classes:
            parts.append(f'<rect x="{x}" y="{y - 58}" width="11" height="11" fill="{colour}"/>')
            parts.append(f'<text x="{x + 16}" y="{y - 48}" fill="#333">{meaning}</text>')
            x += 40 + 7 * len(meaning)
    parts.append(
        f'<path d="M{x} {y - 52}h14" stroke="#222"/><text x="{x + 19}" y="{y - 48}" fill="#333">in use</text>'
    )
    height = y - 36
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" width="{_WIDTH}" '
        f'height="{height:.0f}" font-family="sans-serif" font-size="11">'
        f'<rect width="{_WIDTH}" height="{height:.0f}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
