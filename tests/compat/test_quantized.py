# SPDX-License-Identifier: Apache-2.0
"""Operators of 8 bits against MXNet 1.9.1's on random data: equal, or one step of the scale apart.

quantized/make_quantized.py and make_network.py wrote what MXNet says; QUANTIZED_DRAW is a file of another seed."""

import ast
import json
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


@pytest.mark.parametrize("compiled", [False, True])
def test_a_network_that_mxnet_made(compiled):
    """Symbol file and parameters of MXNet's quantize_model, run as single operators and as prediction compiles them."""
    folder = Path(__file__).parent / "quantized"
    saved = np.load(folder / "network.npz")
    sym, args, aux = mx.model.load_checkpoint(str(folder / "network"), 0)
    assert not aux and args["first_weight_quantize"].dtype == np.int8
    executor = sym.bind(mx.cpu(), {**args, "data": mx.nd.array(saved["images"])}, grad_req="null")
    if not compiled:
        executor.set_monitor_callback(lambda *_: None)
    ours = executor.forward(is_train=False)[0].asnumpy()
    operators = {node["op"] for node in json.loads(sym.tojson())["nodes"]}
    assert {
        "_contrib_requantize",
        "_contrib_quantized_concat",
        "_contrib_quantized_elemwise_add",
    } <= operators
    step = np.abs(saved["whole"]).max() / 127
    # Four layers add up what is rounded elsewhere: biases and sums; compiled, all but weights.
    assert np.abs(ours - saved["whole"]).max() <= 4 * step
    lost = np.abs(saved["whole"] - saved["real"]).max()
    assert np.abs(ours - saved["real"]).max() <= 1.5 * lost + step
