# SPDX-License-Identifier: Apache-2.0
"""Functions that move, join, split and choose elements."""

from __future__ import annotations

from typing import Any

import numpy as onp

from ..base import MXNetValueError
from ._base import (
    SCALARS,
    F,
    arrays_of,
    asarray,
    axes_of,
    axis_of,
    broadcast_shape,
    cast,
    filled,
    into,
    is_array,
    naming_errors,
    pair,
    row_major,
    shape_of,
)


def reshape(a: Any, newshape: Any, order: str = "C", out: Any = None) -> Any:
    """The same elements under another shape; one size may be -1."""
    row_major(order, "np.reshape")
    sizes = tuple(newshape) if isinstance(newshape, (tuple, list)) else (newshape,)
    return into(out, asarray(a, who="np.reshape")._reshape_plain(tuple(int(n) for n in sizes)), "np.reshape")


def ravel(x: Any, order: str = "C") -> Any:
    """The elements as a flat array."""
    return reshape(x, (-1,), order)


def transpose(a: Any, axes: Any = None) -> Any:
    """The array with its axes in another order; reversed unless one is given."""
    a = asarray(a, who="np.transpose")
    if axes is None:
        return F.transpose(a)
    axes = tuple(axis_of(i, a.ndim, "np.transpose") for i in axes)
    if sorted(axes) != list(range(a.ndim)):
        raise MXNetValueError(f"[np.transpose] axes {axes} are not those of an array of {a.ndim} axes.")
    return F.transpose(a, axes=tuple(axes)) if len(axes) else F.identity(a)


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """The array with two axes exchanged."""
    return F.swapaxes(asarray(a, who="np.swapaxes"), dim1=axis1, dim2=axis2)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """The array with axes moved to other places; the rest keep their order."""
    a = asarray(a, who="np.moveaxis")
    source, destination = (axes_of(x, a.ndim, "np.moveaxis") for x in (source, destination))
    if len(source) != len(destination):
        raise MXNetValueError(f"[np.moveaxis] source has {len(source)} axes, destination {len(destination)}.")
    order = [i for i in range(a.ndim) if i not in source]
    for place, axis in sorted(zip(destination, source)):
        order.insert(place, axis)
    return transpose(a, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """The array with an axis moved to before another one."""
    a = asarray(a)
    axis = axis_of(axis, a.ndim, "np.rollaxis")
    start = start + a.ndim if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


def expand_dims(a: Any, axis: Any) -> Any:
    """The array with a new axis of size 1."""
    a = asarray(a, who="np.expand_dims")
    if isinstance(axis, (tuple, list)):
        for item in axes_of(axis, a.ndim + len(axis), "np.expand_dims"):
            a = F.expand_dims(a, axis=item)
        return a
    return F.expand_dims(a, axis=axis)


def squeeze(a: Any, axis: Any = None, out: Any = None) -> Any:
    """The array without axes of size 1."""
    a = asarray(a, who="np.squeeze")
    axes = (
        axes_of(axis, a.ndim, "np.squeeze")
        if axis is not None
        else [i for i, n in enumerate(a.shape) if n == 1]
    )
    for i in axes:
        if a.shape[i] != 1:
            raise MXNetValueError(f"[np.squeeze] axis {i} has size {a.shape[i]}; expected 1.")
    return into(out, a._reshape_plain(tuple(n for i, n in enumerate(a.shape) if i not in axes)), "np.squeeze")


def broadcast_to(array: Any, shape: Any) -> Any:
    """The array repeated along axes of size 1, and new leading ones."""
    return asarray(array, who="np.broadcast_to").broadcast_to(shape_of(shape))


def broadcast_arrays(*args: Any) -> list[Any]:
    """Arrays repeated to the shape that they have together."""
    arrays = [asarray(x, who="np.broadcast_arrays") for x in args]
    shape = broadcast_shape("np.broadcast_arrays", *(x.shape for x in arrays))
    return [broadcast_to(x, shape) for x in arrays]


def concatenate(seq: Any, axis: Any = 0, out: Any = None) -> Any:
    """Arrays joined along an axis that exists; flat for None."""
    arrays = arrays_of(seq, "np.concatenate")
    if axis is None:
        arrays, axis = [reshape(x, (-1,)) for x in arrays], 0
    if arrays[0].ndim == 0:
        raise MXNetValueError("[np.concatenate] arrays without axes cannot be joined; use np.stack.")
    axis = axis_of(axis, arrays[0].ndim, "np.concatenate")
    filled_ones = [x for x in arrays if x.shape[axis] > 0]  # an empty piece adds nothing
    arrays = filled_ones or arrays[:1]
    return into(out, F.concat(*arrays, dim=axis), "np.concatenate")


def stack(arrays: Any, axis: int = 0, out: Any = None) -> Any:
    """Arrays joined along a new axis."""
    arrays = arrays_of(arrays, "np.stack")
    return into(out, F.stack(*arrays, axis=axis), "np.stack")


def _at_least(ndim: int, x: Any) -> Any:
    x = asarray(x)
    if x.ndim >= ndim:
        return x
    shape = x.shape
    wide = {1: (1,), 2: (1, *shape) if shape else (1, 1)}.get(ndim)
    if ndim == 3:
        wide = (1, *shape, 1) if x.ndim == 1 else (*shape, 1) if x.ndim == 2 else (1, 1, 1)
    return x._reshape_plain(wide)


def _each(ndim: int, arrays: Any) -> Any:
    found = [_at_least(ndim, x) for x in arrays]
    return found[0] if len(found) == 1 else found


def atleast_1d(*arys: Any) -> Any:
    """Arrays of one axis or more."""
    return _each(1, arys)


def atleast_2d(*arys: Any) -> Any:
    """Arrays of two axes or more."""
    return _each(2, arys)


def atleast_3d(*arys: Any) -> Any:
    """Arrays of three axes or more."""
    return _each(3, arys)


def vstack(arrays: Any, out: Any = None) -> Any:
    """Arrays as rows, one under the other."""
    return concatenate([_at_least(2, x) for x in arrays], 0, out)


def row_stack(arrays: Any) -> Any:
    """Arrays as rows, one under the other."""
    return vstack(arrays)


def hstack(arrays: Any) -> Any:
    """Arrays side by side: along the second axis, or the only one."""
    arrays = [_at_least(1, x) for x in arrays]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


def dstack(arrays: Any) -> Any:
    """Arrays one behind the other, along the third axis."""
    return concatenate([_at_least(3, x) for x in arrays], 2)


def column_stack(tup: Any) -> Any:
    """Flat arrays as columns, matrices side by side."""
    arrays = [_at_least(1, x) for x in tup]
    return concatenate([x._reshape_plain((-1, 1)) if x.ndim == 1 else x for x in arrays], 1)


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """Values joined to the end of an array."""
    return concatenate([arr, values], axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Parts of an array along an axis: so many of nearly equal size, or those between positions."""
    ary = asarray(ary, who="np.array_split")
    axis = axis_of(axis, ary.ndim, "np.array_split")
    size = ary.shape[axis]
    if isinstance(indices_or_sections, (int, onp.integer)):
        if indices_or_sections <= 0:
            raise MXNetValueError(f"[np.array_split] {indices_or_sections} sections; expected 1 or more.")
        each, extra = divmod(size, int(indices_or_sections))
        ends = onp.cumsum([each + 1] * extra + [each] * (indices_or_sections - extra)).tolist()
        starts = [0, *ends[:-1]]
    else:
        places = [int(i) for i in indices_or_sections]
        starts, ends = [0, *places], [*places, size]
    head = (slice(None),) * axis
    return [ary[(*head, slice(begin, end))] for begin, end in zip(starts, ends)]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Parts of an array along an axis: so many of equal size, or those between positions."""
    ary = asarray(ary, who="np.split")
    size = ary.shape[axis_of(axis, ary.ndim, "np.split")]
    if isinstance(indices_or_sections, (int, onp.integer)) and (
        indices_or_sections <= 0 or size % indices_or_sections
    ):
        raise MXNetValueError(
            f"[np.split] {size} elements do not divide into {indices_or_sections} equal sections."
        )
    return array_split(ary, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Parts along the second axis, or the only one."""
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Parts along the first axis."""
    if ary.ndim < 2:
        raise MXNetValueError(f"[np.vsplit] the array has {ary.ndim} axes; expected two or more.")
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Parts along the third axis."""
    if ary.ndim < 3:
        raise MXNetValueError(f"[np.dsplit] the array has {ary.ndim} axes; expected three or more.")
    return split(ary, indices_or_sections, 2)


def flip(m: Any, axis: Any = None, out: Any = None) -> Any:
    """The elements in the opposite order along axes."""
    m = asarray(m, who="np.flip")
    axes = axes_of(axis, m.ndim, "np.flip")
    return into(out, F.reverse(m, axis=axes) if axes and m.size else F.identity(m), "np.flip")


def fliplr(m: Any) -> Any:
    """The second axis in the opposite order."""
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """The first axis in the opposite order."""
    return flip(m, 0)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """The elements moved along axes; those that leave at the end come back at the beginning."""
    a = asarray(a, who="np.roll")
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.shape)
    shifts, axes = onp.broadcast_arrays(shift, axis)
    for by, i in zip(shifts.reshape(-1).tolist(), axes.reshape(-1).tolist()):
        i = axis_of(i, a.ndim, "np.roll")
        by = by % a.shape[i] if a.shape[i] else 0
        if by:
            head = (slice(None),) * i
            a = concatenate([a[(*head, slice(-by, None))], a[(*head, slice(None, -by))]], i)
    return a


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """The array turned by 90 degrees ``k`` times, in the plane of two axes."""
    m = asarray(m, who="np.rot90")
    one, two = axes_of(axes, m.ndim, "np.rot90")
    if k % 4 == 2:
        return flip(m, (one, two))
    if k % 4 == 0:
        return F.identity(m)
    return swapaxes(flip(m, two), one, two) if k % 4 == 1 else flip(swapaxes(m, one, two), two)


def tile(A: Any, reps: Any) -> Any:
    """The array repeated as a whole."""
    A = asarray(A, who="np.tile")
    with naming_errors("np.tile"):
        reps = (int(reps),) if isinstance(reps, (int, onp.integer)) else tuple(int(n) for n in reps)
    return F.tile(A, reps=reps) if reps else F.identity(A)


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Each element repeated; so often, or as often as an array says for each."""
    a = asarray(a, who="np.repeat")
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    if isinstance(repeats, (int, onp.integer)):
        return F.repeat(a, repeats=int(repeats), axis=axis)
    counts = onp.asarray(repeats.asnumpy() if is_array(repeats) else repeats)
    counts = counts if counts.size else counts.astype("int64")
    if counts.size == 1:
        return F.repeat(a, repeats=int(counts.reshape(-1)[0]), axis=axis)
    return take(a, asarray(onp.repeat(onp.arange(a.shape[axis]), counts)), axis)


def pad(x: Any, pad_width: Any = None, mode: str = "constant", **kwargs: Any) -> Any:
    """The array with elements added at both ends of each axis."""
    x = asarray(x, who="np.pad")
    with naming_errors("np.pad"):
        widths = onp.broadcast_to(onp.asarray(pad_width), (x.ndim, 2)).tolist()
    value = kwargs.pop("constant_values", 0)
    if mode == "constant":
        for axis, (before, after) in enumerate(widths):
            shape = list(x.shape)
            pieces = []
            for count in (before, None, after):
                if count is None:
                    pieces.append(x)
                elif count:
                    shape[axis] = count
                    pieces.append(filled(tuple(shape), value, dtype=x.dtype, ctx=x.context))
            x = concatenate(pieces, axis) if len(pieces) > 1 else x
        return x
    if mode not in ("edge", "reflect", "symmetric", "wrap", "maximum", "minimum"):
        raise MXNetValueError(
            f"[np.pad] mode is {mode!r}; expected constant, edge, reflect, symmetric, wrap, maximum or minimum."
        )
    for axis, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        if mode in ("maximum", "minimum"):
            edge = getattr(F, mode[:3])(x, axis=axis, keepdims=True)
            ends = [F.repeat(edge, repeats=n, axis=axis) for n in (before, after) if n]
            x = concatenate([*ends[: bool(before)], x, *ends[bool(before) :]], axis)
        else:
            places: Any
            with naming_errors("np.pad"):
                places = onp.pad(onp.arange(x.shape[axis]), (before, after), mode=mode)  # type: ignore[call-overload]
            x = take(x, asarray(places), axis)
    return x


def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise", out: Any = None) -> Any:
    """The elements at positions along an axis; of the flat array where no axis is given."""
    a = asarray(a, who="np.take")
    if not is_array(indices):
        indices = asarray(onp.asarray(indices, dtype="int64"), like=a)
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    if mode not in ("raise", "clip", "wrap"):
        raise MXNetValueError(f"[np.take] mode is {mode!r}; expected raise, clip or wrap.")
    if mode == "raise":
        indices = where(indices < 0, indices + a.shape[axis], indices)
    return into(out, F.take(a, indices, axis=axis, mode=mode), "np.take")


def take_along_axis(arr: Any, indices: Any, axis: Any) -> Any:
    """For each place of the other axes, the elements at positions along one axis."""
    arr, indices = asarray(arr), asarray(indices)
    if axis is None:
        return ravel(arr)[ravel(indices)]
    axis = axis_of(axis, arr.ndim, "np.take_along_axis")
    key = [
        indices
        if i == axis
        else onp.arange(arr.shape[i]).reshape([-1 if j == i else 1 for j in range(arr.ndim)])
        for i in range(arr.ndim)
    ]
    return arr[tuple(key)]


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Elements of x where the condition is not zero, else of y; without them, the positions where it is not."""
    if (x is None) != (y is None):
        raise MXNetValueError("[np.where] expected both x and y, or neither.")
    if x is None:
        from ._search import nonzero

        return nonzero(condition)
    if isinstance(x, SCALARS) and isinstance(y, SCALARS):
        kinds = [bool, onp.bool_]
        kind = "bool" if type(x) in kinds and type(y) in kinds else None
        like = condition if is_array(condition) else None
        x = filled((), x, dtype=kind, ctx=like and like.context)
        y = filled((), y, dtype=kind, ctx=like and like.context)
    x, y = pair(x, y, "np.where")
    condition = asarray(condition, like=x, who="np.where")
    shape = broadcast_shape("np.where", condition.shape, x.shape, y.shape)
    return F.where(*(v if v.shape == shape else v.broadcast_to(shape) for v in (condition, x, y)))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Elements of the first choice whose condition holds."""
    result = default
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        result = where(condition, choice, result)
    return result


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Elements of the choice whose number stands in ``a``."""
    a = asarray(a)
    choices = broadcast_arrays(a, *arrays_of(choices, "np.choose"))[1:]
    return into(
        out,
        take_along_axis(stack(choices), take(asarray(onp.arange(len(choices))), a, mode=mode)[None], 0)[0],
    )


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of matrices in two axes; they are the last axis of the result."""
    a = asarray(a, who="np.diagonal")
    one, two = axes_of((axis1, axis2), a.ndim, "np.diagonal")
    rows, columns = a.shape[one], a.shape[two]
    if -rows < offset < columns:
        return F.diag(a, k=offset, axis1=one, axis2=two)
    return cast(moveaxis(a, (one, two), (-2, -1))[..., :0, :0].sum(axis=-1), a.dtype)  # of no elements


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, out: Any = None) -> Any:
    """The sums of diagonals."""
    return into(out, F.sum(diagonal(a, offset, axis1, axis2), axis=-1), "np.trace")


def diag(array: Any, k: int = 0) -> Any:
    """The ``k``-th diagonal of a matrix, or the matrix with this diagonal."""
    x = asarray(array, who="np.diag")
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise MXNetValueError(f"[np.diag] the array has {x.ndim} axes; expected one or two.")
    return F.diag(x, k=k)


def diagflat(array: Any, k: int = 0) -> Any:
    """A matrix with the elements on a diagonal."""
    return F.diag(reshape(asarray(array), (-1,)), k=k)


def _triangle(keep: Any) -> Any:
    def function(m: Any, k: int = 0) -> Any:
        m = asarray(m, who=f"np.{keep}")
        m = m[None] * filled((m.size, 1), 1, like=m) if m.ndim == 1 else m
        mask = getattr(onp, keep)(onp.ones(m.shape[-2:], dtype=bool), k)
        return where(asarray(mask, like=m), m, 0)

    function.__name__ = function.__qualname__ = keep
    function.__doc__ = "The matrices with zeros " + ("above" if keep == "tril" else "below") + " a diagonal."
    return function


tril, triu = _triangle("tril"), _triangle("triu")


def _host_indices(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        args = tuple(onp.empty(x.shape, dtype=bool) if is_array(x) else x for x in args)
        found = getattr(onp, name)(*args, **kwargs)
        return tuple(asarray(x) for x in found)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Positions, as of ``numpy.{name}``."
    return function


tril_indices, triu_indices = _host_indices("tril_indices"), _host_indices("triu_indices")
diag_indices = _host_indices("diag_indices")


def tril_indices_from(arr: Any, k: int = 0) -> Any:
    """The positions of a matrix' lower triangle."""
    return tril_indices(arr.shape[0], k, arr.shape[1])


def triu_indices_from(arr: Any, k: int = 0) -> Any:
    """The positions of a matrix' upper triangle."""
    return triu_indices(arr.shape[0], k, arr.shape[1])


def diag_indices_from(arr: Any) -> Any:
    """The positions of the diagonal of an array whose axes have one size."""
    return diag_indices(arr.shape[0], arr.ndim)


def meshgrid(*xi: Any, **kwargs: Any) -> list[Any]:
    """Coordinates on a grid, of the coordinates along each axis."""
    indexing, sparse = kwargs.pop("indexing", "xy"), kwargs.pop("sparse", False)
    copies = kwargs.pop("copy", True)
    if kwargs or indexing not in ("xy", "ij"):
        raise MXNetValueError(f"[np.meshgrid] got indexing={indexing!r}, {kwargs}; expected 'xy' or 'ij'.")
    axes = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        axes[:2] = 1, 0
    arrays = [reshape(x, tuple(-1 if i == axes[k] else 1 for i in range(len(xi)))) for k, x in enumerate(xi)]
    return arrays if sparse or not copies else broadcast_arrays(*arrays)


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """The array without the parts at some positions along an axis."""
    arr = asarray(arr, who="np.delete")
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_of(axis, arr.ndim, "np.delete")
    obj = onp.asarray(obj.asnumpy()) if is_array(obj) else obj
    if isinstance(obj, onp.ndarray) and obj.dtype.kind == "f":
        obj = obj.astype("int64")
    with naming_errors("np.delete"):
        rest = onp.delete(onp.arange(arr.shape[axis]), obj)
    return take(arr, asarray(rest), axis) if rest.size else arr[(slice(None),) * axis + (slice(0, 0),)]


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """The array with values put in before some positions along an axis."""
    arr = asarray(arr, who="np.insert")
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_of(axis, arr.ndim, "np.insert")
    obj = onp.asarray(obj.asnumpy()).astype("int64") if is_array(obj) else obj
    size = arr.shape[axis]
    # Where each part of the result comes from: positions from `size` on are of the values.
    count = onp.arange(size)[obj].size if isinstance(obj, slice) else onp.asarray(obj).size
    with naming_errors("np.insert"):
        places = onp.insert(onp.arange(size), obj, size + onp.arange(count) if count > 1 else size)
    part = (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
    values = cast(asarray(values, like=arr), arr.dtype)
    if onp.ndim(obj) == 0 and not isinstance(obj, slice) and values.ndim:
        values = moveaxis(values._reshape_plain((1,) * (arr.ndim - values.ndim) + values.shape), 0, axis)
        count = values.shape[axis]
        part = (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
        places = onp.insert(onp.arange(size), [obj] * count, size + onp.arange(count))
    return take(concatenate([arr, broadcast_to(values, part)], axis), asarray(places), axis)


def resize(a: Any, new_shape: Any) -> Any:
    """An array of another shape, filled with the elements again and again."""
    a, shape = ravel(asarray(a, who="np.resize")), shape_of(new_shape)
    count = int(onp.prod(shape))
    if not a.size or not count:
        return filled(shape, 0, like=a)
    return reshape(tile(a, -(-count // a.size))[:count], shape)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences between neighbours along an axis, ``n`` times."""
    a = asarray(a, who="np.diff")
    if a.ndim == 0 or n < 0:
        raise MXNetValueError(
            f"[np.diff] got {a.ndim} axes and n={n}; expected an axis or more, and n from 0 on."
        )
    axis = axis_of(axis, a.ndim, "np.diff")

    def end(value: Any) -> Any:
        value = asarray(value, like=a)
        return value if value.ndim else broadcast_to(value, (*a.shape[:axis], 1, *a.shape[axis + 1 :]))

    parts = [end(v) if k != 1 else a for k, v in enumerate((prepend, a, append)) if v is not None]
    a = concatenate(parts, axis) if len(parts) > 1 else a
    head = (slice(None),) * axis
    for _ in range(n):
        a = a[(*head, slice(1, None))] - a[(*head, slice(None, -1))]
    return a


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences between neighbours of the flat array, with values put at the ends."""
    ary = ravel(asarray(ary, who="np.ediff1d"))
    parts = [to_begin, ary[1:] - ary[:-1], to_end]
    return concatenate([ravel(cast(asarray(x), ary.dtype)) for x in parts if x is not None])


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """The parts along an axis for which a condition holds."""
    condition = onp.asarray(condition.asnumpy() if is_array(condition) else condition, dtype=bool)
    return take(a, asarray(onp.nonzero(condition)[0]), axis, out=out)


def extract(condition: Any, arr: Any) -> Any:
    """The elements for which a condition holds."""
    return compress(ravel(asarray(condition)), ravel(asarray(arr)))


FUNCTIONS: dict[str, Any] = {
    name: value
    for name, value in list(globals().items())
    if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == __name__
}
