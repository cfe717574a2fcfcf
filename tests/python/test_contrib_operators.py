# SPDX-License-Identifier: Apache-2.0
"""Operators of many families that case tables do not fit: other types, states, what they refuse."""

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.library

nd = mx.nd


def hawkes(lda, alpha, beta, state, lags, marks, lengths, max_time):
    """The log likelihood by its definition: each intensity from all events before, integrated piece by piece."""
    likelihoods, states = [], []
    for n in range(len(lda)):
        times = np.cumsum(lags[n])[: int(lengths[n])]
        kinds = marks[n].astype(int)[: int(lengths[n])]

        def excitement(k, now, before, n=n, times=times, kinds=kinds):
            own = sum(np.exp(-beta[k] * (now - t)) for t in times[:before][kinds[:before] == k])
            return state[n, k] * np.exp(-beta[k] * now) + own

        total = 0.0
        for j, (t, k) in enumerate(zip(times, kinds)):
            total += np.log(lda[n, k] + alpha[k] * beta[k] * excitement(k, t, j))
        for k in range(lda.shape[1]):
            end = max_time[n]
            total -= lda[n, k] * end + alpha[k] * state[n, k] * (1 - np.exp(-beta[k] * end))
            total -= alpha[k] * sum(1 - np.exp(-beta[k] * (end - t)) for t in times[kinds == k])
        likelihoods.append(total)
        states.append([excitement(k, max_time[n], len(times)) for k in range(lda.shape[1])])
    return np.array(likelihoods), np.array(states)


def events(*inputs):
    marks, lengths, times = [[0, 1, 1, 0], [1, 1, 0, 1], [0, 0, 0, 0]], [4, 2, 0], [40, 30, 20]
    return [*inputs[:5], np.array(marks, "int32"), *(np.array(x, inputs[0].dtype) for x in (lengths, times))]


def hawkes_inputs():
    random = np.random.RandomState(0)
    shapes = [(3, 2), (2,), (2,), (3, 2), (3, 4)]
    return events(*(random.uniform(0.2, 1.5, shape) for shape in shapes))


def as_arrays(inputs):
    return [nd.array(x, dtype="int32" if i == 5 else "float64") for i, x in enumerate(inputs)]


def test_hawkes_processes():
    inputs = hawkes_inputs()
    for got, want in zip(nd.contrib.hawkesll(*as_arrays(inputs)), hawkes(*inputs)):
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-10)
    single = [x.astype("float32") if x.dtype == "float64" else x for x in as_arrays(inputs)]
    np.testing.assert_allclose(nd.contrib.hawkesll(*single)[0].asnumpy(), hawkes(*inputs)[0], rtol=1e-5)


@pytest.mark.parametrize("place", range(4))
def test_gradients_of_hawkes_processes(place):
    inputs, heads = hawkes_inputs(), [np.array([1.0, -2, 0.5]), np.arange(6).reshape(3, 2) / 3]
    arrays = as_arrays(inputs)
    arrays[place].attach_grad()
    with mx.autograd.record():
        outputs = nd.contrib.hawkesll(*arrays)
    mx.autograd.backward(outputs, [nd.array(h, dtype="float64") for h in heads])
    direction, step = np.random.RandomState(1).uniform(-1, 1, inputs[place].shape), 1e-5

    def total(sign):
        changed = [x + sign * step * direction if i == place else x for i, x in enumerate(inputs)]
        return sum((h * y).sum() for h, y in zip(heads, hawkes(*changed)))

    numeric = (total(1) - total(-1)) / (2 * step)
    np.testing.assert_allclose((arrays[place].grad.asnumpy() * direction).sum(), numeric, rtol=1e-6)


@pytest.mark.parametrize("place, value", [(5, 2), (5, -1), (6, 5), (6, -1), (6, np.nan)])
def test_hawkes_processes_refuse_marks_and_lengths_outside(place, value):
    inputs = as_arrays(hawkes_inputs())
    inputs[place][1] = value
    with pytest.raises(mx.base.MXNetError, match="hawkesll.*sequence 1"):
        nd.contrib.hawkesll(*inputs)[0].asnumpy()


def test_allclose():
    a = nd.array([[1, 2], [3, np.nan]])
    assert nd.contrib.allclose(a, a).asnumpy() == 1
    assert nd.contrib.allclose(a, a, equal_nan=False).asnumpy() == 0
    assert nd.contrib.allclose(a, a + 1e-6).dtype == np.uint8
    assert nd.contrib.allclose(nd.ones((3,)), nd.ones((3,)) * 1.1, rtol=0.2).asnumpy() == 1
    assert nd.contrib.allclose(nd.ones((3,)), nd.ones((3,)) * 1.1).asnumpy() == 0
    assert nd.contrib.allclose(nd.ones((3,)), nd.ones((3,)) + 0.01, rtol=0, atol=0.1).asnumpy() == 1


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
def test_fill_element(dtype):
    x = nd.array([[1, 2], [3, 4], [5, 6]], dtype=dtype)
    got = nd.fill_element_0index(x, nd.array([9, 8, 7], dtype=dtype), nd.array([1, 0, 2]))
    np.testing.assert_array_equal(got.asnumpy(), [[1, 9], [8, 4], [5, 6]])


def test_set_value():
    x = nd.zeros((2, 3), dtype="float64")
    nd._internal._set_value(src=2.5, out=x)
    np.testing.assert_array_equal(x.asnumpy(), np.full((2, 3), 2.5))
    with pytest.raises(ValueError, match="src is missing"):
        nd._internal._set_value(out=x)


def test_gradients_that_pass_through():
    x = nd.array([0.4, -1.6])
    x.attach_grad()
    for op, factor in (
        (nd.contrib.round_ste, 1),
        (nd.contrib.sign_ste, 1),
        (lambda x: nd.contrib.gradientmultiplier(x, scalar=-2.5), -2.5),
    ):
        with mx.autograd.record():
            y = op(x) * nd.array([1, 2])
        y.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), factor * np.array([1, 2]))


def test_a_penalty_on_mean_activations():
    """The values of MXNet 1.9.1."""
    symbol = mx.sym.IdentityAttachKLSparseReg(mx.sym.Variable("x"), name="reg")
    assert symbol.list_auxiliary_states() == ["reg_moving_avg"]
    bound = symbol.simple_bind(mx.cpu(), x=(2, 2))
    bound.arg_dict["x"][:] = nd.array([[0.1, 0.2], [0.3, 0.4]])
    bound.forward(is_train=True)
    bound.backward([nd.ones((2, 2))])
    np.testing.assert_allclose(bound.outputs[0].asnumpy(), [[0.1, 0.2], [0.3, 0.4]])
    np.testing.assert_allclose(bound.aux_dict["reg_moving_avg"].asnumpy(), [0.02, 0.03], rtol=1e-6)
    np.testing.assert_allclose(bound.grad_dict["x"].asnumpy(), [[0.9959184, 0.9975945]] * 2, rtol=1e-6)


def test_unique_samples_of_a_zipfian_distribution():
    classes, tries = nd._internal._sample_unique_zipfian(1000, shape=(20, 200))
    assert classes.dtype == np.int64 and tries.shape == (20,)
    rows = classes.asnumpy()
    assert all(len(set(row)) == 200 for row in rows) and rows.min() == 0 and rows.max() < 1000
    assert (tries.asnumpy() >= 200).all()
    assert (rows < 10).mean() > 0.045  # almost every row has each of the most frequent classes
    everything = nd._internal._sample_unique_zipfian(6, shape=(2, 6))[0].asnumpy()
    assert (np.sort(everything) == np.arange(6)).all()
    with pytest.raises(ValueError, match="7 different classes of 6"):
        nd._internal._sample_unique_zipfian(6, shape=(1, 7))
    with pytest.raises(ValueError, match="two sizes"):
        nd._internal._sample_unique_zipfian(6, shape=(3,))


@pytest.mark.parametrize("stype", ["csr", "default"])
def test_what_a_matrix_stores(stype):
    x = nd.array([[0, 5, 0], [3, 0, 4], [0, 0, 0]]).tostype(stype)
    assert nd.contrib.getnnz(x).asnumpy().tolist() == [3] and nd.contrib.getnnz(x).dtype == np.int64
    assert nd.contrib.getnnz(x, axis=1).asnumpy().tolist() == [1, 2, 0]
    assert nd.contrib.getnnz(x, axis=0).asnumpy().tolist() == [1, 1, 1]
    u, v = nd.array([0, 1, 1, 2, 0]), nd.array([1, 0, 1, 2, 7])
    assert nd.contrib.edge_id(x, u, v).asnumpy().tolist() == [5, 3, -1, -1, -1]
    with pytest.raises(mx.base.MXNetError, match="u.0. is 3; expected 0 to 2"):
        nd.contrib.edge_id(x, u + 3, v).asnumpy()
    empty = nd.zeros((2, 3)).tostype(stype)
    assert nd.contrib.getnnz(empty, axis=1).asnumpy().tolist() == [0, 0]
    assert nd.contrib.edge_id(empty, nd.array([1]), nd.array([1])).asnumpy().tolist() == [-1]


def test_explicit_zeros_are_stored():
    x = mx.nd.sparse.csr_matrix(([0.0, 2], [1, 0], [0, 1, 2]), shape=(2, 3))
    assert nd.contrib.getnnz(x).asnumpy().tolist() == [2]
    assert nd.contrib.edge_id(x, nd.array([0, 1]), nd.array([1, 1])).asnumpy().tolist() == [0, -1]


def test_densities_are_zero_outside_of_their_support():
    one = nd.ones((1,))
    assert nd.random_pdf_uniform(nd.array([[-1, 0.5, 3]]), one * 0, one * 2).asnumpy().tolist() == [
        [0, 0.5, 0]
    ]
    for name, count in (("gamma", 2), ("exponential", 1), ("poisson", 1), ("negative_binomial", 2)):
        density = getattr(nd, f"random_pdf_{name}")
        assert density(nd.array([[-1]]), *[one * 0.5] * count).asnumpy() == 0
        assert density(nd.array([[-1]]), *[one * 0.5] * count, is_log=True).asnumpy() == -np.inf


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda c: c.interleaved_matmul_selfatt_qk(nd.ones((2, 3)), heads=1), "three axes"),
        (lambda c: c.interleaved_matmul_selfatt_qk(nd.ones((2, 3, 8)), heads=2), "2 heads of 3 parts"),
        (lambda c: c.interleaved_matmul_selfatt_qk(nd.ones((2, 3, 6))), "heads"),
        (
            lambda c: c.interleaved_matmul_encdec_qk(nd.ones((2, 3, 4)), nd.ones((5, 3, 4)), heads=2),
            "keys_values",
        ),
        (
            lambda c: c.interleaved_matmul_encdec_valatt(nd.ones((5, 3, 4)), nd.ones((3, 2, 4)), heads=1),
            "attention",
        ),
        (lambda c: c.index_array(nd.ones((2, 3)), axes=(2,)), "axis 2"),
        (lambda c: c.index_copy(nd.ones((2, 3)), nd.array([2]), nd.ones((1, 3))).asnumpy(), "index 2"),
        (lambda c: c.index_copy(nd.ones((2, 3)), nd.array([0]), nd.ones((1, 2))), "new_tensor"),
        (lambda c: c.ifft(nd.ones((2, 3))), "odd"),
        (lambda c: c.fft(nd.ones((2, 3), dtype="float16")), "float32, float64"),
        (
            lambda c: c.count_sketch(
                nd.ones((2, 3)), nd.ones((1, 3)) * 4, nd.ones((1, 3)), out_dim=4
            ).asnumpy(),
            "h.0. is 4",
        ),
        (lambda c: nd.khatri_rao(nd.ones((2, 3)), nd.ones((2, 4))), "khatri_rao"),
        (lambda c: nd.cumsum(nd.ones((2, 3)), axis=2), "axis 2"),
        (lambda c: nd.random_pdf_normal(nd.ones((2, 3)), nd.ones((3,)), nd.ones((3,))), "begins with"),
        (lambda c: nd.random_pdf_dirichlet(nd.ones((2, 3)), nd.ones((4,))), "begins with"),
        (lambda c: c.SyncBatchNorm(nd.ones((2, 3)), *[nd.ones((3,))] * 4, key="a", ndev=2), "ndev"),
    ],
)
def test_bad_input_is_refused(call, match):
    with pytest.raises(mx.base.MXNetError, match=match):
        call(nd.contrib)
