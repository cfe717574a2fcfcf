# SPDX-License-Identifier: Apache-2.0
"""Arrays: making, reading, arithmetic, shapes, copies, files. Expected values come from NumPy."""

import copy
import operator
import pickle

import loomix as mx
import numpy as np
import pytest

nd = mx.nd
DTYPES = ["float16", "float32", "float64", "int8", "uint8", "int32", "int64"]


def values(*shape, dtype="float32", seed=0):
    return (np.random.RandomState(seed).uniform(1, 9, shape)).astype(dtype)


def same(array, expected, rtol=1e-6):
    expected = np.asarray(expected)
    got = array.asnumpy()
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=rtol)


@pytest.mark.parametrize("dtype", DTYPES + ["bool"])
def test_array_keeps_values_of_the_type_asked_for(dtype):
    data = values(3, 4).astype(dtype)
    array = nd.array(data, dtype=dtype)
    assert array.dtype == np.dtype(dtype).type
    assert array.asnumpy().dtype == np.dtype(dtype)
    same(array, data)


def test_array_is_float32_whatever_the_source():
    assert nd.array(np.arange(3)).dtype == np.float32
    assert nd.array([True, False]).dtype == np.float32
    assert nd.array(nd.ones(2, dtype="int32")).dtype == np.int32


@pytest.mark.parametrize("bad", ["abc", [[1, 2], [3]], object()])
def test_array_of_what_is_no_array(bad):
    with pytest.raises(TypeError):
        nd.array(bad)


@pytest.mark.parametrize("value", ([3.0, 1.00390625], np.float64([3, 1.00390625]), np.int32([3, 1])))
def test_numbers_that_are_assigned_are_rounded_to_bfloat16(value):
    for array in (nd.zeros((2,), dtype="bfloat16"), mx.np.zeros((2,), dtype="bfloat16")):
        for key in (slice(None), [0, 1]):
            array[:] = 0
            array[key] = value
            assert array.astype("float32").asnumpy().tolist() == [3, 1]
        bits = array.asnumpy()
        array[:] = 0
        array[:] = bits
        assert array.astype("float32").asnumpy().tolist() == [3, 1]
    array = nd.zeros((2,), dtype="bfloat16")
    array._sync_copyfrom(value)
    assert array.astype("float32").asnumpy().tolist() == [3, 1]


def test_bfloat16_rounds_to_its_eight_bits():
    array = nd.array([1.0, 1.00390625, 3.14159], dtype="bfloat16")
    same(array.astype("float32"), [1.0, 1.0, 3.140625])
    assert array.dtype.names == ("bfloat16",)


def test_making():
    same(nd.zeros((2, 3)), np.zeros((2, 3)))
    same(nd.ones(3, dtype="int32"), np.ones(3))
    same(nd.full((2,), 7), [7, 7])
    same(nd.arange(2, 8, 2), [2, 4, 6])
    same(nd.arange(3, repeat=2), [0, 0, 1, 1, 2, 2])
    same(nd.linspace(0, 1, 5), np.linspace(0, 1, 5))
    same(nd.eye(3, 4, 1), np.eye(3, 4, 1))
    assert nd.empty((2, 3), dtype="float64").dtype == np.float64
    assert nd.zeros(2, ctx=mx.cpu(1)).context == mx.cpu(1)


def test_properties():
    array = nd.array(values(2, 3, 4))
    assert (array.shape, array.ndim, array.size, len(array)) == ((2, 3, 4), 3, 24, 2)
    assert array.context == array.ctx == mx.cpu()
    assert array.stype == "default"
    assert repr(nd.array([1, 2])) == "\n[1. 2.]\n<NDArray 2 @cpu(0)>"


OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.mod,
    operator.pow,
    operator.lt,
    operator.le,
    operator.eq,
    operator.ne,
    operator.gt,
    operator.ge,
]


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((2, 3), (1, 3)), ((2, 1, 3), (4, 1))])
def test_arithmetic_of_arrays(function, shapes):
    left, right = values(*shapes[0]), values(*shapes[1], seed=1)
    right.flat[0] = left.flat[0]
    same(function(nd.array(left), nd.array(right)), function(left, right).astype("float32"), rtol=1e-5)


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("scalar", [2, 2.5, np.float32(3), np.int64(2), True])
def test_arithmetic_with_numbers(function, scalar):
    data = values(2, 3)
    number = np.float32(scalar)
    same(function(nd.array(data), scalar), function(data, number).astype("float32"), rtol=1e-5)
    same(function(scalar, nd.array(data)), function(number, data).astype("float32"), rtol=1e-5)


@pytest.mark.parametrize(
    "function", [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.imod]
)
def test_in_place_keeps_the_object_and_its_views(function):
    data = values(3, 2)
    array = nd.array(data)
    view = array[1]
    result = function(array, 2)
    assert result is array
    function(data, np.float32(2))
    same(array, data, rtol=1e-5)
    same(view, data[1], rtol=1e-5)
    function(array, nd.array(data))
    same(array, function(data.copy(), data), rtol=1e-5)


def test_unary():
    data = values(3) - 5
    same(-nd.array(data), -data)
    same(abs(nd.array(data)), abs(data))


@pytest.mark.filterwarnings("ignore::loomix.habits.HabitWarning")
def test_integers_stay_integers():
    array = nd.array([1, 2, 3], dtype="int32")
    assert (array + 2.5).dtype == np.int32
    same(array + 2.5, [3, 4, 5])
    same(array / 2, [0, 1, 1])


@pytest.mark.parametrize("other", ["a", None, [1, 2], object()])
def test_operands_of_other_kinds(other):
    with pytest.raises(TypeError):
        nd.ones(2) + other
    with pytest.raises(TypeError):
        other * nd.ones(2)


def test_equality_with_none_is_false():
    assert (nd.ones(2) == None) is False  # noqa: E711
    assert (nd.ones(2) != None) is True  # noqa: E711


def test_arrays_are_hashable_by_identity():
    a, b = nd.ones(1), nd.ones(1)
    assert len({a, b, a}) == 2


def test_conversions():
    assert float(nd.array([2.5])) == 2.5
    assert int(nd.array([2.5])) == 2
    assert [10, 20, 30][nd.array([1], dtype="int32")] == 20
    assert bool(nd.array([0])) is False and bool(nd.array([2])) is True
    assert nd.array([3]).asscalar() == 3 and nd.array([[3]]).item() == 3.0
    with pytest.raises(ValueError, match="neither true nor false"):
        bool(nd.ones(2))
    with pytest.raises(ValueError, match="expected one element"):
        nd.ones(2).asscalar()
    with pytest.raises(TypeError):
        [1, 2][nd.array([1.0])]


def test_iteration():
    data = values(3, 2)
    assert len(list(nd.array(data))) == 3
    for row, expected in zip(nd.array(data), data):
        same(row, expected)


def test_numpy_reads_arrays():
    data = values(2, 3)
    array = nd.array(data)
    assert np.array_equal(np.asarray(array), data)
    assert np.asarray(array, dtype="float64").dtype == np.float64
    same(nd.array(np.sqrt(array)), np.sqrt(data))
    assert np.array_equal(memoryview(array), data)
    assert np.array_equal(np.from_dlpack(array), data)


def test_dlpack_shares_memory():
    array = nd.zeros((2, 3))
    other = np.from_dlpack(array)
    array[:] = 5
    array.wait_to_read()
    assert (other == 5).all()
    source = np.arange(6, dtype="float32").reshape(2, 3)
    shared = nd.from_dlpack(source)
    source[0, 0] = 9
    same(shared, source)
    same(nd.from_dlpack(source.T), source.T)
    capsule = array.to_dlpack_for_write()
    back = nd.from_dlpack(capsule)
    back[0] = 1
    same(array, [[1, 1, 1], [5, 5, 5]])
    with pytest.raises(TypeError):
        nd.from_dlpack(capsule)


def test_from_numpy_shares_memory():
    source = values(2, 2)
    shared = nd.from_numpy(source)
    shared += 1
    shared.wait_to_read()
    assert np.array_equal(source, shared.asnumpy())
    assert not source.flags.writeable
    with pytest.raises(ValueError):
        nd.from_numpy(values(3, 2).T)
    copied = values(2)
    nd.from_numpy(copied, zero_copy=False)[:] = 0
    assert copied.flags.writeable and copied.all()


def test_memory_outlives_the_source():
    array = nd.from_numpy(values(1000))
    view = np.from_dlpack(nd.ones(1000))
    assert array.asnumpy().shape == (1000,) and view.sum() == 1000


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((-1,), (24,)),
        ((0, -1), (2, 12)),
        ((4, -1), (4, 6)),
        ((-2,), (2, 3, 4)),
        ((-3, 0), (6, 4)),
        ((-4, 1, 2, 0, 0), (1, 2, 3, 4)),
        ((0, -4, -1, 3, 0), (2, 1, 3, 4)),
    ],
)
def test_reshape(shape, expected):
    data = values(2, 3, 4)
    array = nd.array(data)
    same(array.reshape(shape), data.reshape(expected))
    same(array.reshape(*shape), data.reshape(expected))
    same(array.reshape(shape=shape), data.reshape(expected))


def test_reshape_shares_memory():
    array = nd.zeros((2, 3))
    array.reshape((3, 2))[0] = 1
    array.reshape((0, -1))[1, 2] = 7
    same(array, [[1, 1, 0], [0, 0, 7]])


def test_reshape_reads_from_the_right():
    assert nd.zeros((10, 5, 4)).reshape((-1, 0), reverse=True).shape == (50, 4)


@pytest.mark.parametrize("shape", [(5, 5), (2, -1, -1)])
def test_reshape_of_another_size(shape):
    with pytest.raises(ValueError):
        nd.zeros((2, 3)).reshape(shape)
    with pytest.raises(TypeError):
        nd.zeros((2, 3)).reshape()


def test_shape_methods():
    data = values(2, 1, 3)
    array = nd.array(data)
    same(array.T, data.T)
    same(array.transpose((1, 0, 2)), data.transpose(1, 0, 2))
    same(array.expand_dims(1), data[:, None])
    same(array.squeeze(), data.squeeze())
    same(array.squeeze(axis=1), data.squeeze(1))
    same(array.flatten(), data.reshape(2, 3))
    same(array.swapaxes(0, 2), data.swapaxes(0, 2))
    same(array.broadcast_to((2, 4, 3)), np.broadcast_to(data, (2, 4, 3)))
    same(nd.array([1, 2, 3]).broadcast_to((2, 3)), [[1, 2, 3]] * 2)
    same(nd.moveaxis(array, 0, -1), np.moveaxis(data, 0, -1))
    same(nd.moveaxis(array, (0, 1), (2, 0)), np.moveaxis(data, (0, 1), (2, 0)))
    array.expand_dims(0, inplace=True)[:] = 0
    assert not array.asnumpy().any()


def test_fluent_methods_are_the_operators():
    data = values(3, 4)
    array = nd.array(data)
    same(array.sum(axis=1), data.sum(1), rtol=1e-5)
    same(array.exp(), np.exp(data), rtol=1e-5)
    same(array.max(axis=0), data.max(0))
    same(array.argmax(axis=1), data.argmax(1))
    same(array.clip(2, 3), data.clip(2, 3))
    same(array.slice_axis(axis=1, begin=1, end=3), data[:, 1:3])
    same(array.tile((2, 1)), np.tile(data, (2, 1)))
    assert [part.shape for part in array.split(2)] == [(3, 2), (3, 2)]
    assert array.sum().shape == (1,)


def test_joining():
    a, b = values(2, 3), values(2, 3, seed=1)
    same(nd.concat(nd.array(a), nd.array(b), dim=0), np.concatenate([a, b]))
    same(nd.concatenate([nd.array(a), nd.array(b)], axis=1), np.concatenate([a, b], 1))
    same(nd.stack(nd.array(a), nd.array(b), axis=1), np.stack([a, b], 1))
    parts = nd.split_v2(nd.array(a), (1, 2), axis=1)
    assert [part.shape for part in parts] == [(2, 1), (2, 1), (2, 1)]


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "modulo", "power"])
def test_functions_of_two(name):
    a, b = values(2, 3), values(1, 3, seed=1)
    function = {"modulo": np.mod}.get(name) or getattr(np, name)
    same(getattr(nd, name)(nd.array(a), nd.array(b)), function(a, b), rtol=1e-5)
    same(getattr(nd, name)(nd.array(a), 2), function(a, np.float32(2)), rtol=1e-5)
    same(getattr(nd, name)(2, nd.array(a)), function(np.float32(2), a), rtol=1e-5)
    assert getattr(nd, name)(7, 2) == function(7, 2)


def test_comparing_functions():
    a, b = nd.array([1, 2, 3]), nd.array([3, 2, 1])
    same(nd.maximum(a, b), [3, 2, 3])
    same(nd.minimum(a, 2), [1, 2, 2])
    same(nd.greater(2, a), [1, 0, 0])
    same(nd.lesser_equal(a, b), [1, 1, 0])
    same(nd.logical_and(a, nd.array([0, 1, 1])), [0, 1, 1])
    same(nd.logical_xor(nd.array([0, 1, 1]), nd.array([0, 0, 1])), [0, 1, 0])


def test_copies_are_independent():
    array = nd.ones((2, 2))
    copies = [
        array.copy(),
        copy.copy(array),
        copy.deepcopy(array),
        array.astype("float32"),
        array.copyto(mx.cpu(1)),
    ]
    array[:] = 0
    for item in copies:
        assert item.asnumpy().all()
    assert copies[-1].context == mx.cpu(1)
    assert array.as_in_context(mx.cpu()) is array
    assert array.astype("float32", copy=False) is array
    target = nd.zeros((2, 2), dtype="int32")
    assert copies[0].copyto(target) is target
    assert target.asnumpy().tolist() == [[1, 1], [1, 1]]
    with pytest.raises(ValueError):
        array.copyto(nd.zeros(3))


def test_detach_shares_memory():
    array = nd.ones(2)
    array.detach()[:] = 3
    same(array, [3, 3])


@pytest.mark.parametrize("dtype", DTYPES)
def test_pickle(dtype):
    array = nd.array(values(2, 3), dtype=dtype)
    again = pickle.loads(pickle.dumps(array))
    assert again.dtype == array.dtype
    same(again, array.asnumpy())
    assert set(array.__getstate__()) == {"handle"} and isinstance(array.__getstate__()["handle"], bytearray)


def test_files(tmp_path):
    a, b = nd.array(values(2, 3)), nd.arange(4, dtype="int64")
    nd.save(tmp_path / "list", [a, b])
    nd.save(str(tmp_path / "dict"), {"a": a, "b": b})
    nd.save(str(tmp_path / "one"), a)
    loaded = nd.load(tmp_path / "list")
    assert isinstance(loaded, list) and len(loaded) == 2 and len(nd.load(str(tmp_path / "one"))) == 1
    same(loaded[1], b.asnumpy())
    named = nd.load_frombuffer((tmp_path / "dict").read_bytes())
    assert list(named) == ["a", "b"]
    same(named["a"], a.asnumpy())
    with pytest.raises(OSError):
        nd.load(str(tmp_path / "missing"))
    (tmp_path / "cut").write_bytes((tmp_path / "dict").read_bytes()[:50])
    with pytest.raises(OSError):
        nd.load(str(tmp_path / "cut"))
    with pytest.raises(TypeError):
        nd.save(str(tmp_path / "bad"), {"a": 1})
    with pytest.raises(TypeError):
        nd.save(str(tmp_path / "bad"), 1)


def test_subclasses():
    class Mine(nd.NDArray):
        def double(self):
            return self * 2

    array = Mine(nd.ones(2))
    same(array.double(), [2, 2])
    same(array + nd.ones(2), [2, 2])


def test_empty_handles_say_so():
    array = nd.NDArray(None)
    assert array.shape == () and array.size == 0
    for use in (
        array.asnumpy,
        lambda: array + 1,
        lambda: array[0],
        lambda: nd.exp(array),
        lambda: len(array),
    ):
        with pytest.raises((ValueError, TypeError, IndexError)):
            use()


def test_random_follows_its_seed():
    mx.random.seed(3)
    a = nd.random.uniform(2, 3, shape=(1000,))
    mx.random.seed(3)
    b = nd.random.uniform(2, 3, shape=(1000,))
    same(a, b.asnumpy())
    assert (a.asnumpy() >= 2).all() and (a.asnumpy() < 3).all() and abs(float(a.mean()) - 2.5) < 0.05
    state = mx.random.get_state()
    c = nd.random.normal(shape=4)
    mx.random.set_state(state)
    same(nd.random.normal(shape=4), c.asnumpy())
    assert nd.random.randint(0, 10, (3,)).dtype == np.int32
    assert nd.random.randn(2, 3).shape == (2, 3)
    assert nd.random.uniform(nd.array([0, 1]), nd.array([1, 2]), shape=3).shape == (2, 3)
    assert nd.random.uniform(shape=2, dtype="float64").dtype == np.float64
    assert sorted(nd.random.shuffle(nd.arange(5)).asnumpy()) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError):
        nd.random.uniform(0, nd.ones(1))


def test_sparse():
    dense = np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3]], "float32")
    matrix = nd.array(dense).tostype("csr")
    assert isinstance(matrix, nd.CSRNDArray) and matrix.stype == "csr" and matrix.shape == (3, 3)
    assert matrix.data.asnumpy().tolist() == [1, 2, 3]
    assert matrix.indices.asnumpy().tolist() == [1, 0, 2] and matrix.indptr.asnumpy().tolist() == [0, 1, 1, 3]
    same(matrix, dense)
    same(matrix[1:3], dense[1:3])
    same(matrix.tostype("default") * 2, dense * 2)
    again = nd.sparse.csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=(3, 3))
    same(again, dense)
    rows = nd.sparse.row_sparse_array(([[1, 2], [3, 4]], [3, 1]), shape=(5, 2))
    assert rows.indices.asnumpy().tolist() == [1, 3]
    same(rows, [[0, 0], [3, 4], [0, 0], [1, 2], [0, 0]])
    same(rows.retain(nd.array([1])), [[0, 0], [3, 4], [0, 0], [0, 0], [0, 0]])
    same(nd.sparse.zeros("row_sparse", (2, 2)), np.zeros((2, 2)))
    same(pickle.loads(pickle.dumps(matrix)), dense)
    assert matrix.astype("float64").dtype == np.float64
    with pytest.raises(IndexError):
        nd.sparse.csr_matrix(([1.0], [7], [0, 1]), shape=(1, 3)).asnumpy()
    with pytest.raises(ValueError):
        nd.ones(3).tostype("csr")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_histogram(dtype):
    values = np.array([0, 1, 1, 2, 5, 10, 10, 3, 7, -4, 12]).astype(dtype)
    counts, edges = nd.histogram(nd.array(values, dtype=dtype), bins=5, range=(0, 10))
    want, want_edges = np.histogram(values, bins=5, range=(0, 10))
    assert counts.asnumpy().tolist() == want.tolist() and counts.dtype == np.int64
    np.testing.assert_allclose(edges.asnumpy(), want_edges)
    given = nd.array([0, 1, 3, 10], dtype=dtype)
    counts, edges = nd.histogram(nd.array(values, dtype=dtype), bins=given)
    assert counts.asnumpy().tolist() == np.histogram(values, bins=[0, 1, 3, 10])[0].tolist()
    assert edges.dtype == np.dtype(dtype)
    counts, edges = nd.histogram(nd.array(values, dtype=dtype), bins=3)
    want, want_edges = np.histogram(values, bins=3)
    assert edges.dtype == counts.dtype == np.float32  # as in MXNet, whatever the values are
    np.testing.assert_allclose(edges.asnumpy(), want_edges, rtol=1e-6)
    assert counts.asnumpy().tolist() == want.tolist()
    symbol = mx.sym.histogram(mx.sym.var("x"), bins=5, range=(0, 10))
    counts = symbol.bind(mx.cpu(), {"x": nd.array(values)}).forward()[0]
    assert counts.asnumpy().tolist() == np.histogram(values, bins=5, range=(0, 10))[0].tolist()


def test_mistakes_of_histogram():
    x = nd.array([1.0, 2.0])
    with pytest.raises(ValueError, match="bin_cnt"):
        nd.histogram(x, bins=0, range=(0, 1))
    with pytest.raises(ValueError, match="range"):
        nd.histogram(x, bins=2, range=(1, 0))
    with pytest.raises(ValueError, match="edges"):
        nd.histogram(x, bins=nd.ones((2, 2)))
    with pytest.raises(ValueError, match="bins is of type tuple"):
        nd.histogram(x, bins=(1, 2))
    with pytest.raises(ValueError, match="rising"):
        nd.histogram(x, bins=nd.array([2.0, 1.0]))[0].wait_to_read()


def test_onehot_encode():
    out = nd.full((3, 4), 7)
    assert nd.onehot_encode(nd.array([2, 0, 9]), out) is out
    assert out.asnumpy().tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    with pytest.raises(ValueError):
        nd.onehot_encode(nd.array([2, 0]), out)


MAKERS = {
    "zeros": lambda shape: nd.zeros(shape),
    "ones": lambda shape: nd.ones(shape),
    "uniform": lambda shape: nd.random.uniform(shape=shape),
    "sym": lambda shape: mx.sym.zeros(shape).eval()[0],
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0,)])
def test_shapes_without_elements(maker, shape):
    with pytest.raises(ValueError, match="np_shape|does not follow"):
        MAKERS[maker](shape)
    with mx.util.np_shape():
        array = MAKERS[maker](shape)
        assert array.shape == array.asnumpy().shape == shape
        assert (array + 1).shape == shape
    with pytest.raises(ValueError):
        MAKERS[maker](shape)


def test_scalars_and_numpy_shapes():
    with pytest.raises(ValueError, match="np_shape"):
        nd.zeros(())
    with mx.util.np_shape():
        assert nd.zeros(()).asnumpy() == 0 and nd.ones(()).shape == ()
        assert nd.arange(0).shape == (0,)
        x = mx.sym.var("x") * 2
        assert x.simple_bind(mx.cpu(), x=(0, 3)).forward()[0].shape == (0, 3)
        assert x.infer_shape(x=(0, 3))[1] == [(0, 3)]
    with pytest.raises(ValueError, match="0 is unknown"):
        x.simple_bind(mx.cpu(), x=(0, 3))
    with pytest.raises(ValueError):
        nd.arange(0)
    mx.util.set_np()
    try:
        assert nd.zeros((0, 2)).shape == (0, 2)
    finally:
        mx.util.reset_np()
    assert not mx.util.is_np_shape()


@pytest.mark.parametrize("shape", [3, np.int64(3), (3,), [3]])
def test_shapes_of_created_arrays(shape):
    made = [nd.zeros(shape), nd.zeros(shape=shape), nd.ones(shape=shape), nd.full(shape=shape, val=2)]
    made += [nd.empty(shape=shape), nd.empty(shape)]
    for name in ("uniform", "normal", "poisson", "exponential", "gamma"):
        made += [getattr(nd.random, name)(shape=shape), getattr(mx.random, name)(shape=shape)]
    for name in ("negative_binomial", "generalized_negative_binomial"):
        made.append(getattr(nd.random, name)(shape=shape))
    made += [nd.random.randint(0, 5, shape=shape), nd.random.multinomial(nd.array([0.5, 0.5]), shape=shape)]
    made += [nd.random_uniform(shape=shape), nd.random_normal(shape=shape)]
    assert [array.shape for array in made] == [(3,)] * len(made)
