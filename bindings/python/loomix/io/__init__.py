# SPDX-License-Identifier: Apache-2.0
"""Data iterators: batches of arrays for training and evaluation."""

from .base import DataBatch, DataDesc, DataIter
from .combine import PrefetchingIter, ResizeIter
from .files import CSVIter, MNISTIter, MXDataIter
from .ndarray_iter import NDArrayIter

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "MNISTIter",
    "MXDataIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
]
