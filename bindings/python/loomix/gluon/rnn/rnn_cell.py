# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells, under the name of the module that they have in MXNet."""

from .base_cell import HybridRecurrentCell, RecurrentCell
from .cell_groups import BidirectionalCell, HybridSequentialRNNCell, SequentialRNNCell
from .cells import GRUCell, LSTMCell, RNNCell
from .modifier_cells import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell

__all__ = [
    "BidirectionalCell",
    "DropoutCell",
    "GRUCell",
    "HybridRecurrentCell",
    "HybridSequentialRNNCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RecurrentCell",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]
