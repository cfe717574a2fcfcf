# SPDX-License-Identifier: Apache-2.0
"""Metrics of numbers, and of losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from ..base import MXNetValueError
from .base import EvalMetric, alias, as_numpy, check_label_shapes, pairs, register, widened
from .lazy import LazyMetric, as_ndarray, same_float

__all__ = ["Caffe", "Loss", "MAE", "MSE", "PearsonCorrelation", "RMSE", "Torch"]


class _MeanError(LazyMetric):
    """One number for each batch; the metric is their mean."""

    def _update_pair(self, label: Any, pred: Any) -> None:
        label, pred = same_float(label, pred)
        label = label.reshape((-1, 1)) if len(label.shape) == 1 else label
        pred = pred.reshape((-1, 1)) if len(pred.shape) == 1 else pred
        self._add(self._error(label - pred), 1)

    def _error(self, difference: Any) -> Any:
        raise NotImplementedError


@register
class MAE(_MeanError):
    """Mean absolute error, averaged over batches.

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.MAE()
    >>> metric.update([mx.nd.array([1, 2])], [mx.nd.array([2, 4])])
    >>> metric.get()[0], round(float(metric.get()[1]), 3)
    ('mae', 1.5)
    """

    def __init__(
        self,
        name: str = "mae",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, difference: Any) -> Any:
        return difference.abs().mean()


@register
class MSE(_MeanError):
    """Mean squared error, averaged over batches.

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.MSE()
    >>> metric.update([mx.nd.array([1, 2])], [mx.nd.array([2, 4])])
    >>> metric.get()[0], round(float(metric.get()[1]), 3)
    ('mse', 2.5)
    """

    def __init__(
        self,
        name: str = "mse",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, difference: Any) -> Any:
        return difference.square().mean()


@register
class RMSE(_MeanError):
    """Root of the mean squared error of each batch, averaged over batches.

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.RMSE()
    >>> metric.update([mx.nd.array([1, 2])], [mx.nd.array([2, 4])])
    >>> metric.get()[0], round(float(metric.get()[1]), 3)
    ('rmse', 1.581)
    """

    def __init__(
        self,
        name: str = "rmse",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, difference: Any) -> Any:
        return difference.square().mean().sqrt()


@alias("pearsonr")
@register
class PearsonCorrelation(EvalMetric):
    """Correlation coefficient between labels and predictions.

    Parameters
    ----------
    average : {"macro", "micro"}
        Mean of the batches' coefficients, or the coefficient of all instances.

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.PearsonCorrelation()
    >>> metric.update([mx.nd.array([1, 2, 3])], [mx.nd.array([2, 4, 6])])
    >>> metric.get()[0], round(float(metric.get()[1]), 3)
    ('pearsonr', 1.0)
    """

    def __init__(
        self,
        name: str = "pearsonr",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        if average not in ("macro", "micro"):
            raise MXNetValueError(
                f"[PearsonCorrelation] average is {average!r}; expected 'macro' or 'micro'."
            )
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=True)
        if average == "micro":
            self.reset_micro()

    def reset_micro(self) -> None:
        """Forgets what was seen of all instances."""
        self._count = 0
        self._means = numpy.zeros(2)
        self._moments = numpy.zeros(3)  # sums of label^2, prediction^2 and their product, about the means

    def reset(self) -> None:
        super().reset()
        if self.average == "micro":
            self.reset_micro()

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in pairs(labels, preds):
            label, pred = as_numpy(label), as_numpy(pred)
            check_label_shapes(label, pred, shape=True)
            label, pred = (array.ravel().astype(numpy.float64) for array in (label, pred))
            if self.average == "macro":
                self._add(float(numpy.corrcoef(pred, label)[0, 1]), 1)
            else:
                self.update_cov(label, pred)
                self.num_inst += 1
                self.global_num_inst += 1

    def update_variance(self, new_values: Any, *aggregate: Any) -> tuple[int, Any, Any]:
        """Number, mean and sum of squared deviations of values seen before (``aggregate``) and of new ones, together
        (Chan et al. 1979).

        >>> [float(x) for x in PearsonCorrelation().update_variance(numpy.array([1.0, 3.0]), 1, 5.0, 0.0)]
        [3.0, 3.0, 8.0]
        """
        count, mean, squares = aggregate
        new_mean = numpy.mean(new_values)
        total, shift = count + len(new_values), new_mean - mean
        squares = (
            squares + numpy.sum((new_values - new_mean) ** 2) + shift**2 * count * len(new_values) / total
        )
        return total, mean + shift * len(new_values) / total, squares

    def update_cov(self, label: Any, pred: Any) -> None:
        """Counts instances into the moments of all of them, for ``average="micro"``."""
        shift = numpy.array([label.mean(), pred.mean()]) - self._means
        product = (label - label.mean()) @ (pred - pred.mean())
        product += shift[0] * shift[1] * self._count * len(label) / (self._count + len(label))
        seen = [
            self.update_variance(values, self._count, self._means[i], self._moments[i])
            for i, values in enumerate((label, pred))
        ]
        self._count = seen[0][0]
        self._means = numpy.array([item[1] for item in seen])
        self._moments = numpy.array([seen[0][2], seen[1][2], self._moments[2] + product])

    def get(self) -> tuple[str, Any] | tuple[str, float]:
        if self.average == "macro" or self.num_inst == 0:
            return super().get()
        return (self.name, float(self._moments[2] / math.sqrt(self._moments[0] * self._moments[1])))

    def get_global(self) -> Any:
        return super().get_global() if self.average == "macro" else self.get()


@register
class Loss(LazyMetric):
    """Mean of the outputs themselves, for networks that end in their loss.

    Examples
    --------
    >>> import loomix as mx
    >>> metric = mx.metric.Loss()
    >>> metric.update(None, [mx.nd.array([1, 3])])
    >>> metric.get()
    ('loss', 2.0)
    """

    def __init__(
        self,
        name: str = "loss",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    def update(self, _: Any, preds: Any) -> None:
        for pred in preds if isinstance(preds, (list, tuple)) else [preds]:
            pred = widened(as_ndarray(pred))
            self._add(pred.sum(), pred.size)


@register
class Torch(Loss):
    """An old name of :class:`Loss`.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.metric.Torch().get()
    ('torch', nan)
    """

    def __init__(
        self,
        name: str = "torch",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """An old name of :class:`Loss`.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.metric.Caffe().get()
    ('caffe', nan)
    """

    def __init__(
        self,
        name: str = "caffe",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)
