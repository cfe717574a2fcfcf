# SPDX-License-Identifier: Apache-2.0
"""Regions of images, boxes, anchors and what detectors make of them."""

import itertools

import numpy as np

from . import Case

EXACT = ("float32", "float64")  # where a rounded coordinate changes what is read


def made(make):
    """Inputs from a function of a random generator: uniform numbers, which seed it, are no boxes."""
    return make and (lambda *values: make(np.random.RandomState(values[0].view("uint32").flat[0])))


def corners(box, form="corner"):
    a, b, c, d = np.moveaxis(np.asarray(box, "float64"), -1, 0)
    parts = (a, b, c, d) if form == "corner" else (a - c / 2, b - d / 2, a + c / 2, b + d / 2)
    return np.stack(parts, -1)


def iou(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def away(x):
    """Halves away from zero."""
    return np.floor(x + 0.5)


# Regions ---------------------------------------------------------------------------------------------------------


def regions(size, count=4, images=2):
    """Data of `size`, and boxes on it: the last one is of no image."""

    def make(random):
        first = random.uniform(0, 0.6, (count, 2)) * (size[3], size[2])
        last = first + random.uniform(0.1, 0.6, (count, 2)) * (size[3], size[2])
        number = np.append(np.arange(count - 1) % images, -1)
        return [random.uniform(-2, 2, size), np.column_stack([number, first, last])]

    return make


def place_extent(first, part, i, size):
    """What part i of a box covers of an axis."""
    return [int(np.clip(f, 0, size)) for f in (np.floor(i * part + first), np.ceil((i + 1) * part + first))]


def roi_pooling(x, rois, pooled_size, spatial_scale):
    out = np.zeros((len(rois), x.shape[1], *pooled_size))
    for r, (n, *box) in enumerate(rois):
        left, top, right, bottom = away(np.asarray(box) * spatial_scale)
        height, width = max(bottom - top + 1, 1) / pooled_size[0], max(right - left + 1, 1) / pooled_size[1]
        for i, j in np.ndindex(*pooled_size):
            y = place_extent(top, height, i, x.shape[2])
            z = place_extent(left, width, j, x.shape[3])
            piece = x[int(n), :, y[0] : y[1], z[0] : z[1]]
            if n >= 0 and piece.size:
                out[r, :, i, j] = piece.max((1, 2))
    return out


def point(planes, y, x):
    """Planes between their elements; a place up to one element outside is moved onto the edge."""
    height, width = planes.shape[-2:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(planes.shape[:-2])
    y, x = np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)
    i, j = min(int(y), max(height - 2, 0)), min(int(x), max(width - 2, 0))
    k, m = min(i + 1, height - 1), min(j + 1, width - 1)
    upper = planes[..., i, j] * (1 - (x - j)) + planes[..., i, m] * (x - j)
    lower = planes[..., k, j] * (1 - (x - j)) + planes[..., k, m] * (x - j)
    return upper * (1 - (y - i)) + lower * (y - i)


def average(planes_of, parts, height, width, ratio, place):
    """The mean of the points of each part of a box; `place` turns where they are in it into (y, x)."""
    rows = ratio if ratio > 0 else int(np.ceil(height / parts[0]))
    columns = ratio if ratio > 0 else int(np.ceil(width / parts[1]))
    out = []
    for i, j in np.ndindex(*parts):
        points = [
            point(
                planes_of(i, j),
                *place(
                    (i + (r + 0.5) / rows) * height / parts[0], (j + (c + 0.5) / columns) * width / parts[1]
                ),
            )
            for r, c in np.ndindex(rows, columns)
        ]
        out.append(np.mean(points, axis=0))
    return np.stack(out, -1).reshape(-1, *parts)


def align_box(image, box, pooled_size, sample_ratio, position_sensitive, aligned):
    left, top, right, bottom = box - 0.5 * aligned
    height, width = bottom - top, right - left
    if not aligned:
        height, width = max(height, 1), max(width, 1)
    places = pooled_size[0] * pooled_size[1] if position_sensitive else 1

    def planes_of(i, j):
        return image[(i * pooled_size[1] + j) % places :: places]

    return average(planes_of, pooled_size, height, width, sample_ratio, lambda y, z: (top + y, left + z))


def roi_align(x, rois, pooled_size, spatial_scale, sample_ratio=-1, position_sensitive=False, aligned=False):
    channels = x.shape[1] // (pooled_size[0] * pooled_size[1] if position_sensitive else 1)
    out = np.zeros((len(rois), channels, *pooled_size))
    for r, (n, *box) in enumerate(rois):
        if n >= 0:
            box = np.asarray(box) * spatial_scale
            out[r] = align_box(x[int(n)], box, pooled_size, sample_ratio, position_sensitive, aligned)
    return out


def align_turned_box(image, box, degrees, pooled_size, sampling_ratio):
    cx, cy, width, height = box
    width, height = max(width, 1), max(height, 1)
    cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))

    def turn(y, z):
        y, z = y - height / 2, z - width / 2
        return cy + y * cos - z * sin, cx + z * cos + y * sin

    return average(lambda i, j: image, pooled_size, height, width, sampling_ratio, turn)


def rroi_align(x, rois, pooled_size, spatial_scale, sampling_ratio=-1):
    out = np.zeros((len(rois), x.shape[1], *pooled_size))
    for r, (n, *box, degrees) in enumerate(rois):
        if n >= 0:
            box = np.asarray(box) * spatial_scale
            out[r] = align_turned_box(x[int(n)], box, degrees, pooled_size, sampling_ratio)
    return out


def turned(size):
    def make(random):
        x, rois = regions(size)(random)
        box = np.column_stack([rois[:, 0], (rois[:, 1:3] + rois[:, 3:]) / 2, rois[:, 3:] - rois[:, 1:3]])
        return [x, np.column_stack([box, random.uniform(-90, 90, len(box))])]

    return make


def psroi_pooling(x, rois, spatial_scale, output_dim, pooled_size, group_size=0):
    groups = group_size or pooled_size
    out = np.zeros((len(rois), output_dim, pooled_size, pooled_size))
    for r, (n, *box) in enumerate(rois):
        left, top, right, bottom = away(np.asarray(box))
        left, top, right, bottom = (v * spatial_scale for v in (left, top, right + 1, bottom + 1))
        height, width = max(bottom - top, 0.1) / pooled_size, max(right - left, 0.1) / pooled_size
        for c, i, j in np.ndindex(output_dim, pooled_size, pooled_size):
            y = place_extent(top, height, i, x.shape[2])
            z = place_extent(left, width, j, x.shape[3])
            channel = (c * groups + i * groups // pooled_size) * groups + j * groups // pooled_size
            piece = x[int(n), channel, y[0] : y[1], z[0] : z[1]]
            if n >= 0 and piece.size:
                out[r, c, i, j] = piece.mean()
    return out


def deformable_psroi_pooling(
    x,
    rois,
    trans=None,
    spatial_scale=1,
    output_dim=1,
    group_size=1,
    pooled_size=1,
    part_size=0,
    sample_per_part=1,
    trans_std=0,
    no_trans=False,
):
    parts, side = part_size or pooled_size, x.shape[2:]
    out = np.zeros((len(rois), output_dim, pooled_size, pooled_size))
    for r, c, i, j in np.ndindex(*out.shape):
        n, *box = rois[r]
        if n < 0:
            continue
        left, top, right, bottom = away(np.asarray(box))
        left, top, right, bottom = (v * spatial_scale - 0.5 for v in (left, top, right + 1, bottom + 1))
        height, width = max(bottom - top, 0.1), max(right - left, 0.1)
        y, z = top + i * height / pooled_size, left + j * width / pooled_size
        if trans is not None:
            kind = c // (output_dim // (trans.shape[1] // 2))
            moves = (
                trans[r, 2 * kind : 2 * kind + 2, i * parts // pooled_size, j * parts // pooled_size]
                * trans_std
            )
            y, z = y + moves[1] * height, z + moves[0] * width
        channel = (
            c * group_size + i * group_size // pooled_size
        ) * group_size + j * group_size // pooled_size
        values = []
        for k, m in np.ndindex(sample_per_part, sample_per_part):
            at = y + k * height / pooled_size / sample_per_part, z + m * width / pooled_size / sample_per_part
            if all(-0.5 <= a <= s - 0.5 for a, s in zip(at, side)):
                values.append(point(x[int(n), channel], *at))
        out[r, c, i, j] = np.mean(values) if values else 0
    return out


def moved(size, classes, parts):
    def make(random):
        x, rois = regions(size)(random)
        return [x, rois, random.uniform(-1, 1, (len(rois), 2 * classes, parts, parts))]

    return make


# Boxes -----------------------------------------------------------------------------------------------------------


def some_boxes(random, *shape, low=0.05, high=0.6):
    first = random.uniform(0, 0.6, (*shape, 2))
    return np.concatenate([first, first + random.uniform(low, high, (*shape, 2))], -1)


def box_iou(a, b, format="corner"):
    a, b = corners(a, format), corners(b, format)
    out = [iou(one, two) for one in a.reshape(-1, 4) for two in b.reshape(-1, 4)]
    return np.reshape(out, a.shape[:-1] + b.shape[:-1])


def box_nms(
    data,
    overlap_thresh=0.5,
    valid_thresh=0,
    topk=-1,
    coord_start=2,
    score_index=1,
    id_index=-1,
    background_id=-1,
    force_suppress=False,
    in_format="corner",
    out_format="corner",
):
    out = np.full(data.shape, -1.0)
    at = slice(coord_start, coord_start + 4)
    for rows, to in zip(data.reshape(-1, *data.shape[-2:]), out.reshape(-1, *data.shape[-2:])):
        valid = [
            r
            for r in rows
            if r[score_index] > valid_thresh and (id_index < 0 or r[id_index] != background_id)
        ]
        valid = sorted(valid, key=lambda r: -r[score_index])[: None if topk < 0 else topk]
        kept = []
        for row in valid:
            rivals = [k for k in kept if force_suppress or id_index < 0 or k[id_index] == row[id_index]]
            boxes = [corners(k[at], in_format) for k in (row, *rivals)]
            if all(iou(boxes[0], b) <= overlap_thresh for b in boxes[1:]):
                kept.append(row)
        for i, row in enumerate(kept):
            to[i] = row
            box = corners(row[at], in_format)
            if out_format == "center":
                box = np.array(
                    [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2, box[2] - box[0], box[3] - box[1]]
                )
            if in_format != out_format:
                to[i, at] = box
    return out


def scored(*shape, classes=3, form="corner", lowest=0):
    """Class, score and box of each row; scores differ."""

    def make(random):
        count = int(np.prod(shape))
        score = random.permutation(count).reshape(shape) / count - 0.2
        box = some_boxes(random, *shape)
        if form == "center":
            box = np.concatenate([(box[..., :2] + box[..., 2:]) / 2, box[..., 2:] - box[..., :2]], -1)
        return [np.concatenate([random.randint(lowest, classes, (*shape, 1)), score[..., None], box], -1)]

    return make


def distances(box, anchor):
    """Of centres, in sizes of the anchor, and the logarithms of the sizes' ratios."""
    centre = (box[..., :2] + box[..., 2:] - anchor[..., :2] - anchor[..., 2:]) / 2
    size, own = box[..., 2:] - box[..., :2], anchor[..., 2:] - anchor[..., :2]
    return np.concatenate([centre / own, np.log(size / own)], -1)


def box_encode(samples, matches, anchors, refs, means, stds):
    mask = np.repeat((samples > 0.5)[..., None], 4, -1).astype("float64")
    boxes = np.take_along_axis(refs, np.maximum(matches, 0).astype(int)[..., None], 1)
    return [mask * (distances(boxes, anchors) - means) / stds, mask]


def box_decode(data, anchors, std0=1, std1=1, std2=1, std3=1, clip=-1, format="center"):
    anchors = corners(anchors, format)
    size = anchors[..., 2:] - anchors[..., :2]
    centre = (anchors[..., 2:] + anchors[..., :2]) / 2 + data[..., :2] * (std0, std1) * size
    grown = data[..., 2:] * (std2, std3)
    half = np.exp(np.minimum(grown, clip) if clip > 0 else grown) * size / 2
    return np.concatenate([centre - half, centre + half], -1)


def bipartite_matching(data, threshold, is_ascend=False, topk=-1):
    rows, columns = np.full(data.shape[:-1], -1.0), np.full(data.shape[:-2] + data.shape[-1:], -1.0)
    sign = 1 if is_ascend else -1
    for place in np.ndindex(*data.shape[:-2]):
        scores, matches = data[place], 0
        for i, j in sorted(np.ndindex(*scores.shape), key=lambda at: sign * scores[at]):
            good = sign * scores[i, j] < sign * threshold
            if good and rows[place][i] < 0 and columns[place][j] < 0 and matches != topk:
                rows[place][i], columns[place][j] = j, i
                matches += 1
    return [rows, columns]


# Anchors ---------------------------------------------------------------------------------------------------------


def prior(x, sizes=(1,), ratios=(1,), clip=False, steps=(-1, -1), offsets=(0.5, 0.5)):
    height, width = x.shape[2:]
    kinds = [(s, ratios[0]) for s in sizes] + [(sizes[0], r) for r in ratios[1:]]
    step_y, step_x = steps if steps[0] > 0 else (1 / height, 1 / width)
    out = []
    for i, j, (size, ratio) in itertools.product(range(height), range(width), kinds):
        y, z = (i + offsets[0]) * step_y, (j + offsets[1]) * step_x
        half = size * height / width * ratio**0.5 / 2, size / ratio**0.5 / 2
        out.append([z - half[0], y - half[1], z + half[0], y + half[1]])
    out = np.array(out)[None]
    return out.clip(0, 1) if clip else out


def target(
    anchor,
    label,
    scores,
    overlap_threshold=0.5,
    ignore_label=-1,
    negative_mining_ratio=-1,
    negative_mining_thresh=0.5,
    minimum_negative_samples=0,
    variances=(0.1, 0.1, 0.2, 0.2),
):
    anchors, batch = anchor[0], len(label)
    location, mask = np.zeros((2, batch, len(anchors), 4))
    classes = np.full((batch, len(anchors)), float(ignore_label))
    for n in range(batch):
        boxes = list(itertools.takewhile(lambda row: row[0] != -1, label[n]))
        if not boxes:
            continue
        table = np.array([[iou(a, b[1:5]) for b in boxes] for a in anchors])
        match, left = {}, table.copy()
        while left.size and left.max() > 1e-6:
            i, k = np.unravel_index(left.argmax(), left.shape)
            match[i] = k
            left[i], left[:, k] = -1, -1
        for i in range(len(anchors)):
            if i not in match and table[i].max() > overlap_threshold:
                match[i] = table[i].argmax()
        others = [i for i in range(len(anchors)) if i not in match]
        if negative_mining_ratio > 0:
            parts = np.exp(scores[n] - scores[n].max(0))
            parts = parts[0] / parts.sum(0)
            others = sorted(
                (i for i in others if table[i].max() < negative_mining_thresh), key=lambda i: parts[i]
            )
            others = others[: max(int(len(match) * negative_mining_ratio), minimum_negative_samples)]
        classes[n, others] = 0
        for i, k in match.items():
            classes[n, i], mask[n, i] = boxes[k][0] + 1, 1
            location[n, i] = distances(boxes[k][1:5], anchors[i]) / variances
    return [location.reshape(batch, -1), mask.reshape(batch, -1), classes]


def targets(batch=3, anchors=12, boxes=3):
    """The second image has no boxes, the others end with rows of -1."""

    def make(random):
        label = np.concatenate(
            [random.randint(0, 4, (batch, boxes, 1)), some_boxes(random, batch, boxes)], -1
        )
        label[:, -1], label[1] = -1, -1
        return [some_boxes(random, 1, anchors), label, random.uniform(-1, 1, (batch, 4, anchors))]

    return make


def detection(
    scores,
    moves,
    anchor,
    clip=True,
    threshold=0.01,
    background_id=0,
    nms_threshold=0.5,
    force_suppress=False,
    variances=(0.1, 0.1, 0.2, 0.2),
    nms_topk=-1,
):
    out = np.full((len(scores), anchor.shape[1], 6), -1.0)
    for n in range(len(scores)):
        moved = moves[n].reshape(-1, 4) * variances
        boxes = box_decode(moved[None], anchor, format="corner")[0]
        boxes = boxes.clip(0, 1) if clip else boxes
        objects = [c for c in range(scores.shape[1]) if c != background_id]
        found = []
        for i, box in enumerate(boxes):
            best = max(range(len(objects)), key=lambda k: scores[n, objects[k], i])
            if scores[n, objects[best], i] >= threshold:
                found.append([best, scores[n, objects[best], i], *box])
        if 0 < nms_threshold <= 1:
            found.sort(key=lambda row: -row[1])
            for row in found[len(found) if nms_topk < 0 else nms_topk :]:
                row[0] = -1
            for one, two in itertools.combinations(found, 2):
                alike = force_suppress or one[0] == two[0]
                if one[0] >= 0 and two[0] >= 0 and alike and iou(one[2:], two[2:]) >= nms_threshold:
                    two[0] = -1
        if found:
            out[n, : len(found)] = found
    return out


def detections(batch=2, classes=3, anchors=12):
    def make(random):
        scores = random.permutation(batch * classes * anchors).reshape(batch, classes, anchors)
        moves = random.uniform(-1, 1, (batch, anchors * 4))
        return [scores / scores.size, moves, some_boxes(random, 1, anchors)]

    return make


def proposal(
    scores,
    moves,
    info,
    rpn_pre_nms_top_n=6000,
    rpn_post_nms_top_n=300,
    threshold=0.7,
    rpn_min_size=16,
    scales=(4, 8, 16, 32),
    ratios=(0.5, 1, 2),
    feature_stride=16,
    output_score=False,
    iou_loss=False,
):
    """Boxes of pixels, from the first to the last one."""
    kinds = len(scales) * len(ratios)
    out, out_scores = [], []
    for n, (image_height, image_width, image_scale) in enumerate(info):
        found = []
        for i, j, k in np.ndindex(*scores.shape[2:], kinds):
            ratio, scale = ratios[k // len(scales)], scales[k % len(scales)]
            side = np.floor(np.sqrt(np.floor(feature_stride**2 / ratio)) + 0.5)
            size = np.array([side * scale, np.floor(side * ratio + 0.5) * scale])
            centre = (feature_stride - 1) / 2 + feature_stride * np.array([j, i])
            by = moves[n, 4 * k : 4 * k + 4, i, j]
            if iou_loss:
                box = np.concatenate([centre - (size - 1) / 2, centre + (size - 1) / 2]) + by
            else:
                centre, size = centre + by[:2] * size, size * np.exp(by[2:])
                box = np.concatenate([centre - (size - 1) / 2, centre + (size - 1) / 2])
            box = np.clip(box, 0, np.array([image_width, image_height] * 2) - 1)
            least, score = rpn_min_size * image_scale, scores[n, kinds + k, i, j]
            if i >= image_height // feature_stride or j >= image_width // feature_stride:
                score = -1
            if (box[2:] - box[:2] + 1 < least).any():
                box, score = box + np.array([-1, -1, 1, 1]) * least / 2, -1
            found.append((score, box))
        found.sort(key=lambda item: -item[0])
        kept = []
        for score, box in found[:rpn_pre_nms_top_n]:
            whole = box + (0, 0, 1, 1)
            if all(iou(whole, b + (0, 0, 1, 1)) <= threshold for _, b in kept):
                kept.append((score, box))
        for i in range(rpn_post_nms_top_n):
            score, box = kept[:rpn_post_nms_top_n][i % min(len(kept), rpn_post_nms_top_n)]
            out.append([n, *box])
            out_scores.append([score])
    return [np.array(out), np.array(out_scores)] if output_score else np.array(out)


def proposals(batch, kinds, height, width, info):
    def make(random):
        scores = random.permutation(batch * 2 * kinds * height * width).reshape(
            batch, 2 * kinds, height, width
        )
        moves = random.uniform(-0.4, 0.4, (batch, 4 * kinds, height, width))
        return [scores / scores.size, moves, np.tile(info, (batch, 1))]

    return make


# -----------------------------------------------------------------------------------------------------------------

IMAGE = (2, 3, 7, 6)
SINGLE = ("float32",)  # proposals are computed in it
RPN = {
    "rpn_pre_nms_top_n": 20,
    "rpn_post_nms_top_n": 6,
    "scales": (1, 2, 4),
    "ratios": (1,),
    "feature_stride": 16,
}
SHAPES = {"batch": [(1, 6, 3, 4), (1, 12, 3, 4), (1, 3)], "two": [(2, 6, 3, 4), (2, 12, 3, 4), (2, 3)]}


def roi_case(op, reference, attrs, size=IMAGE, numbers=5, make=None):
    make = make or regions(size)
    return Case(
        op, [size, (4, numbers)], reference, attrs, prepare=made(make), grad=(0,), dtypes=EXACT, loose=10
    )


def plain(op, shapes, reference, make, dtypes=EXACT, loose=10, grad=(), **attrs):
    return Case(op, shapes, reference, attrs, prepare=made(make), grad=grad, dtypes=dtypes, loose=loose)


def encode_inputs(random):
    matches = random.randint(0, 2, (2, 5))
    matches[0, 0] = -1
    samples = (matches >= 0).astype(float)
    samples[1, 2] = -1
    boxes = some_boxes(random, 2, 5), some_boxes(random, 2, 2)
    return [samples, matches, *boxes, random.uniform(-1, 1, 4), random.uniform(0.1, 1, 4)]


def decode_inputs(random):
    return [random.uniform(-2, 2, (2, 5, 4)), some_boxes(random, 1, 5)]


CASES = [
    roi_case("ROIPooling", roi_pooling, {"pooled_size": (2, 3), "spatial_scale": 1.0}),
    roi_case("ROIPooling", roi_pooling, {"pooled_size": (3, 2), "spatial_scale": 0.5}),
    roi_case("contrib.ROIAlign", roi_align, {"pooled_size": (2, 3), "spatial_scale": 1.0}),
    roi_case(
        "contrib.ROIAlign", roi_align, {"pooled_size": (2, 2), "spatial_scale": 0.75, "sample_ratio": 3}
    ),
    roi_case(
        "contrib.ROIAlign",
        roi_align,
        {"pooled_size": (2, 2), "spatial_scale": 1.25, "sample_ratio": 2, "aligned": True},
    ),
    roi_case(
        "contrib.ROIAlign",
        roi_align,
        {"pooled_size": (2, 3), "spatial_scale": 1.0, "position_sensitive": True, "sample_ratio": 2},
        size=(2, 12, 5, 4),
    ),
    roi_case(
        "contrib.ROIAlign", roi_align, {"pooled_size": (1, 1), "spatial_scale": 1.0}, size=(2, 20, 4, 4)
    ),
    roi_case(
        "contrib.RROIAlign",
        rroi_align,
        {"pooled_size": (2, 3), "spatial_scale": 1.0},
        numbers=6,
        make=turned(IMAGE),
    ),
    roi_case(
        "contrib.RROIAlign",
        rroi_align,
        {"pooled_size": (2, 2), "spatial_scale": 0.875, "sampling_ratio": 2},
        numbers=6,
        make=turned(IMAGE),
    ),
    roi_case(
        "contrib.PSROIPooling",
        psroi_pooling,
        {"spatial_scale": 1.0, "output_dim": 2, "pooled_size": 2},
        size=(2, 8, 6, 6),
    ),
    roi_case(
        "contrib.PSROIPooling",
        psroi_pooling,
        {"spatial_scale": 0.75, "output_dim": 2, "pooled_size": 3, "group_size": 2},
        size=(2, 8, 6, 7),
    ),
    Case(
        "contrib.DeformablePSROIPooling",
        [(2, 16, 6, 7), (4, 5), (4, 4, 2, 2)],
        deformable_psroi_pooling,
        {
            "spatial_scale": 0.875,
            "output_dim": 4,
            "group_size": 2,
            "pooled_size": 3,
            "part_size": 2,
            "sample_per_part": 2,
            "trans_std": 0.125,
        },
        prepare=made(moved((2, 16, 6, 7), 2, 2)),
        grad=(0, 2),
        dtypes=EXACT,
        loose=20,
    ),
    roi_case(
        "contrib.DeformablePSROIPooling",
        deformable_psroi_pooling,
        {"spatial_scale": 1.0, "output_dim": 2, "group_size": 2, "pooled_size": 2, "no_trans": True},
        size=(2, 8, 6, 6),
    ),
    plain("contrib.box_iou", [(2, 3, 4), (5, 4)], box_iou, lambda r: [some_boxes(r, 2, 3), some_boxes(r, 5)]),
    plain("contrib.box_iou", [(2, 4), (300, 4)], box_iou, lambda r: [some_boxes(r, 2), some_boxes(r, 300)]),
    plain(
        "contrib.box_iou",
        [(3, 4), (2, 4)],
        box_iou,
        lambda r: [r.uniform(0.1, 1, (3, 4)), r.uniform(0.1, 1, (2, 4))],
        format="center",
    ),
    plain("contrib.box_nms", [(2, 9, 6)], box_nms, scored(2, 9), id_index=0),
    plain(
        "contrib.box_nms", [(9, 6)], box_nms, scored(9), grad=(0,), overlap_thresh=0.3, out_format="center"
    ),
    plain(
        "contrib.box_nms",
        [(12, 6)],
        box_nms,
        scored(12),
        grad=(0,),
        overlap_thresh=0.2,
        force_suppress=True,
        id_index=0,
    ),
    plain("contrib.box_nms", [(12, 6)], box_nms, scored(12), overlap_thresh=0.3, valid_thresh=0.1, topk=5),
    plain(
        "contrib.box_nms",
        [(2, 1, 9, 6)],
        box_nms,
        scored(2, 1, 9),
        id_index=0,
        background_id=0,
        out_format="center",
    ),
    plain("contrib.box_nms", [(12, 6)], box_nms, scored(12, lowest=-1), id_index=0, overlap_thresh=0.3),
    plain(
        "contrib.box_nms",
        [(9, 6)],
        box_nms,
        scored(9, form="center"),
        grad=(0,),
        in_format="center",
        overlap_thresh=0.3,
    ),
    plain(
        "contrib.box_encode",
        [(2, 5), (2, 5), (2, 5, 4), (2, 2, 4), (4,), (4,)],
        box_encode,
        encode_inputs,
        loose=50,
    ),
    plain(
        "contrib.box_decode",
        [(2, 5, 4), (1, 5, 4)],
        box_decode,
        decode_inputs,
        std0=0.1,
        std2=0.2,
        format="corner",
    ),
    plain(
        "contrib.box_decode", [(2, 5, 4), (1, 5, 4)], box_decode, decode_inputs, std1=0.5, std3=0.7, clip=0.5
    ),
    plain(
        "contrib.bipartite_matching",
        [(4, 6)],
        bipartite_matching,
        lambda r: [r.permutation(24).reshape(4, 6) / 24],
        threshold=0.3,
    ),
    plain(
        "contrib.bipartite_matching",
        [(2, 5, 3)],
        bipartite_matching,
        lambda r: [r.permutation(30).reshape(2, 5, 3) / 30],
        threshold=0.61,
        is_ascend=True,
    ),
    plain(
        "contrib.bipartite_matching",
        [(5, 4)],
        bipartite_matching,
        lambda r: [r.permutation(20).reshape(5, 4) / 20],
        threshold=0.13,
        topk=2,
    ),
    plain("contrib.MultiBoxPrior", [(1, 2, 3, 5)], prior, None, sizes=(0.5, 0.3), ratios=(2.0, 1.0, 0.5)),
    plain(
        "contrib.MultiBoxPrior",
        [(2, 1, 2, 3)],
        prior,
        None,
        sizes=(0.7,),
        clip=True,
        steps=(0.3, 0.2),
        offsets=(0.1, 0.4),
    ),
    plain("contrib.MultiBoxTarget", [(1, 12, 4), (3, 3, 5), (3, 4, 12)], target, targets(), loose=50),
    plain(
        "contrib.MultiBoxTarget",
        [(1, 12, 4), (3, 3, 5), (3, 4, 12)],
        target,
        targets(),
        loose=50,
        negative_mining_ratio=2.0,
        negative_mining_thresh=0.3,
        overlap_threshold=0.61,
    ),
    plain(
        "contrib.MultiBoxTarget",
        [(1, 12, 4), (3, 3, 5), (3, 4, 12)],
        target,
        targets(),
        loose=50,
        negative_mining_ratio=0.1,
        minimum_negative_samples=3,
        ignore_label=-3.0,
        variances=(0.2, 0.2, 0.3, 0.4),
    ),
    plain("contrib.MultiBoxDetection", [(2, 3, 12), (2, 48), (1, 12, 4)], detection, detections(), loose=30),
    plain(
        "contrib.MultiBoxDetection",
        [(2, 3, 12), (2, 48), (1, 12, 4)],
        detection,
        detections(),
        loose=30,
        nms_threshold=0.2,
        force_suppress=True,
        threshold=0.4,
        clip=False,
    ),
    plain(
        "contrib.MultiBoxDetection",
        [(2, 3, 12), (2, 48), (1, 12, 4)],
        detection,
        detections(),
        loose=30,
        background_id=1,
        nms_topk=4,
    ),
    plain(
        "contrib.MultiBoxDetection",
        [(2, 3, 12), (2, 48), (1, 12, 4)],
        detection,
        detections(),
        loose=30,
        background_id=-1,
        nms_threshold=-1.0,
    ),
    plain(
        "contrib.Proposal",
        SHAPES["batch"],
        proposal,
        proposals(1, 3, 3, 4, (48.0, 64.0, 1.0)),
        dtypes=SINGLE,
        loose=100,
        **RPN,
    ),
    plain(
        "contrib.Proposal",
        SHAPES["batch"],
        proposal,
        proposals(1, 3, 3, 4, (48.0, 64.0, 1.0)),
        dtypes=SINGLE,
        loose=100,
        output_score=True,
        iou_loss=True,
        **RPN,
    ),
    plain(
        "contrib.Proposal",
        SHAPES["batch"],
        proposal,
        proposals(1, 3, 3, 4, (30.0, 64.0, 1.5)),
        dtypes=SINGLE,
        loose=100,
        **{**RPN, "rpn_post_nms_top_n": 25, "threshold": 0.3},
    ),
    plain(
        "contrib.MultiProposal",
        SHAPES["two"],
        proposal,
        proposals(2, 3, 3, 4, (48.0, 50.0, 1.0)),
        dtypes=SINGLE,
        loose=100,
        output_score=True,
        **RPN,
    ),
    plain(
        "contrib.MultiProposal",
        [(2, 24, 2, 2), (2, 48, 2, 2), (2, 3)],
        proposal,
        proposals(2, 12, 2, 2, (32.0, 32.0, 0.5)),
        dtypes=SINGLE,
        loose=100,
        rpn_post_nms_top_n=7,
    ),
]
