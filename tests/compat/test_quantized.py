# SPDX-License-Identifier: Apache-2.0
"""Operators of 8 bits against MXNet 1.9.1's on random data: equal, or one step of the scale apart.

quantized/make_quantized.py wrote what MXNet says; QUANTIZED_DRAW is a file of another seed."""

import ast
import os
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

SAVED = np.load(os.environ.get("QUANTIZED_DRAW", Path(__file__).parent / "quantized" / "quantized.npz"))
CASES = sorted(key[: -len(":attrs")] for key in SAVED if key.endswith(":attrs"))
# MXNet's kernels by oneDNN take 127.5 and 255.5 steps for the range in some places; its own, and Loomix, 127 and 255.
HALF_STEP = 0.5 / 127


def arrays(name, kind):
    count = sum(key.startswith(f"{name}:{kind}") for key in SAVED)
    return [SAVED[f"{name}:{kind}{i}"] for i in range(count)]


@pytest.mark.parametrize("name", CASES)
def test_operator(name):
    operator, attrs = ast.literal_eval(str(SAVED[f"{name}:attrs"]))
    inputs = [mx.nd.array(x, dtype=x.dtype) for x in arrays(name, "in")]
    theirs = arrays(name, "out")
    ours = getattr(mx.nd.contrib, operator)(*inputs, **attrs)
    ours = [x.asnumpy() for x in (ours if isinstance(ours, (list, tuple)) else [ours])]
    assert [x.dtype for x in ours] == [x.dtype for x in theirs]
    assert [x.shape for x in ours] == [x.shape for x in theirs]
    if operator == "calibrate_entropy":  # sums of float32 there: thresholds that lose the same
        np.testing.assert_allclose(ours[0], theirs[0], rtol=0.04)
        np.testing.assert_allclose(ours[1], theirs[1], rtol=2e-3)
        return
    if name == "conv":  # there the range takes uint8 for int8, so that all results are twice too large
        np.testing.assert_allclose(ours[2], theirs[2] * 127 / 255, rtol=1e-6)
    else:
        for mine, their in zip(ours[1:], theirs[1:]):
            np.testing.assert_allclose(mine, their, rtol=1e-6)
    mine, their = ours[0].astype(np.float64), theirs[0].astype(np.float64)
    if ours[0].dtype in (np.int8, np.uint8):
        assert np.abs(mine - their).max() <= 1
    elif "bias" in name or operator in ("dequantize", "quantized_elemwise_add"):
        bias = 0.9 / 127 * np.abs(arrays(name, "in")[2]).max() if "bias" in name else 0
        step = np.abs(their).max() if not bias else bias / (theirs[2][0] / 2147483647)
        assert np.abs(mine - their).max() <= HALF_STEP * 1.02 * step
    else:
        assert np.array_equal(mine, their)
