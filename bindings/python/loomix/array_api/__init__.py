# SPDX-License-Identifier: Apache-2.0
"""The Python array API standard, version 2024.12, on arrays of ``mx.np``.

``x.__array_namespace__()`` is this module. It is apart from ``mx.np``, whose rules are MXNet's: here lists of integers
become int64 and not float32, sums of int8 are int64, and arguments have the standard's names. docs/guides/numpy.md
lists what is missing.
"""

from __future__ import annotations

from typing import Any

from . import linalg as linalg
from ._creation import FUNCTIONS as _creation
from ._elementwise import FUNCTIONS as _elementwise
from ._information import __array_namespace_info__ as __array_namespace_info__
from ._manipulation import FUNCTIONS as _manipulation
from ._reductions import FUNCTIONS as _reductions
from ._search import FUNCTIONS as _search
from ._types import DTYPES as _DTYPES
from ._types import FUNCTIONS as _types

__array_api_version__ = "2024.12"

_FUNCTIONS: dict[str, Any] = {
    **_creation,
    **_types,
    **_elementwise,
    **_manipulation,
    **_reductions,
    **_search,
    **{name: getattr(linalg, name) for name in ("matmul", "matrix_transpose", "tensordot", "vecdot")},
}
globals().update(_FUNCTIONS)
globals().update(_DTYPES)
e, pi, inf, nan, newaxis = 2.718281828459045, 3.141592653589793, float("inf"), float("nan"), None

__all__ = [  # noqa: PLE0604 - made of the tables
    "__array_api_version__",
    "__array_namespace_info__",
    *_FUNCTIONS,
    *_DTYPES,
    *("e", "pi", "inf", "nan", "newaxis", "linalg"),
]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'loomix.array_api' has no attribute {name!r}")
