#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scenarios of clusters of real processes, each again and again beside busy loops.

    python tests/dist/scenarios.py --times 100 --load 3 --tests build/tests/test_comm

First ps-lite's own: barriers, counted requests, asynchronous sums, two customers in a process. Then what it fails:
a handler that is set late, each role killed, a server started again in mid-run, loss, forged and random messages.
Every run is a cluster of its own whose values must be exact, or whose survivors must name who was killed in time.
Rows of the endpoint alone run its C++ tests (`--tests`), on every transport, or on a network that loses packets.
Prints a table; ends with 1 where a run went wrong, and says how.
"""

import argparse
import concurrent.futures
import contextlib
import itertools
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from fuzz import CLUSTER, Stranger, pester, ports
from real_cluster import Cluster

DEADLINE = 10  # seconds, of the requests of those who lost somebody
SLACK = 20  # what a loaded machine may take to start and end processes besides

CREATE = """
import os, threading, time
import loomix as mx
kv = mx.kv.create("KIND")
rank, workers = kv.rank, kv.num_workers
def full(value, shape=(5,)):
    return mx.nd.full(shape, value)
def pulled(key, shape=(5,)):
    out = mx.nd.empty(shape)
    kv.pull(key, out)
    return out.asnumpy()
def start(keys, shape=(5,)):
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
    kv.init(keys, [mx.nd.zeros(shape) for key in keys])
    kv.barrier()
"""

BARRIERS = """
for number in range(10):
    open(f"{number}-{rank}", "w").close()
    kv.barrier()
    came = [who for who in range(workers) if os.path.exists(f"{number}-{who}")]
    assert len(came) == workers, (number, came)
"""

# Values are sums of ones, so they count what was applied. The large key is cut: each push goes to every server.
REQUESTS = """
large = (300, 300)
start(["large"], large)
for number in range(1, 101):
    kv.push("large", full(-1, large))
    values = pulled("large", large)
    assert (values >= number).all() and (values <= 100 * workers).all(), (number, values)
assert kv.pushes("large") == 100
kv.barrier()
assert (pulled("large", large) == 100 * workers).all()
"""

SUMS = """
keys = [f"key {i}" for i in range(20)]
start(keys)
for number in range(50):
    kv.push(keys, [full(-(rank + 1)) for key in keys])
kv.barrier()
for key in keys:
    assert (pulled(key) == 50 * sum(range(1, workers + 1))).all(), (key, pulled(key))
kv.barrier()
for number in range(10):
    out = full(0)
    kv.pushpull("key 0", full(-1), out=out)
    assert (out.asnumpy() >= 50 * sum(range(1, workers + 1)) + number + 1).all(), out
kv.barrier()
assert (pulled("key 0") == 50 * sum(range(1, workers + 1)) + 10 * workers).all()
"""

CUSTOMERS = """
start(["a", "b"])
wrong = []
def customer(key, scale):
    try:
        for number in range(1, 51):
            kv.push(key, full(-scale))
            values = pulled(key)
            assert (values == number * workers * scale).all(), (key, number, values)
    except BaseException as error:
        wrong.append(error)
both = [threading.Thread(target=customer, args=each) for each in (("a", 1), ("b", 1000))]
for one in both: one.start()
for one in both: one.join()
assert not wrong, wrong
"""

STEPS = """
start(["w"])
for step in range(1, 61):
    kv.push("w", full(-(step * workers + rank)))
    expected = sum(number * workers + who for number in range(1, step + 1) for who in range(workers))
    assert (pulled("w") == expected).all(), (step, pulled("w"), expected)
    print("step", step, flush=True)
    time.sleep(PAUSE)
"""

# Of a key that every server has a share of.
ENDLESS = """
large = (300, 300)
start(["large"], large)
for step in range(1, 1000000):
    kv.push("large", full(-1, large))
    assert (pulled("large", large) == step * workers).all()
    print("step", step, flush=True)
    time.sleep(PAUSE)
"""

END = """
kv.barrier()
print("good")
"""


def program(text, kind="dist_sync", pause=0.02):
    return (CREATE + text + END).replace("KIND", kind).replace("PAUSE", str(pause))


def expect_good(cluster):
    cluster.succeed()
    for rank in range(cluster.workers):
        text = cluster.output("worker", rank)
        assert "good\n" in text, text


# ---- ps-lite's own -------------------------------------------------------------------------------


def plain(text, kind):
    def scenario(folder, _):
        with Cluster(folder, program(text, kind), workers=3).start() as cluster:
            expect_good(cluster)

    return scenario


# ---- what ps-lite fails --------------------------------------------------------------------------


def late(folder, number):
    """All processes in any order, with pauses: who is there sends to who is not."""
    dice = random.Random(number)
    with Cluster(folder, program(STEPS, pause=0)) as cluster:
        names = [("scheduler", 0), *itertools.product(("server", "worker"), range(2))]
        for name in dice.sample(names, len(names)):
            cluster.start(name)
            time.sleep(dice.choice([0, 0.2, 0.5]))
        expect_good(cluster)


def killed(role):
    """All who are left end with an error that names who was killed."""

    def scenario(folder, number):
        settings = {"LOOMIX_KV_DEADLINE": DEADLINE, "LOOMIX_KV_REPLICAS": 1}
        text = program(ENDLESS)
        with Cluster(folder, text, **settings).start() as cluster:
            cluster.wait_for_step("worker", 0, 1 + number % 20)
            rank = 0 if role == "scheduler" else number % 2
            name = role if role == "scheduler" else f"{role} {rank}"
            since = time.monotonic()
            cluster.kill(role, rank)
            codes = {kind: cluster.codes(kind) for kind in ("worker", "server", "scheduler")}
            took = time.monotonic() - since
            assert took < DEADLINE + SLACK, took
            for (kind, which), process in cluster.processes.items():
                if (kind, which) == (role, rank):
                    continue
                said = cluster.output(kind, which)
                if kind == "worker":
                    assert process.returncode == 1, (codes, said)
                assert name in said, f"{kind} {which} does not name {name}: {said[-1000:]}"

    return scenario


def restarted(folder, number):
    """A server is killed and started again, twice; the second time the other one."""
    dice = random.Random(number)
    text = program(STEPS.replace("61", "121"))
    with Cluster(folder, text, metrics=True).start() as cluster:
        for moment, rank in ((dice.randrange(1, 30), number % 2), (dice.randrange(40, 80), 1 - number % 2)):
            cluster.wait_for_step("worker", 0, moment)
            cluster.wait_until_whole()
            cluster.kill("server", rank)
            time.sleep(dice.choice([0, 0.3]))
            cluster.start(("server", rank))
        expect_good(cluster)


def forged(folder, number):
    """Strangers at a scheduler that waits for its cluster, and at every port while this works."""
    stranger = Stranger(number)
    dice = random.Random(number)
    text = program(STEPS)
    with Cluster(folder, text, LOOMIX_KV_CLUSTER=CLUSTER) as cluster:
        cluster.start(("scheduler", 0))
        scheduler = cluster.processes["scheduler", 0]
        cluster.wait_until(lambda: ports(scheduler.pid), "the scheduler's port")
        bytes_ = [dice.randbytes(dice.randrange(1, 3000)) for _ in range(13)]
        for port in ports(scheduler.pid):
            pester(port, bytes_ + [stranger.connection() for _ in range(13)])
        cluster.start(*itertools.product(("server", "worker"), range(2)))
        cluster.wait_for("worker", 0, "step 5\n")
        everywhere = [port for one in cluster.processes.values() for port in ports(one.pid)]
        connections = [stranger.connection() for _ in range(3)]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(pester, everywhere, itertools.repeat(connections)))
        expect_good(cluster)


# ---- all of them ---------------------------------------------------------------------------------

OWN = {
    "connect and barrier": plain(BARRIERS, "dist_sync"),
    "100 requests to every server": plain(REQUESTS, "dist_async"),
    "50 asynchronous pushes, push-pull": plain(SUMS, "dist_async"),
    "two customers in a process": plain(CUSTOMERS, "dist_sync"),
}
HARD = {
    "handler set late": late,
    **{f"{role} killed": killed(role) for role in ("worker", "server", "scheduler")},
    "server restarted in mid-run": restarted,
    "forged and random messages": forged,
}
# Of the endpoint alone: the C++ tests, by whether they are ps-lite's own.
TESTS = {
    "endpoint: 100 requests to every node": (True, "*Scenarios.AHundredRequests*"),
    "endpoint: two customers": (True, "*Scenarios.TwoCustomersInAProcess*"),
    "endpoint: handler set late": (False, "*Scenarios.AHandlerSetLate*"),
    "endpoint: 10 % loss with resending": (False, "*NothingIsLostOrDoubled*"),
}


def test_program(path, pattern):
    def scenario(folder, _):
        done = subprocess.run(
            [path, f"--gtest_filter={pattern}"], cwd=folder, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0 and "  PASSED  ] 0 " not in done.stdout, done.stdout[-3000:] + done.stderr

    return scenario


def repeat(scenario, times, jobs, kept):
    """Seconds of each good run, and what the others said."""

    def one(number):
        folder = Path(tempfile.mkdtemp(dir=kept))
        since = time.monotonic()
        try:
            scenario(folder, number)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            return None, f"run {number} in {folder}: {str(error)[-1500:]}"
        shutil.rmtree(folder, ignore_errors=True)
        return time.monotonic() - since, None

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(one, range(1, times + 1)))
    return [s for s, _ in results if s is not None], [text for _, text in results if text]


@contextlib.contextmanager
def busy_loops(count):
    """Processes that do nothing else; they end with this one."""
    code = f"import os\nwhile os.getppid() == {os.getpid()}:\n    for _ in range(100000): pass"
    loops = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=100, help="runs of each of ps-lite's own scenarios")
    parser.add_argument("--hard", type=int, help="runs of each of the others; as many by default")
    parser.add_argument("--load", type=int, default=3, help="busy loops beside them")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--tests", type=Path, help="test_comm of a build")
    parser.add_argument("--only", default="", help="rows whose names hold this")
    parser.add_argument("--keep", type=Path, help="folder for what the processes of failed runs printed")
    options = parser.parse_args()
    hard = options.times if options.hard is None else options.hard
    rows = [(name, one, options.times) for name, one in OWN.items()]
    rows += [(name, one, hard) for name, one in HARD.items()]
    if options.tests:
        rows += [
            (name, test_program(options.tests.resolve(), pattern), options.times if own else hard)
            for name, (own, pattern) in TESTS.items()
        ]
    good = True
    print(f"{'scenario':<38}{'runs':>6}{'good':>6}{'median s':>10}{'longest s':>11}")
    with contextlib.ExitStack() as stack:
        stack.enter_context(busy_loops(options.load))
        kept = options.keep or stack.enter_context(tempfile.TemporaryDirectory())
        for name, scenario, times in rows:
            if options.only not in name or not times:
                continue
            seconds, failures = repeat(scenario, times, options.jobs, kept)
            middle, longest = (statistics.median(seconds), max(seconds)) if seconds else (0, 0)
            print(f"{name:<38}{times:>6}{len(seconds):>6}{middle:>10.2f}{longest:>11.2f}", flush=True)
            for failure in failures:
                print(f"FAILED: {failure}", flush=True)
            good = good and not failures
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
