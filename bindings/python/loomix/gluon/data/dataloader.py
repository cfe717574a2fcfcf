# SPDX-License-Identifier: Apache-2.0
"""Loads batches of a data set, in threads or processes if asked for."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ndarray as nd
from ..._arguments import as_number, as_whole, expect, suggests
from ...base import AssertedError, AssertedShapeError, MXNetError
from ...context import cpu_pinned
from . import sampler as samplers
from .pool_batches import ForkingPickler as ForkingPickler
from .pool_batches import _as_in_context as _as_in_context
from .pool_batches import _MultiWorkerIter as _MultiWorkerIter
from .workers import Stack, WorkerPool, as_ndarray, in_mode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .sampler import BatchSampler, Sampler

__all__ = ["DataLoader", "default_batchify_fn", "default_mp_batchify_fn"]


def default_batchify_fn(data: Any) -> Any:
    """A batch from samples: arrays are stacked, the parts of tuples each on their own.

    >>> default_batchify_fn([(1, 2.0), (3, 4.0)])[1].asnumpy()
    array([2., 4.])
    """
    if isinstance(data[0], nd.NDArray):
        return in_mode(nd.stack(*data))
    if isinstance(data[0], tuple):
        return [default_batchify_fn(part) for part in zip(*data)]
    array = _as_one(data)
    return in_mode(nd.array(array, dtype=array.dtype))


def default_mp_batchify_fn(data: Any) -> Any:
    """The same; workers that are processes hand the arrays over in shared memory."""
    return default_batchify_fn(data)


def _as_one(samples: Any) -> np.ndarray:
    """One array of samples that are arrays of NumPy's, numbers or lists."""
    try:
        return np.asarray(samples)
    except ValueError as error:
        try:
            shapes = list(dict.fromkeys(np.shape(sample) for sample in samples))
        except ValueError:  # a sample is ragged itself
            raise error from None
        if len(shapes) < 2:
            raise
        raise AssertedShapeError(
            f"[DataLoader] the samples of a batch have the shapes {', '.join(map(str, shapes[:10]))}; expected equal "
            "ones, or a batchify_fn that makes them equal."
        ) from None


def _stacked_later(data: Any) -> Any:
    """What :func:`default_batchify_fn` gives, as NumPy's arrays; large samples are put together only where they are
    sent."""
    if isinstance(data[0], tuple):
        return [_stacked_later(part) for part in zip(*data)]
    parts = [item.asnumpy() if isinstance(item, nd.NDArray) else item for item in data]
    first = parts[0]
    if isinstance(first, np.ndarray) and first.ndim and first.dtype.kind in "biufc":
        if all(
            isinstance(p, np.ndarray) and p.shape == first.shape and p.dtype == first.dtype for p in parts
        ):
            return Stack(parts)
    return np.stack(parts) if isinstance(data[0], nd.NDArray) else _as_one(data)


def _as_arrays(batch: Any) -> Any:
    if isinstance(batch, (list, tuple)):
        return [_as_arrays(part) for part in batch]
    return as_ndarray(batch) if isinstance(batch, np.ndarray) else batch


class DataLoader:
    """Batches of a data set.

    Parameters
    ----------
    dataset : Dataset
    batch_size : int, optional
        Needed unless `batch_sampler` is given.
    shuffle : bool
        Whether the order is random.
    sampler : Sampler, optional
        The order, instead of `shuffle`.
    last_batch : {'keep', 'discard', 'rollover'}, optional
        What becomes of a batch that is not full; see :class:`BatchSampler`.
    batch_sampler : Sampler, optional
        Gives the numbers of the samples of each batch.
    batchify_fn : function, optional
        Makes a batch from a list of samples.
    num_workers : int
        Processes, or threads, that load batches; 0: the caller does it.
    pin_memory : bool
        Whether batches are put where GPUs copy from fastest.
    pin_device_id : int
    prefetch : int, optional
        Batches that are loaded ahead; by default two a worker.
    thread_pool : bool
        Whether the workers are threads.
    timeout : int
        Seconds after which a batch that has not come is an error.
    auto_reload : bool
        Whether the next epoch is begun to be loaded when one is over.

    Raises
    ------
    Exception
        While iterating: what a sample raised, with the worker's traceback.
    MXNetError
        While iterating: naming the worker, where one has died or takes too long.

    Examples
    --------
    >>> import loomix as mx
    >>> data = mx.gluon.data.ArrayDataset([[1, 2], [3, 4], [5, 6]], [0, 1, 0])
    >>> [x.shape for x, y in mx.gluon.data.DataLoader(data, batch_size=2)]
    [(2, 2), (1, 2)]
    """

    @suggests()
    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Sampler | None = None,
        last_batch: str | None = None,
        batch_sampler: BatchSampler | None = None,
        batchify_fn: Callable[[Any], Any] | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: int = 120,
        auto_reload: bool = False,
    ) -> None:
        as_number("DataLoader", "timeout", timeout)
        if timeout <= 0:
            raise AssertedError(f"[DataLoader] timeout is {timeout}; expected a number above 0.")
        as_whole("DataLoader", "num_workers", num_workers)
        ordered = sampler is not None or batch_sampler is not None
        right = hasattr(dataset, "__getitem__") and (ordered or hasattr(dataset, "__len__"))
        expect(right, "DataLoader", "dataset", dataset, "a data set, such as ArrayDataset(data, label)")
        for what, order in (("sampler", sampler), ("batch_sampler", batch_sampler)):
            expect(order is None or hasattr(order, "__iter__"), "DataLoader", what, order, "a Sampler")
        right = batchify_fn is None or callable(batchify_fn)
        expect(right, "DataLoader", "batchify_fn", batchify_fn, "a function of a list of samples")
        if prefetch is not None:
            as_whole("DataLoader", "prefetch", prefetch)
        self._dataset = dataset
        self._batch_sampler = batch_sampler or _make_batches(
            dataset, batch_size, shuffle, sampler, last_batch
        )
        if batch_sampler is not None and (batch_size or shuffle or sampler is not None or last_batch):
            raise AssertedError(
                "[DataLoader] batch_sampler is given, and batch_size, shuffle, sampler or last_batch, which it stands "
                "for; expected one or the other."
            )
        self._num_workers = max(0, num_workers)
        self._pin_memory, self._pin_device_id = pin_memory, pin_device_id
        self._prefetch = max(0, 2 * self._num_workers if prefetch is None else int(prefetch))
        self._thread_pool = thread_pool
        self._timeout = timeout
        self._batchify_fn = batchify_fn
        self._pool: Any = None
        self._auto_reload = auto_reload
        self._next: Iterator[Any] | None = None
        if auto_reload and self._num_workers:
            self.refresh()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {type(self._dataset).__name__} of {len(self._dataset)} items in {len(self)} "
            f"batches; {self._num_workers} workers>"
        )

    def __iter__(self) -> Iterator[Any]:
        batches, self._next = self._next, None
        yield from self._batches() if batches is None else batches
        if self._auto_reload and self._num_workers:
            self.refresh()

    def refresh(self) -> None:
        """Begins to load the next epoch; needed only with ``auto_reload``."""
        if self._num_workers:
            self.clean()
            self._next = _Started(self._batches())

    def clean(self) -> None:
        """Drops what was loaded ahead."""
        self._next = None

    def close(self) -> None:
        """Ends the workers; also done when the loader is dropped."""
        self.clean()
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown() if isinstance(pool, WorkerPool) else pool.shutdown(
                wait=False, cancel_futures=True
            )

    def __del__(self) -> None:
        if getattr(self, "_pool", None) is not None:
            self.close()

    # ---- loading ----

    def _load(self, indices: Any) -> Any:
        batchify = self._batchify_fn or default_batchify_fn
        return batchify([self._dataset[i] for i in indices])

    def _finish(self, batch: Any) -> Any:
        return _as_in_context(batch, cpu_pinned(self._pin_device_id)) if self._pin_memory else batch

    def _batches(self) -> Iterator[Any]:
        if self._num_workers == 0:
            return (self._finish(self._load(indices)) for indices in self._batch_sampler)
        return self._from_threads() if self._thread_pool else self._from_processes()

    def _from_threads(self) -> Iterator[Any]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._num_workers, "loomix-data")
        coming: deque[Future[Any]] = deque()
        todo = iter(self._batch_sampler)
        try:
            number = 0
            for indices in todo:
                coming.append(self._pool.submit(self._load, indices))
                if len(coming) > self._prefetch:
                    yield self._result(coming.popleft(), number)
                    number += 1
            while coming:
                yield self._result(coming.popleft(), number)
                number += 1
        finally:
            for future in coming:
                future.cancel()

    def _result(self, future: Future[Any], number: int) -> Any:
        try:
            return self._finish(future.result(self._timeout))
        except FutureTimeout:
            if future.done():
                raise  # the data set's own error
            raise MXNetError(
                f"[DataLoader] batch {number} was not ready after {self._timeout} s; its thread still loads it. "
                "Give a longer timeout if that is to be expected."
            ) from None

    def _from_processes(self) -> Iterator[Any]:
        if self._pool is None or self._pool.broken:
            own = self._batchify_fn
            dataset = self._dataset
            batchify = own or _stacked_later
            self._pool = WorkerPool(
                self._num_workers, lambda indices: batchify([dataset[i] for i in indices])
            )
        pool: WorkerPool = self._pool
        todo = iter(self._batch_sampler)
        coming: deque[int] = deque()
        try:
            for indices in todo:
                coming.append(pool.submit(list(indices)))
                if len(coming) > self._prefetch:
                    yield self._arrived(pool.result(coming.popleft(), self._timeout))
            while coming:
                yield self._arrived(pool.result(coming.popleft(), self._timeout))
        finally:
            for number in coming:
                pool.forget(number)

    def _arrived(self, batch: Any) -> Any:
        return self._finish(_as_arrays(batch) if self._batchify_fn is None else batch)


class _Started:
    """An iterator whose first item is asked for at once, in a thread, so that workers begin."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches
        self._thread = ThreadPoolExecutor(1, "loomix-data-ahead")
        self._first: Future[Any] | None = self._thread.submit(next, batches, None)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._first is not None:
            first, self._first = self._first.result(), None
            self._thread.shutdown()
            if first is None:
                raise StopIteration
            return first
        return next(self._batches)


def _make_batches(
    dataset: Any, batch_size: int | None, shuffle: bool, sampler: Sampler | None, last_batch: str | None
) -> BatchSampler:
    if batch_size is None:
        raise AssertedError("[DataLoader] batch_size is missing; expected it or a batch_sampler.")
    if sampler is None:
        sampler = (samplers.RandomSampler if shuffle else samplers.SequentialSampler)(len(dataset))
    elif shuffle:
        raise AssertedError("[DataLoader] shuffle=True and a sampler are given; expected one of them.")
    return samplers.BatchSampler(sampler, batch_size, last_batch or "keep")
