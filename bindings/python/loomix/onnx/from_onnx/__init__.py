# SPDX-License-Identifier: Apache-2.0
"""How each of ONNX' operators is read: a table of functions, each from a node to the values of its outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..builder import Builder
from ..reader import Node
from . import control_flow, elementwise, images, indexing, layers, products, recurrent, shapes
from .images import own_function as own_function

IMPORTERS: dict[str, Callable[[Node, Builder], Any]] = {
    **elementwise.IMPORTERS,
    **shapes.IMPORTERS,
    **layers.IMPORTERS,
    **products.IMPORTERS,
    **indexing.IMPORTERS,
    **recurrent.IMPORTERS,
    **images.IMPORTERS,
    **control_flow.IMPORTERS,
}
