# SPDX-License-Identifier: Apache-2.0
"""Automatic mixed precision: networks of float32 that compute in float16 or bfloat16 where that is safe."""

from ... import _star
from . import amp, lists, loss_scaler
from .amp import *  # noqa: F403

__all__ = amp.__all__ + ["lists", "loss_scaler"]

_star.complete(globals(), "amp")
