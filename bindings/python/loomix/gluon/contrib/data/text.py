# SPDX-License-Identifier: Apache-2.0
"""Texts for language models."""

from __future__ import annotations

import io
import os
import zipfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import ndarray as nd
from ....base import MXNetFileError, MXNetValueError
from ....contrib.text.vocab import Vocabulary
from ...data import Dataset
from ...utils import download as fetch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....ndarray import NDArray

__all__ = ["WikiText2", "WikiText103"]

_END = "<eos>"
_FILES = {"train": "wiki.train.tokens", "validation": "wiki.valid.tokens", "test": "wiki.test.tokens"}


class _WikiText(Dataset):
    """A text whose tokens are separated by spaces, as sequences of a fixed length."""

    _archive = ""  # name of the file that has all parts
    _sha1 = ""  # of that file
    _address = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/gluon/dataset/"
    _folder = ""  # there

    def __init__(
        self, root: str, segment: str, vocab: Vocabulary | None, seq_len: int, download: bool = False
    ) -> None:
        if segment not in _FILES:
            raise MXNetValueError(
                f"[{type(self).__name__}] segment is {segment!r}; expected one of {', '.join(_FILES)}."
            )
        if seq_len < 1:
            raise MXNetValueError(f"[{type(self).__name__}] seq_len is {seq_len}; expected 1 or more.")
        self._root = os.path.expanduser(root)
        self._segment = segment
        self._seq_len = seq_len
        if download and not self._is_there():
            fetch(
                f"{self._address}{self._folder}/{self._archive}",
                os.path.join(self._root, self._archive),
                sha1_hash=self._sha1,
            )
        self._counter = Counter(token for line in self._lines() for token in line)
        self._vocab = Vocabulary(self._counter, reserved_tokens=[_END]) if vocab is None else vocab
        self._data, self._label = self._sequences()

    def _is_there(self) -> bool:
        names = (_FILES[self._segment], self._archive)
        return any(os.path.exists(os.path.join(self._root, name)) for name in names)

    def _open(self) -> Any:
        name = _FILES[self._segment]
        path, archive = os.path.join(self._root, name), os.path.join(self._root, self._archive)
        if os.path.exists(path):
            return open(path, encoding="utf-8")
        if not os.path.exists(archive):
            raise MXNetFileError(
                f"[{type(self).__name__}] there is neither {name} nor {self._archive} in {self._root}; "
                "download=True fetches it."
            )
        with zipfile.ZipFile(archive) as parts:  # what is opened below stays open
            inside = next((item for item in parts.namelist() if os.path.basename(item) == name), None)
            if inside is None:
                raise MXNetFileError(f"[{type(self).__name__}] {archive} has no {name}.")
            return io.TextIOWrapper(parts.open(inside), encoding="utf-8")

    def _lines(self) -> Iterator[list[str]]:
        """The tokens of each line that has any."""
        with self._open() as file:
            for line in file:
                tokens = line.split()
                if tokens:
                    yield tokens

    def _sequences(self) -> tuple[NDArray, NDArray]:
        known, unknown = self._vocab.token_to_idx, self._vocab.to_indices(self._vocab.unknown_token)
        total = sum(self._counter.values()) + sum(1 for _ in self._lines())
        numbers = np.fromiter(
            (known.get(token, unknown) for line in self._lines() for token in (*line, _END)), np.int32, total
        )
        count = (total - 1) // self._seq_len
        if count < 1:
            raise MXNetValueError(
                f"[{type(self).__name__}] {total} tokens are too few for a sequence of {self._seq_len} and the "
                "token after it."
            )
        size = count * self._seq_len
        parts = numbers[:size], numbers[1 : size + 1]
        data, label = (nd.array(part.reshape(count, self._seq_len), dtype=np.int32) for part in parts)
        return data, label

    @property
    def vocabulary(self) -> Vocabulary:
        """Tokens and their numbers."""
        return self._vocab

    @property
    def frequencies(self) -> Counter:
        """How often each token is in this part of the text."""
        return self._counter

    def __getitem__(self, idx: int) -> tuple[NDArray, NDArray]:
        return self._data[idx], self._label[idx]

    def __len__(self) -> int:
        return len(self._data)


class WikiText2(_WikiText):
    """WikiText-2: two million words of Wikipedia (Merity et al. 2016; licence CC BY-SA), for language models.

    A sample is a sequence of numbers of tokens, int32 of shape (seq_len,), and the sequence that begins one token
    later. Each line of the text is followed by the token ``<eos>``; lines without tokens are left out.

    Parameters
    ----------
    root : str
        The folder of ``wiki.train.tokens``, ``wiki.valid.tokens`` and ``wiki.test.tokens``, or of the archive
        ``wikitext-2-v1.zip``.
    segment : {'train', 'validation', 'test'}
    vocab : Vocabulary, optional
        The one of the part for training, for the other parts; by default one of all tokens of this part.
    seq_len : int
        The length of the sequences. What is left at the end of the text is left out.
    download : bool
        Whether to fetch the archive if neither it nor the file is there.

    Raises
    ------
    OSError
        When there is no such file.
    ValueError
        For another segment, or a text that is too short for one sequence.

    Examples
    --------
    >>> from loomix.gluon.contrib.data.text import WikiText2
    >>> train = WikiText2("wikitext-2")  # doctest: +SKIP
    >>> validation = WikiText2("wikitext-2", "validation", vocab=train.vocabulary)  # doctest: +SKIP
    """

    _archive = "wikitext-2-v1.zip"
    _sha1 = "3c914d17d80b1459be871a5039ac23e752a53cbe"
    _folder = "wikitext-2"

    def __init__(
        self,
        root: str = os.path.join("~", ".mxnet", "datasets", "wikitext-2"),
        segment: str = "train",
        vocab: Vocabulary | None = None,
        seq_len: int = 35,
        download: bool = False,
    ) -> None:
        super().__init__(root, segment, vocab, seq_len, download)


class WikiText103(_WikiText):
    """WikiText-103: as :class:`WikiText2`, with 103 million words.

    Parameters
    ----------
    root : str
        The folder of the three files, or of the archive ``wikitext-103-v1.zip``.
    segment : {'train', 'validation', 'test'}
    vocab : Vocabulary, optional
    seq_len : int
    download : bool
    """

    _archive = "wikitext-103-v1.zip"
    _sha1 = "0aec09a7537b58d4bb65362fee27650eeaba625a"
    _folder = "wikitext-103"

    def __init__(
        self,
        root: str = os.path.join("~", ".mxnet", "datasets", "wikitext-103"),
        segment: str = "train",
        vocab: Vocabulary | None = None,
        seq_len: int = 35,
        download: bool = False,
    ) -> None:
        super().__init__(root, segment, vocab, seq_len, download)
