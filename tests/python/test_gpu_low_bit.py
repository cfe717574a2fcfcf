# SPDX-License-Identifier: Apache-2.0
"""Layers with weights of 8 and 4 bits on GPUs give what they give on the host."""

import loomix as mx
import numpy as np
import pytest
from loomix import nd

pytestmark = pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one")
RNG = np.random.RandomState(4)


def drawn(*shape):
    return RNG.uniform(-3, 5, shape).astype("float32")


def form(columns, rows, bits=8, group_size=0):
    """A weight and its scales."""
    groups = -(-columns // group_size) if group_size else 1
    kind, size = ("int8", columns) if bits == 8 else ("uint8", -(-columns // 2))
    low, high = (-127, 128) if bits == 8 else (0, 256)
    return RNG.randint(low, high, (rows, size)).astype(kind), RNG.uniform(-0.02, 0.02, (rows, groups))


def layer(rows, columns, hidden, dynamic=False, bias=True, **of):
    given = [drawn(rows, columns), *form(columns, hidden, **of), *([drawn(hidden)] if bias else [])]
    return (
        "low_bit_fully_connected",
        given,
        {"num_hidden": hidden, "no_bias": not bias, "dynamic": dynamic, **of},
    )


def with_odd_rows(*shape):
    """Rows that are zero, or so small that they have no scale, or not finite."""
    x = drawn(*shape)
    flat = x.reshape(-1, shape[-1])
    flat[0], flat[1], flat[2, 0], flat[3, 1] = 0, 1e-44, np.inf, np.nan
    return x


CASES = {
    "one row": layer(1, 70, 5),
    "few rows in groups": layer(3, 70, 5, group_size=32),
    "few rows of 4 bits": layer(3, 71, 5, bits=4),
    "few rows of 4 bits in groups": layer(3, 71, 5, bits=4, group_size=64, bias=False),
    "many rows": layer(40, 70, 9, group_size=32),
    "many rows of 4 bits": layer(17, 71, 9, bits=4, group_size=32, bias=False),
    "several parts": layer(16, 50000, 90),  # more weights than become floats at a time
    "rounded rows": layer(5, 100, 7, dynamic=True),
    "rounded rows without bias": layer(30, 33, 4, dynamic=True, bias=False),
    "odd rounded rows": (
        "low_bit_fully_connected",
        [with_odd_rows(6, 40), *form(40, 3), drawn(3)],
        {"num_hidden": 3, "dynamic": True},
    ),
    "embedding": (
        "low_bit_embedding",
        [np.array([[0, 3, 9], [np.nan, -2, 1.7]], "float32"), *form(9, 5, bits=4)],
        {"input_dim": 5, "output_dim": 9, "bits": 4},
    ),
    "embedding by whole numbers": (
        "low_bit_embedding",
        [np.array([4, 0, 70], "int32"), *form(70, 5, group_size=32)],
        {"input_dim": 5, "output_dim": 70, "group_size": 32},
    ),
    "batch_dot": ("low_bit_batch_dot", [drawn(2, 3, 4, 70), drawn(2, 3, 70, 5)], {}),
    "batch_dot of odd rows": ("low_bit_batch_dot", [with_odd_rows(2, 4, 33), drawn(2, 33, 7)], {}),
    "batch_dot of nothing": ("low_bit_batch_dot", [drawn(2, 4, 0), drawn(2, 0, 7)], {}),
    "transposed batch_dot": (
        "low_bit_batch_dot",
        [drawn(2, 65, 33), drawn(2, 7, 65)],
        {"transpose_a": True, "transpose_b": True},
    ),
    "scores": ("low_bit_interleaved_matmul_selfatt_qk", [drawn(5, 2, 36)], {"heads": 3}),
    "means": (
        "low_bit_interleaved_matmul_selfatt_valatt",
        [drawn(5, 2, 36), np.abs(drawn(6, 5, 5))],
        {"heads": 3},
    ),
    "scores of two": (
        "low_bit_interleaved_matmul_encdec_qk",
        [drawn(3, 2, 8), drawn(5, 2, 16)],
        {"heads": 2},
    ),
    "means of two": (
        "low_bit_interleaved_matmul_encdec_valatt",
        [drawn(5, 2, 16), np.abs(drawn(4, 3, 5))],
        {"heads": 2},
    ),
}


def result(ctx, op, inputs, attributes):
    arrays = [nd.array(x, ctx=ctx, dtype="float32" if x.dtype == np.float64 else x.dtype) for x in inputs]
    return getattr(nd.contrib, op)(*arrays, **attributes).asnumpy()


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_the_host(name, capfd):
    got, want = (result(ctx, *CASES[name]) for ctx in (mx.gpu(0), mx.cpu()))
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * max(1, np.nanmax(np.abs(want), initial=0)))
    assert "runs on the host" not in capfd.readouterr().err
