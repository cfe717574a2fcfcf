# SPDX-License-Identifier: Apache-2.0
"""Metrics against plain NumPy, batch by batch."""

import math

import loomix as mx
import numpy as np
import pytest
from loomix import metric
from loomix.metric.lazy import PENDING_LIMIT

pytestmark = pytest.mark.library


def batches(kind, count=3, size=16, seed=0):
    random = np.random.RandomState(seed)
    for _ in range(count):
        if kind == "classes":
            yield random.randint(0, 5, size), random.dirichlet(np.ones(5), size)
        elif kind == "binary":
            yield random.randint(0, 2, size), random.dirichlet(np.ones(2), size)
        else:
            yield random.randn(size), random.randn(size)


def feed(made, kind, **settings):
    labels, preds = [], []
    for label, pred in batches(kind, **settings):
        made.update([mx.nd.array(label)], [mx.nd.array(pred)])
        labels.append(label)
        preds.append(pred.astype("float32"))
    return labels, preds


def test_accuracy():
    made = metric.create("acc")
    labels, preds = feed(made, "classes")
    right = [np.argmax(p, axis=1) == y for y, p in zip(labels, preds)]
    assert made.get() == ("accuracy", np.mean(right))
    assert made.num_inst == 48 and made.sum_metric == np.sum(right)


@pytest.mark.parametrize(
    ("label", "pred"),
    [
        ([1, 0, 2], [1, 0, 0]),  # classes
        ([[1], [0], [2]], [[0.1, 0.9, 0], [0.8, 0.1, 0.1], [0.5, 0.2, 0.3]]),  # a column of labels
    ],
)
def test_accuracy_shapes(label, pred):
    made = metric.Accuracy()
    made.update(mx.nd.array(label), mx.nd.array(pred))
    assert made.get()[1] == pytest.approx(2 / 3)


def test_accuracy_axis_and_numpy_input():
    made = metric.Accuracy(axis=-1)
    made.update([np.array([[1, 0]])], [np.array([[[0.1, 0.9], [0.2, 0.8]]])])
    assert made.get()[1] == 0.5


def test_top_k():
    made = metric.create("top_k_accuracy", top_k=2)
    labels, preds = feed(made, "classes")
    right = [y in np.argsort(p)[-2:] for ys, ps in zip(labels, preds) for y, p in zip(ys, ps)]
    assert made.get() == ("top_k_accuracy_2", np.mean(right))
    with pytest.raises(ValueError):
        metric.TopKAccuracy(1)


@pytest.mark.parametrize(
    ("name", "of_batch"),
    [
        ("mae", lambda d: np.abs(d).mean()),
        ("mse", lambda d: (d**2).mean()),
        ("rmse", lambda d: np.sqrt((d**2).mean())),
    ],
)
def test_mean_errors(name, of_batch):
    made = metric.create(name)
    labels, preds = feed(made, "numbers")
    expected = np.mean([of_batch(y - p) for y, p in zip(labels, preds)])
    assert made.get() == (name, pytest.approx(expected, rel=1e-5))


@pytest.mark.parametrize("name", ["ce", "nll_loss"])
def test_cross_entropy(name):
    made = metric.create(name)
    labels, preds = feed(made, "classes")
    expected = [-np.log(p[i, y]) for ys, p in zip(labels, preds) for i, y in enumerate(ys)]
    assert made.get()[1] == pytest.approx(np.mean(expected), rel=1e-5)
    made.reset()
    made.update([mx.nd.array([1])], [mx.nd.array([[1, 0]])])
    assert made.get()[1] == pytest.approx(-math.log(1e-12), rel=1e-5)


@pytest.mark.parametrize("ignore", [None, 2])
def test_perplexity(ignore):
    made = metric.Perplexity(ignore)
    labels, preds = feed(made, "classes")
    losses = [-np.log(p[i, y]) for ys, p in zip(labels, preds) for i, y in enumerate(ys) if y != ignore]
    assert made.get()[1] == pytest.approx(math.exp(np.mean(losses)), rel=1e-5)
    assert made.num_inst == len(losses)


def counts(label, pred):
    guess = np.argmax(pred, axis=1)
    return [np.sum((guess == g) & (label == y)) for g, y in ((1, 1), (0, 1), (1, 0), (0, 0))]


def f1(tp, fn, fp, tn):
    return 2 * tp / (2 * tp + fn + fp)


def matthews(tp, fn, fp, tn):
    return (tp * tn - fp * fn) / math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))


@pytest.mark.parametrize(("name", "score"), [("f1", f1), ("mcc", matthews)])
def test_binary(name, score):
    macro, micro = metric.create(name), metric.create(name, average="micro")
    labels, preds = feed(macro, "binary")
    feed(micro, "binary")
    parts = np.array([counts(y, p) for y, p in zip(labels, preds)])
    assert macro.get()[1] == pytest.approx(np.mean([score(*part) for part in parts]))
    assert micro.get()[1] == pytest.approx(score(*parts.sum(axis=0)))
    micro.reset_local()
    assert math.isnan(micro.get()[1])
    assert micro.get_global()[1] == pytest.approx(score(*parts.sum(axis=0)))
    with pytest.raises(ValueError, match="two classes"):
        macro.update([mx.nd.array([0, 1, 2])], [mx.nd.ones((3, 2))])
    with pytest.raises(ValueError):
        metric.create(name, average="other")


def test_pearson():
    macro, micro = metric.create("pearsonr"), metric.create("pearsonr", average="micro")
    labels, preds = feed(macro, "numbers")
    feed(micro, "numbers")
    each = [np.corrcoef(y, p)[0, 1] for y, p in zip(labels, preds)]
    assert macro.get()[1] == pytest.approx(np.mean(each), rel=1e-5)
    together = np.corrcoef(np.concatenate(labels), np.concatenate(preds))[0, 1]
    assert micro.get()[1] == pytest.approx(together, rel=1e-5)


def test_pcc_of_two_classes_is_mcc():
    made, reference = metric.PCC(), metric.MCC(average="micro")
    feed(made, "binary")
    feed(reference, "binary")
    assert made.get()[1] == pytest.approx(reference.get()[1])
    many = metric.PCC()
    many.update([mx.nd.array([0, 3, 4])], [mx.nd.array([0, 3, 4])])
    assert many.get()[1] == pytest.approx(1.0)


def test_loss():
    made = metric.Loss()
    made.update(None, [mx.nd.array([1, 2]), mx.nd.array([6])])
    assert made.get() == ("loss", 3.0)
    assert metric.Torch().name == "torch" and metric.Caffe().name == "caffe"


def test_custom():
    made = metric.create(lambda label, pred: float((label - pred).max()))
    made.update([mx.nd.array([3, 1])], [mx.nd.array([1, 1])])
    assert made.get() == ("custom(<lambda>)", 2.0)

    def pairs(label, pred):
        return 6.0, 4

    made = metric.np(pairs)
    made.update([mx.nd.ones((2,))], [mx.nd.ones((2,))])
    assert made.get() == ("pairs", 1.5)
    with pytest.raises(ValueError):
        made.update([mx.nd.ones((2,))], [])
    extra = metric.CustomMetric(pairs, "x", allow_extra_outputs=True)
    extra.update([mx.nd.ones((2,))], [mx.nd.ones((2,)), mx.nd.ones((3,))])
    assert extra.num_inst == 4


def test_composite():
    made = metric.create(["acc", "ce"])
    feed(made, "classes")
    names, values = made.get()
    assert names == ["accuracy", "cross-entropy"] and not any(math.isnan(value) for value in values)
    assert made.get_name_value() == list(zip(names, values)) == made.get_global_name_value()
    assert isinstance(made.get_metric(0), metric.Accuracy)
    assert [config["metric"] for config in made.get_config()["metrics"]] == ["Accuracy", "CrossEntropy"]
    made.reset()
    assert all(math.isnan(value) for value in made.get()[1])
    with pytest.raises(IndexError):
        made.get_metric(2)


def test_local_and_global():
    made = metric.create("acc")
    one, zero = mx.nd.array([1]), mx.nd.array([0])
    made.update([one], [one])
    made.reset_local()
    made.update([one], [zero])
    assert made.get()[1] == 0.0 and made.get_global()[1] == 0.5
    made.reset()
    assert math.isnan(made.get_global()[1])


def test_named_outputs_and_labels():
    made = metric.Accuracy(output_names=["out"], label_names=["y"])
    made.update_dict(
        {"y": mx.nd.array([1]), "z": mx.nd.array([5])}, {"other": mx.nd.ones((7,)), "out": mx.nd.array([1])}
    )
    assert made.get()[1] == 1.0


def test_a_later_write_does_not_change_the_batch():
    made = metric.create("acc")
    label, pred = mx.nd.array([1, 0]), mx.nd.array([1, 0])
    made.update([label], [pred])
    pred[:] = 5
    assert made.get()[1] == 1.0


def test_many_batches_without_a_read():
    made = metric.create("mae")
    one, zero = mx.nd.ones((1,)), mx.nd.zeros((1,))
    for _ in range(3 * PENDING_LIMIT):
        made.update([one], [zero])
    assert len(made._tallies["sum_metric"]._pending) <= PENDING_LIMIT
    assert made.get()[1] == 1.0 and made.num_inst == 3 * PENDING_LIMIT


def test_subclass_in_mxnets_style():
    class Count(metric.EvalMetric):
        def __init__(self):
            super().__init__("count")

        def update(self, labels, preds):
            self.sum_metric += 2
            self.num_inst += 1

    made = Count()
    made.update([], [])
    assert made.get() == ("count", 2.0) == made.get_global()
    assert str(made) == "EvalMetric: {'count': 2.0}"

    class Doubled(metric.Accuracy):
        def update(self, labels, preds):
            super().update(labels, preds)
            self.sum_metric += 1
            self.num_inst += 1

    made = Doubled()
    made.update([mx.nd.array([1])], [mx.nd.array([0])])
    assert made.get()[1] == 0.5


def test_wrong_shapes():
    for name, label, pred in (
        ("acc", (3,), (2, 4)),
        ("ce", (3,), (2, 4)),
        ("perplexity", (3,), (2, 4)),
        ("f1", (3,), (2, 2)),
        ("pearsonr", (3,), (2,)),
    ):
        made = metric.create(name, **({"ignore_label": None} if name == "perplexity" else {}))
        with pytest.raises(ValueError):
            made.update([mx.nd.ones(label)], [mx.nd.ones(pred)])
    with pytest.raises(ValueError):
        metric.create("acc").update([mx.nd.ones((2,))], [])
    with pytest.raises(ValueError, match="no_such"):
        metric.create("no_such")
