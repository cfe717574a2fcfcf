# SPDX-License-Identifier: Apache-2.0
"""A cluster of real processes on this machine, for tests that kill and restart its parts."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

TIMEOUT = 50  # for what must end; nothing waits for it when all is well


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    """Scheduler, servers and workers; the workers run ``python -c program``."""

    def __init__(self, folder, program, workers=2, servers=2, timeout=TIMEOUT, **settings):
        self.folder = folder
        self.timeout = timeout
        self.program = program
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONUNBUFFERED": "1",
            "DMLC_PS_ROOT_URI": "127.0.0.1",
            "DMLC_PS_ROOT_PORT": str(free_port()),
            "DMLC_NUM_WORKER": str(workers),
            "DMLC_NUM_SERVER": str(servers),
            "LOOMIX_KV_DEADLINE": "30",
            **{name: str(value) for name, value in settings.items()},
        }
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
            environment = {**self.environment, "DMLC_ROLE": role, "LIFE": str(self.lives[role, rank])}
            if role != "scheduler":
                environment[f"DMLC_{role.upper()}_ID"] = str(rank)
            with open(self.path(role, rank), "a") as out:
                self.processes[role, rank] = subprocess.Popen(
                    [sys.executable, "-c", code], env=environment, stdout=out, stderr=out, cwd=self.folder
                )
        return self

    def path(self, role, rank):
        return self.folder / f"{role}-{rank}.txt"

    def output(self, role, rank=0):
        return self.path(role, rank).read_text()

    def wait_for(self, role, rank, text):
        """Until a process has printed a text."""
        until = time.monotonic() + self.timeout
        while text not in self.output(role, rank):
            assert self.processes[role, rank].poll() is None, self.output(role, rank)
            assert time.monotonic() < until, self.output(role, rank)
            time.sleep(0.01)

    def kill(self, role, rank=0, number=signal.SIGKILL):
        self.processes[role, rank].send_signal(number)
        if number == signal.SIGKILL:
            self.processes[role, rank].wait()

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
