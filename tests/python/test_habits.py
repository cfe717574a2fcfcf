# SPDX-License-Identifier: Apache-2.0
"""Warnings of what MXNet does and people rarely mean."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import warnings

import loomix as mx
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def fresh():
    before = {name: mx.habits.set_habit(name, "warn") for name in mx.habits.NAMES}
    yield
    for name, action in before.items():
        mx.habits.set_habit(name, action)


def warned_by(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function()
    return [str(item.message) for item in caught if item.category is mx.habits.HabitWarning], result, caught


INTEGERS = [1, 2, 3]


def swapped():
    x = mx.nd.array(INTEGERS)
    x[0], x[2] = x[2], x[0]
    return x


MEETS = {
    "integer-scalar": (lambda: mx.nd.array(INTEGERS, dtype="int32") * 0.5, [0, 0, 0], "`x * 0.5`"),
    "float-mask": (
        lambda: mx.nd.array(INTEGERS)[mx.nd.array(INTEGERS) > 2],
        [1, 1, 2],
        "positions 0 and 1",
    ),
    "float32-integers": (lambda: mx.nd.array([2**24 + 1]), [2**24], "cannot hold 16777217"),
    "integer-normalize": (
        lambda: mx.gluon.data.vision.transforms.Normalize(0.5, 0.5)(
            mx.nd.array([[[4]], [[6]], [[2]]], dtype="uint8")
        ).reshape(-1),
        [7, 11, 3],
        "Put ToTensor() before it",
    ),
    "swapped-views": (swapped, [3, 2, 3], "x[2] is set to x[0]"),
}


@pytest.mark.parametrize("name", MEETS)
def test_once_at_the_users_line(name):
    function, expected, text = MEETS[name]
    texts, result, caught = warned_by(function)
    assert result.asnumpy().tolist() == expected  # what MXNet gives
    assert len(texts) == 1 and text in texts[0] and texts[0].endswith(f"[{name}]")
    assert os.path.basename(caught[0].filename) == "test_habits.py"
    assert not warned_by(function)[0]


@pytest.mark.parametrize("name", MEETS)
def test_as_an_error_and_off(name):
    function = MEETS[name][0]
    assert mx.habits.set_habit(name, "off") == "warn"
    assert not warned_by(function)[0]
    mx.habits.set_habit(name, "error")
    for _ in range(2):
        with pytest.raises(mx.habits.HabitError, match=name):
            function()


@pytest.mark.parametrize(
    "function",
    [
        lambda: mx.nd.array(INTEGERS, dtype="int32") * 2.0,
        lambda: mx.nd.array(INTEGERS, dtype="int32") * 2,
        lambda: mx.nd.array(INTEGERS) * 0.5,
        lambda: mx.nd.array(INTEGERS, dtype="int32") * float("inf"),
        lambda: mx.nd.array(INTEGERS)[mx.nd.array([0, 2, 1])],
        lambda: mx.nd.array(INTEGERS)[mx.nd.array([1, 0])],
        lambda: mx.nd.array(INTEGERS)[np.array([True, False, True])],
        lambda: mx.nd.array(INTEGERS)[np.array([1, 0, 1])],
        lambda: mx.nd.array([2**24]),
        lambda: mx.nd.array([2**25, 7]),
        lambda: mx.nd.array([2**24 + 1], dtype="int64"),
        lambda: mx.nd.array([2**24 + 1], dtype="float32"),
        lambda: mx.nd.array([2.0**24 + 1]),
        lambda: mx.nd.array(np.array([], "int64")),
    ],
)
def test_what_is_meant_is_not_warned_of(function):
    assert not warned_by(function)[0]


@pytest.mark.parametrize(
    "function, text",
    [
        (lambda x: 1.5 / x, "`1.5 / x`"),
        (lambda x: x > 1.5, "`x > 1.5`"),
        (lambda x: x**0.5, r"`x \*\* 0.5`"),
    ],
)
def test_each_sign(function, text):
    with pytest.warns(mx.habits.HabitWarning, match=text):
        function(mx.nd.array(INTEGERS, dtype="int64"))


def test_numpy_index_and_integers():
    with pytest.warns(mx.habits.HabitWarning, match="float-mask"):
        mx.nd.array(INTEGERS)[np.array([1.0, 0.0, 1.0])]
    with pytest.warns(mx.habits.HabitWarning, match="dtype='uint64'"):
        mx.nd.array(np.array([2**63 + 1], "uint64"))


@pytest.mark.parametrize("name, action", [("integer", "off"), ("float-mask", "never"), ("all", "off")])
def test_unknown_names(name, action):
    with pytest.raises(ValueError, match="expected"):
        mx.habits.set_habit(name, action)


@pytest.mark.parametrize(
    "setting, code, text",
    [
        ("integer-scalar=error", 1, "HabitError"),
        ("all=off", 0, ""),
        ("all=error, integer-scalar=off", 0, ""),
        ("", 0, "HabitWarning"),
        ("integers=off", 1, "unknown habit 'integers'"),
    ],
)
def test_the_environment(setting, code, text):
    run = subprocess.run(
        [sys.executable, "-c", "import loomix as mx\nmx.nd.array([1], dtype='int32') * 0.5"],
        env={**os.environ, "LOOMIX_HABITS": setting},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == code, run.stderr
    assert text in run.stderr and bool(text) == bool(run.stderr)


@pytest.mark.parametrize("shuffle", [np.random.shuffle, random.shuffle])
@pytest.mark.parametrize("shape", [(8, 2), (8,)])
@pytest.mark.filterwarnings("ignore:you are shuffling")
def test_shuffling_in_place_is_an_error(shuffle, shape):
    mx.habits.set_habit("swapped-views", "error")
    x = mx.nd.arange(math.prod(shape)).reshape(shape)
    before = x.asnumpy()
    with pytest.raises(mx.habits.HabitError, match="mx.nd.random.shuffle"):
        for _ in range(3):  # a shuffle may leave all items where they are
            shuffle(x)
    assert np.array_equal(x.asnumpy(), before)


def test_copies_of_items_that_are_no_swap():
    mx.habits.set_habit("swapped-views", "error")
    x = mx.nd.array([0, 1, 2, 3, 4])
    for i in range(4):
        x[i] = x[i + 1]
    assert x.asnumpy().tolist() == [1, 2, 3, 4, 4]
    x[1] = x[0]
    x[2] = x[1]
    x[3], x[4] = x[4].copy(), x[3].copy()
    x[0], x[0] = x[0], x[0]
    assert x.asnumpy().tolist() == [1, 1, 1, 4, 4]
