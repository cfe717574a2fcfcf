# SPDX-License-Identifier: Apache-2.0
"""Sparse arrays: csr matrices, and arrays of which only some rows are stored."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core, _operators, _star
from .._arguments import element_type
from ..base import MXNetIndexError, MXNetTypeError, MXNetValueError, NotSupportedForSparseNDArray
from ..context import current_context
from .ndarray import NDArray
from .ndarray import array as _dense_array

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..context import Context
    from ._generated_sparse import *  # noqa: F403

globals().update(_operators.functions("ndarray", "sparse"))
__all__ = [name for name, value in list(globals().items()) if type(value).__name__ == "OpFunction"]
__all__ += [
    "BaseSparseNDArray",
    "CSRNDArray",
    "RowSparseNDArray",
    "array",
    "csr_matrix",
    "empty",
    "row_sparse_array",
]
__all__ += ["add", "divide", "multiply", "subtract", "zeros"]


class BaseSparseNDArray(NDArray):
    """What csr and row-sparse arrays have in common."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"\n{self._kind()}"

    def _get_item(self, key: Any) -> Any:
        if isinstance(key, builtins.slice) and key == builtins.slice(None):
            return self
        return self.tostype("default")[key]

    def _set_item(self, key: Any, value: Any) -> None:
        if not (isinstance(key, builtins.slice) and key == builtins.slice(None)):
            if isinstance(key, builtins.slice):
                raise MXNetValueError(
                    f"[{type(self).__name__}] {key} cannot be assigned to; only [:] can, or parts of a dense copy."
                )
            raise MXNetTypeError(
                f"[{type(self).__name__}] only [:] can be assigned to, or a part of tostype('default'); came {key!r}."
            )
        if isinstance(value, NDArray):
            _core.copy_array(value, self)
        elif isinstance(value, (int, float)) and value == 0:
            _core.copy_array(zeros(self.stype, self.shape, self.context, self.dtype), self)
        else:
            dense = np.ascontiguousarray(np.broadcast_to(np.asarray(value, self.dtype), self.shape))
            _core.copy_array(NDArray._from_numpy(dense, self.context), self)

    def _at(self, index: Any) -> Any:
        raise NotSupportedForSparseNDArray("_at", "tostype('default')", index)

    def _slice(self, start: Any, stop: Any) -> Any:
        raise NotSupportedForSparseNDArray("_slice", "tostype('default')", start, stop)

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        raise NotSupportedForSparseNDArray("reshape", "tostype('default')", *shape)

    def check_format(self, full_check: bool = True) -> None:
        """Raises an error when the index arrays are not those of such an array.

        Parameters
        ----------
        full_check : bool
            Whether to wait for the array and look at each index; otherwise nothing is looked at.

        Raises
        ------
        ValueError or IndexError
            For an index that is out of range, and for columns of a row that do not increase.
        """
        if full_check:
            self.wait_to_read()  # raises the error of what made it, such as that of an index out of range

    def asnumpy(self) -> np.ndarray[Any, Any]:
        """A dense NumPy array with the values; waits for them."""
        return _core.cast_storage(self, "default").asnumpy()

    def copyto(self, other: Any) -> Any:
        """Copies the array to a device, or into another one of the same shape."""
        if isinstance(other, NDArray):
            _core.copy_array(self, other)
            return other
        target = zeros(self.stype, self.shape, other, self.dtype)
        _core.copy_array(self, target)
        return target

    def copy(self) -> Any:
        """A copy on the same device."""
        return self.copyto(self.context)

    def astype(self, dtype: DTypeLike | None, copy: bool = True) -> Any:
        """The same array with values of another type; see :meth:`NDArray.astype`."""
        dtype = element_type(dtype)
        if not copy and _core.same_dtype(dtype, self.dtype):
            return self
        target = zeros(self.stype, self.shape, self.context, dtype)
        _core.copy_array(self, target)
        return target

    _num_aux = 0  # index arrays

    @property
    def _aux_types(self) -> list[Any]:
        return [self._aux_data(number).dtype for number in range(self._num_aux)]

    def _aux_type(self, i: int) -> Any:
        return self._aux_data(i).dtype

    def _aux_data(self, i: int) -> NDArray:
        """An index array: of a row-sparse array ``indices``, of a csr matrix ``indptr`` and ``indices``."""
        if not 0 <= i < self._num_aux:
            raise MXNetIndexError(f"[sparse] there is no index array {i}; expected 0 to {self._num_aux - 1}.")
        return self.indices if i == self._num_aux - 1 else self._stored_indptr()

    @property
    def data(self) -> NDArray:
        """The stored values."""
        return self._stored_values()

    @property
    def indices(self) -> NDArray:
        """The stored rows' numbers, or the column of each stored value."""
        return self._stored_indices()


class CSRNDArray(BaseSparseNDArray):
    """A matrix that stores its non-zero values row by row.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.sparse.csr_matrix(([5, 6], [1, 0], [0, 1, 2]), shape=(2, 2))  # values, columns, starts of rows
    >>> x.asnumpy()
    array([[0., 5.],
           [6., 0.]], dtype=float32)
    >>> x.data.asnumpy(), x.indices.asnumpy()
    (array([5., 6.], dtype=float32), array([1, 0]))
    """

    __slots__ = ()

    _num_aux = 2

    def check_format(self, full_check: bool = True) -> None:
        super().check_format(full_check)
        if not full_check:
            return
        columns, starts = self.indices.asnumpy(), self.indptr.asnumpy()
        falls = np.flatnonzero(np.diff(columns) <= 0) + 1
        within = falls[~np.isin(falls, starts)]
        if within.size:
            place = int(within[0])
            raise MXNetValueError(
                f"[csr_matrix] column {columns[place]} at position {place} follows {columns[place - 1]} in the same "
                "row; the columns of a row must increase."
            )

    check_format.__doc__ = BaseSparseNDArray.check_format.__doc__

    @property
    def indptr(self) -> NDArray:
        """Where each row's values start, and where the last one's end."""
        return self._stored_indptr()

    def asscipy(self) -> Any:
        """A ``scipy.sparse.csr_matrix`` with a copy of the values."""
        import scipy.sparse

        parts = (self.data.asnumpy(), self.indices.asnumpy(), self.indptr.asnumpy())
        return scipy.sparse.csr_matrix(parts, shape=self.shape)

    def _get_item(self, key: Any) -> Any:
        if isinstance(key, (int, builtins.slice)):
            rows = range(self.shape[0])[key]
            rows = range(rows, rows + 1) if isinstance(rows, int) else rows
            if rows.step != 1:
                raise MXNetValueError("[CSRNDArray] slices need a step of 1.")
            starts = self.indptr.asnumpy()[rows.start : rows.start + len(rows) + 1]
            first, last = int(starts[0]), int(starts[-1])
            parts = (self.data.asnumpy()[first:last], self.indices.asnumpy()[first:last], starts - first)
            return csr_matrix(parts, (len(rows), self.shape[1]), self.context, self.dtype)
        return super()._get_item(key)


class RowSparseNDArray(BaseSparseNDArray):
    """An array that stores some of its rows; all others are zero.

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.sparse.row_sparse_array(([[1, 2]], [1]), shape=(3, 2))  # row 1 of 3
    >>> x.asnumpy()
    array([[0., 0.],
           [1., 2.],
           [0., 0.]], dtype=float32)
    >>> x.indices.asnumpy()
    array([1])
    """

    __slots__ = ()

    _num_aux = 1

    def retain(self, indices: Any) -> Any:
        """Only the rows in ``indices``."""
        rows = indices if isinstance(indices, NDArray) else _dense_array(indices, self.context, np.int64)
        return retain(self, rows)  # noqa: F405


def _host(value: Any, dtype: DTypeLike | None = None) -> Any:
    value = value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)
    return np.ascontiguousarray(value, dtype=value.dtype if dtype is None else dtype)


def _value_dtype(data: Any, dtype: DTypeLike | None) -> Any:
    if dtype is not None:
        return _core.numpy_dtype(dtype)
    return np.dtype(data.dtype) if isinstance(data, (NDArray, np.ndarray)) else np.dtype(np.float32)


def convert(array: NDArray, stype: str) -> Any:
    """The values of an array in another storage type."""
    if stype not in ("default", "row_sparse", "csr"):
        raise MXNetValueError(
            f"[tostype] unknown storage type {stype!r}; expected default, row_sparse or csr."
        )
    return _core.cast_storage(array, stype)


def csr_matrix(
    arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: DTypeLike | None = None
) -> Any:
    """A csr matrix.

    Parameters
    ----------
    arg1 : tuple, array_like, CSRNDArray or scipy.sparse matrix
        ``(data, indices, indptr)``, ``(data, (row, column))``, a shape ``(rows, columns)``, or a matrix.
    shape : tuple of int, optional
    ctx : Context, optional
    dtype : NumPy type or str, optional

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.sparse.csr_matrix(([5, 6], [1, 0], [0, 1, 2]), shape=(2, 2))  # values, columns, starts of rows
    >>> x.asnumpy()
    array([[0., 5.],
           [6., 0.]], dtype=float32)
    >>> x.data.asnumpy(), x.indices.asnumpy()
    (array([5., 6.], dtype=float32), array([1, 0]))
    """
    ctx = ctx or current_context()
    if (
        isinstance(arg1, tuple)
        and len(arg1) == 2
        and all(isinstance(size, (int, np.integer)) for size in arg1)
    ):
        return _checked_shape(zeros("csr", arg1, ctx=ctx, dtype=dtype), shape)
    if isinstance(arg1, tuple) and len(arg1) == 2:
        data, (row, column) = arg1
        return _from_coordinates(_host(data, _value_dtype(data, dtype)), row, column, shape, ctx)
    if isinstance(arg1, tuple) and len(arg1) == 3:
        data, indices, indptr = arg1
        values, columns = _host(data, _value_dtype(data, dtype)), _host(indices, np.int64)
        starts = _host(indptr, np.int64)
        if shape is None:
            shape = (len(starts) - 1, int(columns.max()) + 1 if columns.size else 0)
        return _core.make_csr(
            NDArray._from_numpy(values, ctx),
            NDArray._from_numpy(columns, ctx),
            NDArray._from_numpy(starts, ctx),
            list(shape),
        )
    if isinstance(arg1, tuple):
        raise MXNetValueError(f"Unexpected length of input tuple: {len(arg1)}; expected 2 or 3.")
    return _checked_shape(array(arg1, ctx, dtype, "csr"), shape)


def _from_coordinates(values: Any, row: Any, column: Any, shape: Any, ctx: Context) -> Any:
    """A csr matrix of values at (row, column), in any order; those at the same place are added up."""
    row, column = _host(row, np.int64), _host(column, np.int64)
    if not values.shape == row.shape == column.shape or values.ndim != 1:
        raise MXNetValueError(
            f"[csr_matrix] data, row and column have shapes {values.shape}, {row.shape} and {column.shape}; "
            "expected one axis of one length."
        )
    shape = shape or tuple(int(part.max()) + 1 if part.size else 0 for part in (row, column))
    for name, part, size in (("row", row, shape[0]), ("column", column, shape[1])):
        if part.size and not (0 <= part.min() and part.max() < size):
            raise MXNetIndexError(
                f"[csr_matrix] {name} goes from {part.min()} to {part.max()}; expected 0 to {size - 1}."
            )
    order = np.lexsort((column, row))
    row, column, values = row[order], column[order], values[order]
    first = np.ones(len(row), bool)  # of each place
    first[1:] = (np.diff(row) != 0) | (np.diff(column) != 0)
    begins = np.flatnonzero(first)
    sums = np.add.reduceat(values, begins).astype(values.dtype) if len(begins) else values
    starts = np.concatenate([[0], np.cumsum(np.bincount(row[begins], minlength=shape[0]))])
    return csr_matrix((sums, column[begins], starts), shape, ctx, values.dtype)


def row_sparse_array(
    arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: DTypeLike | None = None
) -> Any:
    """A row-sparse array.

    Parameters
    ----------
    arg1 : tuple, array_like or RowSparseNDArray
        ``(data, indices)``, a shape, or an array.
    shape : tuple of int, optional
    ctx : Context, optional
    dtype : NumPy type or str, optional

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.sparse.row_sparse_array(([[1, 2]], [1]), shape=(3, 2))  # row 1 of 3
    >>> x.asnumpy()
    array([[0., 0.],
           [1., 2.],
           [0., 0.]], dtype=float32)
    >>> x.indices.asnumpy()
    array([1])
    """
    ctx = ctx or current_context()
    if isinstance(arg1, tuple) and arg1 and all(isinstance(size, (int, np.integer)) for size in arg1):
        return _checked_shape(zeros("row_sparse", arg1, ctx=ctx, dtype=dtype), shape)
    if isinstance(arg1, tuple):
        if len(arg1) != 2:
            raise MXNetValueError(f"Unexpected length of input tuple: {len(arg1)}; expected (data, indices).")
        data, rows = arg1
        values, rows = _host(data, _value_dtype(data, dtype)), _host(rows, np.int64)
        if shape is None:
            shape = (int(rows.max()) + 1 if rows.size else 0, *values.shape[1:])
        if values.shape != (len(rows), *shape[1:]):
            raise MXNetValueError(
                f"[row_sparse_array] data has shape {values.shape}; expected {(len(rows), *shape[1:])}."
            )
        order = np.argsort(rows, kind="stable")
        values, rows = (
            NDArray._from_numpy(np.ascontiguousarray(part[order]), ctx) for part in (values, rows)
        )
        return _core.make_row_sparse(values, rows, list(shape))
    return _checked_shape(array(arg1, ctx, dtype, "row_sparse"), shape)


def _checked_shape(result: Any, shape: Any) -> Any:
    if shape is not None and tuple(shape) != result.shape:
        raise MXNetValueError(f"[sparse] the source has shape {result.shape}; expected {tuple(shape)}.")
    return result


def array(
    source_array: Any, ctx: Context | None = None, dtype: DTypeLike | None = None, stype: str | None = None
) -> Any:
    """A sparse array from another one or from a SciPy matrix, of the same storage type; or, if ``stype`` says which,
    from anything else.

    >>> array([[0, 2], [0, 0]], stype="csr").indices.asnumpy()
    array([1])
    """
    ctx = ctx or current_context()
    if hasattr(source_array, "tocsr") and not isinstance(source_array, NDArray):
        matrix = source_array.tocsr()
        return csr_matrix((matrix.data, matrix.indices, matrix.indptr), matrix.shape, ctx, dtype)
    if isinstance(source_array, NDArray):
        stype = stype or source_array.stype
        kind = source_array.dtype if dtype is None else dtype
        return source_array.tostype(stype).astype(kind, copy=False).copyto(ctx)
    if stype is None:
        raise MXNetTypeError(
            f"Unexpected source_array type: {type(source_array).__name__}; expected a sparse array."
        )
    return convert(_dense_array(source_array, ctx, _value_dtype(source_array, dtype)), stype)


def zeros(
    stype: str, shape: Any, ctx: Context | None = None, dtype: DTypeLike | None = None, **kwargs: Any
) -> Any:
    """A sparse array that stores nothing.

    >>> zeros("csr", (2, 3)).stype
    'csr'
    """
    if stype == "default":
        from .ndarray import zeros as dense_zeros

        return dense_zeros(shape, ctx=ctx, dtype=dtype, **kwargs)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return _core.empty_sparse(stype, shape, ctx or current_context(), np.float32 if dtype is None else dtype)


empty = zeros


def add(lhs: Any, rhs: Any) -> Any:
    """The sum, for each element; that of two arrays with the same storage has it, too.

    >>> add(csr_matrix(([2.0], [1], [0, 1, 1]), shape=(2, 2)), csr_matrix((2, 2))).stype
    'csr'
    """
    return lhs + rhs


def subtract(lhs: Any, rhs: Any) -> Any:
    """The difference, for each element; that of two arrays with the same storage has it, too.

    >>> subtract(csr_matrix(([2.0], [1], [0, 1, 1]), shape=(2, 2)), csr_matrix((2, 2))).stype
    'csr'
    """
    return lhs - rhs


def multiply(lhs: Any, rhs: Any) -> Any:
    """The product, for each element; it is stored as the sparse factor.

    >>> multiply(csr_matrix(([2.0], [1], [0, 1, 1]), shape=(2, 2)), 3).stype
    'csr'
    """
    return lhs * rhs


def divide(lhs: Any, rhs: Any) -> Any:
    """The quotient, for each element; that of a sparse array and a number is stored as the array.

    >>> divide(csr_matrix(([2.0], [1], [0, 1, 1]), shape=(2, 2)), 4).data.asnumpy()
    array([0.5], dtype=float32)
    """
    return lhs / rhs


_core.set_array_classes(NDArray, RowSparseNDArray, CSRNDArray)

_star.complete(
    globals(),
    "_ndarray_cls",
    "Context NDArrayHandle _LIB _internal c_array_buf check_call ctypes integer_types mx_real_t "
    "numeric_types op operator warnings",
)
