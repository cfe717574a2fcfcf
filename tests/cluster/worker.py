# SPDX-License-Identifier: Apache-2.0
"""What each worker of a schedule runs: it pushes and pulls, and writes down what it did and saw.

A push is written down before it is made, so the history has all that may be in a value, whenever the process is killed.
Times are those of the monotonic clock, which all processes of a machine share and no jump changes.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, os.environ["HISTORY_CODE"])

import history
import loomix as mx

PAUSE_S = 0.02  # between steps


class Worker:
    def __init__(self) -> None:
        about = json.loads(Path("history.json").read_text())
        self.keys = [history.Key(**key) for key in about["keys"]]
        self.clipped = about["clipped"]
        self.workers = about["workers"]
        self.loose = about["kind"] == "dist_sync" and about["policy"] == "continue"
        self.life = int(os.environ["LIFE"]) if "RESTORED" not in os.environ else 0
        staleness = {"staleness": about["staleness"]} if about["kind"] == "dist_ssp" else {}
        self.store: Any = mx.kv.create(about["kind"], **staleness)
        self.rank = self.store.rank
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self.file = os.open(f"history-{self.rank}.jsonl", flags, 0o644)
        self.out: dict[Any, Any] = {key.name: mx.nd.zeros(key.shape, dtype=key.dtype) for key in self.keys}

    def write(self, do: str, **what: Any) -> None:
        os.write(self.file, (json.dumps({"do": do, "life": self.life, **what}) + "\n").encode())

    def begin(self) -> None:
        # A step of minus the gradient with the rate 1 is a sum: whole numbers, without rounding.
        self.store.set_optimizer(mx.optimizer.SGD(learning_rate=1))
        for key in self.keys:
            self.store.init(key.name, mx.nd.zeros(key.shape, dtype=key.dtype))
        if self.clipped:
            self.store.init(history.BALLAST, mx.nd.zeros(1, dtype="float64"))
            self.store.set_clip_global_norm(history.NORM)
        # One that comes back could not tell a key that is still to come from one that is never pushed.
        self.barrier(1)

    def barrier(self, position: int) -> None:
        begin = time.monotonic_ns()
        self.store.barrier(position)
        self.write("barrier", position=position, begin=begin, end=time.monotonic_ns())

    def step(self) -> None:
        for key in self.keys:
            mark = self.store.pushes(key.name) + 1
            factor = history.enlarged(mark) if self.clipped else 1
            value = mx.nd.array(-factor * key.push(self.rank, mark), dtype=key.dtype)
            self.write("push", key=key.name, mark=mark, begin=time.monotonic_ns())
            self.store.push(key.name, value)
            self.write("pushed", key=key.name, mark=mark, number=self.store.pushes(key.name))
        if self.clipped:
            part = history.ballast(self.rank, self.workers, self.store.pushes(history.BALLAST) + 1)
            self.store.push(history.BALLAST, mx.nd.array([-part], dtype="float64"))
        self.pull(last=False)

    def pull(self, last: bool) -> None:
        begin = time.monotonic_ns()
        numbers = [self.store.pushes(key.name) for key in self.keys]
        for key in self.keys:
            self.store.pull(key.name, self.out[key.name])
        for key, number in zip(self.keys, numbers, strict=True):
            value = self.out[key.name].astype("float64").asnumpy()
            what = {"key": key.name, "number": number, "begin": begin, "end": time.monotonic_ns()}
            self.write("pull", **what, last=last, runs=key.runs(value))

    def run(self) -> None:
        self.begin()
        if self.life == 0:  # of a cluster that goes on from a snapshot: what is in it?
            self.pull(last=False)
            return self.barrier(2)
        first = self.keys[0]
        last = Path("last")  # appears when the schedule is over: the step after which all end
        while self.store.pushes(first.name) < (int(last.read_text()) if last.exists() else first.pushes):
            self.step()
            print("step", self.store.pushes(first.name), flush=True)
            time.sleep(PAUSE_S)
        # Where rounds go on without workers, one that comes back at the end may make a round more than the others, who
        # must not wait for it then.
        if not self.loose:
            self.barrier(2)
        self.pull(last=True)
        if not self.loose:
            self.barrier(3)
        print("good", flush=True)


Worker().run()
