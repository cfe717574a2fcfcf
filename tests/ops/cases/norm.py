# SPDX-License-Identifier: Apache-2.0
"""LayerNorm, InstanceNorm, GroupNorm. BatchNorm, which has states, is in tests/cpp/ops and the oracle."""

import numpy as np

from . import Case


def normalise(x, axes, eps):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def layer_norm(x, gamma, beta, axis=-1, eps=1e-5):
    shape = [1] * x.ndim
    shape[axis] = -1
    return normalise(x, axis, eps) * gamma.reshape(shape) + beta.reshape(shape)


def instance_norm(x, gamma, beta, eps=1e-3):
    shape = (-1,) + (1,) * (x.ndim - 2)
    return normalise(x, tuple(range(2, x.ndim)), eps) * gamma.reshape(shape) + beta.reshape(shape)


def group_norm(x, gamma, beta, num_groups=1, eps=1e-5):
    groups = x.reshape(len(x), num_groups, -1)
    return (normalise(groups, 2, eps) * gamma[:, None] + beta[:, None]).reshape(x.shape)


def l2_normalization(x, mode="instance", eps=1e-10):
    axes = {"instance": tuple(range(1, x.ndim)), "channel": 1, "spatial": tuple(range(2, x.ndim))}[mode]
    return x / np.sqrt(np.square(x).sum(axes, keepdims=True) + eps)


def local_response(x, nsize, alpha=1e-4, beta=0.75, knorm=2.0):
    squares, reach = np.square(x), nsize // 2
    sums = np.stack([squares[:, max(0, c - reach) : c + reach + 1].sum(1) for c in range(x.shape[1])], axis=1)
    return x * (knorm + alpha / nsize * sums) ** -beta


CASES = [
    Case("LayerNorm", [(3, 8), (8,), (8,)], layer_norm, {"eps": 1e-3}, loose=10),
    Case("LayerNorm", [(3, 4, 5), (4,), (4,)], layer_norm, {"axis": 1, "eps": 1e-2}, loose=10),
    Case("InstanceNorm", [(2, 3, 4, 2), (3,), (3,)], instance_norm, {"eps": 1e-2}, loose=10),
    Case("GroupNorm", [(2, 4, 3), (2,), (2,)], group_norm, {"num_groups": 2, "eps": 1e-2}, loose=10),
    *[
        Case("L2Normalization", [(2, 3, 4, 2)], l2_normalization, {"mode": mode, "eps": 1e-3})
        for mode in ("instance", "channel", "spatial")
    ],
    Case("L2Normalization", [(3, 5)], l2_normalization),
    Case("LRN", [(2, 5, 2, 3)], local_response, {"nsize": 3, "alpha": 0.5}),
    Case("LRN", [(1, 3, 2, 2)], local_response, {"nsize": 5, "alpha": 0.25, "beta": 0.5, "knorm": 1.0}),
]
