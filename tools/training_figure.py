#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a training step of networks takes here, in MXNet and in PyTorch: a table, and a picture with --svg.

    python benchmarks/compare.py training --python mxnet=PATH --python torch=PATH --save    takes the figures
    python tools/training_figure.py --svg docs/training_times.svg                           draws them

What benchmarks/results.json has of these networks is drawn; nothing is measured.
"""

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks/results.json"
COLOURS = {"loomix": "#1f5fa8", "mxnet": "#e9a75b", "torch": "#c7cdd4"}
LABELS = {"loomix": "Loomix", "mxnet": "MXNet 1.9.1", "torch": "PyTorch"}
NAMES = {
    "alexnet": "AlexNet",
    "vgg16": "VGG-16",
    "googlenet": "GoogLeNet",
    "inception_bn": "Inception-BN",
    "resnet18": "ResNet-18",
    "resnet50": "ResNet-50",
}


def read(path, batches):
    """The rows of the networks, in the order of NAMES, float32 first, each with its title."""
    found = {
        row["case"]: row for row in json.loads(path.read_text(encoding="utf-8")) if row["group"] == "training"
    }
    rows = []
    for network, name in NAMES.items():
        for suffix in ("", "_bfloat16"):
            row = found.get(network + suffix)
            if row:
                kind = suffix.replace("_", ", ")
                rows.append({**row, "title": f"{name}, batch {batches[network]}{kind}"})
    return rows


def batches_of_benchmark():
    """How many images a step of each network has."""
    sys.path[:0] = [str(ROOT / "benchmarks/training"), str(ROOT / "benchmarks")]
    from worker import NETWORKS

    return {network: images for network, (_, _, images) in NETWORKS.items()}


def ratio_text(row, framework):
    """How many times the framework's time is ours: the median of the turns."""
    ratio = row.get("ratios", {}).get(framework)
    return f"{1 / ratio:.2f}" if ratio else ""


def table(rows):
    """The rows in Markdown, in milliseconds."""
    peers = [name for name in LABELS if name != "loomix" and any(name in row["medians"] for row in rows)]
    titles = ["Loomix", *(LABELS[name] for name in peers), *(f"{LABELS[name]} / Loomix" for name in peers)]
    lines = [f"| training step, ms | {' | '.join(titles)} |", "|---|" + "---|" * len(titles)]
    for row in rows:
        cells = [f"{1000 * row['medians'][n]:.0f}" if n in row["medians"] else "" for n in ("loomix", *peers)]
        cells += [ratio_text(row, name) for name in peers]
        lines.append(f"| {row['title']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _row(row, y, scale, left, bar):
    """The bars of one network, as SVG."""
    names = [name for name in COLOURS if name in row["medians"]]
    middle = y + bar * len(names) / 2 + 4
    parts = [f'<text x="{left - 8}" y="{middle:.1f}" text-anchor="end">{row["title"]}</text>']
    for i, name in enumerate(names):
        seconds = row["medians"][name]
        top, length = y + bar * i, scale * seconds
        times = f" ({ratio_text(row, name)} x)" if name != "loomix" and ratio_text(row, name) else ""
        parts.append(
            f'<rect x="{left}" y="{top}" width="{length:.1f}" height="{bar - 2}" fill="{COLOURS[name]}"/>'
            f'<text x="{left + length + 5:.1f}" y="{top + bar - 4}">{1000 * seconds:.0f} ms{times}</text>'
        )
    return parts, y + bar * len(names)


def picture(rows):
    """Bars for each network as SVG."""
    bar, gap, left, width = 16, 14, 200, 390
    scale = width / max(seconds for row in rows for seconds in row["medians"].values())
    parts, y = [], 52
    for row in rows:
        drawn, y = _row(row, y, scale, left, bar)
        parts += drawn
        y += gap
    stamp = rows[0]["machine"]
    x = left
    for name, colour in COLOURS.items():
        parts.append(f'<rect x="{x}" y="28" width="11" height="11" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16}" y="38">{LABELS[name]}</text>')
        x += 110
    parts.append(
        f'<text x="10" y="{y + 8}" fill="#666">medians, taken in turns; {stamp["cores"]} cores, {stamp["cpu"]}, '
        f"{stamp['threads']} threads, OMP_WAIT_POLICY {stamp['wait_policy']}, commit {stamp['commit']}</text>"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{y + 20}" font-family="sans-serif" '
        f'font-size="12"><rect width="720" height="{y + 20}" fill="white"/>'
        '<text x="10" y="18" font-weight="bold">A training step: shorter is better</text>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def main(arguments=None):
    """Prints the table; writes the picture if it is asked for. The exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the figures are")
    parser.add_argument("--svg", type=Path, help="where the picture goes")
    options = parser.parse_args(arguments)
    rows = read(options.results, batches_of_benchmark())
    if not rows:
        print(
            f"[training_figure] {options.results} has no figures of image networks; "
            "benchmarks/compare.py training --save takes them.",
            file=sys.stderr,
        )
        return 2
    print(table(rows))
    if options.svg:
        options.svg.write_text(picture(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
