# SPDX-License-Identifier: Apache-2.0
"""Recording what is computed, and gradients of it.

>>> import loomix as mx
>>> x = mx.nd.array([1, 2, 3])
>>> x.attach_grad()
>>> with mx.autograd.record():
...     y = (x * x).sum()
>>> y.backward()
>>> x.grad.asnumpy()
array([2., 4., 6.], dtype=float32)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core, _star
from .base import MXNetTypeError, MXNetValueError, StateError
from .base import string_types as string_types

if TYPE_CHECKING:
    from .ndarray import NDArray
    from .symbol import Symbol

__all__ = [
    "Function",
    "backward",
    "get_symbol",
    "grad",
    "is_recording",
    "is_training",
    "mark_variables",
    "pause",
    "predict_mode",
    "record",
    "set_recording",
    "set_training",
    "train_mode",
]


def is_recording() -> bool:
    """Whether what this thread computes is recorded for gradients.

    Examples
    --------
    >>> import loomix as mx
    >>> with mx.autograd.record():
    ...     mx.autograd.is_recording()
    True
    >>> mx.autograd.is_recording()
    False
    """
    return _core.is_recording()


def is_training() -> bool:
    """Whether operators such as Dropout behave as in training, on this thread.

    Examples
    --------
    >>> import loomix as mx
    >>> with mx.autograd.record(train_mode=False):
    ...     mx.autograd.is_training()
    False
    >>> with mx.autograd.train_mode():
    ...     mx.autograd.is_training()
    True
    """
    return _core.is_training()


def set_recording(is_recording: bool) -> bool:
    """Switches recording on or off for this thread.

    Returns
    -------
    bool
        Whether it was on. :func:`record` and :func:`pause` restore it by themselves.

    Examples
    --------
    >>> import loomix as mx
    >>> before = mx.autograd.set_recording(True)
    >>> mx.autograd.set_recording(before)
    True
    """
    return _core.set_recording(is_recording)


def set_training(train_mode: bool) -> bool:
    """Switches training mode on or off for this thread: whether operators such as Dropout behave as in training.

    Returns
    -------
    bool
        Whether it was on. :func:`train_mode` and :func:`predict_mode` restore it by themselves.

    Examples
    --------
    >>> import loomix as mx
    >>> before = mx.autograd.set_training(True)
    >>> mx.autograd.set_training(before)
    True
    """
    return _core.set_training(train_mode)


class _RecordingStateScope:
    """Sets recording and training mode of this thread inside a ``with`` statement; None leaves one as it is."""

    __slots__ = ("_outer", "_recording", "_training")

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording, self._training = recording, training
        self._outer: list[tuple[bool | None, bool | None]] = []

    def __enter__(self) -> None:
        recording = None if self._recording is None else _core.set_recording(self._recording)
        training = None if self._training is None else _core.set_training(self._training)
        self._outer.append((recording, training))

    def __exit__(self, *exc_info: Any) -> None:
        recording, training = self._outer.pop()
        if recording is not None:
            _core.set_recording(recording)
        if training is not None:
            _core.set_training(training)


def record(train_mode: bool = True) -> Any:
    """A ``with`` scope in which what is computed is recorded for gradients.

    Parameters
    ----------
    train_mode : bool
        Whether operators such as Dropout behave as in training.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([2., 4.], dtype=float32)
    """
    return _RecordingStateScope(True, train_mode)


def pause(train_mode: bool = False) -> Any:
    """A ``with`` scope, inside a recorded one, in which nothing is recorded.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     with mx.autograd.pause():
    ...         factor = x * 10  # a constant for the gradient
    ...     y = factor * x
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([10., 20.], dtype=float32)
    """
    return _RecordingStateScope(False, train_mode)


def train_mode() -> Any:
    """A ``with`` scope in which operators behave as in training.

    Examples
    --------
    >>> import loomix as mx
    >>> with mx.autograd.train_mode():
    ...     y = mx.nd.Dropout(mx.nd.ones((1000,)), p=0.5)
    >>> int(y.max().asscalar())
    2
    """
    return _RecordingStateScope(None, True)


def predict_mode() -> Any:
    """A ``with`` scope in which operators behave as in prediction.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.ones((100,))
    >>> with mx.autograd.record():
    ...     with mx.autograd.predict_mode():
    ...         y = mx.nd.Dropout(x)  # drops nothing
    >>> int(y.sum().asscalar())
    100
    """
    return _RecordingStateScope(None, False)


def _as_list(value: Any, what: str) -> list[Any]:
    if isinstance(value, _core.NDArrayBase):
        return [value]
    if not isinstance(value, (list, tuple)):
        raise MXNetTypeError(
            f"[autograd] {what} is of type {type(value).__name__}; expected an NDArray or a list of them."
        )
    return list(value)


def mark_variables(variables: Any, gradients: Any, grad_reqs: Any = "write") -> None:
    """Makes arrays variables whose gradients go to the given arrays.

    Parameters
    ----------
    variables : NDArray or list of NDArray
    gradients : NDArray or list of NDArray
    grad_reqs : {'write', 'add', 'null'} or list of them

    Examples
    --------
    >>> import loomix as mx
    >>> x, gradient = mx.nd.array([1, 2]), mx.nd.zeros(2)
    >>> mx.autograd.mark_variables([x], [gradient])
    >>> with mx.autograd.record():
    ...     y = x * x
    >>> y.backward()
    >>> gradient.asnumpy()
    array([2., 4.], dtype=float32)
    """
    variables, gradients = _as_list(variables, "variables"), _as_list(gradients, "gradients")
    if isinstance(grad_reqs, str):
        grad_reqs = [grad_reqs] * len(variables)
    if not len(variables) == len(gradients) == len(grad_reqs):
        raise MXNetValueError(
            f"[mark_variables] got {len(variables)} variables, {len(gradients)} gradients and {len(grad_reqs)} "
            "requests; expected as many of each."
        )
    _core.mark_variables(variables, gradients, list(grad_reqs))


def _heads(heads: Any, head_grads: Any) -> Any:
    heads = _as_list(heads, "heads")
    if head_grads is None:
        return heads, [None] * len(heads)
    head_grads = _as_list(head_grads, "head_grads")
    if len(head_grads) != len(heads):
        raise MXNetValueError(
            f"[autograd] got {len(heads)} heads and {len(head_grads)} head gradients; expected as many of each."
        )
    return heads, head_grads


def backward(heads: Any, head_grads: Any = None, retain_graph: bool = False, train_mode: bool = True) -> None:
    """Computes the gradients of ``heads`` into the buffers of the variables that they depend on.

    Parameters
    ----------
    heads : NDArray or list of NDArray
    head_grads : NDArray or list of NDArray, optional
        Gradients of the final value with respect to the heads; ones by default.
    retain_graph : bool
        Keep what was recorded for another backward pass.
    train_mode : bool
        Whether operators behave as in training.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y, z = x * 2, x * x
    >>> mx.autograd.backward([y, z])
    >>> x.grad.asnumpy()
    array([4., 6.], dtype=float32)
    """
    heads, head_grads = _heads(heads, head_grads)
    _core.backward(heads, head_grads, bool(retain_graph), bool(train_mode))


def grad(
    heads: Any,
    variables: Any,
    head_grads: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> list[NDArray]:
    """The gradients of ``heads`` with respect to ``variables``, as a list of new arrays.

    Parameters
    ----------
    heads, head_grads, train_mode
        As for :func:`backward`.
    variables : NDArray or list of NDArray
    retain_graph : bool, optional
        Default: as ``create_graph``.
    create_graph : bool
        Record the computation of the gradients, too, so that they can be differentiated again.

    Returns
    -------
    list of NDArray
        One for each variable, also where ``variables`` is a single array.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = x * x * x
    ...     (first,) = mx.autograd.grad(y, x, create_graph=True)
    >>> first.backward()  # the second derivative
    >>> first.asnumpy(), x.grad.asnumpy()
    (array([ 3., 12.], dtype=float32), array([ 6., 12.], dtype=float32))
    """
    heads, head_grads = _heads(heads, head_grads)
    wanted = _as_list(variables, "variables")
    if not wanted:
        raise MXNetValueError("[grad] variables is an empty list; expected at least one.")
    retain_graph = create_graph if retain_graph is None else retain_graph
    return _core.grad(heads, head_grads, wanted, bool(retain_graph), bool(create_graph), bool(train_mode))


def get_symbol(x: Any) -> Symbol:
    """The recorded computation that gave ``x``, as a Symbol.

    Variables are called var0, var1 ..., other arrays null0, null1 ..., and operators node_0, node_1 ...

    >>> import loomix as mx
    >>> x = mx.nd.ones((2,))
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = x * x + 1
    >>> mx.autograd.get_symbol(y).list_arguments()
    ['var0']
    """
    return _core.recorded_symbol(x)


class Function:
    """A differentiable function written in Python: subclass it and define ``forward`` and ``backward``.

    Both run on the thread that calls: ``forward`` in the call, ``backward`` in the backward pass. A new object is made
    for each call.

    Examples
    --------
    >>> import loomix as mx
    >>> class Sigmoid(mx.autograd.Function):
    ...     def forward(self, x):
    ...         y = 1 / (1 + mx.nd.exp(-x))
    ...         self.save_for_backward(y)
    ...         return y
    ...     def backward(self, dy):
    ...         (y,) = self.saved_tensors
    ...         return dy * y * (1 - y)
    """

    def __init__(self) -> None:
        self._used = False
        self.saved_tensors = ()

    def save_for_backward(self, *args: Any) -> None:
        """Keeps arrays for ``backward``, which finds them in ``self.saved_tensors``."""
        self.saved_tensors = args

    def __call__(self, *inputs: Any) -> Any:
        if _core.active_trace() is not None:
            raise StateError(
                f"[autograd.Function] {type(self).__name__} is called in the forward of a hybridized block, whose "
                "graph cannot hold it; use mx.operator.CustomOp."
            )
        if self._used:
            raise MXNetValueError(
                f"[{type(self).__name__}] this object was called already, and keeps what its backward needs; make "
                "another one for each call."
            )
        self._used = True
        with pause(train_mode=is_training()):
            outputs = self.forward(*inputs)
        single = isinstance(outputs, _core.NDArrayBase)
        listed = [outputs] if single else list(outputs)
        if is_recording():
            listed = _core.record_function(self._run_backward, type(self).__name__, list(inputs), listed)
        return listed[0] if single else type(outputs)(listed)

    def _run_backward(self, *output_grads: Any) -> list[Any]:
        with pause():
            gradients = self.backward(*output_grads)
        return [gradients] if isinstance(gradients, _core.NDArrayBase) else list(gradients)

    def forward(self, *inputs: Any) -> Any:
        """Computes the outputs from the inputs."""
        raise NotImplementedError

    def backward(self, *output_grads: Any) -> Any:
        """Computes the gradients of the inputs from those of the outputs."""
        raise NotImplementedError


_star.complete(
    globals(),
    "CFUNCTYPE Lock NDArray NDArrayHandle POINTER Symbol SymbolHandle array c_array c_array_buf c_int "
    "c_void_p cast check_call ctypes mx_uint string_types traceback",
    "_GRAD_REQ_MAP _LIB _ndarray_cls",
)
