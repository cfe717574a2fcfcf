# SPDX-License-Identifier: Apache-2.0
"""Runs every case of `tests/ops/cases`: forward in each type, gradient, as a symbol, in place, on views.

pytest tests/ops/run.py [-k broadcast]

A case is one test, since pytest's own work for a test takes longer than a check. A failure names the check.
"""

import importlib
import os
import pkgutil
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import cases

TOLERANCE = {"float64": 1e-9, "float32": 1e-5, "float16": 1e-2, "bfloat16": 4e-2}
HALF = ("float16", "bfloat16")
# There the order in which OpenBLAS's kernels sum depends on where memory begins, and with it the last bits of
# products and of what LAPACK computes.
WITHOUT_AVX2 = (
    os.environ.get("LOOMIX_MAX_CPU_ISA") == "sse41" or "avx2" not in Path("/proc/cpuinfo").read_text()
)
ALL_CASES = [
    case
    for module in pkgutil.iter_modules(cases.__path__)
    for case in importlib.import_module(f"cases.{module.name}").CASES
]


@contextmanager
def check(what):
    """Names the check in what fails."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{what}: {error}") from error


def inputs_of(case, dtype):
    """Values that `dtype` can hold; those of half types as float64, for the reference."""
    random = np.random.RandomState(zlib.crc32(case.id.encode()))
    values = [random.uniform(case.low, case.high, shape) for shape in case.shapes]
    if case.prepare:
        values = as_list(case.prepare(*values))
    if dtype in HALF:
        return [numbers(array) for array in arrays_of(case, values, dtype)]
    types = [type_of(case, i, dtype) for i in range(len(values))]
    return [v.astype(t) if np.dtype(t).kind == "f" else np.rint(v).astype(t) for v, t in zip(values, types)]


def type_of(case, i, dtype):
    """Of input `i`, where most are of `dtype`."""
    return "float32" if i in case.wide and dtype in HALF else case.types.get(i, dtype)


def as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def operator(namespace, name):
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def arrays_of(case, values, dtype):
    return [mx.nd.array(v, dtype=type_of(case, i, dtype)) for i, v in enumerate(values)]


def numbers(array):
    """What an array holds, as float64."""
    return array.astype("float64").asnumpy()


def name_of(dtype):
    dtype = np.dtype(dtype)
    return (dtype.names or [dtype.name])[0]  # NumPy has no bfloat16


def forward(case, arrays, **more):
    with mx.autograd.pause(train_mode=case.train):
        return as_list(operator(mx.nd, case.op)(*arrays, **case.attrs, **more))


def check_forward(case):
    for dtype in case.dtypes:
        with check(dtype):
            values = inputs_of(case, dtype)
            want = as_list(case.reference(*values, **case.attrs))
            got = forward(case, arrays_of(case, values, dtype))
            assert len(got) == len(want)
            for i, (g, w) in enumerate(zip(got, want)):
                if "dtype" not in case.attrs and "array" not in case.op:
                    assert name_of(g.dtype) == (case.gives[i] if case.gives else dtype)
                assert g.shape == np.shape(w)
                tolerance = TOLERANCE.get(name_of(g.dtype), 0) * case.loose
                wide = np.asarray(w).astype("float64")
                np.testing.assert_allclose(numbers(g), wide, rtol=tolerance, atol=tolerance)


def in_the_middle(shape, dtype, value):
    """An array whose memory begins three elements after that of a larger one, and the larger one."""
    size = int(np.prod(shape))
    whole = mx.nd.full((size + 6,), value, dtype=dtype)
    return whole[3 : 3 + size].reshape(shape), whole


def check_views(case, values, dtype, want):
    """Inputs and outputs that begin anywhere in memory, and neighbours that must not change."""
    inputs = []
    for i, value in enumerate(values):
        view, _ = in_the_middle(value.shape, type_of(case, i, dtype), 5)
        view[:] = mx.nd.array(value, dtype=type_of(case, i, dtype))
        inputs.append(view)
    outputs = [in_the_middle(w.shape, w.dtype, 7) for w in want]
    views = [view for view, _ in outputs]
    forward(case, inputs, out=views if len(views) > 1 else views[0])
    last_bits = WITHOUT_AVX2 and (
        case.op in ("FullyConnected", "dot", "batch_dot") or case.op.startswith("linalg.")
    )
    for w, (view, whole) in zip(want, outputs):
        if last_bits:
            allowed = 32 * np.finfo(w.dtype).eps
            np.testing.assert_allclose(view.asnumpy(), w.asnumpy(), allowed, allowed)
        else:
            np.testing.assert_array_equal(view.asnumpy(), w.asnumpy())
        around = whole.asnumpy()
        assert (around[:3] == 7).all() and (around[-3:] == 7).all()


def check_onto_inputs(case, values, dtype, want):
    """The output written over each input of its shape and type."""
    for i, value in enumerate(values):
        if (
            len(want) == 1
            and i not in case.states
            and want[0].shape == value.shape
            and name_of(want[0].dtype) == type_of(case, i, dtype)
        ):
            arrays = arrays_of(case, values, dtype)
            forward(case, arrays, out=arrays[i])
            np.testing.assert_array_equal(arrays[i].asnumpy(), want[0].asnumpy())


def check_symbol(case, values, dtype, want):
    """The operator in a bound graph: on arguments, and on nodes that nobody else reads, where it may run in place."""
    names = [f"x{i}" for i in range(len(values))]
    for alone in (True, False):
        inputs = [mx.sym.Variable(name) for name in names]
        if not alone:
            inputs = [
                x if i in case.states else mx.sym.negative(mx.sym.negative(x)) for i, x in enumerate(inputs)
            ]
        symbol = operator(mx.sym, case.op)(*inputs, **case.attrs)
        arrays = dict(zip(names, arrays_of(case, values, dtype)))
        states = {name: arrays.pop(name) for name in symbol.list_auxiliary_states()}
        bound = symbol.bind(mx.current_context(), arrays, aux_states=states)
        for got, w in zip(bound.forward(is_train=case.train), want):
            np.testing.assert_array_equal(got.asnumpy(), w.asnumpy())


def gradients(case, values, heads, req="write", start=0.0):
    """The gradients of the wanted inputs, and the states after the pass."""
    arrays = arrays_of(case, values, "float64")
    wanted = [i for i in range(len(arrays)) if i not in case.states] if case.grad is None else case.grad
    for i in wanted:
        arrays[i].attach_grad(grad_req=req)
        arrays[i].grad[:] = start
    with mx.autograd.record(train_mode=case.train or case.grad is None):
        outputs = as_list(operator(mx.nd, case.op)(*arrays, **case.attrs))
    mx.autograd.backward(outputs, [mx.nd.array(h, dtype=o.dtype) for h, o in zip(heads, outputs)])
    return {i: arrays[i].grad.asnumpy() for i in wanted}, [arrays[i].asnumpy() for i in case.states]


def check_gradients(case):
    """The gradient along random directions, where every element counts, against differences of the sum of outputs."""
    values = inputs_of(case, "float64")
    random = np.random.RandomState(1)
    heads = [random.uniform(-1, 1, np.shape(w)) for w in as_list(case.reference(*values, **case.attrs))]
    loose, step = (1e-4, 1e-2) if "dtype" in case.attrs else (1e-6, 1e-5)

    def loss(changed):
        outputs = forward(case, arrays_of(case, changed, "float64"))
        return sum(float((numbers(o) * h).sum()) for o, h in zip(outputs, heads))

    grads, states = gradients(case, values, heads)
    for i, grad in grads.items():
        for _ in range(2):
            direction = random.uniform(-1, 1, values[i].shape)
            if case.direction:
                direction = case.direction(direction)
            sides = [values[:i] + [values[i] + sign * step * direction] + values[i + 1 :] for sign in (1, -1)]
            numeric = (loss(sides[0]) - loss(sides[1])) / (2 * step)
            atol = loose * max(1, values[i].size) ** 0.5
            np.testing.assert_allclose((grad * direction).sum(), numeric, rtol=loose * 10, atol=atol)
    for state, want in zip(states, case.new_states(*values, **case.attrs) if case.states else []):
        np.testing.assert_allclose(state, want, rtol=1e-9, atol=1e-9)
    added, _ = gradients(case, values, heads, req="add", start=2.0)
    for i, grad in grads.items():
        np.testing.assert_allclose(added[i], grad + 2, rtol=1e-12, atol=1e-12, err_msg="grad_req='add'")


@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.id)
def test_case(case):
    with check("forward"):
        check_forward(case)
    dtype = case.dtypes[-1]
    values = inputs_of(case, dtype)
    want = forward(case, arrays_of(case, values, dtype))
    if all(v.size for v in values) and not any(w.size == 0 for w in want):  # 0 is an unknown size in a symbol
        with check("on views"):
            check_views(case, values, dtype, want)
        with check("onto an input"):
            check_onto_inputs(case, values, dtype, want)
        with check("as a symbol"):
            check_symbol(case, values, dtype, want)
    if case.grad != () and "float64" in case.dtypes:
        with check("gradient"):
            check_gradients(case)
