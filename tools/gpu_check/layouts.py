# SPDX-License-Identifier: Apache-2.0
"""Channels first or last, in microseconds: the convolutions of ResNet-50 with their gradients in both orders, the
transposes between them, and training steps where graphs keep channels last, and where they do not. A line of JSON after
each. Smaller ones without a GPU."""

import json
import os
import subprocess
import sys
import time

import loomix as mx

import benchmarks

# channels, pixels of a side, filters, kernel, stride
RESNET50 = (
    (3, 224, 64, 7, 2),
    (64, 56, 64, 1, 1), (64, 56, 64, 3, 1), (64, 56, 256, 1, 1), (256, 56, 64, 1, 1), (256, 56, 128, 1, 2),
    (128, 28, 128, 3, 1), (128, 28, 512, 1, 1), (512, 28, 128, 1, 1), (512, 28, 256, 1, 2),
    (256, 14, 256, 3, 1), (256, 14, 1024, 1, 1), (1024, 14, 256, 1, 1), (1024, 14, 512, 1, 2),
    (512, 7, 512, 3, 1), (512, 7, 2048, 1, 1), (2048, 7, 512, 1, 1),
)  # fmt: skip
DEPTHWISE = ((128, 56), (512, 14))  # MobileNet's: channels, pixels
ORDERS = {"first": "NCHW", "last": "NHWC"}
SMALL = benchmarks.torch is None or not benchmarks.torch.cuda.is_available()


def shape_of(order, outer, channels, size):
    return (outer, channels, size, size) if order == "first" else (outer, size, size, channels)


def convolution(order, dtype, geometry, groups=1):
    """A convolution, and its two gradients after it."""
    channels, size, filters, kernel, stride = geometry
    x = benchmarks.ours(*shape_of(order, 2 if SMALL else 64, channels, size), dtype=dtype)
    w = benchmarks.ours(*shape_of(order, filters, channels // groups, kernel), dtype=dtype)
    attrs = {
        "kernel": (kernel,) * 2, "stride": (stride,) * 2, "pad": (kernel // 2,) * 2, "num_filter": filters,
        "num_group": groups, "no_bias": True, "layout": ORDERS[order],
    }  # fmt: skip

    def forward():
        return mx.nd.Convolution(x, w, **attrs)

    x.attach_grad()
    w.attach_grad()

    def both():
        with mx.autograd.record():
            out = forward()
        out.backward()

    return {"forward": forward, "with gradients": both}


def cases():
    dtypes = ("float16",) if SMALL else ("float16", "bfloat16", "float32")
    geometries = [(4, 8, 6, 3, 1)] if SMALL else RESNET50
    depthwise = [(4, 8)] if SMALL else DEPTHWISE
    for dtype in dtypes:
        for geometry in geometries:
            channels, size, filters, kernel, stride = geometry
            name = f"{channels} to {filters}, {kernel} x {kernel} / {stride}, {size} {dtype}"
            for order in ORDERS:
                for what, step in convolution(order, dtype, geometry).items():
                    yield f"{name}, {what}", order, step
        for channels, size in depthwise:
            for order in ORDERS:
                made = convolution(order, dtype, (channels, size, channels, 3, 1), groups=channels)
                for what, step in made.items():
                    yield f"depthwise {channels}, {size} {dtype}, {what}", order, step
        size, channels = (8, 4) if SMALL else (56, 256)
        for order, axes in (("first", (0, 2, 3, 1)), ("last", (0, 3, 1, 2))):
            x = benchmarks.ours(*shape_of(order, 2 if SMALL else 64, channels, size), dtype=dtype)
            yield (
                f"transpose of {channels}, {size} {dtype}",
                order,
                lambda x=x, a=axes: mx.nd.transpose(x, axes=a),
            )


def network_step(dtype):
    """The microseconds of a training step in this process, whose settings say what graphs may do."""
    network, images, size = ("resnet18_v1", 1, 32) if SMALL else ("resnet50_v1", 64, 224)
    if dtype != "float32":
        mx.contrib.amp.init(target_dtype=dtype)
    step = benchmarks.loomix_step(network, images=images, size=size)
    print(
        json.dumps(
            {"microseconds": round(benchmarks.timed(step, benchmarks.ours_waits, 0.01 if SMALL else 2), 1)}
        )
    )


def step_in_own_process(dtype, choose, seconds):
    environment = {**os.environ, "LOOMIX_CHOOSE_LAYOUT": choose}
    done = subprocess.run(
        [sys.executable, __file__, "step", dtype],
        env=environment, timeout=seconds, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-500:])
    return json.loads(done.stdout.splitlines()[-1])["microseconds"]


def main():
    if sys.argv[1] == "step":
        network_step(sys.argv[2])
        return 0
    end = time.monotonic() + float(sys.argv[1]) - 5
    found = {"unit": "microseconds", "wrong": 0, "times": {}}

    def note(name, order, measure):
        if time.monotonic() > end:
            return
        try:
            found["times"].setdefault(name, {})[order] = measure()
        except Exception as problem:  # the next one is measured
            found["wrong"] += 1
            found["times"].setdefault(name, {})[order] = str(problem)[-500:]
        print(json.dumps(found), flush=True)

    for dtype in ("float32",) if SMALL else ("float32", "bfloat16", "float16"):
        for order, choose in (("first", "0"), ("last", "1")):
            note(f"training step {dtype}", order,
                 lambda d=dtype, c=choose: step_in_own_process(d, c, max(1.0, end - time.monotonic())))  # fmt: skip
    for name, order, step in cases():
        note(
            name,
            order,
            lambda s=step: round(benchmarks.timed(s, benchmarks.ours_waits, 0.01 if SMALL else 0.15), 2),
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
