# SPDX-License-Identifier: Apache-2.0
"""Functions of mx.np that official NumPy computes: for arrays of a GPU each says so once, and its results are there."""

import sys
import warnings
from pathlib import Path

import loomix as mx
import numpy as onp
import pytest
from loomix import np
from loomix.numpy import _protocols

sys.path.insert(0, str(Path(__file__).parent))
from test_numpy import FALL_BACKS

pytestmark = pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one")


def arrays_of(result):
    if isinstance(result, (list, tuple)):
        return [array for item in result for array in arrays_of(item)]
    return [result] if isinstance(result, np.ndarray) else []


def called(name, x):
    """The result, and what was said about official NumPy."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = FALL_BACKS[name](x)
    return result, [str(w.message) for w in said if "official NumPy" in str(w.message)]


@pytest.mark.parametrize("name", FALL_BACKS)
def test_fall_backs_warn_once_and_give_arrays_of_the_gpu(name):
    _protocols._warned.discard(name)
    numbers = [3.0, 1.0, 2.0]
    expected, said = called(name, np.array(numbers))
    assert said == []
    found, said = called(name, np.array(numbers, ctx=mx.gpu(0)))
    assert said == [f"np.{name} is computed by official NumPy: the arrays are copied from the GPU."]
    assert called(name, np.array(numbers, ctx=mx.gpu(0)))[1] == []
    expected, found = arrays_of(expected), arrays_of(found)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        assert ours.ctx == mx.gpu(0)
        onp.testing.assert_array_equal(ours.asnumpy(), theirs.asnumpy())


def test_arrays_in_lists_count():
    x = np.array([3.0, 1.0, 2.0], ctx=mx.gpu(0))
    _protocols._warned.discard("lexsort")
    with pytest.warns(UserWarning, match=r"np\.lexsort is computed by official NumPy: the arrays are copied"):
        assert np.lexsort((x, x)).ctx == mx.gpu(0)
