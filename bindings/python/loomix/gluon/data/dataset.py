# SPDX-License-Identifier: Apache-2.0
"""Data sets: samples by their numbers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ... import ndarray as nd
from ... import recordio
from ..._arguments import as_path, as_whole, expect
from ...base import AssertedError, MXNetIndexError, MXNetTypeError
from .sampler import FilterSampler, Sampler, SequentialSampler, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ArrayDataset", "Dataset", "RecordFileDataset", "SimpleDataset"]


class Dataset:
    """Base of the data sets: ``dataset[i]`` is a sample, ``len(dataset)`` their number.

    Examples
    --------
    >>> SimpleDataset([1, 2, 3]).transform(lambda x: x * 10)[1]
    20
    """

    def __getitem__(self, idx: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def __repr__(self) -> str:
        return counted(self, "samples")

    def filter(self, fn: Callable[[Any], bool]) -> Dataset:
        """The samples for which the function is true, which is found out now."""
        expect(callable(fn), "Dataset.filter", "fn", fn, "a function")
        return _SampledDataset(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """One of `num_shards` parts; the first ones are longer by one where the length does not divide."""
        as_whole("Dataset.shard", "num_shards", num_shards, least=1)
        as_whole("Dataset.shard", "index", index)
        if not 0 <= index < num_shards:
            raise AssertedError(f"[shard] index {index} is out of range; there are {num_shards} shards.")
        size, rest = divmod(len(self), num_shards)
        start = size * index + min(index, rest)
        return _SampledDataset(self, SequentialSampler(size + (index < rest), start))

    def take(self, count: int | None) -> Dataset:
        """The first samples; all if `count` is None or too large."""
        if count is None or as_whole("Dataset.take", "count", count, least=0) > len(self):
            count = len(self)
        return _SampledDataset(self, SequentialSampler(count))

    def sample(self, sampler: Sampler) -> Dataset:
        """The samples whose numbers a sampler gives."""
        if not isinstance(sampler, Sampler):
            raise MXNetTypeError(
                f"[Dataset.sample] sampler is of type {type(sampler).__name__}; expected a gluon.data.Sampler."
            )
        return _SampledDataset(self, sampler)

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """A data set of ``fn(*sample)``.

        Parameters
        ----------
        fn : function
        lazy : bool
            Whether it is called when a sample is asked for, not for all now.
        """
        expect(callable(fn), "Dataset.transform", "fn", fn, "a function")
        changed = _TransformedDataset(self, fn)
        return changed if lazy else SimpleDataset([changed[i] for i in range(len(changed))])

    def transform_first(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """As :meth:`transform`, but the function changes the first part of each sample only: the image, not the
        label."""
        expect(callable(fn), "Dataset.transform_first", "fn", fn, "a function")
        return self.transform(_First(fn), lazy)


class _First:
    """Applies a function to the first argument; a class, so that it can be pickled."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn

    def __call__(self, first: Any, *args: Any) -> Any:
        return (self._fn(first), *args) if args else self._fn(first)


class SimpleDataset(Dataset):
    """A list, or anything with numbers and a length, as a data set.

    Parameters
    ----------
    data : list or array

    Examples
    --------
    >>> import loomix as mx
    >>> data = mx.gluon.data.SimpleDataset([1, 2, 3])
    >>> len(data), data[0]
    (3, 1)
    >>> data.transform(lambda x: x * 10)[1]
    20
    """

    def __init__(self, data: Any) -> None:
        right = hasattr(data, "__len__") and hasattr(data, "__getitem__")
        expect(right, "SimpleDataset", "data", data, "a list or an array")
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        return self._data[idx]


class _TransformedDataset(Dataset):
    def __init__(self, data: Dataset, fn: Callable[..., Any]) -> None:
        self._data, self._fn = data, fn

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        item = self._data[idx]
        return self._fn(*item) if isinstance(item, tuple) else self._fn(item)


class _SampledDataset(Dataset):
    def __init__(self, data: Dataset, sampler: Sampler) -> None:
        self._data = data
        self._indices: Sequence[int] = list(sampler)

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, idx: int) -> Any:
        return self._data[self._indices[idx]]


class ArrayDataset(Dataset):
    """Samples made of the elements of several arrays or data sets of one length.

    Parameters
    ----------
    *args : arrays, lists or data sets

    Examples
    --------
    >>> ArrayDataset([1, 2], ["a", "b"])[1]
    (2, 'b')
    """

    def __init__(self, *args: Any) -> None:
        if not args:
            raise AssertedError("[ArrayDataset] no arrays are given; expected at least one.")
        for data in args:
            right = hasattr(data, "__len__") and hasattr(data, "__getitem__")
            expect(right, "ArrayDataset", "what came", data, "arrays, lists or data sets")
        self._length = len(args[0])
        self._data = []
        for i, data in enumerate(args):
            if len(data) != self._length:
                raise AssertedError(
                    f"[ArrayDataset] array {i} has {len(data)} samples and array 0 {self._length}; expected as many in "
                    "each."
                )
            if isinstance(data, nd.NDArray) and len(data.shape) == 1:
                data = data.asnumpy()
            self._data.append(data)

    def __getitem__(self, idx: int) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(data[idx] for data in self._data)

    def __len__(self) -> int:
        return self._length


class RecordFileDataset(Dataset):
    """The records of a RecordIO file, as bytes. Its index (``.idx``) must lie beside it.

    Parameters
    ----------
    filename : str
        The ``.rec`` file.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> name = os.path.join(tempfile.mkdtemp(), "texts")
    >>> record = mx.recordio.MXIndexedRecordIO(name + ".idx", name + ".rec", "w")
    >>> record.write_idx(0, b"hello")
    >>> record.close()
    >>> mx.gluon.data.RecordFileDataset(name + ".rec")[0]
    b'hello'
    """

    def __init__(self, filename: str) -> None:
        self.filename = as_path("RecordFileDataset", "filename", filename)
        self.idx_file = os.path.splitext(self.filename)[0] + ".idx"
        self._record = recordio.MXIndexedRecordIO(self.idx_file, self.filename, "r")

    def __getitem__(self, idx: int) -> Any:
        if not -len(self) <= idx < len(self):
            raise MXNetIndexError(f"[{type(self).__name__}] record {idx} of {len(self)} in {self.filename}.")
        return self._record.read_idx(self._record.keys[idx])

    def __len__(self) -> int:
        return len(self._record.keys)
