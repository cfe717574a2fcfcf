# SPDX-License-Identifier: Apache-2.0
"""Input of a certain form: identities, matrices with real eigenvalues, large arrays, sparse arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import MXNetValueError
from .compare import default_context, default_dtype

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..context import Context

__all__ = [
    "create_2d_tensor",
    "create_sparse_array",
    "create_sparse_array_zd",
    "create_vector",
    "get_identity_mat",
    "get_identity_mat_batch",
    "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd",
    "rand_coord_2d",
    "rand_sparse_ndarray",
    "shuffle_csr_column_indices",
]


def get_identity_mat(size: int) -> Any:
    """The identity matrix, made on the host.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.get_identity_mat(2).asnumpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    from ..ndarray import array

    return array(np.identity(size))


def get_identity_mat_batch(size: int) -> Any:
    """Two identity matrices, of shape (2, size, size).

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.get_identity_mat_batch(2).shape
    (2, 2, 2)
    """
    from ..ndarray import array

    return array(np.stack([np.identity(size)] * 2))


def create_2d_tensor(rows: int, columns: int, dtype: DTypeLike | None = np.int64) -> Any:
    """A matrix whose rows hold their numbers.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.create_2d_tensor(2, 3).asnumpy()
    array([[0, 0, 0],
           [1, 1, 1]])
    """
    from ..ndarray import arange

    return arange(0, rows, dtype=dtype).reshape((rows, 1)).broadcast_to((rows, columns))


def create_vector(size: int, dtype: DTypeLike | None = np.int64) -> Any:
    """The numbers from 0 below ``size``.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.create_vector(3).asnumpy()
    array([0, 1, 2])
    """
    from ..ndarray import arange

    return arange(0, size, dtype=dtype)


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """A random place below the upper ends.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.rand_coord_2d(0, 1, 0, 1)
    (0, 0)
    """
    return int(np.random.randint(x_low, x_high)), int(np.random.randint(y_low, y_high))


def new_orthonormal_matrix_2d(n: int) -> Any:
    """A random orthonormal matrix, by the QR decomposition of a normal one.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.new_orthonormal_matrix_2d(3).shape
    (3, 3)
    """
    return np.linalg.qr(np.random.randn(n, n))[0]


def new_matrix_with_real_eigvals_2d(n: int) -> Any:
    """A random matrix with real eigenvalues: a diagonal one in another basis.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.new_matrix_with_real_eigvals_2d(3).shape
    (3, 3)
    """
    while True:  # until the basis is well conditioned
        basis = np.random.randn(n, n)
        if np.linalg.cond(basis) < 100:
            return basis @ np.diag(np.random.randn(n)) @ np.linalg.inv(basis)


def new_sym_matrix_with_real_eigvals_2d(n: int) -> Any:
    """A random symmetric matrix.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.new_sym_matrix_with_real_eigvals_2d(3).shape
    (3, 3)
    """
    basis = new_orthonormal_matrix_2d(n)
    matrix = basis @ np.diag(np.random.randn(n)) @ basis.T
    return (matrix + matrix.T) / 2


def _stacked(make: Callable[[int], Any], shape: Sequence[int]) -> Any:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise MXNetValueError(f"[test_utils] shape {tuple(shape)} is not that of square matrices.")
    count = math.prod(shape[:-2])
    return np.array([make(shape[-1]) for _ in range(count)]).reshape(shape)


def new_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> Any:
    """Random matrices with real eigenvalues, along the last two axes.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.new_matrix_with_real_eigvals_nd((2, 3, 3)).shape
    (2, 3, 3)
    """
    return _stacked(new_matrix_with_real_eigvals_2d, shape)


def new_sym_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> Any:
    """Random symmetric matrices, along the last two axes.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.new_sym_matrix_with_real_eigvals_nd((2, 3, 3)).shape
    (2, 3, 3)
    """
    return _stacked(new_sym_matrix_with_real_eigvals_2d, shape)


def shuffle_csr_column_indices(csr: Any) -> None:
    """Puts the columns of each row of a SciPy csr matrix, with their values, into a random order, in place."""
    for begin, end in zip(csr.indptr[:-1], csr.indptr[1:]):
        order = begin + np.random.permutation(end - begin)
        csr.indices[begin:end], csr.data[begin:end] = csr.indices[order], csr.data[order]


def rand_sparse_ndarray(
    shape: Sequence[int],
    stype: str,
    density: float | None = None,
    dtype: DTypeLike | None = None,
    distribution: str | None = None,
    data_init: float | None = None,
    rsp_indices: Any = None,
    modifier_func: Callable[[Any], Any] | None = None,
    shuffle_csr_indices: bool = False,
    ctx: Context | None = None,
) -> tuple[Any, Any]:
    """A random sparse array and its parts: (values, rows) for row_sparse, (starts, columns, values) for csr.

    Parameters
    ----------
    shape : tuple of int
        Shape.
    stype : {"row_sparse", "csr"}
        Storage.
    density : float, optional
        Share of the rows (row_sparse) or elements (csr) that are stored; random by default.
    dtype : dtype, optional
        float32 by default.
    distribution : {"uniform", "powerlaw"}, optional
        How the elements of a csr array spread over its rows: evenly, or each row has twice as many as the one before
        while there are some left.
    data_init : float, optional
        The value of all stored elements; random by default.
    rsp_indices : list of int, optional
        The stored rows of a row_sparse array; then ``density`` does not count.
    modifier_func : callable, optional
        Applied to each stored value.
    shuffle_csr_indices : bool
        Whether the columns of each row come in a random order.
    ctx : Context, optional
        The device.

    Examples
    --------
    >>> import loomix as mx
    >>> array, (values, rows) = mx.test_utils.rand_sparse_ndarray((4, 2), "row_sparse", density=1.0)
    >>> array.stype, values.shape
    ('row_sparse', (4, 2))
    """
    from ..ndarray import sparse

    ctx = ctx or default_context()
    dtype = default_dtype() if dtype is None else dtype
    density = np.random.rand() if density is None else density
    if not 0 <= density <= 1:
        raise MXNetValueError(f"[rand_sparse_ndarray] density is {density}; expected 0 to 1.")
    if distribution not in (None, "uniform", "powerlaw"):
        raise MXNetValueError(f"[rand_sparse_ndarray] distribution {distribution!r} is not known.")

    def values(*size: int) -> Any:
        drawn = np.random.uniform(-1, 1, size) if data_init is None else np.full(size, data_init, np.float64)
        if modifier_func is not None and drawn.size:
            drawn = np.vectorize(modifier_func, otypes=[np.float64])(drawn)
        return drawn.astype(dtype)

    if stype == "row_sparse":
        if rsp_indices is not None:
            rows = np.sort(np.asarray(rsp_indices, np.int64).reshape(-1))
        else:
            rows = np.flatnonzero(np.random.rand(shape[0]) < density)
        if not len(rows):
            empty = sparse.zeros("row_sparse", tuple(shape), ctx=ctx, dtype=dtype)
            return empty, (np.array([], dtype), np.array([], np.int64))
        parts = (values(len(rows), *shape[1:]), rows)
        return sparse.row_sparse_array(parts, shape=tuple(shape), ctx=ctx, dtype=dtype), parts
    if stype != "csr" or len(shape) != 2:
        raise MXNetValueError(
            f"[rand_sparse_ndarray] stype is {stype!r} for shape {tuple(shape)}; expected 'row_sparse', or 'csr' "
            "and two axes."
        )
    if distribution == "powerlaw":
        stored = _power_law(shape, density)
    else:
        stored = np.random.rand(*shape) < density
    counts = stored.sum(axis=1)
    starts = np.concatenate([[0], np.cumsum(counts)])
    columns = np.nonzero(stored)[1]
    kept = values(len(columns))
    if shuffle_csr_indices:
        for begin, end in zip(starts[:-1], starts[1:]):
            np.random.shuffle(columns[begin:end])
    array = sparse.csr_matrix((kept, columns, starts), shape=tuple(shape), ctx=ctx, dtype=dtype)
    return array, (array.indptr, array.indices, array.data)


def _power_law(shape: Sequence[int], density: float) -> Any:
    """Which elements are stored: 1 in the first row, 2 in the second, 4 in the third, until there are enough."""
    left, stored = int(shape[0] * shape[1] * density), np.zeros(shape, bool)
    if left < 2 * shape[0]:
        raise MXNetValueError(
            f"[rand_sparse_ndarray] density {density} is too small for 'powerlaw' and {shape}."
        )
    stored[:, 0] = True
    left -= shape[0]
    for row in range(shape[0]):
        more = min(2**row - 1, shape[1] - 1, left)
        stored[row, 1 : 1 + more] = True
        left -= more
    return stored


def create_sparse_array(
    shape: Sequence[int],
    stype: str,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: DTypeLike | None = None,
    modifier_func: Callable[[Any], Any] | None = None,
    density: float = 0.5,
    shuffle_csr_indices: bool = False,
) -> Any:
    """A random sparse array; the parameters are those of :func:`rand_sparse_ndarray`.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.create_sparse_array((2, 3), "csr", density=0.5).stype
    'csr'
    """
    return rand_sparse_ndarray(
        shape,
        stype,
        density,
        dtype,
        data_init=data_init,
        rsp_indices=rsp_indices,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
    )[0]


def create_sparse_array_zd(
    shape: Sequence[int],
    stype: str,
    density: float,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: DTypeLike | None = None,
    modifier_func: Callable[[Any], Any] | None = None,
    shuffle_csr_indices: bool = False,
) -> Any:
    """The same, with a density that may be 0: then nothing is stored, but what ``rsp_indices`` names.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.test_utils.create_sparse_array_zd((2, 3), "row_sparse", density=0).indices.shape
    (0,)
    """
    return create_sparse_array(
        shape, stype, data_init, rsp_indices, dtype, modifier_func, density, shuffle_csr_indices
    )
