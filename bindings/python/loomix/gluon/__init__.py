# SPDX-License-Identifier: Apache-2.0
"""Gluon: networks as Python classes (``mx.gluon``)."""

from .. import _star
from . import contrib, data, loss, model_zoo, nn, rnn, utils
from .block import Block, HybridBlock, SymbolBlock
from .parameter import Constant, DeferredInitializationError, Parameter, ParameterDict, tensor_types
from .trainer import Trainer

__all__ = [
    "Block",
    "Constant",
    "DeferredInitializationError",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "SymbolBlock",
    "Trainer",
    "contrib",
    "data",
    "loss",
    "model_zoo",
    "nn",
    "rnn",
    "tensor_types",
    "utils",
]

_star.complete(globals(), "block parameter trainer")
