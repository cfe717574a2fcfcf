# SPDX-License-Identifier: Apache-2.0
"""The standard's extension of linear algebra."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as onp

from ..base import MXNetValueError
from ..numpy import _algebra, _reductions, _shape
from ..numpy import linalg as _linalg
from ..numpy._base import axis_of, pair
from ._reductions import _accumulated
from ._types import array_of


class _Eigen(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class _QR(NamedTuple):
    Q: Any
    R: Any


class _SVD(NamedTuple):
    U: Any
    S: Any
    Vh: Any


class _SignLog(NamedTuple):
    sign: Any
    logabsdet: Any


def matmul(x1: Any, x2: Any, /) -> Any:
    """The matrix product of the last two axes, for each place of the others."""
    return _algebra.matmul(array_of(x1, "matmul"), array_of(x2, "matmul"))


def matrix_transpose(x: Any, /) -> Any:
    """The array with its last two axes exchanged."""
    if array_of(x, "matrix_transpose").ndim < 2:
        raise MXNetValueError(
            f"[array_api.matrix_transpose] the array has shape {x.shape}; expected two axes or more."
        )
    return _shape.swapaxes(x, -1, -2)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """The sums of products over some axes of each array."""
    return _algebra.tensordot(x1, x2, axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The dot products of vectors along an axis."""
    a, b = pair(array_of(x1, "vecdot"), array_of(x2, "vecdot"), "array_api.vecdot")
    sizes = [x.shape[axis_of(axis, x.ndim, "array_api.vecdot")] for x in (a, b)]
    if sizes[0] != sizes[1]:
        raise MXNetValueError(
            f"[array_api.vecdot] the vectors have {sizes[0]} and {sizes[1]} elements; expected the same."
        )
    return _reductions.sum(a * b, axis)


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """The lower triangular L with x = L L^T, or its transpose."""
    lower = _linalg.cholesky(x)
    return matrix_transpose(lower) if upper else lower


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross product of vectors of three elements."""
    a, b = array_of(x1, "cross"), array_of(x2, "cross")
    shape = onp.broadcast_shapes(a.shape, b.shape)
    a, b = _shape.broadcast_to(a, shape), _shape.broadcast_to(b, shape)
    if shape[axis_of(axis, len(shape), "array_api.cross")] != 3:
        raise MXNetValueError(
            f"[array_api.cross] the arrays have shape {shape}; expected 3 elements along axis {axis}."
        )
    return _algebra.cross(a, b, axis=axis)


def det(x: Any, /) -> Any:
    """The determinant of each matrix."""
    return _linalg.det(x)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """A diagonal of each matrix."""
    return _shape.diagonal(x, offset, -2, -1)


def eigh(x: Any, /) -> Any:
    """Eigenvalues, ascending, and eigenvectors, as columns, of symmetric matrices."""
    return _Eigen(*_linalg.eigh(x))


def eigvalsh(x: Any, /) -> Any:
    """The eigenvalues of symmetric matrices, ascending."""
    return _linalg.eigvalsh(x)


def inv(x: Any, /) -> Any:
    """The inverse of each matrix."""
    return _linalg.inv(x)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of each matrix."""
    return _linalg.norm(x, ord, (-2, -1), keepdims)


def matrix_power(x: Any, n: int, /) -> Any:
    """Square matrices to a whole power."""
    return _linalg.matrix_power(x, n)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """How many singular values are above ``rtol`` times the largest."""
    if array_of(x, "matrix_rank").ndim < 2:
        raise MXNetValueError(f"[array_api.matrix_rank] the array has shape {x.shape}; expected matrices.")
    if rtol is None:
        return _linalg.matrix_rank(x)
    return _linalg.matrix_rank(x, _reductions.max(svdvals(x), axis=-1) * rtol)


def outer(x1: Any, x2: Any, /) -> Any:
    """All products of an element of one vector and one of another."""
    return _algebra.outer(x1, x2)


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """The pseudo-inverse; singular values up to ``rtol`` times the largest count as zero."""
    from ._types import finfo

    return _linalg.pinv(x, max(x.shape[-2:]) * finfo(x.dtype).eps if rtol is None else rtol)


def qr(x: Any, /, *, mode: str = "reduced") -> Any:
    """Q, whose columns are orthonormal, and the upper triangular R with x = Q R."""
    return _QR(*_linalg.qr(x, mode))


def slogdet(x: Any, /) -> Any:
    """Sign and logarithm of the absolute value of each determinant."""
    return _SignLog(*_linalg.slogdet(x))


def solve(x1: Any, x2: Any, /) -> Any:
    """The x with x1 x = x2, which is a vector if it has one axis, else matrices."""
    if array_of(x2, "solve").ndim == x1.ndim - 1 and x2.ndim > 1:
        x2 = x2[None]  # mx.np would take it for vectors
    return _linalg.solve(x1, x2)


def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    """U, S and Vh with x = U diag(S) Vh; U and Vh are square if ``full_matrices``."""
    u, s, v = _linalg.svd(x)
    if full_matrices:
        u, v = _completed(u), matrix_transpose(_completed(matrix_transpose(v)))
    return _SVD(u, s, v)


def _completed(q: Any) -> Any:
    """Orthonormal columns, with as many more as make the matrices square."""
    rows, columns = q.shape[-2:]
    if rows == columns:
        return q
    return _shape.concatenate([q, _linalg.qr(q, "complete")[0][..., columns:]], -1)


def svdvals(x: Any, /) -> Any:
    """The singular values, descending."""
    return _linalg.svd(x)[1]


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of a diagonal of each matrix."""
    return _reductions.sum(_accumulated(diagonal(x, offset=offset), dtype, "trace"), -1)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors along axes; of all elements for None."""
    x = array_of(x, "vector_norm")
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(axis_of(i, x.ndim, "array_api.vector_norm") for i in axes)
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    flat = _shape.transpose(x, rest + axes).reshape(
        (*(x.shape[i] for i in rest), -1 if x.size else _count(x, axes))
    )
    result = _linalg.norm(flat, ord, -1)
    return result.reshape(tuple(1 if i in axes else n for i, n in enumerate(x.shape))) if keepdims else result


def _count(x: Any, axes: Any) -> int:
    count = 1
    for i in axes:
        count *= x.shape[i]
    return count


__all__ = [
    name
    for name, value in list(globals().items())
    if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == __name__
]
