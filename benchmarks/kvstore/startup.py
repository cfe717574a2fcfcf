#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From the launcher's start to the first barrier of all workers.

python benchmarks/kvstore/startup.py --workers 4 --servers 2 --runs 5
"""

import argparse
import subprocess
import sys
import time

WORKER = """
import time, loomix as mx
mx.kv.create("dist_sync").barrier()
print(time.time())
"""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    numbers = ["-n", str(options.workers), "-s", str(options.servers)]
    command = [sys.executable, "-m", "loomix", "launch", *numbers, sys.executable, "-c", WORKER]
    seconds = []
    for _ in range(options.runs):
        start = time.time()
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        seconds.append(max(float(line.split()[-1]) for line in output.splitlines()) - start)
    print(
        f"{options.workers} workers, {options.servers} servers: first barrier after {min(seconds):.2f} s "
        f"(best of {options.runs}; all: {', '.join(f'{one:.2f}' for one in seconds)})"
    )


if __name__ == "__main__":
    main()
