# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments, whose errors say who got what, and what is allowed.

Functions begin with them, so that a wrong argument is named where it is given, not where it is used.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from .base import MXNetTypeError, MXNetValueError, suggest

__all__ = [
    "as_dtype",
    "as_mapping",
    "as_number",
    "as_path",
    "as_shape",
    "as_whole",
    "element_type",
    "expect",
    "settings",
    "suggests",
]

_F = TypeVar("_F", bound=Callable[..., Any])


def _kind(value: Any) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def expect(right: bool, who: str, what: str, value: Any, wanted: str) -> None:
    """Raises a TypeError unless ``right``: "[fit] monitor is 3, of type int; expected a Monitor." """
    if right:
        return
    if isinstance(value, type):
        raise MXNetTypeError(
            f"[{who}] {what} is the class {value.__name__}; did you forget ()? Expected {wanted}."
        )
    shown = repr(value)
    given = (
        f"is of type {_kind(value)}"
        if len(shown) > 60 or "\n" in shown
        else f"is {shown}, of type {_kind(value)}"
    )
    raise MXNetTypeError(f"[{who}] {what} {given}; expected {wanted}.")


def as_whole(who: str, what: str, value: Any, least: int | None = None) -> int:
    """The whole number that ``value`` is.

    >>> as_whole("NDArrayIter", "batch_size", 32, least=1)
    32

    Raises
    ------
    TypeError or ValueError
        When it is none, or below ``least``.
    """
    wanted = "an int" if least is None else f"an int >= {least}"
    expect(isinstance(value, (int, np.integer)), who, what, value, wanted)
    if least is not None and value < least:
        raise MXNetValueError(f"[{who}] {what} is {value}; expected {wanted}.")
    return int(value)


def as_number(
    who: str, what: str, value: Any, least: float = -math.inf, most: float = math.inf, below: float = math.inf
) -> Any:
    """The finite number that ``value`` is, as it came.

    >>> as_number("Adam", "beta1", 0.9, least=0, below=1)
    0.9

    Raises
    ------
    TypeError or ValueError
        When it is none, or not from ``least`` to ``most`` and less than ``below``.
    """
    bounds = [f">= {least:g}"] * (least > -math.inf) + [f"<= {most:g}"] * (most < math.inf)
    bounds += [f"< {below:g}"] * (below < math.inf)
    wanted = " ".join(["a number" if bounds else "a finite number", " and ".join(bounds)]).rstrip()
    expect(isinstance(value, (int, float, np.number)), who, what, value, wanted)
    if not (least <= value <= most and -math.inf < value < below):
        raise MXNetValueError(f"[{who}] {what} is {value}; expected {wanted}.")
    return value


def as_shape(who: str, what: str, value: Any) -> tuple[Any, ...]:
    """The shape that ``value`` is: a number for one axis, a sequence, or the text of either.

    >>> as_shape("CSVIter", "data_shape", 3), as_shape("CSVIter", "data_shape", "(3, 4)")
    ((3,), (3, 4))

    Raises
    ------
    TypeError or ValueError
        When it is none.
    """
    wanted = "an int or a tuple of ints"
    if isinstance(value, str):
        text = value.strip()
        inner = text[1:-1] if text[:1] + text[-1:] in ("()", "[]") else text
        if not re.fullmatch(r"(\s*\d+\s*(,|$))*\s*", inner):
            raise MXNetValueError(f"[{who}] {what} is {value!r}; expected {wanted}.")
        return tuple(int(size) for size in inner.split(",") if size.strip())
    if isinstance(value, (int, np.integer)):
        return (int(value),)
    right = isinstance(value, Iterable)
    sizes = tuple(value) if right else ()
    expect(right and all(isinstance(size, (int, np.integer)) for size in sizes), who, what, value, wanted)
    return sizes


def as_dtype(who: str, what: str, value: Any) -> np.dtype[Any]:
    """NumPy's dtype that ``value`` names.

    >>> as_dtype("CSVIter", "dtype", "int32")
    dtype('int32')

    Raises
    ------
    TypeError
        When it names none.
    """
    try:
        return np.dtype(value)
    except TypeError:
        expect(False, who, what, value, "a dtype such as 'float32'")
        raise AssertionError from None  # not reached


def settings(who: str, what: str, value: Any) -> dict[str, Any]:
    """A dict of a dict or of pairs, such as an optimizer's settings.

    >>> settings("fit", "optimizer_params", (("learning_rate", 0.1),))
    {'learning_rate': 0.1}

    Raises
    ------
    TypeError
        When it is neither.
    """
    try:
        named = dict(value)
    except (TypeError, ValueError):
        named = {None: value}
    right = all(isinstance(name, str) for name in named)
    expect(right, who, what, value, "a dict such as {'learning_rate': 0.1}")
    return named


def check_known(who: str, given: Iterable[str], known: Iterable[str], elsewhere: Mapping[str, str]) -> None:
    """Raises a TypeError for the first name that is not known; ``elsewhere`` says where some of those go."""
    for name in given:
        if name not in known:
            hint = f"{elsewhere[name]}." if name in elsewhere else suggest(name, known)
            raise MXNetTypeError(f"[{who}] got an unexpected keyword argument '{name}'. {hint}")


def suggests(**elsewhere: str) -> Callable[[_F], _F]:
    """Decorates a function: of an argument that it does not know, the error says which it may mean.

    ``elsewhere`` says of names that belong to something else where they go.

    >>> @suggests(lr="give optimizer_params={'learning_rate': ...}")
    ... def fit(num_epoch=1):
    ...     pass
    >>> fit(epochs=2)
    Traceback (most recent call last):
    loomix.base.MXNetTypeError: [fit] got an unexpected keyword argument 'epochs'. Did you mean 'num_epoch'? \
Known are num_epoch.
    """

    def decorate(function: _F) -> _F:
        parameters = inspect.signature(function).parameters
        known = [name for name in parameters if name != "self"]
        owner, _, name = function.__qualname__.rpartition(".")
        who = owner if name == "__init__" else name

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            check_known(who, kwargs, known, elsewhere)
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate


def as_path(who: str, what: str, value: Any) -> str:
    """The path of a file, as a text."""
    expect(isinstance(value, (str, os.PathLike)), who, what, value, "a path")
    return os.fspath(value)


def as_mapping(
    who: str, what: str, value: Any, wanted: str = "a dict of names to NDArrays"
) -> Mapping[Any, Any]:
    """``value``, which must be a dict or None; None gives an empty one."""
    expect(value is None or isinstance(value, Mapping), who, what, value, wanted)
    return {} if value is None else value


def element_type(dtype: Any) -> Any:
    """What names an element type: float32 for None, and the type of an array or of whatever else has one."""
    if dtype is None:
        return np.float32
    return dtype if isinstance(dtype, (type, str, np.dtype)) else getattr(dtype, "dtype", dtype)
