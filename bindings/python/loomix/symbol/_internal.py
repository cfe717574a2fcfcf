# SPDX-License-Identifier: Apache-2.0
"""The operators on symbols whose names begin with an underscore, made from the operator table."""

from .. import _operators

globals().update(_operators.functions("symbol", "_internal"))
__all__ = [name for name, value in list(globals().items()) if type(value).__name__ == "OpFunction"]
