# SPDX-License-Identifier: Apache-2.0
"""Linear algebra on symbols: ``mx.sym.np.linalg``."""

from ...numpy import linalg as _linalg
from ._functions import functions

FUNCTIONS = functions("linalg.", _linalg.FUNCTIONS, __name__)
globals().update(FUNCTIONS)
__all__ = [*FUNCTIONS]  # noqa: PLE0604 - made of the table
