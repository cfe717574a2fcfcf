# SPDX-License-Identifier: Apache-2.0
"""Matrix operators: what they refuse, singular matrices, large ones, second derivatives."""

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.library

nd = mx.nd


def random(*shape, seed=0):
    return np.random.RandomState(seed).uniform(-1, 1, shape)


@pytest.mark.parametrize("n", [4, 40])
def test_potrf_names_the_matrix_that_is_not_positive_definite(n):
    batch = np.stack([np.eye(n), np.eye(n), -np.eye(n)])
    with pytest.raises(mx.base.MXNetError, match=r"_linalg_potrf.*matrix 2 of a batch of 3 is not positive"):
        nd.linalg.potrf(nd.array(batch)).asnumpy()
    with pytest.raises(mx.base.MXNetError, match="not positive"):
        nd.linalg.potrf(nd.array(np.full((n, n), np.nan))).asnumpy()


def test_large_matrices_are_factored_by_panels():
    a = random(700, 700)
    a = a @ a.T + 700 * np.eye(700)
    got = nd.linalg.potrf(nd.array(a, dtype="float64")).asnumpy()
    np.testing.assert_allclose(got, np.linalg.cholesky(a), rtol=1e-9, atol=1e-9)
    a[650, 650] = -1
    with pytest.raises(mx.base.MXNetError, match="matrix 0 of a batch of 1"):
        nd.linalg.potrf(nd.array(a, dtype="float64")).asnumpy()


def test_singular_matrices():
    singular = nd.array([[[1, 2], [2, 4]], [[1, 0], [0, 2]]])
    np.testing.assert_array_equal(nd.linalg.det(singular).asnumpy(), [0, 2])
    sign, log = nd.linalg.slogdet(singular)
    np.testing.assert_array_equal(sign.asnumpy(), [0, 1])
    np.testing.assert_allclose(log.asnumpy(), [-np.inf, np.log(2)])
    singular.attach_grad()
    with mx.autograd.record():
        det = nd.linalg.det(singular)
    det.backward()
    np.testing.assert_array_equal(singular.grad.asnumpy(), [[[0, 0], [0, 0]], [[2, 0], [0, 1]]])
    with pytest.raises(mx.base.MXNetError, match="_linalg_inverse.*matrix 0 of a batch of 2 is singular"):
        nd.linalg.inverse(singular).asnumpy()
    with pytest.raises(mx.base.MXNetError, match="_linalg_potri.*matrix 0"):
        nd.linalg.potri(nd.zeros((2, 3, 3))).asnumpy()


@pytest.mark.parametrize(
    "op, shapes, attrs, match",
    [
        ("gemm2", [(3,), (3,)], {}, "two axes or more"),
        ("gemm2", [(2, 3), (2, 3)], {}, "do not multiply"),
        ("gemm2", [(2, 3), (2, 3, 4)], {}, "same number of axes"),
        ("gemm2", [(2, 2, 3), (3, 3, 4)], {}, "batches"),
        ("gemm2", [(2, 3), (3, 4)], {"axis": -1}, "last one"),
        ("gemm2", [(2, 3), (3, 4)], {"axis": 5}, "axis 5"),
        ("gemm", [(2, 3), (3, 4), (2, 5)], {}, "_linalg_gemm"),
        ("trmm", [(2, 3), (3, 3)], {}, "square"),
        ("trsm", [(2, 2), (3, 3)], {}, "_linalg_trsm"),
        ("trsm", [(2, 2), (3, 2)], {}, "_linalg_trsm"),
        ("syrk", [(3,)], {}, "two axes or more"),
        ("potrf", [(2, 3)], {}, "square"),
        ("inverse", [(2, 2, 3)], {}, "square"),
        ("gelqf", [(4, 3)], {}, "no more rows than columns"),
        ("extractdiag", [(3, 3)], {"offset": 3}, "offset 3"),
        ("extracttrian", [(3, 3)], {"offset": -4}, "offset -4"),
        ("maketrian", [(4,)], {}, "fills no triangle"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(op, shapes, attrs, match):
    with pytest.raises(ValueError, match=match):
        getattr(nd.linalg, op)(*[nd.ones(shape) for shape in shapes], **attrs)


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="float32, float64"):
        nd.linalg.potrf(nd.ones((1, 1), dtype="float16"))
    with pytest.raises(TypeError, match="float32, float64"):
        nd.linalg.gemm2(nd.ones((1, 1), dtype="int32"), nd.ones((1, 1), dtype="int32"))


def spread(a):
    """A positive definite matrix that depends on each element of `a`."""
    eye = nd.array(np.eye(a.shape[-1]), dtype="float64")
    return nd.linalg.syrk(a) + eye


SECOND = {
    "potrf": lambda a: nd.linalg.potrf(spread(a)),
    "potri": lambda a: nd.linalg.potri(nd.linalg.potrf(spread(a))),
    "trsm": lambda a: nd.linalg.trsm(nd.linalg.potrf(spread(a)), a, alpha=2),
    "trmm": lambda a: nd.linalg.trmm(a, a * a, rightside=True, lower=False),
    "inverse": lambda a: nd.linalg.inverse(spread(a)),
    "det": lambda a: nd.linalg.det(spread(a)),
    "slogdet": lambda a: nd.linalg.slogdet(spread(a))[1],
    "sumlogdiag": lambda a: nd.linalg.sumlogdiag(spread(a)),
    "gelqf": lambda a: nd.linalg.gelqf(a)[1],
    "syevd": lambda a: nd.linalg.syevd(spread(a))[1] ** 2,
    "syevd vectors": lambda a: nd.linalg.syevd(spread(a))[0],
}


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name):
    values, heads = random(2, 3, 3, seed=1), random(2, 3, 3, seed=2)

    def slope(x):
        x = nd.array(x, dtype="float64")
        x.attach_grad()
        with mx.autograd.record():
            y = SECOND[name](x)
            head = nd.array(heads.ravel()[: y.size].reshape(y.shape), dtype="float64")
            grad = mx.autograd.grad((y * head).sum(), x, create_graph=True)[0]
            total = (grad * nd.array(heads, dtype="float64")).sum()
        total.backward()
        return total.asscalar(), x.grad.asnumpy()

    direction, step = random(2, 3, 3, seed=3), 1e-5
    numeric = (slope(values + step * direction)[0] - slope(values - step * direction)[0]) / (2 * step)
    np.testing.assert_allclose((slope(values)[1] * direction).sum(), numeric, rtol=1e-5, atol=1e-6)


def test_a_degenerate_eigenvalue_has_a_finite_gradient():
    a = nd.array(np.eye(3), dtype="float64")
    a.attach_grad()
    with mx.autograd.record():
        vectors, values = nd.linalg.syevd(a)
        total = values.sum() + vectors.sum()
    total.backward()
    np.testing.assert_allclose(a.grad.asnumpy(), np.eye(3), atol=1e-12)


def test_products_of_rows_along_another_axis():
    """As MXNet's: the batch may lie between rows and columns."""
    a, b = random(3, 2, 4), random(4, 2, 5)
    got = nd.linalg.gemm2(nd.array(a, dtype="float64"), nd.array(b, dtype="float64"), axis=0).asnumpy()
    np.testing.assert_allclose(got, np.einsum("ibk,kbj->ibj", a, b), rtol=1e-12)
