#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random schedules of kills and restarts over real processes.

    python tests/dist/chaos.py --schedules 20 --seed 1

Every worker pushes ones to a small and a large key, step by step, and checks after each pull that the values
are exactly those of that many rounds: no update is lost, none counts twice. Meanwhile servers and workers
are killed and started again. Prints a line a schedule; ends with 1 if one failed, and with its seed.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from real_cluster import Cluster

PROGRAM = """
import os, time
import loomix as mx
kv = mx.kv.create("dist_sync")
kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
kv.init(["w", 3], [mx.nd.zeros((5,)), mx.nd.zeros((300, 300))])
out = [mx.nd.empty((5,)), mx.nd.empty((300, 300))]
for step in range(kv.pushes("w") + 1, STEPS + 1):
    kv.push(["w", 3], [mx.nd.ones((5,)), mx.nd.ones((300, 300))])
    kv.pull(["w", 3], out)
    for array in out:
        values = array.asnumpy()
        assert (values == -kv.num_workers * step).all(), (step, values)
    print("step", step, flush=True)
    time.sleep(0.02)
while not os.path.exists("finish"):  # the cluster lives until the schedule is over
    time.sleep(0.02)
print("good", kv.pushes("w"))
"""


def run(seed, steps, recover):
    """One schedule; what happened, in words."""
    choose = random.Random(seed)
    workers, servers = choose.randint(2, 3), choose.randint(2, 3)
    moments = sorted(choose.sample(range(3, steps - 3), choose.randint(2, 4)))
    events = []
    with tempfile.TemporaryDirectory() as folder:
        program = PROGRAM.replace("STEPS", str(steps))
        with Cluster(Path(folder), program, workers, servers, LOOMIX_KV_POLICY="wait").start() as cluster:
            for moment in moments:
                watched = choose.randrange(workers)
                cluster.wait_for("worker", watched, f"step {moment}\n")
                role = choose.choice(["server", "worker"])
                rank = choose.randrange(servers if role == "server" else workers)
                cluster.kill(role, rank)
                pause = choose.choice([0, 0.3, 1.5])
                time.sleep(pause)
                cluster.start((role, rank))
                if role == "server":
                    time.sleep(recover)
                events.append(f"{role} {rank} at step {moment} for {pause:g} s")
            (Path(folder) / "finish").touch()
            cluster.succeed()
            for rank in range(workers):
                text = cluster.output("worker", rank)
                assert f"good {steps}\n" in text, text
    return f"{workers} workers, {servers} servers; killed " + ", ".join(events)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--schedules", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument(
        "--recover",
        type=float,
        default=3.0,
        help="seconds that a server has to get its copies before the next kill",
    )
    options = parser.parse_args()
    failed = 0
    for seed in range(options.seed, options.seed + options.schedules):
        start = time.monotonic()
        try:
            what = run(seed, options.steps, options.recover)
        except AssertionError as error:
            failed += 1
            what = f"FAILED: {error}"
        print(f"seed {seed}: {what}; {time.monotonic() - start:.1f} s", flush=True)
    print(f"{options.schedules - failed} of {options.schedules} schedules exact")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
