# SPDX-License-Identifier: Apache-2.0
"""``sym.npx.random``: draws whose shape follows that of the parameters."""

from ...numpy_extension import random as _random
from ..numpy._functions import functions

FUNCTIONS = functions(
    "npx.random.", {key: getattr(_random, key) for key in _random.__all__ if key != "seed"}, __name__
)
globals().update(FUNCTIONS)
__all__ = [*FUNCTIONS]  # noqa: PLE0604 - made of the table
