# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix links``: measures what lies between the ranks of a job."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

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
    for _rank, here, size, one_way, both_ways in _parallel.link_times(given.bytes):
        medium = f"{_parallel.kind()}, {'one machine' if here else 'two machines'}"
        for times, seconds in ((one, one_way), (both, both_ways)):
            of_medium = times.setdefault(medium, {})
            of_medium[size] = min(seconds, of_medium.get(size, seconds))
    if parallel.rank() == 0:
        print(table("Table I. One message at a time", given.bytes, one, 1), end="\n\n")
        print(table("Table II. One message each way at the same time", given.bytes, both, 2))
    return 0
