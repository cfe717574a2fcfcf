# SPDX-License-Identifier: Apache-2.0
"""Numbers for tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from ... import _star
from ...base import AssertedError, MXNetValueError

__all__ = ["Vocabulary"]

UNKNOWN = 0  # number of the unknown token


class Vocabulary:
    """Tokens and their numbers: the unknown token has 0, then come the reserved ones, then those of a counter, the
    frequent first.

    Parameters
    ----------
    counter : collections.Counter, optional
        How often each token occurs.
    most_freq_count : int, optional
        At most so many tokens of the counter; all by default.
    min_freq : int
        Only tokens that occur at least so often.
    unknown_token : hashable
        What stands for tokens that are not known.
    reserved_tokens : list of hashable, optional
        Tokens that are known in any case.

    Raises
    ------
    ValueError
        When ``min_freq`` is not positive, or reserved tokens repeat or are the unknown one.

    Examples
    --------
    >>> words = Vocabulary(Counter("a b b c".split()), min_freq=2, reserved_tokens=["<pad>"])
    >>> words.idx_to_token, words.to_indices(["b", "z"])
    (['<unk>', '<pad>', 'b'], [2, 0])
    """

    def __init__(
        self,
        counter: Counter | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: Hashable = "<unk>",
        reserved_tokens: Sequence[Hashable] | None = None,
    ) -> None:
        if min_freq < 1:
            raise AssertedError(f"[Vocabulary] min_freq is {min_freq}; expected 1 or more.")
        reserved = list(reserved_tokens or [])
        if unknown_token in reserved:
            raise AssertedError(f"[Vocabulary] reserved_tokens holds the unknown token, {unknown_token!r}.")
        if len(set(reserved)) != len(reserved):
            twice = next(token for token in reserved if reserved.count(token) > 1)
            raise AssertedError(f"[Vocabulary] reserved_tokens holds {twice!r} more than once.")
        self._unknown_token = unknown_token
        self._reserved_tokens = None if reserved_tokens is None else reserved
        self._idx_to_token: list[Any] = [unknown_token, *reserved]
        if counter is not None:
            self._add_frequent(counter, most_freq_count, min_freq)
        self._token_to_idx = {token: number for number, token in enumerate(self._idx_to_token)}

    def _add_frequent(self, counter: Counter, most: int | None, least: int) -> None:
        if not isinstance(counter, Counter):
            raise AssertedError(
                f"[Vocabulary] counter is of type {type(counter).__name__}; expected a collections.Counter."
            )
        known, added = set(self._idx_to_token), 0
        # By name, then (the sort is stable) by frequency.
        for token, count in sorted(sorted(counter.items()), key=lambda item: -item[1]):
            if count < least or added == most:
                break
            if token not in known:
                self._idx_to_token.append(token)
                added += 1

    def __len__(self) -> int:
        return len(self._idx_to_token)

    @property
    def token_to_idx(self) -> dict[Any, int]:
        """The number of each token."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[Any]:
        """The tokens by number."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> Any:
        """What stands for tokens that are not known."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[Any] | None:
        """The reserved tokens, or None."""
        return self._reserved_tokens

    def to_indices(self, tokens: Any) -> Any:
        """The number of a token, or the numbers of a list of tokens; those that are not known have 0."""
        if isinstance(tokens, list):
            return [self._token_to_idx.get(token, UNKNOWN) for token in tokens]
        return self._token_to_idx.get(tokens, UNKNOWN)

    def to_tokens(self, indices: Any) -> Any:
        """The token with a number, or the tokens of a list of numbers.

        Raises
        ------
        ValueError
            For a number that no token has.
        """
        several = isinstance(indices, list)
        for index in indices if several else [indices]:
            if not isinstance(index, int) or not 0 <= index < len(self):
                raise MXNetValueError(
                    f"[Vocabulary] no token has the number {index}; expected 0 to {len(self) - 1}."
                )
        tokens = [self._idx_to_token[index] for index in (indices if several else [indices])]
        return tokens if several else tokens[0]


_star.complete(globals(), "collections")
