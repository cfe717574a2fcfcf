# SPDX-License-Identifier: Apache-2.0
"""Finds the limits of ops/limits.h on this machine. Those of products and loops on several cores are bench_limits's.

    python benchmarks/limits.py                      # all limits, at the processor's level of instructions
    LOOMIX_MAX_CPU_ISA=avx2 python benchmarks/limits.py fused_block streamed

Most are fractions of the processor's caches. For each of them, workers that differ in nothing but the size of that
cache that they are told run the cases that it decides, in turns. A line is one case: how long it takes with the size
that the processor has, and with others, as multiples of the fastest. The last line of a limit has the geometric
means; a fraction is right where its least is at 1.

The others lie between two algorithms of convolution, which run the same cases, smallest first: a limit is right where
`direct` begins to be the faster one.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the size that the processor has


def processor_caches():
    """Bytes of the first, second and last cache, as base/cpu_caches.cc reads them."""
    by_level = {}
    for index in sorted(FOLDER.glob("index*")):
        if (index / "type").read_text().strip() != "Instruction":
            by_level[int((index / "level").read_text())] = (
                int((index / "size").read_text().strip("K\n")) << 10
            )
    return [by_level[1], by_level[2], by_level[max(by_level)]]


def _fused(mx, size, steps):
    a, b, c = (mx.sym.var(name) for name in "abc")
    net = a * b + c
    for i in range(steps - 2):
        net = (mx.sym.maximum(net, a), net * b, net - c)[i % 3]
    executor = net.bind(mx.cpu(), {name: mx.nd.ones(size) for name in "abc"}, grad_req="null")

    def run():
        executor.forward()[0].wait_to_read()

    return run


def _with_reader(mx, size):
    """A pass that writes, and a sum that reads what it wrote."""
    net = mx.sym.sum(mx.sym.stop_gradient(mx.sym.var("a") * mx.sym.var("b")).reshape((-1, 64)), axis=0)
    executor = net.bind(mx.cpu(), {name: mx.nd.ones(size) for name in "ab"}, grad_req="null")

    def run():
        executor.forward()[0].wait_to_read()

    return run


def _dense(mx, rows, depth, hidden):
    data, weight = mx.nd.ones((rows, depth)), mx.nd.ones((hidden, depth))

    def run():
        mx.nd.FullyConnected(data, weight, no_bias=True, num_hidden=hidden).wait_to_read()

    return run


def _weight_gradient(mx, batch, channels, image):
    net = mx.sym.Convolution(
        mx.sym.var("data"), kernel=(3, 3), pad=(1, 1), num_filter=channels, no_bias=True, name="c"
    )
    executor = net.simple_bind(
        mx.cpu(), data=(batch, channels, image, image), grad_req={"data": "null", "c_weight": "write"}
    )
    head = mx.nd.ones((batch, channels, image, image))

    def run():
        executor.forward(is_train=True)
        executor.backward(head)
        executor.grad_dict["c_weight"].wait_to_read()

    return run


def _convolution(mx, batch, channels, filters, image, kernel):
    data = mx.nd.ones((batch, channels, image, image))
    weight = mx.nd.ones((filters, channels, kernel, kernel))
    options = {"kernel": (kernel, kernel), "pad": (kernel // 2, kernel // 2), "num_filter": filters}

    def run():
        mx.nd.Convolution(data, weight, no_bias=True, **options).wait_to_read()

    return run


def _cases(text, make, *arguments):
    return {text.format(*values): (make, *values) for values in arguments}


# By limit: which cache it is a fraction of, or None where it lies between algorithms, and cases around it.
LIMITS = {
    "fused_block": (
        0,
        _cases(
            "{} floats, {} steps",
            _fused,
            *((size, steps) for steps in (3, 6, 12) for size in (1 << 14, 1 << 20)),
        ),
    ),
    "streamed": (
        2,
        _cases("{} floats, {} steps", _fused, *((1 << power, 3) for power in (20, 21, 22, 24)))
        | _cases("{} floats and their reader", _with_reader, *((1 << power,) for power in (21, 22, 23))),
    ),
    "kept_weight": (
        2,
        _cases(
            "{} rows, {} x {}", _dense, *((rows, side, side) for rows in (4, 8) for side in (512, 1024, 2048))
        ),
    ),
    "panel_depth": (
        1,
        _cases(
            "{} rows, {} x {}",
            _dense,
            *((rows, deep, 1024) for rows in (16, 64) for deep in (512, 2048, 8192)),
        ),
    ),
    "winograd_sums": (
        1,
        _cases(
            "{0} x {1} x {2} x {2}", _weight_gradient, (16, 256, 14), (8, 512, 14), (8, 512, 28), (32, 512, 7)
        ),
    ),
    "pointwise_weights": (
        None,
        _cases(
            "{1} to {2} channels, {0} x {3} x {3}",
            _convolution,
            *((8, side, side, image, 1) for side in (32, 64, 90, 128, 192) for image in (14, 28)),
        ),
    ),
    "primitive_flops": (
        None,
        _cases(
            "gradients, {0} x {1} x {2} x {2}",
            _weight_gradient,
            *((1, 8, 7), (1, 8, 14), (1, 16, 14), (2, 32, 14)),
        ),
    ),
    "one_core_flops": (
        None,
        _cases(
            "{1} to {2} channels, {3} x {3}",
            _convolution,
            *(
                (1, channels, channels, image, 3)
                for channels, image in ((16, 7), (16, 14), (32, 7), (32, 14), (64, 7), (32, 28), (64, 28))
            ),
        ),
    ),
}


def worker(limit, case):
    """Times the case on command, as harness.serve does."""
    import loomix as mx

    make, *arguments = LIMITS[limit][1][case]
    run = make(mx, *arguments)
    for _ in range(5):
        run()
    print("ready", flush=True)
    for line in sys.stdin:
        count = int(line)
        start = time.perf_counter()
        for _ in range(count):
            run()
        print((time.perf_counter() - start) / count, flush=True)


def variants(place):
    """What the environment of each worker has, by the name of its column."""
    if place is None:
        return {algorithm: {"LOOMIX_CONV_ALGO": algorithm} for algorithm in ("gemm", "direct")}
    found = {}
    for factor in FACTORS:
        caches = processor_caches()
        caches[place] = int(caches[place] * factor)
        if place < 2 and caches[place] > caches[place + 1] or place > 0 and caches[place] < caches[place - 1]:
            continue
        found[factor] = {"LOOMIX_CACHE_SIZES": ",".join(f"{size >> 10}K" for size in caches)}
    return found


def start(limit, case, environment):
    process = subprocess.Popen(
        [sys.executable, __file__, "--worker", limit, case],
        env=os.environ | environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    if process.stdout.readline() != "ready\n":
        raise SystemExit(f"the worker for {case} did not start")
    return process


def ask(process, count):
    process.stdin.write(f"{count}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def measure(limit, case, rounds, seconds):
    """Milliseconds of the case by variant."""
    workers = {name: start(limit, case, change) for name, change in variants(LIMITS[limit][0]).items()}
    some = workers.get(1.0) or next(iter(workers.values()))
    count = max(1, int(seconds / max(ask(some, 2), 1e-7)))
    times = {name: [] for name in workers}
    for _ in range(rounds):
        for name, process in workers.items():
            times[name].append(ask(process, count))
    for process in workers.values():
        process.stdin.close()
        process.wait()
    return {name: statistics.median(taken) * 1e3 for name, taken in times.items()}


def show(limit, rounds, seconds):
    place, cases = LIMITS[limit]
    names = list(FACTORS) if place is not None else list(variants(None))
    by = "algorithm" if place is None else f"factors of the {('first', 'second', 'last')[place]} cache's size"
    print(f"\n{limit}, by {by}")
    print(f"{'':34}" + "".join(f"{name:>8}" for name in names))
    ratios = {name: [] for name in names}
    for case in cases:
        taken = measure(limit, case, rounds, seconds)
        fastest = min(taken.values())
        for name, ms in taken.items():
            ratios[name].append(ms / fastest)
        cells = "".join(f"{taken[n] / fastest:8.2f}" if n in taken else f"{'-':>8}" for n in names)
        print(f"  {case:32}{cells}   ({fastest:.3g} ms)", flush=True)
    means = (statistics.geometric_mean(ratios[n]) if ratios[n] else None for n in names)
    cells = "".join(f"{'-':>8}" if mean is None else f"{mean:8.2f}" for mean in means)
    print(f"  {'geometric mean':32}{cells}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("limits", nargs="*", metavar="limit", help=f"default: all ({', '.join(LIMITS)})")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of one turn")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return worker(*args.worker)
    unknown = set(args.limits) - set(LIMITS)
    if unknown:
        parser.error(f"no limits: {', '.join(sorted(unknown))}; there are {', '.join(LIMITS)}")
    print("caches of", ", ".join(f"{size >> 10} KiB" for size in processor_caches()))
    for limit in args.limits or LIMITS:
        show(limit, args.rounds, args.seconds)
    return None


if __name__ == "__main__":
    sys.exit(main())
