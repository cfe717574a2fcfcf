# SPDX-License-Identifier: Apache-2.0
"""Whole numbers of 8 bits. With each array goes a range, whose larger magnitude the largest number stands for."""

import numpy as np

from . import Case

MOST = {"int8": 127, "uint8": 255, "int32": 2**31 - 1}
FLOAT = "float32"


def step(low, high, dtype):
    return np.maximum(np.abs(low), np.abs(high)).astype(float) / MOST[np.dtype(dtype).name]


def rounded(x, factor, dtype):
    """In float32, halves to even; int8 leaves -128 out."""
    low = 0 if dtype == "uint8" else -127
    whole = np.rint(np.float32(x) * np.float32(factor))
    return np.clip(whole, low, MOST[dtype]).astype(dtype)


def stated(low, high, dtype):
    reach = np.maximum(np.abs(low), np.abs(high))
    return (-reach, reach) if dtype == "int8" else (low, high)


def rows(value, x):
    return value if value.size == 1 else value.reshape(-1, *[1] * (x.ndim - 1))


def quantize(x, low, high, out_type):
    factor = rows(1 / step(low, high, out_type), x)
    return [rounded(x, factor, out_type), *stated(low, high, out_type)]


def dequantize(x, low, high):
    return np.float32(x) * np.float32(rows(step(low, high, x.dtype), x))


def quantize_v2(x, out_type, min_calib_range, max_calib_range):
    low, high = np.float32([min_calib_range]), np.float32([max_calib_range])
    return quantize(x, low, high, out_type)


def requantize(x, low, high, out_type, min_calib_range, max_calib_range):
    new = np.float32([min_calib_range]), np.float32([max_calib_range])
    factor = step(low, high, "int32") / step(*new, out_type)
    reach = max(abs(min_calib_range), abs(max_calib_range))
    return [rounded(x, factor, out_type), np.float32([-reach]), np.float32([reach])]


def act(x, low, high, act_type):
    return [np.maximum(x, 0), low, high]


def flatten(x, low, high):
    return [x.reshape(len(x), -1), low, high]


def concat(a, b, a_low, a_high, b_low, b_high, num_args, dim):
    low, high = np.minimum(a_low, b_low), np.maximum(a_high, b_high)
    new = step(low, high, a.dtype)
    parts = [(a, step(a_low, a_high, a.dtype)), (b, step(b_low, b_high, b.dtype))]
    joined = [rounded(part, own / new, a.dtype.name) for part, own in parts]
    return [np.concatenate(joined, dim), low, high]


def add(a, b, a_low, a_high, b_low, b_high, min_calib_range, max_calib_range):
    low, high = np.float32([min_calib_range]), np.float32([max_calib_range])
    real = a * step(a_low, a_high, a.dtype) + b * step(b_low, b_high, b.dtype)
    return [rounded(real / step(low, high, "int8"), 1, "int8"), low, high]


def product(x, weight, bias, low, high, weight_low, weight_high, bias_low, bias_high, num_hidden):
    """Sums of rows with a range each are brought to the largest step, as the bias is."""
    own = step(low, high, x.dtype) * step(weight_low, weight_high, "int8") * np.ones(num_hidden)
    shift = np.rint(bias * step(bias_low, bias_high, "int8") / own.max())
    sums = np.rint(x.astype(int) @ weight.astype(int).T * (own / own.max()) + shift)
    reach = np.float32([own.max() * MOST["int32"]])
    return [sums, -reach, reach]


def windows(x, kernel, stride, pad, beyond):
    """What each place of a kernel reads, (images, channels, height, width, kernel's numbers)."""
    (kh, kw), (sh, sw), (ph, pw) = kernel, stride, pad
    wide = np.pad(x.astype(int), [(0, 0), (0, 0), (ph, ph), (pw, pw)], constant_values=beyond)
    seen = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[:, :, ::sh, ::sw]
    return seen.reshape(*seen.shape[:4], kh * kw)


def pooling(x, low, high, kernel, stride, pad, pool_type):
    seen = windows(x, kernel, stride, pad, -128 if pool_type == "max" else 0)
    made = seen.max(-1) if pool_type == "max" else np.rint(seen.mean(-1))
    return [made.astype(x.dtype), low, high]


def convolution(x, weight, bias, *ends, kernel, stride, pad, num_filter, num_group):
    """Sums of filters with a range each are brought to the largest step, as the bias is."""
    own = step(*ends[:2], x.dtype) * step(*ends[2:4], "int8") * np.ones(num_filter)
    shift = np.rint(bias * step(*ends[4:], "int8") / own.max())
    seen = windows(x, kernel, stride, pad, 0)
    channels, filters = x.shape[1] // num_group, num_filter // num_group
    sums = [
        np.einsum(
            "nchwk,fck->nfhw",
            seen[:, group * channels : (group + 1) * channels],
            weight.reshape(num_filter, channels, -1)[group * filters : (group + 1) * filters].astype(int),
        )
        for group in range(num_group)
    ]
    reach = np.float32([own.max() * MOST["int32"]])
    brought = np.concatenate(sums, 1) * (own / own.max())[:, None, None] + shift[:, None, None]
    return [np.rint(brought), -reach, reach]


def multiply(
    a, b, a_low, a_high, b_low, b_high, enable_float_output=False, min_calib_range=None, max_calib_range=None
):
    own = step(a_low, a_high, "int8") * step(b_low, b_high, "int8")
    whole = a.astype(int) * b
    if enable_float_output:
        return whole * own
    if min_calib_range is None:
        reach = np.float32(own * MOST["int32"])
        return [whole, -reach, reach]
    low, high = np.float32([min_calib_range]), np.float32([max_calib_range])
    return [rounded(whole * own / step(low, high, "int8"), 1, "int8"), low, high]


def embedding(rows, weight, low, high, input_dim, output_dim):
    return [weight[np.clip(rows.astype(int), 0, input_dim - 1)], low, high]


def normalised(x, gamma, beta, mean, var, low, high, eps, fix_gamma, min_calib_range, max_calib_range):
    scale = (1 if fix_gamma else gamma) / np.sqrt(var + eps)
    real = x * step(low, high, x.dtype) * scale[:, None, None] + (beta - mean * scale)[:, None, None]
    ends = np.float32([min_calib_range]), np.float32([max_calib_range])
    return [rounded(real / step(*ends, "int8"), 1, "int8"), *ends]


def quantize_asym(x, min_calib_range, max_calib_range):
    scale = np.float32(255 / (max_calib_range - min_calib_range))
    shift = np.float32(255 - max_calib_range * scale)
    return [rounded(x * scale + shift, 1, "uint8"), np.float32([scale]), np.float32([shift])]


def ranges(*ends):
    """Whole numbers that fill their type, and these ranges."""

    def prepare(*inputs):
        arrays = len(inputs) - len(ends)
        return [*inputs[:arrays], *(np.array(end, FLOAT).reshape(-1) for end in ends)]

    return prepare


def positive(at, *ends):
    """The same, with an input that is above zero."""

    def prepare(*inputs):
        made = ranges(*ends)(*inputs)
        made[at] = np.abs(made[at]) + 0.5
        return made

    return prepare


def case(op, shapes, reference, ends=(), attrs=None, dtype="int8", gives=(), **more):
    """One whose last inputs are `ends`, of float32."""
    count = len(shapes)
    low, high = {"int8": (-127, 127), "uint8": (0, 255), "int32": (-1e9, 1e9), FLOAT: (-2, 2)}[dtype]
    shapes = [*shapes, *[np.shape(end) or (1,) for end in ends]]
    types = dict.fromkeys(range(count, len(shapes)), FLOAT) | more.get("types", {})
    return Case(
        f"contrib.{op}", shapes, reference, attrs or {}, low=low, high=high, dtypes=(dtype,), grad=(),
        prepare=more.get("prepare", ranges(*ends)), types=types, gives=gives or (dtype, FLOAT, FLOAT),
        states=more.get("states", ()),
    )  # fmt: skip


IMAGE, BYTES = (2, 3, 4, 5), ("int8", "uint8")
CALIBRATED = {"min_calib_range": -0.5, "max_calib_range": 1.5}
WHOLE = {kind: (kind, FLOAT, FLOAT) for kind in (*BYTES, "int32")}
EACH = (-1, -0.1, -0.02), (0.5, 0.2, 0.01)  # ranges of three rows
SIX = EACH[0] * 2, EACH[1] * 2

CASES = [
    case("quantize", [(3, 5)], quantize, EACH, {"out_type": "int8"}, FLOAT, WHOLE["int8"]),
    case("dequantize", [(3, 9)], dequantize, EACH, gives=(FLOAT,)),
    case("dequantize", [IMAGE], dequantize, (-0.5, 2), dtype="int32", gives=(FLOAT,)),
    case(
        "requantize", [IMAGE], requantize, (-4, 4), {"out_type": "int8", **CALIBRATED}, "int32", WHOLE["int8"]
    ),
    case("quantized_elemwise_add", [IMAGE, IMAGE], add, (-1, 2, -3, 1), CALIBRATED),
    case("quantized_elemwise_mul", [IMAGE, IMAGE], multiply, (-1, 2, -3, 1), gives=WHOLE["int32"]),
    case("quantized_elemwise_mul", [IMAGE, IMAGE], multiply, (-1, 2, -3, 1), CALIBRATED),
    case("quantized_elemwise_mul", [IMAGE, IMAGE], multiply, (-1, 2, -3, 1), {"enable_float_output": True},
         gives=(FLOAT,)),
    case("quantized_embedding", [(2, 5), (6, 4)], embedding, (-1, 2), {"input_dim": 6, "output_dim": 4},
         types={0: FLOAT}),
    case("quantize_asym", [(3, 5)], quantize_asym, (), CALIBRATED, FLOAT, WHOLE["uint8"]),
    case(
        "quantized_batch_norm", [IMAGE, (3,), (3,), (3,), (3,)], normalised, (-1, 2),
        {"eps": 0.01, "fix_gamma": False, "min_calib_range": -250.0, "max_calib_range": 200.0},
        types=dict.fromkeys(range(1, 5), FLOAT), prepare=positive(4, -1, 2), states=(3, 4),
    ),
]  # fmt: skip
for kind in BYTES:
    CASES += [
        case("quantize", [IMAGE], quantize, (-1.5, 1), {"out_type": kind}, FLOAT, WHOLE[kind]),
        case("quantize", [(7,)], quantize, (0, 3), {"out_type": kind}, FLOAT, WHOLE[kind]),
        case("dequantize", [IMAGE], dequantize, (-0.5, 2), dtype=kind, gives=(FLOAT,)),
        case("quantize_v2", [IMAGE], quantize_v2, (), {"out_type": kind, **CALIBRATED}, FLOAT, WHOLE[kind]),
        case("quantized_act", [IMAGE], act, (-1, 2), {"act_type": "relu"}, kind),
        case("quantized_flatten", [IMAGE], flatten, (-1, 2), dtype=kind),
        case(
            "quantized_concat",
            [(2, 3, 4), (2, 1, 4)],
            concat,
            (-1, 2, -3, 1),
            {"num_args": 2, "dim": 1},
            kind,
        ),
    ]
    CASES += [
        case("quantized_fully_connected", [(2, 9), (3, 9), (3,)], product, (-1, 2, *weight, *bias), {"num_hidden": 3},
             kind, WHOLE["int32"], types={1: "int8", 2: "int8"})
        for weight, bias in (((-1, 0.5), (-0.1, 0.3)), (EACH, EACH))
    ]  # fmt: skip
    CASES += [
        case("quantized_pooling", [(2, 3, 6, 5)], pooling, (-1, 2),
             {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 0), "pool_type": pool}, kind)
        for pool in ("max", "avg")
    ]  # fmt: skip
    CASES += [
        case("quantized_conv", [(2, 4, 6, 5), (6, 4 // groups, 3, 2), (6,)], convolution, (-1, 2, *weight, *bias),
             {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 1), "num_filter": 6, "num_group": groups},
             kind, WHOLE["int32"], types={1: "int8", 2: "int8"})
        for groups, weight, bias in ((1, (-1, 0.5), (-0.1, 0.3)), (2, SIX, SIX))
    ]  # fmt: skip
