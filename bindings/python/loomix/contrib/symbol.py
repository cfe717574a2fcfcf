# SPDX-License-Identifier: Apache-2.0
"""The contrib operators on symbols, as :mod:`loomix.symbol.contrib` has them."""

from ..symbol import contrib as _contrib
from ..symbol.contrib import *  # noqa: F403

__all__ = _contrib.__all__
