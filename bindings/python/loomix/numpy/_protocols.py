# SPDX-License-Identifier: Apache-2.0
"""NumPy's two protocols: official NumPy's functions, called with our arrays, compute with ours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as onp

from .. import _core, autograd
from ..base import MXNetTypeError
from ._base import into, naming_errors

_warned: set[str] = set()


def _ours(function: Any) -> Any:
    """The function of mx.np that stands for one of official NumPy; None if there is none."""
    from .. import numpy

    module = getattr(function, "__module__", "") or ""
    name = getattr(function, "__name__", "")
    place: Any = numpy.linalg if module.endswith("linalg") and hasattr(numpy.linalg, name) else numpy
    return None if name.startswith("_") else place.FUNCTIONS.get(name)


def warn(name: str, arrays: list[Any]) -> None:
    """Says once for each function that official NumPy computes it, where that matters."""
    for_gradient = autograd.is_recording()
    if name in _warned or not (for_gradient or any(x.context.device_type == "gpu" for x in arrays)):
        return
    _warned.add(name)
    why = "its result has no gradient" if for_gradient else "the arrays are copied from the GPU"
    warnings.warn(f"np.{name} is computed by official NumPy: {why}.", stacklevel=4)


def _arrays_in(items: Any) -> list[Any]:
    """Arrays among the arguments, and in lists and tuples of these."""
    found = []
    for item in items:
        if isinstance(item, _core.NDArrayBase):
            found.append(item)
        elif isinstance(item, (list, tuple)):
            found += _arrays_in(item)
    return found


def by_numpy(name: str, function: Any, args: Any, kwargs: Any) -> Any:
    """Calls official NumPy with copies of the arrays; the results are arrays of mx.np again."""
    from ..ndarray._exchange import as_numpy

    arrays = _arrays_in((*args, *kwargs.values()))
    warn(name, arrays)
    out = kwargs.pop("out", None)
    with naming_errors(f"np.{name}"):
        found = function(*as_numpy(args), **as_numpy(kwargs))
    result = _wrapped(found, arrays[0].context if arrays else None)
    if out is None:
        return result
    return into(out[0] if isinstance(out, tuple) else out, result, f"np.{name}")


def _wrapped(result: Any, ctx: Any) -> Any:
    from .multiarray import array

    if isinstance(result, onp.ndarray) or (isinstance(result, onp.generic) and ctx is not None):
        try:
            return array(result, dtype=None, ctx=ctx)
        except TypeError:
            return result
    if type(result) in (list, tuple):
        return type(result)(_wrapped(item, ctx) for item in result)
    return result


def array_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What official NumPy's functions do with arrays of mx.np."""
    ours = _ours(func)
    if ours is not None:
        kwargs = {key: value for key, value in kwargs.items() if value is not onp._NoValue}
        return ours(*args, **kwargs)
    from ..ndarray._exchange import NUMPY_WRITES

    if func in NUMPY_WRITES and args and isinstance(args[0], _core.NDArrayBase):
        raise MXNetTypeError(f"[np.ndarray] numpy.{func.__name__} would change a copy; use x[...] = values.")
    return by_numpy(func.__name__, func, args, dict(kwargs))


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """What official NumPy's functions on each element do with arrays of mx.np."""
    out = kwargs.get("out")
    if out is not None:
        out = out[0] if isinstance(out, tuple) and len(out) == 1 else out
        if not isinstance(out, _core.NDArrayBase):
            return NotImplemented  # as in MXNet: our values are not written to NumPy's arrays unasked
        kwargs["out"] = out
    ours = _ours(ufunc)
    if method == "__call__" and ours is not None:
        return ours(*inputs, **kwargs)
    return by_numpy(ufunc.__name__, getattr(ufunc, method), inputs, kwargs)
