# SPDX-License-Identifier: Apache-2.0
"""MXNet's module of error types: the classes of :mod:`loomix.base` under their usual names."""

from .base import InternalError, MXNetError
from .base import register_error as register
from .base import register_error as register_error

__all__ = ["InternalError", "MXNetError", "register"]
