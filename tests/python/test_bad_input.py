# SPDX-License-Identifier: Apache-2.0
"""Typos, wrong shapes and wrong types at the public entries: an error that says what was expected and what came."""

import loomix as mx
import numpy as np
import pytest

nd, sym = mx.nd, mx.sym


def module(names=("s",)):
    return mx.mod.Module(sym.Variable("s") * 2, names, None)


CASES = {
    "nd.zeros of None": (
        lambda: nd.zeros(None),
        TypeError,
        "shape is None, of type NoneType; expected an integer",
    ),
    "nd.zeros of a float": (
        lambda: nd.zeros(2.5),
        TypeError,
        "shape is 2.5, of type float; expected an integer",
    ),
    "nd typo": (
        lambda: nd.Convolutoin,
        AttributeError,
        "no attribute 'Convolutoin'; the nearest are Convolution",
    ),
    "sym typo": (
        lambda: sym.FullyConected,
        AttributeError,
        "no attribute 'FullyConected'; the nearest are Fully",
    ),
    "from_numpy of a list": (
        lambda: nd.from_numpy([1]),
        TypeError,
        "ndarray is of type list; expected a numpy.ndarray",
    ),
    "Variable shape": (lambda: sym.Variable("x", shape="a"), TypeError, "shape is 'a'; expected an integer"),
    "Variable stype": (lambda: sym.Variable("x", stype="x"), ValueError, "stype is 'x'; expected 'default'"),
    "Variable init": (
        lambda: sym.Variable("x", init=3),
        TypeError,
        "init is of type int; expected an Initializer",
    ),
    "Group of a number": (lambda: sym.Group(3), TypeError, "expected a list of one or more Symbols"),
    "Module of a number": (lambda: mx.mod.Module(3), TypeError, "symbol is of type int; expected a Symbol"),
    "bind to a number": (
        lambda: module().bind(3),
        TypeError,
        "data_shapes are 3; expected a list of DataDesc",
    ),
    "bind without shape": (
        lambda: module().bind([("s",)]),
        TypeError,
        "expected a list of DataDesc or",
    ),
    "fit of a number": (
        lambda: module().fit(3, num_epoch=1),
        TypeError,
        "train_data is 3, of type int; expected a DataIter",
    ),
    "set_optimizer of a name": (
        lambda: mx.kv.create().set_optimizer("sdg"),
        ValueError,
        "'sdg' is not a registered optimizer",
    ),
    "set_updater of a number": (
        lambda: mx.kv.create().set_updater(3),
        TypeError,
        "is of type int; expected a function",
    ),
    "monitor of a number": (
        lambda: sym.Variable("s").bind(mx.cpu(), {"s": nd.ones(1)}).set_monitor_callback(3),
        TypeError,
        "is of type int; expected a function of name",
    ),
    "ResizeIter of a number": (
        lambda: mx.io.ResizeIter(3, 1),
        TypeError,
        "got an object of type int; expected a DataIter",
    ),
    "PrefetchingIter of a number": (
        lambda: mx.io.PrefetchingIter(3),
        TypeError,
        "got an object of type int; expected a DataIter",
    ),
    "pack of a number": (lambda: mx.recordio.pack(3, b""), TypeError, "header is 3; expected an IRHeader"),
    "cpu of a text": (lambda: mx.cpu("x"), TypeError, "device id is 'x'; expected an integer"),
    "scheduler of a text": (
        lambda: mx.lr_scheduler.FactorScheduler(step="x"),
        TypeError,
        "step is 'x', of type str; expected a number >= 1",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_error_says_what_was_expected(name):
    call, kind, text = CASES[name]
    with pytest.raises(kind, match=text):
        call()


def test_in_place_sum_with_something_else():
    """Python returned NotImplemented as the sum."""

    class Right:
        def __radd__(self, left):
            return "right"

    array = nd.ones(2)
    for other in ("x", None, [1], object(), 1j):
        with pytest.raises(TypeError, match=r"unsupported operand type.* for \+=: 'NDArray' and"):
            array += other
    array += np.ones(2)
    assert isinstance(array, nd.NDArray) and array.asnumpy().tolist() == [2, 2]
    array += Right()
    assert array == "right"


def test_negative_seed():
    mx.random.seed(-1)
    first = nd.random.uniform(shape=3).asnumpy()
    mx.random.seed(-1)
    assert np.array_equal(first, nd.random.uniform(shape=3).asnumpy())
