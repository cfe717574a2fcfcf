# SPDX-License-Identifier: Apache-2.0
"""DLPack capsules of types that arrays here do not have."""

from __future__ import annotations

from typing import Any

import numpy as np


class _Capsule:
    """A DLPack capsule in host memory, as an object that NumPy takes."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **wishes: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


# Integers that arrays here do not have, and the smallest type that holds them.
_WIDER = {"int16": np.int32, "uint16": np.int32, "uint32": np.int64}


def widened(capsule: Any) -> np.ndarray[Any, Any] | None:
    """The integers of a capsule, if they are of a type that only a wider one here can hold."""
    try:
        values = np.from_dlpack(_Capsule(capsule))
    except (TypeError, ValueError, RuntimeError, BufferError):
        return None
    wider = _WIDER.get(values.dtype.name)
    return None if wider is None else values.astype(wider)
