# SPDX-License-Identifier: Apache-2.0
"""Parts that were experimental in MXNet; they are loaded when they are first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from .. import _star

if TYPE_CHECKING:
    from ..ndarray import contrib as nd  # noqa: F401
    from ..ndarray import contrib as ndarray  # noqa: F401
    from ..symbol import contrib as sym  # noqa: F401
    from ..symbol import contrib as symbol  # noqa: F401
    from . import amp as amp
    from . import autograd as autograd
    from . import io as io
    from . import onnx as onnx
    from . import quantization as quant  # noqa: F401
    from . import quantization as quantization
    from . import svrg_optimization as svrg_optimization
    from . import tensorboard as tensorboard
    from . import text as text

_MODULES = {
    "amp": "loomix.contrib.amp",
    "autograd": "loomix.contrib.autograd",
    "io": "loomix.contrib.io",
    "nd": "loomix.ndarray.contrib",
    "ndarray": "loomix.ndarray.contrib",
    "onnx": "loomix.contrib.onnx",
    "quant": "loomix.contrib.quantization",
    "quantization": "loomix.contrib.quantization",
    "svrg_optimization": "loomix.contrib.svrg_optimization",
    "sym": "loomix.symbol.contrib",
    "symbol": "loomix.symbol.contrib",
    "tensorboard": "loomix.contrib.tensorboard",
    "text": "loomix.contrib.text",
}


if not TYPE_CHECKING:  # type checkers would take any name for one of this module's

    def __getattr__(name):
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


_star.complete(
    globals(),
    "amp autograd io nd ndarray onnx quant quantization svrg_optimization sym symbol tensorboard text",
)
