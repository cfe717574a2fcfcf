# SPDX-License-Identifier: Apache-2.0
"""What the namespace can do, as the standard asks."""

from __future__ import annotations

from typing import Any

from ..context import Context, as_context, cpu, current_context
from ._types import DEFAULTS, DTYPES, isdtype


class _Info:
    """Capabilities, devices and element types."""

    def capabilities(self) -> dict[str, Any]:
        """Masks and results whose shape depends on values work; at most 32 axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self) -> Context:
        """Where arrays are made: the current context."""
        return current_context()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The types of what is made of Python's numbers. There are no complex ones."""
        floating, integral = DTYPES[DEFAULTS["real floating"]], DTYPES[DEFAULTS["integral"]]
        return {"real floating": floating, "integral": integral, "indexing": integral}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The types that there are, or those of a kind."""
        if device is not None:
            as_context(device)  # every device has them all
        if kind is None:
            return dict(DTYPES)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        return {name: dtype for name, dtype in DTYPES.items() if any(isdtype(dtype, one) for one in kinds)}

    def devices(self) -> list[Context]:
        """The CPU, and each GPU."""
        from ..context import gpu, num_gpus

        return [cpu(), *(gpu(i) for i in range(num_gpus()))]


_INFO = _Info()


def __array_namespace_info__() -> _Info:
    """What the namespace can do."""
    return _INFO
