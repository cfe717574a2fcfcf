# SPDX-License-Identifier: Apache-2.0
"""Batches that processes of a ``multiprocessing.Pool`` make: the base of loaders that other libraries have.

:class:`DataLoader` has workers of its own; nothing here is used by it.
"""

from __future__ import annotations

import pickle
from multiprocessing import TimeoutError as PoolTimeout
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

from ... import ndarray as nd
from ...base import MXNetError
from ...context import cpu_pinned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...context import Context

__all__ = ["ForkingPickler"]


def _as_in_context(data: Any, ctx: Context) -> Any:
    """The arrays of a batch on a device."""
    if isinstance(data, nd.NDArray):
        return data.as_in_context(ctx)
    return [_as_in_context(part, ctx) for part in data] if isinstance(data, (list, tuple)) else data


class _MultiWorkerIter:
    """Hands samples to a pool, some batches ahead, and gives the batches in order.

    ``worker_fn(samples, batchify_fn, dataset)`` gives a batch, pickled if there is no `dataset` here.
    """

    def __init__(
        self,
        worker_pool: Any,
        batchify_fn: Callable[..., Any],
        batch_sampler: Iterable[Any],
        pin_memory: bool = False,
        pin_device_id: int = 0,
        worker_fn: Callable[..., Any] | None = None,
        prefetch: int = 0,
        dataset: Any = None,
        data_loader: Any = None,
        timeout: float = 120,
    ) -> None:
        self._worker_pool = worker_pool
        self._batchify_fn = batchify_fn
        self._batch_sampler = batch_sampler
        self._data_buffer: dict[int, Any] = {}
        self._rcvd_idx = self._sent_idx = 0
        self._iter = iter(batch_sampler)
        self._worker_fn = worker_fn
        self._pin_memory, self._pin_device_id = pin_memory, pin_device_id
        self._dataset = dataset
        self._data_loader = data_loader  # its pool lives as long as this
        self._timeout = timeout
        for _ in range(prefetch):
            self._push_next()

    def __len__(self) -> int:
        return len(self._batch_sampler)  # type: ignore[arg-type]

    def _push_next(self) -> None:
        """Hands over the samples of one more batch, if there are any."""
        samples = next(self._iter, None)
        if samples is None:
            return
        self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(
            self._worker_fn, (samples, self._batchify_fn, self._dataset)
        )
        self._sent_idx += 1

    def __iter__(self) -> _MultiWorkerIter:
        return self

    def __next__(self) -> Any:
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        try:
            made = self._data_buffer.pop(self._rcvd_idx).get(self._timeout)
        except PoolTimeout:
            raise MXNetError(
                f"[DataLoader] batch {self._rcvd_idx} did not come within {self._timeout} seconds."
            ) from None
        self._rcvd_idx += 1
        batch = pickle.loads(made) if self._dataset is None else made
        return _as_in_context(batch, cpu_pinned(self._pin_device_id)) if self._pin_memory else batch

    next = __next__
