# SPDX-License-Identifier: Apache-2.0
"""Gluon: networks as Python classes (``mx.gluon``)."""

from . import data, loss, nn, utils
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
    "data",
    "loss",
    "nn",
    "tensor_types",
    "utils",
]
