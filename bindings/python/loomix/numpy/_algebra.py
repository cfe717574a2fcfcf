# SPDX-License-Identifier: Apache-2.0
"""Products of arrays."""

from __future__ import annotations

import functools
import math
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


def _spelled(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[list[str], str]:
    """The letters of each array and of the result, with letters of their own for the axes of '...'."""
    inputs, arrow, output = subscripts.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(shapes):
        raise MXNetValueError(f"[np.einsum] {subscripts!r} is of {len(terms)} arrays; got {len(shapes)}.")
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in subscripts]
    most = max([len(x) - len(t.replace("...", "")) for t, x in zip(terms, shapes) if "..." in t], default=0)
    dots = "".join(free[:most])
    terms = [
        t.replace("...", dots[most - (len(x) - len(t.replace("...", ""))) :] if "..." in t else "")
        for t, x in zip(terms, shapes)
    ]
    for t, x in zip(terms, shapes):
        if len(t) != len(x):
            raise MXNetValueError(f"[np.einsum] {t!r} does not fit an array of shape {x}.")
    if arrow:
        output = output.replace("...", dots)
    else:
        letters = "".join(terms)
        output = dots + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in dots))
    if len(set(output)) != len(output) or not set(output) <= set("".join(terms)):
        raise MXNetValueError(
            f"[np.einsum] the output {output!r} must name letters of the inputs, each once."
        )
    return terms, output


class _Plan:
    """What einsum does for some subscripts and shapes: each step makes one more array of those before it."""

    def __init__(self, subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> None:
        self._steps: list[Any] = []
        self._shapes = list(shapes)
        terms, output = _spelled(subscripts, shapes)
        pieces = list(zip(terms, range(len(terms))))
        order = [(0, 1)] * (len(pieces) - 1)
        if len(pieces) > 2:
            shaped = [onp.broadcast_to(onp.zeros(()), shape) for shape in shapes]
            text = ",".join(terms) + "->" + output
            order = list(onp.einsum_path(text, *shaped, optimize="optimal")[0][1:])  # the least work
        while len(pieces) > 1:
            chosen = order.pop(0)
            if len(chosen) > 2:
                order.insert(0, (0, len(pieces) - len(chosen) + 1))
                chosen = chosen[:2]
            last, first = sorted(chosen, reverse=True)
            one, two = pieces.pop(last), pieces.pop(first)
            rest = output + "".join(t for t, _ in pieces)
            two, one = self._alone(*two, rest + one[0]), self._alone(*one, rest + two[0])
            pieces.append(self._two(*two, *one, rest))
        term, k = self._alone(*pieces[0], output)
        k = self._ordered(term, k, list(output))
        if k < len(shapes):
            self._add(lambda v: F.identity(v[k]), self._shapes[k])

    def __call__(self, arrays: list[Any]) -> Any:
        values = list(arrays)
        for step in self._steps:
            values.append(step(values))
        return values[-1]

    def _add(self, step: Any, shape: tuple[int, ...]) -> int:
        self._steps.append(step)
        self._shapes.append(shape)
        return len(self._shapes) - 1

    def _ordered(self, term: str, k: int, letters: list[str]) -> int:
        axes = tuple(term.index(c) for c in letters)
        if axes == tuple(range(len(axes))):
            return k
        return self._add(lambda v: F.transpose(v[k], axes=axes), tuple(self._shapes[k][i] for i in axes))

    def _shaped(self, k: int, shape: tuple[int, ...]) -> int:
        return k if self._shapes[k] == shape else self._add(lambda v: v[k]._reshape_plain(shape), shape)

    def _alone(self, term: str, k: int, keep: str) -> tuple[str, int]:
        """Diagonals of letters that occur twice, and sums over those that nobody needs."""
        for letter in dict.fromkeys(term):
            while term.count(letter) > 1:
                shape, i = self._shapes[k], term.index(letter)
                j = term.index(letter, i + 1)
                if shape[i] != shape[j]:
                    raise MXNetValueError(
                        f"[np.einsum] {letter!r} stands for sizes {shape[i]} and {shape[j]}."
                    )
                rest = [m for m in range(len(term)) if m not in (i, j)]
                term = "".join(term[m] for m in rest) + letter
                k = self._add(
                    lambda v, k=k, i=i, j=j: diagonal(v[k], 0, i, j), (*(shape[m] for m in rest), shape[i])
                )
        dropped = tuple(i for i, c in enumerate(term) if c not in keep)
        if dropped:
            shape = tuple(n for i, n in enumerate(self._shapes[k]) if i not in dropped)
            k = self._add(lambda v, k=k: F.sum(v[k], axis=dropped), shape)
        return "".join(c for c in term if c in keep), k

    def _two(self, s: str, x: int, t: str, y: int, keep: str) -> tuple[str, int]:
        """The product of two arrays as one of matrices: batch axes, rows, columns, and what is summed over."""
        sizes: dict[str, int] = {}
        for letter, size in [*zip(s, self._shapes[x]), *zip(t, self._shapes[y])]:
            if sizes.setdefault(letter, size) != size and 1 not in (sizes[letter], size):
                raise MXNetValueError(f"[np.einsum] {letter!r} stands for sizes {sizes[letter]} and {size}.")
            sizes[letter] = size if sizes[letter] == 1 else sizes[letter]
        x, y = self._wide(s, x, sizes), self._wide(t, y, sizes)
        batch = [c for c in s if c in t and c in keep]
        summed = [c for c in s if c in t and c not in keep]
        rows, columns = [c for c in s if c not in t], [c for c in t if c not in s]
        places, m, n, inner = (math.prod(sizes[c] for c in part) for part in (batch, rows, columns, summed))
        letters = "".join(batch + rows + columns)
        shape = tuple(sizes[c] for c in letters)
        if not summed or not (rows or columns):  # products of elements, and one pass over both
            x = self._shaped(self._ordered(s, x, batch + rows + summed), (places, m, 1, inner))
            y = self._shaped(self._ordered(t, y, batch + columns + summed), (places, 1, n, inner))
            z = self._add(lambda v: F.broadcast_mul(v[x], v[y]), (places, m, n, inner))
            if summed:
                z = self._add(lambda v, z=z: F.sum(v[z], axis=-1), (places, m, n))
            return letters, self._shaped(z, shape)
        x, turned_x = self._matrix(s, x, batch, rows, summed, (places, m, inner))
        y, turned_y = self._matrix(t, y, batch, summed, columns, (places, inner, n))
        product = F.batch_dot if batch else F.dot
        z = self._add(
            lambda v: product(v[x], v[y], transpose_a=turned_x, transpose_b=turned_y),
            (places, m, n) if batch else (m, n),
        )
        return letters, self._shaped(z, shape)

    def _wide(self, term: str, k: int, sizes: dict[str, int]) -> int:
        shape = tuple(sizes[c] for c in term)
        return k if self._shapes[k] == shape else self._add(lambda v: broadcast_to(v[k], shape), shape)

    def _matrix(
        self, term: str, k: int, batch: list[str], one: list[str], two: list[str], shape: tuple[int, ...]
    ) -> tuple[int, bool]:
        """Stacked matrices of the letters `one` by `two`; or turned around, where no copy makes that."""
        turned = list(term) == batch + two + one and bool(one and two)
        k = k if turned else self._ordered(term, k, batch + one + two)
        places, rows, columns = shape
        sides = (columns, rows) if turned else (rows, columns)
        return self._shaped(k, (places, *sides) if batch else sides), turned


_plan = functools.lru_cache(maxsize=256)(_Plan)  # making one takes longer than small products


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
    plan = _plan(subscripts, tuple([x.shape for x in arrays]))
    kind = name_of_type(arrays[0])
    if kind in FLOATS:
        return into(out, plan(arrays), "np.einsum")
    return into(out, cast(plan([cast(x, "float64") for x in arrays]), kind), "np.einsum")


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
