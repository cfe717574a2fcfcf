# SPDX-License-Identifier: Apache-2.0
"""Calls of ``mx.np`` and ``mx.npx`` beside MXNet 1.9.1's results and gradients, and NumPy's where MXNet is wrong."""

import json
import pathlib
import sys

import loomix as mx
import numpy as onp
import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

import check_np  # noqa: E402

CASES = json.loads((HERE / "oracle_np" / "cases.json").read_text())["cases"]

# Where MXNet's values are wrong; docs/differences.md has the same lines.
WRONG_THERE = {
    "unary_136": "a whole number divided by zero",
    "shape_514": "the gradient of rot90 is that of the turn in the other direction",
    "shape_538": "the gradient of atleast_3d is zero",
    "shape_540": "the gradient of where(condition, x, number) goes to the elements that were not taken",
    "linalg_633": "the gradient of eigvalsh is zero",
    "linalg_634": "the gradient of eigvalsh is zero",
    "linalg_640": "the gradient of eigh's values is zero",
    "methods_736": "the sum differs from the correctly rounded one in its last digit",
}


@pytest.fixture(scope="module")
def values():
    return dict(onp.load(HERE / "oracle_np" / "values.npz"))


@pytest.fixture(autouse=True)
def numpy_mode():
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']}-{case['expr']}")
def test_case(case, values):
    inputs = [check_np.array(text) for text in case["inputs"]]
    try:
        fault = check_np.check(mx, case, values, inputs)
    except (mx.MXNetError, TypeError, ValueError, IndexError, ZeroDivisionError) as error:
        fault = None if "error" in case and f"{case['id']}.numpy" not in values else error
    if case["id"] in WRONG_THERE:
        assert fault, "agrees with MXNet now: take it from the list"
    else:
        assert not fault
