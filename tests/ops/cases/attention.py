# SPDX-License-Identifier: Apache-2.0
"""Products of multi-head attention on interleaved projections."""

import numpy as np

from . import Case


def parts_of(projection, heads, parts):
    """(length, batch, heads * parts * width) -> for each part (batch * heads, length, width)."""
    length, batch, _ = projection.shape
    split = projection.reshape(length, batch * heads, parts, -1)
    return [split[:, :, part].swapaxes(0, 1) for part in range(parts)]


def joined(items, batch):
    """(batch * heads, length, width) -> (length, batch, heads * width)."""
    return items.swapaxes(0, 1).reshape(items.shape[1], batch, -1)


def scores(q, k):
    return q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])


def selfatt_qk(qkv, heads):
    return scores(*parts_of(qkv, heads, 3)[:2])


def selfatt_valatt(qkv, attention, heads):
    return joined(attention @ parts_of(qkv, heads, 3)[2], qkv.shape[1])


def encdec_qk(q, kv, heads):
    return scores(parts_of(q, heads, 1)[0], parts_of(kv, heads, 2)[0])


def encdec_valatt(kv, attention, heads):
    return joined(attention @ parts_of(kv, heads, 2)[1], kv.shape[1])


def case(name, shapes, reference, heads):
    op = f"contrib.interleaved_matmul_{name}"
    return Case(op, shapes, reference, {"heads": heads}, dtypes=("float32", "float64"), loose=10)


CASES = [
    case("selfatt_qk", [(5, 2, 36)], selfatt_qk, 3),
    case("selfatt_qk", [(1, 1, 3)], selfatt_qk, 1),
    case("selfatt_valatt", [(5, 2, 36), (6, 5, 5)], selfatt_valatt, 3),
    case("encdec_qk", [(3, 2, 8), (5, 2, 16)], encdec_qk, 2),
    case("encdec_valatt", [(5, 2, 16), (4, 3, 5)], encdec_valatt, 2),
]
