# SPDX-License-Identifier: Apache-2.0
"""Single operators on arrays of usual sizes, forward (`NAME`) and, where differentiable, recorded with the gradients of
all inputs (`NAME_backward`), beside MXNet 1.9.1 and, where it has the operator, PyTorch."""

import os
from collections import namedtuple
from functools import partial

import numpy as np
from harness import serve

# mx: makes the output from `nd` and the inputs; torch: from `torch` and the inputs, or None; inputs: arrays of NumPy.
Operator = namedtuple("Operator", "mx torch inputs differentiable")


def _random(*shape, low=-1.0, high=1.0, dtype="float32"):
    return partial(lambda: np.random.default_rng(1).uniform(low, high, shape).astype(dtype))


def _indices(most, *shape, dtype="int32"):
    return lambda: np.random.default_rng(1).integers(0, most, shape).astype(dtype)


def _regions(count, images, size):
    """Boxes (image, left, top, right, bottom) of up to half of the image."""

    def make():
        random = np.random.default_rng(1)
        corner, extent = (
            random.uniform(0, size / 2, (count, 2)),
            random.uniform(size / 10, size / 2, (count, 2)),
        )
        image = random.integers(0, images, (count, 1))
        return np.hstack([image, corner, corner + extent]).astype("float32")

    return make


def _boxes(*shape):
    def make():
        corner = np.random.default_rng(1).uniform(0, 1, (*shape, 2))
        return np.concatenate([corner, corner + 0.1], -1).astype("float32")

    return make


def _scored_boxes(count):
    def make():
        score = np.random.default_rng(2).uniform(0.01, 1, (count, 1))
        return np.hstack([score, _boxes(count)()]).astype("float32")

    return make


def _vision():
    """PyTorch's operators for images are a package of their own."""
    import torchvision

    return torchvision.ops


def _triangular(count, size):
    return lambda: (
        np.tril(np.random.default_rng(1).uniform(0, 1, (count, size, size))) + 2 * np.eye(size)
    ).astype("float32")


def _positive_definite(count, size):
    def make():
        a = np.random.default_rng(1).uniform(-1, 1, (count, size, size))
        return (a @ a.transpose(0, 2, 1) + size * np.eye(size)).astype("float32")

    return make


OPERATORS = {}


def _add(name, mx, *inputs, torch=None, differentiable=True):
    OPERATORS[name] = Operator(mx, torch, inputs, differentiable)


IMAGE = _random(8, 32, 56, 56)
POSITIVE = _random(8, 32, 56, 56, low=0.1)

# Elementwise.
for _name in (
    "exp",
    "log",
    "sqrt",
    "sigmoid",
    "tanh",
    "erf",
    "sin",
    "abs",
    "square",
    "rsqrt",
    "gamma",
    "floor",
):
    _add(
        _name,
        lambda nd, x, n=_name: getattr(nd, n)(x),
        POSITIVE,
        torch=None if _name == "gamma" else lambda torch, x, n=_name: getattr(torch, n)(x),
    )
_add("relu", lambda nd, x: nd.relu(x), IMAGE, torch=lambda torch, x: torch.relu(x))
_add("clip", lambda nd, x: nd.clip(x, -0.5, 0.5), IMAGE, torch=lambda torch, x: torch.clamp(x, -0.5, 0.5))
_add("add", lambda nd, x, y: x + y, IMAGE, IMAGE, torch=lambda torch, x, y: x + y)
_add("multiply_scalar", lambda nd, x: x * 1.5, IMAGE, torch=lambda torch, x: x * 1.5)
_add(
    "broadcast_add",
    lambda nd, x, y: nd.broadcast_add(x, y),
    IMAGE,
    _random(1, 32, 1, 1),
    torch=lambda torch, x, y: x + y,
)
_add(
    "broadcast_power",
    lambda nd, x, y: nd.broadcast_power(x, y),
    POSITIVE,
    _random(1, 32, 1, 1),
    torch=lambda torch, x, y: x**y,
)
_add(
    "where",
    lambda nd, c, x, y: nd.where(c, x, y),
    _indices(2, 8, 32, 56, 56),
    IMAGE,
    IMAGE,
    torch=lambda torch, c, x, y: torch.where(c > 0, x, y),
)
_add(
    "cast_float16",
    lambda nd, x: nd.cast(x, dtype="float16"),
    IMAGE,
    torch=lambda torch, x: x.half(),
)

# Reductions.
for _name, _axis in (("all", None), ("last", 3), ("inner", 1), ("outer", 0), ("places", (2, 3))):
    _add(
        f"sum_{_name}",
        lambda nd, x, axis=_axis: nd.sum(x) if axis is None else nd.sum(x, axis=axis),
        IMAGE,
        torch=lambda torch, x, axis=_axis: torch.sum(x) if axis is None else torch.sum(x, axis),
    )
for _name, _axis in (("all", None), ("last", 1)):
    _add(
        f"sum_matrix_{_name}",
        lambda nd, x, axis=_axis: nd.sum(x) if axis is None else nd.sum(x, axis=axis),
        _random(4096, 1024),
        torch=lambda torch, x, axis=_axis: torch.sum(x) if axis is None else torch.sum(x, axis),
    )
_add(
    "sum_short_middle", lambda nd, x: nd.sum(x, axis=1), _random(8000, 4, 8), torch=lambda torch, x: x.sum(1)
)
_add("mean_last", lambda nd, x: nd.mean(x, axis=3), IMAGE, torch=lambda torch, x: torch.mean(x, 3))
_add("max_inner", lambda nd, x: nd.max(x, axis=1), IMAGE, torch=lambda torch, x: torch.amax(x, 1))
_add("norm", lambda nd, x: nd.norm(x), IMAGE, torch=lambda torch, x: torch.norm(x))
_add(
    "argmax_last",
    lambda nd, x: nd.argmax(x, axis=3),
    IMAGE,
    torch=lambda torch, x: torch.argmax(x, 3),
    differentiable=False,
)
_add(
    "topk",
    lambda nd, x: nd.topk(x, k=5),
    _random(256, 1000),
    torch=lambda torch, x: torch.topk(x, 5).indices,
    differentiable=False,
)

# Shapes and indices.
_add(
    "transpose",
    lambda nd, x: nd.transpose(x, axes=(0, 2, 3, 1)),
    IMAGE,
    torch=lambda torch, x: x.permute(0, 2, 3, 1).contiguous(),
)
_add(
    "concat",
    lambda nd, x, y: nd.concat(x, y, dim=1),
    IMAGE,
    IMAGE,
    torch=lambda torch, x, y: torch.cat([x, y], 1),
)
_add(
    "slice_axis",
    lambda nd, x: nd.slice_axis(x, axis=2, begin=8, end=40),
    IMAGE,
    torch=lambda torch, x: x[:, :, 8:40].contiguous(),
)
_add("flip", lambda nd, x: nd.flip(x, axis=3), IMAGE, torch=lambda torch, x: torch.flip(x, (3,)))
_add("tile", lambda nd, x: nd.tile(x, reps=(2, 1, 1, 1)), IMAGE, torch=lambda torch, x: x.tile(2, 1, 1, 1))
_add(
    "repeat",
    lambda nd, x: nd.repeat(x, repeats=2, axis=1),
    IMAGE,
    torch=lambda torch, x: x.repeat_interleave(2, 1),
)
for _mode in ("constant", "edge", "reflect"):
    _add(
        f"pad_{_mode}",
        lambda nd, x, mode=_mode: nd.pad(x, mode=mode, pad_width=(0, 0, 0, 0, 1, 1, 1, 1)),
        IMAGE,
        torch=lambda torch, x, mode=_mode: torch.nn.functional.pad(
            x, (1, 1, 1, 1), {"edge": "replicate"}.get(mode, mode)
        ),
    )
_add(
    "Embedding",
    lambda nd, x, w: nd.Embedding(x, w, input_dim=10000, output_dim=256),
    _indices(10000, 32, 64),
    _random(10000, 256),
    torch=lambda torch, x, w: torch.nn.functional.embedding(x, w),
)
_add(
    "take",
    lambda nd, x, i: nd.take(x, i),
    _random(10000, 256),
    _indices(10000, 2048),
    torch=lambda torch, x, i: x.index_select(0, i),
)
_add("one_hot", lambda nd, x: nd.one_hot(x, 1000), _indices(1000, 512), differentiable=False)
_add(
    "pick",
    lambda nd, x, i: nd.pick(x, i),
    _random(512, 1000),
    _indices(1000, 512),
    torch=lambda torch, x, i: x.gather(1, i.long()[:, None])[:, 0],
)

# Layers.
_add(
    "FullyConnected",
    lambda nd, x, w, b: nd.FullyConnected(x, w, b, num_hidden=512),
    _random(128, 512),
    _random(512, 512),
    _random(512),
    torch=lambda torch, x, w, b: torch.nn.functional.linear(x, w, b),
)
_add(
    "dot",
    lambda nd, x, y: nd.dot(x, y),
    _random(256, 512),
    _random(512, 256),
    torch=lambda torch, x, y: x @ y,
)
_add(
    "batch_dot",
    lambda nd, x, y: nd.batch_dot(x, y),
    _random(64, 64, 64),
    _random(64, 64, 64),
    torch=lambda torch, x, y: x @ y,
)
for _axis, _shape in ((-1, (512, 1000)), (1, (8, 4, 64, 64))):
    for _name in ("softmax", "log_softmax"):
        _add(
            f"{_name}_{'last' if _axis < 0 else 'inner'}",
            lambda nd, x, n=_name, axis=_axis: getattr(nd, n)(x, axis=axis),
            _random(*_shape),
            torch=lambda torch, x, n=_name, axis=_axis: getattr(torch, n)(x, axis),
        )
_add(
    "PReLU",
    lambda nd, x, g: nd.LeakyReLU(x, g, act_type="prelu"),
    IMAGE,
    _random(32),
    torch=lambda torch, x, g: torch.nn.functional.prelu(x, g),
)
_add(
    "gelu",
    lambda nd, x: nd.LeakyReLU(x, act_type="gelu"),
    IMAGE,
    torch=lambda torch, x: torch.nn.functional.gelu(x),
)
_add(
    "LRN",
    lambda nd, x: nd.LRN(x, nsize=5),
    IMAGE,
    torch=lambda t, x: t.nn.functional.local_response_norm(x, 5),
)
for _name, _shape in (("planes", (8, 64, 28, 28)), ("rows", (256, 1024))):
    _add(
        f"BatchNorm_{_name}",
        lambda nd, x, g, b, mean, var: nd.BatchNorm(x, g, b, mean, var, fix_gamma=False),
        _random(*_shape),
        *[_random(_shape[1]) for _ in range(3)],
        _random(_shape[1], low=0.1),
        torch=lambda t, x, g, b, mean, var: t.nn.functional.batch_norm(
            x, mean.detach(), var.detach(), g, b, x.requires_grad
        ),
    )
_add(
    "LayerNorm",
    lambda nd, x, g, b: nd.LayerNorm(x, g, b),
    _random(512, 768),
    _random(768),
    _random(768),
    torch=lambda torch, x, g, b: torch.layer_norm(x, (768,), g, b),
)
_add(
    "GroupNorm",
    lambda nd, x, g, b: nd.GroupNorm(x, g, b, num_groups=8),
    IMAGE,
    _random(8),
    _random(8),
    torch=lambda torch, x, g, b: torch.group_norm(x, 8, g.repeat_interleave(4), b.repeat_interleave(4)),
)
_add(
    "InstanceNorm",
    lambda nd, x, g, b: nd.InstanceNorm(x, g, b),
    IMAGE,
    _random(32),
    _random(32),
    torch=lambda torch, x, g, b: torch.nn.functional.instance_norm(x, weight=g, bias=b),
)
_add(
    "L2Normalization",
    lambda nd, x: nd.L2Normalization(x),
    IMAGE,
    torch=lambda torch, x: torch.nn.functional.normalize(x.flatten(1)).view_as(x),
)

# Convolution and pooling.
_add(
    "Convolution",
    lambda nd, x, w: nd.Convolution(x, w, kernel=(3, 3), pad=(1, 1), num_filter=32, no_bias=True),
    IMAGE,
    _random(32, 32, 3, 3),
    torch=lambda torch, x, w: torch.conv2d(x, w, padding=1),
)
for _images in (1, 8):
    _add(
        f"Deconvolution_{_images}",
        lambda nd, x, w: nd.Deconvolution(
            x, w, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=32, no_bias=True
        ),
        _random(_images, 64, 28, 28),
        _random(64, 32, 4, 4),
        torch=lambda torch, x, w: torch.conv_transpose2d(x, w, stride=2, padding=1),
    )
for _dtype in ("float32", "float64"):
    for _kind in ("max", "avg"):
        _add(
            f"Pooling_{_kind}_{_dtype}",
            lambda nd, x, kind=_kind: nd.Pooling(x, pool_type=kind, kernel=(3, 3), stride=(2, 2), pad=(1, 1)),
            _random(8, 32, 56, 56, dtype=_dtype),
            torch=lambda t, x, kind=_kind: getattr(t.nn.functional, f"{kind}_pool2d")(x, 3, 2, 1),
        )

# Vision and detection.
_add(
    "UpSampling",
    lambda nd, x: nd.UpSampling(x, scale=2, sample_type="nearest"),
    IMAGE,
    torch=lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=2),
)
_add(
    "BilinearResize2D",
    lambda nd, x: nd.contrib.BilinearResize2D(x, height=112, width=112),
    IMAGE,
    torch=lambda t, x: t.nn.functional.interpolate(x, (112, 112), mode="bilinear", align_corners=True),
)
_add(
    "im2col",
    lambda nd, x: nd.im2col(x, kernel=(3, 3), pad=(1, 1)),
    IMAGE,
    torch=lambda torch, x: torch.nn.functional.unfold(x, 3, padding=1),
)
_add(
    "BilinearSampler",
    lambda nd, x, grid: nd.BilinearSampler(x, grid),
    IMAGE,
    _random(8, 2, 56, 56),
    torch=lambda torch, x, grid: torch.nn.functional.grid_sample(
        x, grid.permute(0, 2, 3, 1), align_corners=True
    ),
)
FEATURES, REGIONS = _random(2, 64, 50, 50), _regions(64, 2, 800)
_add(
    "ROIAlign",
    lambda nd, x, r: nd.contrib.ROIAlign(x, r, pooled_size=(7, 7), spatial_scale=1 / 16, sample_ratio=2),
    FEATURES,
    REGIONS,
    torch=lambda torch, x, r: _vision().roi_align(x, r.detach(), 7, 1 / 16, 2),
)
_add(
    "ROIPooling",
    lambda nd, x, r: nd.ROIPooling(x, r, pooled_size=(7, 7), spatial_scale=1 / 16),
    FEATURES,
    REGIONS,
)
_add(
    "box_iou",
    lambda nd, x, y: nd.contrib.box_iou(x, y),
    _boxes(500),
    _boxes(500),
    torch=lambda torch, x, y: _vision().box_iou(x, y),
    differentiable=False,
)
_add(
    "box_nms",
    lambda nd, x: nd.contrib.box_nms(x, overlap_thresh=0.5, coord_start=1, score_index=0),
    _scored_boxes(2000),
    torch=lambda torch, x: x[_vision().nms(x[:, 1:], x[:, 0], 0.5)],
    differentiable=False,
)
_add(
    "MultiBoxPrior",
    lambda nd, x: nd.contrib.MultiBoxPrior(x, sizes=(0.5, 0.25), ratios=(1, 2)),
    IMAGE,
    differentiable=False,
)

# Matrices.
for _name, _torch, _inputs in (
    ("gemm2", lambda torch, x, y: x @ y, (_random(64, 64, 64), _random(64, 64, 64))),
    (
        "trsm",
        lambda torch, a, b: torch.linalg.solve_triangular(a, b, upper=False),
        (_triangular(1000, 8), _random(1000, 8, 8)),
    ),
    ("trmm", lambda torch, a, b: a.tril() @ b, (_triangular(1000, 8), _random(1000, 8, 8))),
    ("potrf", lambda torch, a: torch.linalg.cholesky(a), (_positive_definite(200, 16),)),
    ("syrk", lambda torch, a: a @ a.transpose(1, 2), (_random(64, 64, 64),)),
    ("inverse", lambda torch, a: torch.linalg.inv(a), (_positive_definite(200, 16),)),
):
    _add(
        f"linalg_{_name}",
        lambda nd, *inputs, n=_name: getattr(nd.linalg, n)(*inputs),
        *_inputs,
        torch=_torch,
    )

# Sequences.
for _name in ("SequenceMask", "SequenceLast", "SequenceReverse"):
    _add(
        _name,
        lambda nd, x, length, n=_name: getattr(nd, n)(x, length, use_sequence_length=True),
        _random(64, 32, 256),
        lambda: np.random.default_rng(1).integers(1, 65, 32).astype("float32"),
    )
_add(
    "ctc_loss",
    lambda nd, x, label: nd.ctc_loss(x, label),
    _random(64, 32, 30),
    lambda: np.random.default_rng(1).integers(1, 30, (32, 10)).astype("float32"),
    torch=lambda torch, x, label: torch.nn.functional.ctc_loss(
        x.log_softmax(2), label.detach().long(), (64,) * 32, (10,) * 32, reduction="none"
    ),
)


def _mx(name, operator, backward):
    mx = __import__(name)
    inputs = [mx.nd.array(make(), dtype=make().dtype) for make in operator.inputs]
    if backward:
        for array in inputs:
            if array.dtype.__name__.startswith("float"):
                array.attach_grad()

    def run(count):
        for _ in range(count):
            if backward:
                with mx.autograd.record():
                    out = operator.mx(mx.nd, *inputs)
                out.backward()
            else:
                operator.mx(mx.nd, *inputs).wait_to_read()
        mx.nd.waitall()

    return run


def _torch(operator, backward):
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 2)))
    inputs = [torch.from_numpy(make()) for make in operator.inputs]
    for array in inputs:
        array.requires_grad_(backward and array.is_floating_point())

    def run(count):
        for _ in range(count):
            out = operator.torch(torch, *inputs)
            if backward:
                for array in inputs:
                    array.grad = None
                out.backward(torch.ones_like(out))

    return run


def _case(operator, backward):
    case = {name: partial(_mx, name, operator, backward) for name in ("loomix", "mxnet")}
    if operator.torch:
        case["torch"] = partial(_torch, operator, backward)
    return case


CASES = {}
for _name, _operator in OPERATORS.items():
    CASES[_name] = _case(_operator, False)
    if _operator.differentiable:
        CASES[f"{_name}_backward"] = _case(_operator, True)

if __name__ == "__main__":
    serve(CASES)
