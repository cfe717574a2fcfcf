# SPDX-License-Identifier: Apache-2.0
"""Functions that official NumPy computes, on copies of the arrays; see `_protocols.by_numpy`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as onp

from ..base import MXNetNotImplementedError
from ._protocols import by_numpy

NAMES = (
    "apply_along_axis apply_over_axes argpartition correlate frexp histogram2d histogram_bin_edges histogramdd i0 in1d "
    "intersect1d isin ix_ lexsort min_scalar_type mirr nanargmax nanargmin nancumprod nanmedian nanpercentile "
    "nanquantile npv packbits partition piecewise poly polyadd polydiv polyfit polyint polymul polysub ppmt pv rate "
    "roots setdiff1d setxor1d spacing trim_zeros union1d unpackbits vander nanvar nanstd nextafter"
).split()
_RENAMED = {"in1d": "isin"}


def _financial(name: str) -> Any:
    def function(*args: Any, **kwds: Any) -> Any:
        raise MXNetNotImplementedError(
            f"[np.{name}] NumPy has no financial functions since 1.20; use the package numpy_financial."
        )

    return function


def _make(name: str) -> Any:
    original = getattr(onp, _RENAMED.get(name, name), None)
    if original is None:
        function = _financial(name)
        function.__doc__ = "Refused: NumPy's financial functions are in the package numpy_financial."
    else:

        def function(*args: Any, **kwargs: Any) -> Any:
            return by_numpy(name, original, args, kwargs)

        if not isinstance(original, onp.ufunc):
            functools.update_wrapper(function, original)
        function.__doc__ = f"``numpy.{name}``, computed by official NumPy."
    function.__name__ = function.__qualname__ = name
    function.__module__ = "loomix.numpy"
    return function


FUNCTIONS: dict[str, Any] = {name: _make(name) for name in NAMES}
