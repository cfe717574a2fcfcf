# SPDX-License-Identifier: Apache-2.0
"""What every file of the front end needs: the operators (``F.name``), arguments as arrays, and the types of results."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as onp

from .. import _core
from ..base import MXNetError, MXNetTypeError, MXNetValueError, ShapeError
from ..context import Context, as_context, current_context
from ..util import is_np_default_dtype

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BFLOAT16 = "bfloat16"
FLOATS = ("float16", _BFLOAT16, "float32", "float64")
_FLOAT_RANK = {"float16": 0, _BFLOAT16: 0, "float32": 1, "float64": 2}
_INTEGER_RANK = {"bool": -1, "uint8": 0, "int8": 0, "int32": 1, "int64": 2}
SCALARS = (bool, int, float, onp.generic)


class _Operators:
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by those who look into modules
            raise AttributeError(name)
        function = _core.op_function(name, name, "loomix.numpy", 2)
        setattr(self, name, function)
        return function


F: Any = _Operators()


def no_such_name(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """What a module of tables answers to a name that it has not.

    >>> no_such_name("loomix.numpy", "aranje", ["arange", "zeros"])
    AttributeError("module 'loomix.numpy' has no attribute 'aranje'; the nearest are arange")
    """
    if name.startswith("__"):  # asked for by those who look into modules
        return AttributeError(name)
    import difflib

    near = difflib.get_close_matches(name, known, 3, 0.7)
    hint = f"; the nearest are {', '.join(near)}" if near else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}")


@contextlib.contextmanager
def naming_errors(who: str) -> Iterator[None]:
    """Errors of official NumPy that are raised inside begin with the function's name.

    >>> with naming_errors("np.unravel_index"):
    ...     onp.unravel_index(99, (3, 3))
    Traceback (most recent call last):
    ValueError: [np.unravel_index] index 99 is out of bounds for array with size 9
    """
    try:
        yield
    except (ValueError, TypeError, IndexError) as error:
        if not isinstance(error, MXNetError):
            error.args = (f"[{who}] {error}",)
        raise


def broadcast_shape(who: str, *shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes have together.

    >>> broadcast_shape("np.where", (2, 1), (3,))
    (2, 3)
    """
    try:
        return onp.broadcast_shapes(*shapes)
    except ValueError:
        text = ", ".join(map(str, shapes))
        raise ShapeError(
            f"[{who}] the shapes {text} do not broadcast; each axis, counted from the last, must be equal or 1."
        ) from None


def is_array(value: Any) -> bool:
    return isinstance(value, _core.NDArrayBase)


def type_name(dtype: Any) -> str:
    """ "float32", of whatever names a type.

    >>> type_name(int), type_name("f4")
    ('int64', 'float32')
    """
    if isinstance(dtype, str) and (dtype in _FLOAT_RANK or dtype in _INTEGER_RANK):
        return dtype
    kind = onp.dtype(_core.numpy_dtype(dtype))
    return _BFLOAT16 if kind.names else kind.name


_type_of = _core.NDArrayBase.dtype.__get__
_names: dict[Any, str] = {}  # of types; asking NumPy takes as long as a small operator


def name_of_type(array: Any) -> str:
    kind = _type_of(array)
    name = _names.get(kind)
    if name is None:
        name = _names[kind] = type_name(kind)
    return name


def is_floating(array: Any) -> bool:
    return name_of_type(array) in FLOATS


def default_float() -> str:
    """The type of numbers that come without one; `util.is_np_default_dtype` decides.

    >>> default_float()
    'float32'
    """
    return "float64" if is_np_default_dtype() else "float32"


def default_integer() -> str:
    """The type of positions that come without one.

    >>> default_integer()
    'int32'
    """
    return "int64" if is_np_default_dtype() else "int32"


def promoted(a: str, b: str) -> str:
    """The type of a result of arrays of two types: MXNet's where it has one, else NumPy's of those that exist here.

    >>> promoted("int64", "float16"), promoted("uint8", "int8"), promoted("bool", "int8")
    ('float16', 'int32', 'int8')
    """
    if a == b:
        return a
    if a in FLOATS and b in FLOATS:
        if {a, b} == {"float16", _BFLOAT16}:
            return "float32"
        return a if _FLOAT_RANK[a] > _FLOAT_RANK[b] else b
    if a in FLOATS or b in FLOATS:
        return a if a in FLOATS else b
    if {a, b} == {"uint8", "int8"}:
        return "int32"
    return a if _INTEGER_RANK[a] > _INTEGER_RANK[b] else b


def with_number(dtype: str, number: Any) -> str:
    """The type of a result of an array and a Python number, which is weak: it decides no more than that integers become
    floating beside a float."""
    if dtype == "bool" and isinstance(number, (bool, onp.bool_)):
        return dtype
    if dtype == "bool":
        return default_float()
    if isinstance(number, (float, onp.floating)) and dtype not in FLOATS:
        return default_float()
    return dtype


def common_type(*values: Any) -> str:
    """The type that arrays and numbers have together."""
    found = None
    for value in values:
        if is_array(value):
            found = name_of_type(value) if found is None else promoted(found, name_of_type(value))
    if found is None:
        return default_float()
    for value in values:
        if not is_array(value):
            found = with_number(found, value)
    return found


def cast(array: Any, dtype: Any) -> Any:
    name = type_name(dtype)
    return array if name_of_type(array) == name else F.Cast(array, dtype=name)


def floating(array: Any) -> Any:
    """The array, or the same of the default floating type where it holds integers or booleans."""
    return array if is_floating(array) else cast(array, default_float())


def asarray(value: Any, like: Any = None, dtype: Any = None, who: str = "np", ctx: Any = None) -> Any:
    """What came as an argument, as an array of mx.np: NumPy's arrays keep their type, lists and numbers get the
    default one."""
    if isinstance(value, _core.NumpyArrayBase):  # type: ignore[attr-defined] # only in C
        return value if dtype is None else cast(value, dtype)
    if is_array(value):
        value = value.as_np_ndarray()
        return value if dtype is None else cast(value, dtype)
    if ctx is None and is_array(like):
        ctx = like.context
    from .multiarray import array

    try:
        return array(value, dtype=dtype, ctx=ctx)
    except (TypeError, ValueError) as error:
        if isinstance(value, (list, tuple, onp.ndarray, *SCALARS)):
            raise
        hint = "; mx.sym.np has the functions on symbols" if hasattr(value, "list_arguments") else ""
        raise MXNetTypeError(
            f"[{who}] an argument is of type {type(value).__name__}; expected an array, a list or a number{hint}."
        ) from error


def arrays_of(values: Any, who: str) -> list[Any]:
    """A sequence of arrays, of one type."""
    if is_array(values):
        values = list(values)
    values = [asarray(value, who=who) for value in values]
    if not values:
        raise MXNetValueError(f"[{who}] need at least one array; the sequence is empty.")
    kinds = {name_of_type(value) for value in values}
    if len(kinds) == 1:
        return values
    kind = common_type(*values)
    return [cast(value, kind) for value in values]


def pair(a: Any, b: Any, who: str) -> tuple[Any, Any]:
    """Two operands as arrays of one type; a number takes that of the other."""
    if isinstance(b, SCALARS) and not isinstance(a, SCALARS):
        a = asarray(a, who=who)
        return cast(a, with_number(name_of_type(a), b)), filled((), b, like=a)
    if isinstance(a, SCALARS) and not isinstance(b, SCALARS):
        b, a = pair(b, a, who)
        return a, b
    a, b = asarray(a, like=b, who=who), asarray(b, like=a, who=who)
    one, two = name_of_type(a), name_of_type(b)
    if one == two:
        return a, b
    kind = promoted(one, two)
    return cast(a, kind), cast(b, kind)


def context_of(ctx: Any) -> Context:
    return current_context() if ctx is None else as_context(ctx)


def filled(shape: Any, number: Any, like: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
    """A new array of one number, of the type and on the device of `like` unless they are given."""
    if dtype is None:
        dtype = with_number(name_of_type(like), number) if is_array(like) else default_float()
    if ctx is None and is_array(like):
        ctx = like.context
    return F._full(shape=shape, ctx=context_of(ctx), dtype=type_name(dtype), value=float(number))


def into(out: Any, result: Any, who: str = "np") -> Any:
    """The result, written to `out` unless that is None."""
    if out is None:
        return result
    if not is_array(out):
        raise MXNetTypeError(f"[{who}] out is of type {type(out).__name__}; expected an array of mx.np.")
    if out.shape != result.shape:
        raise MXNetValueError(f"[{who}] out has shape {out.shape}; expected {result.shape}.")
    F.identity(cast(result, out.dtype), out=out)
    return out


def axes_of(axis: Any, ndim: int, who: str) -> tuple[int, ...]:
    """The axes that an argument names, from 0 on; all for None."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    found = tuple(axis_of(item, ndim, who) for item in axes)
    if len(set(found)) != len(found):
        raise MXNetValueError(f"[{who}] axis {axis} names an axis twice.")
    return found


def axis_of(axis: Any, ndim: int, who: str) -> int:
    index = axis.__index__()
    if not -ndim <= index < ndim:
        raise MXNetValueError(
            f"[{who}] axis {index} is out of bounds for an array of {ndim} axes; expected {-ndim} to {ndim - 1}."
        )
    return index % ndim


def shape_of(shape: Any) -> tuple[int, ...]:
    from ..ndarray.ndarray import shape_of as checked

    try:
        return tuple(int(size) for size in checked(shape))
    except MXNetError as error:
        error.args = (str(error).replace("[NDArray]", "[np.ndarray]"),)
        raise


def no_more(kwargs: Any, who: str) -> None:
    """Refuses arguments that MXNet's signature lets in and nothing reads."""
    if kwargs:
        raise MXNetTypeError(f"[{who}] there is no argument {next(iter(kwargs))!r}.")


def row_major(order: Any, who: str) -> None:
    if order not in ("C", "K", "A", None):
        raise MXNetValueError(f"[{who}] order is {order!r}; expected 'C': arrays are row-major.")
