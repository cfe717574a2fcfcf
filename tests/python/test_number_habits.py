# SPDX-License-Identifier: Apache-2.0
"""Numbers that scripts trust: metrics of every floating type, padded batches, initial biases."""

import loomix as mx
import numpy as np
import pytest
from loomix import nd
from loomix.module.unpadded import Unpadded

FLOATING = ("float16", "bfloat16", "float32", "float64")
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-6}
REGRESSION = ("mae", "mse", "rmse", "pearsonr")
CLASSES = ("acc", "ce", "nll_loss", "perplexity", "top_k_acc", "f1", "mcc", "pcc", "loss")


def value_of(name, label, pred, dtype):
    arguments = {"perplexity": {"ignore_label": None}, "top_k_acc": {"top_k": 2}}.get(name, {})
    metric = mx.metric.create(name, **arguments)
    metric.update([nd.array(label)], [nd.array(pred).astype(dtype)])
    return metric.get()[1]


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("name", REGRESSION + CLASSES)
def test_metrics_of_short_types_agree_with_float64(name, dtype):
    rng = np.random.RandomState(3)
    rows, classes = 400, 2 if name in ("f1", "mcc") else 5
    if name in REGRESSION:
        label = rng.randn(rows)
        pred = label + rng.randn(rows)
    else:
        label = rng.randint(0, classes, rows)
        pred = rng.dirichlet(np.ones(classes), rows)
    rounded = nd.array(pred, dtype="float64").astype(dtype).astype("float64").asnumpy()
    right = value_of(name, label, rounded, "float64")
    np.testing.assert_allclose(value_of(name, label, rounded, dtype), right, TOLERANCE[dtype])


def test_small_probabilities_are_not_lost():
    pred = nd.array([[0.5, 0.5], [1.0, 0.0]]).astype("bfloat16")
    metric = mx.metric.create("ce")
    metric.update([nd.array([0, 1])], [pred])
    np.testing.assert_allclose(metric.get()[1], (-np.log(0.5) - np.log(1e-12)) / 2, 1e-5)


@pytest.mark.parametrize(
    "name", ("acc", "ce", "nll_loss", "mae", "mse", "rmse", "f1", "mcc", "pearsonr", "pcc", "loss")
)
def test_metrics_are_made_by_the_names_that_they_show(name):
    shown = mx.metric.create(name).name
    assert mx.metric.create(shown).name == shown


def test_names_that_are_not_registered():
    for create in (mx.metric.create, mx.init.create):
        with pytest.raises(AssertionError, match="is not registered"):
            create("nothing")


def test_roll_over_of_fewer_samples_than_a_batch():
    batches = mx.io.NDArrayIter(nd.arange(2), batch_size=5, last_batch_handle="roll_over")
    passes = []
    for _ in range(8):
        passes.append([batch.data[0].asnumpy().tolist() for batch in batches])
        batches.reset()
    assert passes[:3] == [[], [], [[0, 1, 0, 1, 0]]]
    seen = sum((batch for given in passes for batch in given), [])
    assert seen == [i % 2 for i in range(len(seen))] and len(seen) == 15


def scored(samples, batch_size, contexts=1, pred=None):
    """The accuracy that `score` gives for a network whose predictions are its inputs."""
    data = np.eye(4)[pred if pred is not None else np.arange(samples) % 4]
    label = np.arange(samples) % 4
    net = mx.sym.SoftmaxOutput(mx.sym.var("data") * 9, name="softmax")
    module = mx.mod.Module(net, context=[mx.cpu(i) for i in range(contexts)])
    batches = mx.io.NDArrayIter(data, label, batch_size)
    module.bind(batches.provide_data, batches.provide_label, for_training=False)
    module.init_params()
    return module, batches


@pytest.mark.parametrize("contexts", (1, 2))
def test_score_counts_no_padding(contexts):
    pred = np.arange(53) % 4
    pred[0] = 1  # wrong, and among what fills up the last batch
    module, batches = scored(53, 15, contexts, pred)
    assert dict(module.score(batches, "acc"))["accuracy"] == pytest.approx(52 / 53)
    assert module.predict(batches).shape == (53, 4)


def test_score_of_batches_of_other_sizes_than_bound():
    pred = np.arange(20) % 4
    pred[1] = 3
    module, _ = scored(20, 8, 1, pred)
    data, label = np.eye(4)[pred], np.arange(20) % 4
    for size in (5, 16, 20, 32):
        batches = mx.io.NDArrayIter(data, label, size)
        assert dict(module.score(batches, "acc"))["accuracy"] == pytest.approx(19 / 20), size
        assert module.predict(batches).shape == (20, 4)


def test_what_is_not_samples_is_measured_whole():
    """Outputs that join steps and samples: what fills up the batch cannot be told apart."""
    metric, batch = mx.metric.create("acc"), mx.io.DataBatch([nd.ones((4, 3))], pad=1)
    preds = nd.array(np.eye(3)[np.arange(12) % 3])
    Unpadded(metric, batch, 1).update_dict({"label": nd.arange(12) % 3}, {"out": preds})
    assert metric.num_inst == 12 and metric.get()[1] == 1


def test_lstm_bias_by_name_and_by_pattern():
    mixed = mx.init.Mixed([".*bias", ".*"], [mx.init.LSTMBias(2.0), mx.init.Zero()])
    for init in (mx.init.LSTMBias(2.0), mixed):
        for name in ("lstm_l0_i2h_bias", mx.init.InitDesc("lstm_l0_i2h_bias")):
            bias = nd.ones(8)
            init(name, bias)
            assert bias.asnumpy().tolist() == [0, 0, 2, 2, 0, 0, 0, 0]
