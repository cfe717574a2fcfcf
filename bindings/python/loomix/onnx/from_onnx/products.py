# SPDX-License-Identifier: Apache-2.0
"""Products of matrices, sums over letters, and numbers as small integers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import whole
from ..builder import Builder, Value
from ..reader import Node
from .elementwise import round_to_even
from .shapes import axis_of


def _transposed(b: Builder, weight: Value) -> Value:
    """A constant matrix, turned."""
    assert weight.array is not None
    found = b.constant(np.ascontiguousarray(weight.array.T), weight.name)
    found.whole = None if weight.whole is None else weight.whole.transposed()
    return found


def gemm(n: Node, b: Builder) -> Value:
    x, weight, *bias = n.inputs
    alpha, beta = n.float("alpha", 1.0), n.float("beta", 1.0)
    left, right = n.flag("transA"), n.flag("transB")
    bias = [item for item in bias if item is not None]
    is_layer = alpha == 1 and not left and weight.array is not None and all(c.rank <= 1 for c in bias)
    if is_layer and beta == 1 and all(c.fixed == (weight.array.shape[0 if right else 1],) for c in bias):
        if not right:
            weight = _transposed(b, weight)
        return b.make(
            "FullyConnected",
            x,
            weight,
            *bias,
            num_hidden=weight.array.shape[0],
            no_bias=not bias,
            flatten=False,
        )
    found = b.make("dot", x, weight, transpose_a=left, transpose_b=right)
    found = found if alpha == 1 else b.scalar("_mul_scalar", found, alpha)
    if not bias:
        return found
    return b.make("broadcast_add", found, bias[0] if beta == 1 else b.scalar("_mul_scalar", bias[0], beta))


def _batches(n: Node, b: Builder, left: Value, right: Value) -> tuple[Value, Value]:
    """Both with the same axes before those of the matrices."""
    rank = max(left.rank, right.rank)
    values = [b.unsqueeze(v, range(rank - v.rank)) if v.rank < rank else v for v in (left, right)]
    if all(a.shapes[w][:-2] == values[1].shapes[w][:-2] for a in values[:1] for w in range(b.worlds)):
        return values[0], values[1]
    found = []
    for value, other in (values, values[::-1]):
        for axis in range(rank - 2):
            sizes = value.shape[axis], other.shape[axis]
            if sizes[0] == 1 and sizes[1] != 1:
                lhs, rhs = (axis,), (axis,)
                value = b.make("broadcast_like", value, other, lhs_axes=lhs, rhs_axes=rhs)
        found.append(value)
    return found[0], found[1]


def matmul(n: Node, b: Builder) -> Value:
    left, right = n.inputs
    if left.rank == 0 or right.rank == 0:
        n.fail("an array without axes has no product of matrices.")
    if left.dtype.kind != "f":
        n.fail(f"products of type {left.dtype.name} are not supported.")
    if left.rank == right.rank == 1:
        return b.without_axes(b.make("dot", left, right))
    if right.rank == 2 and left.whole is not None and right.whole is not None and right.array is not None:
        weight = _transposed(b, right)
        more = {"num_hidden": right.array.shape[1], "no_bias": True, "flatten": False}
        return b.make("FullyConnected", left, weight, **more)
    if right.rank == 2 or (right.rank == 1 and left.rank >= 1):
        return b.make("dot", left, right)
    drop = left.rank == 1
    left = b.unsqueeze(left, [0]) if drop else left
    found = b.make("_linalg_gemm2", *_batches(n, b, left, right))
    return b.squeeze(found, [found.rank - 2]) if drop else found


def det(n: Node, b: Builder) -> Value:
    found = b.make("_linalg_det", n.inputs[0])
    return b.without_axes(found) if n.inputs[0].rank == 2 else found


def _letters(n: Node) -> tuple[list[str], str]:
    """The letters of the inputs, and those of the output."""
    equation = n.string("equation", "").replace(" ", "")
    left, arrow, right = equation.partition("->")
    if not re.fullmatch("[a-zA-Z,]+", left) or not re.fullmatch("[a-zA-Z]*", right):
        n.fail(f"the equation {equation!r} is not supported; expected letters.")
    terms = left.split(",")
    if not arrow:
        right = "".join(sorted(letter for letter in set(left) - {","} if left.count(letter) == 1))
    if len(terms) != len(n.inputs) or any(len(set(term)) < len(term) for term in [*terms, right]):
        n.fail(f"the equation {equation!r} is not supported for {len(n.inputs)} inputs.")
    if any(len(term) != value.rank for term, value in zip(terms, n.inputs)) or set(right) - set(left):
        n.fail(f"the equation {equation!r} does not fit to inputs of {[v.rank for v in n.inputs]} axes.")
    return terms, right


def _summed(b: Builder, value: Value, letters: str, kept: str) -> tuple[Value, str]:
    """Without the letters that nobody else has."""
    axes = tuple(i for i, letter in enumerate(letters) if letter not in kept)
    if not axes:
        return value, letters
    return b.make("sum", value, axis=axes), "".join(letter for letter in letters if letter in kept)


def _multiplied(
    n: Node, b: Builder, left: tuple[Value, str], right: tuple[Value, str], kept: str
) -> tuple[Value, str]:
    """The product of two, summed over the letters that are not kept."""
    values, names = [], (left[1], right[1])
    for (value, letters), others in ((left, right[1]), (right, left[1])):
        values.append(_summed(b, value, letters, kept + others))
    both = [letter for letter in values[0][1] if letter in names[1]]
    groups = {
        "batch": [letter for letter in both if letter in kept],
        "sum": [letter for letter in both if letter not in kept],
        "left": [letter for letter in values[0][1] if letter not in names[1]],
        "right": [letter for letter in values[1][1] if letter not in names[0]],
    }
    sizes: dict[str, int] = {}
    for value, letters in values:
        shape = value.fixed
        if shape is None:
            n.fail("open sizes are not supported; give input_shapes.")
        for letter, size in zip(letters, shape):
            if sizes.setdefault(letter, size) != size:
                n.fail(f"the letter {letter} has the sizes {sizes[letter]} and {size}.")

    def matrices(value: Value, letters: str, rows: str, columns: str) -> Value:
        order = [*groups["batch"], *groups[rows], *groups[columns]]
        turned = b.transpose(value, [letters.index(letter) for letter in order])
        shape = [math.prod(sizes[letter] for letter in groups[part]) for part in ("batch", rows, columns)]
        return b.reshape(turned, shape)

    found = b.make("batch_dot", matrices(*values[0], "left", "sum"), matrices(*values[1], "sum", "right"))
    letters = "".join([*groups["batch"], *groups["left"], *groups["right"]])
    return b.reshape(found, [sizes[letter] for letter in letters] or [1]), letters


def einsum(n: Node, b: Builder) -> Value:
    terms, output = _letters(n)
    if any(value.rank == 0 for value in n.inputs):
        n.fail("arrays without axes are not supported.")
    found = n.inputs[0], terms[0]
    for i in range(1, len(terms)):
        kept = output + "".join(terms[i + 1 :])
        found = _multiplied(n, b, found, (n.inputs[i], terms[i]), kept)
    value, letters = _summed(b, *found, output)
    if not output:
        return b.without_axes(b.reshape(value, [1]))
    return b.transpose(value, [letters.index(letter) for letter in output])


# ---- quantized numbers ----


def _of_channels(n: Node, b: Builder, value: Value, rank: int, axis: int) -> Value:
    """A scale or zero point, as an array that broadcasts."""
    if value.rank == 0 or value.shape == (1,):
        return b.reshape(value, [1])
    if value.rank != 1:
        n.fail("scales of blocks are not supported.")
    return b.reshape(value, [-1, *[1] * (rank - 1 - axis)])


def _scale_and_zero(n: Node, b: Builder) -> tuple[Value, Value | None]:
    x, scale, *zero = n.inputs
    axis = n.int("axis", 1)
    axis = axis_of(n, axis, x.rank) if scale.rank == 1 and scale.shape != (1,) else 0
    n.refuse("block_size", "scales of blocks", 0)
    n.int("saturate")
    point = b.cast(zero[0], np.float32) if zero and zero[0] is not None else None
    if point is not None:
        point = _of_channels(n, b, point, x.rank, axis)
    return _of_channels(n, b, b.cast(scale, np.float32), x.rank, axis), point


def _real_constant(n: Node, b: Builder, x: Value, scale: Value, zero: Value | None) -> Value | None:
    """The numbers that those of a constant stand for; they are no parameters unless somebody reads them."""
    point = np.zeros(1) if zero is None else zero.array
    if x.array is None or scale.array is None or point is None or not x.rank:
        return None
    axis = axis_of(n, n.int("axis", 1), x.rank) if scale.array.size > 1 else 0
    shape = [-1, *[1] * (x.rank - 1 - axis)]
    if scale.rank > 1 or scale.array.size not in (1, x.array.shape[axis]):
        n.fail(f"a scale of shape {scale.shape} does not fit to numbers of shape {x.shape}.")
    numbers = x.array.astype(np.float32) - point.astype(np.float32).reshape(shape)
    found = b.constant((numbers * scale.array.reshape(shape)).astype(scale.dtype), n.output_names[0])
    found.whole = whole.constant(x, scale, zero, axis, n.input_names[0])
    return found


def dequantize(n: Node, b: Builder) -> Value:
    x, scale = n.inputs[:2]
    zero = n.inputs[2] if len(n.inputs) > 2 else None
    if x.whole is not None and whole.is_read_so(x.whole, scale, zero):
        for name in ("axis", "block_size", "output_dtype"):
            n.int(name)
        return whole.real(b, x.whole)
    fixed = _real_constant(n, b, x, scale, zero)
    if fixed is not None:
        n.refuse("block_size", "scales of blocks", 0)
        for name in ("axis", "output_dtype"):
            n.int(name)
        return fixed
    scale, zero = _scale_and_zero(n, b)
    x = b.cast(x, np.float32)
    x = x if zero is None else b.elementwise("broadcast_sub", x, zero)
    return b.cast(b.elementwise("broadcast_mul", x, scale), n.inputs[1].dtype)


def quantize(n: Node, b: Builder) -> Value:
    scale, zero = _scale_and_zero(n, b)
    n.refuse("output_dtype", "the type", 0, 2, 3)
    number = n.int("output_dtype", 0)
    dtype = n.inputs[2].dtype if zero is not None else np.dtype("int8" if number == 3 else "uint8")
    n.refuse("precision", "the type to compute in", 0, 1)
    of_8_bits = whole.quantized(b, n.inputs[0], dtype, n.inputs[1], n.inputs[2] if zero is not None else None)
    found = _rounded(n, b, scale, zero, dtype)
    found.whole = of_8_bits
    return found


def _rounded(n: Node, b: Builder, scale: Value, zero: Value | None, dtype: np.dtype[Any]) -> Value:
    numbers = round_to_even(b, b.elementwise("broadcast_div", b.cast(n.inputs[0], np.float32), scale))
    numbers = numbers if zero is None else b.elementwise("broadcast_add", numbers, zero)
    limits = np.iinfo(dtype)
    return b.cast(b.elementwise("clip", numbers, a_min=float(limits.min), a_max=float(limits.max)), dtype)


IMPORTERS: dict[str, Callable[[Node, Builder], Any]] = {
    "DequantizeLinear": dequantize,
    "Det": det,
    "Einsum": einsum,
    "Gemm": gemm,
    "MatMul": matmul,
    "QuantizeLinear": quantize,
}
