# SPDX-License-Identifier: Apache-2.0
"""Loops and branches on arrays: plain Python, which the gradient tape records step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _control_flow
from ..base import MXNetValueError, ShapeError
from . import op as _op
from . import utils as _utils

if TYPE_CHECKING:
    from ..ndarray import NDArray

__all__ = ["cond", "foreach", "while_loop"]


def foreach(body: Any, data: Any, init_states: Any) -> Any:
    """Runs ``body(element, states)`` for each element of ``data`` along the first axis.

    Parameters
    ----------
    body : function
        Returns an output and the next states.
    data : NDArray or (nested) lists of NDArray
        Lists are gone through side by side.
    init_states : NDArray or (nested) lists of NDArray
        States of the first step.

    Returns
    -------
    outputs : NDArray or (nested) lists of NDArray
        Those of all steps, stacked along a new first axis.
    states
        Those after the last step.

    Examples
    --------
    >>> import loomix as mx
    >>> step = lambda x, total: (x + total, x + total)
    >>> sums, last = mx.nd.contrib.foreach(step, mx.nd.array([1, 2, 3]), mx.nd.zeros(1))
    >>> sums.asnumpy().ravel(), last.asnumpy()
    (array([1., 3., 6.], dtype=float32), array([6.], dtype=float32))
    """
    from .ndarray import NDArray

    _control_flow.check_function(body, "foreach: body")
    elements, form = _control_flow.flatten(data, NDArray, "foreach: data")
    if not elements:
        raise MXNetValueError("[foreach] data is empty; expected at least one array.")
    counts = {len(element) for element in elements}
    if len(counts) > 1:
        raise ShapeError(f"[foreach] the first axes of data have sizes {sorted(counts)}; all must be equal.")
    _control_flow.flatten(init_states, NDArray, "foreach: init_states")
    states = init_states
    steps: list[list[Any]] = []
    out_form: Any = []
    for step in range(counts.pop()):
        item = _control_flow.regroup([element[step] for element in elements], form)
        out, states = _control_flow.step_results(body(item, states), "foreach")
        _control_flow.flatten(states, NDArray, "foreach: a state")
        flat, out_form = _control_flow.flatten(out, NDArray, "foreach: an output")
        steps.append(flat)
    stacked = [_op.stack(*outputs) for outputs in zip(*steps)]
    return _control_flow.regroup(stacked, out_form), states


def while_loop(cond: Any, func: Any, loop_vars: Any, max_iterations: int | None = None) -> Any:
    """Runs ``func(*loop_vars)`` while ``cond(*loop_vars)`` holds, at most ``max_iterations`` times.

    Parameters
    ----------
    cond : function
        Returns one number.
    func : function
        Returns outputs (one, a list, or None) and the next ``loop_vars``.
    loop_vars : NDArray or list of NDArray
    max_iterations : int

    Returns
    -------
    outputs : NDArray or list of NDArray
        Those of all steps, stacked along a new first axis of size ``max_iterations``, and zeros behind them.
    loop_vars
        Those after the last step.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.nd.contrib.while_loop(
    ...     lambda i: i < 3, lambda i: (i * 10, i + 1), mx.nd.array([1]), max_iterations=4
    ... )[0].asnumpy().ravel()
    array([10., 20.,  0.,  0.], dtype=float32)
    """
    from .ndarray import NDArray

    _control_flow.check_function(cond, "while_loop: cond")
    _control_flow.check_function(func, "while_loop: func")
    most = _control_flow.limit(max_iterations)
    variables = _control_flow.loop_variables(loop_vars)
    if not variables:
        raise MXNetValueError("[while_loop] loop_vars is empty; expected at least one.")
    _control_flow.flatten(variables, NDArray, "while_loop: loop_vars")
    steps: list[list[Any]] = []
    form: Any = []
    while len(steps) < most and _is_true(cond(*variables), "while_loop"):
        out, following = _control_flow.step_results(func(*variables), "while_loop")
        flat, form = ([], []) if out is None else _control_flow.flatten(out, NDArray, "while_loop: an output")
        following = _control_flow.loop_variables(following)
        if len(following) != len(variables):
            raise MXNetValueError(
                f"[while_loop] func returned {len(following)} loop_vars; expected {len(variables)}, as before."
            )
        variables = following
        steps.append(flat)
    outputs = [_padded(values, most) for values in zip(*steps)]
    single = isinstance(loop_vars, NDArray)
    return _control_flow.regroup(outputs, form), variables[0] if single else variables


def _padded(values: Any, count: int) -> NDArray:
    """The values stacked, and zeros up to ``count``."""
    if len({value.shape for value in values}) > 1:
        shapes = ", ".join(str(value.shape) for value in values)
        raise ShapeError(f"[while_loop] the steps' outputs have shapes {shapes}; all must be equal.")
    stacked = _op.stack(*values)
    if len(values) == count:
        return stacked
    rest = (count - len(values), *values[0].shape)
    return _op.concat(stacked, _utils.zeros(rest, ctx=stacked.context, dtype=stacked.dtype), dim=0)


def _is_true(value: Any, what: str) -> bool:
    size = getattr(value, "size", 1)
    if size != 1:
        raise ShapeError(f"[{what}] a condition gives an array of shape {value.shape}; expected one number.")
    return bool(value.asscalar() if hasattr(value, "asscalar") else value)


def cond(pred: Any, then_func: Any, else_func: Any) -> Any:
    """What ``then_func()`` returns if ``pred``, one number, is not zero, else what ``else_func()`` does.

    >>> import loomix as mx
    >>> mx.nd.contrib.cond(mx.nd.array([1]), lambda: "then", lambda: "else")
    'then'
    """
    _control_flow.check_function(then_func, "cond: then_func")
    _control_flow.check_function(else_func, "cond: else_func")
    return then_func() if _is_true(pred, "cond") else else_func()
