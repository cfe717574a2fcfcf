# SPDX-License-Identifier: Apache-2.0
"""Operators on batches of matrices."""

import numpy as np

from . import Case

TYPES = ("float32", "float64")


def turned(a, on=True):
    return np.swapaxes(a, -1, -2) if on else a


def gemm2(a, b, transpose_a=False, transpose_b=False, alpha=1.0, axis=-2):
    a, b = (np.moveaxis(x, axis, -2) for x in (a, b))
    return np.moveaxis(alpha * turned(a, transpose_a) @ turned(b, transpose_b), -2, axis)


def gemm(a, b, c, beta=1.0, **attrs):
    return gemm2(a, b, **attrs) + beta * c


def trmm(a, b, transpose=False, rightside=False, lower=True, alpha=1.0):
    a = turned(np.tril(a) if lower else np.triu(a), transpose)
    return alpha * (b @ a if rightside else a @ b)


def trsm(a, b, transpose=False, rightside=False, lower=True, alpha=1.0):
    a = turned(np.tril(a) if lower else np.triu(a), transpose)
    return alpha * (b @ np.linalg.inv(a) if rightside else np.linalg.inv(a) @ b)


def syrk(a, transpose=False, alpha=1.0):
    return alpha * (turned(a) @ a if transpose else a @ turned(a))


def potri(a):
    lower = np.tril(a)
    return np.linalg.inv(lower @ turned(lower))


def gelqf(a):
    q, r = np.linalg.qr(turned(a))
    return turned(q), turned(r)


def syevd(a):
    values, vectors = np.linalg.eigh(a)
    rows = turned(vectors)
    largest = np.take_along_axis(rows, np.abs(rows).argmax(-1)[..., None], -1)
    return rows * np.sign(largest), values


def svd(a):
    """By the transpose, as the operator: a vector's sign is free."""
    v, s, u = np.linalg.svd(turned(a), full_matrices=False)
    return turned(u), s, turned(v)


def pinv(a, rcond):
    return np.linalg.pinv(a, rcond.reshape(a.shape[:-2]))


def with_small_rcond(a, rcond):
    return [a, np.abs(rcond) * 1e-9]


def solve(a, b, transpose=False):
    return np.linalg.solve(turned(a, transpose), b)


def per_matrix(fn, a):
    return np.atleast_1d(fn(a))


def slogdet(a):
    return tuple(np.atleast_1d(x) for x in np.linalg.slogdet(a))


def sumlogdiag(a):
    return per_matrix(lambda x: np.log(np.diagonal(x, 0, -2, -1)).sum(-1), a)


def places(n, offset=0, lower=True):
    """Rows and columns of a packed triangle: lower ones by rows, upper ones by columns."""
    if offset < 0 or (offset == 0 and lower):
        return np.tril_indices(n, offset)
    return np.tril_indices(n, -offset)[::-1]


def extracttrian(a, **attrs):
    rows, columns = places(a.shape[-1], **attrs)
    return a[..., rows, columns]


def maketrian(a, offset=0, **attrs):
    n = int(np.sqrt(2 * a.shape[-1])) + abs(offset)
    out = np.zeros((*a.shape[:-1], n, n), a.dtype)
    rows, columns = places(n, offset, **attrs)
    out[..., rows, columns] = a
    return out


def makediag(a, offset=0):
    n = a.shape[-1] + abs(offset)
    out = np.zeros((*a.shape[:-1], n, n), a.dtype)
    i = np.arange(a.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = a
    return out


def positive_definite(a):
    return a @ turned(a) + np.eye(a.shape[-1])


def symmetric(a):
    return a + turned(a)


def well_conditioned(a, *others):
    return [a / a.shape[-1] + 2 * np.eye(a.shape[-1]), *others]


def case(op, shapes, reference, attrs=None, **more):
    return Case(f"linalg.{op}", shapes, reference, attrs or {}, **{"dtypes": TYPES, "loose": 10, **more})


CASES = [
    case("gemm", [(3, 4), (4, 5), (3, 5)], gemm),
    case("gemm", [(2, 4, 3), (2, 4, 5), (2, 3, 5)], gemm, {"transpose_a": True, "alpha": 2.0, "beta": -0.5}),
    case("gemm", [(4, 3, 2), (5, 3, 2), (4, 3, 5)], gemm, {"transpose_b": True, "axis": 0}),
    case("gemm", [(2, 0), (0, 3), (2, 3)], gemm, {"beta": 0.5}),
    case("gemm2", [(1, 1), (1, 1)], gemm2),
    case("gemm2", [(2, 3, 4, 5), (2, 3, 6, 5)], gemm2, {"transpose_b": True, "alpha": 0.5}),
    case("gemm2", [(2, 5, 4), (2, 6, 5)], gemm2, {"transpose_a": True, "transpose_b": True}),
    case("gemm2", [(2, 4, 3, 5), (2, 5, 3, 4)], gemm2, {"axis": 1}),
    case("gemm2", [(5, 2, 3), (5, 2, 3)], gemm2, {"axis": -3, "transpose_a": True}),
    case("gemm2", [(131, 3), (3, 2)], gemm2),
    case("gemm2", [(0, 2, 3), (0, 3, 2)], gemm2),
    case("trmm", [(3, 3), (3, 4)], trmm),
    case("trmm", [(2, 3, 3), (2, 4, 3)], trmm, {"rightside": True, "transpose": True, "alpha": 2.0}),
    case("trmm", [(2, 3, 3), (2, 3, 1)], trmm, {"lower": False, "transpose": True}),
    case("trmm", [(4, 4), (2, 4)], trmm, {"lower": False, "rightside": True}),
    case("trsm", [(3, 3), (3, 4)], trsm, prepare=well_conditioned),
    case("trsm", [(2, 3, 3), (2, 4, 3)], trsm, {"rightside": True, "alpha": 2.0}, prepare=well_conditioned),
    case("trsm", [(2, 3, 3), (2, 3, 1)], trsm, {"lower": False, "transpose": True}, prepare=well_conditioned),
    case("trsm", [(5, 5), (5, 19)], trsm, {"lower": False, "alpha": 0.5}, prepare=well_conditioned),
    case("trsm", [(17, 17), (17, 2)], trsm, {"transpose": True}, prepare=well_conditioned),
    case(
        "trsm",
        [(3, 3), (130, 3)],
        trsm,
        {"lower": False, "rightside": True, "transpose": True},
        prepare=well_conditioned,
    ),
    case("syrk", [(3, 4)], syrk),
    case("syrk", [(2, 3, 4)], syrk, {"transpose": True, "alpha": -2.0}),
    case("syrk", [(130, 2)], syrk),
    case("potrf", [(1, 1)], np.linalg.cholesky, prepare=positive_definite, direction=symmetric),
    case("potrf", [(2, 3, 5, 5)], np.linalg.cholesky, prepare=positive_definite, direction=symmetric),
    case("potrf", [(40, 40)], np.linalg.cholesky, prepare=positive_definite, direction=symmetric, loose=100),
    case("potrf", [(0, 3, 3)], np.linalg.cholesky),
    case("potri", [(3, 3)], potri, prepare=well_conditioned),
    case("potri", [(2, 2, 4, 4)], potri, prepare=well_conditioned),
    case("gelqf", [(3, 3)], gelqf),
    case("gelqf", [(2, 3, 5)], gelqf),
    case("syevd", [(1, 1)], syevd, prepare=symmetric, direction=symmetric),
    case("syevd", [(2, 4, 4)], syevd, prepare=symmetric, direction=symmetric),
    case("svd", [(1, 1)], svd),
    case("svd", [(3, 3)], svd, prepare=well_conditioned),
    case("svd", [(2, 2, 3, 5)], svd, loose=100),  # the gaps between singular values are small
    case("svd", [(0, 2, 3)], svd),
    case("pinv", [(3, 3), (1,)], pinv, prepare=with_small_rcond, grad=(0,), loose=100),
    case("pinv", [(2, 3, 5), (2,)], pinv, prepare=with_small_rcond, grad=(0,), loose=100),
    case("pinv", [(2, 5, 3), (2,)], pinv, prepare=with_small_rcond, grad=(0,), loose=100),
    case("solve", [(1, 1), (1, 1)], solve, prepare=well_conditioned),
    case("solve", [(2, 5, 5), (2, 5, 3)], solve, prepare=well_conditioned),
    case("solve", [(2, 5, 5), (2, 5, 1)], solve, {"transpose": True}, prepare=well_conditioned),
    case("solve", [(2, 3, 3), (2, 3, 0)], solve, prepare=well_conditioned),
    case("inverse", [(1, 1)], np.linalg.inv, prepare=well_conditioned),
    case("inverse", [(2, 3, 4, 4)], np.linalg.inv, prepare=well_conditioned),
    case("det", [(3, 3)], lambda a: per_matrix(np.linalg.det, a)),
    case("det", [(2, 3, 4, 4)], np.linalg.det),
    case("slogdet", [(3, 3)], slogdet),
    case("slogdet", [(2, 3, 4, 4)], slogdet),
    case("sumlogdiag", [(3, 3)], sumlogdiag, low=0.5),
    case("sumlogdiag", [(2, 3, 4, 4)], sumlogdiag, low=0.5),
    case("extractdiag", [(3, 3)], lambda a: np.diagonal(a, 0, -2, -1)),
    case("extractdiag", [(2, 4, 4)], lambda a, offset: np.diagonal(a, offset, -2, -1), {"offset": -2}),
    case("extractdiag", [(2, 1, 4, 4)], lambda a, offset: np.diagonal(a, offset, -2, -1), {"offset": 1}),
    case("makediag", [(3,)], makediag),
    case("makediag", [(2, 3)], makediag, {"offset": 2}),
    case("makediag", [(2, 1, 3)], makediag, {"offset": -1}),
    case("extracttrian", [(3, 3)], extracttrian),
    case("extracttrian", [(2, 4, 4)], extracttrian, {"lower": False}),
    case("extracttrian", [(2, 4, 4)], extracttrian, {"offset": 1}),
    case("extracttrian", [(2, 4, 4)], extracttrian, {"offset": -2}),
    case("maketrian", [(6,)], maketrian),
    case("maketrian", [(2, 3)], maketrian, {"lower": False}),
    case("maketrian", [(2, 3)], maketrian, {"offset": 1}),
    case("maketrian", [(2, 6)], maketrian, {"offset": -1}),
]
