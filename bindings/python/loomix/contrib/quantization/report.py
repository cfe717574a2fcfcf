# SPDX-License-Identifier: Apache-2.0
"""What became of each layer."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

import numpy as np

_WIDTH, _ROW, _LABEL = 720, 18, 240
_WORST, _BEST = 10.0, 50.0  # decibels at the ends of the bars


@dataclass
class LayerReport:
    """One layer. `range`: of its output; `decibels`: the power of the output over that of what rounding changed, or
    None where there was no calibration; `weight_decibels`: the same of its weight; `kept`: why it was left in float,
    or None. `runs`: how prediction runs it on this processor: ``"int8"``, ``"int8, alone"`` where its neighbours are
    not part of it, or ``"float32"``, and `why` it is not ``"int8"``. `runs` is None where that is not known, for
    there was no calibration.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.contrib import quantization
    >>> quantization.LayerReport("fc", kept="excluded by name").kept
    'excluded by name'
    """

    name: str
    range: tuple[float, float] | None = None
    decibels: float | None = None
    kept: str | None = None
    note: str = ""  # of a layer without a range of its own: where its output's range comes from
    weight_decibels: float | None = None
    runs: str | None = None
    why: str = ""


class QuantizationReport:
    """Filled by ``quantize_model(..., report=QuantizationReport())``. ``print`` shows it; :meth:`svg` draws it.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.contrib import quantization
    >>> report = quantization.QuantizationReport()
    >>> report.layers.append(quantization.LayerReport("fc", (-1.0, 2.0), 41.5, weight_decibels=44.0, runs="int8"))
    >>> print(report)
    layer       least    greatest  error dB  weight dB  runs as
    fc             -1           2      41.5       44.0  int8
    """

    def __init__(self) -> None:
        self.layers: list[LayerReport] = []

    def __str__(self) -> str:
        width = max([len(layer.name) for layer in self.layers], default=5)
        lines = [
            f"{'layer':{width}}  {'least':>10}  {'greatest':>10}  {'error dB':>8}  {'weight dB':>9}  runs as"
        ]
        for layer in self.layers:
            if layer.kept is not None:
                lines.append(f"{layer.name:{width}}  left in float: {layer.kept}")
                continue
            ends = [f"{end:10.4g}" for end in layer.range] if layer.range else [" " * 10] * 2
            errors = [
                " " * room if value is None else f"{value:{room}.1f}"
                for room, value in ((8, layer.decibels), (9, layer.weight_decibels))
            ]
            runs = [layer.runs or "", layer.why] if layer.why else [layer.runs or ""]
            text = "  ".join([f"{layer.name:{width}}", *ends, *errors, ": ".join(runs)]).rstrip()
            lines.append(f"{text}  ({layer.note})" if layer.range is None and layer.note else text)
        return "\n".join(lines)

    def svg(self) -> str:
        """A picture: a bar for each layer, the longer the less was lost."""
        height = _ROW * (len(self.layers) + 1) + 8
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            'font-family="sans-serif" font-size="11">'
        ]
        for row, layer in enumerate(self.layers):
            y = _ROW * row + 4
            parts.append(f'<text x="4" y="{y + 12}">{html.escape(layer.name)}</text>')
            if layer.kept is not None or layer.decibels is None:
                text = layer.note if layer.kept is None else f"float: {layer.kept}"
                parts.append(f'<text x="{_LABEL}" y="{y + 12}" fill="#777">{html.escape(text)}</text>')
                continue
            share = min(max((layer.decibels - _WORST) / (_BEST - _WORST), 0.02), 1.0)
            width = share * (_WIDTH - _LABEL - 80)
            color = "#c0392b" if layer.decibels < 20 else "#2c7fb8"
            parts.append(f'<rect x="{_LABEL}" y="{y}" width="{width:.1f}" height="14" fill="{color}"/>')
            parts.append(f'<text x="{_LABEL + width + 6:.1f}" y="{y + 12}">{layer.decibels:.1f} dB</text>')
        return "\n".join([*parts, "</svg>"]) + "\n"


def decibels(values: np.ndarray, low: float, high: float, dtype: str) -> float:
    """How much louder the values are than what is lost when they are rounded within the range."""
    is_unsigned = dtype == "uint8" or (dtype == "auto" and low >= 0)
    step = max(abs(low), abs(high)) / (255 if is_unsigned else 127)
    whole = np.clip(np.rint(values / step), 0 if is_unsigned else -127, 255 if is_unsigned else 127)
    return louder(values, whole * step)


def louder(values: np.ndarray, rounded: np.ndarray) -> float:
    """The power of the values over that of what rounding changed, in decibels."""
    lost = float(np.square(values - rounded, dtype=np.float64).sum())
    power = float(np.square(values, dtype=np.float64).sum())
    return math.inf if lost == 0 else 10 * math.log10(power / lost) if power else -math.inf
