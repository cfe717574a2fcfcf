# SPDX-License-Identifier: Apache-2.0
"""`util.np_default_dtype`: official NumPy's types where none is given; MXNet 2's switch."""

import threading

import loomix as mx
import numpy as onp
import pytest
from loomix import np, npx, util


@pytest.fixture(autouse=True)
def numpy_mode():
    npx.set_np()
    yield
    npx.reset_np()


CREATED = {
    "ones": lambda: np.ones((2, 3)),
    "zeros": lambda: np.zeros(2),
    "empty": lambda: np.empty(2),
    "full": lambda: np.full((2,), 3),
    "eye": lambda: np.eye(3),
    "identity": lambda: np.identity(2),
    "tri": lambda: np.tri(3),
    "hanning": lambda: np.hanning(4),
    "linspace": lambda: np.linspace(0, 1, 3),
    "logspace": lambda: np.logspace(0, 1, 3),
    "array": lambda: np.array([[1, 2], [3, 4]]),
    "array of a number": lambda: np.array(1.5),
    "uniform": lambda: np.random.uniform(size=(2,)),
    "normal": lambda: np.random.normal(size=(2,)),
    "gamma": lambda: np.random.gamma(2.0, size=(2,)),
    "sqrt of integers": lambda: np.sqrt(np.array([4, 9], dtype="int32")),
    "quotient of integers": lambda: np.array([4], dtype="int32") / np.array([3], dtype="int32"),
    "integers and a fraction": lambda: np.array([4], dtype="int64") + 0.5,
    "mean of integers": lambda: np.array([4, 5], dtype="int64").mean(),
}


@pytest.mark.parametrize("name", CREATED)
def test_floating_results_are_float64_inside_and_float32_outside(name):
    assert CREATED[name]().dtype == "float32"
    with util.np_default_dtype():
        assert CREATED[name]().dtype == "float64"
        with util.np_default_dtype(False):
            assert CREATED[name]().dtype == "float32"
    assert CREATED[name]().dtype == "float32"


def test_a_quotient_has_the_digits_of_float64():
    with util.np_default_dtype():
        third = np.array([1], dtype="int32") / np.array([3], dtype="int32")
    assert third.asnumpy()[0] == 1 / 3


@pytest.mark.parametrize("dtype", ["float16", onp.float32, "int8", bool, "bfloat16"])
def test_a_type_that_is_given_wins(dtype):
    with util.np_default_dtype():
        for made in (np.ones(2, dtype=dtype), np.eye(2, dtype=dtype), np.array([1, 0], dtype=dtype)):
            assert made.dtype == np.zeros(1, dtype=dtype).dtype


def test_arrays_keep_their_types():
    with util.np_default_dtype():
        assert np.array(onp.float32([1, 2])).dtype == "float32"
        assert (np.ones(2, dtype="float32") * 2.5).dtype == "float32"
        assert np.sqrt(np.ones(2, dtype="float16")).dtype == "float16"
        assert np.ones_like(np.ones(2, dtype="int8")).dtype == "int8"


@pytest.mark.parametrize("arguments", [(5,), (1, 9, 2), (0.5, 3), (0, 1, 0.25)])
def test_arange_and_indices_are_official_ones(arguments):
    with util.np_default_dtype():
        made, expected = np.arange(*arguments), onp.arange(*arguments)
        assert made.dtype == expected.dtype
        onp.testing.assert_array_equal(made.asnumpy(), expected)
        assert np.indices((2, 2)).dtype == "int64"
    assert np.arange(*arguments).dtype == "float32"
    assert np.indices((2, 2)).dtype == "int32"


def test_repr_leaves_the_default_type_out():
    with util.np_default_dtype():
        assert repr(np.array([1, 2])) == "array([1., 2.])"
        assert repr(np.array([1, 2], dtype="float32")) == "array([1., 2.], dtype=float32)"
        assert repr(np.array([True], dtype=bool)) == "array([ True])"
    assert repr(np.array([1, 2], dtype="float64")) == "array([1., 2.], dtype=float64)"
    assert repr(np.array([1, 2], dtype="bfloat16")) == "array([1., 2.], dtype=bfloat16)"


def test_decorator_of_functions_and_classes():
    @util.use_np_default_dtype
    class Maker:
        def make(self):
            return np.ones(1)

    assert npx.use_np_default_dtype(lambda: np.ones(1))().dtype == "float64"
    assert Maker().make().dtype == "float64"
    assert not npx.is_np_default_dtype()


def test_set_np_holds_for_all_threads_and_a_scope_for_its_own():
    seen = []

    def look():
        seen.append(npx.is_np_default_dtype())

    def ask_another_thread():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    with util.np_default_dtype():
        ask_another_thread()
    npx.set_np(dtype=True)
    ask_another_thread()
    npx.set_np()
    ask_another_thread()
    assert seen == [False, True, False]


def test_set_np_default_dtype_gives_the_setting_before():
    assert util.set_np_default_dtype(True) is False
    assert util.set_np_default_dtype(False) is True


def test_a_gradient_of_float64():
    with util.np_default_dtype():
        x = np.array([1.0, 2.0])
        x.attach_grad()
        with mx.autograd.record():
            y = (x / 3).sum()
        y.backward()
    assert x.grad.dtype == "float64"
    assert x.grad.asnumpy()[0] == 1 / 3
