#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The memory that one server takes while several workers push and pull, in multiples of the value.

    python benchmarks/kvstore/memory.py [--workers 8] [--mib 64] [--rounds 2] [--late 3]

All are processes of this machine. What the server has before the first value came is not counted.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from loomix.commands.launch import free_port

SERVE = "import loomix"  # a server serves when it is imported with that role

WORK = """
import sys, time
import loomix as mx
mib, rounds, late = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
store = mx.kv.create("dist_sync")
store.barrier()
def tell_and_wait(word):
    print(word, flush=True)
    sys.stdin.readline()
tell_and_wait("joined")
value, out = mx.nd.ones((mib << 18,)), mx.nd.empty((mib << 18,))
store.init("w", value)
store.barrier()
tell_and_wait("begun")
if store.rank == 0:
    time.sleep(late)
for _ in range(rounds):
    store.push("w", value)
    store.pull("w", out)
    mx.nd.waitall()
store.barrier()
tell_and_wait("pushed")
"""


def memory(process, what):
    """MiB: VmRSS is what it has, VmHWM the most that it had."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return int(re.search(rf"{what}:\s*(\d+) kB", status)[1]) / 1024


def measure(workers, mib, rounds, late):
    """The server's peak over what it had before, in MiB."""
    environment = {
        **os.environ,
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(free_port(1)),
        "DMLC_NUM_WORKER": str(workers),
        "DMLC_NUM_SERVER": "1",
    }

    def start(role, rank, code, *arguments):
        variables = {**environment, "DMLC_ROLE": role, "LOOMIX_KV_RANK": str(rank)}
        return subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    scheduler = start("scheduler", 0, SERVE)
    server = start("server", 0, SERVE)
    crew = [start("worker", rank, WORK, mib, rounds, late) for rank in range(workers)]
    try:

        def all_say(word):
            assert [worker.stdout.readline().strip() for worker in crew] == [word] * workers

        def go_on():
            for worker in crew:
                worker.stdin.write("\n")
                worker.stdin.flush()

        all_say("joined")
        before = memory(server, "VmRSS")
        go_on()
        all_say("begun")
        go_on()
        all_say("pushed")
        peak = memory(server, "VmHWM")
        go_on()
        for process in (*crew, server, scheduler):
            process.wait(timeout=60)
        return peak - before
    finally:
        for process in (*crew, server, scheduler):
            process.kill()
            process.wait()


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--mib", type=int, default=64, help="of the value (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument(
        "--late", type=float, default=3.0, help="seconds by which rank 0 is late in the second case"
    )
    options = parser.parse_args()
    for what, late in (("all at once", 0.0), (f"rank 0 {options.late:g} s late", options.late)):
        peak = measure(options.workers, options.mib, options.rounds, late)
        print(f"{what}: {peak:.0f} MiB, {peak / options.mib:.2f} times the value", flush=True)


if __name__ == "__main__":
    main()
