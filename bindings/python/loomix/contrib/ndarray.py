# SPDX-License-Identifier: Apache-2.0
"""The contrib operators on arrays, as :mod:`loomix.ndarray.contrib` has them."""

from ..ndarray import contrib as _contrib
from ..ndarray.contrib import *  # noqa: F403

__all__ = _contrib.__all__
