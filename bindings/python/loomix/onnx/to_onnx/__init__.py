# SPDX-License-Identifier: Apache-2.0
"""How each of Loomix' operators is written in ONNX: a table of functions, from a node to the names of its outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..graph import Node
from ..writer import Writer
from . import algebra, control_flow, detection, elementwise, indexing, layers, quantized, sequences, shapes

CONVERTERS: dict[str, Callable[[Node, Writer], Any]] = {
    **elementwise.CONVERTERS,
    **shapes.CONVERTERS,
    **layers.CONVERTERS,
    **quantized.CONVERTERS,
    **indexing.CONVERTERS,
    **algebra.CONVERTERS,
    **sequences.CONVERTERS,
    **detection.CONVERTERS,
    **control_flow.CONVERTERS,
}
# The first opset that has what an operator needs, where it is not the first of all.
NEWEST = {
    "BilinearSampler": 16,
    "SpatialTransformer": 16,
    "_contrib_ModulatedDeformableConvolution": 19,
    "col2im": 18,
}
