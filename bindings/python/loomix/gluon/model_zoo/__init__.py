# SPDX-License-Identifier: Apache-2.0
"""Well-known networks."""

from . import model_store, vision

__all__ = ["model_store", "vision"]
