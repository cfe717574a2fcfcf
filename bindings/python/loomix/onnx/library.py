# SPDX-License-Identifier: Apache-2.0
"""The package onnx, which is optional, and what ONNX and Loomix call their types and versions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import MXNetError, MXNetTypeError, MXNetValueError

OPSETS = range(13, 22)  # the versions of ONNX's operators that are written and read
DEFAULT_OPSET = 17
# The oldest version of the file format that has the opset. None is below 8, the first with functions.
_FORMATS = {19: 9, 20: 9, 21: 10}
_TYPES = {
    1: "float32", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64",
}  # fmt: skip
NUMBERS = {np.dtype(name): number for number, name in _TYPES.items()}
INT64_MAX = 2**63 - 1


def load_package(who: str) -> Any:
    """The module onnx.

    Raises
    ------
    MXNetError
        When it is not installed.
    """
    try:
        import onnx
    except ImportError:
        raise MXNetError(
            f"[{who}] the package onnx is not installed; run pip install 'loomix[onnx]'."
        ) from None
    return onnx


def check_opset(who: str, opset: Any) -> int:
    """The number, if it is one that is written and read."""
    if not isinstance(opset, (int, np.integer)) or opset not in OPSETS:
        raise MXNetValueError(
            f"[{who}] opset {opset!r} is not known; expected {OPSETS[0]} to {OPSETS[-1]}. "
            "onnx.version_converter may bring a file to one of these."
        )
    return int(opset)


def format_version(opset: int) -> int:
    """The version of the file format to write."""
    return _FORMATS.get(opset, 8)


def type_number(what: str, dtype: Any) -> int:
    """ONNX's number of a NumPy type."""
    number = NUMBERS.get(np.dtype(dtype))
    if number is None:
        name = "bfloat16" if np.dtype(dtype).names else np.dtype(dtype).name
        raise MXNetTypeError(f"{what} has type {name}; exported are {', '.join(_TYPES.values())}.")
    return number


def type_of(what: str, number: int) -> np.dtype[Any]:
    """The NumPy type of ONNX's number."""
    if number not in _TYPES:
        raise MXNetTypeError(
            f"{what} has ONNX's type number {number}; Loomix has {', '.join(_TYPES.values())}."
        )
    return np.dtype(_TYPES[number])
