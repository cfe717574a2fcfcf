# SPDX-License-Identifier: Apache-2.0
"""Products and networks on 1 to 64 ranks, by the model: bytes by the code that `explain` uses, times by the links.

    mpirun -n 4 python -m loomix links --file links.json
    python benchmarks/linalg/scaling.py --links links.json --svg docs/parallel_scaling.svg

One process is enough: nothing runs. Without --links it takes links of 6 GB/s and 5 us, and ranks of 4 TFLOP/s: about
InfiniBand FDR, and a GPU of 2015 a rank.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import loomix as mx
from loomix import _parallel
from loomix.parallel import Layout
from loomix.parallel.split_pass import moves_of

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples/image_classification"))
from symbols import alexnet, googlenet

RANKS = (1, 2, 4, 8, 16, 32, 64)


class Links(NamedTuple):
    """Of a rank: bytes a second, seconds of a message, operations a second."""

    bytes_per_second: float = 6e9
    latency: float = 5e-6
    flops: float = 4e12


class OwnPart(NamedTuple):
    """Rank 0's part of a parameter along one axis, on ranks that need not be there."""

    size: int
    axis: int
    rank: int = 0
    group: str = "ranks"
    replicas: tuple[int, int] = (1, 0)

    def own_shape(self, shape):
        """Of rank 0, whose part is the largest."""
        return tuple(-(-n // self.size) if i == self.axis else n for i, n in enumerate(shape))


def product(size: int, ranks: int, links: Links) -> tuple[str, float, float]:
    """The best way, bytes that a rank sends, seconds."""
    rows = Layout.rows((size, size), ranks).handle
    name, sent, _, _, seconds = _parallel.ways_to_multiply(
        rows, rows, "float32", ranks, False, False, tuple(links)
    )[0]
    return name, sent, seconds


def operations(symbol, shapes: dict[str, tuple[int, ...]]) -> tuple[float, float]:
    """Of a forward and a backward pass: of convolutions, and of dense layers."""
    inner = symbol.get_internals()
    known = dict(zip(inner.list_outputs(), inner.infer_shape(**shapes)[1]))
    convolved = dense = 0.0
    for name, shape in known.items():
        weight = known.get(name.removesuffix("_output") + "_weight")
        if weight is None:
            continue
        forward = (
            2.0 * shape[0] * weight[0] * float(known[name][2] * known[name][3] if len(shape) == 4 else 1)
        )
        for extent in weight[1:]:
            forward *= extent
        if len(weight) == 4:
            convolved += 3 * forward
        else:
            dense += 3 * forward
    return convolved, dense


def network(symbol, image: int, batch: int, ranks: int, links: Links) -> tuple[float, float, float]:
    """A step, hybrid: examples cut in front, dense layers by columns. Bytes that a rank sends for the dense layers,
    those for the sums of the convolutions' gradients, seconds."""
    shapes = {"data": (batch, 3, image, image)}
    convolved, dense = operations(symbol, shapes)
    names = symbol.list_arguments()
    params = {
        name: shape
        for name, shape in zip(names, symbol.infer_shape(**shapes)[0])
        if name not in ("data", "softmax_label")
    }
    split = {
        name: OwnPart(ranks, 0)
        for name, shape in params.items()
        if len(shape) == 2
        or name.removesuffix("bias") + "weight" in params
        and len(params[name.removesuffix("bias") + "weight"]) == 2
    }
    cuts = {**split, "data": OwnPart(ranks, 0)}
    moves = moves_of(symbol, shapes | params, dict.fromkeys(names, "float32"), cuts) if ranks > 1 else []
    gradients = sum(move.backward for move in moves if move.value in params)
    layers = sum(move.forward + move.backward for move in moves) - gradients
    compute = (convolved + dense) / ranks / links.flops
    behind = 2 / 3 * convolved / ranks / links.flops  # gradients travel while the convolutions go back
    seconds = compute + layers / links.bytes_per_second
    seconds += max(0.0, gradients / links.bytes_per_second - behind)
    return layers, gradients, seconds


class Column(NamedTuple):
    """Of a table: its heading, the name of its curve, and for a number of ranks a cell and the seconds."""

    heading: str
    curve: str
    cell: Callable[[int], tuple[str, float]]


def table_of(columns: list[Column]) -> tuple[str, dict[str, list[float]]]:
    """A row for each number of ranks, and how many times as fast as one rank each of them is."""
    lines = ["| ranks | " + " | ".join(column.heading for column in columns) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    seconds: dict[str, list[float]] = {column.curve: [] for column in columns}
    for ranks in RANKS:
        found = [column.cell(ranks) for column in columns]
        lines.append(f"| {ranks} | " + " | ".join(text for text, _ in found) + " |")
        for column, (_, taken) in zip(columns, found):
            seconds[column.curve].append(taken)
    speedups = {curve: [taken[RANKS.index(1)] / one for one in taken] for curve, taken in seconds.items()}
    return "\n".join(lines), speedups


def products_table(links: Links, sizes: tuple[int, ...]) -> tuple[str, dict[str, list[float]]]:
    """TFLOP/s of all ranks, MB that a rank sends, and the way."""

    def cell(size: int, ranks: int) -> tuple[str, float]:
        name, sent, seconds = product(size, ranks, links)
        return f"{2 * size**3 / seconds / 1e12:.1f}, {sent / 1e6:.1f}, {name.split(',')[0]}", seconds

    return table_of(
        [Column(f"{n}: TFLOP/s, MB a rank, way", f"product of {n}", partial(cell, n)) for n in sizes]
    )


def network_table(
    name: str, symbol: mx.sym.Symbol, image: int, batches: tuple[int, ...], links: Links
) -> tuple[str, dict[str, list[float]]]:
    """Images a second, and MB that a rank sends in a step."""

    def cell(batch: int, ranks: int) -> tuple[str, float]:
        layers, gradients, seconds = network(symbol, image, batch, ranks, links)
        return f"{batch / seconds:,.0f}, {(layers + gradients) / 1e6:.1f}", seconds

    return table_of(
        [Column(f"batch {n}: images/s, MB a rank", f"{name}, batch {n}", partial(cell, n)) for n in batches]
    )


def picture(speedups: dict[str, list[float]]) -> str:
    """How many times as fast as one rank, both axes by doublings."""
    import math

    step, left, top = 60, 50, 20
    extent = step * (len(RANKS) - 1)
    colours = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#a463f2", "#97bbf5")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + extent + 240}" height="{top + extent + 45}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect x="{left}" y="{top}" width="{extent}" height="{extent}" fill="none" stroke="#999"/>',
        f'<line x1="{left}" y1="{top + extent}" x2="{left + extent}" y2="{top}" stroke="#999" stroke-dasharray="4"/>',
        f'<text x="{left + extent / 2}" y="{top + extent + 38}" text-anchor="middle">ranks</text>',
    ]
    for i, ranks in enumerate(RANKS):
        at = step * i
        parts.append(f'<text x="{left + at}" y="{top + extent + 18}" text-anchor="middle">{ranks}</text>')
        parts.append(f'<text x="{left - 8}" y="{top + extent - at + 4}" text-anchor="end">{ranks} x</text>')
    for i, (name, values) in enumerate(speedups.items()):
        colour = colours[i % len(colours)]
        points = " ".join(
            f"{left + step * j},{top + extent - step * max(0.0, math.log2(value)):.1f}"
            for j, value in enumerate(values)
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{left + extent + 12}" y="{top + 14 + 18 * i}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", help="what `python -m loomix links --file` wrote")
    parser.add_argument("--svg", help="writes the picture")
    given = parser.parse_args()
    links = Links()
    if given.links:
        with open(given.links, encoding="utf-8") as file:
            links = Links(**json.load(file))
    print(
        f"Links of {links.bytes_per_second / 1e9:.3g} GB/s and {links.latency * 1e6:.3g} us, ranks of "
        f"{links.flops / 1e9:.4g} GFLOP/s.\n"
    )
    speedups: dict[str, list[float]] = {}
    for title, (table, found) in {
        "Products of square matrices, all in rows": products_table(links, (4096, 16384)),
        "AlexNet": network_table("AlexNet", alexnet.network(1000), 224, (256, 1024), links),
        "GoogLeNet": network_table("GoogLeNet", googlenet.network(1000), 224, (256, 1024), links),
    }.items():
        print(f"**{title}**\n\n{table}\n")
        speedups |= found
    if given.svg:
        pathlib.Path(given.svg).write_text(picture(speedups), encoding="utf-8")


if __name__ == "__main__":
    main()
