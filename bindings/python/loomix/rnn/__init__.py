# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells for symbols, their checkpoints, and iterators over sentences."""

from .. import _star
from .io import BucketSentenceIter, DataBatch, DataDesc, DataIter, encode_sentences
from .rnn import (
    do_rnn_checkpoint,
    load_checkpoint,
    load_rnn_checkpoint,
    rnn_unroll,
    save_checkpoint,
    save_rnn_checkpoint,
)
from .rnn_cell import (
    BaseConvRNNCell,
    BaseRNNCell,
    BidirectionalCell,
    ConvGRUCell,
    ConvLSTMCell,
    ConvRNNCell,
    DropoutCell,
    FusedRNNCell,
    GRUCell,
    LSTMCell,
    ModifierCell,
    ResidualCell,
    RNNCell,
    RNNParams,
    SequentialRNNCell,
    ZoneoutCell,
    numeric_types,
    string_types,
)

__all__ = [
    "BaseConvRNNCell",
    "BaseRNNCell",
    "BidirectionalCell",
    "BucketSentenceIter",
    "ConvGRUCell",
    "ConvLSTMCell",
    "ConvRNNCell",
    "DataBatch",
    "DataDesc",
    "DataIter",
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
    "do_rnn_checkpoint",
    "encode_sentences",
    "load_checkpoint",
    "load_rnn_checkpoint",
    "numeric_types",
    "rnn_unroll",
    "save_checkpoint",
    "save_rnn_checkpoint",
    "string_types",
]

_star.complete(globals(), "bisect functools init io ndarray np random rnn rnn_cell symbol warnings")
