# SPDX-License-Identifier: Apache-2.0
"""What the GPU does in training steps of ResNet-50: how long it waits between kernels, and which take longest.

PyTorch's profiler sees every kernel of a process, ours, too. Our own sees operators and captured graphs, which should
fill as much of the time, and as many kernels in them (none where CUPTI is missing or refuses). Where PyTorch is
missing, or knows no GPU, only that is told, for a smaller network. A line of JSON.
"""

import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import loomix as mx

import benchmarks

STEPS = 5


def summary(events):
    """Of (begin, microseconds, name), which may overlap."""
    spent, count = defaultdict(float), defaultdict(int)
    busy, end = 0.0, None
    for begin, duration, name in sorted(events):
        spent[name] += duration
        count[name] += 1
        busy += max(0.0, begin + duration - max(begin, end if end is not None else begin))
        end = max(end or 0.0, begin + duration)
    if not events:
        return {"wrong": 1, "why": "nothing was seen"}
    whole = end - min(begin for begin, _, _ in events)
    longest = sorted(spent, key=spent.get, reverse=True)[:10]
    return {
        "wrong": 0,
        "microseconds a step": round(whole / STEPS, 1),
        "idle a step": round((whole - busy) / STEPS, 1),
        "busy": round(busy / whole, 4) if whole else 1,
        "kernels a step": round(len(events) / STEPS, 1),
        "longest": [
            {
                "name": name[:160],
                "microseconds a step": round(spent[name] / STEPS, 1),
                "times": count[name] / STEPS,
            }
            for name in longest
        ],
    }


def of_trace(file, wanted):
    """The complete events of a trace of the wanted categories."""
    trace = json.loads(Path(file).read_text())
    return [
        (event["ts"], event["dur"], event["name"])
        for event in trace["traceEvents"]
        if event.get("ph") == "X" and event.get("cat") in wanted
    ]


def run_steps(step):
    for _ in range(STEPS):
        step()
    mx.nd.waitall()


def by_torch(step, file):
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        run_steps(step)
    seen.export_chrome_trace(str(file))
    return of_trace(file, ("kernel", "gpu_memcpy", "gpu_memset"))


def by_loomix(step, file):
    mx.profiler.set_config(profile_all=True, filename=str(file))
    mx.profiler.set_state("run")
    run_steps(step)
    mx.profiler.dump()
    return of_trace(file, ("device",)), of_trace(file, ("kernel", "copy", "fill"))


def main():
    on_device = benchmarks.torch is not None and benchmarks.torch.cuda.is_available()
    network, images, size = ("resnet50_v1", 64, 224) if on_device else ("resnet18_v1", 1, 32)
    step = benchmarks.loomix_step(network, images=images, size=size)
    for _ in range(4):  # kernels are chosen and compiled, and the third run captures
        step()
    mx.nd.waitall()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        own, own_kernels = by_loomix(step, file)
        events = by_torch(step, file) if on_device else own
    found = {
        "network": network,
        "images": images,
        "pixels": size,
        "by": "kernels" if on_device else "operators",
        "operators busy": summary(own).get("busy"),
        "kernels a step, by our profiler": round(len(own_kernels) / STEPS, 1),
    }
    print(json.dumps({**found, **summary(events)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
