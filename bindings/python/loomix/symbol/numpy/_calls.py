# SPDX-License-Identifier: Apache-2.0
"""Arguments of calls that MXNet has no operator for, as the text of a node's attribute."""

from __future__ import annotations

from typing import Any

import numpy as onp

from ...base import MXNetTypeError
from ...context import Context
from ..symbol import Symbol

OPERATOR = "_np_call"


def encode(value: Any, inputs: list[Symbol]) -> Any:
    if isinstance(value, Symbol):
        inputs.append(value)
        return {"input": len(inputs) - 1}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, onp.generic):
        return value.item()
    if isinstance(value, tuple):
        return {"tuple": [encode(item, inputs) for item in value]}
    if isinstance(value, list):
        return [encode(item, inputs) for item in value]
    if isinstance(value, slice):
        return {"slice": [encode(item, inputs) for item in (value.start, value.stop, value.step)]}
    if value is Ellipsis:
        return {"ellipsis": 0}
    if isinstance(value, Context):
        return None  # of the graph's device
    if isinstance(value, onp.ndarray):
        return {"array": value.tolist(), "dtype": value.dtype.name}
    if isinstance(value, (type, onp.dtype)):
        from ...numpy._base import type_name

        return {"type": type_name(value)}
    raise MXNetTypeError(
        f"[sym.np] an argument is of type {type(value).__name__}; expected symbols, numbers, strings, and tuples and "
        "lists of them."
    )


def decode(value: Any, arrays: list[Any]) -> Any:
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    kind, content = next(iter(value.items()))
    if kind == "input":
        return arrays[content]
    if kind == "tuple":
        return tuple(decode(item, arrays) for item in content)
    if kind == "slice":
        return slice(*(decode(item, arrays) for item in content))
    if kind == "array":
        return onp.asarray(content, dtype=value["dtype"])
    return Ellipsis if kind == "ellipsis" else content
