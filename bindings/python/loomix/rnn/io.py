# SPDX-License-Identifier: Apache-2.0
"""Sentences as numbers, in batches of about the same length."""

from __future__ import annotations

import bisect
import logging
import random
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _star, ndarray
from .._arguments import as_whole, expect
from ..base import MXNetKeyError, MXNetValueError
from ..io import DataBatch, DataDesc, DataIter

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["BucketSentenceIter", "DataBatch", "DataDesc", "DataIter", "encode_sentences"]


def encode_sentences(
    sentences: Sequence[Sequence[Hashable]],
    vocab: Mapping[Any, int] | None = None,
    invalid_label: int = -1,
    invalid_key: Hashable = "\n",
    start_label: int = 0,
    unknown_token: Hashable | None = None,
) -> tuple[list[list[int]], dict[Any, int]]:
    """Words as numbers.

    Parameters
    ----------
    sentences : list of list
        Words.
    vocab : dict, optional
        The number of each word; by default one is made.
    invalid_label : int
        The number of ``invalid_key``, which no word gets.
    invalid_key : hashable
        A word that stands for the end.
    start_label : int
        The first number that is given out.
    unknown_token : hashable, optional
        What words that ``vocab`` does not have count as; without it they are an error.

    Returns
    -------
    sentences : list of list of int
    vocab : dict

    Raises
    ------
    KeyError
        For a word that ``vocab`` does not have.

    Examples
    --------
    >>> encode_sentences([["a", "rose", "is", "a", "rose"]], start_label=1)
    ([[1, 2, 3, 1, 2]], {'\\n': -1, 'a': 1, 'rose': 2, 'is': 3})
    """
    grows = vocab is None
    numbers: dict[Any, int] = {invalid_key: invalid_label} if vocab is None else dict(vocab)
    following = start_label

    def number_of(word: Any) -> int:
        nonlocal following
        if word not in numbers:
            if not grows and unknown_token is None:
                raise MXNetKeyError(
                    f"[encode_sentences] the vocabulary does not have {word!r}; give unknown_token, or no vocab."
                )
            if unknown_token is not None:
                word = unknown_token
            if word not in numbers:
                taken = set(numbers.values()) if not grows else {invalid_label}
                while following in taken:
                    following += 1
                numbers[word] = following
                following += 1
        return numbers[word]

    return [[number_of(word) for word in sentence] for sentence in sentences], numbers


class BucketSentenceIter(DataIter):
    """Batches of sentences for a language model, each of one length: the label is the next word.

    Parameters
    ----------
    sentences : list of list of int
        Encoded sentences.
    batch_size : int
        Sentences in a batch.
    buckets : list of int, optional
        Lengths; a sentence goes to the shortest that holds it, and longer ones are left out. By default all lengths
        that fill a batch.
    invalid_label : int
        What fills a sentence up to its bucket's length.
    data_name, label_name : str
        Names of the variables.
    dtype : dtype
        Type of the values.
    layout : str
        "NT", or "TN" for batches with the steps first.

    Examples
    --------
    >>> batches = BucketSentenceIter([[1, 2, 3], [4, 5], [3, 2, 1], [5, 4]], 2, buckets=[2, 3], invalid_label=0)
    >>> batches.default_bucket_key
    3
    >>> sorted(batch.bucket_key for batch in batches)
    [2, 3]
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[int]],
        batch_size: int,
        buckets: Sequence[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: DTypeLike = "float32",
        layout: str = "NT",
    ) -> None:
        super().__init__(as_whole("BucketSentenceIter", "batch_size", batch_size, least=1))
        wanted = "a list of sentences, which are lists of numbers"
        expect(hasattr(sentences, "__iter__"), "BucketSentenceIter", "sentences", sentences, wanted)
        right = buckets is None or hasattr(buckets, "__iter__")
        expect(right, "BucketSentenceIter", "buckets", buckets, "a list of lengths, or None")
        if layout not in ("NT", "TN"):
            raise MXNetValueError(f"[BucketSentenceIter] layout is {layout!r}; expected 'NT' or 'TN'.")
        if buckets is None:
            counts = Counter(len(sentence) for sentence in sentences)
            buckets = [length for length, count in counts.items() if count >= batch_size]
        if not buckets:
            raise MXNetValueError(
                f"[BucketSentenceIter] no length has the {batch_size} sentences of a batch; give buckets."
            )
        self.buckets = sorted(buckets)
        self.data_name = data_name
        self.label_name = label_name
        self.dtype = dtype
        self.layout = layout
        self.major_axis = layout.find("N")
        self.invalid_label = invalid_label
        self.default_bucket_key = max(self.buckets)
        self.data = self._sorted_in(sentences)
        self.provide_data = [self._describe(data_name, self.default_bucket_key)]
        self.provide_label = [self._describe(label_name, self.default_bucket_key)]
        self.idx = [
            (i, first)
            for i, rows in enumerate(self.data)
            for first in range(0, len(rows) - batch_size + 1, batch_size)
        ]
        self.curr_idx = 0
        self.reset()

    def _sorted_in(self, sentences: Sequence[Sequence[int]]) -> list[np.ndarray[Any, Any]]:
        """For each bucket its sentences, filled up to its length."""
        rows: list[list[np.ndarray[Any, Any]]] = [[] for _ in self.buckets]
        too_long = 0
        for sentence in sentences:
            place = bisect.bisect_left(self.buckets, len(sentence))
            if place == len(self.buckets):
                too_long += 1
                continue
            row = np.full((self.buckets[place],), self.invalid_label, dtype=self.dtype)
            row[: len(sentence)] = sentence
            rows[place].append(row)
        if too_long:
            logging.getLogger(__name__).warning(
                "BucketSentenceIter leaves out %d sentences that are longer than %d.",
                too_long,
                self.buckets[-1],
            )
        return [
            np.asarray(of_one, dtype=self.dtype).reshape(-1, length)
            for of_one, length in zip(rows, self.buckets)
        ]

    def _describe(self, name: str, length: int) -> DataDesc:
        shape = (self.batch_size, length) if self.major_axis == 0 else (length, self.batch_size)
        return DataDesc(name=name, shape=shape, dtype=self.dtype, layout=self.layout)

    def reset(self) -> None:
        """Begins again, with batches and the sentences of each bucket in a new order (of Python's ``random`` and
        NumPy's)."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        self.nddata = []
        self.ndlabel = []
        for rows in self.data:
            np.random.shuffle(rows)
            label = np.full_like(rows, self.invalid_label)
            label[:, :-1] = rows[:, 1:]
            self.nddata.append(rows.copy())
            self.ndlabel.append(label)

    def next(self) -> DataBatch:
        """The next batch, with ``bucket_key``.

        Raises
        ------
        StopIteration
            At the end.
        """
        if self.curr_idx == len(self.idx):
            raise StopIteration
        bucket, first = self.idx[self.curr_idx]
        self.curr_idx += 1
        length = self.buckets[bucket]
        arrays = []
        for source in (self.nddata, self.ndlabel):
            rows = source[bucket][first : first + self.batch_size]
            arrays.append(ndarray.array(rows if self.major_axis == 0 else rows.T, dtype=self.dtype))
        return DataBatch(
            arrays[:1],
            arrays[1:],
            pad=0,
            bucket_key=length,
            provide_data=[self._describe(self.data_name, length)],
            provide_label=[self._describe(self.label_name, length)],
        )


_star.complete(globals(), "bisect ndarray np random")
