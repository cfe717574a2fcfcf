# SPDX-License-Identifier: Apache-2.0
"""Operators written in Python.

A class that derives from :class:`CustomOpProp` describes an operator and is registered under a name; it makes the
:class:`CustomOp` that computes. ``mx.nd.Custom`` and ``mx.sym.Custom`` run it by that name:

>>> import loomix as mx
>>> class Square(mx.operator.CustomOp):
...     def forward(self, is_train, req, in_data, out_data, aux):
...         self.assign(out_data[0], req[0], in_data[0] ** 2)
...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
...         self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])
>>> @mx.operator.register("example_square")
... class SquareProp(mx.operator.CustomOpProp):
...     def create_operator(self, ctx, in_shapes, in_dtypes):
...         return Square()
>>> mx.nd.Custom(mx.nd.array([1, 2, 3]), op_type="example_square").asnumpy()
array([1., 4., 9.], dtype=float32)

Methods of a CustomOp run on a thread of their own beside the engine's, so they may call other operators, wait for
arrays and read them. The arrays that they get share the operator's memory.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core, _custom, _star
from . import ndarray as nd
from .base import MXNetNotImplementedError, MXNetTypeError, MXNetValueError
from .base import py_str as py_str
from .ndarray import NDArray
from .util import is_np_array as is_np_array

if TYPE_CHECKING:
    from .symbol import Symbol

__all__ = [
    "CustomOp",
    "CustomOpProp",
    "NDArrayOp",
    "NumpyOp",
    "OperatorArguments",
    "PythonOp",
    "get_all_registered_operators",
    "get_operator_arguments",
    "register",
]

# A fork finishes what is in flight; what these operators need of Python's own locks is free only before it begins.
os.register_at_fork(before=_core.quiesce_for_fork)


class CustomOp:
    """What computes an operator: override :meth:`forward` and, for gradients, :meth:`backward`.

    One object serves the calls of one executor, one after the other, or one call on arrays with its gradient; so what
    ``forward`` leaves in ``self`` is there in ``backward``.

    Examples
    --------
    >>> import loomix as mx
    >>> class Half(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], in_data[0] / 2)
    >>> out = mx.nd.ones(2)
    >>> Half().forward(True, ["add"], [mx.nd.array([2, 4])], [out], [])
    >>> out.asnumpy()
    array([2., 3.], dtype=float32)
    """

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        """Computes ``out_data`` from ``in_data``.

        Parameters
        ----------
        is_train : bool
        req : list of str
            What to do with each output: ``'null'``, ``'write'``, ``'inplace'`` or ``'add'``; see :meth:`assign`.
        in_data, out_data : list of NDArray
        aux : list of NDArray
            Auxiliary states, which may be changed.
        """
        raise MXNetNotImplementedError(f"[CustomOp] {type(self).__name__} does not define forward.")

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        """Computes ``in_grad``, the gradients of the inputs, from ``out_grad``, those of the outputs.

        What :meth:`CustomOpProp.declare_backward_dependency` leaves out has no data here.
        """
        raise MXNetNotImplementedError(f"[CustomOp] {type(self).__name__} does not define backward.")

    def assign(self, dst: NDArray, req: str, src: Any) -> None:
        """Writes ``src`` to ``dst`` as ``req`` asks for: not at all, over what is there, or added to it."""
        if req == "null":
            return
        if req in ("write", "inplace"):
            dst[...] = src
        elif req == "add":
            if not isinstance(src, (NDArray, *np.ScalarType)):
                src = nd.array(src, ctx=dst.context, dtype=dst.dtype)
            dst[...] = dst + src
        else:
            raise MXNetValueError(
                f"[CustomOp.assign] unknown req {req!r}; expected 'null', 'write', 'inplace' or 'add'."
            )


class CustomOpProp:
    """Describes an operator: its names, its shapes and types, and what its gradient needs.

    The keywords of ``Custom`` reach ``__init__`` as strings.

    Parameters
    ----------
    need_top_grad : bool
        Whether the gradient depends on those of the outputs. A loss says False.

    Examples
    --------
    >>> import loomix as mx
    >>> class RowSumsProp(mx.operator.CustomOpProp):
    ...     def list_arguments(self):
    ...         return ["rows"]
    ...     def infer_shape(self, in_shape):
    ...         return in_shape, [in_shape[0][:1]], []
    >>> RowSumsProp().infer_shape([(2, 3)])
    ([(2, 3)], [(2,)], [])
    """

    need_top_grad_ = True

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape: Any) -> Any:
        """Shapes of arguments, outputs and auxiliary states, three lists, from those of the arguments.

        Arguments whose shapes are not known yet come as ``[]``, unknown sizes as 0. With NumPy's shape rules these are
        None and -1.
        """
        outputs, states = len(self.list_outputs()), len(self.list_auxiliary_states())
        return in_shape, [in_shape[0]] * outputs, [in_shape[0]] * states

    def infer_type(self, in_type: Any) -> Any:
        """Element types of arguments, outputs and auxiliary states from those of the arguments; None is unknown."""
        first = in_type[0]
        arguments = [first if dtype is None else dtype for dtype in in_type]
        return arguments, [first] * len(self.list_outputs()), [first] * len(self.list_auxiliary_states())

    def infer_storage_type(self, in_stype: Any) -> Any:
        """Storage types of arguments, outputs and states: all are dense, and sparse arguments are made so."""
        return (
            ["default"] * len(in_stype),
            ["default"] * len(self.list_outputs()),
            ["default"] * len(self.list_auxiliary_states()),
        )

    def infer_storage_type_backward(
        self, ograd_stype: Any, in_stype: Any, out_stype: Any, igrad_stype: Any, aux_stype: Any
    ) -> Any:
        """The same for a backward call."""
        groups = (ograd_stype, in_stype, out_stype, igrad_stype, aux_stype)
        return tuple(["default"] * len(group) for group in groups)

    def list_outputs(self) -> Any:
        """Names of the outputs."""
        return ["output"]

    def list_arguments(self) -> Any:
        """Names of the inputs."""
        return ["data"]

    def list_auxiliary_states(self) -> Any:
        """Names of the states that the operator changes."""
        return []

    def declare_backward_dependency(self, out_grad: Any, in_data: Any, out_data: Any) -> Any:
        """Which of these numbers stand for arrays that ``backward`` reads: all by default, but ``out_grad`` of a loss.

        What is left out need not be kept until the backward pass.
        """
        return [*(out_grad if self.need_top_grad_ else ()), *in_data, *out_data]

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
        """The :class:`CustomOp` for these shapes and types on this device."""
        return CustomOp()


def register(reg_name: str) -> Callable[[Any], Any]:
    """A decorator that registers a :class:`CustomOpProp` under the name that ``op_type`` says.

    Examples
    --------
    >>> import loomix as mx
    >>> @mx.operator.register("example_of_register")
    ... class NothingProp(mx.operator.CustomOpProp):
    ...     pass
    >>> mx.sym.Custom(mx.sym.Variable("x"), op_type="example_of_register", name="nothing").list_outputs()
    ['nothing_output']
    """

    def do_register(prop_cls: Any) -> Any:
        if not (isinstance(prop_cls, type) and issubclass(prop_cls, CustomOpProp)):
            raise MXNetTypeError(f"[register] {prop_cls!r} is no subclass of CustomOpProp.")
        _check_dense(prop_cls)
        before = _custom.registry.get(reg_name)
        if before is not None and before.__qualname__ != prop_cls.__qualname__:
            warnings.warn(
                f"[register] the operator {reg_name!r} was {before.__module__}.{before.__qualname__}, and is now "
                f"{prop_cls.__module__}.{prop_cls.__qualname__}.",
                UserWarning,
                stacklevel=2,
            )
        _custom.registry[reg_name] = prop_cls
        return prop_cls

    return do_register


def _check_dense(prop_cls: type[CustomOpProp]) -> None:
    for method in ("infer_storage_type", "infer_storage_type_backward"):
        if getattr(prop_cls, method) is not getattr(CustomOpProp, method):
            warnings.warn(
                f"[register] {prop_cls.__qualname__}.{method} is not called: operators written in Python get dense "
                "arrays only, and sparse ones are made dense for them.",
                UserWarning,
                stacklevel=3,
            )


def get_all_registered_operators() -> list[str]:
    """The names of all operators of ``mx.nd`` and ``mx.sym``, aliases included.

    Examples
    --------
    >>> import loomix as mx
    >>> "Convolution" in mx.operator.get_all_registered_operators()
    True
    """
    return sorted(name for name, _ in _core.operator_names(False))


class OperatorArguments(NamedTuple):
    """What an operator takes: how many, their names and their types.

    Examples
    --------
    >>> import loomix as mx
    >>> arguments = mx.operator.get_operator_arguments("Activation")
    >>> arguments.names
    ['data', 'act_type']
    """

    narg: int
    names: list[str]
    types: list[str]


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """The inputs and parameters of an operator.

    >>> get_operator_arguments("relu").names
    ['data']
    """
    info = _core.operator_info(op_name)
    many = "NDArray-or-Symbol[]" if info["any_inputs"] else "NDArray-or-Symbol"
    names = [item["name"] for item in info["inputs"]] + [item["name"] for item in info["params"]]
    types = [many for _ in info["inputs"]]
    for item in info["params"]:
        state = "required" if item["required"] else f"optional, default={item['default']}"
        types.append(f"{item['type']}, {state}")
    return OperatorArguments(len(names), names, types)


_numbers = itertools.count()


class PythonOp:
    """The base of the older kinds of operators, which exist in symbols only: ``MyOp()(data, name='my')``.

    Scripts of today use :class:`CustomOp`.

    Examples
    --------
    >>> import loomix as mx
    >>> operator = mx.operator.NumpyOp()
    >>> operator.list_arguments(), operator.list_outputs(), operator.infer_shape([(2, 3)])
    (['data'], ['output'], ([(2, 3)], [(2, 3)]))
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.info_ = None
        self.need_top_grad_ = need_top_grad

    def __call__(self, *args: Any, **kwargs: Any) -> Symbol:
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Any, **kwargs: Any) -> Symbol:
        """A symbol that runs this object; arguments are those of the operator, and ``name``."""
        raise MXNetNotImplementedError(f"[PythonOp] derive {type(self).__name__} from NumpyOp or NDArrayOp.")

    def forward(self, in_data: Any, out_data: Any) -> None:
        """Computes ``out_data`` in place."""
        out_data[0][:] = in_data[0]

    def backward(self, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any) -> None:
        """Computes ``in_grad`` in place."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: Any) -> Any:
        """Shapes of arguments and outputs, two lists."""
        return in_shape, [in_shape[0]]

    def list_outputs(self) -> Any:
        """Names of the outputs."""
        return ["output"]

    def list_arguments(self) -> Any:
        """Names of the inputs."""
        return ["data"]

    def need_top_grad(self) -> bool:
        """Whether ``backward`` reads ``out_grad``."""
        return self.need_top_grad_

    def _compose(self, lend: Callable[[Any], Any], args: Sequence[Any], keywords: dict[str, Any]) -> Symbol:
        """A Custom symbol whose class stands for this object. ``lend`` makes of an array what the object sees."""
        from . import symbol

        name = (
            f"{type(self).__qualname__}@{next(_numbers)}"  # of this process, so such symbols cannot be loaded
        )
        _custom.registry[name] = type(
            type(self).__qualname__, (_Adapter,), {"owner": self, "lend": staticmethod(lend)}
        )
        return symbol.Custom(*args, op_type=name, **keywords)


class NumpyOp(PythonOp):
    """An operator on NumPy's arrays, of the older kind.

    Examples
    --------
    >>> import loomix as mx
    >>> class Sorted(mx.operator.NumpyOp):
    ...     def forward(self, in_data, out_data):
    ...         out_data[0][:] = sorted(in_data[0])
    >>> Sorted()(mx.sym.Variable("x"), name="sorted").eval(x=mx.nd.array([3, 1, 2]))[0].asnumpy()
    array([1., 2., 3.], dtype=float32)
    """

    def get_symbol(self, *args: Any, **kwargs: Any) -> Symbol:
        return self._compose(NDArray.asnumpy, args, kwargs)


class NDArrayOp(PythonOp):
    """An operator on NDArrays, of the older kind.

    Examples
    --------
    >>> import loomix as mx
    >>> class Double(mx.operator.NDArrayOp):
    ...     def forward(self, in_data, out_data):
    ...         out_data[0][:] = 2 * in_data[0]
    >>> net = Double()(mx.sym.Variable("x"), name="double")
    >>> net.eval(x=mx.nd.array([1, 2]))[0].asnumpy()
    array([2., 4.], dtype=float32)
    """

    def get_symbol(self, *args: Any, **kwargs: Any) -> Symbol:
        return self._compose(lambda array: array, args, kwargs)

    def declare_backward_dependency(self, out_grad: Any, in_data: Any, out_data: Any) -> Any:
        """Which of these numbers stand for arrays that ``backward`` reads."""
        return [*(out_grad if self.need_top_grad() else ()), *in_data, *out_data]


class _Adapter(CustomOpProp):
    """Describes an operator of the older kind."""

    owner: PythonOp
    lend: Callable[[Any], Any]

    def list_arguments(self) -> Any:
        return self.owner.list_arguments()

    def list_outputs(self) -> Any:
        return self.owner.list_outputs()

    def infer_shape(self, in_shape: Any) -> Any:
        return self.owner.infer_shape(in_shape)

    def declare_backward_dependency(self, out_grad: Any, in_data: Any, out_data: Any) -> Any:
        declare = getattr(self.owner, "declare_backward_dependency", None)
        if declare is not None:
            return declare(out_grad, in_data, out_data)
        return [*(out_grad if self.owner.need_top_grad() else ()), *in_data, *out_data]

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
        return _OlderOp(self.owner, self.lend)


class _OlderOp(CustomOp):
    """Calls an operator of the older kind, which knows no ``req``: it writes to arrays beside the real ones."""

    def __init__(self, owner: PythonOp, lend: Callable[[Any], Any]) -> None:
        self._owner = owner
        self._lend = lend

    def _lent(self, arrays: Any) -> list[Any]:
        return [None if array._is_none else self._lend(array) for array in arrays]

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        written = [self._lend(nd.zeros_like(array)) for array in out_data]
        self._owner.forward(in_data=self._lent(in_data), out_data=written)
        for array, request, value in zip(out_data, req, written):
            self.assign(array, request, value)

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        written = [self._lend(nd.zeros_like(array)) for array in in_grad]
        self._owner.backward(
            out_grad=self._lent(out_grad),
            in_data=self._lent(in_data),
            out_data=self._lent(out_data),
            in_grad=written,
        )
        for array, request, value in zip(in_grad, req, written):
            self.assign(array, request, value)


_star.complete(
    globals(),
    "CFUNCTYPE Lock NDArray NDArrayHandle OpHandle POINTER Structure array c_array c_array_buf c_bool "
    "c_char c_char_p c_int c_str c_void_p cast check_call collections context ctypes "
    "ctypes2numpy_shared is_np_array mx_float mx_int mx_uint pointer py_str symbol traceback warnings",
    "_LIB _ndarray_cls",
)
