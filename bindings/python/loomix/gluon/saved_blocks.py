# SPDX-License-Identifier: Apache-2.0
"""The file in which ``Block.save`` keeps the tree of blocks, in MXNet's form.

A block is described in the description of its parent, under its class and its number in the tree: by its name, the keys
and names of its children, and what it was compiled to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base import AssertedError
from .hybrid_block import HybridBlock

if TYPE_CHECKING:
    from .base_block import Block

__all__ = ["describe_blocks", "restore_blocks"]


def _key(block: Block, number: int) -> str:
    return f"{type(block).__name__.lower()}{number}"


def describe_blocks(block: Block) -> dict[str, Any]:
    """What is written for a block and those below."""
    whole: dict[str, Any] = {}
    _describe(block, 0, whole)
    return whole


def _describe(block: Block, number: int, into: dict[str, Any]) -> int:
    """Adds a block and those below to the description of its parent; returns the number of the last one."""
    own: dict[str, Any] = {"orig_name": block.name}
    into[_key(block, number)] = own
    if isinstance(block, HybridBlock):
        own["hybridized"] = block._graph is not None
        if block._graph is not None:
            inputs, out = block._graph
            own["in_format"], own["out_format"] = block._in_format, block._out_format
            own["inputs"] = [item.tojson() for item in inputs if item is not None]
            own["symbol"] = out.tojson()
    own["children"] = {child.name: key for key, child in block._children.items()}
    for child in block._children.values():
        number = _describe(child, number + 1, own)
    return number


def restore_blocks(block: Block, saved: Any, source: str) -> None:
    """Gives a block and those below the names that were saved, and compiles what was compiled.

    Raises
    ------
    ValueError
        When the classes of the blocks or their numbers of children differ.
    """
    _restore(block, 0, saved, source)


def _restore(block: Block, number: int, parent: Any, source: str) -> int:
    own = parent.get(_key(block, number)) if isinstance(parent, dict) else None
    keys = list(own["children"].values()) if own is not None else []
    if own is None or len(keys) != len(block._children):
        raise AssertedError(
            f"[Block.load] {source} holds another network than this: block '{block.name}' is number {number} of the "
            f"tree, a {type(block).__name__} with {len(block._children)} blocks below; there, "
            + (f"it has {len(keys)}." if own is not None else "number and class are not found.")
        )
    _rename(block, own["orig_name"])
    if isinstance(block, HybridBlock):
        block._clear_cached_op()
        block._active = block._active or bool(own.get("hybridized"))
    children = list(block._children.values())
    for child in children:
        number = _restore(child, number + 1, own, source)
    block._children.clear()
    block._children.update(zip(keys, children))
    return number


def _rename(block: Block, name: str) -> None:
    """Gives a block, and the parameters that are named by it, another name."""
    if name == block.name:
        return
    old, new = block._params._prefix, f"{name}_" if name else ""
    block._name, block._prefix = name, new
    params = list(block._params._params.items())
    block._params._params.clear()
    block._params._prefix = new
    for key, param in params:
        if key.startswith(old):
            key = new + key[len(old) :]
        param.name, param._var = key, None
        block._params._params[key] = param
