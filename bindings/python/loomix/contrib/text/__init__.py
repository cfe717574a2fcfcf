# SPDX-License-Identifier: Apache-2.0
"""Text: vocabularies, and vectors that stand for tokens."""

from . import embedding, utils, vocab

__all__ = ["embedding", "utils", "vocab"]
