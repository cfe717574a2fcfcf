# SPDX-License-Identifier: Apache-2.0
"""Random indices, read and written, against NumPy: what NumPy and MXNet's indexing both accept."""

import random

import numpy as np
import pytest
from loomix import nd

INTEGERS = (int, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32, np.intp)


def one_slice(draw, size):
    bound = lambda: draw.choice([None, None, draw.randint(-size - 1, size + 1)])
    return slice(bound(), bound(), draw.choice([None, None, 1, 2, -1, -2, 3]))


def positions(draw, size, shape):
    values = np.array([draw.randint(-size, size - 1) for _ in range(int(np.prod(shape)))]).reshape(shape)
    kind = draw.choice(["list", "array", "nd", "int32"])
    if kind == "list":
        return values.tolist(), values
    if kind == "nd":
        return nd.array(values, dtype=draw.choice(["int32", "int64", "float32"])), values
    return (values.astype("int32") if kind == "int32" else values), values


def random_key(draw, shape):
    """A key for our arrays, and the same for NumPy's, where an ellipsis is written out: one of no axes separates index
    arrays there, and does not in MXNet."""
    advanced = draw.random() < 0.4
    length = (draw.randint(1, 3),) if draw.random() < 0.8 else (2, 2)
    front = draw.randint(0, len(shape))
    back = draw.randint(0, len(shape) - front) if draw.random() < 0.3 else None
    ours, theirs = [], []
    for axis in range(len(shape)):
        if axis >= front and (back is None or axis < len(shape) - back):
            if axis == front and back is not None:
                ours.append(Ellipsis)
            if back is not None:
                theirs.append(slice(None))
            continue
        if draw.random() < 0.1:
            ours.append(None), theirs.append(None)
        kind = draw.random()
        if kind < 0.3:
            mine = own = draw.choice(INTEGERS)(draw.randint(0, shape[axis] - 1))
        elif kind < 0.6 and advanced:
            mine, own = positions(draw, shape[axis], length)
        else:
            mine = own = one_slice(draw, shape[axis])
        ours.append(mine), theirs.append(own)
    if len(ours) == len(theirs) == 1 and draw.random() < 0.5 and not isinstance(ours[0], list):
        return ours[0], theirs[0]
    return tuple(ours), tuple(theirs)


@pytest.mark.parametrize("seed", range(8))
def test_random_indices(seed):
    draw = random.Random(seed)
    for _ in range(150):
        shape = tuple(draw.randint(1, 5) for _ in range(draw.randint(1, 4)))
        there = np.arange(np.prod(shape), dtype="float32").reshape(shape)
        ours, theirs = random_key(draw, shape)
        expected = there[theirs]
        got = nd.array(there)[ours]
        words = f"x{shape}[{ours}]"
        assert got.shape == (expected.shape or (1,)), words
        np.testing.assert_array_equal(got.asnumpy().reshape(expected.shape), expected, words)
        here = nd.array(there)
        flat = np.arange(np.prod(shape)).reshape(shape)[theirs]
        if len(np.unique(flat)) != flat.size:
            continue  # which of two values stays is not defined
        value = draw.choice(
            [7, 2.5, -expected - 1, nd.array(-expected - 1) if expected.size and expected.ndim else 3]
        )
        there[theirs] = value.asnumpy() if isinstance(value, nd.NDArray) else value
        here[ours] = value
        np.testing.assert_array_equal(here.asnumpy(), there, words + " = ")


@pytest.mark.parametrize("seed", range(3))
def test_random_masks(seed):
    rng = np.random.RandomState(seed)
    for _ in range(30):
        shape = tuple(rng.randint(1, 5, rng.randint(1, 4)))
        there = rng.randn(*shape).astype("float32")
        mask = rng.rand(*shape[: rng.randint(1, len(shape) + 1)]) < 0.6
        mask.flat[0] = True
        for own in (mask, nd.array(mask, dtype="bool")):
            np.testing.assert_array_equal(nd.array(there)[own].asnumpy(), there[mask])
        here, want = nd.array(there), there.copy()
        here[mask], want[mask] = 5, 5
        np.testing.assert_array_equal(here.asnumpy(), want)


def test_what_numpy_refuses():
    x = nd.zeros((2, 3))
    for key in ((0, 0, 0), 5, (slice(None), 7), ([0, 9],), "x", (Ellipsis, Ellipsis), 1.5):
        with pytest.raises((IndexError, TypeError, ValueError)):
            x[key].asnumpy()
