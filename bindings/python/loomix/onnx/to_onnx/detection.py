# SPDX-License-Identifier: Apache-2.0
"""Boxes, regions, and reading images between their elements.

``MultiBoxDetection`` and ``box_nms`` are written as functions that the model brings along: runtimes compute them by
their bodies of ordinary operators, and Loomix reads them back as the operators that they were.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph import Node
from ..writer import Writer, int64s


def _parts(w: Writer, x: str, count: int = 4) -> list[str]:
    """The fields along the last axis, each with size 1 there."""
    return [w.slice(x, [i], [i + 1], [-1]) for i in range(count)]


def _corners(w: Writer, x: str, layout: str) -> list[str]:
    a, b, c, d = _parts(w, x)
    if layout == "corner":
        return [a, b, c, d]
    half_width, half_height = (w.add("Div", side, np.float32(2)) for side in (c, d))
    return [
        w.add("Sub", a, half_width), w.add("Sub", b, half_height),
        w.add("Add", a, half_width), w.add("Add", b, half_height),
    ]  # fmt: skip


def _decoded(w: Writer, distances: str, anchor: str, variances: Any, clip: bool) -> str:
    """Boxes from their distances from anchors, which are corners."""
    left, top, right, bottom = _parts(w, anchor)
    sides = []
    moves = _parts(w, w.add("Mul", distances, np.array(variances, np.float32)))
    for first, last, move, growth in ((left, right, moves[0], moves[2]), (top, bottom, moves[1], moves[3])):
        size = w.add("Sub", last, first)
        centre = w.add("Div", w.add("Add", first, last), np.float32(2))
        centre = w.add("Add", w.add("Mul", move, size), centre)
        half = w.add("Div", w.add("Mul", w.add("Exp", growth), size), np.float32(2))
        sides.append((w.add("Sub", centre, half), w.add("Add", centre, half)))
    (x0, x1), (y0, y1) = sides
    boxes = w.add("Concat", x0, y0, x1, y1, axis=-1)
    return w.add("Clip", boxes, np.float32(0), np.float32(1)) if clip else boxes


def _kept(w: Writer, boxes: str, classes: str, considered: str, n: Node, rows: int, kinds: int) -> str:
    """Whether each of the sorted boxes is kept, as booleans."""
    order = np.arange(rows, 0, -1).astype(np.float32)  # without ties, so the sorted order is kept
    scores = w.add("Where", considered, order, np.float32(-1))
    if n["force_suppress"]:
        scores = w.unsqueeze(scores, 1)
    else:
        is_class = w.add("Equal", w.unsqueeze(classes, 1), np.arange(kinds).reshape(1, kinds, 1))
        scores = w.add("Where", is_class, w.unsqueeze(scores, 1), np.float32(-1))
    # There boxes that overlap by more are taken out, here by as much: a step less is the same.
    threshold = np.nextafter(np.float32(n["nms_threshold"]), np.float32(0))
    chosen = w.add(
        "NonMaxSuppression", boxes, scores, np.array([rows]), threshold.reshape(1), np.zeros(1, np.float32)
    )
    places = w.add("Gather", chosen, int64s(0, 2), axis=1)
    helper = w.tensors
    nothing = w.add("ConstantOfShape", w.add("Shape", classes), value=helper(np.zeros(1, np.float32)))
    ones = w.add("ConstantOfShape", w.sizes_of(places, [0]), value=helper(np.ones(1, np.float32)))
    return w.truth(w.add("ScatterND", nothing, places, ones))


def _detect(n: Node, w: Writer, probabilities: str, distances: str, anchor: str) -> str:
    kinds, rows = n.shape(axes=[1, 2])[1:]
    background = n["background_id"]
    if background >= 0:
        others = [i for i in range(kinds) if i != background]
        probabilities, kinds = w.add("Gather", probabilities, int64s(*others), axis=1), len(others)
    score = w.reduce("ReduceMax", probabilities, [1], False)
    best = w.add("ArgMax", probabilities, axis=1, keepdims=0)
    valid = w.add("GreaterOrEqual", score, np.float32(n["threshold"]))
    boxes = _decoded(w, w.reshape(distances, [0, -1, 4]), anchor, n["variances"], n["clip"])
    sorts = 0 < n["nms_threshold"] <= 1
    key = w.add("Where", valid, score, np.float32(-1)) if sorts else w.cast(valid, np.float32)
    _, order = w.add_many("TopK", 2, key, int64s(rows), axis=1)
    score, best = (w.add("GatherElements", x, order, axis=1) for x in (score, best))
    valid = w.truth(w.add("GatherElements", w.cast(valid, np.float32), order, axis=1))
    boxes = w.add("GatherElements", boxes, w.add("Tile", w.unsqueeze(order, 2), int64s(1, 1, 4)), axis=1)
    shown = valid
    if sorts:
        considered = valid
        if n["nms_topk"] >= 0:
            considered = w.add("And", valid, np.arange(rows) < n["nms_topk"])
        shown = _kept(w, boxes, best, considered, n, rows, kinds)
    kind = w.add("Where", shown, w.cast(best, np.float32), np.float32(-1))
    found = w.add("Concat", w.unsqueeze(kind, 2), w.unsqueeze(score, 2), boxes, axis=2)
    return w.add("Where", w.unsqueeze(valid, 2), found, np.float32(-1))


def _check_float32(n: Node) -> None:
    if any(n.dtype(i) != np.float32 for i in range(len(n))):
        n.fail(f"only float32 has an ONNX form, not {n.dtype()}.")


def detections(n: Node, w: Writer) -> str:
    _check_float32(n)
    attributes = {key: list(v) if isinstance(v, tuple) else v for key, v in n.attributes.items()}
    return w.call("MultiBoxDetection", n.inputs(), lambda body, inputs: _detect(n, body, *inputs), attributes)


def _overlap(w: Writer, a: list[str], b: list[str]) -> str:
    """Intersection over union of boxes, given by their sides; 0 for boxes without area."""

    def span(low: tuple[str, ...], high: tuple[str, ...]) -> str:
        first = w.add("Max", *low) if len(low) > 1 else low[0]
        last = w.add("Min", *high) if len(high) > 1 else high[0]
        return w.add("Relu", w.add("Sub", last, first))

    def area(box: list[str]) -> str:
        return w.add("Mul", span((box[0],), (box[2],)), span((box[1],), (box[3],)))

    both = w.add("Mul", span((a[0], b[0]), (a[2], b[2])), span((a[1], b[1]), (a[3], b[3])))
    either = w.add("Sub", w.add("Add", area(a), area(b)), both)
    found = w.add("Div", both, either)
    return w.add("Where", w.add("Greater", either, np.float32(0)), found, np.float32(0))


def _rows_in_order(w: Writer, rows: str, key: str, count: int, fields: int) -> tuple[str, str]:
    """The first rows by a key, equal ones in their order; and what the key was."""
    sorted_key, order = w.add_many("TopK", 2, key, int64s(count), axis=1)
    places = w.add("Tile", w.unsqueeze(order, 2), int64s(1, 1, fields))
    return w.add("GatherElements", rows, places, axis=1), sorted_key


def _without_covered(n: Node, w: Writer, rows: str, valid: str, count: int) -> str:
    """Which of the rows, the best first, are valid and not covered by a better one."""
    start = n["coord_start"]
    sides = _corners(w, w.slice(rows, [start], [start + 4], [2]), n["in_format"])
    turned = [w.transpose(side, [0, 2, 1]) for side in sides]
    covers = w.add("Greater", _overlap(w, sides, turned), np.float32(n["overlap_thresh"]))
    if n["id_index"] >= 0 and not n["force_suppress"]:
        kind = w.slice(rows, [n["id_index"]], [n["id_index"] + 1], [2])
        covers = w.add("And", covers, w.add("Equal", kind, w.transpose(kind, [0, 2, 1])))

    def step(body: Writer, number: str, alive: str) -> str:
        covered = body.add(
            "And", body.add("Gather", covers, number, axis=1), body.add("Greater", np.arange(count), number)
        )
        own = body.unsqueeze(body.add("Gather", alive, number, axis=1), 1)
        return body.add("And", alive, body.add("Not", body.add("And", covered, own)))

    return w.loop(count, valid, step)


def _in_format(n: Node, w: Writer, rows: str, fields: int) -> str:
    """Rows whose boxes have the format of the output."""
    if n["in_format"] == n["out_format"]:
        return rows
    start = n["coord_start"]
    parts = [w.slice(rows, [0], [start], [2])] if start else []
    box = w.slice(rows, [start], [start + 4], [2])
    if n["in_format"] == "center":
        parts += _corners(w, box, "center")
    else:
        left, top, right, bottom = _parts(w, box)
        parts += [w.add("Div", w.add("Add", *pair), np.float32(2)) for pair in ((left, right), (top, bottom))]
        parts += [w.add("Sub", right, left), w.add("Sub", bottom, top)]
    if start + 4 < fields:
        parts.append(w.slice(rows, [start + 4], [fields], [2]))
    return w.add("Concat", *parts, axis=2)


def _suppress(n: Node, w: Writer, x: str) -> str:
    boxes, fields = n.shape(axes=[-2, -1])[-2:]
    count = boxes if n["topk"] < 0 else min(n["topk"], boxes)
    rows = w.reshape(x, [-1, boxes, fields])

    def field(rows: str, i: int) -> str:
        return w.squeeze(w.slice(rows, [i], [i + 1], [2]), 2)

    score = field(rows, n["score_index"])
    valid = w.add("Greater", score, np.float32(n["valid_thresh"]))
    if n["id_index"] >= 0:
        is_background = w.add("Equal", field(rows, n["id_index"]), np.float32(n["background_id"]))
        valid = w.add("And", valid, w.add("Not", is_background))
    key = w.add("Where", valid, score, np.float32(-np.inf))
    rows, key = _rows_in_order(w, rows, key, count, fields)
    kept = _without_covered(n, w, rows, w.add("Greater", key, np.float32(n["valid_thresh"])), count)
    rows, kept = _rows_in_order(w, _in_format(n, w, rows, fields), w.cast(kept, np.float32), count, fields)
    found = w.add("Where", w.truth(w.unsqueeze(kept, 2)), rows, np.float32(-1))
    if count < boxes:
        found = w.add("Pad", found, int64s(0, 0, 0, 0, boxes - count, 0), np.float32(-1))
    return w.add("Reshape", found, w.add("Shape", x))


def box_nms(n: Node, w: Writer) -> str:
    _check_float32(n)
    if n["topk"] == 0:
        n.fail("topk 0 has no ONNX form.")
    return w.call("box_nms", n.inputs(), lambda body, inputs: _suppress(n, body, *inputs), n.attributes)


def box_iou(n: Node, w: Writer) -> str:
    _check_float32(n)
    left_rank, right_rank = n.rank(0) - 1, n.rank(1) - 1
    a = _corners(w, n.input(0), n["format"])
    b = _corners(w, n.input(1), n["format"])
    a = [w.unsqueeze(w.squeeze(x, -1), *range(left_rank, left_rank + right_rank)) for x in a]
    return _overlap(w, a, [w.squeeze(x, -1) for x in b])


def box_decode(n: Node, w: Writer) -> str:
    _check_float32(n)
    anchor = n.input(1)
    corners = _corners(w, anchor, n["format"])
    variances = [n[f"std{i}"] for i in range(4)]
    distances = n.input(0)
    if n["clip"] > 0:
        moves, growth = w.slice(distances, [0], [2], [-1]), w.slice(distances, [2], [4], [-1])
        bound = w.add("Div", np.float32(n["clip"]), np.array(variances[2:], np.float32))
        distances = w.add("Concat", moves, w.add("Min", growth, bound), axis=-1)
    return _decoded(w, distances, w.add("Concat", *corners, axis=-1), variances, False)


def roi_pooling(n: Node, w: Writer) -> str:
    return w.add(
        "MaxRoiPool", *n.inputs(), pooled_shape=list(n["pooled_size"]), spatial_scale=n["spatial_scale"]
    )


def roi_align(n: Node, w: Writer) -> str:
    if n["position_sensitive"]:
        n.fail("position_sensitive has no ONNX form.")
    if n["aligned"] and w.opset < 16:
        n.fail("aligned needs opset 16.")
    image = w.cast(w.squeeze(w.slice(n.input(1), [0], [1], [1]), 1), np.int64)
    boxes = w.slice(n.input(1), [1], [5], [1])
    mode = {"coordinate_transformation_mode": "half_pixel" if n["aligned"] else "output_half_pixel"}
    return w.add(
        "RoiAlign", n.input(0), boxes, image, output_height=n["pooled_size"][0], output_width=n["pooled_size"][1],
        sampling_ratio=max(n["sample_ratio"], 0), spatial_scale=n["spatial_scale"], **(mode if w.opset >= 16 else {}),
    )  # fmt: skip


def _sample(n: Node, w: Writer, grid: str) -> str:
    """Reads data at places (n, height, width, 2)."""
    if w.opset < 16:
        n.fail("reading at places needs opset 16.")
    mode = "linear" if w.opset >= 20 else "bilinear"
    return w.add("GridSample", n.input(0), grid, mode=mode, padding_mode="zeros", align_corners=1)


def _affine_grid(n: Node, w: Writer, matrix: str) -> str:
    """Places (n, 2, height * width) under matrices (n, 6)."""
    height, width = n["target_shape"]
    sides = (np.linspace(-1, 1, size) if size > 1 else np.zeros(1) for size in (height, width))
    y, x = np.meshgrid(*sides, indexing="ij")
    places = np.stack([x.reshape(-1), y.reshape(-1), np.ones(height * width)]).astype(n.dtype())
    return w.add("MatMul", w.reshape(matrix, [-1, 2, 3]), places)


def bilinear_sampler(n: Node, w: Writer) -> str:
    return _sample(n, w, w.transpose(n.input(1), [0, 2, 3, 1]))


def grid_generator(n: Node, w: Writer) -> str:
    if n["transform_type"] == "affine":
        return w.reshape(_affine_grid(n, w, n.input(0)), [-1, 2, *n["target_shape"]])
    _, _, height, width = n.shape(axes=[2, 3])
    y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    moved = w.add("Add", n.input(0), np.stack([x, y]).astype(n.dtype()))
    half = np.array([(width - 1) / 2, (height - 1) / 2], n.dtype()).reshape(2, 1, 1)
    return w.add("Sub", w.add("Div", moved, half), n.number_like(1))


def spatial_transformer(n: Node, w: Writer) -> str:
    grid = w.reshape(_affine_grid(n, w, n.input(1)), [-1, 2, *n["target_shape"]])
    return _sample(n, w, w.transpose(grid, [0, 2, 3, 1]))


def deformable_convolution(n: Node, w: Writer) -> str:
    if w.opset < 19:
        n.fail("deformable convolution needs opset 19.")
    x, offset, mask, weight, *bias = n.inputs()
    pad = list(n["pad"] or [0, 0])
    return w.add(
        "DeformConv", x, weight, offset, bias[0] if bias else None, mask, kernel_shape=list(n["kernel"]), pads=pad * 2,
        strides=list(n["stride"] or [1, 1]), dilations=list(n["dilate"] or [1, 1]), group=n["num_group"],
        offset_group=n["num_deformable_group"],
    )  # fmt: skip


def col2im(n: Node, w: Writer) -> str:
    if w.opset < 18:
        n.fail("col2im needs opset 18.")
    axes = len(n["kernel"])
    return w.add(
        "Col2Im", n.input(0), int64s(*n["output_size"]), int64s(*n["kernel"]), pads=list(n["pad"] or [0] * axes) * 2,
        strides=list(n["stride"] or [1] * axes), dilations=list(n["dilate"] or [1] * axes),
    )  # fmt: skip


CONVERTERS: dict[str, Callable[[Node, Writer], Any]] = {
    "BilinearSampler": bilinear_sampler,
    "GridGenerator": grid_generator,
    "ROIPooling": roi_pooling,
    "SpatialTransformer": spatial_transformer,
    "_contrib_ModulatedDeformableConvolution": deformable_convolution,
    "_contrib_MultiBoxDetection": detections,
    "_contrib_ROIAlign": roi_align,
    "_contrib_box_decode": box_decode,
    "_contrib_box_iou": box_iou,
    "_contrib_box_nms": box_nms,
    "col2im": col2im,
}
