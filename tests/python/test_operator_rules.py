# SPDX-License-Identifier: Apache-2.0
"""What operators say of themselves and do by MXNet's rules: names of outputs, types, what a batch is."""

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.library

nd, sym = mx.nd, mx.sym


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda x: sym.topk(x), ["output"]),
        (lambda x: sym.topk(x, ret_typ="mask"), ["output"]),
        (lambda x: sym.topk(x, ret_typ="value"), ["output0"]),
        (lambda x: sym.topk(x, ret_typ="both"), ["output0", "output1"]),
        (lambda x: sym.sample_multinomial(x), ["output"]),
        (lambda x: sym.sample_multinomial(x, get_prob=True), ["output0", "output1"]),
        (lambda x: sym._internal._split_v2(x, indices=(0,)), ["output"]),
        (lambda x: sym._internal._split_v2(x, indices=(0, 1)), ["output0", "output1"]),
        (lambda x: sym.amp_multicast(x, num_outputs=1), ["output"]),
        (lambda x: sym.amp_multicast(x, x, num_outputs=2), ["output0", "output1"]),
        (lambda x: sym.split(x, num_outputs=1), ["output0"]),
        (
            lambda x: sym.RNN(x, x, x, x, state_size=2, num_layers=1, mode="lstm", state_outputs=True),
            ["output", "state_output", "statecell_output"],
        ),
        (lambda x: sym.contrib.box_nms(x), ["output0"]),
        (lambda x: sym.contrib.bipartite_matching(x, threshold=0.5), ["output0", "output1"]),
        (lambda x: sym.contrib.box_encode(x, x, x, x, x, x), ["output0", "output1"]),
    ],
)
def test_names_of_outputs(make, names):
    output = make(sym.var("x"))
    assert output.list_outputs() == [f"{output.name}_{name}" for name in names]


@pytest.mark.parametrize(
    ("make", "types"),
    [
        (lambda x: sym.SequenceMask(x, use_sequence_length=True), ["float64", "float64"]),
        (lambda x: sym.SequenceLast(x, use_sequence_length=True), ["float64", "float64"]),
        (lambda x: sym.batch_take(x, sym.var("i")), ["float64", "int32"]),
        (lambda x: sym._internal._identity_with_attr_like_rhs(x, sym.var("y")), ["float64", "float64"]),
        (lambda x: sym._internal._identity_with_attr_like_rhs(sym.var("y"), x), ["float64", "float64"]),
    ],
)
def test_types_that_are_not_given(make, types):
    arguments, outputs, _ = make(sym.var("x")).infer_type(x="float64")
    assert [np.dtype(t).name for t in arguments] == types and np.dtype(outputs[0]).name == "float64"


def test_shapes_of_parameters_that_are_alike():
    joined = sym._internal._rnn_param_concat(*map(sym.var, "abc"), dim=0, num_args=3)
    net = sym.RNN(sym.var("data"), joined, sym.var("state"), state_size=2, num_layers=1, mode="rnn_tanh")
    shapes = dict(zip(net.list_arguments(), net.infer_shape(data=(3, 1, 2), c=(4,))[0]))
    assert shapes["a"] == shapes["b"] == (4,)
    shapes = dict(zip(net.list_arguments(), net.infer_shape_partial(data=(3, 1, 2), c=(5,))[0]))
    assert shapes["a"] == shapes["b"] == (0,)  # 7 elements cannot be halved


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_random_numbers_of_a_type(dtype):
    made = nd.random.uniform(2, 3, shape=(50,), dtype=dtype)
    drawn = nd.random.normal(nd.full((50,), 100), nd.ones((50,)), dtype=dtype)
    assert made.dtype == drawn.dtype == nd.zeros((1,), dtype=dtype).dtype
    assert 2 <= made.astype("float32").asnumpy().min() and made.astype("float32").asnumpy().max() <= 3
    assert np.abs(drawn.astype("float32").asnumpy() - 100).max() < 8


def test_numbers_that_are_fractions():
    """The attribute `is_int=False` makes float64 of whole numbers."""
    whole = np.array([1, 2, 3])
    for dtype in ("int32", "uint8", "bool"):
        values = whole.astype(dtype)
        x = nd.array(values, dtype=dtype)
        for name, expected in (
            ("_plus_scalar", values + 0.5),
            ("_rdiv_scalar", 0.5 / values),
            ("_lesser_scalar", values < 0.5),
            ("_scatter_minus_scalar", values - 0.5),
        ):
            result = getattr(nd._internal, name)(x, scalar=0.5, is_int=False)
            assert result.dtype == np.float64 and np.allclose(result.asnumpy(), expected)
        assert nd._internal._plus_scalar(x, scalar=2).dtype == (
            np.int64 if dtype == "bool" else np.dtype(dtype)
        )
    single = nd.array([1.0])
    assert nd._internal._plus_scalar(single, scalar=0.5, is_int=False).dtype == np.float32
    assert nd._internal._scatter_plus_scalar(nd.array([1, 0], dtype="bool"), scalar=1).dtype == np.int64


def gradient(function, data):
    x = nd.array(data)
    x.attach_grad()
    with mx.autograd.record():
        y = function(x)
    y.backward()
    return y.asnumpy(), x.grad.asnumpy()


@pytest.mark.parametrize("shape", [(6,), (4, 1), (2, 3), (2, 3, 4), (2, 3, 2, 2)])
def test_the_batch_of_a_loss_is_all_axes_but_the_last(shape):
    data = np.ones(shape)
    _, grad = gradient(lambda x: nd.MakeLoss(x, normalization="batch", grad_scale=3), data)
    np.testing.assert_allclose(grad, np.full(shape, 3 / np.prod(shape[:-1])), rtol=1e-6)


def test_the_batch_of_a_softmax_that_keeps_its_shape():
    data = np.random.RandomState(0).normal(size=(2, 3, 4))
    label = np.random.RandomState(1).randint(0, 4, (2, 3))
    y, grad = gradient(
        lambda x: nd.SoftmaxOutput(x, nd.array(label), preserve_shape=True, normalization="batch"), data
    )
    np.testing.assert_allclose(grad, (y - np.eye(4)[label]) / 6, rtol=1e-5, atol=1e-7)


def test_pictures_by_hue_and_their_gradients():
    """A third of the circle moves each colour to the next."""
    pixels = np.array([[[200, 30, 90], [10, 10, 10], [0, 255, 60]]], "float32")
    for turns, moved in ((1 / 3, [2, 0, 1]), (2 / 3, [1, 2, 0]), (1.0, [0, 1, 2])):
        turned = nd.image.random_hue(nd.array(pixels), turns, turns).asnumpy()
        np.testing.assert_allclose(turned, pixels[:, :, moved], atol=1e-3)
    bytes_ = nd.array(np.array([[[133, 0, 255]]]), dtype="uint8")
    assert nd.image.random_brightness(bytes_, 1.2, 1.2).asnumpy().ravel().tolist() == [159, 0, 255]
    image = nd.array(np.random.RandomState(0).rand(3, 5, 3))
    image.attach_grad()
    weight = np.random.RandomState(1).rand(3, 5, 3).astype("float32")
    for change, expected in (
        (lambda x: nd.image.flip_left_right(x), weight[:, ::-1]),
        (lambda x: nd.image.flip_top_bottom(x), weight[::-1]),
        (lambda x: nd.image.adjust_lighting(x, (0.1, 0.2, 0.3)), weight),
    ):
        with mx.autograd.record():
            y = change(image)
        y.backward(nd.array(weight))
        np.testing.assert_array_equal(image.grad.asnumpy(), expected)


def test_decoding_into_planes():
    pixels = np.random.RandomState(0).randint(0, 256, (5, 7, 3)).astype(np.uint8)
    encoded = mx.recordio.pack_img(mx.recordio.IRHeader(0, 0, 0, 0), pixels[:, :, ::-1], img_fmt=".png")[24:]
    planes = pixels.transpose(2, 0, 1).astype("float32")
    whole = nd.imdecode(encoded)
    assert whole.dtype == np.float32 and (whole.asnumpy() == planes).all()
    batch = nd.zeros((2, 3, 2, 4))
    assert nd.imdecode(encoded, (1, 2, 5, 4), out=batch, index=1, mean=nd.ones((3, 1, 1))) is batch
    assert (batch[1].asnumpy() == planes[:, 2:4, 1:5] - 1).all() and not batch[0].asnumpy().any()
    assert nd.imdecode(encoded, channels=1).shape == (1, 5, 7)
    for arguments in ({"clip_rect": (0, 0, 8, 5)}, {"clip_rect": (3, 0, 3, 5)}, {"channels": 2}):
        with pytest.raises(ValueError, match="imdecode"):
            nd.imdecode(encoded, **arguments)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int8"])
def test_sums_and_products_of_whole_numbers_wrap_around(dtype):
    values = np.array([[np.iinfo(dtype).max, 100, 7], [3, np.iinfo(dtype).max, 5]]).astype(dtype)
    x = nd.array(values, dtype=dtype)
    for axis in (0, 1, (0, 1)):
        with np.errstate(over="ignore"):
            total, product = values.sum(axis, dtype=dtype), values.prod(axis, dtype=dtype)
        assert nd.sum(x, axis=axis).asnumpy().ravel().tolist() == np.ravel(total).tolist()
        assert nd.prod(x, axis=axis).asnumpy().ravel().tolist() == np.ravel(product).tolist()
    np.testing.assert_allclose(nd.max(x, axis=0).asnumpy(), values.max(0))


def test_no_rows_of_indices_are_refused():
    """Each of no axes' indices would be needed for places of any number."""
    data, none = nd.ones((3,)), nd.array(np.ones((0, 3)))
    for call in (
        lambda: nd.gather_nd(data, none),
        lambda: nd.gather_nd(nd.ones((2, 3)), none),
        lambda: nd.scatter_nd(nd.ones((3, 2)), none.astype("int32"), shape=(2,)),
        lambda: nd._internal._scatter_set_nd(data, nd.ones((3, 3)), none, shape=(3,)),
    ):
        with pytest.raises(mx.MXNetError, match="the first axis counts"):
            call()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_parameters_of_distributions_are_finite(bad):
    one = nd.ones((1,))
    for call in (
        lambda: nd.random.gamma(alpha=bad, shape=2),
        lambda: nd.random.gamma(alpha=one, beta=one * bad),
        lambda: nd.random.normal(loc=bad),
        lambda: nd.random.uniform(low=-bad, high=1),
        lambda: nd.random.uniform(low=one * -bad, high=one),
        lambda: nd.random.gamma_like(one, alpha=bad),
        lambda: nd.random.generalized_negative_binomial(1, bad),
        lambda: nd.random.negative_binomial(nd.array([bad]), nd.array([0.5])),
        lambda: nd.random.poisson(one * bad),
    ):
        with pytest.raises(ValueError, match="finite|bound"):
            call().wait_to_read()
    # Their product may be beyond what float64 holds.
    large = nd.full((1,), 1e300, dtype="float64")
    assert not np.isfinite(nd.random.generalized_negative_binomial(large, large).asscalar())


def test_a_parameter_that_the_function_makes_itself():
    with pytest.raises(TypeError, match="'lam' is made of"):
        nd.random.exponential(2, lam=1)


def test_regression_by_absolute_distance_where_nothing_is_missing():
    """MXNet's gradient there is that of a smaller prediction."""
    x = nd.array([1, 2, 3])
    x.attach_grad()
    with mx.autograd.record():
        y = nd.MAERegressionOutput(x, nd.array([1, 1, 5]), grad_scale=2)
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [-2, 2, -2])


def test_indices_that_no_integer_holds_are_out_of_range():
    x, far = mx.nd.array([10, 20, 30]), mx.nd.array([1e30, -1e30, np.nan, np.inf])
    assert mx.nd.take(x, far, mode="clip").asnumpy().tolist() == [30, 10, 10, 30]
    assert mx.nd.one_hot(far, 3).asnumpy().sum() == 0
    for index in far.asnumpy():
        with pytest.raises(mx.base.MXNetError, match="out of range for size 3"):
            mx.nd.take(x, mx.nd.array([index]), mode="raise").wait_to_read()


def test_sizes_that_do_not_fit_are_shape_errors():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    with pytest.raises(mx.base.MXNetError, match="longer along axis 0 than an array can be"):
        mx.sym.Concat(a, b, dim=0).infer_shape(a=(2**62,), b=(2**62,))
    rnn = mx.sym.RNN(a, state_size=2**30, num_layers=2**20, mode="lstm", name="rnn")
    with pytest.raises(mx.base.MXNetError, match="more weights than an array can hold"):
        rnn.infer_shape(a=(1, 1, 2**40))
