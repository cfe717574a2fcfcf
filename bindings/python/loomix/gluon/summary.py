# SPDX-License-Identifier: Apache-2.0
"""The table that ``Block.summary`` prints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..base import StateError
from ..symbol import Symbol

if TYPE_CHECKING:
    from .block import Block

_LINE = "{:>20}  {:>42} {:>15} {:>15}"
_WIDTH = 96


def _shapes(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        shapes = [_shapes(item) for item in value]
        return shapes[0] if len(shapes) == 1 else shapes
    return getattr(value, "shape", None)


def _has_symbols(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_symbols(item) for item in value)
    return isinstance(value, Symbol)


def print_summary(block: Block, inputs: tuple[Any, ...]) -> None:
    """Runs the block on the inputs and prints a line for each layer that ran."""
    from .flops import count_flops
    from .nn import HybridSequential, Sequential  # they are made of blocks, which have this method

    rows: list[tuple[str, Any, int, int | None]] = [("Input", _shapes(inputs), 0, 0)]
    inside: list[int] = []  # FLOPs of the blocks so far in each block that runs now
    flops = 0
    seen: dict[int, Any] = {}
    counts = {"trainable": 0, "fixed": 0, "shared": 0}
    hooks = []

    def watch(layer: Block) -> None:
        if getattr(layer, "_active", False):
            raise StateError(
                f"[summary] block '{layer.name}' is hybridized, so its layers do not run one by one; call "
                "hybridize(False) first."
            )

        def enter(layer: Block, inputs: Any) -> None:
            if not _has_symbols(inputs):
                inside.append(0)

        def note(layer: Block, inputs: Any, outputs: Any) -> None:
            nonlocal flops
            if _has_symbols(inputs):  # the block is traced
                return
            parts, whole = inside.pop(), count_flops(layer, inputs)
            if inside:
                inside[-1] += parts if whole is None else whole
            else:
                flops = parts if whole is None else whole
            if isinstance(layer, (Sequential, HybridSequential)):
                return
            own = 0
            for param in layer._reg_params.values():
                size = math.prod(param.shape or ())
                own += size
                counts["fixed" if param.grad_req == "null" else "trainable"] += size
                if id(param) in seen:
                    counts["shared"] += size
                seen[id(param)] = param
            name = f"{type(layer).__name__}-{len(rows)}"
            rows.append((name, _shapes(outputs), own, None if whole is None else whole - parts))

        hooks.append(layer.register_forward_pre_hook(enter))
        hooks.append(layer.register_forward_hook(note))

    try:
        block.apply(watch)
        block(*inputs)
    finally:
        for hook in hooks:
            hook.detach()
    total = counts["trainable"] + counts["fixed"]
    print("-" * _WIDTH)
    print(_LINE.format("Layer (type)", "Output Shape", "Param #", "FLOPs"))
    print("=" * _WIDTH)
    for name, shape, count, work in rows:
        print(_LINE.format(name, str(shape), count, "-" if work is None else work))
    print("=" * _WIDTH)
    print("Parameters in forward computation graph, duplicate included")
    print(f"   Total params: {total}")
    print(f"   Trainable params: {counts['trainable']}")
    print(f"   Non-trainable params: {counts['fixed']}")
    print(f"Shared params in forward computation graph: {counts['shared']}")
    print(f"Unique parameters in model: {total - counts['shared']}")
    print(f"Total FLOPs: {flops}")
    print("-" * _WIDTH)
