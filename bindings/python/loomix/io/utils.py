# SPDX-License-Identifier: Apache-2.0
"""What the iterators make of the data that they are given."""

from __future__ import annotations

from typing import Any

from .. import _star
from .ndarray_iter import named_arrays

__all__: list[str] = []


def _init_data(data: Any, allow_empty: bool, default_name: str) -> list[tuple[str, Any]]:
    """A list of (name, NDArray) pairs from an array, a list or a dict of arrays, in the order of the names."""
    return named_arrays(data, default_name, allow_empty)


def _has_instance(data: Any, dtype: type) -> bool:
    """Whether one of (name, array) pairs is of a class."""
    return any(isinstance(array, dtype) for _, array in data)


def _getdata_by_idx(data: Any, idx: Any) -> list[tuple[str, Any]]:
    """The samples with these numbers, of each of (name, array) pairs."""
    from ..ndarray import array, take
    from .ndarray_iter import sparse_rows

    index = array(idx, dtype="int32")
    return [
        (
            name,
            take(values, index.as_in_context(values.context))
            if values.stype == "default"
            else sparse_rows(values, idx),
        )
        for name, values in data
    ]


def __getattr__(name: str) -> Any:
    from .. import ndarray

    if name == "sparse_array":
        return ndarray.sparse.array
    if name in ("CSRNDArray", "NDArray", "array"):
        return getattr(ndarray, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_star.complete(globals(), "CSRNDArray NDArray OrderedDict array np sparse_array")
