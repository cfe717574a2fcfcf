# SPDX-License-Identifier: Apache-2.0
"""The kinds of blocks."""

from .base_block import Block
from .hybrid_block import HybridBlock
from .symbol_block import SymbolBlock

__all__ = ["Block", "HybridBlock", "SymbolBlock"]
