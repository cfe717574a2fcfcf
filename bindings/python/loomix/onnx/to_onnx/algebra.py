# SPDX-License-Identifier: Apache-2.0
"""Products of matrices, linear algebra and attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph import Node
from ..writer import Writer
from .shapes import put_on_diagonal, take_diagonal


def swap_last(w: Writer, x: str, rank: int) -> str:
    return w.transpose(x, [*range(rank - 2), rank - 1, rank - 2])


def dot(n: Node, w: Writer) -> str:
    a, b, left, right = n.input(0), n.input(1), n.rank(0), n.rank(1)
    if n["transpose_a"] and left > 1:  # its first axis is the one that is summed over
        a = w.transpose(a, [*range(1, left), 0])
    if n["transpose_b"] and right > 1:
        b = w.transpose(b, [right - 1, *range(right - 1)])
    if left == right == 1:
        return w.reshape(w.add("MatMul", a, b), [1])
    if right <= 2:
        return w.add("MatMul", a, b)
    size = n.shape(1, [-1 if n["transpose_b"] else 0])[-1 if n["transpose_b"] else 0]
    found = w.add("MatMul", a, w.reshape(b, [size, -1]))
    shape = n.out_sizes()
    return w.reshape(found, [*[0] * (left - 1), *(-1 if s is None else s for s in shape[left - 1 :])])


def _product(n: Node, w: Writer) -> str:
    a, b = n.input(0), n.input(1)
    a = swap_last(w, a, n.rank(0)) if n["transpose_a"] else a
    b = swap_last(w, b, n.rank(1)) if n["transpose_b"] else b
    return w.add("MatMul", a, b)


def batch_dot(n: Node, w: Writer) -> str:
    return _product(n, w)


def _scaled(n: Node, w: Writer, x: str, factor: float) -> str:
    return x if factor == 1 else w.add("Mul", x, n.number_like(factor))


def _check_axis(n: Node) -> None:
    if n["axis"] != -2:
        n.fail(f"axis {n['axis']} has no ONNX form; expected -2.")


def gemm(n: Node, w: Writer) -> str:
    _check_axis(n)
    product = _scaled(n, w, _product(n, w), n["alpha"])
    return w.add("Add", product, _scaled(n, w, n.input(2), n["beta"]))


def gemm2(n: Node, w: Writer) -> str:
    _check_axis(n)
    return _scaled(n, w, _product(n, w), n["alpha"])


def syrk(n: Node, w: Writer) -> str:
    x = n.input(0)
    turned = swap_last(w, x, n.rank())
    a, b = (turned, x) if n["transpose"] else (x, turned)
    return _scaled(n, w, w.add("MatMul", a, b), n["alpha"])


def trmm(n: Node, w: Writer) -> str:
    rank = n.rank()
    size = n.shape(axes=[rank - 1])[-1]
    a = w.add(
        "Mul",
        n.input(0),
        np.tri(size, dtype=n.dtype()).T if not n["lower"] else np.tri(size, dtype=n.dtype()),
    )
    a = swap_last(w, a, rank) if n["transpose"] else a
    pair = (n.input(1), a) if n["rightside"] else (a, n.input(1))
    return _scaled(n, w, w.add("MatMul", *pair), n["alpha"])


def det(n: Node, w: Writer) -> str:
    found = w.add("Det", n.input(0))
    return w.reshape(found, [1]) if n.rank() == 2 else found


def extract_diagonal(n: Node, w: Writer) -> str:
    rank = n.rank()
    return take_diagonal(w, n.input(0), n.shape(axes=[rank - 2, rank - 1]), n["offset"])


def make_diagonal(n: Node, w: Writer) -> str:
    rank = n.rank()
    return put_on_diagonal(w, n.input(0), n.shape(axes=[rank - 1])[-1], n["offset"], rank)


def _triangle(size: int, offset: int, lower: bool) -> np.ndarray[Any, Any]:
    """Places of a triangle in a matrix's elements."""
    if offset:
        lower = offset < 0
    rows, columns = np.tril_indices(size, offset if lower else -offset)
    if not lower:  # column by column
        rows, columns = columns, rows
    return (rows * size + columns).astype(np.int64)


def extract_triangle(n: Node, w: Writer) -> str:
    rank = n.rank()
    size = n.shape(axes=[rank - 1])[-1]
    flat = w.reshape(n.input(0), [*[0] * (rank - 2), size * size])
    return w.add("Gather", flat, _triangle(size, n["offset"], n["lower"]), axis=-1)


def make_triangle(n: Node, w: Writer) -> str:
    rank = n.rank()
    count, size = n.shape(axes=[rank - 1])[-1], n.out_shape(axes=[rank])[-1]
    places = np.full(size * size, count, np.int64)
    places[_triangle(size, n["offset"], n["lower"])] = np.arange(count)
    pads = np.zeros(2 * rank, np.int64)
    pads[-1] = 1
    return w.add("Gather", w.add("Pad", n.input(0), pads), places.reshape(size, size), axis=-1)


def sum_log_diagonal(n: Node, w: Writer) -> str:
    rank = n.rank()
    logs = w.add("Log", take_diagonal(w, n.input(0), n.shape(axes=[rank - 2, rank - 1]), 0))
    found = w.reduce("ReduceSum", logs, [rank - 2], False)
    return w.reshape(found, [1]) if rank == 2 else found


# ---- attention on interleaved heads: queries, keys and values stand side by side for each head ----


def _heads(n: Node, w: Writer, x: str, i: int, parts: int) -> list[str]:
    """Data (length, batch, heads * parts * size) as `parts` arrays (batch * heads, length, size)."""
    heads = n["heads"]
    length, batch, width = n.sizes(i)
    size = n.shape(i, [2])[2] // heads // parts
    if batch is None and length is None:
        n.fail("batch and length cannot both be dynamic.")
    found = []
    whole = w.reshape(x, [0, 0, heads, parts, size])
    for part in range(parts):
        one = w.add("Gather", whole, np.int64(part), axis=3) if parts > 1 else w.squeeze(whole, 3)
        turned = w.transpose(one, [1, 2, 0, 3])
        fixed = -1 if length is None else length
        found.append(w.reshape(turned, [-1 if batch is None else batch * heads, fixed, size]))
    return found


def _scores(n: Node, w: Writer, queries: str, keys: str, size: int) -> str:
    scaled = w.add("Div", queries, n.number_like(math.sqrt(size)))
    return w.add("MatMul", scaled, w.transpose(keys, [0, 2, 1]))


def _joined(n: Node, w: Writer, attention: str, values: str, size: int) -> str:
    heads = n["heads"]
    found = w.add("MatMul", attention, values)
    length, batch, _ = n.out_sizes()
    apart = w.reshape(found, [-1 if batch is None else batch, heads, -1 if length is None else length, size])
    return w.reshape(w.transpose(apart, [2, 0, 1, 3]), [0, 0, heads * size])


def self_scores(n: Node, w: Writer) -> str:
    queries, keys, _ = _heads(n, w, n.input(0), 0, 3)
    return _scores(n, w, queries, keys, n.shape(0, [2])[2] // n["heads"] // 3)


def self_values(n: Node, w: Writer) -> str:
    return _joined(n, w, n.input(1), _heads(n, w, n.input(0), 0, 3)[2], n.shape(0, [2])[2] // n["heads"] // 3)


def cross_scores(n: Node, w: Writer) -> str:
    (queries,), (keys, _) = _heads(n, w, n.input(0), 0, 1), _heads(n, w, n.input(1), 1, 2)
    return _scores(n, w, queries, keys, n.shape(0, [2])[2] // n["heads"])


def cross_values(n: Node, w: Writer) -> str:
    return _joined(n, w, n.input(1), _heads(n, w, n.input(0), 0, 2)[1], n.shape(0, [2])[2] // n["heads"] // 2)


CONVERTERS: dict[str, Callable[[Node, Writer], Any]] = {
    "_contrib_interleaved_matmul_encdec_qk": cross_scores,
    "_contrib_interleaved_matmul_encdec_valatt": cross_values,
    "_contrib_interleaved_matmul_selfatt_qk": self_scores,
    "_contrib_interleaved_matmul_selfatt_valatt": self_values,
    "_linalg_det": det,
    "_linalg_extractdiag": extract_diagonal,
    "_linalg_extracttrian": extract_triangle,
    "_linalg_gemm": gemm,
    "_linalg_gemm2": gemm2,
    "_linalg_makediag": make_diagonal,
    "_linalg_maketrian": make_triangle,
    "_linalg_sumlogdiag": sum_log_diagonal,
    "_linalg_syrk": syrk,
    "_linalg_trmm": trmm,
    "batch_dot": batch_dot,
    "dot": dot,
}
