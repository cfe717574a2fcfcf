# SPDX-License-Identifier: Apache-2.0
"""Parts that were experimental in MXNet; they are loaded when they are first used."""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = {
    "amp": "loomix.contrib.amp",
    "autograd": "loomix.contrib.autograd",
    "io": "loomix.contrib.io",
    "nd": "loomix.ndarray.contrib",
    "ndarray": "loomix.ndarray.contrib",
    "svrg_optimization": "loomix.contrib.svrg_optimization",
    "sym": "loomix.symbol.contrib",
    "symbol": "loomix.symbol.contrib",
    "tensorboard": "loomix.contrib.tensorboard",
    "text": "loomix.contrib.text",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; its parts are {', '.join(_MODULES)}.",
            name=name,
        )
    value = importlib.import_module(_MODULES[name])
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_MODULES))
