# SPDX-License-Identifier: Apache-2.0
"""A cluster of real processes on this machine, for tests that kill and restart its parts."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

from loomix.commands.launch import free_port

TIMEOUT = 50  # for what must end; nothing waits for it when all is well


class Cluster:
    """Scheduler, servers and workers, which run ``python -c program``, by the command `inside` if it is given. With
    `metrics` the nodes tell how they are."""

    def __init__(
        self, folder, program, workers=2, servers=2, metrics=False, timeout=TIMEOUT, inside=(), **settings
    ):
        self.folder = folder
        nodes = 1 + servers + workers
        port = free_port(1 + (nodes if metrics else 0))  # one range: two could overlap
        self.timeout = timeout
        self.program = program
        self.inside = inside
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONUNBUFFERED": "1",
            "DMLC_PS_ROOT_URI": "127.0.0.1",
            "DMLC_PS_ROOT_PORT": str(port),
            "DMLC_NUM_WORKER": str(workers),
            "DMLC_NUM_SERVER": str(servers),
            "LOOMIX_KV_DEADLINE": "30",
            **{name: str(value) for name, value in settings.items()},
        }
        self.metrics = port + 1 if metrics else 0
        if metrics:
            self.environment["LOOMIX_METRICS_PORT"] = str(self.metrics)
        self.workers = workers
        self.servers = servers
        self.processes = {}
        self.lives = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()

    def start(self, *names):
        """Starts ``("server", 0)`` and so on; without names all."""
        everything = [("scheduler", 0)]
        everything += [("server", rank) for rank in range(self.servers)]
        everything += [("worker", rank) for rank in range(self.workers)]
        for role, rank in names or everything:
            self.lives[role, rank] = self.lives.get((role, rank), 0) + 1
            code = self.program if role == "worker" else "import loomix; print('not reached')"
            inside, own = self.around(role, rank)
            environment = {**self.environment, **own, "DMLC_ROLE": role, "LIFE": str(self.lives[role, rank])}
            if role != "scheduler":
                environment[f"DMLC_{role.upper()}_ID"] = str(rank)
            with open(self.path(role, rank), "a") as out:
                self.processes[role, rank] = subprocess.Popen(
                    [*inside, sys.executable, "-c", code],
                    env=environment,
                    stdout=out,
                    stderr=out,
                    cwd=self.folder,
                )
        return self

    def around(self, role, rank):
        """The command inside which a node runs, and variables of its own."""
        return self.inside, {}

    def host(self, role, rank):
        """The address at which it tells its metrics."""
        return "127.0.0.1"

    def path(self, role, rank):
        return self.folder / f"{role}-{rank}.txt"

    def output(self, role, rank=0):
        return self.path(role, rank).read_text()

    def wait_for(self, role, rank, text):
        """Until a process has printed a text."""
        self.wait_for_output(role, rank, lambda output: text in output)

    def wait_for_step(self, role, rank, step):
        """Until a process has printed ``step N`` or a later one; that in which it was killed may be left out."""
        self.wait_for_output(
            role,
            rank,
            lambda output: any(int(number) >= step for number in re.findall(r"^step (\d+)\n", output, re.M)),
        )

    def wait_for_output(self, role, rank, test):
        until = time.monotonic() + self.timeout
        while not test(self.output(role, rank)):
            assert self.processes[role, rank].poll() is None, self.output(role, rank)
            assert time.monotonic() < until, self.output(role, rank)
            time.sleep(0.01)

    def kill(self, role, rank=0, number=signal.SIGKILL):
        self.processes[role, rank].send_signal(number)
        if number == signal.SIGKILL:
            self.processes[role, rank].wait()

    def numbers(self, role, rank=0):
        """A node's metrics by their names with labels; none while it does not answer."""
        port = self.metrics + {"scheduler": 0, "server": 1 + rank, "worker": 1 + self.servers + rank}[role]
        try:
            with urllib.request.urlopen(f"http://{self.host(role, rank)}:{port}/metrics", timeout=5) as page:
                lines = page.read().decode().splitlines()
        except OSError:
            return {}
        return {
            name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[:1] != "#")
        }

    def wait_for_life(self, role, rank=0):
        """Until a node that was started again is in the cluster."""
        self.wait_until(lambda: self.numbers(role, rank).get("loomix_cluster_view", 0) > 0, f"{role} {rank}")

    def wait_until_whole(self):
        """Until every value has all its copies, as the scheduler knows."""

        def whole():
            numbers = self.numbers("scheduler")
            copies = [value for name, value in numbers.items() if name.startswith("loomix_cluster_copies{")]
            return numbers.get("loomix_cluster_view", 0) > 0 and min(copies) == min(2, self.servers)

        self.wait_until(whole, "the copies of a group")

    def wait_until(self, test, what):
        until = time.monotonic() + self.timeout
        while not test():
            if time.monotonic() > until:
                texts = [
                    f"--- {path.name}\n{path.read_text()[-2000:]}"
                    for path in sorted(self.folder.glob("*-*.txt"))
                ]
                raise AssertionError(f"{what}: not there in time\n" + "\n".join(texts))
            time.sleep(0.02)

    def codes(self, role):
        """Exit statuses by rank, once all of the role have ended."""
        found = []
        for (kind, rank), process in sorted(self.processes.items()):
            if kind == role:
                try:
                    found.append(process.wait(self.timeout))
                except subprocess.TimeoutExpired:
                    raise AssertionError(f"{kind} {rank} hangs:\n{self.output(kind, rank)}") from None
        return found

    def succeed(self):
        """Everything ends well."""
        for role in ("worker", "server", "scheduler"):
            codes = self.codes(role)
            assert not any(codes), [self.output(role, rank)[-2000:] for rank in range(len(codes))]
