# SPDX-License-Identifier: Apache-2.0
"""Measuring a last batch without what fills it up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..io import DataBatch


class Unpadded:
    """Stands for a metric while a padded batch is measured: passes on only the samples that count.

    The devices' parts come one after the other, so it counts the samples that have passed.
    """

    def __init__(self, metric: Any, batch: DataBatch, pad: int) -> None:
        self.metric, self.pad, self._seen = metric, pad, 0
        self._samples = len(batch.data[0])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.metric, name)

    def update(self, labels: Any, preds: Any) -> None:
        """As a metric's, with lists of arrays."""
        kept = self._kept([*labels, *preds])
        if kept is None:
            self.metric.update(labels, preds)
        elif kept:
            self.metric.update([x[:kept] for x in labels], [x[:kept] for x in preds])

    def update_dict(self, labels: Mapping[str, Any], preds: Mapping[str, Any]) -> None:
        """As a metric's, with dicts of arrays."""
        kept = self._kept([*labels.values(), *preds.values()])
        if kept is None:
            self.metric.update_dict(labels, preds)
        elif kept:
            labels, preds = ({name: x[:kept] for name, x in named.items()} for named in (labels, preds))
            self.metric.update_dict(labels, preds)

    def _kept(self, arrays: list[Any]) -> int | None:
        """How many of these samples count; None where the first axes say that they are not samples."""
        part = len(arrays[0])
        if self._seen + part > self._samples or any(len(x) != part for x in arrays):
            return None
        kept = min(max(self._samples - self.pad - self._seen, 0), part)
        self._seen = (self._seen + part) % self._samples
        return kept
