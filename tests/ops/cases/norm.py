# SPDX-License-Identifier: Apache-2.0
"""BatchNorm, LayerNorm, InstanceNorm, GroupNorm and their relatives."""

import functools

import numpy as np

from . import Case

FLOAT_09 = float(np.float32(0.9))  # the default, a number of 32 bits


def normalise(x, axes, eps):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def _channels(x, axis):
    """The shape that spreads a vector along `axis`, and the other axes."""
    shape = [1] * x.ndim
    shape[axis] = -1
    return shape, tuple(i for i in range(x.ndim) if i != axis % x.ndim)


def batch_norm(
    x,
    gamma,
    beta,
    mean,
    var,
    eps=1e-3,
    momentum=0.9,
    fix_gamma=True,
    use_global_stats=False,
    axis=1,
    train=True,
):
    shape, others = _channels(x, axis)
    if train and not use_global_stats:
        mean, var = x.mean(others), x.var(others)
    gamma = np.ones_like(gamma) if fix_gamma else gamma
    scale = gamma / np.sqrt(var + eps)
    return (x - mean.reshape(shape)) * scale.reshape(shape) + beta.reshape(shape)


def moving_statistics(x, gamma, beta, mean, var, momentum=FLOAT_09, use_global_stats=False, axis=1, **_):
    if use_global_stats:
        return mean, var
    _, others = _channels(x, axis)
    return [
        old * momentum + new * (1 - momentum) for old, new in ((mean, x.mean(others)), (var, x.var(others)))
    ]


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


BATCH_NORM = [
    ((4, 3), {"fix_gamma": False}),
    ((2, 3, 4, 5), {"fix_gamma": False, "eps": 1e-2}),
    ((2, 3, 4, 5), {"fix_gamma": True, "momentum": 0.75}),
    ((2, 4, 5, 3), {"fix_gamma": False, "axis": -1}),
    ((3, 2, 4), {"fix_gamma": False, "use_global_stats": True}),
]


def batch_norm_relu(*inputs, **attrs):
    return np.maximum(batch_norm(*inputs, **attrs), 0)


def sync_batch_norm(*inputs, key, **attrs):
    return batch_norm(*inputs, **attrs)


def _batch_norm_case(shape, attrs, train, op="BatchNorm", reference=batch_norm):
    channels = (shape[attrs.get("axis", 1)],)
    grad = (0, 1, 2) if attrs["fix_gamma"] is False else (0, 2)  # a fixed gamma has none
    return Case(
        op,
        [shape, *[channels] * 4],
        functools.partial(reference, train=train),
        attrs,
        low=0.3,  # of the variance, too
        grad=grad if train else (),
        loose=10,  # differences of close values are divided by a small deviation
        train=train,
        wide=(1, 2, 3, 4),
        states=(3, 4),
        new_states=moving_statistics,
    )


CASES = [
    *[_batch_norm_case(shape, attrs, train) for shape, attrs in BATCH_NORM for train in (True, False)],
    *[
        _batch_norm_case(shape, attrs, train, "contrib.BatchNormWithReLU", batch_norm_relu)
        for shape, attrs in BATCH_NORM
        for train in (True, False)
    ],
    *[
        _batch_norm_case(
            (3, 2, 4), {"fix_gamma": fixed, "key": "bn"}, True, "contrib.SyncBatchNorm", sync_batch_norm
        )
        for fixed in (True, False)
    ],
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
