# SPDX-License-Identifier: Apache-2.0
"""Metrics whose sums stay in the engine until they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from ..base import numeric_types
from .base import EvalMetric, as_numpy, pairs, widened

__all__ = ["LazyMetric"]

PENDING_LIMIT = 256  # results not read yet; beyond it the older half is read, which is long computed by then


class _Tally:
    """A sum of numbers of which some are arrays that the engine may still be computing."""

    def __init__(self) -> None:
        self.total: Any = 0.0
        self._pending: list[Any] = []

    def add(self, value: Any) -> None:
        if isinstance(value, numeric_types):
            self.total += value
            return
        self._pending.append(value)
        if len(self._pending) > PENDING_LIMIT:
            self._read(PENDING_LIMIT // 2)

    def _read(self, count: int) -> None:
        batch, self._pending = self._pending[:count], self._pending[count:]
        for value in batch:
            self.total += float(value.asnumpy().sum(dtype="float64"))

    def value(self) -> Any:
        self._read(len(self._pending))
        return self.total


def tallied(name: str) -> Any:
    def getter(self: Any) -> Any:
        return self._tallies[name].value()

    def setter(self: Any, value: Any) -> None:
        tally = self._tallies[name] = _Tally()
        tally.add(value)

    return property(getter, setter, doc=f"{name}; reading it waits for the batches seen so far.")


class LazyMetric(EvalMetric):
    """A metric whose sums stay in the engine until they are read."""

    sum_metric = tallied("sum_metric")
    global_sum_metric = tallied("global_sum_metric")

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self._tallies: dict[Any, Any] = {}
        super().__init__(name, output_names, label_names, has_global_stats=True, **kwargs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._tallies = {}
        for name, value in state.items():  # not into __dict__: in MXNet's pickles the sums are plain numbers
            setattr(self, name, value)

    def _add(self, total: Any, count: int) -> None:
        self._tallies["sum_metric"].add(total)
        self._tallies["global_sum_metric"].add(total)
        self.num_inst += count
        self.global_num_inst += count

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in pairs(labels, preds):
            pred = widened(as_ndarray(pred))
            self._update_pair(widened(as_ndarray(label)).as_in_context(pred.context), pred)

    def _update_pair(self, label: Any, pred: Any) -> Any:
        raise NotImplementedError


def as_ndarray(value: Any) -> Any:
    """``value`` as an NDArray; NumPy arrays and lists are copied."""
    if hasattr(value, "as_in_context"):
        return value
    from ..ndarray import array

    value = as_numpy(value)
    return array(value, dtype=value.dtype if value.dtype.kind in "fi" else "float32")


def same_float(left: Any, right: Any) -> Any:
    """Both arrays in one floating dtype."""
    wide = numpy.dtype("float64")
    dtype = wide if wide in (numpy.dtype(left.dtype), numpy.dtype(right.dtype)) else numpy.dtype("float32")
    return (array if numpy.dtype(array.dtype) == dtype else array.astype(dtype) for array in (left, right))
