# SPDX-License-Identifier: Apache-2.0
"""Says in an error which block of a network it came from."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import MXNetError, MXNetTypeError
from ..ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .base_block import Block

__all__ = ["add_place", "returned_nothing"]

_TAKEN = re.compile(r"hybrid_forward\(\) got multiple values for argument '(\w+)'")
_NAMED = re.compile(r"Parameter '([^']+)'|in node '([^']+)'")


class _Place:
    """The block of an error, what it was called with, and the way to it from the outermost block that the error has
    come through."""

    def __init__(self, text: str, block: Block, args: Sequence[Any]) -> None:
        self.text, self.outer = text, block
        found = _NAMED.search(text)
        self.inner, self.path = _search(block, found[1] or found[2]) if found else (block, [])
        self.shapes = _shapes(args) if self.inner is block else ""

    def enter(self, block: Block) -> None:
        """The error comes out of this block, too."""
        if block is not self.outer:
            keys = [key for key, child in block._children.items() if child is self.outer]
            self.path = [*(keys[:1] or [self.outer.name]), *self.path]
            self.outer = block

    def __str__(self) -> str:
        where = f"in block '{self.inner.name}'"
        if self.path:
            where += f", which is {'.'.join(self.path)} of '{self.outer.name}'"
        params = ", ".join(f"'{param.name}' {param.shape}" for param in self.inner._reg_params.values())
        if params:
            where += f"{',' if self.path else ''} with the parameters {params}"
        if self.shapes:
            where += f"; called with {self.shapes}"
        return f"{self.text} ({where})"


def _shapes(args: Sequence[Any]) -> str:
    """What arrays among arguments look like; empty if there is none, or one whose shape is not known."""
    arrays = [arg for arg in args if isinstance(arg, NDArray)]
    try:
        return ", ".join(f"{np.dtype(array.dtype).name} {array.shape}" for array in arrays)
    except MXNetError:  # the shape comes from an operation that failed
        return ""


def _search(block: Block, name: str) -> tuple[Block, list[str]]:
    """The block with this parameter, or with a name that this node's begins with; and the way to it."""
    path: list[str] = []
    while True:
        for key, child in block._children.items():
            if name in child.collect_params() or (child.prefix and name.startswith(child.prefix)):
                block = child
                path.append(key)
                break
        else:
            return block, path


def _too_many(text: str, block: Block, args: Sequence[Any]) -> str | None:
    """What to say where an input came in the place of a parameter, which Python calls a second value for it."""
    taken = _TAKEN.search(text)
    if not taken or taken[1] not in block._reg_params:
        return None
    forward = block.hybrid_forward  # type: ignore[attr-defined]
    names = [name for name in inspect.signature(forward).parameters if name not in block._reg_params]
    return f"[{type(block).__name__}] got {len(args)} inputs; expected {', '.join(names[1:])}."


def add_place(error: Exception, block: Block, args: Sequence[Any]) -> None:
    """Adds to an error the innermost block that it came from, its arguments and parameters, and the way to it from
    this block, which was called with these arguments."""
    if not error.args or not isinstance(error.args[0], str):
        return
    place = getattr(error, "block_place", None)
    if place is None:
        text = _too_many(error.args[0], block, args) or error.args[0]
        place = error.block_place = _Place(text, block, args)  # type: ignore[attr-defined]
    else:
        place.enter(block)
    error.args = (str(place), *error.args[1:])


def returned_nothing(block: Block, method: str, expected: str) -> MXNetTypeError:
    """The error of a block whose method gives None."""
    return MXNetTypeError(
        f"[{type(block).__name__}] {method} of block '{block.name}' returned None; expected {expected}. "
        "Is a return missing?"
    )
