# SPDX-License-Identifier: Apache-2.0
"""Functions that move, join and split elements."""

from __future__ import annotations

from typing import Any

from ..base import MXNetIndexError, MXNetValueError
from ..numpy import _shape
from ..numpy._base import axis_of
from ._types import array_of


def concat(arrays: Any, /, *, axis: Any = 0) -> Any:
    """Arrays joined along an axis that exists; flat for None."""
    return _shape.concatenate(arrays, axis)


def expand_dims(x: Any, /, axis: int = 0) -> Any:
    """The array with a new axis of size 1."""
    ndim = array_of(x, "expand_dims").ndim
    if not -ndim - 1 <= axis <= ndim:
        raise MXNetIndexError(f"[array_api.expand_dims] axis is {axis}; expected {-ndim - 1} to {ndim}.")
    return _shape.expand_dims(x, axis)


def flip(x: Any, /, *, axis: Any = None) -> Any:
    """The elements in the opposite order along axes."""
    return _shape.flip(x, axis)


def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    """The array with axes moved to other places."""
    return _shape.moveaxis(x, source, destination)


def permute_dims(x: Any, /, axes: Any) -> Any:
    """The array with its axes in another order."""
    return _shape.transpose(x, axes)


def repeat(x: Any, repeats: Any, /, *, axis: Any = None) -> Any:
    """Each element repeated."""
    return _shape.repeat(x, repeats, axis)


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """The same elements under another shape."""
    result = _shape.reshape(x, shape)
    return result.copy() if copy else result


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    """The elements moved along axes; those that leave at the end come back at the beginning."""
    return _shape.roll(x, shift, axis)


def squeeze(x: Any, /, axis: Any) -> Any:
    """The array without some axes of size 1."""
    return _shape.squeeze(x, axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    """Arrays joined along a new axis."""
    return _shape.stack(arrays, axis)


def tile(x: Any, repetitions: Any, /) -> Any:
    """The array repeated as a whole."""
    return _shape.tile(x, repetitions)


def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """The parts of an array along an axis, which they do not have."""
    x = array_of(x, "unstack")
    if x.ndim == 0:
        raise MXNetValueError("[array_api.unstack] the array has no axis; expected one or more.")
    head = (slice(None),) * axis_of(axis, x.ndim, "array_api.unstack")
    return tuple(x[(*head, i)] for i in range(x.shape[axis]))


def take(x: Any, indices: Any, /, *, axis: Any = None) -> Any:
    """The elements at positions along an axis, which may be left out of a flat array."""
    if axis is None and array_of(x, "take").ndim != 1:
        raise MXNetValueError(
            f"[array_api.take] axis is None for an array of shape {x.shape}; expected an axis."
        )
    return _shape.take(x, indices, axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """For each place of the other axes, the elements at positions along one axis."""
    return _shape.take_along_axis(x, indices, axis)


FUNCTIONS: dict[str, Any] = {
    name: value
    for name, value in list(globals().items())
    if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == __name__
}
