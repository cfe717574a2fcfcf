# SPDX-License-Identifier: Apache-2.0
"""Evaluation metrics: numbers that sum up how good predictions are.

The common metrics reduce each batch with engine operations and keep the small results; nothing waits for the
network until a value is read. The others compute with NumPy when they are updated.
"""

import math
from collections import OrderedDict
from typing import Any

import numpy

from . import registry
from .base import MXNetIndexError, MXNetTypeError, MXNetValueError, ShapeError, numeric_types

__all__ = [
    "MAE",
    "MCC",
    "MSE",
    "PCC",
    "RMSE",
    "Accuracy",
    "Caffe",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "F1",
    "Loss",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "TopKAccuracy",
    "Torch",
    "check_label_shapes",
    "create",
    "np",
]

_PENDING_LIMIT = 256  # results not read yet; beyond it the older half is read, which is long computed by then


def check_label_shapes(labels, preds, wrap=False, shape=False):
    """Raises ValueError unless ``labels`` and ``preds`` have equal lengths (or shapes); may wrap arrays in
    lists.

    Parameters
    ----------
    labels, preds : array or list of arrays
        What to compare.
    wrap : bool
        Whether single arrays are returned as lists of one.
    shape : bool
        Whether shapes are compared instead of lengths.

    Returns
    -------
    tuple
        Labels and predictions.
    """
    ours, theirs = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if ours != theirs:
        raise ShapeError(
            f"[metric] Shape of labels {ours} does not match shape of predictions {theirs}; expected the "
            f"same."
        )
    if wrap:
        labels = list(labels) if isinstance(labels, (list, tuple)) else [labels]
        preds = list(preds) if isinstance(preds, (list, tuple)) else [preds]
    return labels, preds


def _pairs(labels, preds):
    labels = list(labels) if isinstance(labels, (list, tuple)) else [labels]
    preds = list(preds) if isinstance(preds, (list, tuple)) else [preds]
    check_label_shapes(labels, preds)
    return zip(labels, preds)


def _numpy(array):
    return array.asnumpy() if hasattr(array, "asnumpy") else numpy.asarray(array)


def _ratio(total, count):
    return total / count if count else float("nan")


class EvalMetric:
    """Base of the metrics: a sum and a number of instances; the value is their ratio.

    The *local* figures restart at :meth:`reset_local` (so that a progress line covers the last batches), the
    *global* ones at :meth:`reset` only.

    Parameters
    ----------
    name : str
        Shown with the value.
    output_names, label_names : list of str, optional
        Which outputs and labels :meth:`update_dict` takes, in this order; None takes all.

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.create("acc")
    >>> metric.update([mx.nd.array([1, 0])], [mx.nd.array([[0.2, 0.8], [0.3, 0.7]])])
    >>> metric.get()
    ('accuracy', 0.5)
    """

    num_inst: Any
    sum_metric: Any
    global_num_inst: Any
    global_sum_metric: Any

    def __init__(self, name, output_names=None, label_names=None, **kwargs):
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self):
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self):
        """The arguments that make an equal metric, with the class's name under ``"metric"``."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def update_dict(self, label, pred):
        """Updates from dicts of name to array."""
        preds = (
            list(pred.values()) if self.output_names is None else [pred[name] for name in self.output_names]
        )
        labels = (
            list(label.values()) if self.label_names is None else [label[name] for name in self.label_names]
        )
        self.update(labels, preds)

    def update(self, labels, preds):
        """Takes a batch into account.

        Parameters
        ----------
        labels, preds : list of NDArray
            Labels, and the predictions for them in the same order.
        """
        raise NotImplementedError(f"[{type(self).__name__}] update is not implemented.")

    def reset(self):
        """Forgets everything."""
        self.num_inst = 0
        self.sum_metric = 0.0
        self.global_num_inst = 0
        self.global_sum_metric = 0.0

    def reset_local(self):
        """Forgets the local figures."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def _add(self, total, count):
        self.sum_metric += total
        self.num_inst += count
        self.global_sum_metric += total
        self.global_num_inst += count

    def _value(self, total, count):
        return _ratio(total, count)

    def get(self):
        """(name, value) since the last :meth:`reset_local`; the value is NaN while there is no instance."""
        return (self.name, self._value(self.sum_metric, self.num_inst))

    def get_global(self):
        """(name, value) since the last :meth:`reset`."""
        if not self._has_global_stats:
            return self.get()
        return (self.name, self._value(self.global_sum_metric, self.global_num_inst))

    def get_name_value(self):
        """A list of (name, value) pairs."""
        return _as_pairs(*self.get())

    def get_global_name_value(self):
        """A list of (name, value) pairs of the global figures."""
        return _as_pairs(*(self.get_global() if self._has_global_stats else self.get()))


def _as_pairs(name, value):
    if isinstance(name, list):
        return list(zip(name, value))
    return [(name, value)]


register = registry.get_register_func(EvalMetric, "metric")
alias = registry.get_alias_func(EvalMetric, "metric")
_create = registry.get_create_func(EvalMetric, "metric")


def create(metric, *args, **kwargs):
    """A metric from its name, from a function of (label, prediction), or from a list of either.

    >>> create(["acc", "mae"]).get()
    (['accuracy', 'mae'], [nan, nan])
    """
    if callable(metric) and not isinstance(metric, (EvalMetric, type)):
        return CustomMetric(metric, *args, **kwargs)
    if isinstance(metric, list):
        composite = CompositeEvalMetric()
        for child in metric:
            composite.add(create(child, *args, **kwargs))
        return composite
    return _create(metric, *args, **kwargs)


@alias("composite")
@register
class CompositeEvalMetric(EvalMetric):
    """Several metrics updated together.

    Parameters
    ----------
    metrics : list of EvalMetric or str
        The parts.
    """

    def __init__(self, metrics=None, name="composite", output_names=None, label_names=None):
        self.metrics = [create(metric) for metric in metrics or []]
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def add(self, metric):
        """Adds a metric, given as for :func:`create`."""
        self.metrics.append(create(metric))

    def get_metric(self, index):
        """The metric with this position.

        Raises
        ------
        IndexError
            When there is none.
        """
        if not -len(self.metrics) <= index < len(self.metrics):
            raise MXNetIndexError(
                f"[CompositeEvalMetric] index {index} is out of range; there are {len(self.metrics)} metrics."
            )
        return self.metrics[index]

    def update_dict(self, labels, preds):
        if self.label_names is not None:
            labels = OrderedDict((k, v) for k, v in labels.items() if k in self.label_names)
        if self.output_names is not None:
            preds = OrderedDict((k, v) for k, v in preds.items() if k in self.output_names)
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def update(self, labels, preds):
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self):
        for metric in self.metrics:
            metric.reset()

    def reset_local(self):
        for metric in self.metrics:
            metric.reset_local()

    def _collect(self, getter):
        names, values = [], []
        for metric in self.metrics:
            name, value = getattr(metric, getter)()
            names.extend([name] if isinstance(name, str) else name)
            values.extend([value] if isinstance(value, numeric_types) else value)
        return names, values

    def get(self):
        return self._collect("get")

    def get_global(self):
        return self._collect("get_global")

    def get_config(self):
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


class _Tally:
    """A sum of numbers of which some are arrays that the engine may still be computing."""

    def __init__(self):
        self.total = 0.0
        self._pending = []

    def add(self, value):
        if isinstance(value, numeric_types):
            self.total += value
            return
        self._pending.append(value)
        if len(self._pending) > _PENDING_LIMIT:
            self._read(_PENDING_LIMIT // 2)

    def _read(self, count):
        batch, self._pending = self._pending[:count], self._pending[count:]
        for value in batch:
            self.total += float(value.asnumpy().sum(dtype="float64"))

    def value(self):
        self._read(len(self._pending))
        return self.total


def _tallied(name):
    def getter(self):
        return self._tallies[name].value()

    def setter(self, value):
        tally = self._tallies[name] = _Tally()
        tally.add(value)

    return property(getter, setter, doc=f"{name}; reading it waits for the batches seen so far.")


class _LazyMetric(EvalMetric):
    """A metric whose sums stay in the engine until they are read."""

    sum_metric = _tallied("sum_metric")
    global_sum_metric = _tallied("global_sum_metric")

    def __init__(self, name, output_names=None, label_names=None, **kwargs):
        self._tallies = {}
        super().__init__(name, output_names, label_names, has_global_stats=True, **kwargs)

    def _add(self, total, count):
        self._tallies["sum_metric"].add(total)
        self._tallies["global_sum_metric"].add(total)
        self.num_inst += count
        self.global_num_inst += count

    def update(self, labels, preds):
        for label, pred in _pairs(labels, preds):
            pred = _ndarray(pred)
            self._update_pair(_ndarray(label).as_in_context(pred.context), pred)

    def _update_pair(self, label, pred):
        raise NotImplementedError


def _ndarray(value):
    """``value`` as an NDArray; NumPy arrays and lists are copied."""
    if hasattr(value, "as_in_context"):
        return value
    from .ndarray import array

    value = numpy.asarray(value)
    return array(value, dtype=value.dtype if value.dtype.kind in "fi" else "float32")


def _same_float(left, right):
    """Both arrays in one floating dtype."""
    wide = numpy.dtype("float64")
    dtype = wide if wide in (numpy.dtype(left.dtype), numpy.dtype(right.dtype)) else numpy.dtype("float32")
    return (array if numpy.dtype(array.dtype) == dtype else array.astype(dtype) for array in (left, right))


@alias("acc")
@register
class Accuracy(_LazyMetric):
    """Share of the predictions whose class is the label.

    Predictions are classes if they have the labels' shape, otherwise scores along ``axis``, whose largest
    counts.

    Parameters
    ----------
    axis : int
        Axis of the scores.
    """

    def __init__(self, axis=1, name="accuracy", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, axis=axis)
        self.axis = axis

    def _update_pair(self, label, pred):
        if pred.shape != label.shape and len(pred.shape) > 1:
            pred = pred.argmax(axis=self.axis)
        label, pred = label.astype("int32").reshape((-1,)), pred.astype("int32").reshape((-1,))
        check_label_shapes(label, pred)
        self._add((pred == label).astype("float32").sum(), label.size)


@alias("top_k_accuracy", "top_k_acc")
@register
class TopKAccuracy(_LazyMetric):
    """Share of the labels that are among the ``top_k`` largest scores of their row.

    Parameters
    ----------
    top_k : int
        How many; at least 2.
    """

    def __init__(self, top_k=1, name="top_k_accuracy", output_names=None, label_names=None):
        if top_k <= 1:
            raise MXNetValueError(f"[TopKAccuracy] top_k is {top_k}; expected at least 2, or use Accuracy.")
        super().__init__(name, output_names, label_names, top_k=top_k)
        self.top_k = top_k
        self.name += f"_{top_k}"

    def _update_pair(self, label, pred):
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

    def __init__(self):
        self.reset_stats()

    def update_binary_stats(self, label, pred):
        """Counts a batch: labels 0 or 1, of shape (n,), and scores of shape (n, 2)."""
        pred, label = _numpy(pred), _numpy(label).astype("int32").ravel()
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

    def local_reset_stats(self):
        self.local = numpy.zeros(4, numpy.int64)

    def reset_stats(self):
        self.local_reset_stats()
        self.overall = numpy.zeros(4, numpy.int64)

    def fscore(self, counts):
        tp, fn, fp, _ = counts
        precision = tp / (tp + fp) if tp + fp else 0.0
        recall = tp / (tp + fn) if tp + fn else 0.0
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    def matthews(self, counts):
        tp, fn, fp, tn = (float(count) for count in counts)
        if tp + fn + fp + tn == 0:
            return 0.0
        product = math.prod(term or 1.0 for term in (tp + fp, tp + fn, tn + fp, tn + fn))
        return (tp * tn - fp * fn) / math.sqrt(product)


class _BinaryMetric(EvalMetric):
    """Macro: the mean over batches; micro: over all instances."""

    _score = ""

    def __init__(self, name, output_names, label_names, average):
        if average not in ("macro", "micro"):
            raise MXNetValueError(
                f"[{type(self).__name__}] average is {average!r}; expected 'macro' or 'micro'."
            )
        self.average = average
        self._counts = _BinaryCounts()
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, labels, preds):
        counts = self._counts
        score = getattr(counts, self._score)
        for label, pred in _pairs(labels, preds):
            counts.update_binary_stats(label, pred)
        if self.average == "macro":
            self._add(score(counts.local), 1)
            counts.reset_stats()
        else:
            self.num_inst = int(counts.local.sum())
            self.sum_metric = score(counts.local) * self.num_inst
            self.global_num_inst = int(counts.overall.sum())
            self.global_sum_metric = score(counts.overall) * self.global_num_inst

    def reset(self):
        super().reset()
        self._counts.reset_stats()

    def reset_local(self):
        super().reset_local()
        self._counts.local_reset_stats()


@register
class F1(_BinaryMetric):
    """Harmonic mean of precision and recall, for two classes.

    Parameters
    ----------
    average : {"macro", "micro"}
        Mean of the batches' scores, or the score of all instances.
    """

    _score = "fscore"

    def __init__(self, name="f1", output_names=None, label_names=None, average="macro"):
        super().__init__(name, output_names, label_names, average)


@register
class MCC(_BinaryMetric):
    """Matthews' correlation coefficient, for two classes.

    Parameters
    ----------
    average : {"macro", "micro"}
        Mean of the batches' coefficients, or the coefficient of all instances.
    """

    _score = "matthews"

    def __init__(self, name="mcc", output_names=None, label_names=None, average="macro"):
        super().__init__(name, output_names, label_names, average)


@register
class Perplexity(_LazyMetric):
    """Exponential of the mean negative log-likelihood.

    Parameters
    ----------
    ignore_label : int or None
        Instances with this label do not count.
    axis : int
        Axis of the classes.
    """

    num_inst = _tallied("num_inst")
    global_num_inst = _tallied("global_num_inst")

    def __init__(self, ignore_label, axis=-1, name="perplexity", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, ignore_label=ignore_label)
        self.ignore_label = ignore_label
        self.axis = axis

    def _add(self, total, count):
        for key, value in (("sum_metric", total), ("num_inst", count)):
            self._tallies[key].add(value)
            self._tallies["global_" + key].add(value)

    def _update_pair(self, label, pred):
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
        from .ndarray import maximum

        self._add(-maximum(1e-10, chosen).log().sum(), label.size)

    def _value(self, total, count):
        return math.exp(total / count) if count else float("nan")


class _MeanError(_LazyMetric):
    """One number for each batch; the metric is their mean."""

    def _update_pair(self, label, pred):
        label, pred = _same_float(label, pred)
        label = label.reshape((-1, 1)) if len(label.shape) == 1 else label
        pred = pred.reshape((-1, 1)) if len(pred.shape) == 1 else pred
        self._add(self._error(label - pred), 1)

    def _error(self, difference):
        raise NotImplementedError


@register
class MAE(_MeanError):
    """Mean absolute error, averaged over batches."""

    def __init__(self, name="mae", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _error(self, difference):
        return difference.abs().mean()


@register
class MSE(_MeanError):
    """Mean squared error, averaged over batches."""

    def __init__(self, name="mse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _error(self, difference):
        return difference.square().mean()


@register
class RMSE(_MeanError):
    """Root of the mean squared error of each batch, averaged over batches."""

    def __init__(self, name="rmse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _error(self, difference):
        return difference.square().mean().sqrt()


class _LogLikelihood(_LazyMetric):
    """Mean of ``-log(probability of the label + eps)``."""

    def __init__(self, eps, name, output_names, label_names):
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def _update_pair(self, label, pred):
        if len(pred.shape) != 2 or pred.shape[0] != label.size:
            raise ShapeError(
                f"[{type(self).__name__}] labels of shape {label.shape} came with probabilities of shape "
                f"{pred.shape}; "
                "expected one row of probabilities for each label."
            )
        chosen = pred.pick(label.reshape((-1,)).astype("int32"), axis=1)
        self._add(-(chosen + self.eps).log().sum(), label.size)


@alias("ce")
@register
class CrossEntropy(_LogLikelihood):
    """Cross entropy between labels and predicted probabilities of shape (n, classes).

    Parameters
    ----------
    eps : float
        Keeps the logarithm finite.
    """

    def __init__(self, eps=1e-12, name="cross-entropy", output_names=None, label_names=None):
        super().__init__(eps, name, output_names, label_names)


@alias("nll_loss")
@register
class NegativeLogLikelihood(_LogLikelihood):
    """Negative log-likelihood of the labels under predicted probabilities of shape (n, classes)."""

    def __init__(self, eps=1e-12, name="nll-loss", output_names=None, label_names=None):
        super().__init__(eps, name, output_names, label_names)


@alias("pearsonr")
@register
class PearsonCorrelation(EvalMetric):
    """Correlation coefficient between labels and predictions.

    Parameters
    ----------
    average : {"macro", "micro"}
        Mean of the batches' coefficients, or the coefficient of all instances.
    """

    def __init__(self, name="pearsonr", output_names=None, label_names=None, average="macro"):
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=True)
        if average == "micro":
            self._reset_moments()

    def _reset_moments(self):
        self._count = 0
        self._means = numpy.zeros(2)
        self._moments = numpy.zeros(3)  # sums of label^2, prediction^2 and their product, about the means

    def reset(self):
        super().reset()
        if self.average == "micro":
            self._reset_moments()

    def update(self, labels, preds):
        for label, pred in _pairs(labels, preds):
            check_label_shapes(label, pred, shape=True)
            label, pred = (_numpy(array).ravel().astype(numpy.float64) for array in (label, pred))
            if self.average == "macro":
                self._add(float(numpy.corrcoef(pred, label)[0, 1]), 1)
            else:
                self._merge(label, pred)

    def _merge(self, label, pred):
        """Joins the moments of a batch (Chan et al. 1979)."""
        means = numpy.array([label.mean(), pred.mean()])
        label, pred = label - means[0], pred - means[1]
        moments = numpy.array([label @ label, pred @ pred, label @ pred])
        count = self._count + len(label)
        shift = means - self._means
        weight = self._count * len(label) / count
        self._moments += moments + weight * numpy.array([shift[0] ** 2, shift[1] ** 2, shift[0] * shift[1]])
        self._means += shift * len(label) / count
        self._count = count
        self.num_inst += 1
        self.global_num_inst += 1

    def get(self):
        if self.average == "macro" or self.num_inst == 0:
            return super().get()
        return (self.name, float(self._moments[2] / math.sqrt(self._moments[0] * self._moments[1])))

    def get_global(self):
        return super().get_global() if self.average == "macro" else self.get()


@register
class PCC(EvalMetric):
    """Matthews' correlation coefficient for any number of classes, from the confusion matrix (Gorodkin
    2004)."""

    def __init__(self, name="pcc", output_names=None, label_names=None, has_global_stats=True):
        self.k = 2
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    def _grow(self, classes):
        extra = classes - self.k
        if extra > 0:
            self.k = classes
            self.lcm = numpy.pad(self.lcm, (0, extra))
            self.gcm = numpy.pad(self.gcm, (0, extra))

    @staticmethod
    def _coefficient(matrix):
        total = matrix.sum()
        guessed, true = matrix.sum(axis=1), matrix.sum(axis=0)
        cov_guessed = numpy.sum(guessed * (total - guessed))
        cov_true = numpy.sum(true * (total - true))
        if cov_guessed == 0 or cov_true == 0:
            return float("nan")
        diagonal = numpy.diag(matrix)
        return float(numpy.sum(diagonal * total - guessed * true) / (cov_guessed * cov_true) ** 0.5)

    def update(self, labels, preds):
        for label, pred in _pairs(labels, preds):
            label, pred = _numpy(label).astype("int32"), _numpy(pred)
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
    def sum_metric(self):
        return self._coefficient(self.lcm) * self.num_inst

    @property
    def global_sum_metric(self):
        return self._coefficient(self.gcm) * self.global_num_inst

    def reset(self):
        self.num_inst = self.global_num_inst = 0
        self.gcm = numpy.zeros((self.k, self.k))
        self.lcm = numpy.zeros((self.k, self.k))

    def reset_local(self):
        self.num_inst = 0
        self.lcm = numpy.zeros((self.k, self.k))


@register
class Loss(_LazyMetric):
    """Mean of the outputs themselves, for networks that end in their loss."""

    def __init__(self, name="loss", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def update(self, _, preds):
        for pred in preds if isinstance(preds, (list, tuple)) else [preds]:
            pred = _ndarray(pred)
            self._add(pred.sum(), pred.size)


@register
class Torch(Loss):
    """An old name of :class:`Loss`."""

    def __init__(self, name="torch", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """An old name of :class:`Loss`."""

    def __init__(self, name="caffe", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)


@register
class CustomMetric(EvalMetric):
    """A metric from a function of two NumPy arrays.

    Parameters
    ----------
    feval : callable
        ``feval(label, pred)`` returns the value of a batch, or a pair of a sum and a number of instances.
    name : str, optional
        The function's name by default.
    allow_extra_outputs : bool
        Whether there may be more predictions than labels.
    """

    def __init__(self, feval, name=None, allow_extra_outputs=False, output_names=None, label_names=None):
        if name is None:
            name = feval.__name__
            if "<" in name:
                name = f"custom({name})"
        super().__init__(
            name,
            output_names,
            label_names,
            feval=feval,
            allow_extra_outputs=allow_extra_outputs,
            has_global_stats=True,
        )
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels, preds):
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            result = self._feval(_numpy(label), _numpy(pred))
            self._add(*(result if isinstance(result, tuple) else (result, 1)))

    def get_config(self):
        raise MXNetTypeError(
            "[CustomMetric] a metric made from a function has no configuration that could be saved."
        )


def np(numpy_feval, name=None, allow_extra_outputs=False):
    """A :class:`CustomMetric` from a function of NumPy arrays.

    >>> import numpy
    >>> metric = np(lambda label, pred: float(numpy.abs(label - pred).max()), name="worst")
    >>> metric.name
    'worst'
    """

    def feval(label, pred):
        return numpy_feval(label, pred)

    feval.__name__ = numpy_feval.__name__
    return CustomMetric(feval, name, allow_extra_outputs)
