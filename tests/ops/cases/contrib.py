# SPDX-License-Identifier: Apache-2.0
"""Operators that no other family has a place for."""

import numpy as np

from . import ALL, FLOATS, Case
from .linalg import TYPES


def khatri_rao(*matrices):
    out = matrices[0]
    for matrix in matrices[1:]:
        out = np.einsum("ik,jk->ijk", out, matrix).reshape(-1, out.shape[1])
    return out


def index_array(x, axes=None):
    indices = np.moveaxis(np.indices(x.shape), 0, -1)
    return indices if axes is None else indices[..., list(axes)]


def index_copy(old, index, new):
    out = old.copy()
    out[index.astype(int)] = new
    return out


def fft(x):
    spectrum = np.fft.fft(x)
    return np.stack([spectrum.real, spectrum.imag], -1).reshape(*x.shape[:-1], -1)


def ifft(x):
    size = x.shape[-1] // 2
    return (np.fft.ifft(x[..., ::2] + 1j * x[..., 1::2]) * size).real


def count_sketch(x, h, s, out_dim):
    out = np.zeros((*x.shape[:-1], out_dim), x.dtype)
    for i, (place, sign) in enumerate(zip(h.ravel().astype(int), s.ravel())):
        out[..., place] += sign * x[..., i]
    return out


def with_values(place, values):
    def prepare(*inputs):
        inputs = list(inputs)
        inputs[place] = np.array(values, float)
        return inputs

    return prepare


HASH = [[3, 0, 3, 1, 2]]

CASES = [
    Case(
        "contrib.quadratic",
        [(2, 3)],
        lambda x, a, b, c: a * x * x + b * x + c,
        {"a": 2.0, "b": -1.0, "c": 0.5},
    ),
    Case("contrib.quadratic", [(5,)], lambda x: 0 * x, dtypes=ALL),
    Case("contrib.div_sqrt_dim", [(2, 3)], lambda x: x / np.sqrt(3)),
    Case("contrib.div_sqrt_dim", [(2, 0)], lambda x: x),
    Case(
        "contrib.round_ste",
        [(7, 3)],
        lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5),
        grad=(),
        dtypes=("float32", "float64"),
    ),
    Case("contrib.sign_ste", [(7, 3)], np.sign, grad=(), dtypes=ALL),
    Case("contrib.gradientmultiplier", [(2, 3)], lambda x, scalar: x, {"scalar": 1.0}, dtypes=ALL),
    Case(
        "_internal._scatter_plus_scalar",
        [(2, 3)],
        lambda x, scalar: x + scalar,
        {"scalar": 2.0},
        low=0,
        dtypes=ALL,
    ),
    Case("_internal._scatter_minus_scalar", [(2, 3)], lambda x, scalar: x - scalar, {"scalar": 1.0}),
    Case("_internal._scatter_elemwise_div", [(2, 3), (2, 3)], lambda x, y: x / y, low=1.0),
    Case("_internal._rnn_param_concat", [(2,), (3,)], lambda x, y, dim: np.concatenate([x, y]), {"dim": 0}),
    Case(
        "contrib.index_copy", [(4, 3), (2,), (2, 3)], index_copy, grad=(0, 2), prepare=with_values(1, [3, 0])
    ),
    Case(
        "contrib.index_copy",
        [(4,), (1,), (1,)],
        index_copy,
        grad=(0, 2),
        prepare=with_values(1, [2]),
        dtypes=ALL,
    ),
    Case("contrib.fft", [(2, 3, 8)], fft, dtypes=TYPES, loose=10),
    Case("contrib.fft", [(3, 30)], fft, dtypes=TYPES, loose=10),
    Case("contrib.fft", [(7,)], fft, dtypes=TYPES, loose=10),
    Case("contrib.fft", [(2, 1)], fft, dtypes=TYPES),
    Case("contrib.ifft", [(2, 3, 16)], ifft, dtypes=TYPES, loose=10),
    Case("contrib.ifft", [(3, 18)], ifft, dtypes=TYPES, loose=10),
    Case(
        "contrib.count_sketch",
        [(2, 5), (1, 5), (1, 5)],
        count_sketch,
        {"out_dim": 4},
        grad=(0,),
        dtypes=TYPES,
        prepare=with_values(1, HASH),
    ),
    Case("khatri_rao", [(2, 3), (4, 3)], khatri_rao, grad=()),
    Case("khatri_rao", [(3, 2), (1, 2), (2, 2)], khatri_rao, grad=()),
    Case("khatri_rao", [(3, 2)], khatri_rao, grad=()),
    Case("contrib.index_array", [(2, 3)], index_array, dtypes=ALL, grad=()),
    Case("contrib.index_array", [(2, 3, 4)], index_array, {"axes": (2, 0)}, dtypes=FLOATS, grad=()),
]
