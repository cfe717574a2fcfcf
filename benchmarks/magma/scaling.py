# SPDX-License-Identifier: Apache-2.0
"""What an epoch of the MLP takes by more machines than we have: 600 steps of 100 samples are divided among them, and
each is followed by a round of the parameter server or an all-reduce, as benchmarks/comm/scaling.py simulates them.
Nothing overlaps.

python benchmarks/magma/scaling.py --epoch SECONDS [--svg FILE]    of one process, by compare.py --processes
"""

import argparse
import sys
from math import log2
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "comm"))
from scaling import Machine, all_reduce, simulate

STEPS = 600
MACHINES = (1, 2, 4, 8, 16, 32, 64)
LINKS = {
    gigabits: Machine(rate=gigabits * 1e9 / 8 * 0.95, latency=80e-6, byte_work=0.44e-9)
    for gigabits in (10, 100)
}
KEYS = [
    4 * 10,
    4 * 10 * 500,
    4 * 500,
    4 * 500 * 784,
]  # bytes of gradients with one hidden layer, the last layer first


def epochs(epoch):
    """Seconds an epoch by the number of machines, for each way."""
    found = {}
    for gigabits, machine in LINKS.items():
        for name in ("parameter server", "all-reduce"):
            times = []
            for count in MACHINES:
                exchange = 0.0
                if count > 1:
                    exchange = (
                        simulate(KEYS, count, count, machine)
                        if name == "parameter server"
                        else all_reduce(KEYS, count, machine)
                    )
                times.append(STEPS / count * (epoch / STEPS + exchange))
            found[f"{name}, {gigabits} Gbit/s"] = times
    return found


def draw(path, found, epoch):
    """How many times as fast, over machines, both logarithmic."""
    colours = ("#1f5fa8", "#c0504d", "#7fb2e5", "#e6a5a3")
    place = {count: 60 + 80 * i for i, count in enumerate(MACHINES)}

    def at(count, times):
        return f"{place[count]},{300 - 45 * log2(max(times, 0.5)):.1f}"

    parts = []
    for count in MACHINES:
        parts.append(f'<text x="{place[count]}" y="345" text-anchor="middle">{count}</text>')
        parts.append(f'<text x="50" y="{304 - 45 * MACHINES.index(count)}" text-anchor="end">{count}x</text>')
    ideal = " ".join(at(count, count) for count in MACHINES)
    parts.append(f'<polyline points="{ideal}" fill="none" stroke="#aaa" stroke-dasharray="4"/>')
    for i, (name, times) in enumerate(found.items()):
        line = " ".join(at(count, epoch / seconds) for count, seconds in zip(MACHINES, times, strict=True))
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colours[i]}" stroke-width="2"/>')
        parts.append(f'<text x="70" y="{30 + 16 * i}" fill="{colours[i]}">{name}</text>')
    path.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 355" font-family="sans-serif" font-size="12">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epoch", type=float, required=True, help="seconds of one process")
    parser.add_argument("--svg", type=Path)
    given = parser.parse_args()
    found = epochs(given.epoch)
    print("| machines | " + " | ".join(str(count) for count in MACHINES) + " |")
    print("|---" * (1 + len(MACHINES)) + "|")
    for name, times in found.items():
        print(f"| {name} | " + " | ".join(f"{seconds:.3f}" for seconds in times) + " |")
    if given.svg:
        draw(given.svg, found, given.epoch)


if __name__ == "__main__":
    main()
