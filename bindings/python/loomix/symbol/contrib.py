# SPDX-License-Identifier: Apache-2.0
"""The contrib operators on symbols, made from the operator table, and functions on top of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _operators, candidates
from .control_flow import cond, foreach, while_loop

if TYPE_CHECKING:
    from ..symbol import Symbol
    from ._generated_contrib import *  # noqa: F403

globals().update(_operators.functions("symbol", "contrib"))
__all__ = [name for name, value in list(globals().items()) if type(value).__name__ == "OpFunction"]
__all__ += ["cond", "foreach", "rand_zipfian", "while_loop"]


def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> tuple[Symbol, Symbol, Symbol]:
    """Symbols for what :func:`loomix.ndarray.contrib.rand_zipfian` draws."""
    from .. import symbol as sym

    return candidates.rand_zipfian(sym, true_classes, num_sampled, range_max)


if not TYPE_CHECKING:  # which would take any name then

    def __getattr__(name):
        raise _operators.missing("symbol.contrib", name, __all__)
