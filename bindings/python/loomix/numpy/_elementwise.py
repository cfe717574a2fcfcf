# SPDX-License-Identifier: Apache-2.0
"""The functions on each element, made from two lists: name, operators, what types they take.

The plain case of each is one operator, run by `_core.NumpyFunction` without Python code; what stands here is the
general case: other types, numbers, NumPy's arrays, ``out``, ``where``, symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp

from .. import _core
from ..base import MXNetTypeError, MXNetValueError
from ._base import (
    FLOATS,
    SCALARS,
    F,
    asarray,
    cast,
    common_type,
    filled,
    floating,
    into,
    is_array,
    name_of_type,
    no_more,
    pair,
    with_number,
)

# name: (operator, rule). "floating": integers are converted to the default floating type first.
UNARY = {
    "abs": ("abs", "numeric"),
    "absolute": ("abs", "numeric"),
    "fabs": ("abs", "numeric"),
    "arccos": ("arccos", "floating"),
    "arccosh": ("arccosh", "floating"),
    "arcsin": ("arcsin", "floating"),
    "arcsinh": ("arcsinh", "floating"),
    "arctan": ("arctan", "floating"),
    "arctanh": ("arctanh", "floating"),
    "cbrt": ("cbrt", "floating"),
    "ceil": ("ceil", "numeric"),
    "cos": ("cos", "floating"),
    "cosh": ("cosh", "floating"),
    "deg2rad": ("radians", "floating"),
    "degrees": ("degrees", "numeric"),  # of integers: integers, as in MXNet
    "exp": ("exp", "floating"),
    "expm1": ("expm1", "floating"),
    "fix": ("fix", "numeric"),
    "floor": ("floor", "numeric"),
    "log": ("log", "floating"),
    "log10": ("log10", "floating"),
    "log1p": ("log1p", "floating"),
    "log2": ("log2", "floating"),
    "negative": ("negative", "numeric"),
    "positive": ("identity", "numeric"),
    "rad2deg": ("degrees", "floating"),
    "radians": ("radians", "floating"),
    "reciprocal": ("reciprocal", "numeric"),
    "rint": ("rint", "numeric"),
    "sign": ("sign", "numeric"),
    "sin": ("sin", "floating"),
    "sinh": ("sinh", "floating"),
    "sqrt": ("sqrt", "floating"),
    "square": ("square", "numeric"),
    "tan": ("tan", "floating"),
    "tanh": ("tanh", "floating"),
    "trunc": ("trunc", "numeric"),
}
# name: (rule, of equal shapes, of shapes that broadcast, with a number on the right, on the left)
BINARY = {
    "add": ("numeric", "elemwise_add", "broadcast_add", "_plus_scalar", "_plus_scalar"),
    "subtract": ("numeric", "elemwise_sub", "broadcast_sub", "_minus_scalar", "_rminus_scalar"),
    "multiply": ("numeric", "elemwise_mul", "broadcast_mul", "_mul_scalar", "_mul_scalar"),
    "true_divide": ("floating", "elemwise_div", "broadcast_div", "_div_scalar", "_rdiv_scalar"),
    "divide": ("floating", "elemwise_div", "broadcast_div", "_div_scalar", "_rdiv_scalar"),
    "mod": ("numeric", "_mod", "broadcast_mod", "_mod_scalar", "_rmod_scalar"),
    "remainder": ("numeric", "_mod", "broadcast_mod", "_mod_scalar", "_rmod_scalar"),
    "power": ("numeric", "_power", "broadcast_power", "_power_scalar", "_rpower_scalar"),
    "maximum": ("numeric", "_maximum", "broadcast_maximum", "_maximum_scalar", "_maximum_scalar"),
    "minimum": ("numeric", "_minimum", "broadcast_minimum", "_minimum_scalar", "_minimum_scalar"),
    "hypot": ("floating", "_hypot", "broadcast_hypot", "_hypot_scalar", "_hypot_scalar"),
    "arctan2": ("floating", "_arctan2", "_npi_arctan2"),
    "copysign": ("floating", "_copysign", "_npi_copysign"),
    "lcm": ("numeric", "_lcm", "_npi_lcm"),
    "gcd": ("numeric", "_gcd", "_npi_gcd"),
    "bitwise_and": ("numeric", "_bitwise_and", "_npi_bitwise_and"),
    "bitwise_or": ("numeric", "_bitwise_or", "_npi_bitwise_or"),
    "bitwise_xor": ("numeric", "_bitwise_xor", "_npi_bitwise_xor"),
    "bitwise_left_shift": ("numeric", "_bitwise_left_shift", "_npi_bitwise_left_shift"),
    "bitwise_right_shift": ("numeric", "_bitwise_right_shift", "_npi_bitwise_right_shift"),
    "equal": ("comparison", "_equal", "broadcast_equal", "_equal_scalar", "_equal_scalar"),
    "not_equal": (
        "comparison",
        "_not_equal",
        "broadcast_not_equal",
        "_not_equal_scalar",
        "_not_equal_scalar",
    ),
    "less": ("comparison", "_lesser", "broadcast_lesser", "_lesser_scalar", "_greater_scalar"),
    "less_equal": (
        "comparison",
        "_lesser_equal",
        "broadcast_lesser_equal",
        "_lesser_equal_scalar",
        "_greater_equal_scalar",
    ),
    "greater": ("comparison", "_greater", "broadcast_greater", "_greater_scalar", "_lesser_scalar"),
    "greater_equal": (
        "comparison",
        "_greater_equal",
        "broadcast_greater_equal",
        "_greater_equal_scalar",
        "_lesser_equal_scalar",
    ),
    "logical_and": ("comparison", "_logical_and", "broadcast_logical_and"),
    "logical_or": ("comparison", "_logical_or", "broadcast_logical_or"),
    "logical_xor": ("comparison", "_logical_xor", "broadcast_logical_xor"),
}
_INTEGERS_ONLY = "lcm gcd bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split()
# Of two booleans these are booleans; others, as in MXNet, are floating.
_BOOLEAN = ("bitwise_and", "bitwise_or", "bitwise_xor", "maximum", "minimum")
_OPTIONS = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}


def _options(name: str, kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """``dtype`` and ``where`` of the further arguments that NumPy's functions have."""
    for key, value in kwargs.items():
        if key not in _OPTIONS:
            raise MXNetTypeError(f"[np.{name}] there is no argument {key!r}; expected out, where, dtype, ...")
        if key in ("casting", "order", "subok") and not (value is _OPTIONS[key] or value == _OPTIONS[key]):
            raise MXNetTypeError(f"[np.{name}] {key}={value!r} is not supported; expected {_OPTIONS[key]!r}.")
    return kwargs.get("dtype"), kwargs.get("where", True)


def _finish(name: str, result: Any, out: Any, where: Any) -> Any:
    if where is not True:
        from ._shape import where as choose

        result = choose(where, result, 0 if out is None else out)
    return into(out, result, f"np.{name}")


def _unary(name: str, operator: str, rule: str) -> Callable[..., Any]:
    def function(x: Any, out: Any = None, **kwargs: Any) -> Any:
        dtype, where = _options(name, kwargs)
        if isinstance(x, SCALARS):
            return into(out, getattr(onp, name)(x)) if out is None else into(out, function(asarray(x)))
        x = asarray(x, dtype=dtype, who=f"np.{name}")
        if rule == "floating" or name_of_type(x) == "bool":
            x = floating(x)
        result = getattr(F, operator)(x)
        if out is None and where is True:
            return result
        return _finish(name, result, out, where)

    function.__doc__ = f"``numpy.{name}`` of each element."
    return function


_EXACT = 2**53  # up to here float64 holds each whole number


def _operands(name: str, rule: str, x1: Any, x2: Any, dtype: Any) -> tuple[Any, Any]:
    """Both as arrays of the type in which the operator computes; or one of them as a number, which that type holds."""
    if isinstance(x1, SCALARS) and isinstance(x2, SCALARS):
        x1, x2 = asarray(x1), asarray(x2)
    for number, array in ((x1, x2), (x2, x1)):
        if isinstance(number, SCALARS):
            array = asarray(array, who=f"np.{name}")
            kind = with_number(name_of_type(array), number) if dtype is None else dtype
            array = cast(array, _computed(name, rule, kind, number))
            number = number.item() if isinstance(number, onp.generic) else number
            if not _fits(array, number):
                number = (
                    filled((), 0, like=array) + asarray(onp.asarray(number))
                    if rule == "comparison"
                    else number
                )
                if rule != "comparison":
                    raise MXNetValueError(
                        f"[np.{name}] the number {number} does not fit into the array's type, {name_of_type(array)}."
                    )
                array, number = cast(array, "int64"), number
            if isinstance(number, int) and abs(number) > _EXACT and name_of_type(array) == "int64":
                number = asarray(
                    onp.asarray(number, dtype="int64"), like=array
                )  # operators take numbers as floats
            return (number, array) if isinstance(x1, SCALARS) else (array, number)
    x1, x2 = asarray(x1, like=x2, who=f"np.{name}"), asarray(x2, like=x1, who=f"np.{name}")
    kind = _computed(name, rule, common_type(x1, x2) if dtype is None else dtype, None)
    return cast(x1, kind), cast(x2, kind)


def _computed(name: str, rule: str, kind: Any, number: Any) -> Any:
    if name in _INTEGERS_ONLY and kind in FLOATS:
        raise MXNetTypeError(f"[np.{name}] the operands have the type {kind}; expected integers or booleans.")
    if rule == "comparison" or (
        name in _BOOLEAN and kind == "bool" and isinstance(number, (bool, type(None)))
    ):
        return kind
    if kind == "bool" or (rule == "floating" and kind not in FLOATS):
        from ._base import default_float

        return default_float()
    return kind


def _fits(array: Any, number: Any) -> bool:
    kind = name_of_type(array)
    if kind in FLOATS or isinstance(number, float):
        return True
    if kind == "bool":
        return number in (0, 1)
    info = onp.iinfo(kind)
    return bool(info.min <= number <= info.max)


def _binary(
    name: str, rule: str, same: str, wide: str, right: str = "", left: str = ""
) -> Callable[..., Any]:
    def function(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        dtype, where = _options(name, kwargs)
        if isinstance(x1, SCALARS) and isinstance(x2, SCALARS) and out is None and where is True:
            return getattr(onp, name)(x1, x2)
        a, b = _operands(name, rule, x1, x2, dtype)
        if not right:
            a, b = (filled((), x, like=y) if isinstance(x, SCALARS) else x for x, y in ((a, b), (b, a)))
        if isinstance(b, SCALARS):
            result = getattr(F, right)(a, scalar=float(b))
        elif isinstance(a, SCALARS):
            result = getattr(F, left)(b, scalar=float(a))
        else:
            result = getattr(F, wide)(a, b)
        if rule == "comparison":
            result = F.Cast(result, dtype="bool")
        if out is None and where is True:
            return result
        return _finish(name, result, out, where)

    function.__doc__ = f"``numpy.{name}`` of the elements of two arrays, which are broadcast to one shape."
    return function


def _make(name: str, general: Callable[..., Any], *operators: str) -> Any:
    general.__name__ = general.__qualname__ = name
    general.__module__ = "loomix.numpy"
    return _core.numpy_function(general, *operators)


FUNCTIONS: dict[str, Any] = {}
for _name, (_operator, _rule) in UNARY.items():
    FUNCTIONS[_name] = _make(_name, _unary(_name, _operator, _rule), _rule, _operator)
for _name, (_rule, *_operators) in BINARY.items():
    # Integers to a negative power, and bits of floating numbers, are for the general case.
    _plain = "floating" if _name in ("power", *_INTEGERS_ONLY) else _rule
    _general = _binary(_name, _rule, *_operators)
    if _name in _INTEGERS_ONLY:
        _general.__name__ = _general.__qualname__ = _name
        _general.__module__ = "loomix.numpy"
        FUNCTIONS[_name] = _general
    else:
        FUNCTIONS[_name] = _make(_name, _general, _plain, *_operators)
globals().update(FUNCTIONS)

# In the order of NumpyOperation in array/numpy_numbers.cc.
OPERATORS = tuple(
    FUNCTIONS[name]
    for name in (
        "add subtract multiply true_divide mod power less less_equal equal not_equal greater greater_equal "
        "negative absolute"
    ).split()
)


def operand(value: Any) -> bool:
    """Whether an operator of Python takes it beside an array."""
    return is_array(value) or isinstance(value, (*SCALARS, onp.ndarray, list, tuple))


def operate(function: Any, left: Any, right: Any, in_place: bool) -> Any:
    """What ``left + right`` means where it is not one operator; ``left += right`` if ``in_place``."""
    if not operand(left) or not operand(right):
        return NotImplemented
    if not in_place:
        return function(left, right)
    result = function(left, right)
    if name_of_type(result) != name_of_type(left):
        floats = name_of_type(result) in FLOATS, name_of_type(left) in FLOATS
        if floats == (True, False):
            raise MXNetTypeError(
                f"[np.{function.__name__}] the result, of {name_of_type(result)}, cannot be written to an array of "
                f"{name_of_type(left)}; use x = x + y, or astype."
            )
    return into(left, result, f"np.{function.__name__}")


def _test(name: str, doc: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(compute: Callable[..., Any]) -> Callable[..., Any]:
        def function(x: Any, out: Any = None, **kwargs: Any) -> Any:
            _, where = _options(name, kwargs)
            if isinstance(x, SCALARS) and out is None:
                return getattr(onp, name)(x)
            return _finish(name, compute(asarray(x, who=f"np.{name}")), out, where)

        function.__name__ = function.__qualname__ = name
        function.__module__ = "loomix.numpy"
        function.__doc__ = doc
        FUNCTIONS[name] = function
        return function

    return decorate


def _boolean(x: Any) -> Any:
    return F.Cast(x, dtype="bool")


@_test("isnan", "True where an element is not a number.")
def isnan(x: Any) -> Any:
    return _boolean(F.broadcast_not_equal(x, x))


@_test("isinf", "True where an element is infinite.")
def isinf(x: Any) -> Any:
    return _boolean(F._equal_scalar(F.abs(floating(x)), scalar=onp.inf))


@_test("isposinf", "True where an element is infinite and positive.")
def isposinf(x: Any) -> Any:
    return _boolean(F._equal_scalar(floating(x), scalar=onp.inf))


@_test("isneginf", "True where an element is infinite and negative.")
def isneginf(x: Any) -> Any:
    return _boolean(F._equal_scalar(floating(x), scalar=-onp.inf))


@_test("isfinite", "True where an element is neither infinite nor not a number.")
def isfinite(x: Any) -> Any:
    return _boolean(F._lesser_scalar(F.abs(floating(x)), scalar=onp.inf))


@_test("logical_not", "True where an element is zero.")
def logical_not(x: Any) -> Any:
    return _boolean(F.logical_not(x))


@_test("signbit", "True where the sign of an element is negative, that of zero included.")
def signbit(x: Any) -> Any:
    x = floating(x)
    return _boolean(F._lesser_scalar(F._npi_copysign(F.ones_like(x), x), scalar=0))


def _invert(name: str) -> Callable[..., Any]:
    @_test(name, "The bits of each integer turned around; of booleans, their opposites.")
    def function(x: Any) -> Any:
        if name_of_type(x) == "bool":
            return logical_not(x)
        if name_of_type(x) in FLOATS:
            raise MXNetTypeError(f"[np.{name}] the array has the type {name_of_type(x)}; expected integers.")
        return F._rminus_scalar(x, scalar=-1)

    return function


bitwise_not, invert = _invert("bitwise_not"), _invert("invert")


def ldexp(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
    """``x1 * 2 ** x2`` for each element."""
    exponent = x2 if isinstance(x2, SCALARS) else floating(asarray(x2))
    return into(out, FUNCTIONS["multiply"](x1, FUNCTIONS["power"](2.0, exponent), **kwargs), "np.ldexp")


def floor_divide(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
    """The quotients, rounded down."""
    a, b = pair(x1, x2, "np.floor_divide")
    if name_of_type(a) not in FLOATS:
        result = F.broadcast_div(F.broadcast_sub(a, F.broadcast_mod(a, b)), b)
    else:
        result = F.floor(F.broadcast_div(a, b))
    return _finish("floor_divide", result, out, _options("floor_divide", kwargs)[1])


def heaviside(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
    """0 where x1 is negative, 1 where it is positive, x2 where it is zero."""
    from ._shape import where

    x1 = floating(asarray(x1))
    step = cast(FUNCTIONS["greater"](x1, 0), x1.dtype)
    return _finish(
        "heaviside", where(FUNCTIONS["equal"](x1, 0), x2, step), out, _options("heaviside", kwargs)[1]
    )


def float_power(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
    """x1 to the power of x2, in float64."""
    return _finish(
        "float_power",
        FUNCTIONS["power"](asarray(x1, dtype="float64"), asarray(x2, dtype="float64")),
        out,
        _options("float_power", kwargs)[1],
    )


def divmod(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Quotients, rounded down, and remainders."""
    return floor_divide(x1, x2), FUNCTIONS["mod"](x1, x2)


def modf(x: Any) -> tuple[Any, Any]:
    """Fractions and whole parts."""
    x = floating(asarray(x))
    whole = F.trunc(x)
    return F.elemwise_sub(x, whole), whole


def clip(a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:
    """The elements, those beyond one of the bounds moved to it. A bound may be None."""
    if a_min is None and a_max is None:
        raise MXNetValueError("[np.clip] a_min and a_max are both None; expected at least one bound.")
    a = asarray(a, who="np.clip")
    if isinstance(a_min, (*SCALARS, type(None))) and isinstance(a_max, (*SCALARS, type(None))):
        low: Any = -onp.inf if a_min is None else a_min
        high: Any = onp.inf if a_max is None else a_max
        if name_of_type(a) not in FLOATS:
            info = onp.iinfo(name_of_type(a))
            low, high = max(low, info.min), min(high, info.max)
        return into(out, F.clip(a, a_min=float(low), a_max=float(high)), "np.clip")
    result = a if a_min is None else FUNCTIONS["maximum"](a, a_min)
    return into(out, result if a_max is None else FUNCTIONS["minimum"](result, a_max), "np.clip")


def _half_to_even(x: Any) -> Any:
    """The nearest whole numbers; `rint`, as MXNet's, takes the lower one of two."""
    down = F.rint(x)
    half = F._equal_scalar(F.elemwise_sub(x, down), scalar=0.5)
    odd = F._equal_scalar(F._mod_scalar(down, scalar=2.0), scalar=1.0)
    return F.where(F.elemwise_mul(half, odd), F._plus_scalar(down, scalar=1.0), down)


def around(x: Any, decimals: int = 0, out: Any = None, **kwargs: Any) -> Any:
    """Rounded to a number of decimals, halves to even digits."""
    no_more(kwargs, "np.around")
    x = asarray(x, who="np.around")
    if name_of_type(x) not in FLOATS and decimals >= 0:
        return into(out, F.identity(x), "np.around")
    scale = 10.0**decimals
    result = _half_to_even(x if decimals == 0 else F._mul_scalar(x, scalar=scale))
    result = result if decimals == 0 else F._div_scalar(result, scalar=scale)
    return into(out, result, "np.around")


def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None, **kwargs: Any
) -> Any:
    """NaN and infinities replaced by numbers: by default 0 and the largest that the type holds."""
    from ._shape import where

    no_more(kwargs, "np.nan_to_num")
    x = asarray(x, who="np.nan_to_num")
    result = x
    if name_of_type(x) in FLOATS:
        largest = 3.0e38 if x.dtype == _core.numpy_dtype("bfloat16") else float(onp.finfo(x.dtype).max)
        result = where(isnan(x), nan, x)
        result = where(isposinf(x), largest if posinf is None else posinf, result)
        result = where(isneginf(x), -largest if neginf is None else neginf, result)
    return result if copy else into(x, result, "np.nan_to_num")


for _name in (
    "ldexp",
    "floor_divide",
    "heaviside",
    "float_power",
    "divmod",
    "modf",
    "clip",
    "around",
    "nan_to_num",
):
    FUNCTIONS[_name] = globals()[_name]
FUNCTIONS["round"] = FUNCTIONS["round_"] = around
