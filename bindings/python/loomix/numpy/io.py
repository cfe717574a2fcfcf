# SPDX-License-Identifier: Apache-2.0
"""Arrays from text files."""

from __future__ import annotations

from typing import Any

import numpy as onp

__all__ = ["genfromtxt"]


def genfromtxt(*args: Any, **kwargs: Any) -> Any:
    """An array from a table in a text file; the arguments are ``numpy.genfromtxt``'s, and ``ctx``."""
    from .multiarray import array

    ctx = kwargs.pop("ctx", None)
    return array(onp.genfromtxt(*args, **kwargs), ctx=ctx)
