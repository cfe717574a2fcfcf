# SPDX-License-Identifier: Apache-2.0
"""The first interface of automatic differentiation; :mod:`loomix.autograd` took its place."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _star, autograd
from ..autograd import mark_variables
from ..base import MXNetTypeError

if TYPE_CHECKING:
    from ..ndarray import NDArray

__all__ = [
    "TrainingStateScope",
    "backward",
    "compute_gradient",
    "grad",
    "grad_and_loss",
    "mark_variables",
    "set_is_training",
    "test_section",
    "train_section",
]


def set_is_training(is_train: bool) -> bool:
    """Switches training mode, in which operations are recorded, on or off; returns the setting before."""
    before = autograd.set_training(is_train)
    autograd.set_recording(is_train)
    return bool(before)


class TrainingStateScope:
    """A ``with`` scope in which training mode is on or off; see :func:`set_is_training`."""

    def __init__(self, enter_state: bool) -> None:
        self._state = enter_state
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(set_is_training(self._state))

    def __exit__(self, *exc_info: Any) -> None:
        set_is_training(self._before.pop())


def train_section() -> TrainingStateScope:
    """A ``with`` scope in training mode: what is computed in it can be differentiated."""
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """A ``with`` scope out of training mode, inside one in it."""
    return TrainingStateScope(False)


test_section.__test__ = False  # type: ignore[attr-defined] # not a test, for test runners that go by names


def backward(
    outputs: Sequence[NDArray], out_grads: Sequence[NDArray | None] | None = None, retain_graph: bool = False
) -> None:
    """Computes the gradients of outputs with respect to the variables that were marked."""
    if not isinstance(outputs, (list, tuple)):
        raise MXNetTypeError(
            f"[backward] outputs is of type {type(outputs).__name__}; expected a list of NDArray."
        )
    autograd.backward(list(outputs), None if out_grads is None else list(out_grads), retain_graph)


def compute_gradient(outputs: Sequence[NDArray]) -> None:
    """:func:`backward` with gradients of one."""
    backward(outputs)


def grad_and_loss(func: Callable[..., Any], argnum: int | Sequence[int] | None = None) -> Callable[..., Any]:
    """A function that returns the gradients of ``func`` with respect to its arguments, and its value.

    Parameters
    ----------
    func : callable
        A function of NDArrays.
    argnum : int or list of int, optional
        Which arguments; all by default.
    """

    @functools.wraps(func)
    def wrapped(*args: Any) -> Any:
        from ..ndarray import NDArray

        numbers = range(len(args)) if argnum is None else [argnum] if isinstance(argnum, int) else argnum
        variables = [args[number] for number in numbers]
        for variable in variables:
            if not isinstance(variable, NDArray):
                raise MXNetTypeError(
                    f"[grad_and_loss] an argument is of type {type(variable).__name__}; expected NDArray."
                )
            variable.attach_grad()
        with train_section():
            outputs = func(*args)
        backward([outputs] if isinstance(outputs, NDArray) else outputs)
        return [variable.grad for variable in variables], outputs

    return wrapped


def grad(func: Callable[..., Any], argnum: int | Sequence[int] | None = None) -> Callable[..., Any]:
    """A function that returns the gradients of ``func`` with respect to its arguments.

    >>> import loomix as mx
    >>> square = grad(lambda x: x * x)
    >>> square(mx.nd.array([3.0]))[0].asnumpy()
    array([6.], dtype=float32)
    """
    both = grad_and_loss(func, argnum)

    @functools.wraps(func)
    def wrapped(*args: Any) -> Any:
        return both(*args)[0]

    return wrapped


_star.complete(
    globals(),
    "NDArray NDArrayHandle array c_array c_array_buf check_call ctypes functools mx_uint string_types "
    "zeros_like",
    "_GRAD_REQ_MAP _LIB",
)
