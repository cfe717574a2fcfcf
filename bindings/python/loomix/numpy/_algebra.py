# SPDX-License-Identifier: Apache-2.0
"""Products of arrays."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as onp

from ..base import MXNetValueError
from ..ndarray._exchange import matmul as _matmul
from . import _elementwise as e
from ._base import (
    FLOATS,
    F,
    arrays_of,
    asarray,
    axes_of,
    cast,
    floating,
    into,
    name_of_type,
    no_more,
    pair,
)
from ._shape import broadcast_to, diagonal, moveaxis, ravel, reshape, stack, transpose

multiply, add, subtract = e.FUNCTIONS["multiply"], e.FUNCTIONS["add"], e.FUNCTIONS["subtract"]


def _product(a: Any, b: Any, who: str, compute: Any) -> Any:
    """What products compute in: floating types; integers go through float64 and back."""
    a, b = pair(a, b, who)
    kind = name_of_type(a)
    if kind in ("float16", "bfloat16", "float32", "float64"):
        return compute(a, b)
    return cast(compute(cast(a, "float64"), cast(b, "float64")), kind)


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """The dot product: over the last axis of a, and the last but one of b."""

    def compute(a: Any, b: Any) -> Any:
        if a.ndim == 0 or b.ndim == 0:
            return multiply(a, b)
        inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
        if a.shape[-1] != inner:
            raise MXNetValueError(
                f"[np.dot] shapes {a.shape} and {b.shape} do not fit: {a.shape[-1]} is not {inner}."
            )
        if b.ndim > 2:
            b = moveaxis(b, -2, 0)
        if a.ndim == 1 and b.ndim == 1:
            return F.sum(F.elemwise_mul(a, b))
        rows = (
            reshape(a, (-1, a.shape[-1])) if a.size else a.reshape((int(onp.prod(a.shape[:-1])), a.shape[-1]))
        )
        columns = b.reshape((b.shape[0], int(onp.prod(b.shape[1:]))))
        return F.dot(rows, columns).reshape(a.shape[:-1] + b.shape[1:])

    return into(out, _product(a, b, "np.dot", compute), "np.dot")


def matmul(a: Any, b: Any, out: Any = None, **kwargs: Any) -> Any:
    """The matrix product of the last two axes, for each place of the others."""
    no_more(kwargs, "np.matmul")

    def compute(a: Any, b: Any) -> Any:
        if a.ndim == 1 and b.ndim == 1:
            return dot(a, b)
        return _matmul(a, b)

    return into(out, _product(a, b, "np.matmul", compute), "np.matmul")


def inner(a: Any, b: Any) -> Any:
    """The sums of products over the last axes."""
    a, b = asarray(a), asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return multiply(a, b)
    return tensordot(a, b, ((-1,), (-1,)))


def outer(a: Any, b: Any) -> Any:
    """All products of an element of a and one of b."""
    return multiply(reshape(asarray(a), (-1, 1)), reshape(asarray(b), (1, -1)))


def vdot(a: Any, b: Any) -> Any:
    """The dot product of the flat arrays."""
    return dot(ravel(asarray(a)), ravel(asarray(b)))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """The sums of products over some axes of each array."""
    a, b = asarray(a), asarray(b)
    if isinstance(axes, (int, onp.integer)):
        axes = (tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes)))
    of_a, of_b = axes_of(axes[0], a.ndim, "np.tensordot"), axes_of(axes[1], b.ndim, "np.tensordot")
    if [a.shape[i] for i in of_a] != [b.shape[i] for i in of_b]:
        raise MXNetValueError(f"[np.tensordot] shapes {a.shape} and {b.shape} do not fit in the axes {axes}.")
    rest_a, rest_b = ([i for i in range(x.ndim) if i not in of] for x, of in ((a, of_a), (b, of_b)))
    count = int(onp.prod([a.shape[i] for i in of_a]))
    shapes = tuple(a.shape[i] for i in rest_a), tuple(b.shape[i] for i in rest_b)
    rows = transpose(a, (*rest_a, *of_a)).reshape((int(onp.prod(shapes[0])), count))
    columns = transpose(b, (*of_b, *rest_b)).reshape((count, int(onp.prod(shapes[1]))))
    return matmul(rows, columns).reshape(shapes[0] + shapes[1])


def kron(a: Any, b: Any) -> Any:
    """The Kronecker product."""
    a, b = pair(a, b, "np.kron")
    ndim = max(a.ndim, b.ndim)
    shapes = [(1,) * (ndim - x.ndim) + x.shape for x in (a, b)]
    wide = [
        reshape(x, tuple(n for m in s for n in ((m, 1) if k == 0 else (1, m))))
        for k, (x, s) in enumerate(zip((a, b), shapes))
    ]
    return reshape(multiply(*wide), tuple(m * n for m, n in zip(*shapes)))


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    """The cross product of vectors of two or three elements."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(asarray(a), axisa, -1), moveaxis(asarray(b), axisb, -1)
    sizes = a.shape[-1], b.shape[-1]
    if not set(sizes) <= {2, 3}:
        raise MXNetValueError(
            f"[np.cross] the vectors have {sizes[0]} and {sizes[1]} elements; expected 2 or 3."
        )
    x, y = ([v[..., i] if i < n else None for i in range(3)] for v, n in ((a, sizes[0]), (b, sizes[1])))

    def term(i: int, j: int) -> Any:
        parts = [
            multiply(p, q) if p is not None and q is not None else None
            for p, q in ((x[i], y[j]), (x[j], y[i]))
        ]
        if parts[0] is None and parts[1] is None:
            return None
        return parts[0] if parts[1] is None else -parts[1] if parts[0] is None else subtract(*parts)

    if sizes == (2, 2):
        return term(0, 1)
    return moveaxis(stack([term(1, 2), term(2, 0), term(0, 1)], -1), -1, axisc)


def _letters(operands: Any) -> tuple[str, list[Any]]:
    """The subscripts and arrays of either form of einsum's arguments."""
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), arrays_of(operands[1:], "np.einsum")
    arrays, lists = list(operands[0:-1:2] if len(operands) % 2 else operands[0::2]), list(operands[1::2])

    def text(items: Any) -> str:
        return "".join("..." if item is Ellipsis else chr(ord("a") + item) for item in items)

    subscripts = ",".join(map(text, lists)) + ("->" + text(operands[-1]) if len(operands) % 2 else "")
    return subscripts, arrays_of(arrays, "np.einsum")


def _spelled(subscripts: str, arrays: list[Any]) -> tuple[list[str], str]:
    """The letters of each array and of the result, with letters of their own for the axes of '...'."""
    inputs, arrow, output = subscripts.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(arrays):
        raise MXNetValueError(f"[np.einsum] {subscripts!r} is of {len(terms)} arrays; got {len(arrays)}.")
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in subscripts]
    most = max([x.ndim - len(t.replace("...", "")) for t, x in zip(terms, arrays) if "..." in t], default=0)
    dots = "".join(free[:most])
    terms = [
        t.replace("...", dots[most - (x.ndim - len(t.replace("...", ""))) :] if "..." in t else "")
        for t, x in zip(terms, arrays)
    ]
    for t, x in zip(terms, arrays):
        if len(t) != x.ndim:
            raise MXNetValueError(f"[np.einsum] {t!r} does not fit an array of shape {x.shape}.")
    if arrow:
        return terms, output.replace("...", dots)
    letters = "".join(terms)
    return terms, dots + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in dots))


def _alone(term: str, x: Any, keep: str) -> tuple[str, Any]:
    """Diagonals of letters that occur twice, and sums over those that nobody needs."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            i = term.index(letter)
            j = term.index(letter, i + 1)
            if x.shape[i] != x.shape[j]:
                raise MXNetValueError(
                    f"[np.einsum] {letter!r} stands for sizes {x.shape[i]} and {x.shape[j]}."
                )
            x = diagonal(x, 0, i, j)
            term = "".join(c for k, c in enumerate(term) if k not in (i, j)) + letter
    dropped = tuple(i for i, c in enumerate(term) if c not in keep)
    if dropped:
        x = F.sum(x, axis=dropped)
        term = "".join(c for c in term if c in keep)
    return term, x


def _two(s: str, x: Any, t: str, y: Any, keep: str) -> tuple[str, Any]:
    """The product of two arrays as one of matrices: batch axes, rows, columns, and what is summed over."""
    sizes: dict[str, int] = {}
    for letter, size in [*zip(s, x.shape), *zip(t, y.shape)]:
        if sizes.setdefault(letter, size) != size and 1 not in (sizes[letter], size):
            raise MXNetValueError(f"[np.einsum] {letter!r} stands for sizes {sizes[letter]} and {size}.")
        sizes[letter] = max(sizes[letter], size)
    x, y = (
        v if v.shape == tuple(sizes[c] for c in u) else broadcast_to(v, tuple(sizes[c] for c in u))
        for u, v in ((s, x), (t, y))
    )
    batch = [c for c in s if c in t and c in keep]
    summed = [c for c in s if c in t and c not in keep]
    rows, columns = [c for c in s if c not in t], [c for c in t if c not in s]

    def matrix(u: str, v: Any, order: list[list[str]]) -> Any:
        v = transpose(v, [u.index(c) for part in order for c in part])
        return v.reshape(tuple(int(onp.prod([sizes[c] for c in part])) for part in order))

    if not rows and not columns and name_of_type(x) in FLOATS:  # dot products: one pass over both
        pairs = F.elemwise_mul(matrix(s, x, [batch, summed]), matrix(t, y, [batch, summed]))
        return "".join(batch), F.sum(pairs, axis=-1).reshape(tuple(sizes[c] for c in batch))
    product = matmul(matrix(s, x, [batch, rows, summed]), matrix(t, y, [batch, summed, columns]))
    letters = "".join(batch + rows + columns)
    return letters, product.reshape(tuple(sizes[c] for c in letters))


@functools.lru_cache(maxsize=256)
def _cheapest(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[Any, ...]:
    """The places of the arrays to multiply next, again and again, with the least work. Finding it takes longer than
    small products, so it is kept."""
    shaped = [onp.broadcast_to(onp.zeros(()), shape) for shape in shapes]
    return tuple(onp.einsum_path(subscripts, *shaped, optimize="optimal")[0][1:])


def einsum(*operands: Any, **kwargs: Any) -> Any:
    """Sums of products by Einstein's convention: ``einsum("ij,jk->ik", a, b)``. Products are of matrices, two arrays
    at a time, in the order with the least work."""
    out = kwargs.pop("out", None)
    kwargs.pop("optimize", None)  # the order is always chosen
    if kwargs:
        raise MXNetValueError(
            f"[np.einsum] there is no argument {next(iter(kwargs))!r}; expected out or optimize."
        )
    subscripts, arrays = _letters(operands)
    terms, output = _spelled(subscripts, arrays)
    if len(set(output)) != len(output) or not set(output) <= set("".join(terms)):
        raise MXNetValueError(
            f"[np.einsum] the output {output!r} must name letters of the inputs, each once."
        )
    pieces = list(zip(terms, arrays))
    order = [(0, 1)] * (len(pieces) - 1)
    if len(pieces) > 2:
        order = list(_cheapest(",".join(terms) + "->" + output, tuple(x.shape for x in arrays)))
    while len(pieces) > 1:
        chosen = order.pop(0)
        if len(chosen) > 2:
            order.insert(0, (0, len(pieces) - len(chosen) + 1))
            chosen = chosen[:2]
        last, first = sorted(chosen, reverse=True)
        one, two = pieces.pop(last), pieces.pop(first)
        rest = output + "".join(t for t, _ in pieces)
        two, one = _alone(*two, rest + one[0]), _alone(*one, rest + two[0])
        pieces.append(_two(*two, *one, rest))
    term, x = _alone(*pieces[0], output)
    return into(out, transpose(x, [term.index(c) for c in output]), "np.einsum")


def polyval(p: Any, x: Any) -> Any:
    """The polynomial with the coefficients ``p``, the highest first, at ``x``."""
    p, x = asarray(p), asarray(x)
    result = multiply(x, 0)
    for i in range(p.shape[0]):
        result = add(multiply(result, x), p[i])
    return result


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The covariances of variables, which are rows unless ``rowvar`` is false."""
    from ._shape import atleast_2d, concatenate

    x = floating(atleast_2d(asarray(m, dtype=dtype)))
    x = x if rowvar or x.shape[0] == 1 else transpose(x)
    if y is not None:
        y = atleast_2d(asarray(y, dtype=x.dtype))
        x = concatenate([x, y if rowvar or y.shape[0] == 1 else transpose(y)], 0)
    weights = None
    for given in (fweights, aweights):
        if given is not None:
            given = asarray(given, dtype=x.dtype)
            weights = given if weights is None else weights * given
    ddof = (0 if bias else 1) if ddof is None else ddof
    if weights is None:
        middle, total, divisor = F.mean(x, axis=1, keepdims=True), x.shape[1], x.shape[1] - ddof
        centred = x - middle
        result = dot(centred, transpose(centred))
    else:
        total = F.sum(weights)
        middle = F.sum(x * weights, axis=1, keepdims=True) / total
        divisor = total - (
            ddof if aweights is None else ddof * F.sum(weights * asarray(aweights, dtype=x.dtype)) / total
        )
        centred = x - middle
        result = dot(centred * weights, transpose(centred))
    result = result / divisor
    return result.squeeze() if result.size == 1 else result


def corrcoef(
    x: Any, y: Any = None, rowvar: bool = True, bias: Any = None, ddof: Any = None, *, dtype: Any = None
) -> Any:
    """The correlation coefficients of variables. `bias` and `ddof` cancel out; NumPy deprecates them, too."""
    if bias is not None or ddof is not None:
        warnings.warn("np.corrcoef: bias and ddof have no effect.", DeprecationWarning, stacklevel=2)
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    scale = F.sqrt(diagonal(c))
    return c / scale[:, None] / scale[None, :]


FUNCTIONS: dict[str, Any] = {
    name: globals()[name]
    for name in "dot matmul inner outer vdot tensordot kron cross einsum polyval cov corrcoef".split()
}
