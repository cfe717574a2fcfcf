# SPDX-License-Identifier: Apache-2.0
"""Convolutions that are not in ``gluon.nn``."""

from .conv_layers import *  # noqa: F403
from .conv_layers import __all__ as __all__
