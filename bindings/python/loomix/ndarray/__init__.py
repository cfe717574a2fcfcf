# SPDX-License-Identifier: Apache-2.0
"""Arrays and the operators on them (``mx.nd``)."""

import importlib
from typing import TYPE_CHECKING

from .. import _operators, _star
from . import _internal as _internal
from . import contrib, image, linalg, ndarray, op, random, sparse, utils
from .ndarray import *  # noqa: F403
from .ndarray import _DTYPE_MX_TO_NP as _DTYPE_MX_TO_NP
from .ndarray import _DTYPE_NP_TO_MX as _DTYPE_NP_TO_MX
from .ndarray import _GRAD_REQ_MAP as _GRAD_REQ_MAP
from .op import *  # noqa: F403
from .sparse import CSRNDArray, RowSparseNDArray
from .utils import *  # noqa: F403 - last: its functions take every storage type

__all__ = ndarray.__all__ + op.__all__ + utils.__all__  # type: ignore[attr-defined]
__all__ += ["CSRNDArray", "RowSparseNDArray", "contrib", "image", "linalg", "op", "random", "sparse"]

# What `F.np` and `F.npx` are in a block that runs on arrays; loaded when they are used.
_LATE = {
    "np": "loomix.numpy",
    "npx": "loomix.numpy_extension",
    "numpy": "loomix.numpy",
    "numpy_extension": "loomix.numpy_extension",
}

if not TYPE_CHECKING:  # which would take any name then

    def __getattr__(name):
        if name in _LATE:
            return importlib.import_module(_LATE[name])
        raise _operators.missing("ndarray", name, __all__)


_star.complete(globals(), "_DTYPE_MX_TO_NP _DTYPE_NP_TO_MX _GRAD_REQ_MAP", "_ndarray_cls")
