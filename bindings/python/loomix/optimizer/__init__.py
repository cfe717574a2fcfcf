# SPDX-License-Identifier: Apache-2.0
"""Optimizers: rules by which a gradient changes a weight, and the files that keep their states."""

from .. import _star
from . import contrib, optimizer
from .adaptive import FTML, LAMB, AdaDelta, AdaGrad, Adam, Adamax, Ftrl, Nadam, RMSProp
from .base import Optimizer, Test, create, register
from .sgd import DCASGD, LARS, LBSGD, NAG, SGD, SGLD, Signum, ccSGD
from .updater import Updater, get_updater

__all__ = [
    "DCASGD",
    "FTML",
    "LAMB",
    "LARS",
    "LBSGD",
    "NAG",
    "SGD",
    "SGLD",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "Adamax",
    "Ftrl",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "Signum",
    "Test",
    "Updater",
    "ccSGD",
    "contrib",
    "create",
    "get_updater",
    "optimizer",
    "register",
]

_star.complete(globals(), "NDabs")
