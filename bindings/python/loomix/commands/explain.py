# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix explain``: what the compiler makes of a model."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Sequence

from ..base import MXNetError, MXNetValueError, suggest
from ..symbol import load

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def _named(text: str) -> tuple[str, str]:
    """A name and what comes after the colon, or the equals sign."""
    name, _, rest = text.rpartition(":" if ":" in text else "=")
    if not name or not rest:
        raise argparse.ArgumentTypeError(f"{text!r} has no name; expected the like of data:1,3,224,224")
    return name, rest


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, rest = _named(text)
    try:
        shape = tuple(int(size) for size in rest.strip("()").split(",") if size.strip())
    except ValueError:
        shape = ()
    if not shape or min(shape) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no shape; expected NAME:1,3,224,224")
    return name, shape


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMG]?)(?:i?B)?", text, re.IGNORECASE)
    count = int(float(found[1]) * _UNITS[found[2].upper()]) if found else 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes; expected the like of 500M or 2G")
    return count


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m loomix explain",
        description="Shows what the compiler makes of a model: what each pass did, how memory is planned, bytes, "
        "FLOPs. Nothing is computed, and parameters are not needed.",
    )
    parser.add_argument("symbol", help="the graph: NAME-symbol.json")
    parser.add_argument(
        "--shape", type=_shape, action="append", default=[], metavar="NAME:SIZES", help="an input's shape"
    )
    parser.add_argument(
        "--type",
        type=_named,
        action="append",
        default=[],
        metavar="NAME:DTYPE",
        help="an input's type, such as float16",
    )
    purpose = parser.add_mutually_exclusive_group()
    purpose.add_argument("--predict", action="store_true", help="a pass for prediction (the default)")
    purpose.add_argument(
        "--train", action="store_true", help="a training pass, with gradients of all but the inputs"
    )
    parser.add_argument(
        "--budget",
        type=_bytes,
        metavar="BYTES",
        help="memory that the plan may take, such as 500M: see memory_budget",
    )
    parser.add_argument(
        "--compare-strategies", action="store_true", help="plan memory by each way of sharing, too"
    )
    parser.add_argument(
        "--steps", action="store_true", help="list every step, too: kernel, bytes, FLOPs, time"
    )
    parser.add_argument("--svg", metavar="FILE", help="write the memory plan as a picture")
    parser.add_argument(
        "--json", metavar="FILE", help="write everything for programs; - writes it instead of the text"
    )
    return parser


def main(_: str, arguments: Sequence[str]) -> int:
    """Runs ``explain`` with these arguments; its exit status."""
    args = _parser().parse_args(arguments)
    if not os.path.isfile(args.symbol):
        print(f"[explain] there is no file {args.symbol}.", file=sys.stderr)
        return 2
    try:
        symbol = load(args.symbol)
        known = symbol.list_inputs()
        for option, named in (("--shape", args.shape), ("--type", args.type)):
            for name, _rest in named:
                if name not in known:
                    raise MXNetValueError(f"[explain] {option} names '{name}'. {suggest(name, known)}")
        explanation = symbol.explain(
            is_train=args.train,
            type_dict=dict(args.type),
            memory_budget=args.budget,
            compare_strategies=args.compare_strategies,
            **dict(args.shape),
        )
        if args.svg:
            explanation.to_svg(args.svg)
        if args.json and args.json != "-":
            explanation.to_json(args.json)
    except (MXNetError, OSError, ValueError, TypeError) as error:
        print(f"[explain] {args.symbol}: {error}", file=sys.stderr)
        return 2
    if args.json == "-":
        print(explanation.to_json())
    else:
        print(explanation.to_text(shutil.get_terminal_size((100, 24)).columns), end="")
        if args.steps:
            print("\n" + explanation.table(), end="")
    return 0
