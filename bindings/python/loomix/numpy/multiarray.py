# SPDX-License-Identifier: Apache-2.0
"""``np.ndarray``, and ``np.array``."""

# mypy: disable-error-code="override"
# The methods have NumPy's signatures, not those of the methods of mx.nd which they stand for.
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as onp

from .. import _core, autograd
from ..base import MXNetTypeError, MXNetValueError
from ..ndarray import NDArray
from . import _algebra, _creation, _elementwise, _indexing, _protocols, _reductions, _search, _shape
from ._base import (
    F,
    asarray,
    cast,
    context_of,
    default_float,
    is_array,
    name_of_type,
    no_more,
    row_major,
    shape_of,
    type_name,
)

_TABLES = (_elementwise, _reductions, _creation, _shape, _search, _algebra)
FUNCTIONS: dict[str, Any] = {}
for _table in _TABLES:
    FUNCTIONS.update(_table.FUNCTIONS)

if TYPE_CHECKING:

    class _Base(NDArray):
        """The operators, which C code or loops over names make."""

        def _operator(self, other: Any, /) -> ndarray: ...
        def _comparison(self, other: object, /) -> ndarray: ...

        __add__ = __radd__ = __iadd__ = __sub__ = __rsub__ = __isub__ = __mul__ = __rmul__ = __imul__ = (
            _operator
        )
        __truediv__ = __rtruediv__ = __itruediv__ = __floordiv__ = __rfloordiv__ = __ifloordiv__ = _operator
        __mod__ = __rmod__ = __imod__ = __imatmul__ = _operator
        __pow__ = __rpow__ = _operator  # type: ignore[assignment]
        __and__ = __rand__ = __iand__ = __or__ = __ror__ = __ior__ = __xor__ = __rxor__ = __ixor__ = _operator
        __lshift__ = __rlshift__ = __ilshift__ = __rshift__ = __rrshift__ = __irshift__ = _operator
        __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _comparison  # type: ignore[assignment]
        __hash__ = NDArray.__hash__

        def __matmul__(self, other: Any) -> ndarray: ...
        def __rmatmul__(self, other: Any) -> ndarray: ...
        def __neg__(self) -> ndarray: ...
        def __abs__(self) -> ndarray: ...
        def __getitem__(self, key: Any) -> ndarray: ...
else:
    # The C type comes first: its operators are NumPy's.
    class _Base(_core.NumpyArrayBase, NDArray):
        __slots__ = ()


class ndarray(_Base):
    """An array with NumPy's behaviour, on one device. Operations return at once; reading the values waits.

    Examples
    --------
    >>> from loomix import np, npx
    >>> x = np.array([[1, 2], [3, 4]])
    >>> x.mean(axis=0) > 2
    array([False,  True])
    """

    __slots__ = ()
    __module__ = "loomix.numpy"
    __array_priority__ = 1000.0

    # ---- other classes ----

    def as_nd_ndarray(self) -> NDArray:
        """The same memory as an array of ``mx.nd``."""
        return NDArray(self)

    def as_np_ndarray(self) -> ndarray:
        """The array itself."""
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise MXNetValueError(
                "[np.ndarray] NumPy asked for an array without a copy; use numpy.from_dlpack(x)."
            )
        data = self.asnumpy()
        return data if dtype is None else data.astype(dtype, copy=False)

    __array_function__ = _protocols.array_function
    __array_ufunc__ = _protocols.array_ufunc

    # ---- operators ----

    def __divmod__(self, other: Any) -> Any:
        return _elementwise.operate(_elementwise.divmod, self, other, False)

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return _elementwise.invert(self)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise MXNetValueError(
                f"[np.ndarray] an array of shape {self.shape} is neither true nor false; use x.any() or x.all()."
            )
        return bool(self._item())

    def __contains__(self, value: Any) -> bool:
        return bool(_reductions.any(_elementwise.FUNCTIONS["equal"](self, value)))

    # ---- the array API standard ----

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """``loomix.array_api``."""
        from .. import array_api

        if api_version is not None and not "2021.12" <= api_version <= array_api.__array_api_version__:
            raise MXNetValueError(
                f"[np.ndarray] version {api_version!r} of the array API; expected up to "
                f"{array_api.__array_api_version__}."
            )
        return array_api

    def __complex__(self) -> complex:
        return complex(self._item())

    @property
    def device(self) -> Any:
        """The device, which MXNet calls context."""
        return self.context

    def to_device(self, device: Any, /, *, stream: Any = None) -> ndarray:
        """The array itself if it is on the device, else a copy there."""
        if stream is not None:
            raise MXNetValueError(
                f"[np.to_device] stream is {stream!r}; expected None: the engine orders copies."
            )
        return self.as_in_context(context_of(device))

    @property
    def mT(self) -> ndarray:
        """The array with its last two axes exchanged."""
        if self.ndim < 2:
            raise MXNetValueError(f"[np.mT] the array has shape {self.shape}; expected two axes or more.")
        return _shape.swapaxes(self, -1, -2)

    # ---- reading ----

    @property
    def dtype(self) -> Any:
        """The element type, as official NumPy's dtype."""
        return onp.dtype(_core.NDArrayBase.dtype.__get__(self))

    def __repr__(self) -> str:
        """As in MXNet: as of NumPy; the default type and bool need no mention, a device that is not the CPU does."""
        if self._is_none:
            return "array(None)"
        text = repr(self._readable())
        name = name_of_type(self)
        if name in (default_float(), "bfloat16"):
            text = text.replace(f", dtype={'float32' if name == 'bfloat16' else name}", "")
        elif name != "bool" and "dtype=" not in text:
            text = f"{text[:-1]}, dtype={name})"
        if name == "bfloat16":
            text = f"{text[:-1]}, dtype=bfloat16)"
        return text if self.context.device_type == "cpu" else f"{text[:-1]}, ctx={self.context})"

    def __str__(self) -> str:
        return repr(self) if self._is_none else str(self._readable())

    def item(self, *args: Any) -> Any:
        """The only element as a Python number, or the one at a position."""
        return self.asnumpy().item(*args) if args else self._item()

    def as_in_ctx(self, ctx: Any) -> ndarray:
        """The array itself if it is on the device, else a copy there."""
        return self.as_in_context(ctx)

    # ---- parts ----

    def _get_item(self, key: Any) -> Any:
        return _indexing.get_item(self, key)

    def _set_item(self, key: Any, value: Any) -> None:
        _indexing.set_item(self, key, value)

    @staticmethod
    def _empty(shape: Any, ctx: Any, dtype: Any) -> ndarray:
        return ndarray(_core.empty(shape, ctx, dtype))

    @staticmethod
    def _from_numpy(data: Any, ctx: Any) -> ndarray:
        result = ndarray(_core.empty(data.shape, ctx, data.dtype))
        result._copy_from_numpy(data)
        return result

    def _reshape(self, shape: Any) -> ndarray:
        return self._reshape_plain(tuple(shape))

    # ---- shape ----

    @property
    def T(self) -> ndarray:
        """The array with its axes reversed."""
        return _shape.transpose(self)

    def reshape(self, *args: Any, **kwargs: Any) -> ndarray:
        """The same elements under another shape; shares memory."""
        order = kwargs.pop("order", "C")
        if not args:
            args = (kwargs.pop("newshape", None) or kwargs.pop("shape", ()),)
        if kwargs:
            raise MXNetTypeError(
                f"[np.reshape] there is no argument {next(iter(kwargs))!r}; expected a shape."
            )
        sizes = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        return _shape.reshape(self, sizes, order)

    def reshape_view(self, *shape: Any, **kwargs: Any) -> ndarray:
        """The same as :meth:`reshape`."""
        return self.reshape(*shape, **kwargs)

    def transpose(self, *axes: Any) -> ndarray:
        """The array with its axes in another order; reversed unless one is given."""
        if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
            return _shape.transpose(self, axes[0] or None)
        return _shape.transpose(self, axes or None)

    def ravel(self, order: str = "C") -> ndarray:
        """The elements as a flat array; shares memory."""
        return _shape.ravel(self, order)

    def flatten(self, order: str = "C") -> ndarray:
        """A flat copy."""
        row_major(order, "np.flatten")
        return F.identity(self._reshape_plain((-1,)))

    def broadcast_to(self, shape: Any) -> ndarray:
        """The array repeated along axes of size 1, and new leading ones, to ``shape``."""
        shape = shape_of(shape)
        have = (1,) * (len(shape) - self.ndim) + self.shape
        if len(have) != len(shape) or any(a not in (1, b) for a, b in zip(have, shape)):
            raise MXNetValueError(
                f"[np.broadcast_to] an array of shape {self.shape} cannot be broadcast to {shape}."
            )
        source = self if have == self.shape else self._reshape_plain(have)
        if have == shape:
            return F.identity(source) if source is self else source
        if 0 in shape:
            return ndarray._empty(shape, self.context, self.dtype)
        return F.broadcast_to(source, shape=shape)

    def expand_dims(self, *args: Any, **kwargs: Any) -> ndarray:
        """The array with a new axis of size 1."""
        return _shape.expand_dims(self, *args, **kwargs)

    def squeeze(self, axis: Any = None) -> ndarray:
        """The array without axes of size 1; shares memory."""
        return _shape.squeeze(self, axis)

    # ---- copies ----

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> ndarray:
        """The elements converted to another type."""
        row_major(order, "np.astype")
        if casting != "unsafe":
            raise MXNetValueError(f"[np.astype] casting is {casting!r}; expected 'unsafe'.")
        if not copy and name_of_type(self) == type_name(dtype):
            return self
        return F.Cast(self, dtype=type_name(dtype))

    def copy(self, order: str = "C") -> ndarray:
        """A copy on the same device."""
        row_major(order, "np.copy")
        return F.identity(self)

    def copyto(self, other: Any) -> Any:
        """Copies the elements into another array, or to a new one on a device."""
        result = NDArray.copyto(self, other)
        return result if result is other else result.as_np_ndarray()

    def tostype(self, stype: str) -> Any:
        """Refused but for 'default': sparse arrays are those of ``mx.nd``."""
        if stype != "default":
            raise MXNetValueError(f"[np.tostype] stype is {stype!r}; expected 'default'. See as_nd_ndarray.")
        return self

    # ---- methods that are functions ----

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        """The sum of the elements, or the sums over axes."""
        return _reductions.sum(self, axis, dtype, keepdims, None, out)

    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        """Whether all elements are not zero."""
        return _reductions.all(self, axis, keepdims, out)

    def any(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        """Whether an element is not zero."""
        return _reductions.any(self, axis, keepdims, out)

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        """The maximum of the elements, or the maxima along axes."""
        return _reductions.max(self, axis, keepdims, out)

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        """The minimum of the elements, or the minima along axes."""
        return _reductions.min(self, axis, keepdims, out)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> ndarray:
        """The elements, those beyond one of the bounds moved to it."""
        return _elementwise.clip(self, min, max, out)

    def round(self, decimals: int = 0, out: Any = None, **kwargs: Any) -> ndarray:
        """Rounded to a number of decimals, halves to even digits."""
        return _elementwise.around(self, decimals, out, **kwargs)

    def repeat(self, repeats: Any, axis: Any = None) -> ndarray:
        """Each element repeated."""
        return _shape.repeat(self, repeats, axis)

    def take(self, indices: Any, axis: Any = None, mode: str = "raise") -> ndarray:
        """The elements at positions along an axis."""
        return _shape.take(self, indices, axis, mode)

    def diag(self, k: int = 0, **kwargs: Any) -> ndarray:
        """The ``k``-th diagonal of a matrix, or the matrix with this diagonal."""
        no_more(kwargs, "np.diag")
        return _shape.diag(self, k)

    def dot(self, b: Any, out: Any = None) -> ndarray:
        """The dot product."""
        return _algebra.dot(self, b, out)

    def attach_grad(self, grad_req: str = "write", stype: Any = None) -> None:
        """Makes room for the gradient of this array, which then is a variable of what is recorded."""
        if stype not in (None, "default"):
            raise MXNetValueError(f"[np.attach_grad] stype is {stype!r}; expected 'default'.")
        autograd.mark_variables([self], [F.zeros_like(self)], [grad_req])


# Methods that call the function of the same name with the array as the first argument.
_METHODS = (
    "argmax argmin argsort cumsum mean nonzero prod sort std swapaxes var abs arccos arccosh arcsin arcsinh "
    "arctan arctanh cbrt ceil cos cosh degrees exp expm1 fix flip floor log log10 log1p log2 ones_like pad radians "
    "reciprocal rint sign sin sinh split sqrt square tan tanh tile trunc zeros_like nansum nanprod"
).split()


def _method(name: str) -> Any:
    function = FUNCTIONS[name]

    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    import inspect

    signature = inspect.signature(function)
    first, *rest = signature.parameters.values()
    if name in _WITH_SIGNATURE:
        method.__signature__ = signature.replace(parameters=[first.replace(name="self"), *rest])  # type: ignore[attr-defined]
    method.__name__, method.__qualname__ = name, f"ndarray.{name}"
    method.__doc__ = function.__doc__
    return method


_WITH_SIGNATURE = "argmax argmin argsort cumsum mean nonzero prod sort std swapaxes var".split()
for _name in _METHODS:
    setattr(ndarray, _name, _method(_name))


def _operator(function: Any, reflected: bool, in_place: bool) -> Any:
    def method(self: ndarray, other: Any) -> Any:
        operands: tuple[Any, Any] = (other, self) if reflected else (self, other)
        left, right = operands
        return _elementwise.operate(function, left, right, in_place)

    return method


for _name, _operation in {
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "floordiv": "floor_divide",
    "matmul": "matmul",
}.items():
    for _prefix in ("", "r", "i"):
        setattr(
            ndarray, f"__{_prefix}{_name}__", _operator(FUNCTIONS[_operation], _prefix == "r", _prefix == "i")
        )

_core.set_numpy_class(ndarray, _elementwise.OPERATORS)


def array(object: Any, dtype: Any = None, ctx: Any = None) -> ndarray:
    """A new array. Arrays keep their type; lists and numbers become float32 unless a type is given
    (float64 under ``util.np_default_dtype``).

    Examples
    --------
    >>> from loomix import np
    >>> np.array([1, 2]), np.array([1, 2], dtype="int32")
    (array([1., 2.]), array([1, 2], dtype=int32))
    """
    if is_array(object):
        if object.stype != "default":
            raise MXNetTypeError(
                f"[np.array] the array is stored as {object.stype}; use tostype('default') first."
            )
        result = object.as_np_ndarray()
        target = result.context if ctx is None else context_of(ctx)
        result = cast(result, result.dtype if dtype is None else dtype)
        if result.context != target:
            return result.as_in_context(target)
        return F.identity(result) if result is object or result._shares_memory(object) else result
    if dtype is None and not hasattr(object, "dtype"):
        dtype = default_float()
    elif dtype is None and name_unknown(object.dtype):
        dtype = default_float()
    if isinstance(object, (list, tuple)):
        object = _plain(object)
    try:
        kind = None if dtype is None else type_name(dtype)
        values = onp.asarray(object, dtype=None if kind == "bfloat16" else kind)
    except (TypeError, ValueError) as error:
        raise MXNetTypeError(
            f"[np.array] cannot make an array of what is of type {type(object).__name__}: {error}."
        ) from None
    # The shape is taken first: NumPy makes contiguous scalars one-dimensional.
    result = ndarray._from_numpy(onp.ascontiguousarray(values).reshape(values.shape), context_of(ctx))
    return result if kind != "bfloat16" else cast(result, kind)


def name_unknown(dtype: Any) -> bool:
    try:
        type_name(dtype)
    except TypeError:
        return True
    return False


def _plain(values: Any) -> Any:
    """Lists with NumPy's arrays in place of ours."""
    return [_plain(v) if isinstance(v, (list, tuple)) else v.asnumpy() if is_array(v) else v for v in values]


def _asarray(a: Any, dtype: Any = None, ctx: Any = None) -> ndarray:
    """The argument itself if it is an array of the type on the device; else a new array."""
    result = asarray(a, dtype=dtype, ctx=ctx, who="np.asarray")
    return result if ctx is None else result.as_in_context(context_of(ctx))


_asarray.__name__ = _asarray.__qualname__ = "asarray"
FUNCTIONS.update(array=array, asarray=_asarray)


def __getattr__(name: str) -> Any:
    from .. import numpy

    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(numpy, name)
