# SPDX-License-Identifier: Apache-2.0
"""A function of ``mx.np`` as one on symbols."""

from __future__ import annotations

import inspect
from typing import Any

from . import _symbol


def function(name: str, original: Any, module: str = "loomix.symbol.numpy") -> Any:
    """What composes a node where `original` would compute."""

    def composed(*args: Any, **kwargs: Any) -> Any:
        return _symbol.compose(name, args, kwargs)

    composed.__name__ = composed.__qualname__ = name.rpartition(".")[2]
    composed.__module__ = module
    composed.__doc__ = original.__doc__
    try:
        composed.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    except ValueError:
        pass
    return composed


def functions(prefix: str, originals: dict[str, Any], module: str) -> dict[str, Any]:
    """All functions of a module of ``mx.np`` or ``mx.npx``."""
    return {key: function(prefix + key, value, module) for key, value in originals.items()}
