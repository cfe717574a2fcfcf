# SPDX-License-Identifier: Apache-2.0
"""MXNet's module path of the optimizers; see the package."""

from .. import _star
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
    "create",
    "get_updater",
    "register",
]

_star.complete(
    globals(), "NDabs", "NDArray array cast is_np_array logging math os pickle py_str sqrt warnings zeros"
)
