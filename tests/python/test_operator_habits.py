# SPDX-License-Identifier: Apache-2.0
"""What operators refuse and take as MXNet's do, and numbers that their types must hold."""

import loomix as mx
import numpy as np
import pytest
from loomix import nd, sym


def image(*shape):
    return nd.array(np.arange(np.prod(shape)).reshape(shape) % 7 - 2)


REFUSED = {
    "tile": lambda: nd.tile(nd.ones((2, 3)), reps=(0, 2)),
    "tile of negative repeats": lambda: nd.tile(nd.ones((2, 3)), reps=(-1, 2)),
    "space_to_depth": lambda: nd.space_to_depth(image(1, 1, 3, 3), block_size=2),
    "space_to_depth by 0": lambda: nd.space_to_depth(image(1, 1, 4, 4), block_size=0),
    "depth_to_space": lambda: nd.depth_to_space(image(1, 3, 2, 2), block_size=2),
    "diag above": lambda: nd.diag(nd.ones((2, 3)), k=4),
    "diag below": lambda: nd.diag(nd.ones((2, 3)), k=-3),
    "max of nothing": lambda: nd.max(nd.array(np.zeros((0, 3)))),
    "min of nothing": lambda: nd.min(nd.array(np.zeros((0, 3))), axis=0),
    "broadcast_like": lambda: nd.broadcast_like(nd.ones((1, 3)), nd.ones((5, 3)), lhs_axes=(), rhs_axes=()),
    "hard_sigmoid": lambda: nd.hard_sigmoid(nd.ones(2, dtype="int32")),
    "pooling same with padding": lambda: nd.Pooling(
        image(1, 1, 5), kernel=2, stride=2, pad=1, pool_type="max", pooling_convention="same"
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises(mx.MXNetError):
        REFUSED[name]()


def test_diagonals_at_the_corner_are_empty():
    assert nd.diag(nd.ones((2, 3)), k=3).shape == nd.diag(nd.ones((2, 3)), k=-2).shape == (0,)


def test_numpy_shapes_allow_no_repeats():
    with mx.util.np_shape(True):
        assert nd.tile(nd.ones((2, 3)), reps=(0, 2)).shape == (0, 6)


def test_pooling_ignores_numbers_beyond_the_axes():
    data = image(1, 1, 6)
    pooled = nd.Pooling(data, kernel=(3,), stride=(1,), pad=(1, 1, 1), pool_type="avg")
    np.testing.assert_array_equal(
        pooled.asnumpy(), nd.Pooling(data, kernel=(3,), stride=(1,), pad=(1,), pool_type="avg").asnumpy()
    )
    assert nd.Pooling(image(1, 1, 6, 6), kernel=(3, 3), stride=(2, 2, 2), pool_type="max").shape == (
        1,
        1,
        2,
        2,
    )


def test_target_shape_overrides_pad_and_adj():
    data, weight = image(1, 2, 4, 4), image(2, 3, 3, 3)
    arguments = {"kernel": (3, 3), "num_filter": 3, "stride": (2, 2), "no_bias": True, "target_shape": (8, 8)}
    plain = nd.Deconvolution(data, weight, **arguments)
    other = nd.Deconvolution(data, weight, pad=(7, 7), adj=(5, 5), **arguments)
    np.testing.assert_array_equal(plain.asnumpy(), other.asnumpy())


def test_index_array_of_a_scalar():
    found = nd.contrib.index_array(nd.array(np.array(5.0)))
    assert found.shape == (0,) and found.dtype == np.int64


@pytest.mark.parametrize(
    "draw",
    (
        lambda: nd.random.normal(scale=-1, shape=2),
        lambda: nd.random.gamma(-1, 1, shape=2),
        lambda: nd.random.exponential(-1, shape=2),
        lambda: nd.random.poisson(-1, shape=2),
        lambda: nd.random.randint(5, 2, shape=2),
        lambda: nd.random.normal_like(nd.ones(2), scale=-1),
        lambda: nd.random.uniform(0, float("inf"), shape=2),
    ),
)
def test_wrong_parameters_of_distributions_show_when_the_array_is_read(draw):
    numbers = draw()
    with pytest.raises(mx.MXNetError, match="expected a finite number|is not below"):
        numbers.asnumpy()
    draw()
    with pytest.raises(mx.MXNetError):
        nd.waitall()


@pytest.mark.parametrize(
    ("draw", "parameters", "point"),
    (
        (nd.sample_gamma, ([0, 2], [1, 0]), 0),
        (nd.sample_negative_binomial, ([0, 0], [0.5, 1]), 0),
        (nd.sample_normal, ([3, 3], [0, 0]), 3),
        (nd.sample_exponential, ([0, 0],), np.inf),
    ),
)
def test_arrays_of_parameters_may_make_a_distribution_a_single_point(draw, parameters, point):
    numbers = draw(*map(nd.array, parameters), shape=100)
    np.testing.assert_array_equal(numbers.asnumpy(), np.full((2, 100), point, "float32"))
    wrong = (*parameters[:-1], [1, -1])
    with pytest.raises(mx.MXNetError, match="element 1 of .* is -1; expected a finite number"):
        draw(*map(nd.array, wrong)).asnumpy()


def test_the_upper_half_of_potrf():
    a = np.array([[4.0, 2, 1], [2, 3, 0.5], [1, 0.5, 5]], "float32")
    lower, upper = nd.linalg.potrf(nd.array(a)), nd.linalg.potrf(nd.array(a), lower=False)
    np.testing.assert_allclose(upper.asnumpy(), lower.asnumpy().T, 1e-6)
    half = np.triu(a) + np.tril(np.full_like(a, 9), -1)  # the lower triangle is not read
    np.testing.assert_allclose(nd.linalg.potrf(nd.array(half), lower=False).asnumpy(), upper.asnumpy(), 1e-6)
    for size in (30, 600):
        big = np.random.RandomState(1).randn(size, size)
        big = big @ big.T + size * np.eye(size)
        u = nd.linalg.potrf(nd.array(big, dtype="float64"), lower=False).asnumpy()
        np.testing.assert_allclose(u.T @ u, big, 1e-8, 1e-6)
    matrix = sym.var("a")
    mx.test_utils.check_numeric_gradient(
        sym.linalg.potrf(0.5 * (matrix + sym.transpose(matrix)), lower=False),
        [a],
        rtol=1e-2,
        atol=1e-2,
    )


@pytest.mark.parametrize("dtype", ("int32", "int64", "uint8"))
def test_arange_of_integers_steps_by_integers(dtype):
    assert nd.arange(1.7, 9, 1.6, dtype=dtype).asnumpy().tolist() == [1, 2, 3, 4, 5]
    assert nd.arange(0, 5, 0.7, dtype=dtype).asnumpy().tolist() == [0] * 8
    assert nd.arange(2**24 - 1, 2**24 + 2, dtype="int64").asnumpy().tolist() == [2**24 - 1, 2**24, 2**24 + 1]


def test_arange_of_float32_rounds_as_mxnet_does():
    """Each product and each sum is rounded to float32."""
    step, count = np.float32(0.1), 10_000
    expected = np.float32(0.5) + np.arange(count, dtype=np.float32) * step
    np.testing.assert_array_equal(nd.arange(0.5, 1000.5, 0.1).asnumpy(), expected)
    assert nd.arange(1, 0, -0.3).asnumpy()[3] == np.float32(1) - np.float32(0.3) * np.float32(3)


def test_sparse_embedding_takes_deterministic():
    weight = image(3, 2)
    found = nd.contrib.SparseEmbedding(
        nd.array([2, 0]), weight, input_dim=3, output_dim=2, deterministic=True
    )
    np.testing.assert_array_equal(found.asnumpy(), weight.asnumpy()[[2, 0]])


@pytest.mark.parametrize("hybrid", (False, True))
def test_a_bias_of_one_column(hybrid):
    data, weight, bias = image(2, 3), image(4, 3), image(4, 1)
    if hybrid:
        out = sym.FullyConnected(sym.var("d"), sym.var("w"), sym.var("b"), num_hidden=4)
        executor = out.bind(mx.cpu(), {"d": data, "w": weight, "b": bias}, {"b": nd.zeros((4, 1))})
        found = executor.forward(is_train=True)[0]
        executor.backward(nd.ones((2, 4)))
        gradient = executor.grad_dict["b"]
    else:
        bias.attach_grad()
        with mx.autograd.record():
            found = nd.FullyConnected(data, weight, bias, num_hidden=4)
        found.backward()
        gradient = bias.grad
    expected = data.asnumpy() @ weight.asnumpy().T + bias.asnumpy().ravel()
    np.testing.assert_allclose(found.asnumpy(), expected, 1e-6)
    assert gradient.asnumpy().tolist() == [[2], [2], [2], [2]]


@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "int8", "uint8"))
@pytest.mark.parametrize("name", ("argmax", "argmin", "argmax_channel"))
def test_indices_come_in_a_type_that_holds_them(name, dtype):
    values = np.zeros((2, 5001), "float32")
    values[0, 4001], values[1, 4999] = (-1, -1) if name == "argmin" and dtype != "uint8" else (1, 1)
    if name == "argmin" and dtype == "uint8":
        values = 1 - values
    data, arguments = nd.array(values).astype(dtype), {} if name == "argmax_channel" else {"axis": 1}
    found = getattr(nd, name)(data, **arguments)
    assert found.asnumpy().tolist() == [4001, 4999] and found.dtype == np.float32
    bound = getattr(sym, name)(sym.var("x"), **arguments).bind(mx.cpu(), {"x": data}).forward()[0]
    assert bound.asnumpy().tolist() == [4001, 4999] and bound.dtype == np.float32
    short = getattr(nd, name)(data[:, :100], **arguments)
    assert np.dtype(short.dtype) == np.dtype(data.dtype)


def test_indices_beyond_float32():
    data = nd.zeros(2**24 + 3)
    data[2**24 + 1] = 1
    found = data.argmax(axis=0)
    assert found.asscalar() == 2**24 + 1 and found.dtype == np.float64


@pytest.mark.parametrize("dtype", ("float16", "bfloat16"))
def test_accuracy_of_many_classes_in_short_types(dtype):
    classes = np.array([1500, 2999, 2100, 257])
    scores = nd.array(np.eye(3000)[classes]).astype(dtype)
    metric = mx.metric.Accuracy()
    metric.update([nd.array(classes)], [scores])
    assert metric.get()[1] == 1


def test_fresh_gradients():
    x = nd.ones(2)
    assert not x._fresh_grad
    with pytest.raises(mx.MXNetError, match="no gradient"):
        x._fresh_grad = True
    x.attach_grad()
    assert not x._fresh_grad
    with mx.autograd.record():
        y = x * 2
    y.backward()
    assert x._fresh_grad
    x._fresh_grad = False
    assert not x._fresh_grad
    x._fresh_grad = True
    assert x._fresh_grad


def test_one_item_by_its_place():
    assert nd.arange(4)._at(1).shape == (1,) and nd.ones((2, 3))._at(1).shape == (3,)


def test_arrays_without_elements_are_read_under_the_rules_they_were_saved_with(tmp_path):
    empty = nd.array(np.zeros((0, 3)))
    nd.save(str(tmp_path / "old"), [empty, nd.ones(2)])
    with mx.util.np_shape(True):
        nd.save(str(tmp_path / "new"), [empty, nd.ones(2)])
        assert nd.load(str(tmp_path / "new"))[0].shape == (0, 3)
        with pytest.raises(mx.MXNetError, match="turn np_shape off"):
            nd.load(str(tmp_path / "old"))
    assert nd.load(str(tmp_path / "old"))[0].shape == (0, 3)
    with pytest.raises(mx.MXNetError, match="turn np_shape on"):
        nd.load(str(tmp_path / "new"))
