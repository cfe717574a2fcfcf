# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix quantize``: a checkpoint of 8 bits from a float one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..base import MXNetError
from ..contrib.quantization import QuantizationReport, quantize_model
from ..io import NDArrayIter
from ..model import load_checkpoint, save_checkpoint


def main(command: str, arguments: Sequence[str]) -> int:
    """Runs the command; its exit status."""
    parser = argparse.ArgumentParser(
        prog=f"python -m loomix {command}", description="Makes a network of 8 bits from a float one."
    )
    parser.add_argument("source", help="prefix of the float checkpoint")
    parser.add_argument("target", help="prefix of the one that is written")
    parser.add_argument("--epoch", type=int, default=0, help="of the float checkpoint")
    parser.add_argument(
        "--data", help="examples for calibration: a .npy file, the first axis being the examples"
    )
    parser.add_argument("--input", default="data", help="name of the network's input")
    parser.add_argument(
        "--mode", default="entropy", choices=["none", "naive", "entropy"], help="how ranges are found"
    )
    parser.add_argument(
        "--dtype", default="auto", choices=["int8", "uint8", "auto"], help="type of the values"
    )
    parser.add_argument(
        "--granularity", default="tensor-wise", choices=["tensor-wise", "channel-wise"],
        help="one range a weight, or one a filter",
    )  # fmt: skip
    parser.add_argument("--batch", type=int, default=32, help="examples that run at a time")
    parser.add_argument("--examples", type=int, help="the most examples that run")
    parser.add_argument(
        "--exclude", action="append", default=[], help="a layer that stays in float; repeatable"
    )
    parser.add_argument(
        "--exclude-operator", action="append", default=[], help="an operator that stays in float"
    )
    parser.add_argument("--svg", help="writes the report as a picture")
    options = parser.parse_args(arguments)
    report = QuantizationReport()
    try:
        data = None
        if options.mode != "none":
            if options.data is None:
                parser.error(f"--mode {options.mode} needs --data")
            values = np.load(options.data)
            if not isinstance(values, np.ndarray) or values.ndim == 0 or len(values) == 0:
                raise ValueError(
                    f"{options.data} is no array of examples: np.save('x.npy', array) writes one."
                )
            data = NDArrayIter({options.input: values}, batch_size=min(options.batch, len(values)))
        symbol, weights, states = load_checkpoint(options.source, options.epoch)
        made = quantize_model(
            symbol, weights, states,
            data_names=(options.input,), calib_mode=options.mode, calib_data=data, num_calib_examples=options.examples,
            quantized_dtype=options.dtype, quantize_granularity=options.granularity, excluded_sym_names=options.exclude,
            excluded_op_names=options.exclude_operator, report=report,
        )  # fmt: skip
        save_checkpoint(options.target, options.epoch, *made)
        if options.svg:
            Path(options.svg).write_text(report.svg(), encoding="utf-8")
    except (MXNetError, OSError, ValueError, NotImplementedError) as error:
        print(error, file=sys.stderr)
        return 1
    print(report)
    return 0
