# SPDX-License-Identifier: Apache-2.0
"""The real library's answer to each geometry of the networks' convolutions, with a bias, and with max(x, 0) after it:
every type, channels first and last, beside the host's sums. A line of JSON after each network. Smaller ones without a
GPU."""

import json
import sys
import time

import loomix as mx
import numpy as np
from layouts import ORDERS, RESNET50, SMALL

# channels, pixels of a side, filters, kernel, stride, groups
NETWORKS = {
    "ResNet-50": [(*geometry, 1) for geometry in RESNET50],
    "AlexNet": [(3, 224, 64, 11, 4, 1), (64, 27, 192, 5, 1, 1), (192, 13, 384, 3, 1, 1), (384, 13, 256, 3, 1, 1)],
    "VGG-16": [(3, 224, 64, 3, 1, 1), (64, 224, 64, 3, 1, 1), (128, 112, 128, 3, 1, 1), (256, 56, 256, 3, 1, 1),
               (512, 28, 512, 3, 1, 1)],
    "GoogLeNet": [(192, 28, 16, 1, 1, 1), (16, 28, 32, 5, 1, 1), (480, 14, 208, 3, 1, 1), (832, 7, 128, 1, 1, 1)],
    "MobileNet": [(32, 112, 32, 3, 1, 32), (64, 112, 64, 3, 2, 64), (512, 14, 512, 3, 1, 512)],
    "ResNeXt": [(128, 56, 128, 3, 1, 32), (512, 14, 512, 3, 1, 32)],
}  # fmt: skip
# The worst error beside the largest result: the last bits of results, or of factors (TF32).
ERRORS = {"float32": 2e-3, "float16": 2e-3, "bfloat16": 1e-2}
random = np.random.RandomState(0)


def arrays_of(geometry, dtype):
    """Data, weight and bias, as numbers of the type."""
    channels, size, filters, kernel, _, groups = geometry
    shapes = ((2, channels, size, size), (filters, channels // groups, kernel, kernel), (filters,))
    rounded = (mx.nd.array(random.uniform(-1, 1, shape)).astype(dtype) for shape in shapes)
    return [x.astype("float32") for x in rounded]


def convolve(arrays, geometry, order="first"):
    """Of the operator alone, and of one that a bound graph ends with max(x, 0)."""
    _, _, filters, kernel, stride, groups = geometry
    attributes = {
        "kernel": (kernel,) * 2, "stride": (stride,) * 2, "pad": (kernel // 2,) * 2, "num_filter": filters,
        "num_group": groups, "layout": ORDERS[order],
    }  # fmt: skip
    names = ("data", "weight", "bias")
    layer = mx.sym.relu(mx.sym.Convolution(*map(mx.sym.Variable, names), **attributes))
    bound = layer.bind(arrays[0].context, dict(zip(names, arrays, strict=True)), grad_req="null")
    return mx.nd.Convolution(*arrays, **attributes), bound.forward(is_train=False)[0]


def error(geometry, dtype, order):
    """Of the GPU's results, beside the largest of the host's."""
    on_host = arrays_of(geometry, dtype)
    wanted = convolve(on_host, geometry)
    given = (
        on_host if order == "first" else [x.transpose((0, 2, 3, 1)) if x.ndim == 4 else x for x in on_host]
    )
    there = [x.as_in_context(mx.gpu(0)).astype(dtype) for x in given]
    worst = 0.0
    for got, want in zip(convolve(there, geometry, order), wanted, strict=True):
        got, want = got.astype("float32").asnumpy(), want.asnumpy()
        if order == "last":
            got = got.transpose((0, 3, 1, 2))
        worst = max(worst, float(np.abs(got - want).max() / np.abs(want).max()))
    return worst


def main():
    end = time.monotonic() + float(sys.argv[1]) - 5
    found = {"ok": 0, "wrong": 0, "not reached": 0, "bad": {}, "worst errors": {}}
    networks = {"small": [(4, 9, 6, 3, 1, 1), (4, 8, 6, 1, 2, 2)]} if SMALL else NETWORKS
    for network, geometries in networks.items():
        for geometry in geometries:
            for dtype, most in ERRORS.items():
                for order in ORDERS:
                    if time.monotonic() > end:
                        found["not reached"] += 1
                        continue
                    try:
                        worst = error(geometry, dtype, order)
                        problem = "" if worst <= most else f"off by {worst:.1e} of the largest result"
                        found["worst errors"][dtype] = max(worst, found["worst errors"].get(dtype, 0))
                    except Exception as refused:  # the next one is asked
                        problem = str(refused)[:300]
                    found["wrong" if problem else "ok"] += 1
                    if problem:
                        found["bad"][f"{network} {geometry} {dtype} channels {order}"] = problem
        print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
