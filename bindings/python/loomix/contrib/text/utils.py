# SPDX-License-Identifier: Apache-2.0
"""Counting tokens."""

from __future__ import annotations

import re
from collections import Counter

from ... import _star

__all__ = ["count_tokens_from_str"]


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter | None = None,
) -> Counter:
    """How often each token of a text occurs.

    Parameters
    ----------
    source_str : str
        The text.
    token_delim, seq_delim : str
        What separates tokens, and sequences of them: regular expressions, or if they are none, as they stand.
    to_lower : bool
        Whether the text is turned to lower case first.
    counter_to_update : collections.Counter, optional
        A counter to add to; a new one by default.

    Examples
    --------
    >>> sorted(count_tokens_from_str(" Life is great ! \\n life is good . \\n", to_lower=True).items())
    [('!', 1), ('.', 1), ('good', 1), ('great', 1), ('is', 2), ('life', 2)]
    """
    try:
        delimiter = re.compile(f"{token_delim}|{seq_delim}")
    except re.error:
        delimiter = re.compile(f"{re.escape(token_delim)}|{re.escape(seq_delim)}")
    counter = Counter() if counter_to_update is None else counter_to_update
    counter.update(filter(None, delimiter.split(source_str.lower() if to_lower else source_str)))
    return counter


_star.complete(globals(), "collections re")
