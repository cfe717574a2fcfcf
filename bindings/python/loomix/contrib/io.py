# SPDX-License-Identifier: Apache-2.0
"""Iterators over what is no iterator of :mod:`loomix.io`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _star
from ..base import MXNetValueError
from ..io import DataBatch, DataDesc, DataIter

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["DataDesc", "DataIter", "DataLoaderIter"]


class DataLoaderIter(DataIter):
    """The (data, label) pairs of a data loader as batches, for modules.

    A batch that is smaller than the first is filled up with zeros, which ``pad`` counts.

    Parameters
    ----------
    loader : iterable
        Gives pairs of arrays; a data loader for example.
    data_name, label_name : str
        Names of input and label.
    dtype : dtype
        Type of the batches.
    """

    def __init__(
        self,
        loader: Any,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: DTypeLike | None = "float32",
    ) -> None:
        self._loader = loader
        self._iter = iter(loader)
        try:
            data, label = next(self._iter)
        except StopIteration:
            raise MXNetValueError("[DataLoaderIter] the loader gives no batches.") from None
        super().__init__(data.shape[0])
        self.dtype = np.dtype(dtype).type
        self.provide_data = [DataDesc(data_name, data.shape, self.dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, self.dtype)]
        self._current: Any = None
        self.reset()

    def reset(self) -> None:
        self._iter = iter(self._loader)

    def iter_next(self) -> bool:
        self._current = next(self._iter, None)
        return self._current is not None

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def _filled(self, values: Any) -> Any:
        from ..ndarray import array, concat, zeros

        values = array(values, dtype=self.dtype)
        missing = self.getpad()
        if not missing:
            return values
        return concat(values, zeros((missing, *values.shape[1:]), dtype=self.dtype), dim=0)

    def getdata(self) -> list[Any]:
        return [self._filled(self._current[0])]

    def getlabel(self) -> list[Any]:
        return [self._filled(self._current[1])]

    def getpad(self) -> int:
        return self.batch_size - self._current[0].shape[0]


_star.complete(globals(), "nd")
