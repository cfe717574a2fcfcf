# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments of mx.np and mx.npx: the error begins with the function that was called, never with an operator."""

import re

import loomix as mx
import pytest
from loomix import np, npx

CALLS = {
    "np.add": lambda: np.add(np.ones((2, 3)), np.ones(4)),
    "np.subtract": lambda: np.ones((2, 3)) - np.ones(4),
    "np.maximum": lambda: np.maximum("a", np.ones(2)),
    "np.max": lambda: np.max(np.zeros((0, 3)), axis=0),
    "np.sum": lambda: np.sum(np.ones((2, 3)), axis=4),
    "np.concatenate": lambda: np.concatenate([np.ones((2, 3)), np.ones((2, 4))], axis=0),
    "np.stack": lambda: np.stack([np.ones(2), np.ones(3)]),
    "np.swapaxes": lambda: np.swapaxes(np.ones((2, 3)), 0, 5),
    "np.expand_dims": lambda: np.expand_dims(np.ones(2), 7),
    "np.reshape": lambda: np.reshape(np.ones((2, 3)), (4, 2)),
    "np.where": lambda: np.where(np.ones(2), np.ones(3), np.ones(4)),
    "np.broadcast_arrays": lambda: np.broadcast_arrays(np.ones(3), np.ones(4)),
    "np.interp": lambda: np.interp(np.ones(2), np.ones(3), np.ones(2)),
    "np.tile": lambda: np.tile(np.ones(2), "x"),
    "np.pad": lambda: np.pad(np.ones((2, 2)), ((1,), (1,), (2,))),
    "np.linspace": lambda: np.linspace(0, 1, -3),
    "np.histogram": lambda: np.histogram(np.ones(3), bins=0),
    "np.insert": lambda: np.insert(np.ones(3), 9, 1.0),
    "np.delete": lambda: np.delete(np.ones(3), 9),
    "np.unravel_index": lambda: np.unravel_index(99, (3, 3)),
    "np.polyfit": lambda: np.polyfit(np.ones(3), np.ones(4), 1),
    "np.linalg.solve": lambda: np.linalg.solve(np.ones((2, 3, 3)), np.ones((4, 3, 1))),
    "np.random.normal": lambda: np.random.normal(0, -1, size=2),
    "np.ndarray": lambda: np.ones((2, 3))[[0, 7]],
    "np.ndarray.reshape": lambda: np.ones((2, 3)).reshape(5),
    "npx.softmax": lambda: npx.softmax(np.ones((2, 3)), axis=5),
    "npx.fully_connected": lambda: npx.fully_connected(
        np.ones((2, 3)), np.ones((4, 5)), None, num_hidden=4, no_bias=True
    ),
    "npx.one_hot": lambda: npx.one_hot(np.ones(2), -1),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_function_is_named(name):
    # Python 3.10 does not tell whose method runs.
    function = name.replace(".ndarray.", r"\.(ndarray\.)?")
    with pytest.raises((ValueError, TypeError, IndexError), match=rf"^\[{function}\] "):
        CALLS[name]()


def test_assignments_name_the_array():
    x = np.ones((2, 3))
    with pytest.raises(ValueError, match=r"^\[np\.ndarray\] cannot assign a value of shape \(4,\)"):
        x[:] = np.ones(4)
    with pytest.raises(ValueError, match=r"^\[np\.ndarray\] The current array is not a scalar"):
        float(x)


def test_operators_keep_their_names_outside():
    with pytest.raises(mx.base.ShapeError, match=r"^\[broadcast_add\] "):
        mx.nd.broadcast_add(mx.nd.ones((2, 3)), mx.nd.ones(4))
    with pytest.raises(IndexError, match=r"^\[NDArray\] "):
        mx.nd.ones(3)[7]


def test_late_errors_name_the_operator_that_failed():
    late = np.take(np.ones(3), np.array([5]), mode="raise")
    with pytest.raises(IndexError, match=re.compile(r"^\[take\] index 5.*\nin operator take", re.DOTALL)):
        np.unique(late)
