#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The distributed example at full size against one process, bit for bit.

    python tests/dist/training.py --epochs 3

Four workers and two servers train LeNet on Fashion-MNIST (Debian's dataset-fashion-mnist): without copies, with two
copies of each value, and while a server is killed and then a worker, in the middle of an epoch, and both are started
again. Each must end with the bits of one process that adds the four shares' gradients in the order of ranks. Ends
with 1 if one has not. Takes minutes; tests/python/test_dist_training.py does the same with little data.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import shared_training as training

CASES = {
    "one copy": {"LOOMIX_KV_REPLICAS": 1},
    "two copies": {"LOOMIX_KV_REPLICAS": 2},
    "kills": {"LOOMIX_KV_REPLICAS": 2, "LOOMIX_KV_POLICY": "wait"},
}


def run(case, folder, arguments, steps, timeout):
    """Trains in a cluster; the file of the parameters."""
    folder.mkdir()
    patience = {"LOOMIX_KV_DEAD_AFTER": 90, "LOOMIX_KV_DEADLINE": 120}  # on machines that are busy or stopped
    with training.cluster_of(folder, arguments, steps, timeout, **patience, **CASES[case]).start() as cluster:
        if case == "kills":
            training.kill_and_restart(cluster, steps + steps // 3, steps + steps // 2)
        cluster.succeed()
        for line in cluster.output("worker", 2 if case == "kills" else 0).splitlines():
            if line.startswith(("goes on", "validation")):
                print(f"  {line}", flush=True)
    return folder / "got.params"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=3, help="at least 2")
    parser.add_argument("--batch-size", type=int, default=32, help="of each worker")
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for each case")
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}; default: all")
    options = parser.parse_args()
    given = [
        f"--{name}={getattr(options, name.replace('-', '_'))}" for name in ("epochs", "batch-size", "lr")
    ]
    example = training.load_example()
    steps = sum(1 for _ in example.batches(example.parse(given), "train", training.WORKERS, 0))
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        training.one_process_apart(given, folder / "expected.params", options.timeout)
        print(f"one process: {options.epochs} epochs of {steps} steps", flush=True)
        for case in options.cases or CASES:
            start = time.monotonic()
            got = run(case, folder / case.replace(" ", "-"), given, steps, options.timeout)
            different = training.different_bits(folder / "expected.params", got)
            failed |= bool(different)
            verdict = f"other bits in {', '.join(different)}" if different else "the same bits"
            print(f"{case}: {verdict} ({time.monotonic() - start:.0f} s)", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
