#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long it takes to bind graphs of up to 100,000 nodes, and what they plan: a table, and a picture with --svg.

    python tools/bind_figure.py --svg docs/bind_times.svg

The graphs are residual units on 64 x 32 numbers: FullyConnected, a sum, ReLU. A time is that of `simple_bind` and of
compiling for the first pass, which is that pass's time without a second one's.
"""

import argparse
import math
import sys
import time
from pathlib import Path

import loomix as mx

SIZES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
COLOURS = {"prediction": "#1f5fa8", "training": "#e9a75b"}
ALLOWED_SECONDS = 5
FEW = 10_000  # nodes, up to which the median of several turns counts


def residual_units(nodes):
    """A graph of about so many nodes."""
    net, weight = mx.sym.Variable("data"), mx.sym.Variable("weight")
    for _ in range(nodes // 3):
        branch = mx.sym.FullyConnected(net, weight, num_hidden=32, no_bias=True)
        net = mx.sym.Activation(branch + net, act_type="relu")
    return net


def measure(nodes, training):
    """Nodes of the compiled graph, seconds, planned bytes, their lower bound, and bytes without sharing."""
    # A training graph has the gradients' nodes, too.
    symbol = residual_units(nodes * 3 // 7 if training else nodes)
    head = mx.nd.ones((64, 32))

    def timed():
        begin = time.perf_counter()
        executor = symbol.simple_bind(mx.cpu(), grad_req="write" if training else "null", data=(64, 32))
        seconds = [begin]
        for _ in range(2):
            executor.forward(is_train=training)
            if training:
                executor.backward(head)
            mx.nd.waitall()
            seconds.append(time.perf_counter())
        return (seconds[1] - seconds[0]) - (seconds[2] - seconds[1]), executor

    turns = [timed() for _ in range(1 if nodes > FEW else 5)]
    seconds, executor = sorted(turns, key=lambda turn: turn[0])[len(turns) // 2]
    made = executor.explain()
    counted = max(max(note.before, note.after) for note in made.passes)
    return counted, seconds, made.planned, made.lower_bound, made.naive


def table(rows):
    """The rows in Markdown."""
    lines = [
        "| nodes | for | seconds | memory beside its lower bound | beside no sharing |",
        "|---|---|---|---|---|",
    ]
    for kind, nodes, seconds, planned, bound, naive in rows:
        lines.append(
            f"| {nodes:,} | {kind} | {seconds:.3f} | {planned / bound:.2f} x | 1 / {naive / planned:,.1f} |"
        )
    return "\n".join(lines)


def picture(rows):
    """Seconds over nodes, both by powers of ten, as SVG."""
    left, top, width, height = 70, 40, 520, 300
    low, high = 0.001, 10.0
    most = max(row[1] for row in rows)

    def x(nodes):
        return left + width * math.log10(nodes / 100) / math.log10(most / 100)

    def y(seconds):
        return top + height * math.log10(high / max(seconds, low)) / math.log10(high / low)

    parts = []
    for exponent in range(-3, 2):
        at = y(10.0**exponent)
        parts.append(f'<line x1="{left}" y1="{at:.1f}" x2="{left + width}" y2="{at:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{10.0**exponent:g} s</text>')
    for exponent in range(2, int(math.log10(most)) + 1):
        parts.append(
            f'<text x="{x(10**exponent):.1f}" y="{top + height + 18}" text-anchor="middle">{10**exponent:,}</text>'
        )
    at = y(ALLOWED_SECONDS)
    parts.append(
        f'<line x1="{left}" y1="{at:.1f}" x2="{left + width}" y2="{at:.1f}" stroke="#c33" stroke-dasharray="4 3"/>'
        f'<text x="{left + 6}" y="{at - 5:.1f}" fill="#c33">{ALLOWED_SECONDS} s</text>'
    )
    for number, (kind, colour) in enumerate(COLOURS.items()):
        points = [(x(row[1]), y(row[2])) for row in rows if row[0] == kind]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in points]
        parts.append(
            f'<rect x="{left + 330 + 100 * number}" y="14" width="11" height="11" fill="{colour}"/>'
            f'<text x="{left + 346 + 100 * number}" y="24">{kind}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{top + height + 50}" font-family="sans-serif" '
        f'font-size="12"><rect width="640" height="{top + height + 50}" fill="white"/>'
        '<text x="10" y="24" font-weight="bold">Time to bind, over nodes of the graph</text>\n'
        + "\n".join(parts)
        + f'\n<text x="{left + width / 2}" y="{top + height + 38}" text-anchor="middle">nodes</text>\n</svg>\n'
    )


def main(arguments=None):
    """Prints the table; writes the picture if it is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--most", type=int, default=SIZES[-1], help="nodes of the largest graph")
    parser.add_argument("--svg", type=Path, help="where the picture goes")
    options = parser.parse_args(arguments)
    rows = []
    measure(SIZES[0], True)  # loads libraries
    for kind in COLOURS:
        for nodes in SIZES:
            if nodes <= options.most:
                rows.append((kind, *measure(nodes, kind == "training")))
    print(table(rows))
    if options.svg:
        options.svg.write_text(picture(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
