# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements, join and cut arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..builder import Builder, Value
from ..constants import check_size, slices
from ..reader import Node


def constant_ints(n: Node, i: int, what: str) -> list[int]:
    """An input that must be a constant, as numbers."""
    value = n.inputs[i] if i < len(n.inputs) else None
    found = None if value is None else value.array
    if found is None:
        opened = value is not None and value.arrays is not None
        n.fail(
            f"{what} depends on sizes that the file leaves open; give input_shapes."
            if opened
            else f"{what} must be a constant."
        )
    return [int(number) for number in found.reshape(-1)]


def optional_ints(n: Node, i: int, what: str) -> list[int] | None:
    return constant_ints(n, i, what) if i < len(n.inputs) and n.inputs[i] is not None else None


def axis_of(n: Node, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        n.fail(f"axis {axis} is out of range for {rank} axes.")
    return axis % rank


def reshape(n: Node, b: Builder) -> Value:
    x, target = n.inputs
    keep_zeros = n.flag("allowzero")
    if target.arrays is None:
        n.fail("the shape must be a constant.")
    worlds = [[int(size) for size in array.reshape(-1)] for array in target.arrays]
    wanted = []
    for i, sizes in enumerate(zip(*worlds)):
        if 0 in sizes and keep_zeros:
            n.fail("a size of 0 is not supported.")
        if len(set(sizes)) == 1:
            wanted.append(sizes[0])
        elif i < x.rank and all(shape[i] == size for shape, size in zip(x.shapes, sizes)):
            wanted.append(0)  # an open size that stays where it is
        else:
            wanted.append(-1)
    if wanted.count(-1) > 1:
        n.fail("several sizes of the shape are open; give input_shapes.")
    if not wanted:
        return b.without_axes(b.reshape(x, [1]))
    if x.rank == 0:
        wanted = [1] * len(wanted)
    return b.truth(b.reshape(x, wanted)) if x.dtype.kind == "b" else b.reshape(x, wanted)


def flatten(n: Node, b: Builder) -> Value:
    x, axis = n.inputs[0], n.int("axis", 1)
    axis = axis + x.rank if axis < 0 else axis
    if axis == 1 and x.rank > 0:
        return b.make("Flatten", x)
    before, behind = x.shape[:axis], x.shape[axis:]
    if None not in before:
        return b.reshape(x, [int(np.prod([size or 1 for size in before])), -1])
    if None in behind:
        n.fail("several sizes are open; give input_shapes.")
    return b.reshape(x, [-1, int(np.prod([size or 1 for size in behind]))])


def squeeze(n: Node, b: Builder) -> Value:
    x, axes = n.inputs[0], optional_ints(n, 1, "axes")
    if axes is None:
        axes = [axis for axis, size in enumerate(x.shape) if size == 1]
    axes = [axis_of(n, axis, x.rank) for axis in axes]
    if any(x.shape[axis] not in (1, None) for axis in axes):
        n.fail(f"axes {axes} of shape {x.shape} are not all of size 1.")
    return keep_truth(b, x, b.squeeze(x, axes))


def keep_truth(b: Builder, source: Value, found: Value) -> Value:
    """What moves booleans gives booleans."""
    return b.truth(found) if source.dtype.kind == "b" else found


def unsqueeze(n: Node, b: Builder) -> Value:
    x, axes = n.inputs[0], constant_ints(n, 1, "axes")
    rank = x.rank + len(axes)
    return keep_truth(b, x, b.unsqueeze(x, [axis_of(n, axis, rank) for axis in axes]))


def transpose(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    axes = n.ints("perm", list(range(x.rank))[::-1])
    if sorted(axes) != list(range(x.rank)):
        n.fail(f"perm is {axes} for {x.rank} axes.")
    if x.rank == 0:
        return x
    return keep_truth(b, x, b.make("transpose", x, axes=tuple(axes)))


def concat(n: Node, b: Builder) -> Value:
    axis = axis_of(n, n.int("axis", 0), n.inputs[0].rank)
    found = b.make("Concat", *n.inputs, dim=axis, num_args=len(n.inputs))
    return keep_truth(b, n.inputs[0], found)


def split(n: Node, b: Builder) -> list[Value]:
    x = n.inputs[0]
    axis = axis_of(n, n.int("axis", 0), x.rank)
    size, sizes = x.shape[axis], optional_ints(n, 1, "split")
    count = n.int("num_outputs", len(n.output_names))
    if count != len(n.output_names):
        n.fail(f"num_outputs is {count}, and there are {len(n.output_names)} outputs.")
    if sizes is None:
        if size is None:
            n.fail("the size along the axis is open; give input_shapes.")
        part = -(-size // count)
        sizes = [min(part, size - i * part) for i in range(count)]
    if len(sizes) != count or min(sizes) < 1 or (size is not None and sum(sizes) != size):
        n.fail(f"the parts {sizes} do not make up the size {size}.")
    if len(set(sizes)) == 1 and count > 1:
        return [
            keep_truth(b, x, part) for part in b.make_many("SliceChannel", x, num_outputs=count, axis=axis)
        ]
    starts = [0, *np.cumsum(sizes)]
    return [
        keep_truth(b, x, b.slice_axis(x, axis, start, end)) for start, end in zip(starts[:-1], starts[1:])
    ]


def slice_(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    starts, ends = constant_ints(n, 1, "starts"), _ends(n)
    parts = slices(x.rank, starts, ends, optional_ints(n, 3, "axes"), optional_ints(n, 4, "steps"))
    begin: list[Any] = [None] * x.rank
    end: list[Any] = [None] * x.rank
    step: list[Any] = [1] * x.rank
    for axis, part in parts.items():
        size = x.shape[axis]
        if size is None:
            begin[axis] = part.start
            end[axis] = None if part.stop is None or part.stop >= 2**31 - 1 else part.stop
            step[axis] = part.step
            continue
        first, last, step[axis] = part.indices(size)
        if len(range(first, last, part.step)) == 0:
            n.fail("nothing is left; arrays without elements are not supported.")
        begin[axis], end[axis] = first, None if last < 0 else last
    return keep_truth(b, x, b.make("slice", x, begin=tuple(begin), end=tuple(end), step=tuple(step)))


def _ends(n: Node) -> list[int]:
    """Ends as far as they are fixed; one that is open must be the whole axis."""
    value = n.inputs[2]
    if value is None or value.arrays is None or value.array is not None:
        return constant_ints(n, 2, "ends")
    x, axes = n.inputs[0], optional_ints(n, 3, "axes") or range(value.arrays[0].size)
    found = []
    for i, axis in enumerate(axes):
        numbers = [int(array.reshape(-1)[i]) for array in value.arrays]
        if len(set(numbers)) > 1 and any(s[axis] != end for s, end in zip(x.shapes, numbers)):
            n.fail("ends depend on sizes that the file leaves open; give input_shapes.")
        found.append(numbers[0] if len(set(numbers)) == 1 else 2**31 - 1)
    return found


def tile(n: Node, b: Builder) -> Value:
    return keep_truth(b, n.inputs[0], b.make("tile", n.inputs[0], reps=tuple(constant_ints(n, 1, "repeats"))))


def expand(n: Node, b: Builder) -> Value:
    x, target = n.inputs
    if target.arrays is None:
        n.fail("the shape must be a constant.")
    shapes = [
        np.broadcast_shapes(shape, tuple(int(s) for s in array.reshape(-1)))
        for shape, array in zip(x.shapes, target.arrays)
    ]
    rank = len(shapes[0])
    if x.rank == 0:
        x = b.reshape(x, [1] * max(rank, 1))
    elif x.rank < rank:
        x = b.unsqueeze(x, range(rank - x.rank))
    if rank == 0:
        return b.without_axes(x)
    wanted = []
    for axis, sizes in enumerate(zip(*shapes)):
        stays = all(shape[axis] == size for shape, size in zip(x.shapes, sizes))
        if not stays and len(set(sizes)) > 1:
            n.fail("the shape depends on sizes that the file leaves open; give input_shapes.")
        wanted.append(0 if stays else sizes[0])
    return keep_truth(b, n.inputs[0], b.make("broadcast_to", x, shape=tuple(wanted)))


def depth_to_space(n: Node, b: Builder) -> Value:
    x, size = n.inputs[0], n.int("blocksize", 0)
    if n.string("mode", "DCR", ("DCR", "CRD")) == "DCR":
        return b.make("depth_to_space", x, block_size=size)
    _, channels, height, width = x.shape
    if channels is None or height is None or width is None or size < 1 or channels % size**2:
        n.fail(f"shape {x.shape} with blocksize {size} is not supported in mode CRD.")
    parts = b.reshape(x, [-1, channels // size**2, size, size, height, width])
    moved = b.transpose(parts, [0, 1, 4, 2, 5, 3])
    return b.reshape(moved, [-1, channels // size**2, height * size, width * size])


def space_to_depth(n: Node, b: Builder) -> Value:
    return b.make("space_to_depth", n.inputs[0], block_size=n.int("blocksize", 0))


def trilu(n: Node, b: Builder) -> Value:
    x = n.inputs[0]
    offset = (optional_ints(n, 1, "k") or [0])[0]
    rows, columns = x.shape[-2:]
    if rows is None or columns is None:
        n.fail("the sizes of the matrices are open; give input_shapes.")
    check_size(n, [rows, columns])
    kept = (
        np.tri(rows, columns, offset - 1, bool) == 0
        if n.flag("upper", True)
        else np.tri(rows, columns, offset)
    )
    mask = b.constant(
        np.asarray(kept, x.symbol_type if x.symbol_type.kind != "b" else np.float32), f"{n.name}_mask"
    )
    wide = b.make("broadcast_like", b.unsqueeze(mask, range(x.rank - 2)), x)
    return keep_truth(b, x, b.make("where", wide, x, b.make("zeros_like", x)))


# ---- borders ----


def _border(b: Builder, x: Value, axis: int, count: int, mode: str, value: float, front: bool) -> Value:
    """What stands before or behind an axis."""
    if mode == "constant":
        edge = b.make("zeros_like", b.slice_axis(x, axis, 0, 1))
        edge = b.scalar("_plus_scalar", edge, value) if value else edge
    elif mode == "edge":
        edge = b.slice_axis(x, axis, 0, 1) if front else b.slice_axis(x, axis, -1, None)
    elif mode == "reflect":
        part = b.slice_axis(x, axis, 1, count + 1) if front else b.slice_axis(x, axis, -count - 1, -1)
        return b.make("reverse", part, axis=axis)
    else:
        return b.slice_axis(x, axis, -count, None) if front else b.slice_axis(x, axis, 0, count)
    return b.make("broadcast_axis", edge, axis=axis, size=count) if count > 1 else edge


def pad_axes(
    b: Builder, x: Value, begins: Sequence[int], ends: Sequence[int], mode: str, value: float
) -> Value:
    """Puts borders around an array; negative ones cut."""
    spatial = x.rank in (4, 5) and not any([*begins[:2], *ends[:2]]) and min([*begins, *ends]) >= 0
    if spatial and mode != "wrap" and x.dtype == np.float32:
        widths = [width for pair in zip(begins, ends) for width in pair]
        return b.make("Pad", x, mode=mode, pad_width=tuple(widths), constant_value=repr(float(value)))
    for axis, (begin, end) in enumerate(zip(begins, ends)):
        if begin < 0 or end < 0:
            x = b.slice_axis(x, axis, max(-begin, 0), min(end, 0) or None)
        parts = [_border(b, x, axis, begin, mode, value, True)] if begin > 0 else []
        parts.append(x)
        if end > 0:
            parts.append(_border(b, x, axis, end, mode, value, False))
        if len(parts) > 1:
            x = b.make("Concat", *parts, dim=axis, num_args=len(parts))
    return x


def pad(n: Node, b: Builder) -> Value:
    x, mode = n.inputs[0], n.string("mode", "constant", ("constant", "edge", "reflect", "wrap"))
    pads = constant_ints(n, 1, "pads")
    filling = n.inputs[2] if len(n.inputs) > 2 else None
    value = 0.0
    if filling is not None:
        if filling.array is None or filling.array.size != 1:
            n.fail("constant_value must be a constant.")
        value = float(filling.array.reshape(-1)[0])
    axes = optional_ints(n, 3, "axes")
    axes = list(range(x.rank)) if axes is None else [axis_of(n, axis, x.rank) for axis in axes]
    if len(pads) != 2 * len(axes):
        n.fail(f"there are {len(pads)} pads for {len(axes)} axes.")
    begins, ends = [0] * x.rank, [0] * x.rank
    for i, axis in enumerate(axes):
        begins[axis], ends[axis] = pads[i], pads[i + len(axes)]
        size = x.shape[axis]
        least = {"reflect": 1, "wrap": 0}.get(mode)
        if least is not None and size is not None and max(begins[axis], ends[axis]) > size - least:
            n.fail(f"pads of mode {mode} are larger than axis {axis} of shape {x.shape}.")
    found = pad_axes(b, x, begins, ends, mode, value)
    return keep_truth(b, x, b.make("_copy", x) if found is x else found)


IMPORTERS: dict[str, Callable[[Node, Builder], Any]] = {
    "Concat": concat,
    "DepthToSpace": depth_to_space,
    "Expand": expand,
    "Flatten": flatten,
    "Pad": pad,
    "Reshape": reshape,
    "Slice": slice_,
    "SpaceToDepth": space_to_depth,
    "Split": split,
    "Squeeze": squeeze,
    "Tile": tile,
    "Transpose": transpose,
    "Trilu": trilu,
    "Unsqueeze": unsqueeze,
}
