# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of arrays and numbers, whose numbers may change with each call."""

import math

import loomix as mx
import numpy as np
import pytest

nd = mx.nd


def test_numbers_that_change_with_each_call():
    x = nd.array([1.0, 3.0], dtype="float64")
    numbers = np.random.default_rng(5).normal(size=10_000)
    results = [x * number for number in numbers.tolist()]
    for number, result in zip(numbers, results):
        assert result.asnumpy().tolist() == [number, 3 * number]


@pytest.mark.parametrize(
    "number",
    [
        0.1,
        -0.0,
        math.inf,
        5e-324,
        7,
        -1,
        2**53 + 2,
        True,
        np.float32(0.1),
        np.float64(0.1),
        np.int64(-3),
        np.bool_(1),
    ],
)
def test_numbers_of_every_kind(number):
    x = nd.array([1.5, -2.0], dtype="float64")
    data = np.array([1.5, -2.0])
    # Twice: the second call finds the first one's attributes.
    for _ in range(2):
        for got, expected in (
            (x * number, data * float(number)),
            (number * x, data * float(number)),
            (x - number, data - float(number)),
            (number - x, float(number) - data),
            (nd._internal._plus_scalar(x, scalar=number), data + float(number)),
        ):
            assert got.asnumpy().tobytes() == expected.tobytes()


def test_zeros_of_both_signs_and_nan_are_kept_apart():
    one = nd.ones(1)
    for _ in range(2):
        assert [math.copysign(1, (one * zero).asscalar()) for zero in (0.0, -0.0, 0.0)] == [1, -1, 1]
        assert math.isnan((one * math.nan).asscalar())


def test_integer_beyond_all_floats():
    with pytest.raises(ValueError, match="_mul_scalar. the integer is too large"):
        nd.ones(1) * 10**400


def test_recorded_number_has_its_shortest_text():
    x = nd.ones(1)
    x.attach_grad()
    with mx.autograd.record():
        y = x * 0.1
    assert mx.autograd.get_symbol(y).list_attr()["scalar"] == "0.1"


def test_number_as_text_is_parsed():
    assert nd._internal._mul_scalar(nd.ones(1), scalar="2.5").asscalar() == 2.5
