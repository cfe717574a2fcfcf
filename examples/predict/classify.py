#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Classifies a picture with a trained network and prints the five most likely classes.

python examples/predict/classify.py MODEL-symbol.json MODEL-0000.params picture.jpg --synset names.txt
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import loomix as mx
import numpy as np


def numbers(text: str) -> list[float]:
    """Numbers with commas between."""
    return [float(part) for part in text.split(",")]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("symbol", type=Path, help="MODEL-symbol.json")
    parser.add_argument("params", type=Path, help="MODEL-0000.params")
    parser.add_argument("image", type=Path, help="a JPEG or PNG file")
    parser.add_argument("--shape", type=numbers, default=[3, 224, 224], help="channels, height, width")
    parser.add_argument(
        "--mean", type=numbers, default=[0], help="of values from 0 to 255; one, or one a channel"
    )
    parser.add_argument("--std", type=numbers, default=[1], help="what values are divided by, likewise")
    parser.add_argument("--synset", type=Path, help="a file with a name a line")
    parser.add_argument("--data", default="data", help="the name of the network's input")
    parser.add_argument("--softmax", action="store_true", help="the outputs are no probabilities yet")
    parser.add_argument("--repeat", type=int, default=10, help="how many predictions are timed")
    options = parser.parse_args(arguments)
    options.shape = [int(size) for size in options.shape]
    if len(options.shape) != 3 or options.shape[0] not in (1, 3) or options.repeat < 1:
        parser.error("--shape needs three numbers, of which the first is 1 or 3; --repeat at least 1")
    return options


def read_input(options: argparse.Namespace) -> mx.nd.NDArray:
    """The middle of the picture as the network wants it: (1, channels, height, width)."""
    channels, height, width = options.shape
    image = mx.image.imread(str(options.image), flag=1 if channels == 3 else 0)
    rows, columns = image.shape[:2]
    step = min(columns / width, rows / height)
    across, down = round(step * width), round(step * height)
    left, top = (columns - across) // 2, (rows - down) // 2
    image = mx.image.fixed_crop(
        image, left, top, across, down, size=(width, height), interp=3
    )  # means over areas
    pixels = image.asnumpy().astype("float32").reshape(height, width, channels)
    pixels = (pixels - np.array(options.mean, "float32")) / np.array(options.std, "float32")
    return mx.nd.array(pixels.transpose(2, 0, 1)[None])


def main(arguments: list[str] | None = None) -> None:
    """Predicts as the arguments say."""
    options = parse(arguments)
    start = time.perf_counter()
    predictor = mx.Predictor(options.symbol, options.params, {options.data: (1, *options.shape)})
    print(f"loaded in {1e3 * (time.perf_counter() - start):.1f} ms")
    data = read_input(options)
    times = []
    for _ in range(options.repeat):
        start = time.perf_counter()
        scores = predictor.predict(data).asnumpy().ravel()
        times.append(1e3 * (time.perf_counter() - start))
    print(f"predicted {len(times)} times: {min(times):.2f} ms at best, {np.mean(times):.2f} ms on average")
    if options.softmax:
        scores = np.exp(scores - scores.max())
        scores /= scores.sum()
    names = options.synset.read_text().splitlines() if options.synset else []
    for number in np.argsort(-scores)[:5]:
        name = names[number] if number < len(names) else f"class {number}"
        print(f"{scores[number]:8.4f}  {name}")


if __name__ == "__main__":
    main()
