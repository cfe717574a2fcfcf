# SPDX-License-Identifier: Apache-2.0
"""All recurrent cells, under MXNet's name for their module."""

from .. import _star
from ..base import numeric_types, string_types
from .base_cell import BaseRNNCell, RNNParams
from .base_cell import _normalize_sequence as _normalize_sequence
from .cells import BidirectionalCell, GRUCell, LSTMCell, RNNCell, SequentialRNNCell
from .conv_cells import BaseConvRNNCell, ConvGRUCell, ConvLSTMCell, ConvRNNCell
from .fused_cell import FusedRNNCell
from .modifier_cells import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell

__all__ = [
    "BaseConvRNNCell",
    "BaseRNNCell",
    "BidirectionalCell",
    "ConvGRUCell",
    "ConvLSTMCell",
    "ConvRNNCell",
    "DropoutCell",
    "FusedRNNCell",
    "GRUCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RNNParams",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
    "numeric_types",
    "string_types",
]

_star.complete(globals(), "functools init ndarray symbol warnings")
