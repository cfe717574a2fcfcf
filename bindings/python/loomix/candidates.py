# SPDX-License-Identifier: Apache-2.0
"""Drawing classes for losses that look at some of them only; for arrays and symbols alike."""

from __future__ import annotations

import math
from typing import Any

from .base import MXNetValueError

__all__ = ["rand_zipfian"]


def rand_zipfian(space: Any, true_classes: Any, num_sampled: int, range_max: int, **settings: Any) -> Any:
    """What ``rand_zipfian`` of ``nd.contrib`` and ``sym.contrib`` does; ``space`` is the package ``nd`` or ``sym``."""
    if num_sampled < 1 or range_max < 1:
        raise MXNetValueError(
            f"[rand_zipfian] num_sampled is {num_sampled} and range_max {range_max}; expected at least 1."
        )
    # P(c) = log((c + 2) / (c + 1)) / log(range_max + 1), so exp(u) - 1 has it for an even u.
    width = math.log(range_max + 1)
    even = space.random.uniform(0, width, shape=(num_sampled,), dtype="float64", **settings)
    samples = space.op.cast(space.op.exp(even) - 1, dtype="int64") % range_max

    def expected(classes: Any) -> Any:
        classes = space.op.cast(classes, dtype="float64")
        return space.op.log((classes + 2) / (classes + 1)) / width * num_sampled

    return samples, expected(true_classes), expected(samples)
