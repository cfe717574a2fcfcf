# SPDX-License-Identifier: Apache-2.0
"""MXNet's place of the iterators: the names of :mod:`loomix.io`, and those that its module had beside them."""

from .. import _star
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


def __getattr__(name: str) -> object:
    if name in ("CSRNDArray", "NDArray", "array"):
        from .. import ndarray

        return getattr(ndarray, name)
    if name == "py_str":
        from ..base import py_str

        return py_str
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_star.complete(
    globals(),
    "CSRNDArray DataIterHandle NDArray NDArrayHandle array c_str_array check_call concat ctypes "
    "logging mx_real_t mx_uint namedtuple np py_str sys threading tile",
    "_LIB _ndarray_cls",
)
