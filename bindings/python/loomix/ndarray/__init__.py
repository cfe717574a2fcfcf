# SPDX-License-Identifier: Apache-2.0
"""Arrays and the operators on them (``mx.nd``)."""

from . import _internal, contrib, image, linalg, ndarray, op, random, sparse, utils
from .ndarray import *  # noqa: F403
from .op import *  # noqa: F403
from .sparse import CSRNDArray, RowSparseNDArray
from .utils import *  # noqa: F403

# A function of this package wins over an operator of the same name.
from .ndarray import *  # noqa: E402, F403
from .utils import array, empty, load, load_frombuffer, save, zeros  # noqa: E402
from .ndarray import _DTYPE_MX_TO_NP, _DTYPE_NP_TO_MX, _GRAD_REQ_MAP  # noqa: E402, F401

__all__ = [
    *ndarray.__all__,
    *op.__all__,
    *utils.__all__,
    "CSRNDArray",
    "RowSparseNDArray",
    "contrib",
    "image",
    "linalg",
    "op",
    "random",
    "sparse",
]
