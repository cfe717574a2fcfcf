# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells, which go step by step, and recurrent layers, which read sequences in one operator."""

from ... import _star
from . import rnn_cell, rnn_layer
from .rnn_cell import *  # noqa: F403
from .rnn_layer import *  # noqa: F403

__all__: list[str] = []
__all__ += rnn_cell.__all__ + rnn_layer.__all__

_star.complete(globals(), "rnn_cell rnn_layer")
