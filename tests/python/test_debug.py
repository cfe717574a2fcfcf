# SPDX-License-Identifier: Apache-2.0
"""mx.debug: the first operator that makes NaN, and labels out of range."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import loomix as mx
import numpy as np
import pytest


@pytest.fixture
def checked():
    with mx.debug.nan_check():
        yield


def line():
    """The line of the caller, as errors show it."""
    frame = inspect.currentframe().f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_the_first_operator_is_named_with_its_line(checked, dtype):
    x = mx.nd.array([[1, 2], [-3, 4]], dtype=dtype)
    y, at = mx.nd.sqrt(x), line()
    z = mx.nd.exp(y).sum() + 1
    for result in (z, y):
        with pytest.raises(ValueError) as error:
            result.asnumpy()
        assert "[nan_check] sqrt made NaN: element (1, 0) of its output 'output', of shape (2, 2)" in str(
            error.value
        )
        assert at in str(error.value)


def test_infinity(checked):
    with pytest.raises(ValueError, match="_div_scalar made infinity"):
        (mx.nd.ones(3) / 0).asnumpy()
    masked = mx.nd.full(3, -np.inf)
    assert (masked + 1).asnumpy().tolist() == [
        -np.inf
    ] * 3  # infinity that was there before is nobody's fault
    with pytest.raises(ValueError, match="made NaN"):
        (masked - masked).asnumpy()


def test_nan_from_outside(checked):
    with pytest.raises(
        ValueError, match=r"_plus_scalar got NaN: element \(1,\) of input 'data'.*came from data"
    ):
        (mx.nd.array([0, np.nan]) + 1).asnumpy()


def test_off_by_default_and_after_the_block():
    assert np.isnan(mx.nd.log(mx.nd.array([-1])).asscalar())
    with mx.debug.nan_check():
        pass
    assert np.isnan(mx.nd.log(mx.nd.array([-1])).asscalar())
    mx.debug.nan_check()
    try:
        with mx.debug.nan_check(False):
            assert np.isnan(mx.nd.log(mx.nd.array([-1])).asscalar())
        with pytest.raises(ValueError):
            mx.nd.log(mx.nd.array([-1])).asscalar()
    finally:
        mx.debug.nan_check(False)


def test_in_bound_networks(checked):
    x = mx.sym.Variable("x")
    run = mx.sym.exp(mx.sym.log(x, name="bad"), name="good").simple_bind(mx.cpu(), x=(2,))
    run.arg_dict["x"][:] = mx.nd.array([1, -1])
    with pytest.raises(ValueError, match="node 'bad'"):
        run.forward()[0].asnumpy()
    run.arg_dict["x"][:] = 1
    assert run.forward()[0].asnumpy().tolist() == [1, 1]


def test_in_gradients_and_hybridized_blocks(checked):
    x = mx.nd.array([0.0, 1.0])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.sqrt(x)
    y.backward()
    with pytest.raises(ValueError, match="made infinity"):
        x.grad.asnumpy()
    block = mx.gluon.nn.HybridLambda("log")
    block.hybridize()
    with pytest.raises(ValueError, match="log made NaN"):
        block(mx.nd.array([-1])).asnumpy()


DATA = np.zeros((3, 4), "float32")


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda label: mx.nd.softmax_cross_entropy(mx.nd.array(DATA), label), "label"),
        (lambda label: mx.nd.SoftmaxOutput(mx.nd.array(DATA), label), "label"),
        (lambda label: mx.nd.pick(mx.nd.array(DATA), label), "index"),
        (lambda label: mx.nd.Embedding(label, mx.nd.ones((4, 2)), input_dim=4, output_dim=2), "data"),
    ],
)
@pytest.mark.parametrize("bad", [4, -1])
def test_labels_out_of_range(checked, call, text, bad):
    call(mx.nd.array([0, 3, 1])).asnumpy()
    with pytest.raises(
        IndexError, match=rf"element \(1,\) of input '{text}' is {bad}; there are 4 classes: expected 0 to 3"
    ):
        call(mx.nd.array([0, bad, 1])).asnumpy()
    with mx.debug.nan_check(False):
        call(mx.nd.array([0, bad, 1])).asnumpy()


def test_labels_that_are_ignored_and_probabilities(checked):
    data = mx.nd.array(DATA)
    mx.nd.SoftmaxOutput(data, mx.nd.array([0, -1, 1]), use_ignore=True, ignore_label=-1).asnumpy()
    mx.nd.SoftmaxOutput(data, mx.nd.full((3, 4), 0.25)).asnumpy()
    mx.nd.pick(data, mx.nd.array([0, 9, 1]), mode="wrap").asnumpy()
    with pytest.raises(IndexError, match="is 9; there are 4 classes"):
        mx.nd.SoftmaxOutput(
            mx.nd.zeros((2, 4, 3)), mx.nd.array([[0, 1, 2], [9, 0, 0]]), multi_output=True
        ).asnumpy()


def test_of_custom_operators(checked):
    class Bad(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            out_data[0][:] = mx.nd.array(np.array([np.nan]))

    @mx.operator.register("makes_nan")
    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Bad()

    with pytest.raises(ValueError, match="Custom"):
        mx.nd.Custom(mx.nd.zeros(1), op_type="makes_nan").asnumpy()


def test_what_custom_operators_are_given(checked):
    class Same(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0])

    @mx.operator.register("gives_what_it_gets")
    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Same()

    infinite, nan = mx.nd.array(np.array([np.inf])), mx.nd.array(np.array([np.nan]))
    assert np.isinf(mx.nd.Custom(infinite, op_type="gives_what_it_gets").asnumpy())
    with pytest.raises(ValueError, match=r"Custom got NaN: element \(0,\) of input 'data'"):
        mx.nd.Custom(nan, op_type="gives_what_it_gets").asnumpy()


def test_the_environment():
    script = "import loomix as mx\nmx.nd.log(mx.nd.array([-1])).asnumpy()"
    for value, code in (("1", 1), ("0", 0)):
        run = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "LOOMIX_NAN_CHECK": value},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert run.returncode == code, run.stderr
        assert ("log made NaN" in run.stderr) == bool(code)
