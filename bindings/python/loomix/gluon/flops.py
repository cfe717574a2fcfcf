# SPDX-License-Identifier: Apache-2.0
"""Counts the arithmetic of a block from the graph that it is traced to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import symbol
from .._multiply_adds import multiply_adds
from ..base import MXNetError
from ..ndarray import NDArray
from .hybrid_block import HybridBlock, flatten, regroup

if TYPE_CHECKING:
    from .base_block import Block

__all__ = ["count_flops"]


def count_flops(block: Block, inputs: Sequence[Any]) -> int | None:
    """Two for each multiply-add (see :meth:`Block.summary`) of a block that is called with these inputs; None where it
    cannot be traced, as a plain Block."""
    if not isinstance(block, HybridBlock):
        return None
    try:
        leaves, form = flatten(inputs, "input", (NDArray,))
        names = [f"data{i}" for i in range(len(leaves))]
        symbols = [None if leaf is None else symbol.var(name) for leaf, name in zip(leaves, names)]
        traced, _ = flatten(block.forward(*regroup(symbols, form)), "output", (symbol.Symbol,))
        graph = symbol.Group([item for item in traced if item is not None])
        shapes = {name: leaf.shape for name, leaf in zip(names, leaves) if leaf is not None}
        shapes.update({name: param.shape for name, param in block.collect_params().items() if param.shape})
        used = set(graph.list_inputs())
        counts = multiply_adds(graph, {name: shape for name, shape in shapes.items() if name in used})
        return 2 * sum(count for _, count in counts.values())
    except (MXNetError, AttributeError, TypeError):  # what runs on arrays only, such as `if x.sum() > 0`
        return None
