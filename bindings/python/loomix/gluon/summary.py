# SPDX-License-Identifier: Apache-2.0
"""The table that ``Block.summary`` prints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..base import MXNetError
from ..symbol import Symbol

if TYPE_CHECKING:
    from .block import Block

_LINE = "{:>20}  {:>42} {:>15}"


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
    from .nn import HybridSequential, Sequential  # they are made of blocks, which have this method

    rows: list[tuple[str, Any, int]] = [("Input", _shapes(inputs), 0)]
    seen: dict[int, Any] = {}
    counts = {"trainable": 0, "fixed": 0, "shared": 0}
    hooks = []

    def watch(layer: Block) -> None:
        if getattr(layer, "_active", False):
            raise MXNetError(
                f"[summary] block '{layer.name}' is hybridized, so its layers do not run one by one; call "
                "hybridize(False) first."
            )

        def note(layer: Block, _: Any, outputs: Any) -> None:
            if _has_symbols(outputs):  # the shapes of deferred parameters are being found out
                return
            own = 0
            for param in layer._reg_params.values():
                size = math.prod(param.shape or ())
                own += size
                counts["fixed" if param.grad_req == "null" else "trainable"] += size
                if id(param) in seen:
                    counts["shared"] += size
                seen[id(param)] = param
            rows.append((f"{type(layer).__name__}-{len(rows)}", _shapes(outputs), own))

        if not isinstance(layer, (Sequential, HybridSequential)):
            hooks.append(layer.register_forward_hook(note))

    try:
        block.apply(watch)
        block(*inputs)
    finally:
        for hook in hooks:
            hook.detach()
    total = counts["trainable"] + counts["fixed"]
    print("-" * 80)
    print(_LINE.format("Layer (type)", "Output Shape", "Param #"))
    print("=" * 80)
    for name, shape, count in rows:
        print(_LINE.format(name, str(shape), count))
    print("=" * 80)
    print("Parameters in forward computation graph, duplicate included")
    print(f"   Total params: {total}")
    print(f"   Trainable params: {counts['trainable']}")
    print(f"   Non-trainable params: {counts['fixed']}")
    print(f"Shared params in forward computation graph: {counts['shared']}")
    print(f"Unique parameters in model: {total - counts['shared']}")
    print("-" * 80)
