# SPDX-License-Identifier: Apache-2.0
"""NumPy's interface on symbols (``mx.sym.np``): the functions of ``mx.np`` as nodes, whose shapes may be known late."""

from __future__ import annotations

from typing import Any

from ... import numpy as _numpy
from ...numpy._base import no_such_name
from ._functions import functions
from ._symbol import _Symbol as _Symbol

FUNCTIONS = functions("", _numpy.FUNCTIONS, __name__)
globals().update(FUNCTIONS)

from . import linalg as linalg  # noqa: E402
from . import random as random  # noqa: E402

__all__ = [*FUNCTIONS, "_Symbol", "linalg", "random"]  # noqa: PLE0604 - made of the table


def __getattr__(name: str) -> Any:
    raise no_such_name("loomix.symbol.numpy", name, FUNCTIONS)
