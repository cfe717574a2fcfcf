# SPDX-License-Identifier: Apache-2.0
"""Metrics of classes and probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from .._arguments import as_number, as_whole
from ..base import AssertedError, MXNetValueError, ShapeError
from .base import EvalMetric, alias, as_numpy, check_label_shapes, pairs, register
from .lazy import LazyMetric, tallied

__all__ = [
    "Accuracy",
    "CrossEntropy",
    "F1",
    "MCC",
    "NegativeLogLikelihood",
    "PCC",
    "Perplexity",
    "TopKAccuracy",
]


@alias("acc")
@register
class Accuracy(LazyMetric):
    """Share of the predictions whose class is the label.

    Predictions are classes if they have the labels' shape, otherwise scores along ``axis``, whose largest
    counts.

    Parameters
    ----------
    axis : int
        Axis of the scores.

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.Accuracy()
    >>> metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.9, 0.1], [0.8, 0.2]])])
    >>> metric.get()
    ('accuracy', 0.5)
    """

    def __init__(
        self,
        axis: Any = 1,
        name: str = "accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, axis=axis)
        self.axis = axis

    def _update_pair(self, label: Any, pred: Any) -> None:
        if pred.shape != label.shape and len(pred.shape) > 1:
            pred = pred.argmax(axis=self.axis)
        label, pred = label.astype("int32").reshape((-1,)), pred.astype("int32").reshape((-1,))
        check_label_shapes(label, pred)
        self._add((pred == label).astype("float32").sum(), label.size)


@alias("top_k_accuracy", "top_k_acc")
@register
class TopKAccuracy(LazyMetric):
    """Share of the labels that are among the ``top_k`` largest scores of their row.

    Parameters
    ----------
    top_k : int
        How many; at least 2.

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.TopKAccuracy(top_k=2)
    >>> metric.update([mx.nd.array([2, 0])], [mx.nd.array([[0.1, 0.5, 0.4], [0.1, 0.5, 0.4]])])
    >>> metric.get()
    ('top_k_accuracy_2', 0.5)
    """

    def __init__(
        self,
        top_k: int = 1,
        name: str = "top_k_accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if as_whole("TopKAccuracy", "top_k", top_k) <= 1:
            raise AssertedError(f"[TopKAccuracy] top_k is {top_k}; expected at least 2, or use Accuracy.")
        super().__init__(name, output_names, label_names, top_k=top_k)
        self.top_k = top_k
        self.name += f"_{top_k}"

    def _update_pair(self, label: Any, pred: Any) -> None:
        if len(pred.shape) > 2:
            raise ShapeError(
                f"[TopKAccuracy] predictions have shape {pred.shape}; expected at most 2 dimensions."
            )
        label = label.astype("int32").reshape((-1, 1))
        if len(pred.shape) == 1:
            best = pred.astype("int32").reshape((-1, 1))
        else:
            best = pred.topk(axis=1, k=min(self.top_k, pred.shape[1]), ret_typ="indices").astype("int32")
        check_label_shapes(label, best)
        self._add((best == label).astype("float32").sum(), pred.shape[0])


class _BinaryCounts:
    """True and false positives and negatives, local and global."""

    _KINDS = ("true_positives", "false_negatives", "false_positives", "true_negatives")
    local: numpy.ndarray[Any, Any]
    overall: numpy.ndarray[Any, Any]

    def __init__(self) -> None:
        self.reset_stats()

    def update_binary_stats(self, label: Any, pred: Any) -> None:
        """Counts a batch: labels 0 or 1, of shape (n,), and scores of shape (n, 2)."""
        pred, label = as_numpy(pred), as_numpy(label).astype("int32").ravel()
        if pred.ndim != 2 or len(pred) != len(label):
            raise ShapeError(
                f"[metric] scores of shape {pred.shape} came with {len(label)} labels; expected (n, 2)."
            )
        guess = numpy.argmax(pred, axis=1)
        if len(numpy.unique(label)) > 2:
            raise MXNetValueError(
                "[metric] there are more than two classes; this metric is for binary labels only."
            )
        positive, true = guess == 1, label == 1
        counts = numpy.array(
            [
                numpy.count_nonzero(positive & true),
                numpy.count_nonzero(~positive & true),
                numpy.count_nonzero(positive & ~true),
                numpy.count_nonzero(~positive & ~true),
            ],
            dtype=numpy.int64,
        )
        self.local = self.local + counts
        self.overall = self.overall + counts

    def local_reset_stats(self) -> None:
        self.local = numpy.zeros(4, numpy.int64)

    def reset_stats(self) -> None:
        self.local_reset_stats()
        self.overall = numpy.zeros(4, numpy.int64)

    def fscore(self, counts: Any) -> Any:
        tp, fn, fp, _ = (float(count) for count in counts)
        precision = tp / (tp + fp) if tp + fp else 0.0
        recall = tp / (tp + fn) if tp + fn else 0.0
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    def matthews(self, counts: Any) -> float:
        tp, fn, fp, tn = (float(count) for count in counts)
        if tp + fn + fp + tn == 0:
            return 0.0
        product = math.prod(term or 1.0 for term in (tp + fp, tp + fn, tn + fp, tn + fn))
        return (tp * tn - fp * fn) / math.sqrt(product)


class _BinaryMetric(EvalMetric):
    """Macro: the mean over batches; micro: over all instances."""

    _score = ""

    def __init__(
        self, name: str, output_names: Sequence[str] | None, label_names: Sequence[str] | None, average: str
    ) -> None:
        if average not in ("macro", "micro"):
            raise MXNetValueError(
                f"[{type(self).__name__}] average is {average!r}; expected 'macro' or 'micro'."
            )
        self.average = average
        self._counts = _BinaryCounts()
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, labels: Any, preds: Any) -> None:
        counts = self._counts
        score = getattr(counts, self._score)
        for label, pred in pairs(labels, preds):
            counts.update_binary_stats(label, pred)
        if self.average == "macro":
            self._add(score(counts.local), 1)
            counts.reset_stats()
        else:
            self.num_inst = int(counts.local.sum())
            self.sum_metric = score(counts.local) * self.num_inst
            self.global_num_inst = int(counts.overall.sum())
            self.global_sum_metric = score(counts.overall) * self.global_num_inst

    def reset(self) -> None:
        super().reset()
        self._counts.reset_stats()

    def reset_local(self) -> None:
        super().reset_local()
        self._counts.local_reset_stats()


@register
class F1(_BinaryMetric):
    """Harmonic mean of precision and recall, for two classes.

    Parameters
    ----------
    average : {"macro", "micro"}
        Mean of the batches' scores, or the score of all instances.

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.F1()
    >>> metric.update([mx.nd.array([0, 1, 1])], [mx.nd.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])])
    >>> metric.get()[0], round(float(metric.get()[1]), 3)
    ('f1', 0.667)
    """

    _score = "fscore"

    def __init__(
        self,
        name: str = "f1",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)


@register
class MCC(_BinaryMetric):
    """Matthews' correlation coefficient, for two classes.

    Parameters
    ----------
    average : {"macro", "micro"}
        Mean of the batches' coefficients, or the coefficient of all instances.

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.MCC()
    >>> metric.update([mx.nd.array([0, 1, 1])], [mx.nd.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])])
    >>> metric.get()[0], round(float(metric.get()[1]), 3)
    ('mcc', 0.5)
    """

    _score = "matthews"

    def __init__(
        self,
        name: str = "mcc",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)


@register
class Perplexity(LazyMetric):
    """Exponential of the mean negative log-likelihood.

    Parameters
    ----------
    ignore_label : int or None
        Instances with this label do not count.
    axis : int
        Axis of the classes.

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.Perplexity(ignore_label=None)
    >>> metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.5, 0.5], [0.5, 0.5]])])
    >>> metric.get()[0], round(float(metric.get()[1]), 3)
    ('perplexity', 2.0)
    """

    num_inst = tallied("num_inst")
    global_num_inst = tallied("global_num_inst")

    def __init__(
        self,
        ignore_label: int,
        axis: Any = -1,
        name: str = "perplexity",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if ignore_label is not None:
            as_number("Perplexity", "ignore_label", ignore_label)
        super().__init__(name, output_names, label_names, ignore_label=ignore_label)
        self.ignore_label = ignore_label
        self.axis = as_whole("Perplexity", "axis", axis)

    def _add(self, total: Any, count: int) -> None:
        for key, value in (("sum_metric", total), ("num_inst", count)):
            self._tallies[key].add(value)
            self._tallies["global_" + key].add(value)

    def _update_pair(self, label: Any, pred: Any) -> None:
        axis = self.axis % len(pred.shape)
        classes = pred.shape[axis]
        if label.size * classes != pred.size:
            raise ShapeError(
                f"[Perplexity] labels of shape {label.shape} came with predictions of shape {pred.shape}."
            )
        label = label.reshape(pred.shape[:axis] + pred.shape[axis + 1 :])
        chosen = pred.pick(label.astype("int32"), axis=axis)
        if self.ignore_label is not None:
            ignored = (label == self.ignore_label).astype(chosen.dtype)
            chosen = chosen * (1 - ignored) + ignored
            self._add(0.0, -ignored.sum())
        from ..ndarray import maximum

        self._add(-maximum(1e-10, chosen).log().sum(), label.size)

    def _value(self, total: Any, count: int) -> float:
        return math.exp(total / count) if count else float("nan")


class _LogLikelihood(LazyMetric):
    """Mean of ``-log(probability of the label + eps)``."""

    def __init__(
        self, eps: float, name: str, output_names: Sequence[str] | None, label_names: Sequence[str] | None
    ) -> None:
        super().__init__(name, output_names, label_names, eps=as_number(type(self).__name__, "eps", eps))
        self.eps = eps

    def _update_pair(self, label: Any, pred: Any) -> None:
        if len(pred.shape) != 2 or pred.shape[0] != label.size:
            raise ShapeError(
                f"[{type(self).__name__}] labels of shape {label.shape} came with probabilities of shape "
                f"{pred.shape}; "
                "expected one row of probabilities for each label."
            )
        chosen = pred.pick(label.reshape((-1,)).astype("int32"), axis=1)
        self._add(-(chosen + self.eps).log().sum(), label.size)


@alias("ce", "cross-entropy")
@register
class CrossEntropy(_LogLikelihood):
    """Cross entropy between labels and predicted probabilities of shape (n, classes).

    Parameters
    ----------
    eps : float
        Keeps the logarithm finite.

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.CrossEntropy()
    >>> metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.5, 0.5], [0.5, 0.5]])])
    >>> metric.get()[0], round(float(metric.get()[1]), 3)
    ('cross-entropy', 0.693)
    """

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "cross-entropy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@alias("nll_loss", "nll-loss")
@register
class NegativeLogLikelihood(_LogLikelihood):
    """Negative log-likelihood of the labels under predicted probabilities of shape (n, classes).

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.NegativeLogLikelihood()
    >>> metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.5, 0.5], [0.5, 0.5]])])
    >>> metric.get()[0], round(float(metric.get()[1]), 3)
    ('nll-loss', 0.693)
    """

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "nll-loss",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
class PCC(EvalMetric):
    """Matthews' correlation coefficient for any number of classes, from the confusion matrix (Gorodkin
    2004).

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.PCC()
    >>> metric.update([mx.nd.array([0, 1, 2])], [mx.nd.array([[1, 0, 0], [0, 1, 0], [0, 1, 0]])])
    >>> metric.get()[0], round(float(metric.get()[1]), 3)
    ('pcc', 0.612)
    """

    lcm: numpy.ndarray[Any, Any]
    gcm: numpy.ndarray[Any, Any]

    def __init__(
        self,
        name: str = "pcc",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        has_global_stats: bool = True,
    ) -> None:
        self.k = 2
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    def _grow(self, classes: Any) -> None:
        extra = classes - self.k
        if extra > 0:
            self.k = classes
            self.lcm = numpy.pad(self.lcm, (0, extra))
            self.gcm = numpy.pad(self.gcm, (0, extra))

    @staticmethod
    def _coefficient(matrix: Any) -> float:
        total = matrix.sum()
        guessed, true = matrix.sum(axis=1), matrix.sum(axis=0)
        cov_guessed = numpy.sum(guessed * (total - guessed))
        cov_true = numpy.sum(true * (total - true))
        if cov_guessed == 0 or cov_true == 0:
            return float("nan")
        diagonal = numpy.diag(matrix)
        return float(numpy.sum(diagonal * total - guessed * true) / (cov_guessed * cov_true) ** 0.5)

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in pairs(labels, preds):
            label, pred = as_numpy(label).astype("int32"), as_numpy(pred)
            pred = (pred.argmax(axis=1) if pred.shape != label.shape else pred).astype("int32")
            label, pred = label.ravel(), pred.ravel()
            check_label_shapes(label, pred)
            self._grow(int(max(pred.max(), label.max())) + 1)
            counts = numpy.zeros((self.k, self.k))
            numpy.add.at(counts, (pred, label), 1)
            self.lcm += counts
            self.gcm += counts
        self.num_inst += 1
        self.global_num_inst += 1

    @property
    def sum_metric(self) -> Any:
        return self._coefficient(self.lcm) * self.num_inst

    @property
    def global_sum_metric(self) -> Any:
        return self._coefficient(self.gcm) * self.global_num_inst

    def reset(self) -> None:
        self.num_inst = self.global_num_inst = 0
        self.gcm = numpy.zeros((self.k, self.k))
        self.lcm = numpy.zeros((self.k, self.k))

    def reset_local(self) -> None:
        self.num_inst = 0
        self.lcm = numpy.zeros((self.k, self.k))
