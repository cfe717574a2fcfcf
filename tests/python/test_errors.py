# SPDX-License-Identifier: Apache-2.0
"""Errors: their types, what they say, and when they show."""

import gc
import os
import sys

import loomix as mx
import numpy as np
import pytest

nd = mx.nd
NO_GPU = pytest.mark.skipif(mx.context.num_gpus() > 0, reason="there is a GPU")


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: nd.ones(2) + nd.ones(3), ValueError, r"\(2,\).*\(3,\)"),
        (lambda x: nd.ones(2, dtype="float64") + nd.ones(2), TypeError, "float64"),
        (lambda x: nd.sum(x, foo=1), ValueError, "foo"),
        (lambda x: nd.sum(x, axis="a"), ValueError, "axis"),
        (lambda x: nd.sum(), TypeError, "data"),
        (lambda x: nd.sum(1), TypeError, "int"),
        (lambda x: nd.sum(x, x), TypeError, "NDArray"),
        (lambda x: nd.sum(x, data=x), TypeError, "data"),
        (lambda x: nd.sum(x, 1, axis=0), TypeError, "axis"),
        (lambda x: nd.sum(x, None, False, False, None, None, 3), TypeError, "positional"),
        (lambda x: nd.sum(x, weight=x), TypeError, "weight"),
        (lambda x: nd.sum(x, out=3), TypeError, "out"),
        (lambda x: nd.sum(x, axis=7), ValueError, "7"),
        (lambda x: nd.clip(x), ValueError, "a_min"),
        (lambda x: nd.cast(x, dtype="foo"), (ValueError, TypeError), "foo"),
        (lambda x: nd.Activation(x, act_type="foo"), ValueError, "foo"),
        (lambda x: nd.zeros((-1, 2)), ValueError, r"shape \(-1, 2\) has the size -1"),
        (lambda x: nd.zeros("a"), (TypeError, ValueError), "shape is 'a', of type str"),
        (lambda x: nd.array([2], ctx=3), TypeError, "Context"),
        pytest.param(
            lambda x: nd.ones(2, ctx=mx.gpu(0)), RuntimeError, r"gpu\(0\).*CUDA.*use cpu\(\)", marks=NO_GPU
        ),
        (lambda x: x + nd.ones((2, 2), ctx=mx.cpu(1)), RuntimeError, "cpu"),
        (lambda x: nd.load("/nowhere/at/all"), OSError, "nowhere"),
    ],
)
def test_bad_calls_fail_at_once(call, kind, text):
    with pytest.raises(kind, match=text) as caught:
        call(nd.ones((2, 2)))
    assert isinstance(caught.value, mx.MXNetError)


def failing():
    """An array whose task fails when it runs."""
    return nd.take(nd.arange(3), nd.array([7]), mode="raise")


def test_late_errors_say_where_they_were_pushed():
    array = failing()
    with pytest.raises(mx.MXNetError) as caught:
        array.asnumpy()
    text = str(caught.value)
    assert "take" in text
    assert f"test_errors.py:{failing.__code__.co_firstlineno + 2}, in failing" in text


def test_poison_spreads_and_stays():
    array = failing()
    after = array * 2 + 1
    other = nd.ones(2) * 3
    for _ in range(2):
        with pytest.raises(mx.MXNetError):
            after.wait_to_read()
        with pytest.raises(mx.MXNetError):
            array.asnumpy()
    assert other.asnumpy().tolist() == [3, 3]


def test_overwriting_heals():
    array = failing()
    with pytest.raises(mx.MXNetError):
        array.asnumpy()
    array[:] = 5
    assert array.asnumpy().tolist() == [5]


def test_waitall_reports_once():
    array = failing()
    with pytest.raises(mx.MXNetError):
        nd.waitall()
    nd.waitall()
    with pytest.raises(mx.MXNetError):
        array.asnumpy()


def held():
    """What a failed call could keep: arrays (each holds its type), files, threads, memory beyond the pool's cache."""
    nd.waitall()
    gc.collect()
    mx.cpu().empty_cache()
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    counts = {
        "arrays": sys.getrefcount(nd.NDArray),
        "files": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
    }
    return counts, resident


def test_errors_leak_nothing(tmp_path):
    x = nd.ones((1024, 1024))
    bad = str(tmp_path / "bad.params")
    nd.save(bad, [x])
    with open(bad, "r+b") as file:
        file.truncate(3_000_000)

    def fail_at_once():
        nd.sum(x * 2, axis=7)

    def fail_while_running():
        failed = nd.take(x, nd.array([1e6]), mode="raise")
        (nd.broadcast_add(x, failed) + 1).asnumpy()

    def fail_while_recording():
        weight = nd.ones((1024, 1024))
        weight.attach_grad()
        with mx.autograd.record():
            loss = nd.take(weight * x, nd.array([1e6]), mode="raise")
        loss.backward()
        weight.grad.asnumpy()

    def fail_to_load():
        nd.load(bad)

    def fail_to_run_a_graph():
        data = mx.sym.var("data")
        picked = mx.sym.take(data * 2, mx.sym.var("index"), mode="raise")
        executor = picked.bind(mx.cpu(), {"data": x, "index": nd.array([1e6])})
        executor.forward()[0].asnumpy()

    def fail_all():
        for call in (
            fail_at_once,
            fail_while_running,
            fail_while_recording,
            fail_to_load,
            fail_to_run_a_graph,
        ):
            with pytest.raises(mx.MXNetError):
                call()
        with pytest.raises(mx.MXNetError):
            nd.waitall()  # names the first failure that nobody has seen, and forgets all

    for _ in range(3):
        fail_all()
    references = sys.getrefcount(x)
    counts, resident = held()
    for _ in range(30):
        fail_all()
    more_counts, more_resident = held()
    assert more_counts == counts
    assert more_resident - resident < 30e6  # one array a round would be 120 MB
    assert sys.getrefcount(x) == references
    assert x.asnumpy().sum() == 1024 * 1024


def test_types_are_also_the_builtin_ones():
    base = mx.base
    for error, builtin in (
        (base.ShapeError, ValueError),
        (base.MXNetTypeError, TypeError),
        (base.MXNetIndexError, IndexError),
        (base.MXNetKeyError, KeyError),
        (base.MXNetFileError, OSError),
        (base.MXNetMemoryError, MemoryError),
        (base.MXNetNotImplementedError, NotImplementedError),
    ):
        assert issubclass(error, builtin) and issubclass(error, mx.MXNetError)


def test_attribute_values_are_told_apart():
    x = nd.array(np.arange(6).reshape(2, 3))
    assert nd.sum(x, axis=1).shape == (2,)
    assert nd.sum(x, axis=1, keepdims=True).shape == (2, 1)
    assert nd.sum(x, axis=1, keepdims=1).shape == (2, 1)
    assert nd.sum(x, axis=(0, 1)).shape == (1,)
    assert nd.sum(x, axis=[0]).shape == (3,)
    assert nd.sum(x, axis=np.int64(0)).shape == (3,)
    assert nd.sum(x, axis=(np.int64(0),)).shape == (3,)
    with pytest.raises(ValueError):
        nd.sum(x, axis=1.0)
    assert (
        nd.cast(x, np.float16).dtype == nd.cast(x, "float16").dtype == nd.cast(x, np.dtype("float16")).dtype
    )
    assert nd.cast(x, dtype=float).dtype == np.float64


def test_functions_describe_themselves():
    import inspect

    signature = inspect.signature(nd.clip)
    assert list(signature.parameters)[:3] == ["data", "a_min", "a_max"]
    assert "a_min" in nd.clip.__doc__ and nd.clip.__name__ == "clip"
    assert nd.clip.__module__ == "loomix.ndarray.op"
    assert str(inspect.signature(nd.concat)).startswith("(*data")
