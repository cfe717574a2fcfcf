# SPDX-License-Identifier: Apache-2.0
"""What has one meaning is taken: texts for objects, NumPy arrays for NDArrays. And what objects print."""

from __future__ import annotations

import pickle

import loomix as mx
import numpy as np
import pytest


def net():
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc"), name="softmax"
    )


def batches():
    rng = np.random.default_rng(3)
    return mx.io.NDArrayIter(rng.normal(size=(8, 3)).astype("float32"), rng.integers(0, 2, 8), 4)


# ---- what objects print ----


@pytest.mark.parametrize(
    "array, text",
    [
        (lambda: mx.nd.array([1, 2]), "\n[1. 2.]\n<NDArray 2 @cpu(0)>"),
        (lambda: mx.nd.array([1, 2], dtype="int32"), "\n[1 2]\n<NDArray 2 @cpu(0) int32>"),
        (
            lambda: mx.nd.array([[1.5, -2]], dtype="bfloat16"),
            "\n[[ 1.5 -2. ]]\n<NDArray 1x2 @cpu(0) bfloat16>",
        ),
        (lambda: mx.nd.array([True], dtype="bool"), "\n[ True]\n<NDArray 1 @cpu(0) bool>"),
        (lambda: mx.nd.zeros((3, 2), dtype="float64").tostype("csr"), "\n<CSRNDArray 3x2 @cpu(0) float64>"),
        (lambda: mx.nd.zeros((3, 2)).tostype("row_sparse"), "\n<RowSparseNDArray 3x2 @cpu(0)>"),
    ],
)
def test_arrays(array, text):
    assert repr(array()) == text


def test_modules():
    module = mx.mod.Module(net())
    assert repr(module) == "<Module: not bound>"
    module.bind([("data", (4, 3))], [("softmax_label", (4,))])
    assert repr(module) == "<Module: data (4, 3) -> softmax_output (4, 2); for training>"
    module.init_params()
    module.init_optimizer()
    assert repr(module).endswith("for training, parameters set, optimizer set>")


def test_iterators_and_batches():
    data = batches()
    assert repr(data) == "<NDArrayIter: batch_size=4; data data (4, 3); label softmax_label (4,)>"
    assert repr(next(data)) == "<DataBatch: data (4, 3); label (4,)>"
    batch = mx.io.DataBatch([mx.nd.zeros((2, 3), dtype="int32")], pad=1)
    assert repr(batch) == "<DataBatch: data (2, 3) int32; pad 1>"
    assert repr(mx.io.DataIter(5)) == "<DataIter: batch_size=5>"


def test_optimizers_stores_and_executors():
    sgd = mx.optimizer.SGD(learning_rate=0.1, momentum=0.9, wd=1e-4)
    assert repr(sgd) == "<SGD: learning_rate=0.1, rescale_grad=1, wd=0.0001, momentum=0.9; 0 updates>"
    assert repr(mx.kv.create("device")) == "<KVStore 'device': worker 0 of 1>"
    executor = net().simple_bind(mx.cpu(), data=(4, 3))
    assert repr(executor) == (
        "<Executor of softmax_output @cpu(0): arguments data (4, 3), fc_weight (2, 3), fc_bias (2,), "
        "softmax_label (4,); 4 with gradients>"
    )
    many = mx.sym.add_n(*(mx.sym.Variable(f"x{i}") for i in range(9)))
    assert "x2 (1,), 6 more;" in repr(many.simple_bind(mx.cpu(), x0=(1,), grad_req="null"))


def test_what_training_is_made_of():
    assert repr(mx.init.Normal(0.5)) == "Normal(sigma=0.5)"
    assert repr(mx.metric.create("acc")) == "<Accuracy 'accuracy'>"
    assert repr(mx.lr_scheduler.FactorScheduler(3, base_lr=0.2)).startswith("FactorScheduler(base_lr=0.2, ")
    items = mx.gluon.data.ArrayDataset(np.ones((5, 3)))
    assert repr(mx.gluon.data.DataLoader(items, 2)) == (
        "<DataLoader: ArrayDataset of 5 items in 3 batches; 0 workers>"
    )
    block = mx.gluon.nn.Dense(2, in_units=3)
    block.initialize()
    trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.5})
    assert (
        repr(trainer)
        == "<Trainer of 2 parameters: <SGD: learning_rate=0.5, rescale_grad=1, momentum=0; 0 updates>>"
    )


def test_format():
    assert f"{mx.nd.array([1.23456]):.3f}" == "1.235"
    assert f"{mx.nd.array([7], dtype='int32'):04d}" == "0007"
    assert f"{mx.nd.ones(2)}" == str(mx.nd.ones(2))
    with pytest.raises(TypeError, match=r"'.3f' is for one number; the array has shape \(2,\)"):
        f"{mx.nd.ones(2):.3f}"


# ---- texts ----


def test_names_of_initializers_and_devices():
    module = mx.mod.Module(net(), context="cpu")
    module.fit(batches(), num_epoch=1, initializer="xavier", optimizer_params={"lr": 0.5})
    assert module._optimizer.lr == 0.5
    assert mx.mod.Module(net(), context=["cpu(0)", "cpu(1)"])._context == [mx.cpu(0), mx.cpu(1)]
    x = mx.nd.zeros(2, ctx="cpu(1)")
    assert x.context == mx.cpu(1)
    assert x.as_in_context("cpu").context == mx.cpu(0) and x.copyto("cpu").context == mx.cpu(0)
    assert x.as_in_context("cpu(1)") is x
    assert net().simple_bind("cpu", data=(4, 3))._ctx == mx.cpu()
    block = mx.gluon.nn.Dense(2, in_units=3)
    block.initialize(ctx="cpu(1)")
    assert block.weight.list_ctx() == [mx.cpu(1)]
    for wrong in ("cpu(", "tpu", "cpu(x)", "cpu(-1)"):
        with pytest.raises(ValueError, match="cpu"):
            mx.mod.Module(net(), context=wrong)
        with pytest.raises(ValueError, match="expected"):
            mx.nd.zeros(2, ctx=wrong)


def test_names_of_optimizers():
    store = mx.kv.create("local")
    store.set_optimizer("sgd")
    store.init("w", mx.nd.ones(2))
    store.push("w", mx.nd.ones(2))
    out = mx.nd.zeros(2)
    store.pull("w", out)
    assert np.allclose(out.asnumpy(), 0.99)
    assert mx.optimizer.create("adam", lr=0.3).lr == 0.3
    assert [made(lr=0.3).lr for made in (mx.optimizer.SGD, mx.optimizer.Adam, mx.optimizer.Ftrl)] == [0.3] * 3
    with pytest.raises(TypeError):
        mx.optimizer.create("adam", lr=0.3, learning_rate=0.2)


# ---- NumPy ----


def test_numpy_operands():
    x, y = mx.nd.array([1, 2]), np.array([10.0, 20.0])
    for result, expected in ((x + y, [11, 22]), (y + x, [11, 22]), (y - x, [9, 18]), (x / y, [0.1, 0.1])):
        assert isinstance(result, mx.nd.NDArray) and result.dtype == np.float32
        assert np.allclose(result.asnumpy(), expected)
    assert (y > x).asnumpy().tolist() == [1, 1]
    assert (x + np.ones((3, 1))).shape == (3, 2)
    x += y
    assert x.asnumpy().tolist() == [11, 22]
    with pytest.raises(
        TypeError, match=r"int32 came together with a numpy.ndarray of float64.*astype\('float64'\)"
    ):
        mx.nd.array([1, 2], dtype="int32") + y


@pytest.mark.parametrize(
    "a, b",
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((2, 3), (5, 3, 4)),
        ((3,), (5, 3, 4)),
        ((6, 1, 2, 3), (5, 3, 4)),
    ],
)
def test_matmul(a, b):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=a).astype("float32"), rng.normal(size=b).astype("float32")
    expected = a @ b
    for left, right in ((mx.nd.array(a), mx.nd.array(b)), (mx.nd.array(a), b), (a, mx.nd.array(b))):
        result = left @ right
        assert isinstance(result, mx.nd.NDArray)
        assert result.shape == (expected.shape or (1,))
        assert np.allclose(result.asnumpy(), expected, atol=1e-5)


def test_matmul_has_gradients_and_errors():
    a, b = mx.nd.ones((2, 3)), mx.nd.full((4, 3, 2), 2)
    a.attach_grad()
    with mx.autograd.record():
        y = (a @ b).sum()
    y.backward()
    assert (a.grad.asnumpy() == 16).all()
    with pytest.raises(ValueError, match=r"\[matmul\] the last axis of \(2, 3\) has 3 elements"):
        a @ mx.nd.ones((2, 3))
    with pytest.raises(TypeError):
        a @ 3


@pytest.mark.parametrize("space", ["nd", "sym"])
def test_lists_of_inputs(space):
    for name, shape in (("stack", (2, 3)), ("concat", (6,)), ("add_n", (3,))):
        function = getattr(getattr(mx, space), name)
        settings = {"dim": 0} if name == "concat" else {}
        if space == "nd":
            assert function([mx.nd.ones(3), mx.nd.zeros(3)], **settings).shape == shape
        else:
            symbol = function((mx.sym.Variable("a"), mx.sym.Variable("b")), **settings)
            assert symbol.infer_shape(a=(3,), b=(3,))[1] == [shape]
    with pytest.raises(TypeError, match="stack"):
        mx.nd.stack([mx.nd.ones(3), 3])


def test_numpys_functions_give_numpys_results():
    x = mx.nd.array([[1, 2], [3, 4]])
    assert np.mean(x) == 2.5 and isinstance(np.mean(x), np.floating)
    assert type(np.concatenate([x, x], axis=1)) is np.ndarray
    assert np.sum(x, axis=0).tolist() == [4, 6] and np.argsort(x, axis=None).tolist() == [0, 1, 2, 3]
    assert np.allclose(x, x.asnumpy()) and np.array_equal(np.where(x > 2, x, 0), [[0, 0], [3, 4]])
    assert np.sqrt(x).dtype == np.float32
    for call in (
        lambda: np.copyto(x, 0),
        lambda: np.fill_diagonal(x, 0),
        lambda: np.sum(x, axis=0, out=x[0]),
    ):
        with pytest.raises(TypeError, match=r"\[NDArray\] numpy\."):
            call()


def test_numpy_arrays_in_batches():
    module = mx.mod.Module(net())
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_params("ones")
    batch = mx.io.DataBatch([np.ones((2, 3))], [np.array([0, 1])])
    assert [array.dtype for array in batch.data + batch.label] == [np.float32, np.int64]
    module.forward_backward(batch)
    metric = mx.metric.create("acc")
    module.update_metric(metric, batch.label)
    assert metric.get()[1] == 0.5


@pytest.mark.parametrize("dtype, wider", [("int16", "int32"), ("uint16", "int32"), ("uint32", "int64")])
def test_small_integers_over_dlpack(dtype, wider):
    values = np.array([1, 2, np.iinfo(dtype).max], dtype)
    for source in (values, values.__dlpack__()):
        array = mx.nd.from_dlpack(source)
        assert array.dtype == np.dtype(wider) and array.asnumpy().tolist() == values.tolist()
    with pytest.raises(TypeError, match="from_dlpack"):
        mx.nd.from_dlpack(np.array([1j]))


# ---- pickles ----


def test_pickled_modules():
    data = batches()
    module = mx.mod.Module(net(), context=mx.cpu(1))
    fresh = pickle.loads(pickle.dumps(module))
    assert fresh.symbol.tojson() == module.symbol.tojson() and not fresh.binded
    module.fit(data, num_epoch=1, optimizer="adam", optimizer_params={"learning_rate": 0.1})
    copy = pickle.loads(pickle.dumps(module))
    assert copy._context == [mx.cpu(1)] and repr(copy) == repr(module)
    data.reset()
    for batch in data:  # the optimizer's states have come along
        for one in (module, copy):
            one.forward_backward(batch)
            one.update()
    for own, other in zip(module.get_params(), copy.get_params()):
        assert own.keys() == other.keys()
        for name in own:
            assert np.array_equal(own[name].asnumpy(), other[name].asnumpy())
    assert np.array_equal(module.predict(data).asnumpy(), copy.predict(data).asnumpy())
    assert np.array_equal(
        module.predict(data).asnumpy(), pickle.loads(pickle.dumps(copy)).predict(data).asnumpy()
    )


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (mx.nd.ones(1).tostype("row_sparse"), "stored as row_sparse; use tostype"),
    ],
)
def test_what_has_no_numpy_form_says_so(value, error):
    assert value.as_nd_ndarray() is value
    with pytest.raises((NotImplementedError, TypeError), match=rf"as_np_ndarray\].*{error}"):
        value.as_np_ndarray()


def reprs(tmp_path):
    """Objects, and what their reprs must hold."""
    data, vision = mx.gluon.data, mx.gluon.data.vision.transforms
    batches = data.BatchSampler(data.SequentialSampler(4), 2)
    path = str(tmp_path / "x.rec")
    with mx.recordio.MXRecordIO(path, "w") as writer:
        writer.write(b"x")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax")
    with pytest.warns(DeprecationWarning):
        model = mx.model.FeedForward(net, num_epoch=3)
    dense = mx.gluon.nn.Dense(2, in_units=3)
    dense.initialize()
    trainer = mx.gluon.Trainer(dense.collect_params(), "sgd")
    return [
        (vision.Resize((6, 4)), "Resize(size=(6, 4), keep_ratio=False, interpolation=1)"),
        (vision.RandomResizedCrop(4), "RandomResizedCrop(size=4, scale=(0.08, 1.0), ratio="),
        (vision.CenterCrop(4), "CenterCrop(size=4, interpolation=1)"),
        (vision.Normalize(0.5, 2), "Normalize(mean=(0.5,), std=(2,))"),
        (vision.RandomHue(0.1), "RandomHue(hue=0.1)"),
        (vision.ToTensor(), "ToTensor()"),
        (vision.Compose([vision.ToTensor()]), "ToTensor()"),
        (data.ArrayDataset([1, 2, 3]), "<ArrayDataset: 3 samples>"),
        (data.SimpleDataset([1, 2]).transform(abs), "2 samples"),
        (data.Dataset(), "<Dataset>"),
        (data.SequentialSampler(4, 1), "SequentialSampler(length=4, start=1)"),
        (data.RandomSampler(4), "RandomSampler(length=4)"),
        (batches, "BatchSampler(SequentialSampler(length=4, start=0), batch_size=2, last_batch='keep')"),
        (data.FilterSampler(bool, [0, 1]), "<FilterSampler: 1 samples>"),
        (mx.gluon.contrib.data.IntervalSampler(4, 2), "IntervalSampler(length=4, interval=2, rollover=True)"),
        (mx.callback.Speedometer(32, 10), "Speedometer(batch_size=32, frequent=10, auto_reset=True)"),
        (mx.callback.ProgressBar(10), "ProgressBar(total=10, length=80)"),
        (mx.mon.Monitor(5, pattern=".*weight"), "Monitor(interval=5, pattern='.*weight', sort=False"),
        (mx.recordio.MXRecordIO(path, "r"), f"<MXRecordIO {path!r}: read, open>"),
        (writer, "written, closed"),
        (model, "num_epoch=3, optimizer='sgd', without parameters"),
        (
            mx.gluon.contrib.estimator.Estimator(dense, mx.gluon.loss.L2Loss(), trainer=trainer),
            f"<Estimator of {dense.name}: ",
        ),
    ]


def test_reprs_say_what_an_object_was_made_of(tmp_path):
    for thing, text in reprs(tmp_path):
        assert text in repr(thing), repr(thing)
        assert " object at 0x" not in repr(thing)
