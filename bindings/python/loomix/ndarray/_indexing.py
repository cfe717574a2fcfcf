# SPDX-License-Identifier: Apache-2.0
"""Reading and writing parts of an array: what ``x[key]`` and ``x[key] = value`` mean.

A key is first expanded to one entry for each axis (and None for new axes). Keys of integers and slices are *basic*;
contiguous ones read as views. Others hold *index arrays*: they are gathered and scattered, with NumPy's rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import autograd, habits
from ..base import MXNetIndexError, MXNetTypeError, MXNetValueError, integer_types, numeric_types
from ..util import is_np_shape
from . import _internal, op
from ._exchange import elements_of

if TYPE_CHECKING:
    from ..ndarray import NDArray

FULL = slice(None)


def _is_array(value: Any) -> bool:
    return hasattr(value, "_reshape_view")


def _fail_key(key: Any) -> Any:
    raise MXNetValueError(
        f"[NDArray] does not support indexing with {key!r} of type {type(key).__name__}; "
        "expected integers, slices, None, Ellipsis, or lists and arrays of integers or booleans."
    )


def _index_arrays(item: Any) -> list[Any] | None:
    """The index arrays that one entry of a key stands for (several for a boolean mask), or None if it is basic."""
    if item is None or item is Ellipsis or isinstance(item, (slice, *integer_types)):
        return None
    if _is_array(item):
        if item.dtype != np.bool_:
            return [item]
        item = item.asnumpy()
    if isinstance(item, (list, tuple, range)):
        parts: Any = item
        item = np.asarray([part.asnumpy() if _is_array(part) else part for part in parts])
        if item.size == 0:
            item = item.astype(np.int64)
    if not isinstance(item, np.ndarray):
        _fail_key(item)
    if item.dtype == np.bool_:
        return [np.asarray(part) for part in item.nonzero()]
    if item.dtype.kind not in "iuf":
        _fail_key(item)
    return [item.astype(np.int64)]


def expand(key: Any, shape: Sequence[int]) -> list[Any]:
    """A key as a list with one entry for each axis of ``shape``, and None for each new axis.

    Entries are ints in range, slices, None, or index arrays (NumPy int64, or NDArray as given).
    """
    ndim = len(shape)
    items = list(key) if isinstance(key, tuple) else [key]
    parts = []
    for item in items:
        if isinstance(item, (bool, np.bool_)):
            item = int(item)  # MXNet reads True as 1
        arrays = _index_arrays(item)
        parts.append((item, arrays))
    used = sum(len(arrays) if arrays else item is not None and item is not Ellipsis for item, arrays in parts)
    if used > ndim:
        raise MXNetIndexError(
            f"[NDArray] too many indices: got {used} for an array of {ndim} axes, shape {shape}."
        )
    expanded: list[Any] = []
    axis, seen_ellipsis = 0, False
    for item, arrays in parts:
        if item is Ellipsis:
            if seen_ellipsis:
                raise MXNetIndexError("[NDArray] an index can only have a single ellipsis ('...').")
            seen_ellipsis = True
            expanded += [FULL] * (ndim - used)
            axis += ndim - used
        elif arrays:
            if len(arrays) == 1:
                habits.float_mask(item if hasattr(item, "dtype") else arrays[0], tuple(shape[axis:]))
            for array in arrays:
                expanded.append(_checked_array(array, axis, shape))
                axis += 1
        elif item is None:
            expanded.append(None)
        else:
            expanded.append(item if isinstance(item, slice) else _checked_int(int(item), axis, shape))
            axis += 1
    return expanded + [FULL] * (ndim - axis)


def _out_of_bounds(index: Any, axis: int, size: int) -> MXNetIndexError:
    return MXNetIndexError(
        f"[NDArray] index {index} is out of bounds for axis {axis} with size {size}; expected {-size} to {size - 1}."
    )


def _checked_int(index: Any, axis: Any, shape: Sequence[int]) -> Any:
    if not -shape[axis] <= index < shape[axis]:
        raise _out_of_bounds(index, axis, shape[axis])
    return index + shape[axis] if index < 0 else index


def _checked_array(array: NDArray, axis: Any, shape: Sequence[int]) -> Any:
    if _is_array(array):
        return array  # its values are not known yet: the operator checks them
    size = shape[axis]
    if array.size and not (-size <= array.min() and array.max() < size):
        worst = array.max() if array.max() >= size else array.min()
        raise _out_of_bounds(worst, axis, size)
    return np.where(array < 0, array + size, array)


def _is_basic(entries: Any) -> bool:
    return all(entry is None or isinstance(entry, (int, slice)) for entry in entries)


def _ranges(entries: Any, shape: Sequence[int]) -> Any:
    """begin, end, step for each axis, and the shape that they select; of basic entries without None."""
    begin, end, step, count = [], [], [], []
    for entry, size in zip(entries, shape):
        if isinstance(entry, int):
            entry = slice(entry, entry + 1)
        try:
            first, last, stride = entry.indices(size)
        except (TypeError, ValueError) as error:
            raise MXNetIndexError(f"[NDArray] bad slice {entry!r}: {error}.") from None
        number = len(range(first, last, stride))
        begin.append(first)
        step.append(stride)
        # A negative stride that reaches element 0 ends before it, which only None can say.
        end.append(None if stride < 0 and last < 0 else last)
        count.append(number)
    return tuple(begin), tuple(end), tuple(step), tuple(count)


def _contiguous(begin: Sequence[int], step: Sequence[int], count: Sequence[int], shape: Sequence[int]) -> Any:
    """First and last flat element if the selection is one stretch of memory, else None."""
    whole = len(shape)
    while whole and count[whole - 1] == shape[whole - 1] and step[whole - 1] == 1:
        whole -= 1
    # Axis `whole - 1` may be a range; all axes before it must select one item.
    if whole and (step[whole - 1] != 1 and count[whole - 1] != 1):
        return None
    if any(number != 1 for number in count[: max(whole - 1, 0)]):
        return None
    first = 0
    for start, size in zip(begin, shape):
        first = first * size + start
    return first, first + int(np.prod(count, dtype=np.int64))


def _result_shape(entries: Any, count: Sequence[int]) -> tuple[int] | tuple[Any, ...]:
    """The shape after integers drop their axes and None adds new ones."""
    result, axis = [], 0
    for entry in entries:
        if entry is None:
            result.append(1)
        else:
            if isinstance(entry, slice):
                result.append(count[axis])
            axis += 1
    if not result and not is_np_shape():
        return (1,)
    return tuple(result)


def _reshaped(array: NDArray, shape: Sequence[int]) -> Any:
    return array if array.shape == shape else array._reshape(shape)


def _get_basic(array: NDArray, entries: Any) -> Any:
    shape = array.shape
    begin, end, step, count = _ranges([entry for entry in entries if entry is not None], shape)
    result = _result_shape(entries, count)
    if 0 in count:
        return type(array)._empty(result, array.context, array.dtype)
    if not autograd.is_recording():
        stretch = _contiguous(begin, step, count, shape)
        if stretch is not None:
            return array._reshape_view((array.size,))._slice(*stretch)._reshape_view(result)
    if count == shape and all(number == 1 for number in step):
        return _reshaped(array, result) if result != shape else op.identity(array)
    return _reshaped(op.slice(array, begin=begin, end=end, step=step), result)


class _Advanced:
    """A key with index arrays, split into a basic part that comes first and index arrays on the leading axes.

    ``basic``: entries of ints (as arrays' axes: full) and slices; ``order``: the permutation that brings the indexed
    axes to the front; ``indices``: one int64 NDArray of shape (axes, *block), ``block`` its broadcast shape.
    """

    def __init__(self, array: NDArray, entries: Any) -> None:
        shape = array.shape
        plain = [entry for entry in entries if entry is not None]
        # An integer beside index arrays is one itself.
        plain = [np.asarray(entry) if isinstance(entry, int) else entry for entry in plain]
        self.axes = [axis for axis, entry in enumerate(plain) if not isinstance(entry, slice)]
        self.basic = [entry if isinstance(entry, slice) else FULL for entry in plain]
        begin, end, step, count = _ranges(self.basic, shape)
        self.ranges = (begin, end, step)
        self.sliced = count != shape or any(number != 1 for number in step)
        self.shape = count
        rest = [axis for axis in range(len(shape)) if axis not in self.axes]
        self.order = tuple(self.axes + rest)
        self.rest_shape = tuple(count[axis] for axis in rest)
        arrays = [plain[axis] for axis in self.axes]
        try:
            self.block = np.broadcast_shapes(*(item.shape for item in arrays))
        except ValueError:
            raise MXNetIndexError(
                "[NDArray] index arrays could not be broadcast together: their shapes are "
                + ", ".join(str(item.shape) for item in arrays)
                + "."
            ) from None
        self.indices = self._stack(array, arrays)
        # The result has the block first, unless the indexed axes were side by side: then it takes their place.
        places = [i for i, entry in enumerate(entries) if entry is not None and not isinstance(entry, slice)]
        adjacent = places[-1] - places[0] + 1 == len(places)
        before = places[0] if adjacent else 0
        self.before = sum(1 for entry in entries[:before] if entry is not None)
        # The final shape with new axes.
        tail = [
            1 if entry is None else None for entry in entries if entry is None or isinstance(entry, slice)
        ]
        sizes = iter(self.rest_shape)
        full = [1 if item == 1 else next(sizes) for item in tail]
        head = sum(1 for entry in entries[:before] if entry is None or isinstance(entry, slice))
        self.result = tuple(full[:head]) + self.block + tuple(full[head:])

    def _stack(self, array: NDArray, arrays: Any) -> NDArray:
        make = type(array)._from_numpy
        if all(isinstance(item, np.ndarray) for item in arrays):
            stacked = np.stack([np.broadcast_to(item, self.block) for item in arrays])
            return make(np.ascontiguousarray(stacked, dtype=np.int64), array.context)
        parts = []
        for axis, item in zip(self.axes, arrays):
            if isinstance(item, np.ndarray):
                item = make(
                    np.ascontiguousarray(np.broadcast_to(item, self.block), dtype=np.int64), array.context
                )
            else:
                with autograd.pause():
                    item = item.astype(np.int64).as_in_context(array.context)
                    item = item + (item < 0).astype(np.int64) * self.shape[axis]
                    if item.shape != self.block:
                        item = item._reshape((1,) * (len(self.block) - item.ndim) + item.shape)
                        item = op.broadcast_to(item, shape=self.block)
            parts.append(item)
        with autograd.pause():
            return op.stack(*parts, axis=0)

    def front(self, array: NDArray) -> NDArray:
        """The basic part of ``array`` with the indexed axes first."""
        if self.sliced:
            begin, end, step = self.ranges
            array = op.slice(array, begin=begin, end=end, step=step)
        if self.order != tuple(range(len(self.order))):
            array = op.transpose(array, axes=self.order)
        return array


def _get_advanced(array: NDArray, entries: Any) -> Any:
    plan = _Advanced(array, entries)
    if 0 in plan.result:
        return type(array)._empty(plan.result, array.context, array.dtype)
    picked = op.gather_nd(plan.front(array), plan.indices)
    if plan.before:
        block, rest = len(plan.block), len(plan.rest_shape)
        order = (
            tuple(range(block, block + plan.before))
            + tuple(range(block))
            + tuple(range(block + plan.before, block + rest))
        )
        picked = op.transpose(picked, axes=order)
    result = plan.result or (() if is_np_shape() else (1,))
    return _reshaped(picked, result)


def get_item(array: NDArray, key: Any) -> Any:
    """``array[key]``: a view for contiguous integers and slices outside of recording, otherwise a copy."""
    entries = expand(key, array.shape)
    return _get_basic(array, entries) if _is_basic(entries) else _get_advanced(array, entries)


def _value_array(array: NDArray, value: Any, shape: Sequence[int]) -> Any:
    """``value`` as an NDArray of ``array``'s type and device that fits ``shape`` by broadcasting."""
    if _is_array(value):
        if value.stype != "default":
            value = value.tostype("default")
        value = value.as_in_context(array.context)
        if value.dtype != array.dtype:
            value = value.astype(array.dtype)
    else:
        try:
            data = None if value is None else elements_of(value, array.dtype)
        except (TypeError, ValueError):
            data = None
        if data is None:
            raise MXNetTypeError(
                f"[NDArray] cannot assign {value!r} of type {type(value).__name__}; expected a number or an array."
            )
        value = type(array)._from_numpy(np.ascontiguousarray(data), array.context)
    if value.shape == shape:
        return value
    have = value.shape
    while len(have) > len(shape) and have[0] == 1:
        have = have[1:]
    try:
        fits = np.broadcast_shapes(have, shape) == tuple(shape)
    except ValueError:
        fits = False
    if not fits:
        raise MXNetValueError(
            f"[NDArray] cannot assign a value of shape {value.shape} to a part of shape {shape}."
        )
    value = value._reshape((1,) * (len(shape) - len(have)) + tuple(have))
    return value if value.shape == tuple(shape) else op.broadcast_to(value, shape=shape)


def _fill(array: NDArray, value: Any) -> None:
    """Overwrites the whole array."""
    if isinstance(value, numeric_types):
        _internal._full(
            shape=array.shape, ctx=array.context, dtype=array.dtype, value=float(value), out=array
        )
    elif isinstance(value, np.ndarray) and value.shape == array.shape and not autograd.is_recording():
        array._copy_from_numpy(np.ascontiguousarray(elements_of(value, array.dtype)))
    else:
        op.identity(_value_array(array, value, array.shape), out=array)


def _set_basic(array: NDArray, entries: Any, value: Any) -> None:
    shape = array.shape
    begin, end, step, count = _ranges([entry for entry in entries if entry is not None], shape)
    if 0 in count:
        return
    # An integer drops its axis from the part, also where the axis has size 1 and the part is the whole array.
    plain = isinstance(value, numeric_types) or all(isinstance(entry, slice) for entry in entries)
    if plain and count == shape and all(number == 1 for number in step) and None not in entries:
        _fill(array, value)
        return
    if isinstance(value, numeric_types):
        _internal._slice_assign_scalar(array, scalar=float(value), begin=begin, end=end, step=step, out=array)
        return
    value = _value_array(array, value, _result_shape(entries, count))
    _internal._slice_assign(array, value._reshape(count), begin=begin, end=end, step=step, out=array)


def _set_advanced(array: NDArray, entries: Any, value: Any) -> None:
    plan = _Advanced(array, entries)
    if 0 in plan.result:
        return
    # The flat positions of the elements that the key selects: one sum over the axes of position times stride.
    key = tuple(entry.asnumpy().astype(np.int64) if _is_array(entry) else entry for entry in entries)
    picked: Any = 0
    stride = 1
    for axis in reversed(range(array.ndim)):
        size = array.shape[axis]
        positions = np.arange(size, dtype=np.int64).reshape((size,) + (1,) * (array.ndim - 1 - axis))
        picked = picked + np.broadcast_to(positions, array.shape)[key] * stride
        stride *= size
    result = picked.shape or ((1,) if not is_np_shape() else ())
    value = _value_array(array, value, result)
    indices = type(array)._from_numpy(np.ascontiguousarray(picked.reshape(1, -1)), array.context)
    flat = array._reshape_view((array.size,))
    _internal._scatter_set_nd(flat, value._reshape((picked.size,)), indices, shape=(array.size,), out=flat)


def set_item(array: NDArray, key: Any, value: Any) -> None:
    """``array[key] = value``, with the value broadcast to the part."""
    if key is Ellipsis or (isinstance(key, slice) and key == FULL and array.ndim):
        _fill(array, value)
        return
    entries = expand(key, array.shape)
    if _is_array(value) and isinstance(key, integer_types) and array._shares_memory(value):
        habits.swapped_views(array, int(key), value)
    if _is_basic(entries):
        _set_basic(array, entries, value)
    else:
        _set_advanced(array, entries, value)


def get_oshape_of_gather_nd_op(dshape: Sequence[int], ishape: Sequence[int]) -> tuple[int, ...]:
    """The shape of ``gather_nd(data, indices)``, from those of data and indices.

    >>> get_oshape_of_gather_nd_op((3, 4, 5), (2, 6))
    (6, 5)
    """
    if not ishape or not 0 < ishape[0] <= len(dshape):
        raise MXNetValueError(
            f"[gather_nd] indices of shape {tuple(ishape)} do not fit data of shape {tuple(dshape)}."
        )
    return tuple(ishape[1:]) + tuple(dshape[ishape[0] :])


def get_indexing_dispatch_code(key: Sequence[Any]) -> int:
    """0 for a key of integers and slices, 1 for one with index arrays or lists.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.nd.get_indexing_dispatch_code((0, slice(2))), mx.nd.get_indexing_dispatch_code([0, 1])
    (0, 0)
    """
    basic = (int, np.integer, slice, type(None), type(Ellipsis))
    return 0 if all(isinstance(item, basic) for item in key) else 1


def indexing_key_expand_implicit_axes(key: Any, shape: Sequence[int]) -> tuple[Any, int]:
    """A key with an entry for each axis; and the place of a boolean array among them, or -1.

    >>> indexing_key_expand_implicit_axes((1, ...), (3, 4))
    ((1, slice(None, None, None)), -1)
    """
    items = list(key) if isinstance(key, tuple) else [key]
    masks = [i for i, item in enumerate(items) if getattr(item, "dtype", None) == np.bool_]
    used = sum(
        item.ndim if i in masks else item is not None and item is not Ellipsis for i, item in enumerate(items)
    )
    if used > len(shape):
        raise MXNetIndexError(f"[NDArray] too many indices: got {used} for an array of {len(shape)} axes.")
    rest = [slice(None)] * (len(shape) - used)
    places = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise MXNetIndexError("[NDArray] an index can only have a single ellipsis ('...').")
    place = places[0] if places else len(items)
    expanded = items[:place] + rest + items[place + 1 :]
    mask = next((i for i, item in enumerate(expanded) if getattr(item, "dtype", None) == np.bool_), -1)
    return tuple(expanded), mask


def slice_is_contiguous(slc_key: Sequence[slice], shape: Sequence[int]) -> bool:
    """Whether slices, one an axis, select memory in one piece; MXNet has this as a method of its arrays.

    >>> slice_is_contiguous((slice(0, 2), slice(0, 3)), (4, 3)), slice_is_contiguous((slice(0, 2), slice(0, 2)), (4, 3))
    (True, False)
    """
    partial = False
    for part, size in reversed(list(zip(slc_key, shape))):
        chosen = range(*part.indices(size))
        if len(chosen) > 1 and (partial or chosen.step != 1):
            return False
        partial = partial or len(chosen) != size
    return True
