# SPDX-License-Identifier: Apache-2.0
"""Operators of 8 bits on GPUs give the numbers that they give on the host, and refuse what it refuses."""

import loomix as mx
import numpy as np
import pytest
from loomix import nd

pytestmark = pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one")
RNG = np.random.RandomState(3)


def drawn(*shape, dtype="float32"):
    if dtype == "float32":
        return RNG.uniform(-3, 5, shape).astype(dtype)
    return RNG.randint(-120 if dtype == "int8" else 0, 121, shape).astype(dtype)


def number(value):
    return np.array([value], "float32")


PRODUCT = [number(-2), number(3), number(-1), number(1)]
WITH_BIAS = [*PRODUCT, number(-4), number(2)]
CASES = {
    "quantize": ("quantize", [drawn(3, 50), number(-2), number(4)], {"out_type": "int8"}),
    "quantize to uint8": ("quantize", [drawn(3, 50), number(0), number(4)], {"out_type": "uint8"}),
    "quantize_v2": ("quantize_v2", [drawn(40, 700)], {}),
    "quantize_v2 calibrated": (
        "quantize_v2",
        [drawn(5, 7)],
        {"out_type": "auto", "min_calib_range": 0.0, "max_calib_range": 2.5},
    ),
    "quantize_v2 of bytes": ("quantize_v2", [drawn(5, 7, dtype="int8")], {}),
    "quantize_asym": ("quantize_asym", [drawn(4, 9)], {}),
    "dequantize": ("dequantize", [drawn(4, 9, dtype="uint8"), number(0), number(3)], {}),
    "dequantize sums": ("dequantize", [drawn(9, dtype="int32") * 10**6, number(-5), number(3)], {}),
    "requantize": ("requantize", [drawn(4, 90, dtype="int32") * 9000, number(-9), number(9)], {}),
    "requantize calibrated": (
        "requantize",
        [drawn(4, 9, dtype="int32") * 10**6, number(-9), number(9)],
        {"min_calib_range": -0.3, "max_calib_range": 0.2},
    ),
    "conv": (
        "quantized_conv",
        [
            drawn(2, 6, 9, 8, dtype="uint8"),
            drawn(4, 3, 3, 2, dtype="int8"),
            drawn(4, dtype="int8"),
            *WITH_BIAS,
        ],
        {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 1), "num_filter": 4, "num_group": 2},
    ),
    "conv channels last": (
        "quantized_conv",
        [drawn(2, 5, 6, 4, dtype="int8"), drawn(3, 3, 3, 4, dtype="int8"), *PRODUCT],
        {"kernel": (3, 3), "dilate": (2, 2), "num_filter": 3, "no_bias": True, "layout": "NHWC"},
    ),
    "fully connected": (
        "quantized_fully_connected",
        [drawn(5, 70, dtype="uint8"), drawn(6, 70, dtype="int8"), drawn(6, dtype="int8"), *WITH_BIAS],
        {"num_hidden": 6},
    ),
    **{
        f"fully connected of words, {dtype}{'' if bias else ', no bias'}": (
            "quantized_fully_connected",
            [
                drawn(5, 72, dtype=dtype),
                drawn(8, 72, dtype="int8"),
                *([drawn(8, dtype="int8"), *WITH_BIAS] if bias else PRODUCT),
            ],
            {"num_hidden": 8, "no_bias": not bias},
        )
        for dtype in ("int8", "uint8")
        for bias in (True, False)
    },
    **{
        f"conv of words, {dtype}, {layout}, {groups} groups": (
            "quantized_conv",
            [
                drawn(*(3, 9, 8, 8 * groups) if layout == "NHWC" else (3, 8 * groups, 9, 8), dtype=dtype),
                drawn(*(4 * groups, 3, 2, 8) if layout == "NHWC" else (4 * groups, 8, 3, 2), dtype="int8"),
                drawn(4 * groups, dtype="int8"),
                *WITH_BIAS,
            ],
            {
                "kernel": (3, 2),
                "stride": (2, 1),
                "dilate": (1, 2),
                "pad": (2, 1),
                "num_filter": 4 * groups,
                "num_group": groups,
                "layout": layout,
            },
        )
        for dtype in ("int8", "uint8")
        for layout in ("NCHW", "NHWC")
        for groups in (1, 2)
    },
    "conv of many words": (  # whose rows of windows are made in turns
        "quantized_conv",
        [drawn(3, 64, 150, 150, dtype="uint8"), drawn(2, 64, 3, 3, dtype="int8"), *PRODUCT],
        {"kernel": (3, 3), "pad": (1, 1), "num_filter": 2, "no_bias": True},
    ),
    "conv of words in three axes": (
        "quantized_conv",
        [drawn(2, 4, 3, 4, 5, dtype="uint8"), drawn(3, 4, 2, 1, 2, dtype="int8"), *PRODUCT],
        {"kernel": (2, 1, 2), "pad": (0, 1, 0), "num_filter": 3, "no_bias": True},
    ),
    "max pooling": (
        "quantized_pooling",
        [drawn(2, 3, 7, 6, dtype="int8"), number(-1), number(1)],
        {"kernel": (3, 2), "stride": (2, 2), "pad": (1, 0), "pool_type": "max"},
    ),
    "average pooling": (
        "quantized_pooling",
        [drawn(2, 3, 7, 6, dtype="uint8"), number(0), number(1)],
        {"kernel": (3, 3), "pad": (1, 1), "pool_type": "avg", "count_include_pad": False},
    ),
    "act": ("quantized_act", [drawn(4, 5, dtype="int8"), number(-1), number(1)], {"act_type": "relu"}),
    "flatten": ("quantized_flatten", [drawn(4, 5, 2, dtype="int8"), number(-1), number(1)], {}),
    "embedding": (
        "quantized_embedding",
        [
            np.array([[0, 3, 9], [np.nan, -2, 1.7]], "float32"),
            drawn(5, 4, dtype="int8"),
            number(-1),
            number(1),
        ],
        {"input_dim": 5, "output_dim": 4},
    ),
    "concat": (
        "quantized_concat",
        [
            drawn(2, 3, 2, dtype="int8"),
            drawn(2, 1, 2, dtype="uint8"),
            number(-1),
            number(2),
            number(0),
            number(3),
        ],
        {"num_args": 2, "dim": 1},
    ),
    "add": ("quantized_elemwise_add", [drawn(3, 8, dtype="int8"), drawn(3, 8, dtype="uint8"), *PRODUCT], {}),
    "add calibrated": (
        "quantized_elemwise_add",
        [drawn(3, 8, dtype="uint8"), drawn(3, 8, dtype="uint8"), number(0), number(1), number(0), number(2)],
        {"min_calib_range": 0.0, "max_calib_range": 2.0},
    ),
    "mul": ("quantized_elemwise_mul", [drawn(3, 8, dtype="int8"), drawn(3, 8, dtype="int8"), *PRODUCT], {}),
    "mul calibrated": (
        "quantized_elemwise_mul",
        [drawn(3, 8, dtype="int8"), drawn(3, 8, dtype="int8"), *PRODUCT],
        {"min_calib_range": -1.0, "max_calib_range": 2.0},
    ),
    "mul to real numbers": (
        "quantized_elemwise_mul",
        [drawn(3, 8, dtype="int8"), drawn(3, 8, dtype="int8"), *PRODUCT],
        {"enable_float_output": True},
    ),
    "batch norm": (
        "quantized_batch_norm",
        [drawn(2, 3, 4, dtype="int8"), *(np.abs(drawn(3)) + 0.1 for _ in range(4)), number(-2), number(1)],
        {"min_calib_range": -3.0, "max_calib_range": 3.0, "fix_gamma": False},
    ),
}


def ranges(count):
    return [-np.abs(drawn(count)), np.abs(drawn(count)) + 0.1]


CASES_OF_THE_HOST = {  # where each row has a range
    "quantize": ("quantize", [drawn(3, 5), *ranges(3)], {"out_type": "int8"}),
    "fully connected": (
        "quantized_fully_connected",
        [drawn(2, 7, dtype="uint8"), drawn(4, 7, dtype="int8"), *PRODUCT[:2], *ranges(4)],
        {"num_hidden": 4, "no_bias": True},
    ),
}


def results(ctx, op, inputs, attributes):
    arrays = [nd.array(x, ctx=ctx, dtype=x.dtype) for x in inputs]
    made = getattr(nd.contrib, op)(*arrays, **attributes)
    return [x.asnumpy() for x in (made if isinstance(made, list) else [made])]


@pytest.mark.parametrize("case", [*CASES.values(), *CASES_OF_THE_HOST.values()], ids=lambda case: case[0])
def test_numbers_are_those_of_the_host(case):
    for got, want in zip(results(mx.gpu(0), *case), results(mx.cpu(), *case), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", [name for name in CASES if len(CASES[name][1]) > 2])
def test_ranges_that_are_none_are_refused(name):
    op, inputs, attributes = CASES[name]
    with pytest.raises(
        ValueError, match=rf"_contrib_{op}\] the range is from inf to .*; expected two finite"
    ):
        last = max(
            i for i in range(len(inputs) - 1) if inputs[i].shape == (1,) and inputs[i + 1].shape == (1,)
        )
        results(mx.gpu(0), op, [*inputs[:last], number(np.inf), *inputs[last + 1 :]], attributes)


@pytest.mark.parametrize("op", ["quantize_v2", "quantize_asym"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_data_without_a_range_is_refused(op, value):
    data = drawn(6, 7)
    data[3, 2] = value
    with pytest.raises(ValueError, match=rf"_contrib_{op}\] the data has numbers that are infinite or NaN"):
        results(mx.gpu(0), op, [data], {})


def test_kernels_of_the_device_are_taken(capfd):
    for name in CASES:
        results(mx.gpu(0), *CASES[name])
    assert "runs on the host" not in capfd.readouterr().err


@pytest.mark.parametrize("at", [0, 1])
def test_arrays_that_do_not_begin_at_words(at):
    """A row of a matrix of odd width begins anywhere."""
    data, weight = drawn(3, 25, dtype="int8"), drawn(4, 8, dtype="int8")

    def run(ctx):
        rows = nd.array(data, ctx=ctx, dtype="int8")[at].reshape((25,))
        return nd.contrib.quantized_fully_connected(
            rows[at : at + 24].reshape((3, 8)),
            *(nd.array(x, ctx=ctx, dtype=x.dtype) for x in (weight, *PRODUCT)),
            num_hidden=4,
            no_bias=True,
        )[0].asnumpy()

    np.testing.assert_array_equal(run(mx.gpu(0)), run(mx.cpu()))


def test_upsampling_slides_its_filter():
    data, weight = drawn(2, 3, 4, 5), drawn(3, 1, 4, 4)
    want, got = (
        nd.UpSampling(
            nd.array(data, ctx=ctx),
            nd.array(weight, ctx=ctx),
            scale=2,
            sample_type="bilinear",
            num_filter=3,
            num_args=2,
        )
        for ctx in (mx.cpu(), mx.gpu(0))
    )
    np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-5)
