# SPDX-License-Identifier: Apache-2.0
"""Symbols: computations as data (``mx.sym``)."""

import importlib
from typing import TYPE_CHECKING

from .. import _operators, _star
from . import _internal as _internal
from . import contrib, image, linalg, op, random, sparse, symbol
from .op import *  # noqa: F403
from .symbol import *  # noqa: F403

__all__ = symbol.__all__ + op.__all__  # type: ignore[attr-defined]
__all__ += ["contrib", "image", "linalg", "op", "random", "sparse"]

# Loaded when they are used.
_LATE = {
    "np": "numpy",
    "npx": "numpy_extension",
    "numpy": "numpy",
    "numpy_extension": "numpy_extension",
}

if not TYPE_CHECKING:  # which would take any name then

    def __getattr__(name):
        if name in _LATE:
            return importlib.import_module(f"{__name__}.{_LATE[name]}")
        raise _operators.missing("symbol", name, __all__)


_star.complete(globals(), "numpy_extension")
