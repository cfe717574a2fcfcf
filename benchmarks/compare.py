#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a benchmark case beside its peers, in turns, and prints medians and ratios.

    python benchmarks/compare.py training                     # every case, with every framework that is found
    python benchmarks/compare.py imperative add_pushed --rounds 15
    python benchmarks/compare.py training lenet --python mxnet=MXNET_ENV/bin/python --python torch=TORCH_ENV/bin/python

A peer runs in an interpreter of its own: MXNet 1.9.1 needs Python 3.11 and numpy 1.23.5. `--save` adds the result, with
machine, threads, wait policy and commit, to benchmarks/results.json; take.py takes all that the README shows.
"""

import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import sys
from pathlib import Path

import kept

HERE = Path(__file__).parent
# own: loomix without oneDNN; module: by Module instead of Gluon; c: libloomix_predict.so; plain: Python alone
FRAMEWORKS = ("loomix", "own", "module", "c", "mxnet", "torch", "onnxruntime", "openvino", "plain")


class Worker:
    """One framework at one case, in a process of its own.

    It is stopped while others have their turn: with an active wait policy its threads would go on to spin."""

    def __init__(self, python, group, case, framework, one_thread):
        path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "PYTHONPATH": path, "PYTHON_WITH_LOOMIX": sys.executable}
        if one_thread:
            env.update(OMP_NUM_THREADS="1", MXNET_ENGINE_TYPE="NaiveEngine")
        self.framework = framework
        self.seconds = []
        self.process = subprocess.Popen(
            [python, "-W", "ignore", str(HERE / group / "worker.py"), case, framework]
            + ["processor"] * one_thread,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        self._read()
        self.process.send_signal(signal.SIGSTOP)

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.framework} ended: {self.process.stderr.read().strip()[-2000:]}")
        return line

    def go(self, count):
        """Times COUNT runs and keeps the seconds of one."""
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(f"go {count}\n")
        self.process.stdin.flush()
        self.seconds.append(float(self._read()))
        self.process.send_signal(signal.SIGSTOP)

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait(timeout=60)


def measure(case, frameworks, pythons, args):
    """Seconds a run: {framework: list of one a round}."""
    workers = [Worker(pythons[f], args.group, case, f, args.one_thread) for f in frameworks]
    counts = {}
    for worker in workers:
        for _ in range(2):  # an iterator has a few batches ready at first
            worker.go(5)
        counts[worker.framework] = max(1, round(args.seconds / worker.seconds.pop()))
        worker.seconds.clear()
    for _ in range(args.rounds):
        for worker in workers:
            worker.go(counts[worker.framework])
    for worker in workers:
        worker.close()
    return {worker.framework: worker.seconds for worker in workers}


@contextlib.contextmanager
def busy(count):
    """So many processes that want a core all the time."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def show(value):
    """A time with the unit that fits."""
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def report(group, case, seconds):
    """Prints one line a framework; returns what is saved."""
    medians = {f: statistics.median(s) for f, s in seconds.items()}
    row = {"group": group, "case": case, "medians": medians}
    print(f"{group}/{case}")
    for framework, median in medians.items():
        spread = f"{show(min(seconds[framework]))} to {show(max(seconds[framework]))}"
        ratio = ""
        if framework != "loomix" and "loomix" in medians:
            pairs = [ours / theirs for ours, theirs in zip(seconds["loomix"], seconds[framework])]
            row.setdefault("ratios", {})[framework] = statistics.median(pairs)
            ratio = f"   loomix takes {statistics.median(pairs):.2f} x"
        print(f"  {framework:8} {show(median):>10}   ({spread}){ratio}")
    return row


def list_slower(rows, peer):
    """Prints the cases in which Loomix takes longer than the peer, the worst first."""
    slower = [(row["ratios"][peer], row["case"]) for row in rows if row.get("ratios", {}).get(peer, 0) > 1]
    compared = sum(peer in row.get("ratios", {}) for row in rows)
    print(f"slower than {peer}: {len(slower)} of {compared}")
    for ratio, case in sorted(slower, reverse=True):
        print(f"  {case:32} {ratio:6.2f} x")


def main():
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("group", help="folder below benchmarks/ with a worker.py")
    parser.add_argument("cases", nargs="*", help="default: all")
    parser.add_argument(
        "--python", action="append", default=[], metavar="FRAMEWORK=PATH", help="interpreter of a framework"
    )
    parser.add_argument("--only", nargs="+", choices=FRAMEWORKS, default=FRAMEWORKS)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.5, help="length of one turn")
    parser.add_argument(
        "--one-thread", action="store_true", help="one thread, and its processor time: for a busy machine"
    )
    parser.add_argument("--busy", type=int, default=0, help="so many busy processes run beside it")
    parser.add_argument("--save", action="store_true", help="keep the result in benchmarks/results.json")
    parser.add_argument("--slower-than", choices=FRAMEWORKS[1:], help="list the slower cases at the end")
    args = parser.parse_args()
    if args.save and (args.one_thread or args.busy):
        parser.error("what is kept is measured with all threads, and nothing beside it")
    here = dict.fromkeys(("loomix", "own", "module", "c", "plain"), sys.executable)
    pythons = {**here, **dict(item.split("=", 1) for item in args.python)}
    pythons = {framework: os.path.expanduser(path) for framework, path in pythons.items()}
    sys.path.insert(0, str(HERE / args.group))
    sys.path.insert(0, str(HERE))
    from worker import CASES  # pylint: disable=import-outside-toplevel  # the group decides which

    missing = [f for f in args.only if f not in pythons and any(f in case for case in CASES.values())]
    if missing:
        print(f"without {', '.join(missing)}: give its interpreter by --python {missing[0]}=PATH")

    rows = []
    for case in args.cases or CASES:
        frameworks = [f for f in args.only if f in pythons and f in CASES[case]]
        with busy(args.busy):
            seconds = measure(case, frameworks, pythons, args)
        rows.append(report(args.group, case, seconds))
    if args.slower_than:
        list_slower(rows, args.slower_than)
    if args.save:
        kept.save(rows)


if __name__ == "__main__":
    main()
