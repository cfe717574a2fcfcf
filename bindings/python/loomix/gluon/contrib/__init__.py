# SPDX-License-Identifier: Apache-2.0
"""Layers that are not in ``gluon.nn``."""

from . import nn

__all__ = ["nn"]
