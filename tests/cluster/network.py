# SPDX-License-Identifier: Apache-2.0
"""A network within this machine, in which single nodes can be cut off from others: a namespace for each, and a bridge.

A cut is like a broken wire: what a node sends to another one goes to a hardware address that nobody has. Nobody is
told.
"""

from __future__ import annotations

import subprocess

# What is started so has a network, a process tree and mounts of its own, which end with it.
_ALONE = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
_NOWHERE = "02:00:00:00:00:01"


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")


def alone() -> tuple[list[str], str]:
    """The command under which a program may make a :class:`Network`; or none, and the reason why it may not."""
    reasons = []
    for extra in ([], ["--user", "--map-root-user"]):
        probe = "ip link add name hub type bridge && ip link add name v type veth peer name w"
        try:
            done = subprocess.run(
                [*_ALONE, *extra, "sh", "-c", probe], capture_output=True, text=True, check=False
            )
        except FileNotFoundError:
            return [], "the program unshare (util-linux) is not installed"
        if done.returncode == 0:
            return [*_ALONE, *extra], ""
        reasons.append(done.stderr.strip())
    return [], f"network namespaces cannot be made: {'; '.join(reasons)}"


class Network:
    """For nodes with these names. Made in a network namespace that nobody else uses, with which all of it ends."""

    def __init__(self, names: list[tuple[str, int]]) -> None:
        _run("ip", "link", "set", "lo", "up")
        _run("ip", "link", "add", "name", "hub", "type", "bridge")
        _run("ip", "address", "add", "10.77.0.254/24", "dev", "hub")
        _run("ip", "link", "set", "hub", "up")
        self.addresses = {name: f"10.77.0.{number}" for number, name in enumerate(names, 1)}
        self.holders: dict[tuple[str, int], subprocess.Popen[str]] = {}  # which keep the namespaces
        for number, name in enumerate(names, 1):
            hold = ["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"]
            holder = subprocess.Popen(hold, stdout=subprocess.PIPE, text=True)
            assert holder.stdout is not None
            holder.stdout.readline()
            self.holders[name] = holder
            wire = f"wire{number}"
            peer = ["peer", "name", "eth0", "netns", str(holder.pid)]
            _run("ip", "link", "add", "name", wire, "type", "veth", *peer)
            _run("ip", "link", "set", wire, "master", "hub", "up")
            for command in (
                "link set lo up",
                f"address add {self.addresses[name]}/24 dev eth0",
                "link set eth0 up",
            ):
                _run(*self.inside(name), "ip", *command.split())

    def close(self) -> None:
        for holder in self.holders.values():
            holder.kill()
            holder.communicate()

    def inside(self, name: tuple[str, int]) -> list[str]:
        """The command under which a program runs at the node's place."""
        return ["nsenter", f"--net=/proc/{self.holders[name].pid}/ns/net"]

    def cut(self, sender: tuple[str, int], receiver: tuple[str, int]) -> None:
        """What the one sends to the other gets lost, until :meth:`heal`."""
        where = [self.addresses[receiver], "dev", "eth0"]
        _run(*self.inside(sender), "ip", "neigh", "replace", *where, "lladdr", _NOWHERE, "nud", "permanent")

    def heal(self, sender: tuple[str, int], receiver: tuple[str, int]) -> None:
        _run(*self.inside(sender), "ip", "neigh", "del", self.addresses[receiver], "dev", "eth0")
