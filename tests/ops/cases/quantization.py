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


def lstm(
    x, parameters, state, cell, scale, shift, state_size, num_layers, mode, bidirectional, state_outputs
):
    """Each row of a weight is rounded to int8 with a scale of its own; all else is of real numbers."""
    gates, directions = 4 * state_size, 2 if bidirectional else 1
    widths = [x.shape[2]] + [directions * state_size] * (num_layers - 1)
    sizes = [(gates, columns) for width in widths for columns in (width, state_size) * directions]
    weights, at = [], 0
    for rows_, columns in sizes:
        part = parameters[at : at + rows_ * columns].reshape(rows_, columns)
        at += rows_ * columns
        own = np.abs(part).max(1, keepdims=True).astype(float) / 127
        weights.append(np.rint(np.float32(part / own)) * own)
    biases = parameters[at:].reshape(num_layers * directions, 2, gates).sum(1)
    value, last = (x.astype(float) - shift) / scale, ([], [])
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    for layer in range(num_layers):
        made = []
        for way in range(directions):
            n = layer * directions + way
            h, c, steps = state[n], cell[n], []
            for row in value[::-1] if way else value:
                gate = row @ weights[2 * n].T + h @ weights[2 * n + 1].T + biases[n]
                i, f, g, o = np.split(gate, 4, 1)
                c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                h = sigmoid(o) * np.tanh(c)
                steps.append(h)
            made.append(np.stack(steps[::-1] if way else steps))
            last[0].append(h)
            last[1].append(c)
        value = np.concatenate(made, 2)
    return [value, np.stack(last[0]), np.stack(last[1])] if state_outputs else value


def scaled(x, parameters, state, cell, scale, shift):
    """Data of uint8 that stands for what lies between -1 and 1."""
    return x, parameters / 255, state / 255, cell / 255, np.array([127.5]), np.array([127.5])


def smoothed(values):
    """Zeros get a little, which the others give."""
    zero = values == 0
    given = 1e-4 * zero.sum() / max(1, (~zero).sum())
    return None if given >= 1 or zero.all() else np.where(zero, 1e-4, values - given)


def entropy(hist, edges, num_quantized_bins):
    """The threshold of least divergence between the values cut off there, and what the steps tell of them."""
    middle, best = len(hist) // 2, (np.inf, None)
    for half in range(num_quantized_bins // 2, middle + 1):
        first, end = middle - half, min(middle + half + 1, len(hist))
        kept = hist[first:end].astype(float)
        kept[0] = 0  # as in MXNet
        cut = kept.copy()
        cut[0] += hist[: first + 1].sum()
        cut[-1] += hist[end:].sum()
        merged, told = len(kept) // num_quantized_bins, np.zeros(len(kept))
        for step_ in range(num_quantized_bins):
            part = slice(step_ * merged, None if step_ == num_quantized_bins - 1 else (step_ + 1) * merged)
            used = (kept[part] != 0).sum()
            told[part] = np.where((cut[part] != 0) & (used > 0), kept[part].sum() / max(1, used), 0)
        p, q = smoothed(cut), smoothed(told)
        if p is None or q is None:
            continue
        p, q = p / p.sum(), q / q.sum()
        best = min(best, ((p * np.log(p / q)).sum(), half))
    return [np.float32([edges[min(middle + best[1] + 1, len(hist))]]), np.float32([best[0]])]


def histogram(hist, edges):
    """Counts of values around zero, with few far away, and an empty place."""
    bins = np.arange(len(hist)) - len(hist) // 2
    counts = np.rint(1000 * np.exp(-np.square(bins / 9.0)) + 2 * hist)
    counts[len(hist) // 2 + 3] = 0
    return counts, np.linspace(-3, 3, len(edges))


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
    *(
        case("quantized_rnn", [(3, 2, 5), (size,), (states, 2, 4), (states, 2, 4), (1,), (1,)], lstm, (),
             {"state_size": 4, "num_layers": 2, "mode": "lstm", "bidirectional": both, "state_outputs": both}, "uint8",
             (FLOAT,) * 3, types=dict.fromkeys(range(1, 6), FLOAT), prepare=scaled)
        for both, size, states in ((False, 16 * (9 + 8) + 64, 2), (True, 32 * (9 + 12) + 128, 4))
    ),
    *(
        Case("contrib.calibrate_entropy", [(count,), (count + 1,)], entropy, {"num_quantized_bins": steps}, low=0,
             dtypes=(FLOAT,), grad=(), prepare=histogram)
        for count, steps in ((61, 15), (31, 15), (9, 3))
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
