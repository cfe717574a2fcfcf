# SPDX-License-Identifier: Apache-2.0
"""What control flow on arrays and on symbols share: nested lists of values, flat and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .base import MXNetTypeError, MXNetValueError


def flatten(values: Any, kind: type, what: str) -> tuple[list[Any], Any]:
    """The values of nested lists in a row, and the form that :func:`regroup` needs: None for one value, else a list."""
    if isinstance(values, kind):
        return [values], None
    if not isinstance(values, (list, tuple)):
        raise MXNetTypeError(
            f"[control flow] {what} is of type {type(values).__name__}; "
            f"expected one {kind.__name__}, or (nested) lists of them."
        )
    flat: list[Any] = []
    form = []
    for value in values:
        part, part_form = flatten(value, kind, what)
        flat += part
        form.append(part_form)
    return flat, form


def regroup(flat: Sequence[Any], form: Any) -> Any:
    """The inverse of :func:`flatten`.

    >>> regroup([1, 2, 3], [None, [None, None]])
    [1, [2, 3]]
    """

    def take(form: Any, values: Any) -> Any:
        return next(values) if form is None else [take(part, values) for part in form]

    return take(form, iter(flat))


def step_results(result: Any, what: str) -> tuple[Any, Any]:
    """What a step returns: its output, and the states or variables of the next one."""
    if not isinstance(result, (list, tuple)) or len(result) != 2:
        raise MXNetValueError(
            f"[{what}] the function returned {result!r}; expected its output and the next states."
        )
    return result[0], result[1]


def loop_variables(variables: Any) -> list[Any]:
    """The variables of a while loop as a list: None is an empty one."""
    if variables is None:
        return []
    return list(variables) if isinstance(variables, (list, tuple)) else [variables]


def limit(max_iterations: Any) -> int:
    """The number of steps that a while loop may have."""
    if max_iterations is None:
        raise MXNetValueError("[while_loop] max_iterations should be specified.")
    try:
        steps = int(max_iterations)
    except (TypeError, ValueError):
        raise MXNetValueError(
            f"[while_loop] max_iterations is {max_iterations!r}; expected a number."
        ) from None
    if steps < 0 or steps != max_iterations:
        raise MXNetValueError(f"[while_loop] max_iterations is {max_iterations!r}; expected 0 or more.")
    return steps


def check_function(function: Any, what: str) -> Callable[..., Any]:
    """``function``, if it can be called."""
    if not callable(function):
        raise MXNetTypeError(
            f"[control flow] {what} is of type {type(function).__name__}; expected a function."
        )
    return function
