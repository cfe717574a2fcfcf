# SPDX-License-Identifier: Apache-2.0
"""The sparse operators on symbols, made from the operator table."""

from typing import TYPE_CHECKING

from .. import _operators

if TYPE_CHECKING:
    from ._generated_sparse import *  # noqa: F403

globals().update(_operators.functions("symbol", "sparse"))
__all__ = [name for name, value in list(globals().items()) if type(value).__name__ == "OpFunction"]

if not TYPE_CHECKING:  # which would take any name then

    def __getattr__(name):
        raise _operators.missing("symbol.sparse", name, __all__)
