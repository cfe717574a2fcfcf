# SPDX-License-Identifier: Apache-2.0
"""The operators on arrays, made from the operator table."""

from .. import _operators
from .cached_op import CachedOp as CachedOp

globals().update(_operators.functions("ndarray", "op"))
__all__ = [name for name, value in list(globals().items()) if type(value).__name__ == "OpFunction"]
__all__ += ["CachedOp"]
