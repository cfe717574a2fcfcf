# SPDX-License-Identifier: Apache-2.0
"""Reading and writing parts by NumPy's rules, on top of those of ``mx.nd``: here True and False are masks of no axis,
and floating index arrays are positions, as in MXNet."""

from __future__ import annotations

from typing import Any

import numpy as onp

from .. import _core, autograd
from ..base import MXNetIndexError
from ..ndarray import _indexing as nd
from ._base import F, cast, filled, is_array, is_floating, name_of_type

_BOOLS = (bool, onp.bool_)


class _Shapes:
    """NumPy's rule of shapes for a while."""

    def __enter__(self) -> None:
        self._before = _core.exchange_numpy_shapes(True)

    def __exit__(self, *exc_info: Any) -> None:
        _core.exchange_numpy_shapes(self._before)


def _split_masks(key: Any) -> tuple[tuple[Any, ...], bool | None]:
    """The key without truth values, of which each adds an axis of size 1 or 0; and what they are together."""
    items = key if isinstance(key, tuple) else (key,)
    truths = [
        item
        for item in items
        if isinstance(item, _BOOLS) or (is_array(item) and item.ndim == 0 and item.dtype == onp.bool_)
    ]
    if not truths:
        return items, None
    rest = tuple(item for item in items if not any(item is truth for truth in truths))
    return rest, all(bool(truth) for truth in truths)


def _mask_shape(item: Any) -> tuple[int, ...] | None:
    """The shape of a mask; None for what is none."""
    if isinstance(item, list) and item and isinstance(item[0], (*_BOOLS, list)):
        item = onp.asarray(item)
    return item.shape if getattr(item, "dtype", None) == onp.bool_ else None


def _check_masks(array: Any, items: tuple[Any, ...]) -> None:
    """A mask is as long as the axes that it is for, or empty, as NumPy's."""
    masks = [_mask_shape(item) for item in items]
    if not any(masks):
        return
    used = sum(
        len(mask) if mask else item is not None and item is not Ellipsis for item, mask in zip(items, masks)
    )
    axis = 0
    for item, mask in zip(items, masks):
        if mask and (
            axis + len(mask) > array.ndim or any(m not in (0, n) for m, n in zip(mask, array.shape[axis:]))
        ):
            raise MXNetIndexError(
                f"[np.ndarray] a mask of shape {mask} for the axes from {axis} on of an array of shape {array.shape}."
            )
        if mask:
            axis += len(mask)
        else:
            axis += array.ndim - used if item is Ellipsis else item is not None


def get_item(array: Any, key: Any) -> Any:
    """``array[key]``."""
    items, truth = _split_masks(key)
    _check_masks(array, items)
    with _Shapes():
        if truth is not None:
            picked = get_item(array, items)[None]
            return picked if truth else picked[0:0]
        if array.ndim == 0:
            return _of_scalar(array, items)
        picked = nd.get_item(array, items if len(items) != 1 else items[0])
        if picked.size == 0 and is_floating(array) and autograd.is_recording():
            # No operator gives no elements of some, so this one makes them depend on the array: its gradient is zero.
            return F.broadcast_add(picked, F._mul_scalar(F.sum(array), scalar=0))
        return picked


def _of_scalar(array: Any, items: tuple[Any, ...]) -> Any:
    rest = [item for item in items if item is not None and item is not Ellipsis]
    if rest:
        raise MXNetIndexError(f"[np.ndarray] too many indices: got {len(rest)} for an array without axes.")
    return array._reshape_plain((1,) * (len([item for item in items if item is None])))


def set_item(array: Any, key: Any, value: Any) -> None:
    """``array[key] = value``."""
    items, truth = _split_masks(key)
    _check_masks(array, items)
    if truth is False:
        return
    with _Shapes():
        if array.ndim == 0 or not items or (len(items) == 1 and items[0] is Ellipsis):
            return _fill(array, value)
        mask: Any = items[0] if len(items) == 1 else None
        if is_array(mask) and mask.dtype == onp.bool_ and mask.shape == array.shape and _is_single(value):
            number = (
                filled((), value, dtype=array.dtype, ctx=array.context)
                if not is_array(value)
                else cast(value, array.dtype)
            )
            with autograd.pause():
                F.where(mask, number.reshape(()).broadcast_to(array.shape), array, out=array)
            return
        nd.set_item(array, items if len(items) != 1 else items[0], value)


def _is_single(value: Any) -> bool:
    return isinstance(value, (int, float, onp.generic)) or (is_array(value) and value.size == 1)


def _fill(array: Any, value: Any) -> None:
    from ._base import asarray
    from ._shape import broadcast_to

    kind = None if is_array(value) else name_of_type(array)
    value = cast(asarray(value, like=array, dtype=kind), name_of_type(array)).as_in_context(array.context)
    while value.ndim > array.ndim and value.shape[0] == 1:
        value = value[0]
    F.identity(value if value.shape == array.shape else broadcast_to(value, array.shape), out=array)
