# SPDX-License-Identifier: Apache-2.0
"""What ``mx.sym.np`` has beyond NumPy (``mx.sym.npx``): layers are operators as in ``mx.sym``."""

from __future__ import annotations

from typing import Any

from ... import _core, numpy_extension
from ...numpy._base import no_such_name
from .. import _internal
from ..numpy._functions import functions

_COMPOSED = "nonzero constraint_check masked_softmax masked_log_softmax index_add index_update".split()

FUNCTIONS: dict[str, Any] = {
    key: _core.op_function(operator, key, __name__, 1) for key, operator in numpy_extension._LAYERS.items()
}
FUNCTIONS["reshape"] = _internal._npx_reshape
FUNCTIONS.update(functions("npx.", {key: getattr(numpy_extension, key) for key in _COMPOSED}, __name__))
globals().update(FUNCTIONS)

from . import image as image  # noqa: E402
from . import random as random  # noqa: E402

__all__ = [*FUNCTIONS, "image", "random"]  # noqa: PLE0604 - made of the table


def __getattr__(name: str) -> Any:
    raise no_such_name("loomix.symbol.numpy_extension", name, FUNCTIONS)
