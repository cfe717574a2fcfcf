# SPDX-License-Identifier: Apache-2.0
"""Gluon in NumPy mode: parameters are arrays of ``mx.np``."""

import loomix as mx
import numpy as onp
import pytest
from loomix import autograd, gluon, np, npx
from loomix.gluon import nn, rnn


@pytest.fixture
def numpy_mode():
    npx.set_np()
    yield
    npx.reset_np()


def test_parameters_are_arrays_of_np(numpy_mode):
    weight = gluon.Parameter("w", shape=(2, 3))
    weight.initialize()
    arrays = [weight.data(), weight.grad(), *weight.list_data(), *weight.list_grad(), weight._reduce()]
    assert all(type(array) is np.ndarray for array in arrays)
    assert weight.data() is weight.data()
    weight.cast("float16")
    assert type(weight.data()) is np.ndarray and weight.data().dtype == onp.float16
    assert type(gluon.Constant("c", [1.0]).value) is np.ndarray
    seen = []

    class Init(mx.init.Initializer):
        def _init_weight(self, name, array):
            seen.append(type(array))
            array[:] = 2

    weight.initialize(Init(), force_reinit=True)
    assert seen == [np.ndarray] and float(weight.data().sum()) == 12


def test_parameters_outside_of_it_are_arrays_of_nd(tmp_path):
    with mx.util.np_shape(), mx.util.np_array():
        net = nn.Dense(2, in_units=3)
        net.initialize()
        assert type(net.weight.data()) is np.ndarray
        net.save_parameters(str(tmp_path / "net.params"))
    other = nn.Dense(2, in_units=3)
    with mx.util.np_shape():  # which files of this mode ask for
        other.load_parameters(str(tmp_path / "net.params"))
    assert type(other.weight.data()) is mx.nd.NDArray
    other.collect_params().reset_ctx(mx.cpu())
    onp.testing.assert_array_equal(other.weight.data().asnumpy(), net.weight.data().asnumpy())


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "lamb"])
def test_training_gives_what_it_gives_without(hybridize, optimizer):
    def train():
        mx.random.seed(3)
        net = nn.HybridSequential()
        net.add(rnn.LSTM(4, layout="NTC"), nn.BatchNorm(axis=2), nn.Dense(3))
        net.initialize(mx.init.Xavier())
        if hybridize:
            net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1})
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        rng = onp.random.RandomState(0)
        make = np.array if mx.util.is_np_array() else mx.nd.array
        x, y = make(rng.rand(5, 2, 3).astype("float32")), make(rng.randint(0, 3, 5).astype("float32"))
        for _ in range(3):
            with autograd.record():
                out = loss(net(x), y)
            out.backward()
            trainer.step(5)
        return [out.asnumpy(), *(p.data().asnumpy() for p in net.collect_params().values())]

    plain = train()
    npx.set_np()
    try:
        for a, b in zip(plain, train()):
            onp.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
    finally:
        npx.reset_np()


def test_shared_parameters_of_open_shape(numpy_mode):
    params = gluon.ParameterDict("net_")
    first = params.get("w", shape=(2, 0), allow_deferred_init=True)
    assert params.get("w", shape=(0, 3)) is first and first.shape == (2, 3)


def test_texts_of_open_sizes(numpy_mode):
    assert repr(rnn.LSTMCell(4)) == "LSTMCell(None -> 16)"
    assert "None -> 2" in repr(nn.Conv2D(2, 3))


def test_rows_are_arrays_of_nd(numpy_mode):
    param = gluon.Parameter("w", shape=(4, 2), stype="row_sparse", grad_stype="row_sparse")
    param.initialize()
    assert param._data[0].stype == "row_sparse"


def metrics():
    """Each metric with labels and predictions that it takes."""
    rng = onp.random.RandomState(0)
    classes, scores = rng.randint(0, 3, 8), rng.dirichlet(onp.ones(3), 8).astype("float32")
    two, chances = rng.randint(0, 2, 8), rng.dirichlet(onp.ones(2), 8).astype("float32")
    numbers, others = rng.rand(8, 1).astype("float32"), rng.rand(8, 1).astype("float32")
    metric = mx.metric
    return {
        "accuracy": (metric.Accuracy, classes, scores),
        "top_k": (lambda: metric.TopKAccuracy(2), classes, scores),
        "cross_entropy": (metric.CrossEntropy, classes, scores),
        "likelihood": (metric.NegativeLogLikelihood, classes, scores),
        "perplexity": (lambda: metric.Perplexity(None), classes, scores),
        "perplexity_ignoring": (lambda: metric.Perplexity(1), classes, scores),
        "pcc": (metric.PCC, classes, scores),
        "f1": (metric.F1, two, chances),
        "mcc": (metric.MCC, two, chances),
        "mae": (metric.MAE, numbers, others),
        "mse": (metric.MSE, numbers, others),
        "rmse": (metric.RMSE, numbers, others),
        "pearson": (metric.PearsonCorrelation, numbers, others),
        "loss": (metric.Loss, numbers, others),
        "custom": (lambda: metric.CustomMetric(lambda label, pred: (label - pred).sum()), numbers, others),
        "several": (lambda: metric.CompositeEvalMetric([metric.MAE(), metric.MSE()]), numbers, others),
    }


@pytest.mark.parametrize("name", metrics())
def test_metrics_give_what_they_give_without(name, numpy_mode):
    make, labels, predictions = metrics()[name]
    ours, usual = make(), make()
    for _ in range(2):
        ours.update([np.array(labels, dtype=labels.dtype)], [np.array(predictions, dtype=predictions.dtype)])
    npx.reset_np()
    for _ in range(2):
        usual.update([mx.nd.array(labels, dtype=labels.dtype)], [mx.nd.array(predictions)])
    assert ours.get()[0] == usual.get()[0]
    onp.testing.assert_allclose(ours.get()[1], usual.get()[1], rtol=1e-6)
    assert all(isinstance(value, (float, int)) for value in onp.ravel(ours.get()[1]).tolist())


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_of_numpys_arrays_are_of_np(workers, numpy_mode):
    data = gluon.data.ArrayDataset(onp.ones((4, 3), "float32"), onp.arange(4))
    for pictures, labels in gluon.data.DataLoader(data, batch_size=2, num_workers=workers):
        assert type(pictures) is np.ndarray and type(labels) is np.ndarray and labels.dtype == onp.int64
