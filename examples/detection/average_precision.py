# SPDX-License-Identifier: Apache-2.0
"""How well a detector finds what there is."""

import loomix as mx
import numpy as np
from drawings import overlap


class MeanAveragePrecision(mx.metric.EvalMetric):
    """Average precision of each class, and their mean, as of the PASCAL VOC challenge since 2010 (Everingham et al.
    2015).

    The boxes of a class are sorted by score over all images. One is right if the labelled box of its image and
    class that it overlaps most is overlapped by at least `least`, and no better box found that one before. The average
    precision is the area under the curve of precision by recall, where each precision is the highest of those at its
    recall or above. A class without labelled boxes has none (nan).

    `update` takes labels (batch, boxes, 5): class, left, top, right, bottom; and of ``MultiBoxDetection`` what it
    found (batch, anchors, 6): class, score and corners. Rows of class -1 are left out.
    """

    def __init__(self, names, least=0.5):
        self.names, self.least = tuple(names), least
        super().__init__("mAP")

    def reset(self):
        self.there = np.zeros(len(self.names), int)
        self.found: list = [[] for _ in self.names]  # (score, right)

    def update(self, labels, preds):
        for batch_labels, batch_found in zip(labels, preds):
            for drawn, boxes in zip(batch_labels.asnumpy(), batch_found.asnumpy()):
                for kind in range(len(self.names)):
                    self._compare(kind, drawn[drawn[:, 0] == kind, 1:], boxes[boxes[:, 0] == kind, 1:])

    def _compare(self, kind, drawn, boxes):
        """Boxes of one class in one image; they begin with their scores."""
        self.there[kind] += len(drawn)
        boxes = boxes[np.argsort(-boxes[:, 0], kind="stable")]
        taken = set()
        for score, overlaps in zip(boxes[:, 0], overlap(boxes[:, 1:], drawn)):
            best = overlaps.argmax() if len(drawn) else -1
            right = best >= 0 and overlaps[best] >= self.least and best not in taken
            if right:
                taken.add(best)
            self.found[kind].append((score, right))

    def _average(self, kind):
        if self.there[kind] == 0:
            return np.nan
        if not self.found[kind]:
            return 0.0
        scores, right = np.array(self.found[kind], float).T
        hits = right[np.argsort(-scores, kind="stable")].cumsum()
        recall = hits / self.there[kind]
        precision = hits / np.arange(1, len(hits) + 1)
        envelope = np.maximum.accumulate(precision[::-1])[::-1]
        return float((np.diff(recall, prepend=0) * envelope).sum())

    def get(self):
        """([name of each class, ..., "mAP"], their values)."""
        values = [self._average(kind) for kind in range(len(self.names))]
        return [*self.names, self.name], [*values, float(np.nanmean(values)) if self.there.any() else np.nan]
