# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the operator table.
from typing import Any

from ..context import Context
from .symbol import Symbol

def arange_like(
    data: Symbol | None = None,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: Context | str = "",
    axis: int | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
def boolean_mask(
    data: Symbol | None = None,
    index: Symbol | None = None,
    axis: int = 0,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **attrs: Any,
) -> Symbol: ...
