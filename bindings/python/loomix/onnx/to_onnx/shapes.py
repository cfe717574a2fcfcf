# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements, join and cut arrays, or make new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph import Node, Sizes
from ..library import INT64_MAX
from ..writer import Writer, int64s


def reshape_to(n: Node, w: Writer, x: str, shape: Sizes, source: Sizes) -> str:
    """A reshape to a shape of which one size may be dynamic, and more where they are the source's at that place."""
    wanted = [-1 if size is None else size for size in shape]
    if wanted.count(-1) > 1:
        for axis, size in enumerate(shape):
            if size is None and axis < len(source) and source[axis] is None and wanted.count(-1) > 1:
                wanted[axis] = 0
        if wanted.count(-1) > 1:
            n.fail(f"the shape {shape} has more than one dynamic size.")
    return w.reshape(x, wanted)


def reshape(n: Node, w: Writer) -> str:
    spec = n["shape"]
    plain = [size for size in spec if size != 0]
    is_prefix = all(size == 0 for size in spec[: len(spec) - len(plain)])
    if spec and is_prefix and not n["reverse"] and all(size >= -1 for size in spec):
        return w.reshape(n.input(0), spec)  # 0 and -1 mean the same in both
    return reshape_to(n, w, n.input(0), n.out_sizes(), n.sizes())


def numpy_reshape(n: Node, w: Writer) -> str:
    return reshape_to(n, w, n.input(0), n.out_sizes(), n.sizes())


def reshape_like(n: Node, w: Writer) -> str:
    if all(n[key] is None for key in ("lhs_begin", "lhs_end", "rhs_begin", "rhs_end")):
        return w.add("Reshape", n.input(0), w.add("Shape", n.input(1)))
    return reshape_to(n, w, n.input(0), n.out_sizes(), n.sizes())


def flatten(n: Node, w: Writer) -> str:
    return w.add("Flatten", n.input(0), axis=1)


def expand_dims(n: Node, w: Writer) -> str:
    axis = n["axis"]
    return w.unsqueeze(n.input(0), axis + n.rank() + 1 if axis < 0 else axis)


def squeeze(n: Node, w: Writer) -> str:
    axes = n["axis"]
    if axes is None:
        axes = [axis for axis, size in enumerate(n.shape()) if size == 1]
    axes = [axes] if isinstance(axes, int) else list(axes)
    if len(axes) == n.rank():  # there are no arrays without axes
        axes = axes[1:]
    return w.squeeze(n.input(0), *axes) if axes else w.add("Identity", n.input(0))


def transpose(n: Node, w: Writer) -> str:
    axes = n["axes"] or range(n.rank())[::-1]
    return w.add("Transpose", n.input(0), perm=[axis % n.rank() for axis in axes])


def swap_axes(n: Node, w: Writer) -> str:
    axes = list(range(n.rank()))
    a, b = n["dim1"], n["dim2"]
    axes[a], axes[b] = axes[b], axes[a]
    return w.add("Transpose", n.input(0), perm=axes)


def slice_(n: Node, w: Writer) -> str:
    begin, end, steps = n["begin"], n["end"], n["step"] or ()
    starts, ends, axes, strides = [], [], [], []
    for axis, (first, last) in enumerate(zip(begin, end)):
        step = (steps[axis] if axis < len(steps) else 1) or 1
        starts.append(first if first is not None else 0 if step > 0 else INT64_MAX)
        ends.append(last if last is not None else INT64_MAX if step > 0 else -INT64_MAX)
        axes.append(axis)
        strides.append(step)
    return w.slice(n.input(0), starts, ends, axes, strides)


def slice_axis(n: Node, w: Writer) -> str:
    end = INT64_MAX if n["end"] is None else n["end"]
    return w.slice(n.input(0), [n["begin"]], [end], [n.axis()])


def slice_like(n: Node, w: Writer) -> str:
    axes = [axis % n.rank() for axis in n["axes"] or range(n.rank())]
    ends: Any = w.sizes_of(n.input(1), axes)
    if all(n.sizes(1)[axis] is not None for axis in axes):
        ends = int64s(*(n.shape(1, axes)[axis] for axis in axes))
    return w.add("Slice", n.input(0), int64s(*[0] * len(axes)), ends, int64s(*axes))


def crop(n: Node, w: Writer) -> str:
    height, width = n.out_shape(axes=[2, 3])[2:]
    top, left = n["offset"]
    if n["center_crop"]:
        rows, columns = n.shape(axes=[2, 3])[2:]
        top, left = (rows - height) // 2, (columns - width) // 2
    return w.slice(n.input(0), [top, left], [top + height, left + width], [2, 3])


def concat(n: Node, w: Writer) -> str:
    return w.add("Concat", *n.inputs(), axis=n.axis("dim"))


def stack(n: Node, w: Writer) -> str:
    axis = n["axis"] + n.rank() + 1 if n["axis"] < 0 else n["axis"]
    return w.add("Concat", *(w.unsqueeze(x, axis) for x in n.inputs()), axis=axis)


def _split(n: Node, w: Writer, sizes: Sequence[int], axis: int) -> list[str]:
    parts = w.split(n.input(0), sizes, axis) if len(sizes) > 1 else [w.add("Identity", n.input(0))]
    return [w.squeeze(part, axis) for part in parts] if n["squeeze_axis"] else parts


def split(n: Node, w: Writer) -> list[str]:
    axis, count = n.axis(), n["num_outputs"]
    return _split(n, w, [n.shape(axes=[axis])[axis] // count] * count, axis)


def split_at(n: Node, w: Writer) -> list[str]:
    axis = n.axis()
    size = n.shape(axes=[axis])[axis]
    if n["sections"]:
        return _split(n, w, [size // n["sections"]] * n["sections"], axis)
    starts = [index + size if index < 0 else index for index in n["indices"]]
    starts = starts if starts[:1] == [0] else [0, *starts]
    return _split(n, w, list(np.diff([*starts, size])), axis)


def tile(n: Node, w: Writer) -> str:
    x, reps = n.input(0), list(n["reps"])
    if len(reps) > n.rank():
        x = w.unsqueeze(x, *range(len(reps) - n.rank()))
    return w.add("Tile", x, int64s(*[1] * (n.rank() - len(reps)), *reps))


def repeat(n: Node, w: Writer) -> str:
    x, count, axis = n.input(0), n["repeats"], n["axis"]
    if axis is None:
        x, axis, rank = w.reshape(x, [-1]), 0, 1
    else:
        axis, rank = n.axis(), n.rank()
    reps = [1] * (rank + 1)
    reps[axis + 1] = count
    copies = w.add("Tile", w.unsqueeze(x, axis + 1), int64s(*reps))
    source: Sizes = n.sizes() if n["axis"] is not None else (None,)
    return reshape_to(n, w, copies, n.out_sizes(), source)


def reverse(n: Node, w: Writer) -> str:
    axes = n["axis"]
    return w.reverse(n.input(0), [axes] if isinstance(axes, int) else axes)


def pad(n: Node, w: Writer) -> str:
    width = n["pad_width"]
    pads = int64s(*width[0::2], *width[1::2])
    value = n.number_like(n["constant_value"]) if n["mode"] == "constant" else None
    return w.add("Pad", n.input(0), pads, value, mode=n["mode"])


def depth_to_space(n: Node, w: Writer) -> str:
    return w.add("DepthToSpace", n.input(0), blocksize=n["block_size"], mode="DCR")


def space_to_depth(n: Node, w: Writer) -> str:
    return w.add("SpaceToDepth", n.input(0), blocksize=n["block_size"])


def _expand(n: Node, w: Writer, x: str, shape: Sizes, source: Sizes) -> str:
    """Expands axes of size 1; dynamic sizes must be the input's own."""
    wanted = []
    for axis, size in enumerate(shape):
        if size is None and source[axis] is not None:
            n.fail(f"axis {axis} becomes as long as an axis with a dynamic size.")
        wanted.append(1 if size is None else size)
    return w.add("Expand", x, int64s(*wanted))


def broadcast_to(n: Node, w: Writer) -> str:
    return _expand(n, w, n.input(0), n.out_sizes(), n.sizes())


def broadcast_like(n: Node, w: Writer) -> str:
    left, right = n["lhs_axes"], n["rhs_axes"]
    if left is None or right is None:
        return w.add("Expand", n.input(0), w.add("Shape", n.input(1)))
    return _expand(n, w, n.input(0), n.out_sizes(), n.sizes())


def diagonal_places(rows: int, columns: int, offset: int) -> np.ndarray[Any, Any]:
    """Places of a diagonal in a matrix's elements, counted row by row."""
    places = np.arange(rows * columns).reshape(rows, columns)
    return np.diagonal(places, offset).astype(np.int64)


def take_diagonal(w: Writer, x: str, shape: tuple[int, ...], offset: int) -> str:
    """The diagonal of the last two axes."""
    rows, columns = shape[-2:]
    flat = w.reshape(x, [*([0] * (len(shape) - 2)), rows * columns])
    return w.add("Gather", flat, diagonal_places(rows, columns, offset), axis=-1)


def put_on_diagonal(w: Writer, x: str, size: int, offset: int, rank: int) -> str:
    """Matrices with vectors on a diagonal, and 0 elsewhere."""
    side = size + abs(offset)
    places = np.full((side, side), size, np.int64)
    places.reshape(-1)[diagonal_places(side, side, offset)] = np.arange(size)
    pads = [0] * (2 * rank)
    pads[-1] = 1
    return w.add("Gather", w.add("Pad", x, int64s(*pads)), places, axis=-1)


def diag(n: Node, w: Writer) -> str:
    if n.rank() == 1:
        return put_on_diagonal(w, n.input(0), n.shape()[0], n["k"], 1)
    axes = [n.axis("axis1"), n.axis("axis2")]
    order = [axis for axis in range(n.rank()) if axis not in axes] + axes
    moved = w.transpose(n.input(0), order)
    return take_diagonal(w, moved, tuple(n.shape(axes=axes)[axis] for axis in order), n["k"])


def shape_array(n: Node, w: Writer) -> str:
    return w.add("Shape", n.input(0))


def size_array(n: Node, w: Writer) -> str:
    return w.reshape(w.add("Size", n.input(0)), [1])


def filled(n: Node, w: Writer) -> str:
    found = n.graph.constant((n.number, 0))
    assert found is not None
    n.out_shape()
    return w.constant(found)


def of_shape_alone(n: Node, w: Writer) -> str:
    """What depends on no value of the input: it is computed here."""
    return w.constant(n.graph.call(n, [n.shape()])[0])


def prior_boxes(n: Node, w: Writer) -> str:
    _, _, height, width = n.shape(axes=[2, 3])
    return w.constant(n.graph.call(n, [(1, 1, height, width)])[0])


def image_to_tensor(n: Node, w: Writer) -> str:
    x = w.add("Div", w.cast(n.input(0), np.float32), np.float32(255))
    return w.transpose(x, [2, 0, 1] if n.rank() == 3 else [0, 3, 1, 2])


def image_normalize(n: Node, w: Writer) -> str:
    channels = n.shape(axes=[n.rank() - 3])[-3]

    def of_channels(values: Any) -> np.ndarray[Any, Any]:
        values = [values] if isinstance(values, (int, float)) else list(values)
        values = values * channels if len(values) == 1 else values[:channels]
        return np.array(values, n.dtype()).reshape(channels, 1, 1)

    return w.add("Div", w.add("Sub", n.input(0), of_channels(n["mean"])), of_channels(n["std"]))


def image_flip(n: Node, w: Writer) -> str:
    return w.reverse(n.input(0), [-2 if n.op == "_image_flip_left_right" else -3])


def image_crop(n: Node, w: Writer) -> str:
    left, top = n["x"], n["y"]
    return w.slice(n.input(0), [top, left], [top + n["height"], left + n["width"]], [-3, -2])


CONVERTERS: dict[str, Callable[[Node, Writer], Any]] = {
    "Concat": concat,
    "Crop": crop,
    "Flatten": flatten,
    "Pad": pad,
    "Reshape": reshape,
    "_np_reshape": numpy_reshape,
    "_npx_reshape": numpy_reshape,
    "SliceChannel": split,
    "SwapAxis": swap_axes,
    "_arange": filled,
    "_contrib_MultiBoxPrior": prior_boxes,
    "_contrib_arange_like": of_shape_alone,
    "_contrib_index_array": of_shape_alone,
    "_eye": filled,
    "_full": filled,
    "_image_crop": image_crop,
    "_image_flip_left_right": image_flip,
    "_image_flip_top_bottom": image_flip,
    "_image_normalize": image_normalize,
    "_image_to_tensor": image_to_tensor,
    "_linspace": filled,
    "_ones": filled,
    "_rnn_param_concat": concat,
    "_split_v2": split_at,
    "_zeros": filled,
    "_zeros_without_dtype": filled,
    "broadcast_axis": broadcast_to,
    "broadcast_like": broadcast_like,
    "broadcast_to": broadcast_to,
    "depth_to_space": depth_to_space,
    "diag": diag,
    "expand_dims": expand_dims,
    "repeat": repeat,
    "reshape_like": reshape_like,
    "reverse": reverse,
    "shape_array": shape_array,
    "size_array": size_array,
    "slice": slice_,
    "slice_axis": slice_axis,
    "slice_like": slice_like,
    "space_to_depth": space_to_depth,
    "squeeze": squeeze,
    "stack": stack,
    "tile": tile,
    "transpose": transpose,
}
