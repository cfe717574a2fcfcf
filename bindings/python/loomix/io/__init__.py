# SPDX-License-Identifier: Apache-2.0
"""Data iterators: batches of arrays for training and evaluation."""

from .. import _star
from . import io as io
from . import utils as utils
from .base import DataBatch, DataDesc, DataIter
from .combine import PrefetchingIter, ResizeIter
from .files import CSVIter, MNISTIter, MXDataIter
from .image_record import (
    ImageDetRecordIter,
    ImageRecordInt8Iter,
    ImageRecordIter,
    ImageRecordIter_v1,
    ImageRecordUInt8Iter,
    ImageRecordUInt8Iter_v1,
)
from .libsvm import LibSVMIter
from .ndarray_iter import NDArrayIter
from .utils import _getdata_by_idx as _getdata_by_idx
from .utils import _has_instance as _has_instance
from .utils import _init_data as _init_data

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "ImageDetRecordIter",
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
    "LibSVMIter",
    "MNISTIter",
    "MXDataIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
]

_star.complete(globals(), "io utils")
