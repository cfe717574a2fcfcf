# SPDX-License-Identifier: Apache-2.0
"""Groups of processes that start, print and end together."""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any, cast

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PASSED_ON = (signal.SIGUSR1, signal.SIGUSR2)
_LOOK = 0.05  # seconds between looks at who has ended
_PR_SET_PDEATHSIG = 1


def exit_code(status: int) -> int:
    """What a shell would return: 128 and the signal's number for a process that a signal ended."""
    return status if status >= 0 else 128 - status


class Node:
    """One process of a group.

    Parameters
    ----------
    name : str
        Begins each of its lines, as ``[worker 0]``.
    command : list of str
        The program and its arguments.
    environment : dict of str to str
        Variables besides those of this process.
    works : bool
        Whether the group waits for it to end; the others serve these.
    begin_of_input : bytes, optional
        What its standard input begins with. It is open until the end: what runs on another machine ends with it. By
        default the input is empty.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        works: Any,
        begin_of_input: bytes | None = None,
    ) -> None:
        self.name = name
        self.command = command
        self.environment = environment
        self.works = works
        self.begin_of_input = begin_of_input
        self.restarts = 0
        self.process: Any = None

    def start(self) -> None:
        """Starts it, or starts it again."""
        libc = ctypes.CDLL(None)
        # In a session of its own, so that signals reach it from here only, with all that it starts; and it dies with
        # this process.
        self.process = subprocess.Popen(
            self.command,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL if self.begin_of_input is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),
        )
        if self.begin_of_input is not None:
            with contextlib.suppress(BrokenPipeError):  # its exit status tells
                self.process.stdin.write(self.begin_of_input)
                self.process.stdin.flush()

    def send(self, number: int) -> None:
        """Sends a signal to the process and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    @property
    def status(self) -> Any:
        """The exit status; None while it runs."""
        return self.process.poll()


class Group:
    """Processes that run until those that work have ended well or one has failed; then all end.

    Parameters
    ----------
    nodes : list of Node
        In the order in which they start.
    restarts : int
        How often each is started again after it failed.
    tolerant : bool
        Whether the others go on when one that works fails.
    grace : float
        Seconds that a process has to end by itself, before it is killed.
    """

    def __init__(self, nodes: Any, restarts: int = 0, tolerant: bool = False, grace: float = 10.0) -> None:
        self.nodes = nodes
        self.restarts = restarts
        self.tolerant = tolerant
        self.grace = grace
        self._selector = selectors.DefaultSelector()
        self._signal: Any = None

    def run(self) -> Any:
        """Runs all; the exit status: 0, the failed process's, or 128 and the number of a signal that came."""
        before = {number: signal.signal(number, self._on_signal) for number in FORWARDED}
        before.update((number, signal.signal(number, self._pass_on)) for number in PASSED_ON)
        try:
            for node in self.nodes:
                self._start(node)
            code = self._watch()
            if code != 0:
                self._end([node for node in self.nodes if node.works])
            self._end(self.nodes, ask=code != 0)
            return code
        finally:
            for node in self.nodes:
                if node.process is not None:
                    node.send(signal.SIGKILL)  # what it left behind
                    node.process.wait()
            self._print_output(0)
            self._selector.close()
            for number, handler in before.items():
                signal.signal(number, handler)

    def say(self, text: str) -> None:
        """Prints a line of the launcher's own."""
        sys.stderr.write(f"[launch] {text}\n")
        sys.stderr.flush()

    def _on_signal(self, number: int, frame: Any) -> None:
        self._signal = number

    def _pass_on(self, number: int, frame: Any) -> None:
        for node in self.nodes:
            if node.works and node.process is not None and node.status is None:
                node.send(number)

    def _start(self, node: Any) -> None:
        try:
            node.start()
        except OSError as error:
            self.say(f"{node.name} cannot be started: {error}")
            raise
        for pipe, out in ((node.process.stdout, sys.stdout), (node.process.stderr, sys.stderr)):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, [node.name, out, b""])

    def _print_output(self, timeout: float) -> None:
        """Prints whole lines that have come, or come within the time."""
        if not self._selector.get_map():
            time.sleep(timeout)
            return
        for key, _ in self._selector.select(timeout):
            name, out, begun = key.data
            try:
                chunk = os.read(key.fd, 1 << 16)
            except BlockingIOError:
                continue
            lines = (begun + chunk).split(b"\n")
            key.data[2] = lines.pop() if chunk else b""
            for line in lines if chunk or lines != [b""] else []:
                # With its end in one write: under mpirun another part's output would come between them.
                out.write(f"[{name}] {line.decode(errors='replace')}\n")
            out.flush()
            if not chunk:
                self._selector.unregister(key.fileobj)
                cast(IO[bytes], key.fileobj).close()

    def _watch(self) -> Any:
        """Until the work is done, something failed, or a signal came; the exit status."""
        ended = set()
        failed = {}
        while True:
            self._print_output(_LOOK)
            if self._signal is not None:
                self.say(f"{signal.Signals(self._signal).name} goes to all processes")
                return 128 + self._signal
            for node in self.nodes:
                if node in ended or node.status is None:
                    continue
                if node.status != 0 and node.restarts < self.restarts:
                    node.restarts += 1
                    self.say(f"{node.name} ended with {node.status} and is started again")
                    self._start(node)
                    continue
                ended.add(node)
                if node.status == 0:
                    continue
                self.say(f"{node.name} failed: {_reason(node.status)}")
                failed[node] = exit_code(node.status)
                if not (node.works and self.tolerant):
                    return failed[node]
            working = [node for node in self.nodes if node.works]
            if all(node in ended for node in working):
                all_failed = all(node in failed for node in working)
                return failed[working[0]] if all_failed else 0

    def _end(self, nodes: Any, ask: bool = True) -> None:
        """Ends what still runs: by the signal that came, else by SIGTERM, and what serves always by that; at last by
        SIGKILL.

        Servers need not be asked when the work is done.
        """
        until = time.monotonic() + self.grace
        number = self._signal or signal.SIGTERM
        running = [node for node in nodes if node.status is None]
        for node in running if ask else ():
            node.send(number if node.works else signal.SIGTERM)
        while any(node.status is None for node in running) and time.monotonic() < until:
            self._print_output(_LOOK)
            if self._signal is not None and number != self._signal:  # a person presses Ctrl-C meanwhile
                number = self._signal
                for node in running:
                    node.send(number if node.works else signal.SIGTERM)
        late = [node for node in running if node.status is None]
        for node in late:
            self.say(f"{node.name} is still there after {self.grace:g} s and is killed")
            node.send(signal.SIGKILL)
        if late and not ask:
            self.say(
                "they end with the last worker's store; has the program made one, by mx.kv.create('dist_sync')?"
            )


def _reason(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    return f"ended by {signal.Signals(-status).name}"
