# SPDX-License-Identifier: Apache-2.0
"""NumPy's interface on asynchronous arrays (``mx.np``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as _onp

from . import _fallback, multiarray
from ._base import no_such_name
from .multiarray import array as array
from .multiarray import ndarray as ndarray

if TYPE_CHECKING:
    from ._generated_functions import *  # noqa: F403

FUNCTIONS: dict[str, Any] = {**_fallback.FUNCTIONS, **multiarray.FUNCTIONS}
globals().update(FUNCTIONS)

from . import function_base as function_base  # noqa: E402
from . import io as io  # noqa: E402
from . import linalg as linalg  # noqa: E402
from . import random as random  # noqa: E402
from . import stride_tricks as stride_tricks  # noqa: E402
from ._dtypes import finfo as finfo  # noqa: E402
from ._dtypes import iinfo as iinfo  # noqa: E402
from ._dtypes import min_scalar_type, promote_types, result_type  # noqa: E402

genfromtxt = io.genfromtxt
FUNCTIONS.update(
    result_type=result_type,
    promote_types=promote_types,
    min_scalar_type=min_scalar_type,
    genfromtxt=genfromtxt,
)

# Constants and types; NumPy 2 has dropped some of the names.
pi, e, inf, nan, newaxis = _onp.pi, _onp.e, _onp.inf, _onp.nan, None
NAN = NaN = nan
PINF, NINF, PZERO, NZERO = inf, -inf, 0.0, -0.0
euler_gamma, Inf, infty = _onp.euler_gamma, inf, inf
float16, float32, float64 = _onp.float16, _onp.float32, _onp.float64
uint8, int8, int32, int64 = _onp.uint8, _onp.int8, _onp.int32, _onp.int64
bool_ = _onp.bool_
bool = bool
dtype = _onp.dtype


def set_printoptions(precision: Any = None, threshold: Any = None, **kwarg: Any) -> None:
    """How arrays are printed: official NumPy's settings."""
    _onp.set_printoptions(precision=precision, threshold=threshold, **kwarg)


__all__ = [  # noqa: PLE0604 - made of the tables
    *FUNCTIONS,
    *(
        "ndarray array linalg random pi e inf nan newaxis NAN NaN PINF NINF PZERO NZERO float16 float32 float64 "
        "uint8 int8 int32 int64 bool_ bool finfo iinfo set_printoptions"
    ).split(),
]


if not TYPE_CHECKING:  # which would take any name then

    def __getattr__(name: str) -> Any:
        raise no_such_name("loomix.numpy", name, FUNCTIONS)
