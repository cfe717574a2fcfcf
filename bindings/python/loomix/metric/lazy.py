# SPDX-License-Identifier: Apache-2.0
"""Metrics whose sums stay in the engine until they are read."""

import numpy

from ..base import numeric_types
from .base import EvalMetric, pairs

__all__ = ["LazyMetric"]

PENDING_LIMIT = 256  # results not read yet; beyond it the older half is read, which is long computed by then


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
        if len(self._pending) > PENDING_LIMIT:
            self._read(PENDING_LIMIT // 2)

    def _read(self, count):
        batch, self._pending = self._pending[:count], self._pending[count:]
        for value in batch:
            self.total += float(value.asnumpy().sum(dtype="float64"))

    def value(self):
        self._read(len(self._pending))
        return self.total


def tallied(name):
    def getter(self):
        return self._tallies[name].value()

    def setter(self, value):
        tally = self._tallies[name] = _Tally()
        tally.add(value)

    return property(getter, setter, doc=f"{name}; reading it waits for the batches seen so far.")


class LazyMetric(EvalMetric):
    """A metric whose sums stay in the engine until they are read."""

    sum_metric = tallied("sum_metric")
    global_sum_metric = tallied("global_sum_metric")

    def __init__(self, name, output_names=None, label_names=None, **kwargs):
        self._tallies = {}
        super().__init__(name, output_names, label_names, has_global_stats=True, **kwargs)

    def _add(self, total, count):
        self._tallies["sum_metric"].add(total)
        self._tallies["global_sum_metric"].add(total)
        self.num_inst += count
        self.global_num_inst += count

    def update(self, labels, preds):
        for label, pred in pairs(labels, preds):
            pred = as_ndarray(pred)
            self._update_pair(as_ndarray(label).as_in_context(pred.context), pred)

    def _update_pair(self, label, pred):
        raise NotImplementedError


def as_ndarray(value):
    """``value`` as an NDArray; NumPy arrays and lists are copied."""
    if hasattr(value, "as_in_context"):
        return value
    from ..ndarray import array

    value = numpy.asarray(value)
    return array(value, dtype=value.dtype if value.dtype.kind in "fi" else "float32")


def same_float(left, right):
    """Both arrays in one floating dtype."""
    wide = numpy.dtype("float64")
    dtype = wide if wide in (numpy.dtype(left.dtype), numpy.dtype(right.dtype)) else numpy.dtype("float32")
    return (array if numpy.dtype(array.dtype) == dtype else array.astype(dtype) for array in (left, right))
