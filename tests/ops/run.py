# SPDX-License-Identifier: Apache-2.0
"""Runs every case of `tests/ops/cases`: forward in each dtype, gradient, grad_req='add', nd against sym.

pytest tests/ops/run.py [-k broadcast]
"""

import importlib
import pkgutil
import sys
import zlib
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import cases

TOLERANCE = {"float64": 1e-9, "float32": 1e-5, "float16": 1e-2}
ALL_CASES = [
    case
    for module in pkgutil.iter_modules(cases.__path__)
    for case in importlib.import_module(f"cases.{module.name}").CASES
]
EVERY_CASE = pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.id)
DIFFERENTIABLE = [case for case in ALL_CASES if case.grad != () and "float64" in case.dtypes]


def inputs_of(case, dtype):
    random = np.random.RandomState(zlib.crc32(case.id.encode()))
    values = [random.uniform(case.low, case.high, shape) for shape in case.shapes]
    return [v.astype(dtype) if np.dtype(dtype).kind == "f" else np.rint(v).astype(dtype) for v in values]


def as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def operator(namespace, name):
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def arrays_of(values):
    return [mx.nd.array(value, dtype=value.dtype) for value in values]


def forward(case, arrays):
    return as_list(operator(mx.nd, case.op)(*arrays, **case.attrs))


def assert_close(got, want, case):
    want = np.asarray(want)
    assert got.shape == want.shape
    tolerance = TOLERANCE.get(str(got.dtype), 0) * case.loose
    np.testing.assert_allclose(got.astype("float64"), want.astype("float64"), rtol=tolerance, atol=tolerance)


@EVERY_CASE
def test_forward(case):
    for dtype in case.dtypes:
        values = inputs_of(case, dtype)
        wide = [v.astype("float64") if dtype == "float16" else v for v in values]
        want = as_list(case.reference(*wide, **case.attrs))
        got = forward(case, arrays_of(values))
        assert len(got) == len(want)
        for g, w in zip(got, want):
            if "dtype" not in case.attrs and "array" not in case.op:
                assert g.dtype == np.dtype(dtype)
            assert_close(g.asnumpy(), w, case)


def gradients(case, values, heads, req="write", start=0.0):
    arrays = arrays_of(values)
    wanted = range(len(arrays)) if case.grad is None else case.grad
    for i in wanted:
        arrays[i].attach_grad(grad_req=req)
        arrays[i].grad[:] = start
    with mx.autograd.record():
        outputs = forward(case, arrays)
    mx.autograd.backward(outputs, [mx.nd.array(h, dtype=o.dtype) for h, o in zip(heads, outputs)])
    return {i: arrays[i].grad.asnumpy() for i in wanted}


def heads_of(case, values):
    random = np.random.RandomState(1)
    return [random.uniform(-1, 1, np.shape(w)) for w in as_list(case.reference(*values, **case.attrs))]


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=lambda case: case.id)
def test_gradient(case):
    values = inputs_of(case, "float64")
    heads = heads_of(case, values)
    loose = 1e-4 if "dtype" in case.attrs else 1e-6
    step = 1e-2 if "dtype" in case.attrs else 1e-5

    def loss(changed):
        outputs = forward(case, arrays_of(changed))
        return sum(float((o.asnumpy().astype("float64") * h).sum()) for o, h in zip(outputs, heads))

    for i, grad in gradients(case, values, heads).items():
        numeric = np.zeros_like(values[i])
        for index in np.ndindex(*values[i].shape):
            sides = []
            for sign in (1, -1):
                changed = [v.copy() for v in values]
                changed[i][index] += sign * step
                sides.append(loss(changed))
            numeric[index] = (sides[0] - sides[1]) / (2 * step)
        np.testing.assert_allclose(grad, numeric, rtol=loose * 10, atol=loose)


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=lambda case: case.id)
def test_gradient_adds(case):
    values = inputs_of(case, "float64")
    heads = heads_of(case, values)
    once = gradients(case, values, heads)
    added = gradients(case, values, heads, req="add", start=2.0)
    for i, grad in once.items():
        np.testing.assert_allclose(added[i], grad + 2, rtol=1e-12, atol=1e-12)


@EVERY_CASE
def test_symbol_equals_array(case):
    dtype = case.dtypes[-1]
    values = inputs_of(case, dtype)
    if not all(v.size for v in values):
        pytest.skip("a symbol's shapes use 0 for unknown")
    names = [f"x{i}" for i in range(len(values))]
    symbol = operator(mx.sym, case.op)(*[mx.sym.Variable(n) for n in names], **case.attrs)
    bound = symbol.bind(mx.cpu(), dict(zip(names, arrays_of(values))))
    for got, want in zip(bound.forward(), forward(case, arrays_of(values))):
        np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())
