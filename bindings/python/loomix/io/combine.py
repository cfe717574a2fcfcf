# SPDX-License-Identifier: Apache-2.0
"""Iterators over other iterators: a set number of batches, and batches prepared ahead."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .._arguments import as_whole, expect
from ..base import MXNetKeyError, MXNetTypeError, MXNetValueError
from .base import DataBatch, DataDesc, DataIter

__all__ = ["PrefetchingIter", "ResizeIter"]


class _OfBatches(DataIter):
    """An iterator over batches that others have made."""

    current_batch: Any = None

    def getdata(self) -> Any:
        return self.current_batch.data

    def getlabel(self) -> Any:
        return self.current_batch.label

    def getindex(self) -> Any:
        return self.current_batch.index

    def getpad(self) -> Any:
        return self.current_batch.pad


class ResizeIter(_OfBatches):
    """Exactly ``size`` batches of another iterator, which begins again as often as needed.

    Parameters
    ----------
    data_iter : DataIter
        The iterator.
    size : int
        Batches in a pass.
    reset_internal : bool
        Whether :meth:`reset` resets ``data_iter``, too.

    Examples
    --------
    >>> import loomix as mx
    >>> inner = mx.io.NDArrayIter(mx.nd.zeros((4, 2)), batch_size=2)
    >>> sum(1 for batch in mx.io.ResizeIter(inner, 5))
    5
    """

    def __init__(self, data_iter: Any, size: Any, reset_internal: bool = True) -> None:
        _check_iterator("ResizeIter", data_iter)
        super().__init__(data_iter.batch_size)
        self.data_iter = data_iter
        self.size = as_whole("ResizeIter", "size", size, least=0)
        self.reset_internal = reset_internal
        self.cur = 0
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> Any:
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            try:
                self.current_batch = self.data_iter.next()
            except StopIteration:
                raise MXNetValueError("[ResizeIter] the iterator has no batch, even after a reset.") from None
        self.cur += 1
        return True


def _check_iterator(who: str, iterator: Any) -> None:
    if not hasattr(iterator, "provide_data"):
        raise MXNetTypeError(f"[{who}] got an object of type {type(iterator).__name__}; expected a DataIter.")


def _next_or_none(iterator: Any) -> Any:
    try:
        return iterator.next()
    except StopIteration:
        return None


def _names(what: str, names: Any, count: int) -> Any:
    """New names, which must be one dict for each iterator."""
    right = isinstance(names, (list, tuple)) and all(isinstance(mapping, Mapping) for mapping in names)
    expect(names is None or right, "PrefetchingIter", what, names, "a list of dicts of old names to new ones")
    if names is not None and len(names) != count:
        raise MXNetValueError(
            f"[PrefetchingIter] {what} has {len(names)} entries for {count} iterators; expected one dict for each."
        )
    return names


def _renamed(descriptions: Any, names: Any) -> Any:
    result = []
    for item in descriptions:
        item = item if isinstance(item, DataDesc) else DataDesc(*item)
        if item.name not in names:
            raise MXNetKeyError(
                f"[PrefetchingIter] {item.name!r} gets no new name; there are names for {[*names]}."
            )
        result.append(DataDesc(names[item.name], item.shape, item.dtype, item.layout))
    return result


class PrefetchingIter(_OfBatches):
    """Prepares the next batch of one or several iterators on threads while the current one is used.

    Parameters
    ----------
    iters : DataIter or list of DataIter
        The iterators; a batch joins one batch of each.
    rename_data, rename_label : list of dict, optional
        New names of the inputs and labels, one dict for each iterator.

    Examples
    --------
    >>> import loomix as mx
    >>> inner = mx.io.NDArrayIter(mx.nd.zeros((4, 2)), batch_size=2)
    >>> sum(1 for batch in mx.io.PrefetchingIter(inner))
    2
    """

    def __init__(self, iters: Any, rename_data: Any = None, rename_label: Any = None) -> None:
        super().__init__()
        self.iters = iters if isinstance(iters, list) else [iters]
        if not self.iters:
            raise MXNetValueError("[PrefetchingIter] the list of iterators is empty; expected at least one.")
        for iterator in self.iters:
            _check_iterator("PrefetchingIter", iterator)
        self.n_iter = len(self.iters)
        self.rename_data = _names("rename_data", rename_data, self.n_iter)
        self.rename_label = _names("rename_label", rename_label, self.n_iter)
        self.batch_size = self.provide_data[0][1][0]
        self._pool = ThreadPoolExecutor(self.n_iter, thread_name_prefix="loomix-prefetch")
        self._ahead = self._fetch()

    def _fetch(self) -> list[Any]:
        return [self._pool.submit(_next_or_none, iterator) for iterator in self.iters]

    def _provide(self, what: str, names: Any) -> list[Any]:
        lists = [getattr(iterator, what) for iterator in self.iters]
        if names is not None:
            lists = [_renamed(descriptions, mapping) for descriptions, mapping in zip(lists, names)]
        return [item for descriptions in lists for item in descriptions]

    @property
    def provide_data(self) -> list[Any]:
        """Descriptions of the inputs of all iterators."""
        return self._provide("provide_data", self.rename_data)

    @property
    def provide_label(self) -> list[Any]:
        """Descriptions of the labels of all iterators."""
        return self._provide("provide_label", self.rename_label)

    def reset(self) -> None:
        for future in self._ahead:
            future.result()
        for iterator in self.iters:
            iterator.reset()
        self._ahead = self._fetch()

    def iter_next(self) -> Any:
        batches = [future.result() for future in self._ahead]
        if any(batch is None for batch in batches):
            if any(batch is not None for batch in batches):
                raise MXNetValueError("[PrefetchingIter] the iterators differ in their number of batches.")
            return False
        pads = {batch.pad for batch in batches}
        if len(pads) > 1:
            raise MXNetValueError(
                f"[PrefetchingIter] the iterators differ in padding: {pads}; expected the same."
            )
        self.current_batch = DataBatch(
            [array for batch in batches for array in batch.data],
            [array for batch in batches for array in batch.label or []],
            batches[0].pad,
            batches[0].index,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        self._ahead = self._fetch()
        return True

    def next(self) -> Any:
        if not self.iter_next():
            raise StopIteration
        return self.current_batch
