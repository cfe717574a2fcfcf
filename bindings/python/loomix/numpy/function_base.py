# SPDX-License-Identifier: Apache-2.0
"""MXNet's place of ``np.meshgrid``."""

from ._shape import meshgrid

__all__ = ["meshgrid"]
