# SPDX-License-Identifier: Apache-2.0
"""Operators and training steps on the GPU beside PyTorch's: microseconds, medians. A line of JSON after each."""

import json
import statistics
import sys
import time

import loomix as mx
import numpy as np

try:
    import torch
except ImportError:
    torch = None

GPU = mx.gpu(0)


def ours_waits():
    mx.nd.waitall()


def torch_waits():
    torch.cuda.synchronize()


def timed(step, wait, seconds):
    """Microseconds of a step where many are under way; the median of several rounds."""
    for _ in range(3):
        step()
    wait()
    begin = time.perf_counter()
    step()
    wait()
    once = max(time.perf_counter() - begin, 1e-6)
    repeats = max(1, min(1000, int(seconds / 5 / once)))
    rounds = []
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(repeats):
            step()
        wait()
        rounds.append((time.perf_counter() - begin) / repeats * 1e6)
    return statistics.median(rounds)


def ours(*shape, dtype="float32"):
    return mx.nd.random.uniform(-1, 1, shape, ctx=mx.cpu()).astype(dtype).as_in_context(GPU)


def theirs(*shape, dtype="float32"):
    return (torch.rand(*shape, device="cuda") * 2 - 1).to(getattr(torch, dtype))


def elementwise():
    size = 1 << 26
    a, b = ours(2), ours(2)
    x, y = ours(size), ours(size)
    mine = {
        "a + b of 2 elements": lambda: a + b,
        "a + b of 64 M": lambda: x + y,
        "a * b + 1 of 64 M": lambda: x * y + 1,
        "sum of 64 M": lambda: x.sum(),
        "exp of 64 M": lambda: x.exp(),
    }
    if torch is None:
        return mine, {}
    ta, tb, tx, ty = theirs(2), theirs(2), theirs(size), theirs(size)
    return mine, {
        "a + b of 2 elements": lambda: ta + tb,
        "a + b of 64 M": lambda: tx + ty,
        "a * b + 1 of 64 M": lambda: tx * ty + 1,
        "sum of 64 M": lambda: tx.sum(),
        "exp of 64 M": lambda: tx.exp(),
    }


def rows():
    x, g, b = ours(8192, 1024), ours(1024), ours(1024)
    mine = {
        "softmax (8192, 1024)": lambda: mx.nd.softmax(x),
        "layer norm (8192, 1024)": lambda: mx.nd.LayerNorm(x, g, b),
        "transpose (8192, 1024)": lambda: x.T,
        "sum of columns (8192, 1024)": lambda: x.sum(axis=0),
    }
    if torch is None:
        return mine, {}
    tx, tg, tb = theirs(8192, 1024), theirs(1024), theirs(1024)
    return mine, {
        "softmax (8192, 1024)": lambda: torch.softmax(tx, -1),
        "layer norm (8192, 1024)": lambda: torch.nn.functional.layer_norm(tx, (1024,), tg, tb),
        "transpose (8192, 1024)": lambda: tx.T.contiguous(),
        "sum of columns (8192, 1024)": lambda: tx.sum(0),
    }


def products():
    mine, other = {}, {}
    for dtype, n in (("float32", 4096), ("float16", 8192), ("bfloat16", 8192)):
        x, y = ours(n, n, dtype=dtype), ours(n, n, dtype=dtype)
        mine[f"dot {n} {dtype}"] = lambda x=x, y=y: mx.nd.dot(x, y)
        if torch is not None:
            tx, ty = theirs(n, n, dtype=dtype), theirs(n, n, dtype=dtype)
            other[f"dot {n} {dtype}"] = lambda tx=tx, ty=ty: tx @ ty
    return mine, other


def layers():
    """Products that end with a bias, and with max(x, 0): classifiers, and the two of a transformer's block."""
    mine, other = {}, {}
    for rows, columns, hidden in (
        (64, 2048, 1000),
        (64, 25088, 4096),
        (8192, 1024, 4096),
        (8192, 4096, 1024),
    ):
        for dtype in ("float32", "float16", "bfloat16"):
            name = f"fully connected ({rows}, {columns}) to {hidden} {dtype}"
            x, w, b = (
                ours(rows, columns, dtype=dtype),
                ours(hidden, columns, dtype=dtype),
                ours(hidden, dtype=dtype),
            )
            mine[name] = lambda x=x, w=w, b=b, n=hidden: mx.nd.FullyConnected(x, w, b, num_hidden=n)
            if torch is not None:
                tx, tw, tb = (theirs(*a.shape, dtype=dtype) for a in (x, w, b))
                other[name] = lambda tx=tx, tw=tw, tb=tb: torch.nn.functional.linear(tx, tw, tb)
            rectified = mx.sym.Activation(
                mx.sym.FullyConnected(num_hidden=hidden, name="fc"), act_type="relu"
            )
            arrays = dict(zip(rectified.list_arguments(), (x, w, b), strict=True))
            executor = rectified.bind(GPU, arrays)
            mine[f"{name}, relu"] = lambda e=executor: e.forward(is_train=False)
            if torch is not None:
                other[f"{name}, relu"] = lambda tx=tx, tw=tw, tb=tb: torch.relu(
                    torch.nn.functional.linear(tx, tw, tb)
                )
    return mine, other


def convolutions():
    mine, other = {}, {}
    for n, c, size, filters, kernel, stride in (
        (64, 3, 224, 64, 7, 2), (64, 64, 56, 64, 3, 1), (64, 256, 14, 256, 3, 1), (64, 1024, 14, 512, 1, 2),
    ):  # fmt: skip
        for dtype in ("float32", "float16"):
            name = f"convolution {c} to {filters}, {kernel} x {kernel}, {size} {dtype}"
            x, w = ours(n, c, size, size, dtype=dtype), ours(filters, c, kernel, kernel, dtype=dtype)
            attrs = {
                "kernel": (kernel, kernel),
                "stride": (stride, stride),
                "pad": (kernel // 2, kernel // 2),
            }
            mine[name] = lambda x=x, w=w, a=attrs, f=filters: mx.nd.Convolution(
                x, w, num_filter=f, no_bias=True, **a
            )
            if torch is not None:
                tx, tw = (
                    theirs(n, c, size, size, dtype=dtype),
                    theirs(filters, c, kernel, kernel, dtype=dtype),
                )
                other[name] = lambda tx=tx, tw=tw, s=stride, k=kernel: torch.nn.functional.conv2d(
                    tx, tw, stride=s, padding=k // 2
                )
    return mine, other


def networks():
    mine, other = {}, {}
    for name in ("alexnet", "resnet50_v1", "vgg16"):
        mine[f"training step, {name}, 64 images"] = loomix_step(name)
        if torch is not None:
            import torchvision

            model = getattr(torchvision.models, name.removesuffix("_v1"))()
            other[f"training step, {name}, 64 images"] = torch_step(model)
    return mine, other


def loomix_step(name, images=64, size=224):
    from loomix import gluon

    net = getattr(gluon.model_zoo.vision, name)(classes=1000)
    net.initialize(mx.init.Xavier(), ctx=mx.cpu())
    net(mx.nd.zeros((1, 3, 224, 224), ctx=mx.cpu()))
    net.collect_params().reset_ctx(GPU)
    net.hybridize(static_alloc=True, static_shape=True)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
    data = ours(images, 3, size, size)
    labels = mx.nd.array(np.random.randint(0, 1000, images), ctx=GPU)

    def step():
        with mx.autograd.record():
            values = loss(net(data), labels)
        values.backward()
        trainer.step(images)

    return step


def torch_step(model):
    torch.backends.cuda.matmul.allow_tf32 = False
    model = model.cuda().train()
    loss = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = theirs(64, 3, 224, 224)
    labels = torch.randint(0, 1000, (64,), device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss(model(images), labels).backward()
        optimizer.step()

    return step


def main():
    end = time.monotonic() + float(sys.argv[1]) - 5
    found = {"unit": "microseconds", "torch": torch.__version__ if torch else None, "times": {}}
    for group in (elementwise, rows, products, layers, convolutions, networks):
        try:
            mine, other = group()
        except Exception as problem:  # the next group is measured
            found["times"][group.__name__] = str(problem)[:500]
            print(json.dumps(found), flush=True)
            continue
        for name, step in mine.items():
            if time.monotonic() > end:
                break
            try:
                seconds = 2 if group is networks else 0.5
                found["times"][name] = {"loomix": round(timed(step, ours_waits, seconds), 2)}
                if name in other:
                    found["times"][name]["torch"] = round(timed(other[name], torch_waits, seconds), 2)
            except Exception as problem:  # the next one is measured
                found["times"][name] = str(problem)[:500]
            print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
