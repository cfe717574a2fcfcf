# SPDX-License-Identifier: Apache-2.0
"""Random symbols: ``mx.sym.np.random``. Each pass draws anew."""

from ...numpy import random as _random
from ._functions import functions

FUNCTIONS = functions(
    "random.",
    {
        key: value
        for key, value in vars(_random).items()
        if not key.startswith("_") and getattr(value, "__module__", "") == _random.__name__ and key != "seed"
    },
    __name__,
)
FUNCTIONS["shuffle"] = FUNCTIONS["permutation"]  # a symbol is not changed
globals().update(FUNCTIONS)
__all__ = [*FUNCTIONS]  # noqa: PLE0604 - made of the table
