# SPDX-License-Identifier: Apache-2.0
"""MXNet's place of ``np.broadcast_arrays``."""

from ._shape import broadcast_arrays

__all__ = ["broadcast_arrays"]
