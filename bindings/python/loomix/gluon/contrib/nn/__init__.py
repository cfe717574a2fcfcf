# SPDX-License-Identifier: Apache-2.0
"""Layers that are not in ``gluon.nn``."""

from .basic_layers import *  # noqa: F403
from .basic_layers import __all__ as __all__
