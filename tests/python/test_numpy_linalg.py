# SPDX-License-Identifier: Apache-2.0
"""``np.linalg`` beside official NumPy, and its gradients beside numeric ones, in both types that LAPACK has."""

import loomix as mx
import numpy as onp
import pytest
from loomix import autograd, np, npx


@pytest.fixture(autouse=True)
def numpy_mode():
    npx.set_np()
    yield
    npx.reset_np()


RNG = onp.random.default_rng(0)
SQUARE = RNG.standard_normal((2, 4, 4))
POSITIVE = SQUARE @ SQUARE.swapaxes(-1, -2) + onp.eye(4)
WIDE, TALL = RNG.standard_normal((2, 3, 5)), RNG.standard_normal((5, 3))
VECTOR, COLUMNS = RNG.standard_normal(4), RNG.standard_normal((2, 4, 3))
CUBE, PLANE = RNG.standard_normal((2, 3, 6)), RNG.standard_normal((2, 3))


def symmetric(m, a):
    return (a + m.swapaxes(a, -1, -2)) / 2


def svd(m, a):
    return m.linalg.svd(a) if m is np else m.linalg.svd(a, full_matrices=False)


def lstsq(m, a, b):
    return m.linalg.lstsq(a, b, None)[0]


# name: (a function of NumPy's or our module and arrays, the arrays, whether the vectors' signs are free)
CASES = {
    "svd": (svd, [SQUARE], True),
    "svd of a wide one": (svd, [WIDE], True),
    "svd of a tall one": (svd, [TALL], True),
    "solve": (lambda m, a, b: m.linalg.solve(a, b), [SQUARE, COLUMNS]),
    "solve for a vector": (lambda m, a, b: m.linalg.solve(a, b), [SQUARE[0], VECTOR]),
    "solve for all": (lambda m, a, b: m.linalg.solve(a, b), [SQUARE, COLUMNS[0]]),
    "pinv": (lambda m, a: m.linalg.pinv(a), [WIDE]),
    "pinv of equal singular values": (lambda m, a: m.linalg.pinv(a), [onp.linalg.qr(TALL)[0]]),
    "pinv of a symmetric one": (lambda m, a: m.linalg.pinv(symmetric(m, a), hermitian=True), [SQUARE]),
    "lstsq": (lstsq, [TALL, RNG.standard_normal((5, 2))]),
    "qr": (lambda m, a: m.linalg.qr(a), [TALL]),
    "qr of a wide one": (lambda m, a: m.linalg.qr(a), [WIDE]),
    "inv": (lambda m, a: m.linalg.inv(a), [SQUARE]),
    "det": (lambda m, a: m.linalg.det(a), [SQUARE]),
    "slogdet": (lambda m, a: m.linalg.slogdet(a), [SQUARE]),
    "cholesky": (lambda m, a: m.linalg.cholesky(symmetric(m, a)), [POSITIVE]),
    "eigh": (lambda m, a: m.linalg.eigh(symmetric(m, a)), [SQUARE], True),
    "eigvalsh": (lambda m, a: m.linalg.eigvalsh(symmetric(m, a)), [SQUARE]),
    "tensorinv": (lambda m, a: m.linalg.tensorinv(a, 2), [CUBE]),
    "tensorsolve": (lambda m, a, b: m.linalg.tensorsolve(a, b), [CUBE, PLANE]),
    "matrix_power": (lambda m, a: m.linalg.matrix_power(a, -3), [SQUARE]),
    "cond": (lambda m, a: m.linalg.cond(a), [SQUARE]),
    "cond by columns": (lambda m, a: m.linalg.cond(a, 1), [SQUARE]),
    **{
        f"norm {order} of a matrix": (lambda m, a, order=order: m.linalg.norm(a, order), [TALL])
        for order in (None, "fro", "nuc", 1, -1, 2, -2, onp.inf, -onp.inf)
    },
    **{
        f"norm {order} of vectors": (lambda m, a, order=order: m.linalg.norm(a, order, axis=1), [TALL])
        for order in (None, 0.5, 1, 2, 3, onp.inf, -onp.inf)
    },
}


def parts(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def weighed(results, weights):
    return sum(float((onp.asarray(r, "float64") * w).sum()) for r, w in zip(results, weights))


@pytest.mark.parametrize(("dtype", "near"), [("float64", 1e-9), ("float32", 1e-4)])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name, dtype, near):
    compute, plain, *free = CASES[name]
    arrays = [np.array(x, dtype=dtype) for x in plain]
    for x in arrays:
        x.attach_grad()
    with autograd.record():
        got = parts(compute(np, *arrays))
        weights = [onp.random.default_rng(i).standard_normal(x.shape) for i, x in enumerate(got)]
        total = sum((x * np.array(w, dtype=dtype)).sum() for x, w in zip(got, weights))
    for x, y in zip(got, parts(compute(onp, *plain))):
        assert x.dtype == dtype and x.shape == onp.shape(y)
        x = x.asnumpy()
        onp.testing.assert_allclose(
            onp.abs(x) if free else x, onp.abs(y) if free else y, rtol=near, atol=near
        )
    total.backward()
    step = 1e-6
    for k, x in enumerate(plain):
        direction = onp.random.default_rng(7).standard_normal(x.shape)
        sides = []
        for sign in (1, -1):
            moved = [np.array(y, dtype="float64") for y in plain]
            moved[k] = np.array(x + sign * step * direction, dtype="float64")
            sides.append(weighed([y.asnumpy() for y in parts(compute(np, *moved))], weights))
        numeric = (sides[0] - sides[1]) / (2 * step)
        slope = float((arrays[k].grad.asnumpy().astype("float64") * direction).sum())
        onp.testing.assert_allclose(slope, numeric, rtol=max(near, 1e-6), atol=max(near * 10, 1e-6))


def test_small_singular_values_are_accurate():
    u, _, v = onp.linalg.svd(RNG.standard_normal((4, 6)), full_matrices=False)
    wanted = [1, 1e-3, 1e-6, 1e-9]
    x = np.array((u * wanted) @ v, dtype="float64")
    x.attach_grad()
    with autograd.record():
        s = np.linalg.svd(x)[1]
        smallest = s[3]
    smallest.backward()
    onp.testing.assert_allclose(s.asnumpy(), wanted, rtol=1e-6)
    onp.testing.assert_allclose(x.grad.asnumpy(), onp.outer(u[:, 3], v[3]), atol=1e-6)


def test_solving_is_as_accurate_as_the_matrix_allows():
    n = 10
    hilbert = 1.0 / (onp.arange(n)[:, None] + onp.arange(n) + 1)
    b = hilbert @ onp.ones(n)
    x = np.linalg.solve(np.array(hilbert, dtype="float64"), np.array(b, dtype="float64")).asnumpy()
    # An inverse would leave 1e-5: its residual is large where the solution's is not.
    assert onp.abs(hilbert @ x - b).max() < 1e-14


def test_second_derivatives():
    x = np.array(POSITIVE[0], dtype="float64")
    x.attach_grad()

    def first(y):
        with autograd.record():
            z = np.linalg.solve(y, y * y).sum() + np.linalg.pinv(y).sum() + np.linalg.svd(y)[1].sum()
            return autograd.grad(z, [y], create_graph=True, retain_graph=True)[0]

    with autograd.record():
        total = (first(x) ** 2).sum()
    total.backward()
    direction, step = RNG.standard_normal((4, 4)), 1e-6
    sides = []
    for sign in (1, -1):
        y = np.array(POSITIVE[0] + sign * step * direction, dtype="float64")
        y.attach_grad()
        sides.append(float((first(y) ** 2).sum()))
    numeric = (sides[0] - sides[1]) / (2 * step)
    onp.testing.assert_allclose((x.grad.asnumpy() * direction).sum(), numeric, rtol=1e-5)


def test_rank_and_modes():
    x = np.array(onp.outer([1.0, 2, 3], [1.0, 1]), dtype="float64")
    assert int(np.linalg.matrix_rank(x)) == 1
    assert np.linalg.matrix_rank(np.array(SQUARE)).tolist() == [4, 4]
    assert int(np.linalg.matrix_rank(np.zeros((3,)))) == 0
    q, r = np.linalg.qr(np.array(TALL), "complete")
    assert q.shape == (5, 5) and r.shape == (5, 3)
    _, residuals, rank, s = np.linalg.lstsq(np.array(TALL), np.ones((5,)), None)
    expected = onp.linalg.lstsq(TALL, onp.ones(5), None)
    assert rank == 3
    onp.testing.assert_allclose(residuals.asnumpy(), expected[1], rtol=1e-5)
    onp.testing.assert_allclose(s.asnumpy(), expected[3], rtol=1e-5)


def test_bad_matrices_are_named():
    for call, text in [
        (
            lambda: np.linalg.solve(np.zeros((2, 2)), np.ones((2,))),
            "_linalg_solve.*matrix 0 of a batch of 1 is singular",
        ),
        (lambda: np.linalg.solve(np.ones((2, 2)), np.ones((3,))), r"np.linalg.solve.*expected 2 rows in b"),
        (lambda: np.linalg.solve(np.ones((2, 3)), np.ones((2,))), r"np.linalg.solve.*square matrices"),
        (lambda: np.linalg.svd(np.full((2, 3), onp.nan))[1], "_linalg_svd.*is it finite"),
        (lambda: np.linalg.svd(np.ones((3,))), r"np.linalg.svd.*matrices in the last two axes"),
        (lambda: np.linalg.pinv(np.full((2, 3), onp.nan)), "_linalg_pinv.*is it finite"),
    ]:
        with pytest.raises(mx.base.MXNetError, match=text):
            call().asnumpy()
