# SPDX-License-Identifier: Apache-2.0
"""MXNet's helper for looking at symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .symbol import Symbol

__all__ = ["SymbolDoc"]


class SymbolDoc:
    """What documentation of symbols shows."""

    @staticmethod
    def get_output_shape(sym: Symbol, **input_shapes: Sequence[int]) -> dict[str, tuple[int, ...]]:
        """The shapes of the outputs by name.

        >>> import loomix as mx
        >>> net = mx.sym.Flatten(mx.sym.Variable("data"), name="flat")
        >>> SymbolDoc.get_output_shape(net, data=(2, 3, 4))
        {'flat_output': (2, 12)}
        """
        _, shapes, _ = sym.infer_shape(**input_shapes)
        return dict(zip(sym.list_outputs(), shapes))
