# SPDX-License-Identifier: Apache-2.0
"""Linear algebra on stacks of matrices: ``np.linalg``."""

from __future__ import annotations

import functools
from typing import Any

import numpy as onp

from ..base import MXNetValueError
from . import _algebra, _reductions
from ._base import (
    F,
    arrays_of,
    asarray,
    axes_of,
    broadcast_shape,
    cast,
    floating,
    name_of_type,
    pair,
    promoted,
)
from ._protocols import by_numpy
from ._shape import broadcast_to, concatenate, expand_dims, reshape, squeeze, swapaxes, transpose, tril

matmul = _algebra.matmul


def _matrices(a: Any, who: str, square: bool = True) -> Any:
    a = floating(asarray(a, who=f"np.linalg.{who}"))
    if a.ndim < 2 or (square and a.shape[-1] != a.shape[-2]):
        kind = "square matrices" if square else "matrices"
        raise MXNetValueError(
            f"[np.linalg.{who}] an array of shape {a.shape}; expected {kind} in the last two axes."
        )
    return cast(a, "float32") if name_of_type(a) in ("float16", "bfloat16") else a


def _t(a: Any) -> Any:
    return swapaxes(a, -1, -2)


def inv(a: Any) -> Any:
    """The inverse of each matrix."""
    return F._linalg_inverse(_matrices(a, "inv"))


def det(a: Any) -> Any:
    """The determinant of each matrix."""
    return F._linalg_det(_matrices(a, "det"))


def slogdet(a: Any) -> Any:
    """Sign and logarithm of the absolute value of each determinant."""
    return tuple(F._linalg_slogdet(_matrices(a, "slogdet")))


def cholesky(a: Any) -> Any:
    """The lower triangular L with a = L L^T."""
    return F._linalg_potrf(_matrices(a, "cholesky"))


def _lower(a: Any, UPLO: str, who: str) -> Any:
    """A symmetric matrix of one triangle, by which the gradient goes to both halves alike."""
    a = _matrices(a, who)
    if UPLO not in ("L", "U"):
        raise MXNetValueError(f"[np.linalg.{who}] UPLO is {UPLO!r}; expected 'L' or 'U'.")
    return a if UPLO == "L" else _t(a)


def eigh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues, ascending, and eigenvectors, as columns, of symmetric matrices."""
    rows, values = F._linalg_syevd(_lower(a, UPLO, "eigh"))
    return values, _t(rows)


def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of symmetric matrices, ascending."""
    return F._linalg_syevd(_lower(a, UPLO, "eigvalsh"))[1]


def eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors of matrices whose eigenvalues are real."""
    values, vectors = onp.linalg.eig(_matrices(a, "eig").asnumpy())
    return _real(values, "eig"), _real(vectors, "eig")


def eigvals(a: Any) -> Any:
    """The eigenvalues of matrices, where they are real."""
    return _real(onp.linalg.eigvals(_matrices(a, "eigvals").asnumpy()), "eigvals")


def _real(values: Any, who: str) -> Any:
    if onp.iscomplexobj(values):
        if onp.abs(values.imag).max() > 1e-6 * onp.abs(values).max():
            raise MXNetValueError(
                f"[np.linalg.{who}] a matrix has complex eigenvalues; arrays here are real."
            )
        values = values.real
    return asarray(onp.ascontiguousarray(values))


def solve(a: Any, b: Any) -> Any:
    """The x with a x = b; ``b`` holds a vector for each matrix if it has one axis less, else matrices."""
    a, b = _matrices(a, "solve"), asarray(b, like=a)
    a, b = pair(a, cast(b, promoted(name_of_type(a), name_of_type(b))), "np.linalg.solve")
    vector = b.ndim == 1 or b.shape == a.shape[:-1]
    b = expand_dims(b, -1) if vector else b
    if a.shape[-1] != b.shape[-2]:
        raise MXNetValueError(
            f"[np.linalg.solve] a has shape {a.shape}, b {b.shape}; expected {a.shape[-1]} rows in b."
        )
    batch = broadcast_shape("np.linalg.solve", a.shape[:-2], b.shape[:-2])
    x = F._linalg_solve(broadcast_to(a, batch + a.shape[-2:]), broadcast_to(b, batch + b.shape[-2:]))
    return squeeze(x, -1) if vector else x


def svd(a: Any) -> Any:
    """U, L and V with a = U diag(L) V, of which U's columns and V's rows are orthonormal."""
    a = _matrices(a, "svd", square=False)
    if a.shape[-2] > a.shape[-1]:
        u, s, v = F._linalg_svd(_t(a))
        return _t(v), s, _t(u)
    return tuple(F._linalg_svd(a))


def pinv(a: Any, rcond: Any = 1e-15, hermitian: bool = False) -> Any:
    """The pseudo-inverse; singular values up to ``rcond`` times the largest count as zero."""
    a = _matrices(a, "pinv", square=hermitian)
    if hermitian:  # NumPy reads the lower triangle alone
        a = tril(a) + _t(tril(a, -1))
    return F._linalg_pinv(a, broadcast_to(asarray(rcond, like=a, dtype=a.dtype), a.shape[:-2]))


def qr(a: Any, mode: str = "reduced") -> Any:
    """Q, whose columns are orthonormal, and the upper triangular R with a = Q R; other modes are official NumPy's."""
    if mode != "reduced":
        return _numpy_qr(a, mode)
    a = _matrices(a, "qr", square=False)
    rows, columns = a.shape[-2:]
    first = a if rows >= columns else a[..., :rows]
    turned_q, turned_r = F._linalg_gelqf(_t(first))
    q, r = _t(turned_q), _t(turned_r)
    if rows < columns:
        r = concatenate([r, matmul(turned_q, a[..., rows:])], -1)
    return q, r


def matrix_rank(M: Any, tol: Any = None, hermitian: bool = False) -> Any:
    """How many singular values are above ``tol``, which by default is what rounding makes of zeros."""
    a = asarray(M, who="np.linalg.matrix_rank")
    if a.ndim < 2:
        return cast(_reductions.any(a != 0), "int64")
    a = _matrices(a, "matrix_rank", square=hermitian)
    s = svd(tril(a) + _t(tril(a, -1)) if hermitian else a)[1]
    if tol is None:
        tol = _reductions.max(s, axis=-1) * (max(a.shape[-2:]) * float(onp.finfo(a.dtype).eps))
    return _reductions.count_nonzero(s > expand_dims(asarray(tol, like=a, dtype=a.dtype), -1), axis=-1)


def cond(x: Any, p: Any = None) -> Any:
    """The condition number: the norm of a matrix times that of its inverse."""
    a = _matrices(x, "cond", square=p not in (None, 2, -2))
    if p in (None, 2, -2):
        s = svd(a)[1]
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return norm(a, p, axis=(-2, -1)) * norm(inv(a), p, axis=(-2, -1))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors or matrices in one or two axes."""
    x = floating(asarray(x, who="np.linalg.norm"))
    if axis is None and ord is None:
        result = F.sqrt(_reductions.sum(F.square(x)))
        return reshape(result, (1,) * x.ndim) if keepdims else result
    if axis is None and x.ndim not in (1, 2):
        raise MXNetValueError(
            f"[np.linalg.norm] ord={ord!r} is for vectors and matrices; the array has {x.ndim} axes."
        )
    axes = axes_of(axis, x.ndim, "np.linalg.norm")
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) != 2:
        raise MXNetValueError(f"[np.linalg.norm] axis is {axis!r}; expected one axis, or two.")
    if ord in (None, "fro"):
        return F.sqrt(_reductions.sum(F.square(x), axis=axes, keepdims=keepdims))
    if ord in (1, -1, onp.inf, -onp.inf):
        first, second = axes if ord in (1, -1) else axes[::-1]
        sums = _reductions.sum(F.abs(x), axis=first, keepdims=True)
        result = (_reductions.max if ord > 0 else _reductions.min)(sums, axis=second, keepdims=True)
    elif ord in (2, -2, "nuc"):
        rest = tuple(i for i in range(x.ndim) if i not in axes)
        s = svd(transpose(x, rest + axes))[1]
        result = {2: _reductions.max, -2: _reductions.min, "nuc": _reductions.sum}[ord](s, axis=-1)
        result = reshape(result, tuple(1 if i in axes else n for i, n in enumerate(x.shape)))
    else:
        raise MXNetValueError(
            f"[np.linalg.norm] ord is {ord!r}; of matrices expected 'fro', 'nuc', 1, 2, inf or -those."
        )
    return result if keepdims else reshape(result, tuple(n for i, n in enumerate(x.shape) if i not in axes))


def _vector_norm(x: Any, ord: Any, axes: Any, keepdims: bool) -> Any:
    if ord in (None, 2):
        return F.sqrt(_reductions.sum(F.square(x), axis=axes, keepdims=keepdims))
    if ord in (onp.inf, -onp.inf):
        return (_reductions.max if ord > 0 else _reductions.min)(F.abs(x), axis=axes, keepdims=keepdims)
    if ord == 0:
        return cast(_reductions.count_nonzero(x, axes, keepdims=keepdims), x.dtype)
    if isinstance(ord, str):
        raise MXNetValueError(f"[np.linalg.norm] ord is {ord!r}, which is for matrices; here is one axis.")
    if ord == 1:
        return _reductions.sum(F.abs(x), axis=axes, keepdims=keepdims)
    return _reductions.sum(F.abs(x) ** float(ord), axis=axes, keepdims=keepdims) ** (1.0 / ord)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of the map that ``tensordot(a, b, ind)`` is."""
    a = floating(asarray(a))
    if ind <= 0:
        raise MXNetValueError(f"[np.linalg.tensorinv] ind is {ind}; expected 1 or more.")
    count = int(onp.prod(a.shape[ind:]))
    return inv(a.reshape((-1, count))).reshape(a.shape[ind:] + a.shape[:ind])


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The x with tensordot(a, x, x.ndim) = b."""
    a, b = floating(asarray(a)), asarray(b)
    if axes is not None:
        moved = axes_of(axes, a.ndim, "np.linalg.tensorsolve")
        a = transpose(a, (*(i for i in range(a.ndim) if i not in moved), *moved))
    shape = a.shape[b.ndim :]
    count = int(onp.prod(shape))
    return solve(a.reshape((-1, count)), b.reshape((-1,))).reshape(shape)


def matrix_power(a: Any, n: int) -> Any:
    """Square matrices to a whole power."""
    a = _matrices(a, "matrix_power")
    if n < 0:
        a, n = inv(a), -n
    result = None
    while n:
        if n & 1:
            result = a if result is None else matmul(result, a)
        n >>= 1
        a = matmul(a, a) if n else a
    return (
        asarray(onp.broadcast_to(onp.eye(a.shape[-1]), a.shape).astype(a.dtype)) if result is None else result
    )


def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """The product of several matrices, in the order with the least work."""
    arrays = arrays_of(arrays, "np.linalg.multi_dot")
    first, last = arrays[0].ndim == 1, arrays[-1].ndim == 1
    arrays[0] = arrays[0][None] if first else arrays[0]
    arrays[-1] = arrays[-1][:, None] if last else arrays[-1]
    letters = "abcdefghijklmnopqrstuvwxyz"
    terms = ",".join(letters[i : i + 2] for i in range(len(arrays)))
    result = _algebra.einsum(f"{terms}->{letters[0]}{letters[len(arrays)]}", *arrays)
    result = result[0] if first else result
    return _algebra.into(out, result[..., 0] if last else result, "np.linalg.multi_dot")


def lstsq(a: Any, b: Any, rcond: Any = "warn") -> Any:
    """The x for which a x is nearest to b; with residuals, rank and singular values. x and they have gradients."""
    a = _matrices(a, "lstsq", square=False)
    b = cast(asarray(b, like=a), a.dtype)
    cutoff = float(onp.finfo(a.dtype).eps) * max(a.shape) if rcond in ("warn", None, -1) else rcond
    x = matmul(pinv(a, cutoff), b)
    s = svd(a)[1]
    rank = int((s > cutoff * s[0]).sum()) if s.size else 0
    residuals = asarray([], dtype=a.dtype)
    if rank == a.shape[1] and a.shape[0] > a.shape[1]:
        residuals = reshape(_reductions.sum(F.square(matmul(a, x) - b), axis=0), (-1,))
    return x, residuals, rank, s


@functools.wraps(onp.linalg.qr)
def _numpy_qr(*args: Any, **kwargs: Any) -> Any:
    result = by_numpy("linalg.qr", onp.linalg.qr, args, kwargs)
    return tuple(result) if isinstance(result, tuple) else result


FUNCTIONS: dict[str, Any] = {
    name: globals()[name]
    for name in (
        "cholesky cond det eig eigh eigvals eigvalsh inv lstsq matrix_power matrix_rank multi_dot norm pinv qr slogdet "
        "solve svd tensorinv tensorsolve"
    ).split()
}
__all__ = [*FUNCTIONS]  # noqa: PLE0604 - made of the table
