# SPDX-License-Identifier: Apache-2.0
"""``mx.np`` beside official NumPy: random expressions, indices, gradients; types, errors, protocols, pickles."""

import copy
import itertools
import pickle

import loomix as mx
import numpy as onp
import pytest
from loomix import autograd, np, npx


@pytest.fixture(autouse=True)
def numpy_mode():
    npx.set_np()
    yield
    npx.reset_np()


UNARY = "exp sqrt square tanh negative floor sign arctan log1p absolute".split()
BINARY = "add subtract multiply true_divide maximum minimum hypot arctan2 power".split()
REDUCTIONS = "sum mean max min var std prod".split()
SHAPES = [(), (1,), (3,), (2, 3), (3, 1), (1, 3), (2, 1, 3), (0, 3), (4, 2, 3)]


def random_expression(rng, depth, arrays):
    """A function of (module, arrays), and how it is written."""
    if depth == 0:
        i = int(rng.integers(len(arrays)))
        return (lambda m, xs: xs[i]), f"x{i}"
    kind = rng.integers(4)
    inner, text = random_expression(rng, depth - 1, arrays)
    if kind == 0:
        name = str(rng.choice(UNARY))
        return (lambda m, xs: getattr(m, name)(m.abs(inner(m, xs)) + 0.5)), f"{name}(abs({text}) + 0.5)"
    if kind == 1:
        other, more = random_expression(rng, depth - 1, arrays)
        name = str(rng.choice(BINARY))
        return (
            lambda m, xs: getattr(m, name)(m.abs(inner(m, xs)) + 0.5, m.clip(other(m, xs), -1, 1) + 2.0),
            f"{name}({text}, {more})",
        )
    if kind == 2:
        name, axis = str(rng.choice(REDUCTIONS[:2])), int(rng.integers(-1, 1))
        return (
            lambda m, xs: getattr(m, name)(m.reshape(inner(m, xs), (-1, 1)), axis=axis, keepdims=True),
            f"{name}({text}, {axis})",
        )
    return (lambda m, xs: m.expand_dims(m.tanh(inner(m, xs)), 0)), f"expand_dims(tanh({text}), 0)"


@pytest.mark.parametrize("seed", range(60))
def test_random_expressions(seed):
    rng = onp.random.default_rng(seed)
    one = SHAPES[int(rng.integers(len(SHAPES) - 2))]
    plain = [rng.uniform(-2, 2, one).astype("float64"), rng.uniform(-2, 2, ()).astype("float64")]
    compute, text = random_expression(rng, int(rng.integers(1, 4)), plain)
    with onp.errstate(all="ignore"):
        expected = onp.asarray(compute(onp, plain))
    xs = [np.array(x, dtype="float64") for x in plain]
    for x in xs:
        x.attach_grad()
    with autograd.record():
        got = compute(np, xs)
        total = got.sum()
    assert isinstance(got, np.ndarray) and got.shape == expected.shape, text
    onp.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-9, atol=1e-9, err_msg=text)
    if "floor" in text or "sign" in text or "prod" in text:
        return  # their numeric gradients jump
    total.backward()
    step = 1e-6
    for k, x in enumerate(plain):
        if x.size == 0:
            continue
        place = tuple(int(rng.integers(n)) for n in x.shape)
        sides = []
        for sign in (1, -1):
            moved = [y.copy() for y in plain]
            moved[k][place] += sign * step
            sides.append(onp.sum(compute(onp, moved)))
        numeric = (sides[0] - sides[1]) / (2 * step)
        onp.testing.assert_allclose(xs[k].grad.asnumpy()[place], numeric, rtol=1e-4, atol=1e-4, err_msg=text)


def random_index(rng, shape):
    key = []
    for n in shape[: int(rng.integers(len(shape) + 1))]:
        kind = rng.integers(5)
        if kind == 0:
            key.append(int(rng.integers(-n, n)))
        elif kind == 1:
            key.append(slice(*sorted(int(v) for v in rng.integers(0, n + 1, 2))))
        elif kind == 2:
            key.append(slice(None, None, int(rng.choice([-2, -1, 2]))))
        elif kind == 3:
            key.append([int(v) for v in rng.integers(-n, n, 2)])
        else:
            key.append(None)
            key.append(slice(None))
    if rng.integers(3) == 0:
        key.append(Ellipsis)
    return tuple(key)


@pytest.mark.parametrize("seed", range(60))
def test_random_indices(seed):
    rng = onp.random.default_rng(1000 + seed)
    plain = rng.standard_normal(tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(1, 4))))).astype(
        "float32"
    )
    key = random_index(rng, plain.shape)
    x = np.array(plain)
    x.attach_grad()
    with autograd.record():
        got = x[key]
        total = (got * got).sum()
    onp.testing.assert_array_equal(got.asnumpy(), plain[key], err_msg=str(key))
    total.backward()
    expected = onp.zeros_like(plain)
    onp.add.at(expected, key, 2 * plain[key])
    onp.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-6, err_msg=str(key))
    y, z = np.array(plain), plain.copy()
    y[key] = 7.0
    z[key] = 7.0
    onp.testing.assert_array_equal(y.asnumpy(), z, err_msg=str(key))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("int32", "float32", "float32"),
        ("int8", "uint8", "int32"),
        ("float16", "float64", "float64"),
        ("bool", "int32", "int32"),
        ("int32", 2.5, "float32"),
        ("float16", 2.5, "float16"),
        ("int8", 2, "int8"),
    ],
)
def test_types_of_results(left, right, expected):
    a = np.ones((2,), dtype=left)
    b = np.ones((2,), dtype=right) if isinstance(right, str) else right
    assert (a + b).dtype == onp.dtype(expected)


def test_comparisons_are_booleans_and_integers_divide_truly():
    x = np.array([1, 2, 3], dtype="int32")
    assert (x > 1).dtype == onp.bool_ and (x / 2).dtype == onp.float32
    assert (x[x > 1] == np.array([2, 3], dtype="int32")).all()


def test_arrays_without_axes_and_without_elements():
    assert np.array(3.5).shape == () and np.ones((2, 2)).sum().shape == ()
    assert np.zeros((2, 0, 3)).sum(axis=1).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert np.concatenate([np.zeros((0, 2)), np.ones((1, 2))]).shape == (1, 2)


def test_classes_share_memory():
    x = np.zeros((3,))
    y = x.as_nd_ndarray()
    y[:] = 5
    assert type(y) is mx.nd.NDArray and type(y.as_np_ndarray()) is np.ndarray
    assert x.tolist() == [5, 5, 5]


def test_official_numpy_called_with_our_arrays_computes_with_ours():
    x = np.ones((2, 3))
    assert isinstance(onp.concatenate([x, x]), np.ndarray)
    assert isinstance(onp.exp(x), np.ndarray) and isinstance(onp.mean(x), np.ndarray)
    assert isinstance(onp.ones((2, 3), "float32") + x, np.ndarray)


def test_functions_that_official_numpy_computes_warn_when_recorded():
    x = np.array([3.0, 1.0, 2.0])
    x.attach_grad()
    with autograd.record(), pytest.warns(UserWarning, match="nanmedian is computed by official NumPy"):
        y = np.nanmedian(x)
    assert float(y) == 2.0


# How each function that official NumPy computes is called; those that MXNet's list has and NumPy no longer are refused.
FALL_BACKS = {
    "apply_along_axis": lambda x: np.apply_along_axis(onp.sum, 0, x),
    "apply_over_axes": lambda x: np.apply_over_axes(onp.sum, x, [0]),
    "argpartition": lambda x: np.argpartition(x, 1),
    "correlate": lambda x: np.correlate(x, x),
    "frexp": lambda x: np.frexp(x),
    "histogram2d": lambda x: np.histogram2d(x, x),
    "histogram_bin_edges": lambda x: np.histogram_bin_edges(x),
    "histogramdd": lambda x: np.histogramdd(x),
    "i0": lambda x: np.i0(x),
    "in1d": lambda x: np.in1d(x, x),
    "intersect1d": lambda x: np.intersect1d(x, x),
    "isin": lambda x: np.isin(x, x),
    "ix_": lambda x: np.ix_(x),
    "lexsort": lambda x: np.lexsort(x),
    "nanargmax": lambda x: np.nanargmax(x),
    "nanargmin": lambda x: np.nanargmin(x),
    "nancumprod": lambda x: np.nancumprod(x),
    "nanpercentile": lambda x: np.nanpercentile(x, 30),
    "nanquantile": lambda x: np.nanquantile(x, 0.3),
    "nanstd": lambda x: np.nanstd(x),
    "nanvar": lambda x: np.nanvar(x),
    "nextafter": lambda x: np.nextafter(x, x),
    "packbits": lambda x: np.packbits(x.astype("uint8")),
    "partition": lambda x: np.partition(x, 1),
    "piecewise": lambda x: np.piecewise(x, [(x > 0).asnumpy()], [1]),
    "poly": lambda x: np.poly(x),
    "polyadd": lambda x: np.polyadd(x, x),
    "polydiv": lambda x: np.polydiv(x, x),
    "polyfit": lambda x: np.polyfit(x, x, 1),
    "polyint": lambda x: np.polyint(x),
    "polymul": lambda x: np.polymul(x, x),
    "polysub": lambda x: np.polysub(x, x),
    "roots": lambda x: np.roots(x),
    "setdiff1d": lambda x: np.setdiff1d(x, x),
    "setxor1d": lambda x: np.setxor1d(x, x),
    "spacing": lambda x: np.spacing(x),
    "trim_zeros": lambda x: np.trim_zeros(x),
    "union1d": lambda x: np.union1d(x, x),
    "unpackbits": lambda x: np.unpackbits(x.astype("uint8")),
    "vander": lambda x: np.vander(x),
}


@pytest.mark.parametrize("name", FALL_BACKS)
def test_fall_backs_warn_once_when_recorded_and_not_otherwise(name, recwarn):
    from loomix.numpy import _protocols

    _protocols._warned.discard(name)
    x = np.array([3.0, 1.0, 2.0])

    def warnings():
        return [str(w.message) for w in recwarn if "official NumPy" in str(w.message)]

    FALL_BACKS[name](x)
    assert warnings() == []
    with autograd.record():
        FALL_BACKS[name](x)
        FALL_BACKS[name](x)
    assert warnings() == [f"np.{name} is computed by official NumPy: its result has no gradient."]


def test_every_fall_back_is_called_above():
    from loomix.numpy import _fallback

    refused = {"mirr", "npv", "ppmt", "pv", "rate"}
    assert set(_fallback.NAMES) - refused == {*FALL_BACKS, "nanmedian", "min_scalar_type"}
    for name in refused:
        with pytest.raises(NotImplementedError, match="numpy_financial"):
            getattr(np, name)(1, 2, 3)


def test_copies_and_pickles():
    x = np.array([[1, 2]], dtype="int8")
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x.copy()):
        assert type(y) is np.ndarray and y.dtype == onp.int8 and y.tolist() == [[1, 2]]


def test_files(tmp_path):
    path = str(tmp_path / "arrays")
    npx.save(path, {"scalar": np.array(2.0), "none": np.zeros((0, 3))})
    found = npx.load(path)
    assert found["scalar"].shape == () and found["none"].shape == (0, 3)
    assert all(type(x) is np.ndarray for x in found.values())


def test_positions_out_of_range():
    x = np.array([1.0, 2.0, 3.0])
    assert np.take(x, np.array([0, -1])).tolist() == [1, 3]
    assert np.take(x, np.array([5]), mode="clip").tolist() == [3]
    with pytest.raises(IndexError, match="index 5 is out of range for size 3"):
        np.take(x, np.array([5])).asnumpy()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: np.ones((2, 3)).reshape((4, 2)), "reshape"),
        (lambda: np.ones((2,)).sum(axis=1), "axis 1 is out of bounds"),
        (lambda: np.dot(np.ones((2, 3)), np.ones((2, 3))), "do not fit"),
        (lambda: np.pad(np.ones((2,)), 1, mode="foo"), "mode is 'foo'"),
        (lambda: np.linalg.norm(np.ones((2,)), "fro"), "fro"),
        (lambda: np.meen, "has no attribute 'meen'; the nearest are mean"),
        (lambda: bool(np.ones((2,))), "neither true nor false"),
    ],
)
def test_errors_name_function_and_shapes(call, words):
    with pytest.raises((ValueError, AttributeError, mx.MXNetError), match=words):
        call()


def test_layers_and_updates_at_positions():
    x = np.arange(6).reshape((2, 3))
    assert npx.softmax(x).sum(axis=-1).tolist() == pytest.approx([1, 1])
    mask = np.array([[1, 0, 1], [1, 1, 0]], dtype="bool")
    assert (npx.masked_softmax(x, mask) * ~mask).sum() == 0
    at = np.array([[0], [2]], dtype="int32")
    assert npx.index_update(x, at, np.array([9.0]))[0].tolist() == [0, 1, 9]
    assert npx.index_add(x, at, np.array([9.0]))[0].tolist() == [0, 1, 11]
    assert npx.topk(x, k=1, ret_typ="value").tolist() == [[2], [5]]


def test_random_numbers_follow_the_seed():
    mx.random.seed(5)
    first = [np.random.normal(size=(2,)).tolist(), np.random.randint(0, 9, size=(3,)).tolist()]
    mx.random.seed(5)
    assert first == [np.random.normal(size=(2,)).tolist(), np.random.randint(0, 9, size=(3,)).tolist()]
    assert sorted(np.random.permutation(5).tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2, 3), (0, 3)])
def test_diagonals_in_any_two_axes(shape):
    values = onp.arange(onp.prod(shape), dtype="float32").reshape(shape)
    for (one, two), k in itertools.product(
        itertools.permutations(range(-1, len(shape) - 1), 2), range(-4, 5)
    ):
        x = np.array(values)
        x.attach_grad()
        with autograd.record():
            found = np.diagonal(x, k, one, two)
        found.backward()
        expected = onp.diagonal(values, k, one, two)
        onp.testing.assert_array_equal(found.asnumpy(), expected)
        assert found.shape == expected.shape and x.grad.asnumpy().sum() == expected.size
    with pytest.raises(ValueError, match=r"np.diagonal.*out of bounds"):
        np.diagonal(np.ones(3))


def test_einsum_is_official_numpys():
    rng = onp.random.default_rng(3)
    a, b, c = (rng.standard_normal(s).astype("float64") for s in ((2, 3, 4), (4, 5), (5, 2)))
    for text in ("bij,jk,kb->ib", "bij,jk,kl->bil", "bij->b", "bij,jk->", "...j,jk->...k"):
        plain = (a, b, c)[: text.count(",") + 1]
        got = np.einsum(text, *(np.array(x, dtype="float64") for x in plain))
        onp.testing.assert_allclose(got.asnumpy(), onp.einsum(text, *plain), rtol=1e-9, atol=1e-12)


def test_devices_and_types_of_asarray():
    x = np.ones((2,))
    assert np.asarray(x) is x and np.asarray(x, dtype="int32").dtype == onp.int32
    assert np.asarray(x, ctx=mx.cpu(1)).context == mx.cpu(1)
    assert np.asarray([1, 2], ctx=mx.cpu(1)).context == mx.cpu(1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: np.around(np.ones((2,)), digits=1),
        lambda: np.nan_to_num(np.ones((2,)), nam=1),
        lambda: np.ones((2,)).diag(offset=1),
        lambda: np.matmul(np.ones((2, 2)), np.ones((2, 2)), batched=True),
        lambda: np.random.multivariate_normal(np.zeros((2,)), np.eye(2), check_valid="raise"),
    ],
)
def test_arguments_that_nothing_reads_are_refused(call):
    with pytest.raises((TypeError, ValueError), match="no argument|not supported"):
        call()


def test_draws_are_finite_where_the_uniform_one_is_zero(monkeypatch):
    monkeypatch.setattr(np.random, "_uniform", lambda shape, dtype, ctx: np.zeros(shape))
    assert onp.isfinite(np.random.gumbel(size=(3,)).asnumpy()).all()
    assert onp.isfinite(np.random.logistic(size=(3,)).asnumpy()).all()
