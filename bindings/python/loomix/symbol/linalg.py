# SPDX-License-Identifier: Apache-2.0
"""The linalg operators on symbols, made from the operator table."""

from .. import _operators

globals().update(_operators.functions("symbol", "linalg"))
__all__ = [name for name, value in list(globals().items()) if type(value).__name__ == "OpFunction"]
