# SPDX-License-Identifier: Apache-2.0
"""Convolutions by each algorithm, against each other: by the attribute, and by LOOMIX_CONV_ALGO."""

import os
import subprocess
import sys

import loomix as mx
import numpy as np
import pytest
from loomix import autograd

DNNL = mx.runtime.Features().is_enabled("MKLDNN")

CASES = [
    # data, attributes
    ((2, 3, 9, 8), {"kernel": (3, 3), "num_filter": 4, "pad": (1, 1)}),
    ((3, 4, 7, 11), {"kernel": (5, 2), "num_filter": 6, "pad": (0, 3), "num_group": 2}),
    ((2, 5, 17), {"kernel": (4,), "num_filter": 3, "pad": (1,)}),
    ((1, 1, 1, 1), {"kernel": (1, 1), "num_filter": 1}),
    ((4, 32, 14, 14), {"kernel": (3, 3), "num_filter": 32, "pad": (1, 1)}),
    ((2, 2, 20, 20), {"kernel": (11, 11), "num_filter": 2, "pad": (5, 5)}),
]


def compute(shape, attributes, algorithm, dtype="float32", operator="Convolution"):
    """Output and gradients of data, weight and bias."""
    random = np.random.RandomState(3)
    filters, groups = attributes["num_filter"], attributes.get("num_group", 1)
    sides = (filters, shape[1] // groups) if operator == "Convolution" else (shape[1], filters // groups)
    arrays = [
        mx.nd.array(random.randn(*size), dtype=dtype)
        for size in (shape, (*sides, *attributes["kernel"]), (filters,))
    ]
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        out = getattr(mx.nd, operator)(*arrays, no_bias=False, algorithm=algorithm, **attributes)
        loss = (out * mx.nd.array(random.randn(*out.shape), dtype=dtype)).sum()
    loss.backward()
    return [out.asnumpy(), *(array.grad.asnumpy() for array in arrays)]


def forget_errors():
    """Each of the gradients that nobody read has an error of its own."""
    while True:
        try:
            return mx.nd.waitall()
        except NotImplementedError:
            pass


@pytest.mark.parametrize("algorithm", ["fft", "gemm"])
@pytest.mark.parametrize("shape, attributes", CASES)
def test_algorithms_agree(shape, attributes, algorithm):
    for found, wanted in zip(
        compute(shape, attributes, algorithm), compute(shape, attributes, "direct"), strict=True
    ):
        # Sums in another order: the error goes with the largest element.
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=3e-6 * max(1, np.abs(wanted).max()))


@pytest.mark.parametrize("algorithm", ["fft", "gemm"])
def test_deconvolution(algorithm):
    attributes = {"kernel": (4, 3), "num_filter": 4, "pad": (1, 0), "num_group": 2}
    found, wanted = (
        compute((2, 6, 8, 7), attributes, one, operator="Deconvolution") for one in (algorithm, "direct")
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=3e-5)


def test_half_types_and_channels_last():
    shape, attributes = CASES[0]
    for one, other in zip(
        compute(shape, attributes, "fft", "float16"), compute(shape, attributes, None, "float16"), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-2, atol=2e-2)
    data, weight = mx.nd.random.normal(shape=(2, 9, 8, 3)), mx.nd.random.normal(shape=(4, 3, 3, 3))
    last = {"kernel": (3, 3), "num_filter": 4, "no_bias": True, "layout": "NHWC"}
    one, other = (mx.nd.Convolution(data, weight, algorithm=a, **last).asnumpy() for a in ("fft", None))
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_winograd_agrees_or_is_refused():
    shape, attributes = CASES[4]
    try:
        found = compute(shape, attributes, "winograd")
    except NotImplementedError:  # without AVX-512
        forget_errors()
        return
    for one, other in zip(found, compute(shape, attributes, "gemm"), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * max(1, np.abs(other).max()))


@pytest.mark.parametrize(
    "algorithm, attributes, dtype",
    [
        ("fft", {"kernel": (3, 3), "num_filter": 2, "stride": (2, 2)}, "float32"),
        ("fft", {"kernel": (3, 3), "num_filter": 2}, "float64"),
        ("fft", {"kernel": (3, 3), "num_filter": 2, "workspace": 0}, "float32"),
        ("winograd", {"kernel": (5, 5), "num_filter": 2}, "float32"),
    ],
)
def test_what_an_algorithm_cannot_compute_is_an_error(algorithm, attributes, dtype):
    with pytest.raises(NotImplementedError, match="Convolution"):
        compute((2, 3, 9, 9), attributes, algorithm, dtype)
    forget_errors()


def test_8_bits_have_one_algorithm():
    data, weight = mx.nd.ones((1, 1, 4, 4), dtype="int8"), mx.nd.ones((1, 1, 3, 3), dtype="int8")
    ranges = [mx.nd.array([value]) for value in (-1, 1, -1, 1)]
    how = {"kernel": (3, 3), "num_filter": 1, "no_bias": True, "algorithm": "gemm"}
    with pytest.raises(NotImplementedError, match="8 bits"):
        mx.nd.contrib.quantized_conv(data, weight, *ranges, **how)


def test_the_attribute_is_written():
    """The attribute is in files, and only where it is given."""
    data = mx.sym.Variable("data")
    plain = mx.sym.Convolution(data, kernel=(3, 3), num_filter=2)
    asked = mx.sym.Convolution(data, kernel=(3, 3), num_filter=2, algorithm="fft")
    assert "algorithm" not in plain.tojson() and '"algorithm": "fft"' in asked.tojson()
    assert mx.sym.load_json(asked.tojson()).attr_dict() == asked.attr_dict()


SETTING = """
import loomix as mx
net = mx.sym.Variable("data")
net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=16, pad=(1, 1), name="first")
net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=16, stride=(2, 2), name="second")
made = net.simple_bind(mx.cpu(), data=(8, 16, 12, 12), grad_req="null")
made.forward()
made.outputs[0].wait_to_read()
print(net.explain(data=(8, 16, 12, 12)))
"""


@pytest.mark.parametrize(
    "algorithm, first, second",
    [("fft", "convolution_fft", None), ("gemm", "convolution_gemm", "convolution_gemm")],
)
def test_the_setting(algorithm, first, second):
    environment = os.environ | {"LOOMIX_CONV_ALGO": algorithm, "LOOMIX_EXPLAIN": "dispatch"}
    done = subprocess.run(
        [sys.executable, "-c", SETTING], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    text = done.stdout + done.stderr
    assert first in text and (second or first) in text


def test_explain_names_what_runs():
    """Also where the other layers are in blocks."""
    net = mx.sym.Variable("data")
    for name, algorithm in (("one", "fft"), ("two", "gemm"), ("three", "direct"), ("four", None)):
        net = mx.sym.Convolution(
            net, kernel=(3, 3), num_filter=16, pad=(1, 1), name=name, algorithm=algorithm
        )
    text = str(net.explain(data=(8, 16, 12, 12)))
    assert "one (Convolution, convolution_fft)" in text
    assert "two (Convolution, convolution_gemm)" in text
    assert "three (Convolution, convolution_" in text and "four (_blocked" in text or not DNNL


def test_a_setting_that_there_is_not():
    environment = os.environ | {"LOOMIX_CONV_ALGO": "fastest"}
    code = "import loomix; loomix.nd.zeros(1).asnumpy()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60
    )
    assert "LOOMIX_CONV_ALGO" in done.stderr
