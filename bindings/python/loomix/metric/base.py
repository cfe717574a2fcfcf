# SPDX-License-Identifier: Apache-2.0
"""The interface of metrics, and metrics made of others or of functions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from .. import registry
from .._arguments import as_mapping, as_whole, expect
from ..base import MXNetIndexError, MXNetKeyError, MXNetTypeError, ShapeError, numeric_types, suggest

if TYPE_CHECKING:
    from typing import TypeAlias

    from ..ndarray import NDArray

    # What stands for a metric: the metric, its name, a function of (label, prediction), or a list of these.
    MetricLike: TypeAlias = "EvalMetric | str | Callable[..., Any] | list[Any]"

__all__ = [
    "CompositeEvalMetric",
    "CustomMetric",
    "EvalMetric",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]


def check_label_shapes(
    labels: Any, preds: Any, wrap: bool = False, shape: int | Sequence[int] = False
) -> Any:
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

    Examples
    --------
    >>> import loomix as mx
    >>> labels, preds = mx.metric.check_label_shapes(mx.nd.array([1]), mx.nd.array([2]), wrap=True)
    >>> len(labels)
    1
    """
    kind, wanted = ("shape", "an array") if shape else ("__len__", "an array or a list of arrays")
    for what, given in (("labels", labels), ("predictions", preds)):
        expect(hasattr(given, kind), "metric", f"the argument of {what}", given, wanted)
    ours, theirs = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if ours == 0 and theirs:
        raise ShapeError(
            "[metric] there are predictions but no labels; expected labels, of an iterator for example: "
            "mx.io.NDArrayIter(data, label)."
        )
    if ours != theirs:
        raise ShapeError(
            f"[metric] labels have the {'shape' if shape else 'length'} {ours} and predictions {theirs}; expected the "
            "same."
        )
    if wrap:
        labels = list(labels) if isinstance(labels, (list, tuple)) else [labels]
        preds = list(preds) if isinstance(preds, (list, tuple)) else [preds]
    return labels, preds


def pairs(labels: Any, preds: Any) -> Any:
    labels = list(labels) if isinstance(labels, (list, tuple)) else [labels]
    preds = list(preds) if isinstance(preds, (list, tuple)) else [preds]
    check_label_shapes(labels, preds)
    return zip(labels, preds)


def widened(array: Any) -> Any:
    """The array, in float32 if it is of a shorter floating type, in which sums and small numbers are lost."""
    short = numpy.dtype(array.dtype).itemsize == 2 and array.dtype not in (numpy.int16, numpy.uint16)
    return array.astype("float32") if short else array


def as_numpy(array: NDArray) -> Any:
    if hasattr(array, "asnumpy"):
        return widened(array).asnumpy()
    values = numpy.asarray(array)
    wanted = "an NDArray, a NumPy array or a list of numbers"
    expect(values.dtype.kind in "biuf", "metric", "an array of labels or predictions", array, wanted)
    return values


def _ratio(total: Any, count: int) -> Any:
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

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        for what, names in (("output_names", output_names), ("label_names", label_names)):
            right = names is None or (hasattr(names, "__iter__") and not isinstance(names, str))
            expect(right, type(self).__name__, what, names, "a list of names")
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"  # not its value, which would wait

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self) -> dict[Any, Any]:
        """The arguments that make an equal metric, with the class's name under ``"metric"``."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def update_dict(self, label: Any, pred: Any) -> None:
        """Updates from dicts of name to array."""
        self.update(
            self._chosen("label", label, self.label_names), self._chosen("output", pred, self.output_names)
        )

    def _chosen(self, what: str, arrays: Any, names: Sequence[str] | None) -> list[Any]:
        """The arrays of these names, or all."""
        arrays = as_mapping("update_dict", f"the {what}s", arrays)
        for name in names or ():
            if name not in arrays:
                raise MXNetKeyError(
                    f"[{type(self).__name__}] there is no {what} {name!r}. {suggest(name, arrays)}"
                )
        return list(arrays.values()) if names is None else [arrays[name] for name in names]

    def update(self, labels: Any, preds: Any) -> Any:
        """Takes a batch into account.

        Parameters
        ----------
        labels, preds : list of NDArray
            Labels, and the predictions for them in the same order.
        """
        raise NotImplementedError(f"[{type(self).__name__}] update is not implemented.")

    def reset(self) -> None:
        """Forgets everything."""
        self.num_inst = 0
        self.sum_metric = 0.0
        self.global_num_inst = 0
        self.global_sum_metric = 0.0

    def reset_local(self) -> None:
        """Forgets the local figures."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def _add(self, total: Any, count: int) -> None:
        self.sum_metric += total
        self.num_inst += count
        self.global_sum_metric += total
        self.global_num_inst += count

    def _value(self, total: Any, count: int) -> Any:
        return _ratio(total, count)

    def get(self) -> tuple[str, Any]:
        """(name, value) since the last :meth:`reset_local`; the value is NaN while there is no instance."""
        return (self.name, self._value(self.sum_metric, self.num_inst))

    def get_global(self) -> tuple[str, Any]:
        """(name, value) since the last :meth:`reset`."""
        if not self._has_global_stats:
            return self.get()
        return (self.name, self._value(self.global_sum_metric, self.global_num_inst))

    def get_name_value(self) -> list[Any]:
        """A list of (name, value) pairs."""
        return _as_pairs(*self.get())

    def get_global_name_value(self) -> list[Any]:
        """A list of (name, value) pairs of the global figures."""
        return _as_pairs(*(self.get_global() if self._has_global_stats else self.get()))


def _as_pairs(name: str, value: Any) -> list[Any]:
    if isinstance(name, list):
        return list(zip(name, value))
    return [(name, value)]


register = registry.get_register_func(EvalMetric, "metric")


alias = registry.get_alias_func(EvalMetric, "metric")


_create = registry.get_create_func(EvalMetric, "metric")


def create(metric: MetricLike, *args: Any, **kwargs: Any) -> EvalMetric:
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

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.CompositeEvalMetric(["acc", "ce"])
    >>> metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.5, 0.5], [0.1, 0.9]])])
    >>> metric.get()[0]
    ['accuracy', 'cross-entropy']
    """

    def __init__(
        self,
        metrics: Any = None,
        name: str = "composite",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        right = metrics is None or (hasattr(metrics, "__iter__") and not isinstance(metrics, str))
        expect(right, "CompositeEvalMetric", "metrics", metrics, "a list of metrics or of their names")
        self.metrics = [create(metric) for metric in metrics or []]
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def add(self, metric: Any) -> None:
        """Adds a metric, given as for :func:`create`."""
        self.metrics.append(create(metric))

    def get_metric(self, index: Any) -> Any:
        """The metric with this position.

        Raises
        ------
        IndexError
            When there is none.
        """
        as_whole("CompositeEvalMetric", "index", index)
        if not -len(self.metrics) <= index < len(self.metrics):
            raise MXNetIndexError(
                f"[CompositeEvalMetric] index {index} is out of range; there are {len(self.metrics)} metrics."
            )
        return self.metrics[index]

    def update_dict(self, labels: Any, preds: Any) -> None:
        if self.label_names is not None:
            labels = OrderedDict((k, v) for k, v in labels.items() if k in self.label_names)
        if self.output_names is not None:
            preds = OrderedDict((k, v) for k, v in preds.items() if k in self.output_names)
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def update(self, labels: Any, preds: Any) -> None:
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        for metric in self.metrics:
            metric.reset_local()

    def _collect(self, getter: str) -> Any:
        names: list[str] = []
        values: list[Any] = []
        for metric in self.metrics:
            name, value = getattr(metric, getter)()
            names.extend([name] if isinstance(name, str) else name)
            values.extend([value] if isinstance(value, numeric_types) else value)
        return names, values

    def get(self) -> Any:
        return self._collect("get")

    def get_global(self) -> Any:
        return self._collect("get_global")

    def get_config(self) -> dict[Any, Any]:
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


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

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.CustomMetric(lambda label, pred: abs(label - pred).max(), name="worst")
    >>> metric.update([mx.nd.array([1, 2])], [mx.nd.array([2, 4])])
    >>> metric.get()[0], float(metric.get()[1])
    ('worst', 2.0)
    """

    def __init__(
        self,
        feval: Any,
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        expect(callable(feval), "CustomMetric", "feval", feval, "a function of label and prediction")
        if name is None:
            name = getattr(feval, "__name__", type(feval).__name__)
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

    def update(self, labels: Any, preds: Any) -> None:
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            result = self._feval(as_numpy(label), as_numpy(pred))
            self._add(*(result if isinstance(result, tuple) else (result, 1)))

    def get_config(self) -> Any:
        raise MXNetTypeError(
            "[CustomMetric] a metric made from a function has no configuration that could be saved."
        )


def np(numpy_feval: Callable[..., Any], name: str | None = None, allow_extra_outputs: bool = False) -> Any:
    """A :class:`CustomMetric` from a function of NumPy arrays.

    >>> import numpy
    >>> metric = np(lambda label, pred: float(numpy.abs(label - pred).max()), name="worst")
    >>> metric.name
    'worst'
    """

    expect(callable(numpy_feval), "metric.np", "numpy_feval", numpy_feval, "a function of two NumPy arrays")

    def feval(label: Any, pred: Any) -> Any:
        return numpy_feval(label, pred)

    feval.__name__ = numpy_feval.__name__
    return CustomMetric(feval, name, allow_extra_outputs)
