# SPDX-License-Identifier: Apache-2.0
"""The kinds of blocks."""

from __future__ import annotations

from typing import Any

from ..ndarray import NDArray
from ..symbol import Symbol
from .base_block import Block
from .base_block import _BlockScope as _BlockScope
from .hybrid_block import HybridBlock, flatten, regroup
from .symbol_block import SymbolBlock

__all__ = ["Block", "HybridBlock", "SymbolBlock"]


# Libraries take nested inputs apart with these two.
def _flatten(args: Any, inout_str: str) -> tuple[list[Any], Any]:
    return flatten(args, inout_str, (NDArray, Symbol))


def _regroup(args: list[Any], fmt: Any) -> tuple[Any, list[Any]]:
    """The structure, and what of `args` is left over."""
    rest = list(args)
    return regroup(rest, fmt), rest
