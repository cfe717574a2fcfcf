# SPDX-License-Identifier: Apache-2.0
"""Values that an executor computes when it is bound, or when a weight has changed: none is ever another's."""

import os
import random
import subprocess
import sys

import loomix as mx
import numpy as np
import pytest

CHANNELS = 16


def _predict(run, **inputs):
    return [output.asnumpy() for output in run.forward(is_train=False, **inputs)]


def _close(got, expected, message=""):
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        # Blocks, and norms in weights, sum in another order.
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * max(1, np.abs(b).max()), err_msg=message)


def _fill(run, seed):
    numbers = np.random.RandomState(seed)
    for name, array in run.arg_dict.items():
        array[:] = numbers.uniform(-0.5, 0.5, array.shape) / (array[0].size ** 0.5 if array.ndim == 4 else 1)
        if name.endswith("gamma"):
            array[:] = numbers.uniform(0.5, 1.5, array.shape)
    for array in run.aux_dict.values():
        array[:] = numbers.uniform(0.5, 1.5, array.shape)


def _compare(symbol, shape, seed=0):
    """Prediction beside the forward pass of training, where nothing is held."""
    run = symbol.simple_bind(mx.cpu(), grad_req="null", data=shape)
    _fill(run, seed)
    expected = [output.asnumpy() for output in run.forward(is_train=True)]
    for time in ("first", "second"):
        _close(_predict(run), expected, f"seed {seed}, {time} pass")
    for array in run.arg_dict.values():
        array[:] = array + 0.01
    expected = [output.asnumpy() for output in run.forward(is_train=True)]
    _close(_predict(run), expected, f"seed {seed}, other weights")


def _turned(x):
    return mx.sym.reshape(mx.sym.transpose(mx.sym.reshape(x, (4, 4))), (-1,))


CONSTANTS = {
    "arange": lambda: mx.sym.arange(CHANNELS),
    "_arange": lambda: mx.sym._internal._arange(start=0, stop=CHANNELS),
    "zeros": lambda: mx.sym.zeros((CHANNELS,)),
    "ones": lambda: mx.sym.ones((CHANNELS,)),
    "full": lambda: mx.sym.full((CHANNELS,), 0.25),
    "eye": lambda: mx.sym.eye(CHANNELS).sum(axis=0),
    "nested": lambda: mx.sym.sqrt(_turned(mx.sym.arange(CHANNELS) + 1) * 0.5),
}


@pytest.mark.parametrize("kind", CONSTANTS)
@pytest.mark.parametrize("axis", [1, 3])
def test_constants_beside_weights(kind, axis):
    shape = [1, 1, 1, 1]
    shape[axis] = CHANNELS
    layers = {"num_filter": CHANNELS, "kernel": (3, 3), "pad": (1, 1)}
    data = mx.sym.Convolution(mx.sym.Variable("data"), name="first", **layers)
    first = mx.sym.BatchNorm(data, fix_gamma=False, use_global_stats=True, name="norm")
    second = mx.sym.Convolution(mx.sym.LeakyReLU(first), name="second", **layers)
    added = CONSTANTS[kind]()
    symbol = mx.sym.broadcast_add(second, mx.sym.reshape(added, tuple(shape)))
    _compare(symbol, (1, CHANNELS, 16, 16))
    _compare(mx.sym.Group([symbol, added]), (1, CHANNELS, 16, 16))


def test_constants_beside_norms_in_weights_alone():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    run = subprocess.run(
        [*command, "-k", "beside_weights or networks_predict"],
        env={**os.environ, "LOOMIX_CHOOSE_LAYOUT": "0"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert run.returncode == 0, run.stdout


def _constant(choose, depth):
    """An expression without parameters that gives one number a channel, between -1 and 1."""
    kind = choose.randrange(7 if depth else 5)
    if kind == 0:
        return mx.sym.zeros((CHANNELS,))
    if kind == 1:
        return mx.sym.full((CHANNELS,), choose.uniform(-1, 1))
    if kind == 2:
        return mx.sym.arange(0, CHANNELS) / CHANNELS
    if kind == 3:
        return mx.sym.eye(CHANNELS).slice_axis(axis=0, begin=choose.randrange(CHANNELS), end=None).max(axis=0)
    if kind == 4:
        return mx.sym.ones((CHANNELS,)) * choose.uniform(-1, 1)
    if kind == 5:
        return mx.sym.sin(_constant(choose, depth - 1) + _constant(choose, depth - 1))
    return _turned(_constant(choose, depth - 1))


def _random_network(seed):
    """Convolutions, norms and activations with constants in all places that take one, of like shapes: a value that is
    mixed up with another one must show in the numbers."""
    choose = random.Random(seed)
    constants = [_constant(choose, 2) for _ in range(3)]
    images, outputs = [mx.sym.Variable("data")], []
    for i in range(choose.randrange(2, 7)):
        x, one = choose.choice(images), choose.choice(constants)
        weights = {}
        if choose.random() < 0.2:
            weights["bias"] = one
        if choose.random() < 0.2:
            ones = mx.sym.ones((CHANNELS, CHANNELS, 3, 3))
            weights["weight"] = mx.sym.broadcast_mul(ones, mx.sym.reshape(one, (-1, 1, 1, 1))) * 0.01
        layer = {"num_filter": CHANNELS, "kernel": (3, 3), "pad": (1, 1), "name": f"layer{i}"}
        x = mx.sym.Convolution(x, **weights, **layer)
        if choose.random() < 0.5:
            shift = {"beta": one} if choose.random() < 0.3 else {}
            x = mx.sym.BatchNorm(x, fix_gamma=False, use_global_stats=True, name=f"norm{i}", **shift)
        kind = choose.randrange(5)
        if kind == 0:
            x = mx.sym.LeakyReLU(x)
        elif kind == 1:
            x = mx.sym.broadcast_add(x, mx.sym.reshape(one, (1, -1, 1, 1)))
        elif kind == 2:
            x = mx.sym.broadcast_mul(x, mx.sym.reshape(one, (1, 1, 1, -1)))
        elif kind == 3:
            x = mx.sym.elemwise_add(x, choose.choice(images))
        images.append(x)
        if choose.random() < 0.2:
            outputs.append(one)
        if choose.random() < 0.2:
            outputs.append(x)
    return mx.sym.Group([*outputs, images[-1]])


@pytest.mark.parametrize("start", range(0, 60, 10))
def test_random_networks_predict_what_training_computes(start):
    for seed in range(start, start + 10):
        _compare(_random_network(seed), (1, CHANNELS, 16, 16), seed)


def test_random_weights_are_drawn_in_each_pass():
    weight = mx.sym.Dropout(mx.sym.Variable("weight"), p=0.5, mode="always")
    noise = mx.sym.random.uniform(-1, 1, shape=(CHANNELS, CHANNELS, 3, 3))
    for drawn in (weight, noise, noise + mx.sym.Variable("weight")):
        symbol = mx.sym.Convolution(
            mx.sym.Variable("data"), weight=drawn, num_filter=CHANNELS, kernel=(3, 3), no_bias=True
        )
        run = symbol.simple_bind(mx.cpu(), grad_req="null", data=(1, CHANNELS, 8, 8))
        _fill(run, 0)
        mx.random.seed(1)
        first, second = _predict(run)[0], _predict(run)[0]
        assert np.abs(first - second).max() > 1e-3
        mx.random.seed(1)
        _close(_predict(run), [first])
