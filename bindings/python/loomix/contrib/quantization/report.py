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
    """One layer. `range`: of its output; `decibels`: the power of the output over that of what rounding changed,
    or None where there was no calibration; `kept`: why it was left in float, or None.

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


class QuantizationReport:
    """Filled by ``quantize_model(..., report=QuantizationReport())``. ``print`` shows it; :meth:`svg` draws it.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.contrib import quantization
    >>> report = quantization.QuantizationReport()
    >>> report.layers.append(quantization.LayerReport("fc", (-1.0, 2.0), 41.5))
    >>> print(report)
    layer       least    greatest  error dB
    fc             -1           2      41.5
    """

    def __init__(self) -> None:
        self.layers: list[LayerReport] = []

    def __str__(self) -> str:
        width = max([len(layer.name) for layer in self.layers], default=5)
        lines = [f"{'layer':{width}}  {'least':>10}  {'greatest':>10}  {'error dB':>8}"]
        for layer in self.layers:
            if layer.kept is not None:
                lines.append(f"{layer.name:{width}}  left in float: {layer.kept}")
                continue
            if layer.range is None:
                lines.append(f"{layer.name:{width}}  {layer.note}")
                continue
            ends = [f"{end:10.4g}" for end in layer.range]
            error = f"{layer.decibels:8.1f}" if layer.decibels is not None else ""
            lines.append(f"{layer.name:{width}}  {ends[0]}  {ends[1]}  {error}")
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
    lost = float(np.square(values - whole * step, dtype=np.float64).sum())
    power = float(np.square(values, dtype=np.float64).sum())
    return math.inf if lost == 0 else 10 * math.log10(power / lost) if power else -math.inf
