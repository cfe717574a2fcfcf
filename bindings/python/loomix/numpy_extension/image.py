# SPDX-License-Identifier: Apache-2.0
"""``npx.image``: the operators on images."""

from .. import _operators

globals().update(dict(_operators.functions("numpy", "image").items()))
__all__ = [name for name, value in list(globals().items()) if type(value).__name__ == "OpFunction"]
