#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What networks take to train and to predict, by each way of sharing memory: a table, and a picture with --svg.

    .venv/bin/python tools/memory_figure.py [--batch 64] [--networks alexnet vgg16] [--svg docs/memory.svg]
    .venv/bin/python tools/memory_figure.py --mxnet PYTHON     a Python with mxnet 1.x: its figures beside ours

MB are 2^20 bytes of values and scratch memory, without parameters, their gradients and the outputs. Nothing is
computed.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NETWORKS = ("alexnet", "googlenet", "vgg16", "inception_bn", "resnet50_v1")
WAYS = ("naive", "inplace", "co_share", "both", "lower_bound")
LABELS = {
    "naive": "no sharing",
    "inplace": "in place",
    "co_share": "co-share",
    "both": "both",
    "lower_bound": "lower bound",
}
COLOURS = {"naive": "#c7cdd4", "inplace": "#8fb8de", "co_share": "#7cc4a4", "both": "#1f5fa8"}

# With the examples' networks composed by MXNet: what its executor says that it allocated.
PEER = """
import sys
import mxnet
sys.modules["loomix"] = mxnet
sys.path.insert(0, sys.argv[1])
from symbols import NETWORKS, create
name, batch, training = sys.argv[2], int(sys.argv[3]), sys.argv[4] == "training"
side, network = NETWORKS[name][0], create(name, 1000)
parameters = [x for x in network.list_arguments() if training and x not in ("data", "softmax_label")]
requests = dict.fromkeys(parameters, "write") if parameters else "null"
executor = network.simple_bind(mxnet.cpu(), grad_req=requests, data=(batch, 3, side, side))
print(int(executor.debug_str().split("\\n")[-3].split()[1]))
"""


def ours(name, batch, training):
    """Megabytes by each way of sharing."""
    import loomix as mx

    sys.path.insert(0, str(ROOT / "examples/image_classification"))
    from symbols import NETWORKS as known
    from symbols import create

    side, network = known[name][0], create(name, 1000)
    parameters = [x for x in network.list_arguments() if training and x not in ("data", "softmax_label")]
    requests = dict.fromkeys(parameters, "write") if parameters else "null"
    executor = network.simple_bind(mx.cpu(), grad_req=requests, data=(batch, 3, side, side))
    return {way: size / 2**20 for way, size in executor.planned_memory(training).items()}


def of_mxnet(python, name, batch, training):
    """Megabytes that MXNet plans for the same network."""
    command = [python, "-c", PEER, str(ROOT / "examples/image_classification"), name, str(batch)]
    command.append("training" if training else "prediction")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def measure(options):
    """One row a network and purpose."""
    rows = []
    for training in (False, True):
        for name in options.networks:
            purpose = "training" if training else "prediction"
            row = {"network": name, "purpose": purpose, **ours(name, options.batch, training)}
            if options.mxnet:
                row["mxnet"] = of_mxnet(options.mxnet, name, options.batch, training)
            rows.append(row)
    return rows


def table(rows):
    """The rows in Markdown."""
    ways = [*WAYS, *(["mxnet"] if "mxnet" in rows[0] else [])]
    titles = [LABELS.get(way, "MXNet") for way in ways]
    lines = [f"| network | {' | '.join(titles)} | both / lower bound | no sharing / both |"]
    lines.append("|---|" + "---|" * (len(ways) + 2))
    for row in rows:
        cells = [f"{row[way]:.0f}" for way in ways]
        cells += [f"{row['both'] / row['lower_bound']:.3f}", f"{row['naive'] / row['both']:.1f}"]
        lines.append(f"| {row['network']}, {row['purpose']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def picture(rows, batch):
    """Bars for each network, prediction above training, as SVG."""
    bar, gap, left, width = 11, 16, 150, 460
    parts = []
    y = 34
    for purpose in ("prediction", "training"):
        chosen = [row for row in rows if row["purpose"] == purpose]
        most = max(row["naive"] for row in chosen)
        parts.append(f'<text x="10" y="{y}" font-weight="bold">{purpose}, batch {batch}</text>')
        y += 12
        for row in chosen:
            middle = y + 2 * bar + 4
            parts.append(f'<text x="{left - 8}" y="{middle}" text-anchor="end">{row["network"]}</text>')
            for way, colour in COLOURS.items():
                length = width * row[way] / most
                parts.append(
                    f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{bar - 1}" fill="{colour}"/>'
                    f'<text x="{left + length + 4:.1f}" y="{y + bar - 2}" font-size="9">{row[way]:.0f}</text>'
                )
                y += bar
            bound = left + width * row["lower_bound"] / most
            parts.append(f'<path d="M{bound:.1f} {y - 4 * bar}V{y}" stroke="#c0392b" stroke-width="1.5"/>')
            y += gap
        y += 14
    x = left
    for way, colour in COLOURS.items():
        parts.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14}" y="{y}">{LABELS[way]}</text>')
        x += 90
    parts.append(f'<path d="M{x} {y - 9}V{y + 1}" stroke="#c0392b" stroke-width="1.5"/>')
    parts.append(f'<text x="{x + 6}" y="{y}">lower bound</text>')
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{y + 16}" '
        'font-family="sans-serif" font-size="11">'
        "<title>Megabytes of planned memory</title>"
        f'<rect width="720" height="{y + 16}" fill="white"/>'
        f'<text x="10" y="16">MB of planned memory</text>'
    )
    return head + "\n".join(parts) + "</svg>\n"


def main(arguments=None):
    """Prints the table; writes what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--networks", nargs="+", default=NETWORKS, metavar="NAME")
    parser.add_argument(
        "--mxnet", metavar="PYTHON", help="a Python with mxnet 1.x, to put its figures beside"
    )
    parser.add_argument("--svg", type=Path, help="where the picture goes")
    parser.add_argument("--json", type=Path, help="where the figures go, in bytes of 2^20")
    options = parser.parse_args(arguments)
    rows = measure(options)
    print(table(rows))
    if options.svg:
        options.svg.write_text(picture(rows, options.batch), encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
