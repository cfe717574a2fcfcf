# SPDX-License-Identifier: Apache-2.0
"""The class NDArray, and functions that make and combine arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core, autograd, habits
from .._arguments import element_type
from ..base import (
    AssertedTypeError,
    MXNetTypeError,
    MXNetValueError,
    integer_types,
)
from ..context import Context, as_context, current_context
from . import _exchange, _indexing, _internal, op
from ._dlpack import widened
from ._exchange import elements_of, holds_none, numpy_operand
from ._indexing import (
    get_indexing_dispatch_code,
    get_oshape_of_gather_nd_op,
    indexing_key_expand_implicit_axes,
)
from ._pictures import imdecode

__all__ = [
    "NDArray",
    "add",
    "arange",
    "array",
    "concatenate",
    "divide",
    "empty",
    "equal",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "get_indexing_dispatch_code",
    "get_oshape_of_gather_nd_op",
    "greater",
    "greater_equal",
    "histogram",
    "imdecode",
    "indexing_key_expand_implicit_axes",
    "lesser",
    "lesser_equal",
    "linspace",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "modulo",
    "moveaxis",
    "multiply",
    "not_equal",
    "onehot_encode",
    "ones",
    "power",
    "split_v2",
    "subtract",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
    "true_divide",
    "waitall",
    "zeros",
]

# MXNet's names for the two translations between NumPy's types and its own numbers.
_DTYPE_NP_TO_MX = {
    None: -1,
    np.float32: 0,
    np.float64: 1,
    np.float16: 2,
    np.uint8: 3,
    np.int32: 4,
    np.int8: 5,
    np.int64: 6,
    np.bool_: 7,
    np.dtype([("bfloat16", np.uint16)]): 12,
}
_DTYPE_MX_TO_NP = {number: dtype for dtype, number in _DTYPE_NP_TO_MX.items()}
py_slice = slice  # MXNet's name, which programs import
_GRAD_REQ_MAP = {"null": 0, "write": 1, "add": 3}
_STORAGE_TYPE_STR_TO_ID = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
_STORAGE_TYPE_ID_TO_STR = {number: name for name, number in _STORAGE_TYPE_STR_TO_ID.items()}


if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ._generated_methods import NDArrayMethods as _Base
else:
    _Base = _core.NDArrayBase


class NDArray(_Base):
    """An array of one element type on one device.

    Operations return at once and run in the background, in the order that their data needs; reading the values
    (:meth:`asnumpy`, printing, :meth:`wait_to_read`) waits. Arrays are made by functions such as :func:`array` and
    :func:`zeros`, not by calling the class.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.array([[1, 2], [3, 4]])
    >>> (x * 2 + 1).asnumpy()
    array([[3., 5.],
           [7., 9.]], dtype=float32)
    """

    __slots__ = ()
    __array_priority__ = 1000.0

    # ---- NumPy ----

    def __matmul__(self, other: Any) -> Any:
        """The matrix product, as ``numpy.matmul``: of the last two axes, for each place of the others."""
        if isinstance(other, np.ndarray):
            other = numpy_operand(other, self)
        return _exchange.matmul(self, other) if isinstance(other, NDArray) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        return (
            _exchange.matmul(numpy_operand(other, self), self)
            if isinstance(other, np.ndarray)
            else NotImplemented
        )

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """What NumPy's functions give: they get the elements as NumPy arrays, and the result is NumPy's."""
        if func in _exchange.NUMPY_WRITES and isinstance(args[0] if args else None, NDArray):
            raise MXNetTypeError(
                f"[NDArray] numpy.{func.__name__} would change a copy; use the NDArray's own operations, or "
                "x[:] = values."
            )
        if kwargs.get("out") is not None:
            raise MXNetTypeError(
                f"[NDArray] numpy.{func.__name__} cannot write into an NDArray; leave out `out`."
            )
        return func(*_exchange.as_numpy(args), **_exchange.as_numpy(kwargs))

    # ---- reading ----

    def __repr__(self) -> str:
        if self._is_none:
            return f"<{type(self).__name__} None>"
        return f"\n{self._readable()}\n{self._kind()}"

    def _kind(self) -> str:
        """ "<NDArray 2x3 @cpu(0)>", with the element type unless that is float32."""
        shape = "x".join(str(size) for size in self.shape)
        kind = np.dtype(self.dtype)
        name = "bfloat16" if kind.names else kind.name
        return f"<{type(self).__name__} {shape} @{self.context}{'' if name == 'float32' else ' ' + name}>"

    def _readable(self) -> np.ndarray[Any, Any]:
        """The elements in a type that NumPy knows: those of bfloat16 as float32."""
        data = self.asnumpy()
        if not data.dtype.names:
            return data
        return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32)

    def __format__(self, spec: str) -> str:
        """An array of one element as its number, so that ``f"{loss:.3f}"`` works; others only without a format."""
        if not spec:
            return str(self)
        if self.size != 1:
            raise MXNetTypeError(
                f"[NDArray] format {spec!r} is for one number; the array has shape {self.shape}."
            )
        return format(self.item(), spec)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise MXNetValueError(
                "[NDArray] NumPy asked for an array without a copy; use numpy.from_dlpack(array)."
            )
        data = self.asnumpy()
        return data if dtype is None else data.astype(dtype, copy=False)

    def __bool__(self) -> bool:
        if self.size == 0:
            return False
        if self.size > 1:
            raise MXNetValueError(
                f"[NDArray] an array of shape {self.shape} is neither true nor false; expected one element. "
                "(x != 0).sum() counts those that are not 0."
            )
        return bool(self._item())

    def __float__(self) -> float:
        return float(self._item())

    def __int__(self) -> int:
        return int(self._item())

    def __index__(self) -> int:
        if self.dtype not in (np.uint8, np.int8, np.int32, np.int64):
            raise MXNetTypeError(
                f"[NDArray] only arrays of integers can be an index, not {self.dtype.__name__}."
            )
        return int(self._item())

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self.asnumpy() == (value.asnumpy() if isinstance(value, NDArray) else value)))

    def asscalar(self) -> Any:
        """The only element, as a NumPy scalar.

        Raises
        ------
        ValueError
            When there is not exactly one element.
        """
        if self.size != 1:
            raise MXNetValueError(f"[asscalar] the array has shape {self.shape}; expected one element.")
        return self.asnumpy().reshape(-1)[0]

    def item(self) -> int | float:
        """The only element, as a Python number."""
        return self._item()

    def tolist(self) -> list[Any]:
        """The elements as nested Python lists."""
        return self.asnumpy().tolist()

    @property
    def T(self) -> NDArray:
        """The array with its axes reversed; itself when it has fewer than two."""
        return self if self.ndim < 2 else op.transpose(self)

    @property
    def writable(self) -> bool:
        """Whether the array may be changed; it always may."""
        return True

    # ---- parts ----

    def _get_item(self, key: Any) -> Any:
        return _indexing.get_item(self, key)

    def _set_item(self, key: Any, value: Any) -> None:
        _indexing.set_item(self, key, value)

    def _full(self, value: Any) -> None:
        self[:] = value

    def _sync_copyfrom(self, source_array: Any) -> None:
        """Copies a NumPy array, or what makes one, into this array of the same shape; complete on return."""
        try:
            source = np.ascontiguousarray(elements_of(source_array, self.dtype))
        except (TypeError, ValueError):
            raise MXNetTypeError(
                f"[NDArray] the value is of type {type(source_array).__name__}; expected numbers of "
                f"{self.dtype.__name__}, or an array of them."
            ) from None
        if source.shape != self.shape and not (source.size == self.size == 1):
            raise MXNetValueError(
                f"[NDArray] the value has shape {source.shape}; expected that of the array, {self.shape}."
            )
        self._copy_from_numpy(source)

    def slice_assign(self, rhs: Any, begin: Any, end: Any, step: Any) -> NDArray:
        """Writes ``rhs`` into the part from ``begin`` to ``end`` and returns the array."""
        return _internal._slice_assign(self, rhs, begin=begin, end=end, step=step, out=self)

    def slice_assign_scalar(self, value: Any, begin: Any, end: Any, step: Any) -> NDArray:
        """Writes a number into the part from ``begin`` to ``end`` and returns the array."""
        return _internal._slice_assign_scalar(self, scalar=value, begin=begin, end=end, step=step, out=self)

    # ---- shape ----

    def _reshape(self, shape: Sequence[int]) -> NDArray:
        """Reshaped to known sizes: a view, or an operator while recording."""
        shape = tuple(shape)
        if autograd.is_recording():
            return _reshape_op(self, shape)
        return self._reshape_view(shape)

    def reshape(self, *shape: Any, **kwargs: Any) -> NDArray:
        """The same elements in another shape; shares memory.

        Parameters
        ----------
        shape : tuple of int, or several int
            Sizes. 0 keeps the size of the input's axis; -1 is inferred from the rest; -2 copies all further axes;
            -3 merges two axes; -4 splits one axis into the two sizes that follow.
        reverse : bool
            Read the special values from the right.

        Raises
        ------
        ValueError
            When the sizes do not give the same number of elements.
        """
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        elif not shape:
            if "shape" not in kwargs:
                raise AssertedTypeError("[reshape] Shape must be provided.")
            shape = kwargs.pop("shape")
            shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        reverse = kwargs.pop("reverse", False)
        if kwargs:
            raise MXNetTypeError(
                f"[reshape] unknown argument {', '.join(map(repr, kwargs))}; expected 'shape' and 'reverse'."
            )
        return self._reshape_special(shape, bool(reverse))

    def expand_dims(self, axis: Any, inplace: bool = False) -> Any:
        """The array with a new axis of size 1; shares memory when ``inplace``."""
        if not inplace:
            return op.expand_dims(self, axis=axis)
        ndim = self.ndim + 1
        if not -ndim <= axis < ndim:
            raise MXNetValueError(
                f"[expand_dims] axis {axis} is out of range; expected {-ndim} to {ndim - 1}."
            )
        shape = list(self.shape)
        shape.insert(axis % ndim, 1)
        return self._reshape(shape)

    def squeeze(self, axis: Any = None, inplace: bool = False) -> Any:
        """The array without its axes of size 1, or without the given ones; shares memory when ``inplace``."""
        if not inplace:
            return op.squeeze(self, axis=axis)
        axes = range(self.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        axes = {i % self.ndim for i in axes if axis is not None or self.shape[i] == 1}
        for i in axes:
            if self.shape[i] != 1:
                raise MXNetValueError(f"[squeeze] axis {i} has size {self.shape[i]}; expected 1.")
        return self._reshape([size for i, size in enumerate(self.shape) if i not in axes] or (1,))

    def flatten(self, inplace: bool = False) -> NDArray:
        """The first axis, and all others as one; shares memory when ``inplace``."""
        return self.reshape((0, -1)) if inplace else op.flatten(self)

    def broadcast_to(self, shape: int | Sequence[int]) -> NDArray:
        """The array repeated along axes of size 1, and new leading ones, to ``shape``."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        have = (1,) * (len(shape) - self.ndim) + self.shape
        fits = len(have) == len(shape) and all(a in (1, b) or b == 0 for a, b in zip(have, shape))
        if not fits:
            raise MXNetValueError(
                f"[broadcast_to] an array of shape {self.shape} cannot be broadcast to {shape}."
            )
        source = self if have == self.shape else self._reshape(have)
        return op.broadcast_to(source, shape=shape)

    def broadcast_like(self, other: Any) -> NDArray:
        """The array broadcast to the shape of another."""
        return self.broadcast_to(other.shape)

    def split_v2(
        self, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
    ) -> Any:
        """Equal sections, or the parts between positions, along one axis; see :func:`split_v2`."""
        return split_v2(self, indices_or_sections, axis, squeeze_axis)

    def diag(self, k: int = 0, **kwargs: Any) -> NDArray:
        """The ``k``-th diagonal, or a matrix with this diagonal."""
        return op.diag(self, k=k, **kwargs)

    # ---- copies ----

    def copy(self) -> Any:
        """A copy on the same device."""
        return self.copyto(self.context)

    def copyto(self, other: Any) -> Any:
        """Copies the elements into another array, or to a new one on a device.

        Parameters
        ----------
        other : NDArray or Context

        Returns
        -------
        NDArray
            The target.
        """
        if isinstance(other, NDArray):
            if other is self:
                return other
            if autograd.is_recording() and other.context == self.context and other.dtype == self.dtype:
                return op.identity(self, out=other)
            _core.copy_array(self, other)
            return other
        other = as_context(other)
        if isinstance(other, Context):
            if autograd.is_recording() and other == self.context:
                return op.identity(self)
            target = _alloc_like(self, other)
            _core.copy_array(self, target)
            return target
        raise MXNetTypeError(
            f"[copyto] other is of type {type(other).__name__}; expected an NDArray or a Context."
        )

    def as_in_context(self, context: Any) -> Any:
        """The array itself if it is on the device, else a copy there."""
        context = as_context(context)
        return self if self.context == context else self.copyto(context)

    as_in_ctx = as_in_context

    def astype(self, dtype: DTypeLike | None, copy: bool = True) -> NDArray:
        """The elements converted to another type.

        Parameters
        ----------
        dtype : NumPy type, str, or what has a ``dtype``, such as an array
        copy : bool
            When False, an array that has the type already is returned itself.
        """
        dtype = element_type(dtype)
        if not copy and _core.same_dtype(dtype, self.dtype):
            return self
        return op.cast(self, dtype=dtype)

    def tostype(self, stype: str) -> Any:
        """The same values in another storage type: 'default', 'row_sparse' or 'csr'."""
        if stype == "csr" and self.ndim != 2:
            raise MXNetValueError(f"[tostype] the array has shape {self.shape}; expected two axes for 'csr'.")
        if stype == self.stype:
            return self.copy()
        from . import sparse

        return sparse.convert(self, stype)

    def detach(self) -> NDArray:
        """The same elements, cut off from the computation that was recorded."""
        return self._detach()

    def as_nd_ndarray(self) -> NDArray:
        """The array itself; for code that also handles NumPy-like arrays."""
        return self

    def as_np_ndarray(self) -> Any:
        """The same memory as an array of ``mx.np``."""
        if self.stype != "default":
            raise MXNetTypeError(
                f"[NDArray.as_np_ndarray] the array is stored as {self.stype}; use tostype('default') first."
            )
        from ..numpy import ndarray

        return ndarray(self)

    _basic_indexing_slice_is_contiguous = staticmethod(_indexing.slice_is_contiguous)

    # ---- gradients ----

    @property
    def grad(self) -> NDArray | None:
        """The gradient of a variable (see :meth:`attach_grad`), else None."""
        return self._gradient()

    def attach_grad(
        self, grad_req: str | Sequence[str] | Mapping[str, str] = "write", stype: str | None = None
    ) -> None:
        """Makes room for the gradient of this array, which then is a variable of what is recorded.

        Parameters
        ----------
        grad_req : {'write', 'add', 'null'}
            Whether a backward pass overwrites the gradient, adds to it, or leaves it.
        stype : str, optional
            Storage type of the gradient; by default that of the array.
        """
        if stype is None:
            grad = op.zeros_like(self)
        else:
            grad = zeros(self.shape, ctx=self.context, dtype=self.dtype, stype=stype)
        autograd.mark_variables([self], [grad], [grad_req])

    def backward(self, out_grad: Any = None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """Computes the gradients of this array with respect to the variables that it came from.

        Parameters
        ----------
        out_grad : NDArray, optional
            Gradient of the final value with respect to this array; ones by default.
        retain_graph : bool
            Keep what was recorded for another backward pass.
        train_mode : bool
            Whether operators behave as in training.
        """
        autograd.backward([self], None if out_grad is None else [out_grad], retain_graph, train_mode)

    # ---- pickling ----

    def __reduce__(self) -> Any:
        return type(self), (None,), self.__getstate__()

    def __getstate__(self) -> dict[Any, Any]:
        return {"handle": None if self._is_none else bytearray(_core.record_bytes(self))}

    def __setstate__(self, state: Any) -> None:
        record = state["handle"]
        if record is not None:
            self._adopt(_core.array_from_record(bytes(record)))

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    # ---- for this package ----

    @staticmethod
    def _empty(shape: Sequence[int], ctx: Context | None, dtype: DTypeLike | None) -> NDArray:
        return _core.empty(shape, ctx, dtype)

    @staticmethod
    def _from_numpy(data: Any, ctx: Context | None) -> NDArray:
        """A new array with the elements and type of a contiguous NumPy array."""
        result = _core.empty(data.shape, ctx, data.dtype)
        result._copy_from_numpy(data)
        return result


def _alloc_like(array: NDArray, ctx: Context) -> Any:
    if array.stype == "default":
        return _core.empty(array.shape, ctx, array.dtype)
    return _core.empty_sparse(array.stype, array.shape, ctx, array.dtype)


def _reshape_op(array: NDArray, shape: Sequence[int]) -> NDArray:
    # Sizes of 0 and shape () mean something else to the operator; such arrays have no gradient to pass on.
    if not shape or 0 in shape:
        return array._reshape_view(shape)
    return op.reshape(array, shape=shape)


# Methods that are operators with the array as their first input.
_FLUENT = (
    "abs arccos arccosh arcsin arcsinh arctan arctanh argmax argmax_channel argmin argsort broadcast_axes cbrt ceil "
    "clip cos cosh degrees depth_to_space exp expm1 fix flip floor log log10 log1p log2 log_softmax max mean min "
    "nanprod nansum norm one_hot ones_like pad pick prod radians rcbrt reciprocal relu repeat reshape_like rint round "
    "rsqrt shape_array sigmoid sign sin sinh size_array slice slice_axis slice_like softmax softmin sort "
    "space_to_depth split sqrt square sum swapaxes take tan tanh tile topk transpose trunc zeros_like"
).split()
for _name in _FLUENT:
    if hasattr(op, _name):
        setattr(NDArray, _name, getattr(op, _name))


# ---- making arrays ----


def shape_of(shape: int | Sequence[int]) -> tuple[Any, ...]:
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    if not isinstance(shape, Iterable) or isinstance(shape, (str, bytes)):
        raise MXNetTypeError(
            f"[NDArray] shape is {shape!r}, of type {type(shape).__name__}; expected an integer or a sequence of "
            "integers."
        )
    sizes = tuple(shape)
    for size in sizes:
        if isinstance(size, (int, np.integer)) and size < 0:
            raise MXNetValueError(f"[NDArray] shape {sizes} has the size {size}; expected 0 or more.")
    return sizes


def empty(shape: int | Sequence[int], ctx: Context | None = None, dtype: DTypeLike | None = None) -> NDArray:
    """A new array whose elements are not set.

    >>> empty((2, 3)).shape
    (2, 3)
    """
    return _core.empty(shape_of(shape), ctx, np.float32 if dtype is None else dtype)


def zeros(
    shape: int | Sequence[int],
    ctx: Context | None = None,
    dtype: DTypeLike | None = None,
    stype: str | None = None,
    **kwargs: Any,
) -> Any:
    """A new array of zeros.

    Parameters
    ----------
    shape : int or tuple of int
    ctx : Context, optional
        Default: the current context.
    dtype : NumPy type or str, optional
        Default: float32.
    stype : {'default', 'row_sparse', 'csr'}, optional
        Storage type.

    Examples
    --------
    >>> zeros((1, 2)).asnumpy()
    array([[0., 0.]], dtype=float32)
    """
    if stype not in (None, "default"):
        from . import sparse

        return sparse.zeros(stype, shape, ctx=ctx, dtype=dtype, **kwargs)
    return _internal._zeros(
        shape=shape_of(shape),
        ctx=ctx or current_context(),
        dtype=np.float32 if dtype is None else dtype,
        **kwargs,
    )


def ones(
    shape: int | Sequence[int], ctx: Context | None = None, dtype: DTypeLike | None = None, **kwargs: Any
) -> NDArray:
    """A new array of ones; parameters as for :func:`zeros`.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.nd.ones((2, 2), dtype="int32").asnumpy()
    array([[1, 1],
           [1, 1]], dtype=int32)
    """
    return _internal._ones(
        shape=shape_of(shape),
        ctx=ctx or current_context(),
        dtype=np.float32 if dtype is None else dtype,
        **kwargs,
    )


def full(
    shape: int | Sequence[int],
    val: Any,
    ctx: Context | None = None,
    dtype: DTypeLike | None = np.float32,
    out: NDArray | None = None,
) -> NDArray:
    """A new array with ``val`` everywhere, or ``out`` filled with it.

    >>> full(2, 7).asnumpy()
    array([7., 7.], dtype=float32)
    """
    out = empty(shape, ctx, dtype) if out is None else out
    out[:] = val
    return out


def array(source_array: Any, ctx: Context | None = None, dtype: DTypeLike | None = None) -> Any:
    """A new array with the values of a list, a NumPy array or anything that NumPy takes.

    Parameters
    ----------
    source_array : array_like or NDArray
    ctx : Context, optional
        Default: the current context.
    dtype : NumPy type or str, optional
        Default: the type of an NDArray, else float32, whatever the source's type.

    Examples
    --------
    >>> array([1, 2, 3]).asnumpy()
    array([1., 2., 3.], dtype=float32)
    """
    if isinstance(source_array, NDArray):
        dtype = source_array.dtype if dtype is None else dtype
        source_array = source_array.asnumpy()
    by_default = dtype is None
    dtype = np.float32 if dtype is None else dtype
    if isinstance(source_array, (list, tuple)) and any(isinstance(item, NDArray) for item in source_array):
        source_array = [item.asnumpy() if isinstance(item, NDArray) else item for item in source_array]
    result_dtype = _core.numpy_dtype(dtype)
    try:
        if result_dtype.names:  # bfloat16, which NumPy cannot convert to
            values = np.ascontiguousarray(source_array)
            return _make(values if values.dtype == result_dtype else values.astype(np.float32), ctx).astype(
                dtype
            )
        values = np.asarray(source_array, dtype=result_dtype)
    except (TypeError, ValueError) as error:
        raise MXNetTypeError(
            f"[array] source_array of type {type(source_array).__name__} holds more than numbers in rows of one "
            f"length: {error}"
        ) from None
    if values.dtype.kind == "f" and holds_none(source_array, values):
        raise MXNetTypeError(
            f"[array] source_array of type {type(source_array).__name__} holds None; expected numbers, such as "
            "float('nan') for what is missing."
        )
    if by_default:
        habits.float32_integers(source_array, values)
    return _make(values, ctx)


def _make(values: Any, ctx: Context | None) -> NDArray:
    if not values.flags.c_contiguous:
        values = np.ascontiguousarray(values)
    return NDArray._from_numpy(values, ctx)


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: Context | None = None,
    dtype: DTypeLike | None = np.float32,
) -> NDArray:
    """Evenly spaced values: from ``start`` below ``stop``, each ``repeat`` times.

    >>> arange(2, 6, step=2, repeat=2).asnumpy()
    array([2., 2., 4., 4.], dtype=float32)
    """
    return _internal._arange(
        start=start,
        stop=stop,
        step=step,
        repeat=repeat,
        infer_range=False,
        dtype=np.float32 if dtype is None else dtype,
        ctx=ctx or current_context(),
    )


def linspace(
    start: Any,
    stop: Any,
    num: int,
    endpoint: bool = True,
    ctx: Context | None = None,
    dtype: DTypeLike | None = np.float32,
) -> NDArray:
    """``num`` evenly spaced values from ``start`` to ``stop``.

    >>> linspace(0, 1, 3).asnumpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    return _internal._linspace(
        start=start,
        stop=stop,
        num=num,
        endpoint=endpoint,
        dtype=np.float32 if dtype is None else dtype,
        ctx=ctx or current_context(),
    )


def eye(
    N: int, M: int = 0, k: int = 0, ctx: Context | None = None, dtype: DTypeLike | None = None, **kwargs: Any
) -> NDArray:
    """A matrix with ones on its ``k``-th diagonal; M is the number of columns, N by default.

    >>> eye(2).asnumpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return _internal._eye(
        N=N, M=M, k=k, ctx=ctx or current_context(), dtype=np.float32 if dtype is None else dtype, **kwargs
    )


def from_numpy(ndarray: Any, zero_copy: bool = True, array_cls: type = NDArray) -> Any:
    """An array over a NumPy array: shares its memory if ``zero_copy``, in which case it becomes read-only there.

    Raises
    ------
    ValueError
        When the array is not contiguous and ``zero_copy`` is asked for.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> a = np.zeros(2, dtype="float32")
    >>> x = mx.nd.from_numpy(a, zero_copy=True)
    >>> x[:] = 7
    >>> a
    array([7., 7.], dtype=float32)
    """
    if not isinstance(ndarray, np.ndarray):
        raise MXNetTypeError(
            f"[from_numpy] ndarray is of type {type(ndarray).__name__}; expected a numpy.ndarray: use nd.array(values)."
        )
    if not zero_copy:
        return array(ndarray, dtype=ndarray.dtype)
    if not ndarray.flags["C_CONTIGUOUS"]:
        raise MXNetValueError(
            "[from_numpy] the array's elements do not lie row after row, so its memory cannot be shared; expected "
            "zero_copy=False or numpy.ascontiguousarray."
        )
    shared = _core.share_numpy(ndarray)
    ndarray.flags["WRITEABLE"] = False
    return shared


def from_dlpack(dlpack: Any) -> NDArray:
    """An array over a DLPack capsule, or over an object with ``__dlpack__``, without a copy where possible.

    Integers of 16 bits, and unsigned ones of 32, are copied to the next larger type of array.

    Examples
    --------
    >>> import loomix as mx
    >>> import numpy as np
    >>> mx.nd.from_dlpack(np.arange(3.0, dtype="float32")).asnumpy()
    array([0., 1., 2.], dtype=float32)
    """
    capsule = dlpack.__dlpack__() if hasattr(dlpack, "__dlpack__") else dlpack
    try:
        return _core.from_dlpack(capsule)
    except MXNetTypeError:
        values = widened(capsule)
        if values is None:
            raise
        return _make(values, None)


def to_dlpack_for_read(data: Any) -> Any:
    """A DLPack capsule over ``data`` once it is computed.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.nd.from_dlpack(mx.nd.to_dlpack_for_read(mx.nd.array([1, 2]))).asnumpy()
    array([1., 2.], dtype=float32)
    """
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: Any) -> Any:
    """A DLPack capsule over ``data`` once nothing reads or writes it.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.array([1, 2])
    >>> y = mx.nd.from_dlpack(mx.nd.to_dlpack_for_write(x))
    >>> y[:] = 7
    >>> x.asnumpy()
    array([7., 7.], dtype=float32)
    """
    return data.to_dlpack_for_write()


def waitall() -> None:
    """Waits until everything that was started is done; raises the first error that nobody saw.

    >>> waitall()
    """
    _core.waitall()


# ---- combining arrays ----


def concatenate(arrays: Any, axis: Any = 0, always_copy: bool = True) -> Any:
    """Joins a list of arrays along an existing axis.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.nd.concatenate([mx.nd.array([1, 2]), mx.nd.array([3])]).asnumpy()
    array([1., 2., 3.], dtype=float32)
    """
    if not arrays:
        raise MXNetValueError("[concatenate] got no arrays; expected at least one.")
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return op.concat(*arrays, dim=axis)


def moveaxis(tensor: NDArray, source: Any, destination: Any) -> NDArray:
    """The array with axes moved to other places, as ``numpy.moveaxis``.

    >>> moveaxis(zeros((3, 4, 5)), 0, -1).shape
    (4, 5, 3)
    """
    source = [source] if isinstance(source, int) else list(source)
    destination = [destination] if isinstance(destination, int) else list(destination)
    ndim = tensor.ndim
    for name, axes in (("source", source), ("destination", destination)):
        if any(not -ndim <= axis < ndim for axis in axes) or len({axis % ndim for axis in axes}) != len(axes):
            raise MXNetValueError(
                f"[moveaxis] {name} {axes} must be different axes from {-ndim} to {ndim - 1}."
            )
    if len(source) != len(destination):
        raise MXNetValueError(
            f"[moveaxis] source has {len(source)} axes and destination {len(destination)}; expected as many."
        )
    source = [axis % ndim for axis in source]
    order = [axis for axis in range(ndim) if axis not in source]
    for target, axis in sorted(zip((axis % ndim for axis in destination), source)):
        order.insert(target, axis)
    return op.transpose(tensor, axes=tuple(order))


def onehot_encode(indices: Any, out: NDArray) -> NDArray:
    """Writes the one-hot rows of ``indices`` into the matrix ``out`` and returns it.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.nd.onehot_encode(mx.nd.array([2, 0]), mx.nd.zeros((2, 3))).asnumpy()
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    return _internal._onehot_encode(indices, out, out=out)


def histogram(a: Any, bins: Any = 10, range: Any = None) -> Any:
    """Counts of the values in bins, and the bins' edges.

    Parameters
    ----------
    a : NDArray
    bins : int or NDArray
        How many bins of equal width, or their edges.
    range : tuple of two float, optional
        Lower and upper end of the bins; by default the smallest and largest value, for which the call waits.

    Returns
    -------
    list or tuple of NDArray
        Counts (int64) and edges (of the type of ``a``); both float32 where they had to be found.

    Examples
    --------
    >>> import loomix as mx
    >>> counts, edges = mx.nd.histogram(mx.nd.array([1, 2, 2, 4]), bins=3, range=(1, 4))
    >>> counts.asnumpy(), edges.asnumpy()
    (array([1, 2, 1]), array([1., 2., 3., 4.], dtype=float32))
    """
    if isinstance(bins, NDArray):
        return _internal._histogram(a, bins)
    if not isinstance(bins, integer_types):
        raise MXNetValueError(
            f"[histogram] bins is of type {type(bins).__name__}; expected an int or an NDArray."
        )
    if range is None:
        counts, edges = np.histogram(a.asnumpy(), bins=bins)
        return array(counts, dtype=np.float32), array(edges, dtype=np.float32)
    return _internal._histogram(a, bin_cnt=int(bins), range=range)


def split_v2(
    ary: Any, indices_or_sections: int | Sequence[int], axis: Any = 0, squeeze_axis: bool = False
) -> Any:
    """Splits an array into equal sections, or at the given positions, along one axis.

    >>> [part.shape for part in split_v2(zeros((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    if isinstance(indices_or_sections, int):
        size = ary.shape[axis]
        if indices_or_sections < 1 or size % indices_or_sections:
            raise MXNetValueError(
                f"[split_v2] axis {axis} of size {size} cannot be split into {indices_or_sections} equal sections."
            )
        return _internal._split_v2(ary, (0,), axis, squeeze_axis, indices_or_sections)
    if isinstance(indices_or_sections, (tuple, list, set)):
        return _internal._split_v2(ary, (0, *indices_or_sections), axis, squeeze_axis)
    raise MXNetValueError(
        f"[split_v2] indices_or_sections is {indices_or_sections!r}; expected a number of parts or a list of positions."
    )


_core.set_array_classes(NDArray, NDArray, NDArray)  # sparse.py puts its classes in place

from .elementwise import (  # noqa: E402 - they need the class
    add,
    divide,
    equal,
    greater,
    greater_equal,
    lesser,
    lesser_equal,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    modulo,
    multiply,
    not_equal,
    power,
    subtract,
    true_divide,
)
