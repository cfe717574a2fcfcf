# SPDX-License-Identifier: Apache-2.0
"""Symbols: computations as data (``mx.sym``)."""

from . import _internal as _internal
from . import contrib, image, linalg, op, random, sparse, symbol
from .op import *  # noqa: F403
from .symbol import *  # noqa: F403

__all__ = symbol.__all__ + op.__all__  # type: ignore[attr-defined]
__all__ += ["contrib", "image", "linalg", "op", "random", "sparse"]
