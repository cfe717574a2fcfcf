# SPDX-License-Identifier: Apache-2.0
"""Data sets and samplers that are not in ``gluon.data``."""

from .... import _star
from . import text
from .sampler import IntervalSampler

__all__ = ["IntervalSampler", "text"]

_star.complete(globals(), "sampler")
