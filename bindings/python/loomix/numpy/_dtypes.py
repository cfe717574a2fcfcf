# SPDX-License-Identifier: Apache-2.0
"""Questions about element types."""

from __future__ import annotations

import functools
from typing import Any

import numpy as onp

from .. import _core
from ._base import common_type, is_array, promoted, type_name

finfo, iinfo = onp.finfo, onp.iinfo


def promote_types(type1: Any, type2: Any) -> Any:
    """The type of a result of arrays of two types."""
    return onp.dtype(_core.numpy_dtype(promoted(type_name(type1), type_name(type2))))


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The type of a result of arrays, numbers and types together."""
    kinds = [
        common_type(x) if is_array(x) else x for x in arrays_and_dtypes if not isinstance(x, (int, float))
    ]
    numbers = [x for x in arrays_and_dtypes if isinstance(x, (int, float))]
    if not kinds:
        return onp.result_type(*numbers)
    from ._base import with_number

    found = functools.reduce(promoted, [type_name(x) for x in kinds])
    for number in numbers:
        found = with_number(found, number)
    return onp.dtype(_core.numpy_dtype(found))


def min_scalar_type(a: Any) -> Any:
    """The smallest type that holds a number; of an array, its type."""
    return onp.dtype(a.dtype) if is_array(a) else onp.min_scalar_type(a)
