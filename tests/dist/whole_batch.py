#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One process with the whole batch against one that adds the gradients of four shares of it, step by step.

    python tests/dist/whole_batch.py --lr 0.05 --seed 2
    python tests/dist/whole_batch.py --lr 0.05 --seed 2 --dtype float64

The cluster has the bits of the second (tests/dist/training.py). Prints the largest relative distance of a parameter's
gradient and of a parameter (in the Euclidean norm), and how many rectifiers and pooling windows decide otherwise, with
how near the two largest values of such a window were. Needs Debian's dataset-fashion-mnist.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import shared_training as training


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lr", default="0.05")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--dtype", default="float32")
    options = parser.parse_args()
    arguments = ["--lr", options.lr, "--seed", options.seed]
    for step, (gradients, weights, decisions) in enumerate(
        training.whole_and_shares(arguments, options.dtype, options.steps), start=1
    ):
        print(f"step {step}: gradients {gradients:.1e}, parameters {weights:.1e}; {decisions}", flush=True)


if __name__ == "__main__":
    main()
