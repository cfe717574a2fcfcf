# SPDX-License-Identifier: Apache-2.0
"""Reading and writing parts of arrays, against NumPy."""

import loomix as mx
import numpy as np
import pytest

nd = mx.nd
DATA = np.arange(2 * 3 * 4, dtype="float32").reshape(2, 3, 4)

BASIC = [
    np.s_[0],
    np.s_[-1],
    np.s_[0, 1],
    np.s_[1, 2],
    np.s_[:],
    np.s_[...],
    np.s_[0:1],
    np.s_[1:],
    np.s_[:5],
    np.s_[::-1],
    np.s_[:, 1],
    np.s_[:, 0:2],
    np.s_[:, ::2],
    np.s_[..., 1],
    np.s_[..., ::-2],
    np.s_[0, ..., 1:3],
    np.s_[:, -1, -2:],
    np.s_[None],
    np.s_[:, None, 1],
    np.s_[..., None],
    np.s_[None, 0, None],
    np.s_[0, 1, 1:3],
    np.s_[1, 0:2, 3:0:-1],
    np.s_[0:2, 1:2],
    np.s_[np.int64(1)],
]
ADVANCED = [
    np.s_[[0, 1]],
    np.s_[[1, 0, 1]],
    np.s_[[0, 1], [1, 2]],
    np.s_[[0, -1], 1],
    np.s_[:, [0, 2]],
    np.s_[:, [0, 2], 1],
    np.s_[:, :, [3, 0]],
    np.s_[0, :, [3, 0]],
    np.s_[[1], :, [3, 0]],
    np.s_[[[0], [1]], [0, 2]],
    np.s_[:, [[0, 1], [2, 0]]],
    np.s_[0:1, [0, 2]],
    np.s_[None, :, [0, 2]],
    np.s_[[0, 1], None, [1, 2]],
    np.s_[..., [0, 1]],
    np.s_[np.array([1, 0])],
    np.s_[np.array([True, False])],
    np.s_[:, np.array([True, False, True])],
    np.s_[DATA > 10],
    np.s_[[]],
]


@pytest.mark.parametrize("key", BASIC + ADVANCED, ids=repr)
def test_reading(key):
    expected = DATA[key]
    got = nd.array(DATA)[key]
    assert got.shape == (expected.shape or (1,))
    np.testing.assert_array_equal(got.asnumpy().reshape(expected.shape), expected)


@pytest.mark.parametrize("key", BASIC + ADVANCED, ids=repr)
@pytest.mark.parametrize("kind", ["number", "numpy", "array", "row"])
def test_writing(key, kind):
    part = DATA[key]
    value = np.arange(part.size, dtype="float32").reshape(part.shape) + 100
    if kind == "row":
        value = value[..., :1] if value.ndim else value
    expected = DATA.copy()
    expected[key] = 7 if kind == "number" else value
    array = nd.array(DATA)
    array[key] = 7 if kind == "number" else nd.array(value) if kind == "array" and value.ndim else value
    np.testing.assert_array_equal(array.asnumpy(), expected)


@pytest.mark.parametrize(
    "key", [np.s_[0], np.s_[0, 1], np.s_[1:2], np.s_[0, 1:3], np.s_[1, 2, 1:3], np.s_[:]]
)
def test_contiguous_parts_share_memory(key):
    array = nd.array(DATA)
    expected = DATA.copy()
    array[key][:] = -1
    expected[key] = -1
    np.testing.assert_array_equal(array.asnumpy(), expected)


def test_index_arrays_may_be_ndarrays():
    array = nd.array(DATA)
    np.testing.assert_array_equal(array[nd.array([1, 0])].asnumpy(), DATA[[1, 0]])
    np.testing.assert_array_equal(array[:, nd.array([-1, 0], dtype="int32")].asnumpy(), DATA[:, [-1, 0]])
    np.testing.assert_array_equal(array[nd.array([0, 1]), nd.array([2, 0])].asnumpy(), DATA[[0, 1], [2, 0]])
    np.testing.assert_array_equal(array[nd.array(DATA > 10, dtype="bool")].asnumpy(), DATA[DATA > 10])
    array[nd.array([1])] = 0
    assert not array.asnumpy()[1].any()


def test_one_element_has_shape_one():
    assert nd.array(DATA)[0, 1, 2].shape == (1,)
    with mx.util.np_shape(True):
        assert nd.array(DATA)[0, 1, 2].shape == ()


@pytest.mark.parametrize(
    "key",
    [np.s_[2], np.s_[-3], np.s_[0, 3], np.s_[[0, 2]], np.s_[0, 0, 0, 0], np.s_[..., ...], np.s_[:, [5]]],
    ids=repr,
)
def test_out_of_range(key):
    array = nd.array(DATA)
    with pytest.raises(IndexError):
        array[key]
    with pytest.raises(IndexError):
        array[key] = 1


@pytest.mark.parametrize("key", ["a", 1.0, {}, object()], ids=lambda key: type(key).__name__)
def test_keys_of_other_kinds(key):
    with pytest.raises((ValueError, TypeError)):
        nd.array(DATA)[key]
    with pytest.raises((ValueError, TypeError)):
        nd.array(DATA)[key] = 1


@pytest.mark.parametrize(
    "value", [np.ones(7), "a", None, [1, 2, 3], nd.ones((5, 5))], ids=["7", "a", "None", "3", "5x5"]
)
def test_values_that_do_not_fit(value):
    array = nd.array(DATA)
    for key in (np.s_[0], np.s_[:], np.s_[[0]]):
        with pytest.raises((ValueError, TypeError)):
            array[key] = value
    np.testing.assert_array_equal(array.asnumpy(), DATA)


def test_values_are_cast():
    array = nd.zeros(3, dtype="int32")
    array[:] = 2.7
    assert array.asnumpy().tolist() == [2, 2, 2]
    array[1:] = nd.array([5.9, 6.9])
    assert array.asnumpy().tolist() == [2, 5, 6]


def test_gradients_flow_through_parts():
    for key in (
        np.s_[0],
        np.s_[:, 1:],
        np.s_[..., ::-2],
        np.s_[[0, 0, 1]],
        np.s_[:, [0, 2], 1],
        np.s_[None, 1],
    ):
        array = nd.array(DATA)
        array.attach_grad()
        with mx.autograd.record():
            part = array[key]
            loss = (part * part).sum()
        loss.backward()
        expected = np.zeros_like(DATA)
        np.add.at(expected, key, 2 * DATA[key])
        np.testing.assert_allclose(array.grad.asnumpy(), expected)
