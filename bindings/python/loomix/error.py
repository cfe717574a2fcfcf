# SPDX-License-Identifier: Apache-2.0
"""MXNet's module of error types: the classes of :mod:`loomix.base` under their usual names."""

from .base import InternalError, MXNetError

__all__ = ["InternalError", "MXNetError"]
