#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random schedules of kills, restarts and pauses over real processes.

    python tests/dist/chaos.py --schedules 20 --seed 1

Every push of a worker has a number, and its values say which worker's and which number it is; so the sum that
a pull gives says which pushes are in, and a lost or doubled one shows. Meanwhile servers, workers and the
scheduler are killed with SIGKILL, one or two at a time, and started again, or stopped for less or more than
the time after which a silent node counts as dead. Two servers never die before both have all their copies.
Prints a line a schedule; ends with 1 if one failed, and with its seed.
"""

import argparse
import contextlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from real_cluster import Cluster

DEAD_AFTER = 2  # seconds of silence

PROGRAM = """
import os, time
import loomix as mx
kv = mx.kv.create("KIND")
rank, workers, sync = kv.rank, kv.num_workers, "KIND" == "dist_sync"
kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
keys, shapes = ["w", "v", "b"], [(5,), (300, 300), (2, 3)]
kv.init(keys, [mx.nd.zeros(shape) for shape in shapes])
if os.environ["LIFE"] == "1":
    kv.barrier()  # a worker that comes back could not tell a key that is still to come from one that is never pushed
out = [mx.nd.empty(shape) for shape in shapes]
def sums(steps):  # of all workers' pushes 1 to `steps`
    return sum(number * workers + who for number in range(1, steps + 1) for who in range(workers))
def check(good, step):
    for key, array in zip(keys, out):
        values = array.asnumpy()
        assert good(-values).all(), (key, step, values, sums(step))
for step in range(kv.pushes("w") + 1, STEPS + 1):
    kv.push(keys, [mx.nd.full(shape, step * workers + rank) for shape in shapes])
    kv.pull(keys, out)
    check((lambda value: value == sums(step)) if sync else (lambda value: (value > 0) & (value <= sums(STEPS))), step)
    print("step", step, flush=True)
    time.sleep(0.02)
while not os.path.exists("finish"):  # the cluster lives until the schedule is over
    time.sleep(0.02)
kv.barrier()
kv.pull(keys, out)
check(lambda value: value == sums(STEPS), STEPS)
kv.barrier()
print("good", kv.pushes("w"))
"""

DISTURBANCES = (
    ["kill server"] * 3
    + ["kill worker"] * 2
    + ["kill scheduler"] * 2
    + ["kill server and worker", "kill server and scheduler", "kill worker and scheduler"]
    + ["stop server", "stop worker", "stop scheduler"]
)


def disturb(cluster, choose):
    """One of them, until it is over; in words."""
    what = choose.choice(DISTURBANCES)
    how, *roles = what.replace(" and", "").split()
    counts = {"server": cluster.servers, "worker": cluster.workers, "scheduler": 1}
    names = [(role, choose.randrange(counts[role])) for role in roles]
    if how == "stop":
        seconds = choose.choice([0.3, 1, 1.5 * DEAD_AFTER])
        for name in names:
            cluster.kill(*name, signal.SIGSTOP)
        time.sleep(seconds)
        for name in names:
            cluster.kill(*name, signal.SIGCONT)
    else:
        seconds = choose.choice([0, 0.3, 1.5])
        if "server" in roles:
            cluster.wait_until_whole()
        for name in names:
            cluster.kill(*name)
        time.sleep(seconds)
        cluster.start(*names)
        for name in names:
            cluster.wait_for_life(*name)
    return f"{how} {' and '.join(f'{role} {rank}' for role, rank in names)} for {seconds:g} s"


def run(seed, steps=60, folder=None):
    """One schedule; what happened, in words."""
    choose = random.Random(seed)
    workers, servers = choose.randint(2, 3), choose.randint(2, 3)
    kind = choose.choice(["dist_sync", "dist_sync", "dist_async", "dist_ssp"])
    moments = sorted(choose.sample(range(3, steps - 3), choose.randint(2, 5)))
    events = []
    with contextlib.ExitStack() as stack:
        folder = Path(folder or stack.enter_context(tempfile.TemporaryDirectory()))
        program = PROGRAM.replace("STEPS", str(steps)).replace("KIND", kind)
        settings = {"LOOMIX_KV_POLICY": "wait", "LOOMIX_KV_DEAD_AFTER": DEAD_AFTER}
        cluster = stack.enter_context(
            Cluster(folder, program, workers, servers, metrics=True, **settings).start()
        )
        try:
            for moment in moments:
                cluster.wait_for_step("worker", choose.randrange(workers), moment)
                events.append(f"at step {moment} " + disturb(cluster, choose))
            (folder / "finish").touch()
            cluster.succeed()
            for rank in range(workers):
                text = cluster.output("worker", rank)
                assert f"good {steps}\n" in text, text
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            raise AssertionError(
                f"{kind}, {workers} workers, {servers} servers; {'; '.join(events)}: {error}"
            ) from error
    return f"{kind}, {workers} workers, {servers} servers; " + "; ".join(events)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--schedules", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--keep", type=Path, help="folder for what the processes of failed schedules printed")
    options = parser.parse_args()
    failed = 0
    for seed in range(options.seed, options.seed + options.schedules):
        start = time.monotonic()
        folder = tempfile.mkdtemp(prefix=f"seed-{seed}-", dir=options.keep) if options.keep else None
        try:
            what = run(seed, options.steps, folder)
        except AssertionError as error:
            failed += 1
            what = f"FAILED: {error}"
        print(f"seed {seed}: {what}; {time.monotonic() - start:.1f} s", flush=True)
    print(f"{options.schedules - failed} of {options.schedules} schedules exact")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
