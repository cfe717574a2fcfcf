# SPDX-License-Identifier: Apache-2.0
"""Writes quantized.npz: MXNet 1.9.1's operators of 8 bits on random data. Run by MXNet's own Python.

python make_quantized.py [SEED FILE]"""

import sys
from pathlib import Path

import mxnet as mx
import numpy as np

seed, path = sys.argv[1:] or (5, Path(__file__).with_name("quantized.npz"))
random = np.random.RandomState(int(seed))
C, ends = mx.nd.contrib, (-1.3, 2.1, -0.4, 0.5, -0.9, 0.8)


def real(*shape):
    return random.randn(*shape).astype(np.float32)


def whole(dtype, *shape):
    return random.randint(-127 if dtype == "int8" else 0, 128 if dtype == "int8" else 256, shape).astype(
        dtype
    )


def ranges(count):
    return [np.array([end], np.float32) for end in ends[: 2 * count]]


CASES = {}
for kind in ("int8", "uint8"):
    CASES[f"quantize {kind}"] = ("quantize", [real(3, 40), *ranges(1)], {"out_type": kind})
    CASES[f"dequantize {kind}"] = ("dequantize", [whole(kind, 3, 40), *ranges(1)], {})
    image = whole(kind, 2, 3, 7, 6)
    for pool in ("max", "avg"):
        CASES[f"pooling {pool} {kind}"] = (
            "quantized_pooling",
            [image, *ranges(1)],
            {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 0), "pool_type": pool},
        )
    CASES[f"flatten {kind}"] = ("quantized_flatten", [image, *ranges(1)], {})
    CASES[f"fully_connected {kind}"] = (
        "quantized_fully_connected",
        [whole(kind, 4, 30), whole("int8", 5, 30), *ranges(2)],
        {"num_hidden": 5, "no_bias": True},
    )
    CASES[f"fully_connected bias {kind}"] = (
        "quantized_fully_connected",
        [whole(kind, 4, 30), whole("int8", 5, 30), whole("int8", 5), *ranges(3)],
        {"num_hidden": 5},
    )
    for other in ("int8", "uint8"):
        pair = [whole(kind, 4, 9), whole(other, 4, 9), *ranges(2)]
        CASES[f"add calibrated {kind} {other}"] = (
            "quantized_elemwise_add",
            pair,
            {"min_calib_range": -2.0, "max_calib_range": 2.2},
        )
        arrays = [whole(kind, 2, 3, 4, 2), whole(other, 2, 2, 4, 2)]
        CASES[f"concat {kind} {other}"] = (
            "quantized_concat",
            [*arrays, *ranges(2)],
            {"num_args": 2, "dim": 1},
        )
    CASES[f"add {kind}"] = ("quantized_elemwise_add", [whole(kind, 4, 9), whole(kind, 4, 9), *ranges(2)], {})
for kind in ("int8", "uint8", "auto"):
    for low in (None, -1.5, 0.0):
        more = {} if low is None else {"min_calib_range": low, "max_calib_range": 1.9}
        CASES[f"quantize_v2 {kind} {low}"] = ("quantize_v2", [real(3, 40)], {"out_type": kind, **more})
        sums = random.randint(-(2**20), 2**20, (3, 40)).astype(np.int32)
        wide = [np.array([-2000.0], np.float32), np.array([2000.0], np.float32)]
        CASES[f"requantize {kind} {low}"] = ("requantize", [sums, *wide], {"out_type": kind, **more})
CASES["act"] = ("quantized_act", [whole("int8", 2, 3, 4, 4), *ranges(1)], {"act_type": "relu"})
CASES["conv"] = (
    "quantized_conv",
    [whole("uint8", 2, 4, 7, 6), whole("int8", 5, 4, 3, 2), *ranges(2)],
    {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 1), "num_filter": 5, "no_bias": True},
)
CASES["batch_norm"] = (
    "quantized_batch_norm",
    [whole("int8", 2, 3, 4, 2), *(real(3) for _ in range(3)), np.abs(real(3)) + 0.5, *ranges(1)],
    {"fix_gamma": False, "min_calib_range": -4.0, "max_calib_range": 4.5},
)
CASES["embedding"] = (
    "quantized_embedding",
    [np.array([0, 5, 3, -1, 9], np.float32), whole("int8", 6, 4), *ranges(1)],
    {"input_dim": 6, "output_dim": 4},
)
for bins, steps in ((801, 255), (1001, 511)):
    values = real(20000)
    end = np.abs(values).max()
    counts, edges = np.histogram(values, bins=bins, range=(-end, end))
    CASES[f"entropy {steps}"] = (
        "calibrate_entropy",
        [counts.astype(np.float32), edges.astype(np.float32)],
        {"num_quantized_bins": steps},
    )

saved = {}
for name, (operator, inputs, attrs) in CASES.items():
    # mx.nd.array makes float32 of everything.
    outputs = getattr(C, operator)(*(mx.nd.array(x, dtype=x.dtype) for x in inputs), **attrs)
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    saved[f"{name}:attrs"] = np.array(repr((operator, attrs)))
    saved.update({f"{name}:in{i}": x for i, x in enumerate(inputs)})
    saved.update({f"{name}:out{i}": x.asnumpy() for i, x in enumerate(outputs)})
np.savez_compressed(path, **saved)
