#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random schedules of failures over real processes, whose workers' histories are checked.

    python tests/cluster/schedules.py --schedules 20 --seed 1 --jobs 2

A schedule follows from its seed: the mode, the policy, and what happens. Nodes are killed and started again, or
stopped; single nodes are cut off from each other, in one or both directions; clocks jump; disks with snapshots are slow
or full. Meanwhile workers push and pull, and write down what they see (``worker.py``). Then ``history.py`` says whether
an update was lost, doubled or torn, whether a read went backwards, and whether ``dist_ssp`` kept its bound. Where there
are snapshots, a new cluster goes on from the newest, and its first reads are checked, too.

Prints a line a schedule, and of one that failed the seed, the times of all events and what is wrong. ``--seed N
--schedules 1 --keep FOLDER`` repeats one and keeps what its processes wrote if it fails. What happens follows from the
seed alone, when it happens does not.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import json
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from history import History, Key, Violation
from network import Network, alone
from real_cluster import Cluster

HERE = Path(__file__).resolve().parent
Name = tuple[str, int]

DEAD_AFTER = 2  # seconds of silence
TIMEOUT = 100  # seconds, for what must come: a machine may be busy with other things
COPIES = "until all copies are there"
PUSHES = 600  # of a worker and key, at most
MARGIN = 40  # steps that nobody makes while the last one is told
GRACE_S = 2 * DEAD_AFTER + 4  # until a worker that was left out is back for sure


@dataclass(frozen=True)
class Event:
    what: str  # kill, pause, cut, clock, slow disk, full disk, end
    names: tuple[Name, ...]
    seconds: float = 0
    both_ways: bool = True
    killed: tuple[Name, ...] = ()  # of a cut: who is killed meanwhile

    def __str__(self) -> str:
        names = [f"{role} {rank}" if role != "scheduler" else role for role, rank in self.names]
        if self.what == "cut":
            way = "from" if self.both_ways else "on its way to"
            text = f"cut {names[0]} {way} {names[1]} for {self.seconds:g} s"
            return text + "".join(f", {role} {rank} killed meanwhile" for role, rank in self.killed)
        if self.what == "clock":
            return f"clock of {names[0]} by {self.seconds:+g} s"
        return f"{self.what} {' and '.join(names)} for {self.seconds:g} s"


@dataclass
class Plan:
    """All that follows from a seed."""

    seed: int
    kind: str
    policy: str
    workers: int
    servers: int
    staleness: int
    snapshots: bool
    events: list[tuple[int, Event]] = field(default_factory=list)  # steps before it
    lost: int = -1  # a worker that is killed at the end and not started again
    clipped: bool = False  # by the norm of all gradients

    def __str__(self) -> str:
        kind = f"{self.kind} by {self.staleness}" if self.kind == "dist_ssp" else self.kind
        kind += ", clipped" * self.clipped
        return f"{kind}, {self.policy}, {self.workers} workers, {self.servers} servers"

    @staticmethod
    def draw(seed: int, with_cuts: bool) -> Plan:
        choose = random.Random(f"schedule {seed}")
        plan = Plan(
            seed,
            kind=choose.choice(["dist_sync", "dist_sync", "dist_async", "dist_ssp"]),
            policy=choose.choice(["wait", "wait", "continue", "continue", "fail"]),
            workers=choose.randint(2, 3),
            servers=choose.randint(2, 3),
            staleness=choose.randint(0, 3),
            snapshots=choose.random() < 0.4,
        )
        for _ in range(choose.randint(1, 3)):
            event = plan.draw_event(choose)
            if event.what == "cut" and not with_cuts:
                event = Event("pause", event.names[:1], event.seconds)
                event = event if plan.survives(event) else replace(event, seconds=0.3)
            plan.events.append((choose.randint(3, 20), event))
        if plan.policy != "wait" and choose.random() < 0.4:
            plan.lost = choose.randrange(plan.workers)
        # The norm of a round without some workers is another one, and values would not be exact.
        if plan.kind == "dist_sync" and plan.policy != "continue":
            plan.clipped = choose.random() < 0.5
        return plan

    def names(self, role: str) -> list[Name]:
        counts = {"scheduler": 1, "server": self.servers, "worker": self.workers}
        return [(role, rank) for rank in range(counts[role])]

    def draw_event(self, choose: random.Random) -> Event:
        while True:
            event = self.draw_any_event(choose)
            if self.survives(event):
                return event

    def survives(self, event: Event) -> bool:
        """By policy `fail` no worker may die, or be silent for the scheduler for too long."""
        if self.policy != "fail":
            return True
        roles = [role for role, _ in event.names]
        dying = [*(roles if event.what == "kill" else []), *(role for role, _ in event.killed)]
        silent = event.what == "pause" or (event.what == "cut" and "scheduler" in roles)
        return "worker" not in dying and not (
            silent and "worker" in roles and event.seconds >= DEAD_AFTER / 2
        )

    def draw_any_event(self, choose: random.Random) -> Event:
        roles = ["scheduler", "server", "worker"]
        what = choose.choice(
            ["kill"] * 4
            + ["pause"] * 2
            + ["cut"] * 5
            + ["clock"]
            + ["full disk", "slow disk"] * self.snapshots
        )
        if what == "kill":
            chosen = choose.sample(roles, choose.choice([1, 1, 2]))
            return Event(
                what, tuple(choose.choice(self.names(role)) for role in chosen), choose.choice([0, 0.3, 1.5])
            )
        if what == "pause":
            name = choose.choice(self.names(choose.choice(roles)))
            return Event(what, (name,), choose.choice([0.3, 1, 1.5 * DEAD_AFTER]))
        if what == "clock":
            name = choose.choice(self.names(choose.choice(roles)))
            return Event(what, (name,), choose.choice([-1e6, -3600, -30, 30, 3600, 1e6]))
        if what == "cut":
            pairs = [
                ["server", "server"],
                ["server", "worker"],
                ["scheduler", "server"],
                ["scheduler", "worker"],
            ]
            one, other = choose.sample(choose.choice(pairs), 2)
            first = choose.choice(self.names(one))
            second = choose.choice([name for name in self.names(other) if name != first])
            killed = [name for role in ("scheduler", "worker") for name in self.names(role)]
            return Event(
                what,
                (first, second),
                choose.choice([0.5, 1.5 * DEAD_AFTER, 2.5 * DEAD_AFTER]),
                both_ways=choose.random() < 0.7,
                killed=tuple(choose.sample(killed, 1)) if choose.random() < 0.2 else (),
            )
        return Event(what, tuple(self.names("server")), choose.choice([1, 3]))


def disturbances(folder: Path) -> Path:
    """Compiles the library that disturbs clocks and disks."""
    library = folder / "disturbed.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, HERE / "disturbed.c"], check=True)
    return library


def write_disturbance(path: Path, clock_s: float = 0, write_ms: float = 0, full: bool = False) -> None:
    """What the library does from now on in the processes that were told of this file."""
    with open(path, "r+b" if path.exists() else "wb") as file:
        file.write(struct.pack("3q", int(clock_s), int(write_ms), full))


class DisturbedCluster(Cluster):
    """A cluster with a network of its own, if there may be one, and clocks and disks that do what they are told."""

    def __init__(self, folder: Path, plan: Plan, network: Network | None, library: Path, **more: Any) -> None:
        settings: dict[str, Any] = {
            "LOOMIX_KV_POLICY": plan.policy,
            "LOOMIX_KV_DEAD_AFTER": DEAD_AFTER,
            "LOOMIX_KV_DEADLINE": 60,
            "LOOMIX_METRICS_HOST": "0.0.0.0",
            "LOOMIX_LOG_LEVEL": "info",
            "OMP_NUM_THREADS": "1",
            "HISTORY_CODE": str(HERE),
            "LD_PRELOAD": str(library),
            "DISTURBED_FOLDER": str(folder / "snapshots"),
        }
        if plan.snapshots:
            settings.update(LOOMIX_KV_SNAPSHOT_DIR=folder / "snapshots", LOOMIX_KV_SNAPSHOT_EVERY=5)
        if network:
            settings.update(DMLC_PS_ROOT_URI=network.addresses["scheduler", 0])
            settings.update(LOOMIX_KV_TRUSTED_NETWORK=1, LOOMIX_KV_CLUSTER="schedules")
        settings.update(more)
        program = (HERE / "worker.py").read_text()
        super().__init__(
            folder, program, plan.workers, plan.servers, metrics=True, timeout=TIMEOUT, **settings
        )
        self.network = network
        (folder / "snapshots").mkdir()
        for role in ("scheduler", "server", "worker"):
            for name in plan.names(role):
                self.disturb(name)

    def disturb(self, name: Name, **how: Any) -> None:
        write_disturbance(self.disturbance(name), **how)

    def disturbance(self, name: Name) -> Path:
        return self.folder / f"disturbance-{name[0]}-{name[1]}"

    def around(self, role: str, rank: int) -> tuple[list[str], dict[str, str]]:
        inside = self.network.inside((role, rank)) if self.network else []
        return inside, {"DISTURBED_BY": str(self.disturbance((role, rank)))}

    def host(self, role: str, rank: int) -> str:
        return self.network.addresses[role, rank] if self.network else super().host(role, rank)

    def steps(self, rank: int) -> int:
        steps = re.findall(r"^step (\d+)\n", self.output("worker", rank), re.M)
        return int(steps[-1]) if steps else 0


class Schedule:
    def __init__(self, plan: Plan, cluster: DisturbedCluster) -> None:
        self.plan = plan
        self.cluster = cluster
        self.start = time.monotonic_ns()
        self.timeline: list[str] = []
        self.excuses: list[tuple[int, int, int]] = []
        self.clocks: dict[Name, float] = {}

    def since(self, at: int) -> str:
        return f"{(at - self.start) / 1e9:.2f} s"

    def write_about(self, keys: list[Key]) -> None:
        about = {
            "kind": self.plan.kind,
            "policy": self.plan.policy,
            "staleness": self.plan.staleness,
            "workers": self.plan.workers,
            "keys": [dataclasses.asdict(key) for key in keys],
            "excuses": self.excuses,
            "clipped": self.plan.clipped,
        }
        (self.cluster.folder / "history.json").write_text(json.dumps(about))

    def run(self) -> None:
        choose = random.Random(f"workers {self.plan.seed}")
        for steps, event in self.plan.events:
            rank = choose.randrange(self.plan.workers)
            before = self.cluster.steps(rank)
            self.cluster.wait_for_step("worker", rank, min(before + steps, PUSHES))
            self.happen(event)
        if self.plan.lost >= 0:
            name = "worker", self.plan.lost
            with self.noted(f"kill {name[0]} {name[1]} for good", [name]):
                self.cluster.kill(*name)
            del self.cluster.processes[name]
        if self.plan.lost >= 0 and self.plan.policy == "fail":
            for (role, rank), process in self.cluster.processes.items():
                assert process.wait(self.cluster.timeout) == 1, self.cluster.output(role, rank)[-2000:]
                text = self.cluster.output(role, rank)
                assert f"worker {self.plan.lost}" in text, f"{role} {rank} names nobody: {text[-2000:]}"
            return
        if self.plan.lost >= 0:  # the others go on
            rank = (self.plan.lost + 1) % self.plan.workers
            self.cluster.wait_for_step("worker", rank, min(self.cluster.steps(rank) + 10, PUSHES))
        self.finish()

    def finish(self) -> None:
        """Ends the workers after the same step, when all go on: one that comes back from a cut may be late."""
        for role, rank in self.cluster.processes:
            if role == "worker":
                self.cluster.wait_for_step(role, rank, min(self.cluster.steps(rank) + 1, PUSHES))
        last = MARGIN + max(self.cluster.steps(rank) for rank in range(self.plan.workers))
        (self.cluster.folder / "next").write_text(str(min(last, PUSHES)))
        (self.cluster.folder / "next").rename(self.cluster.folder / "last")
        self.cluster.succeed()
        for role, rank in self.cluster.processes:
            if role == "worker":
                text = self.cluster.output(role, rank)
                assert "good\n" in text, text[-2000:]

    @contextlib.contextmanager
    def noted(self, what: str, names: list[Name]) -> Iterator[None]:
        """With its times, also as an excuse of workers."""
        begin = time.monotonic_ns()
        index = len(self.timeline)
        self.timeline.append(f"{self.since(begin)}: {what} ...")
        yield
        end = time.monotonic_ns()
        self.timeline[index] = f"{self.since(begin)} to {self.since(end)}: {what}"
        self.excuses += [(rank, begin, end + int(GRACE_S * 1e9)) for role, rank in names if role == "worker"]

    def happen(self, event: Event) -> None:
        if event.what in ("kill", "cut"):
            self.cluster.wait_until_whole()
        with self.noted(str(event), [*event.names, *event.killed]):
            getattr(self, event.what.replace(" ", "_"))(event)
        with self.noted(COPIES, []):
            self.cluster.wait_until_whole()

    def kill(self, event: Event) -> None:
        for name in event.names:
            self.cluster.kill(*name)
        time.sleep(event.seconds)
        self.cluster.start(*event.names)
        for name in event.names:
            self.cluster.wait_for_life(*name)

    def pause(self, event: Event) -> None:
        for name in event.names:
            self.cluster.kill(*name, signal.SIGSTOP)
        time.sleep(event.seconds)
        for name in event.names:
            self.cluster.kill(*name, signal.SIGCONT)

    def cut(self, event: Event) -> None:
        network = self.cluster.network
        assert network is not None
        one, other = event.names
        ways = [(one, other), (other, one)] if event.both_ways else [(one, other)]
        for way in ways:
            network.cut(*way)
        for name in event.killed:
            self.cluster.kill(*name)
        time.sleep(event.seconds)
        if event.killed:
            self.cluster.start(*event.killed)
        for way in ways:
            network.heal(*way)
        for name in event.killed:
            self.cluster.wait_for_life(*name)

    def clock(self, event: Event) -> None:
        self.clocks[event.names[0]] = event.seconds
        self.cluster.disturb(event.names[0], clock_s=event.seconds)

    def full_disk(self, event: Event) -> None:
        self.disks(event, full=True)

    def slow_disk(self, event: Event) -> None:
        self.disks(event, write_ms=300)

    def disks(self, event: Event, **how: Any) -> None:
        for name in event.names:
            self.cluster.disturb(name, clock_s=self.clocks.get(name, 0), **how)
        time.sleep(event.seconds)
        for name in event.names:
            self.cluster.disturb(name, clock_s=self.clocks.get(name, 0))


def keys_of(plan: Plan) -> list[Key]:
    """Small ones of each type, and one that is cut over the servers."""

    def key(name: str | int, dtype: str, records: int, shards: int = 1) -> Key:
        return Key(name, dtype, plan.workers, PUSHES, records, shards)

    small = [key("w", "float64", 2), key("v", "float16", 2), key("b", "bfloat16", 1)]
    return [*small, key("large", "float32", 720, plan.servers)]


def look_at_snapshot(plan: Plan, network: Network | None, library: Path, folder: Path) -> History:
    """What a new cluster finds in the snapshots of the one before, as pulls that follow that one's pushes."""
    again = folder / "restored"
    again.mkdir()
    shutil.copy(folder / "history.json", again)
    settings = {"LOOMIX_KV_SNAPSHOT_DIR": folder / "snapshots", "LOOMIX_KV_RESTORE": 1, "RESTORED": 1}
    with DisturbedCluster(again, plan, network, library, **settings).start() as cluster:
        cluster.succeed()
    history, found = History.read(folder), History.read(again)
    for records, more in zip(history.records, found.records, strict=True):
        pushes = [record for record in records if record["do"] in ("push", "pushed")]
        records[:] = [*pushes, *(record for record in more if record["do"] == "pull")]
    history.staleness = PUSHES  # the bound is one of pulls, and this was none
    return history


def run(seed: int, folder: Path, with_cuts: bool, library: Path) -> str:
    """One schedule; what happened, in words. Raises AssertionError with times and reasons."""
    plan = Plan.draw(seed, with_cuts)
    names = [name for role in ("scheduler", "server", "worker") for name in plan.names(role)]
    keys = keys_of(plan)
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(contextlib.closing(Network(names))) if with_cuts else None
        cluster = stack.enter_context(DisturbedCluster(folder, plan, network, library))
        schedule = Schedule(plan, cluster)
        schedule.write_about(keys)
        problems = []
        violations: list[Violation] = []
        looked = False
        try:
            cluster.start()
            schedule.run()
            schedule.write_about(keys)
            # A worker that is left out is behind in the snapshot, too, and reads by dist_ssp would wait for its pushes.
            waits = plan.kind == "dist_ssp" and plan.policy == "continue"
            if looked := not waits and any((folder / "snapshots").iterdir()):
                restored = look_at_snapshot(plan, network, library, folder)
                assert any(record["do"] == "pull" for records in restored.records for record in records)
                violations += [replace(one, kind=f"snapshot: {one.kind}") for one in restored.check()]
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            problems.append(str(error))
    schedule.write_about(keys)
    history = History.read(folder)
    pulls = sum(record["do"] == "pull" for records in history.records for record in records)
    violations += history.check()
    problems[:0] = [f"{schedule.since(one.at)}: {one}" for one in violations[:10]]
    if problems:
        times = "\n  ".join(schedule.timeline)
        what = f"{len(violations)} violations in {pulls} pulls"
        raise AssertionError(f"{plan}\n  {times}\n{what}\n" + "\n".join(problems))
    events = [event for event in schedule.timeline if not event.endswith(COPIES)]
    return f"{plan}: {'; '.join(events)}; {pulls} pulls" + "; snapshot" * looked


def run_alone(seed: int, inside: list[str], library: Path, keep: Path | None) -> tuple[bool, str]:
    """In a process of its own, with which all that it started ends."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary) if keep is None else keep / f"seed-{seed}"
        shutil.rmtree(folder, ignore_errors=True)  # of an earlier run
        folder.mkdir(parents=True)
        command = [*inside, sys.executable, __file__, "--one", str(folder), "--seed", str(seed)]
        command += ["--library", str(library), *(["--cuts"] if inside else [])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0 and keep:
            shutil.rmtree(folder)
    good = done.returncode == 0
    text = (done.stdout + done.stderr).strip()
    result = "" if good else "FAILED: "
    return good, f"seed {seed}: {result}{text}; {time.monotonic() - start:.1f} s"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--schedules", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clipped", action="store_true", help="only such that clip gradients by their norm")
    parser.add_argument("--jobs", type=int, default=1, help="schedules at once")
    parser.add_argument("--keep", type=Path, help="folder for what the processes of failed schedules write")
    parser.add_argument("--show", action="store_true", help="say what happens in each schedule, and run none")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--library", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--cuts", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        try:
            print(run(options.seed, options.one, options.cuts, options.library))
        except AssertionError as error:
            print(error)
            return 1
        return 0
    inside, reason = alone()
    if reason:
        print(f"nobody is cut off from others: {reason}", flush=True)
    wanted = (
        seed
        for seed in itertools.count(options.seed)
        if not options.clipped or Plan.draw(seed, not reason).clipped
    )
    seeds = list(itertools.islice(wanted, options.schedules))
    if options.show:
        for seed in seeds:
            plan = Plan.draw(seed, not reason)
            events = [str(event) for _, event in plan.events]
            events += [f"worker {plan.lost} is killed for good"] * (plan.lost >= 0)
            print(f"seed {seed}: {plan}: {'; '.join(events)}")
        return 0
    failed = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        library = disturbances(Path(folder))
        for seed, (good, text) in zip(
            seeds,
            pool.map(lambda seed: run_alone(seed, inside, library, options.keep), seeds),
            strict=True,
        ):
            failed += [] if good else [seed]
            print(text, flush=True)
    print(f"{len(seeds) - len(failed)} of {len(seeds)} schedules exact" + f"; not {failed}" * bool(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
