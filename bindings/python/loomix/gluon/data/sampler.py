# SPDX-License-Identifier: Apache-2.0
"""Orders in which samples are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._arguments import as_whole, expect
from ...base import MXNetValueError, described

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["BatchSampler", "FilterSampler", "RandomSampler", "Sampler", "SequentialSampler"]


def counted(things: Any, of: str) -> str:
    """The type and the number of what something with a length has, for its repr."""
    try:
        return f"<{type(things).__name__}: {len(things)} {of}>"
    except Exception:  # of a subclass that is not ready: a repr never fails
        return f"<{type(things).__name__}>"


class Sampler:
    """Base of the samplers: something with a length that gives the numbers of samples.

    Examples
    --------
    >>> import loomix as mx
    >>> class EvenNumbers(mx.gluon.data.Sampler):
    ...     def __iter__(self):
    ...         return iter(range(0, 6, 2))
    ...     def __len__(self):
    ...         return 3
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.arange(6))
    >>> loader = mx.gluon.data.DataLoader(data, 2, sampler=EvenNumbers(), last_batch="keep")
    >>> [batch.asnumpy().tolist() for batch in loader]
    [[0.0, 2.0], [4.0]]
    """

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return counted(self, "samples")


class SequentialSampler(Sampler):
    """The numbers from `start` on, in order.

    Parameters
    ----------
    length : int
    start : int

    Examples
    --------
    >>> list(SequentialSampler(3, start=1))
    [1, 2, 3]
    """

    def __init__(self, length: int, start: int = 0) -> None:
        self._length = as_whole("SequentialSampler", "length", length, least=0)
        self._start = as_whole("SequentialSampler", "start", start)

    def __repr__(self) -> str:
        return described(self, length=self._length, start=self._start)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """All numbers below `length` in an order that ``numpy.random.seed`` decides, another one each time.

    Parameters
    ----------
    length : int

    Examples
    --------
    >>> import loomix as mx
    >>> sorted(int(number) for number in mx.gluon.data.RandomSampler(4))
    [0, 1, 2, 3]
    """

    def __init__(self, length: int) -> None:
        self._length = as_whole("RandomSampler", "length", length, least=0)

    def __repr__(self) -> str:
        return described(self, length=self._length)

    def __iter__(self) -> Iterator[int]:
        indices = np.arange(self._length)
        np.random.shuffle(indices)
        return iter(indices)

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The numbers of samples for which a function is true.

    Parameters
    ----------
    fn : function
    dataset : Dataset

    Examples
    --------
    >>> list(FilterSampler(lambda sample: sample > 1, [0, 2, 1, 3]))
    [1, 3]
    """

    def __init__(self, fn: Callable[[Any], bool], dataset: Any) -> None:
        self._indices: Sequence[int] = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class BatchSampler(Sampler):
    """Lists of what another sampler gives.

    Parameters
    ----------
    sampler : Sampler
    batch_size : int
    last_batch : {'keep', 'discard', 'rollover'}
        What becomes of a batch that is not full: it comes, is left out, or begins the next epoch.

    Examples
    --------
    >>> list(BatchSampler(SequentialSampler(5), 2, "discard"))
    [[0, 1], [2, 3]]
    """

    def __init__(self, sampler: Sampler, batch_size: int, last_batch: str = "keep") -> None:
        if last_batch not in ("keep", "discard", "rollover"):
            raise MXNetValueError(
                f"[BatchSampler] last_batch is {last_batch!r}; expected 'keep', 'discard' or 'rollover'."
            )
        as_whole("BatchSampler", "batch_size", batch_size, least=1)
        expect(hasattr(sampler, "__iter__"), "BatchSampler", "sampler", sampler, "a Sampler")
        self._sampler, self._batch_size, self._last_batch = sampler, batch_size, last_batch
        self._prev: list[Any] = []

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self._sampler!r}, batch_size={self._batch_size}, "
            f"last_batch={self._last_batch!r})"
        )

    def __iter__(self) -> Iterator[list[Any]]:
        batch, self._prev = self._prev, []
        for i in self._sampler:
            batch.append(i)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._prev = batch

    def __len__(self) -> int:
        if self._last_batch == "keep":
            return (len(self._sampler) + self._batch_size - 1) // self._batch_size
        left = len(self._prev) if self._last_batch == "rollover" else 0
        return (len(self._sampler) + left) // self._batch_size
