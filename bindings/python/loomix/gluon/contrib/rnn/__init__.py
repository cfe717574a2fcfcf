# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells that are not in ``gluon.rnn``: with projection, with convolutions, with dropout of one mask."""

from . import conv_rnn_cell, rnn_cell
from .conv_rnn_cell import *  # noqa: F403
from .rnn_cell import *  # noqa: F403

__all__: list[str] = []
__all__ += conv_rnn_cell.__all__ + rnn_cell.__all__
