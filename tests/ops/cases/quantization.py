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


def ranges(*ends):
    """Whole numbers that fill their type, and these ranges."""

    def prepare(*inputs):
        arrays = len(inputs) - len(ends)
        return [*inputs[:arrays], *(np.array(end, FLOAT).reshape(-1) for end in ends)]

    return prepare


def case(op, shapes, reference, ends=(), attrs=None, dtype="int8", gives=(), **more):
    """One whose last inputs are `ends`, of float32."""
    count = len(shapes)
    low, high = {"int8": (-127, 127), "uint8": (0, 255), "int32": (-1e9, 1e9), FLOAT: (-2, 2)}[dtype]
    shapes = [*shapes, *[np.shape(end) or (1,) for end in ends]]
    types = dict.fromkeys(range(count, len(shapes)), FLOAT) | more.get("types", {})
    return Case(
        f"contrib.{op}", shapes, reference, attrs or {}, low=low, high=high, dtypes=(dtype,), grad=(),
        prepare=ranges(*ends), types=types, gives=gives or (dtype, FLOAT, FLOAT),
    )  # fmt: skip


IMAGE, BYTES = (2, 3, 4, 5), ("int8", "uint8")
CALIBRATED = {"min_calib_range": -0.5, "max_calib_range": 1.5}
WHOLE = {kind: (kind, FLOAT, FLOAT) for kind in (*BYTES, "int32")}
EACH = (-1, -0.1, -0.02), (0.5, 0.2, 0.01)  # ranges of three rows

CASES = [
    case("quantize", [(3, 5)], quantize, EACH, {"out_type": "int8"}, FLOAT, WHOLE["int8"]),
    case("dequantize", [(3, 9)], dequantize, EACH, gives=(FLOAT,)),
    case("dequantize", [IMAGE], dequantize, (-0.5, 2), dtype="int32", gives=(FLOAT,)),
    case(
        "requantize", [IMAGE], requantize, (-4, 4), {"out_type": "int8", **CALIBRATED}, "int32", WHOLE["int8"]
    ),
    case("quantized_elemwise_add", [IMAGE, IMAGE], add, (-1, 2, -3, 1), CALIBRATED),
]
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
