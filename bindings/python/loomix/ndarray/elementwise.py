# SPDX-License-Identifier: Apache-2.0
"""Functions of two arrays, or of an array and a number."""

from __future__ import annotations

import operator
from typing import Any

from ..base import MXNetTypeError, numeric_types
from . import _internal, op
from .ndarray import NDArray

__all__ = [
    "add",
    "divide",
    "equal",
    "greater",
    "greater_equal",
    "lesser",
    "lesser_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "modulo",
    "multiply",
    "not_equal",
    "power",
    "subtract",
    "true_divide",
]


def _binary(name: str, what: str, on_arrays: Any, on_right: Any, on_left: Any, on_numbers: Any) -> Any:
    """A function of two arrays or numbers: the broadcasting operator, the one with a number on the right, the one with
    it on the left, and what two numbers give."""
    on_arrays = getattr(op, on_arrays, None)
    on_right, on_left = getattr(_internal, on_right, None), getattr(_internal, on_left, None)

    def function(lhs: Any, rhs: Any) -> Any:
        if isinstance(lhs, NDArray):
            if isinstance(rhs, NDArray):
                return on_arrays(lhs, rhs)
            if isinstance(rhs, numeric_types):
                return on_right(lhs, scalar=float(rhs))
        elif isinstance(lhs, numeric_types):
            if isinstance(rhs, NDArray):
                return on_left(rhs, scalar=float(lhs))
            if isinstance(rhs, numeric_types):
                return on_numbers(lhs, rhs)
        raise MXNetTypeError(
            f"[{name}] got {type(lhs).__name__} and {type(rhs).__name__}; expected NDArrays and numbers."
        )

    function.__name__ = function.__qualname__ = name
    values = [float(on_numbers(value, 2)) for value in (2, 5)]
    function.__doc__ = f"""{what}, for each element, with broadcasting; either side may be a number.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.nd.{name}(mx.nd.array([2, 5]), 2).asnumpy().tolist()
    {values}
    """
    return function


def _compare(name: str, what: str, reverse: Any, on_numbers: Any) -> Any:
    return _binary(
        name,
        f"1 where {what}, else 0",
        f"broadcast_{name}",
        f"_{name}_scalar",
        f"_{reverse}_scalar",
        lambda lhs, rhs: int(on_numbers(lhs, rhs)),
    )


add = _binary("add", "Sum", "broadcast_add", "_plus_scalar", "_plus_scalar", operator.add)
subtract = _binary("subtract", "Difference", "broadcast_sub", "_minus_scalar", "_rminus_scalar", operator.sub)
multiply = _binary("multiply", "Product", "broadcast_mul", "_mul_scalar", "_mul_scalar", operator.mul)
divide = _binary("divide", "Quotient", "broadcast_div", "_div_scalar", "_rdiv_scalar", operator.truediv)
true_divide = divide
modulo = _binary("modulo", "Remainder", "broadcast_mod", "_mod_scalar", "_rmod_scalar", operator.mod)
_power = _binary("power", "Power", "broadcast_power", "_power_scalar", "_rpower_scalar", operator.pow)
maximum = _binary("maximum", "Larger value", "broadcast_maximum", "_maximum_scalar", "_maximum_scalar", max)
minimum = _binary("minimum", "Smaller value", "broadcast_minimum", "_minimum_scalar", "_minimum_scalar", min)
equal = _compare("equal", "equal", "equal", operator.eq)
not_equal = _compare("not_equal", "different", "not_equal", operator.ne)
greater = _compare("greater", "lhs > rhs", "lesser", operator.gt)
greater_equal = _compare("greater_equal", "lhs >= rhs", "lesser_equal", operator.ge)
lesser = _compare("lesser", "lhs < rhs", "greater", operator.lt)
lesser_equal = _compare("lesser_equal", "lhs <= rhs", "greater_equal", operator.le)
logical_and = _compare("logical_and", "both are true", "logical_and", lambda a, b: bool(a) and bool(b))
logical_or = _compare("logical_or", "one is true", "logical_or", lambda a, b: bool(a) or bool(b))
logical_xor = _compare("logical_xor", "exactly one is true", "logical_xor", lambda a, b: bool(a) != bool(b))


def power(base: Any, exp: Any) -> Any:
    """``base`` to the power ``exp``, for each element, with broadcasting; either side may be a number.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.nd.power(2, mx.nd.array([1, 3])).asnumpy().round(3)
    array([2., 8.], dtype=float32)
    """
    return _power(base, exp)
