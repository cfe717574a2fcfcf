# SPDX-License-Identifier: Apache-2.0
"""``loomix.array_api`` beside official NumPy, which follows the same standard: names, types, shapes, values, special
cases. docs/guides/numpy.md says how the standard's own suite of tests ends, which no package index has."""

import inspect

import loomix as mx
import numpy as onp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import array_api
from hypothesis.extra import numpy as extra
from loomix import array_api as xp
from loomix import np

STRATEGIES = array_api.make_strategies_namespace(xp, api_version="2024.12")
NAMES = (
    "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros "
    "zeros_like astype can_cast finfo iinfo isdtype result_type abs acos acosh add asin asinh atan atan2 atanh "
    "bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign "
    "cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less "
    "less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply "
    "negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh square sqrt "
    "subtract tan tanh trunc take take_along_axis matmul matrix_transpose tensordot vecdot broadcast_arrays "
    "broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack argmax "
    "argmin count_nonzero nonzero searchsorted where unique_all unique_counts unique_inverse unique_values argsort "
    "sort cumulative_prod cumulative_sum max mean min prod std sum var all any diff"
).split()
LINALG = (
    "cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer "
    "pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm"
).split()


def test_names():
    assert xp.__array_api_version__ == "2024.12"
    for name in (*NAMES, "e", "pi", "inf", "nan", "newaxis", "bool", "int64", "float32"):
        assert hasattr(xp, name) and name in xp.__all__, name
    for name in NAMES:
        assert inspect.getdoc(getattr(xp, name)), name
    assert set(LINALG) <= set(dir(xp.linalg))
    with pytest.raises(AttributeError, match="'loomix.array_api' has no attribute 'complex64'"):
        xp.complex64  # noqa: B018


def test_arrays_name_their_namespace():
    x = np.ones((2, 3))
    assert x.__array_namespace__() is xp is x.__array_namespace__(api_version="2023.12")
    with pytest.raises(ValueError, match="up to 2024.12"):
        x.__array_namespace__(api_version="2031.12")
    assert x.device == mx.cpu() and x.to_device(x.device) is x and x.mT.shape == (3, 2)
    with pytest.raises(ValueError, match="two axes or more"):
        np.ones((3,)).mT  # noqa: B018
    with pytest.raises(ValueError, match="stream"):
        x.to_device(x.device, stream=1)
    assert complex(np.array(2.0)) == 2


def test_information():
    info = xp.__array_namespace_info__()
    assert info.default_device() in info.devices() and info.capabilities()["boolean indexing"]
    assert info.default_dtypes() == {"real floating": xp.float32, "integral": xp.int64, "indexing": xp.int64}
    assert info.dtypes(kind="real floating") == {"float32": xp.float32, "float64": xp.float64}
    assert set(info.dtypes(kind=("bool", "unsigned integer"))) == {"bool", "uint8"}
    assert info.dtypes(kind="complex floating") == {}


def test_types():
    assert xp.asarray(1).dtype == xp.asarray([1, 2]).dtype == xp.int64
    assert xp.asarray([1, 2.0]).dtype == xp.float32 and xp.asarray([True]).dtype == xp.bool
    assert xp.asarray(2**60 + 1) == 2**60 + 1 and xp.full((1,), 2**60 + 1)[0] == 2**60 + 1
    assert xp.isdtype(xp.int8, "integral") and not xp.isdtype(xp.uint8, ("signed integer", xp.bool))
    with pytest.raises(ValueError, match="kind is 'whole'"):
        xp.isdtype(xp.int8, "whole")
    assert xp.can_cast(xp.int8, xp.int32) and not xp.can_cast(xp.ones((1,)), xp.int32)
    assert xp.result_type(xp.int8, xp.int32, 1) == xp.int32 and xp.result_type(xp.float64, 1.0) == xp.float64
    assert xp.finfo(xp.float32).eps == 2**-23 and type(xp.finfo(xp.float32).max) is float
    assert xp.iinfo(xp.int8).min == -128 and xp.iinfo(xp.int8).dtype == xp.int8
    with pytest.raises(TypeError, match="complex"):
        xp.imag(xp.ones((1,)))
    x = xp.ones((2,))
    assert xp.asarray(x) is x and xp.asarray(x, copy=True) is not x
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray([1], copy=False)
    with pytest.raises(TypeError, match=r"array_api.take\] an argument is of type list"):
        xp.take([1], x)


def test_dlpack():
    plain = onp.arange(3.0)
    x = xp.from_dlpack(plain)
    plain[0] = 7
    assert x[0] == 7 and xp.from_dlpack(plain, copy=True)[0] == 7
    assert onp.from_dlpack(x)[0] == 7 and onp.shares_memory(onp.from_dlpack(x), plain)


FLOAT = (
    "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 sin sinh sqrt tan tanh".split()
)
FLOAT.append("reciprocal")
UNARY = "abs ceil floor isfinite isinf isnan negative positive round sign square trunc logical_not".split()
FLOATS = (
    "add subtract multiply divide atan2 copysign hypot maximum minimum pow remainder floor_divide".split()
)
FLOATS.append("logaddexp")
WHOLE = (
    "add subtract multiply maximum minimum bitwise_and bitwise_or bitwise_xor floor_divide remainder".split()
)
TRUTH = "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor".split()
SHAPES = extra.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


def values(dtype, shape, low=-20, high=20):
    kind = onp.dtype(dtype)
    if kind.kind == "b":
        elements = st.booleans()
    elif kind.kind in "iu":
        elements = st.integers(max(low, 0) if kind.kind == "u" else low, high)
    else:
        elements = st.floats(low, high, width=kind.itemsize * 8, allow_subnormal=False)
    return extra.arrays(kind, shape, elements=elements)


def same(got, expected, near=1e-5):
    expected = onp.asarray(expected)
    assert got.shape == expected.shape
    with onp.errstate(all="ignore"):
        onp.testing.assert_allclose(got.asnumpy(), expected.astype(got.dtype), rtol=near, atol=near)


QUICK = settings(max_examples=25, deadline=None)


@pytest.mark.parametrize("name", FLOAT + UNARY)
@QUICK
@given(st.data())
def test_unary(name, data):
    dtype = data.draw(
        st.sampled_from(["float32", "float64"] if name in FLOAT else ["int8", "int64", "float64"])
    )
    if name == "logical_not":
        dtype = "bool"
    x = data.draw(values(dtype, SHAPES))
    with onp.errstate(all="ignore"):
        expected = getattr(onp, name)(x)
    got = getattr(xp, name)(xp.asarray(x))
    same(got, expected)
    assert got.dtype == expected.dtype


@pytest.mark.parametrize("name", dict.fromkeys(FLOATS + WHOLE + TRUTH))
@QUICK
@given(st.data())
def test_binary(name, data):
    kinds = ["float32", "float64"] if name in FLOATS else []
    kinds += ["uint8", "int8", "int32", "int64"] if name in WHOLE else []
    dtype = data.draw(st.sampled_from(kinds or ["bool", "int32", "float64"]))
    shapes = data.draw(extra.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3)).input_shapes
    low = 1 if name in ("pow", "remainder", "floor_divide", "divide") else -5
    x, y = (data.draw(values(dtype, shape, low, 6)) for shape in shapes)
    if name in ("remainder", "floor_divide", "atan2"):  # no rounding at the steps
        x, y = onp.rint(x).astype(dtype), onp.rint(y).astype(dtype)
    with onp.errstate(all="ignore"):
        expected = getattr(onp, name)(x, y)
    got = getattr(xp, name)(xp.asarray(x), xp.asarray(y))
    same(got, expected)
    assert got.dtype == expected.dtype


@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@QUICK
@given(st.data())
def test_shifts(name, dtype, data):
    info = onp.iinfo(dtype)
    x = data.draw(values(dtype, (3,), int(info.min), int(info.max)))
    y = data.draw(values(dtype, (3,), 0, info.bits - 1))
    onp.testing.assert_array_equal(
        getattr(xp, name)(xp.asarray(x), xp.asarray(y)).asnumpy(), getattr(onp, name)(x, y)
    )


REDUCTIONS = {
    "sum": {},
    "prod": {},
    "max": {},
    "min": {},
    "mean": {},
    "var": {"correction": 1},
    "std": {},
    "all": {},
}
REDUCTIONS |= {"any": {}, "count_nonzero": {}, "argmax": {}, "argmin": {}}


@pytest.mark.parametrize("name", REDUCTIONS)
@QUICK
@given(st.data())
def test_reductions(name, data):
    kinds = (
        ["float32", "float64"] if name in ("mean", "var", "std") else ["int8", "int32", "int64", "float64"]
    )
    dtype = data.draw(st.sampled_from(kinds))
    x = data.draw(values(dtype, extra.array_shapes(min_dims=1, max_dims=3, min_side=2, max_side=4), -3, 3))
    axis = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1)))
    keepdims = data.draw(st.booleans())
    got = getattr(xp, name)(xp.asarray(x), axis=axis, keepdims=keepdims, **REDUCTIONS[name])
    expected = getattr(onp, name)(x, axis=axis, keepdims=keepdims, **REDUCTIONS[name])
    same(got, expected)
    assert got.dtype == onp.asarray(expected).dtype


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@QUICK
@given(st.data())
def test_cumulative(name, data):
    dtype = data.draw(st.sampled_from(["int32", "float64"]))
    x = data.draw(values(dtype, extra.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5), -2, 2))
    axis, initial = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.booleans())
    got = getattr(xp, name)(xp.asarray(x), axis=axis, include_initial=initial)
    same(got, getattr(onp, name)(x, axis=axis, include_initial=initial))


@QUICK
@given(st.data())
def test_order(data):
    x = data.draw(values("int8", extra.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6), 0, 3))
    axis, descending = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.booleans())
    ours = xp.asarray(x)
    key = -x if descending else x
    same(xp.argsort(ours, axis=axis, descending=descending), onp.argsort(key, axis=axis, kind="stable"))
    expected = onp.sort(key, axis=axis)
    same(xp.sort(ours, axis=axis, descending=descending), -expected if descending else expected)
    for got, wanted in zip(xp.unique_all(ours), onp.unique_all(x)):
        same(got, wanted)
    assert xp.unique_counts(ours)._fields == ("values", "counts")
    same(xp.unique_inverse(ours).inverse_indices, onp.unique_inverse(x).inverse_indices)
    flat = onp.sort(x.ravel())
    same(xp.searchsorted(xp.asarray(flat), ours, side="right"), onp.searchsorted(flat, x, side="right"))
    same(xp.diff(ours, axis=axis), onp.diff(x, axis=axis))
    same(xp.flip(ours, axis=axis), onp.flip(x, axis))
    for got, wanted in zip(xp.unstack(ours, axis=axis), onp.unstack(x, axis=axis)):
        same(got, wanted)
    same(xp.take(ours, xp.asarray([0, 0]), axis=axis), onp.take(x, [0, 0], axis))
    places = onp.argsort(x, axis=axis)
    same(xp.take_along_axis(ours, xp.asarray(places), axis=axis), onp.take_along_axis(x, places, axis))


def test_special_cases():
    nan, inf = xp.nan, xp.inf
    same(xp.remainder(xp.asarray([1.0, -1.0, 0.0, nan]), 0.0), [nan] * 4)
    assert str(float(xp.remainder(xp.asarray(0.0), -2.0))) == "-0.0"
    assert str(float(xp.sign(xp.asarray(-0.0)))) == "0.0"
    same(xp.round(xp.asarray([0.5, 1.5, 2.5, -0.5, inf])), [0, 2, 2, 0, inf])
    same(xp.logaddexp(xp.asarray([inf, -inf, 0.0]), xp.asarray([inf, -inf, 0.0])), [inf, -inf, onp.log(2)])
    same(xp.clip(xp.asarray([1, 5, 9]), 2, xp.asarray([3, 6, 7])), [2, 5, 7])
    assert xp.unique_values(xp.asarray([nan, nan])).shape == (2,)
    assert xp.where(xp.asarray([True, False]), xp.asarray([1, 2], dtype=xp.int8), 7).dtype == xp.int8
    for call in (lambda: xp.nonzero(xp.asarray(1)), lambda: xp.unstack(xp.asarray(1))):
        with pytest.raises(ValueError, match="no axis"):
            call()
    with pytest.raises(IndexError, match="axis is 3"):
        xp.expand_dims(xp.ones((2,)), 3)
    x = xp.asarray([6, 5], dtype=xp.int32)
    assert ((x & 3) | (x << 1) ^ (x >> 1)).tolist() == [2 | (12 ^ 3), 1 | (10 ^ 2)]
    x |= 8
    assert x.tolist() == [14, 13] and (~x).tolist() == [-15, -14] and (1 << x).tolist() == [2**14, 2**13]


def test_linear_algebra():
    plain = onp.random.default_rng(0).standard_normal((2, 3, 3))
    x, vectors = xp.asarray(plain), xp.asarray(plain[0])
    for name in (
        "det",
        "inv",
        "matrix_norm",
        "svdvals",
        "trace",
        "matrix_rank",
        "matrix_transpose",
        "diagonal",
    ):
        same(getattr(xp.linalg, name)(x), getattr(onp.linalg, name)(plain))
    for ord, axis, keep in ((2, None, True), (1, 0, False), (xp.inf, (0, 2), True)):
        same(
            xp.linalg.vector_norm(x, ord=ord, axis=axis, keepdims=keep),
            onp.linalg.vector_norm(plain, ord=ord, axis=axis, keepdims=keep),
        )
    same(xp.linalg.vecdot(x, vectors), onp.linalg.vecdot(plain, plain[0]))
    same(xp.linalg.cross(x, vectors), onp.linalg.cross(plain, onp.broadcast_to(plain[0], plain.shape)))
    same(xp.linalg.solve(x, vectors), onp.linalg.solve(plain, plain[0]))
    wide = x[:, :2, :]
    u, s, v = xp.linalg.svd(wide)
    assert (u.shape, s.shape, v.shape) == ((2, 2, 2), (2, 2), (2, 3, 3))
    same(v @ v.mT, onp.broadcast_to(onp.eye(3), (2, 3, 3)))
    same((u * s[:, None, :]) @ v[:, :2, :], wide.asnumpy())
    q, r = xp.linalg.qr(x)
    same(q @ r, plain)
    symmetric = x + x.mT
    found = xp.linalg.eigh(symmetric)
    same(symmetric @ found.eigenvectors, (found.eigenvectors * found.eigenvalues[:, None, :]).asnumpy())
    factor = xp.linalg.cholesky(x @ x.mT, upper=True)
    same(factor.mT @ factor, (x @ x.mT).asnumpy())


@QUICK
@given(
    x=STRATEGIES.arrays(dtype=st.sampled_from(["bool", "int64", "float32"]), shape=STRATEGIES.array_shapes())
)
def test_hypothesis_makes_arrays(x):
    assert isinstance(x, np.ndarray) and xp.all(xp.equal(x, x) | xp.not_equal(x, x))
