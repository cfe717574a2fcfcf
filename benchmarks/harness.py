# SPDX-License-Identifier: Apache-2.0
"""A benchmark worker: one process, one framework, one case, timed on command.

`compare.py` starts a worker for each framework and lets them run in turns, so that the machine's drift hits all alike.
A worker file defines `CASES = {case: {framework: make}}`, where `make()` sets up and returns `run(count)`, and ends
with `serve(CASES)`.
"""

import sys
import time


def serve(cases):
    """Answers `go COUNT` on standard input with the seconds that one of COUNT runs took; ends with the input."""
    case, framework, *clock = sys.argv[1:]
    now = time.process_time if clock == ["processor"] else time.perf_counter
    run = cases[case][framework]()
    run(3)
    print("ready", flush=True)
    for line in sys.stdin:
        count = int(line.split()[1])
        start = now()
        run(count)
        print((now() - start) / count, flush=True)
