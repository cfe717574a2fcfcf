# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix links``: measures what lies between the ranks of a job."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence

from .._files import write_whole

SIZES = [8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 2 << 20, 16 << 20, 64 << 20]


def text_of(size: int) -> str:
    """Bytes as people write them."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def table(title: str, sizes: Sequence[int], seconds: dict[str, dict[int, float]], bytes_of: int) -> str:
    """A row for each size; of each medium microseconds a message and megabytes a second."""
    lines = [title, "", f"{'message':>10}" + "".join(f"{name:>30}" for name in seconds)]
    lines.append(" " * 10 + f"{'us':>15}{'MB/s':>15}" * len(seconds))
    for size in sizes:
        line = f"{text_of(size):>10}"
        for taken in seconds.values():
            line += f"{taken[size] * 1e6:>15.1f}{bytes_of * size / taken[size] / 1e6:>15.4g}"
        lines.append(line)
    return "\n".join(lines)


def speed_of_products(size: int = 1024) -> float:
    """Operations a second of this rank, while all multiply: the fastest of some products."""
    from .. import nd, parallel

    a = nd.ones((size, size))
    best = float("inf")
    for _ in range(5):
        parallel.barrier()
        begin = time.perf_counter()
        nd.dot(a, a).wait_to_read()
        best = min(best, time.perf_counter() - begin)
    return 2.0 * size**3 / best


def write_links(path: str, times: Sequence[tuple[int, bool, int, float, float]], flops: float) -> None:
    """What parallel.load_links reads: of the slowest pair."""
    shortest, longest = min(one[2] for one in times), max(one[2] for one in times)
    links = {
        "bytes_per_second": min(size / both for *_, size, _one, both in times if size == longest),
        "latency": max(one for *_, size, one, _both in times if size == shortest),
        "flops": flops,
    }

    def write(name: str) -> None:
        with open(name, "w", encoding="utf-8") as file:
            json.dump(links, file, indent=1)

    write_whole(path, write)


def main(_: str, arguments: Sequence[str]) -> int:
    """Runs ``links`` with these arguments; its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m loomix links",
        description="Measures messages between rank 0 and each other rank; run it as all ranks of a job: "
        "`mpirun -n 2 python -m loomix links`, or under torchrun. Of each medium the fastest pair counts.",
    )
    parser.add_argument(
        "--bytes", type=int, nargs="+", default=SIZES, help="lengths of messages (8 B to 64 MiB)"
    )
    parser.add_argument(
        "--file",
        help="writes what mx.parallel.load_links reads: speed with the longest messages, both ways, and time of the "
        "shortest one, of the slowest pairs; speed of products on rank 0 while all multiply",
    )
    given = parser.parse_args(arguments)
    if any(size <= 0 for size in given.bytes):
        parser.error(f"--bytes has {min(given.bytes)}; expected sizes above 0")
    from .. import _parallel, parallel

    if parallel.size() < 2:
        parser.error(
            "this process is a job of one rank; run it as at least two: mpirun -n 2 python -m loomix links"
        )
    one: dict[str, dict[int, float]] = {}
    both: dict[str, dict[int, float]] = {}
    found = _parallel.link_times(given.bytes)
    flops = speed_of_products() if given.file else 0.0
    for _rank, here, size, one_way, both_ways in found:
        medium = f"{_parallel.kind()}, {'one machine' if here else 'two machines'}"
        for times, seconds in ((one, one_way), (both, both_ways)):
            of_medium = times.setdefault(medium, {})
            of_medium[size] = min(seconds, of_medium.get(size, seconds))
    if parallel.rank() == 0:
        print(table("Table I. One message at a time", given.bytes, one, 1), end="\n\n")
        print(table("Table II. One message each way at the same time", given.bytes, both, 2))
        if given.file:
            write_links(given.file, found, flops)
    return 0
