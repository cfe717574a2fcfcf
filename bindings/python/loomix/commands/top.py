# SPDX-License-Identifier: Apache-2.0
"""Shows a running cluster as a table: ``python -m loomix top``.

Every node serves its numbers at a port of its own when LOOMIX_METRICS_PORT is set: the scheduler at that port, the
servers at the ports behind it, then the workers. The scheduler says who is there.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_LINE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_CLEAR = "\x1b[H\x1b[J"


class Sample:
    """The numbers of one node at one time."""

    def __init__(self, text: str, when: Any) -> None:
        self.when = when
        self.values: dict[Any, Any] = {}
        for line in text.splitlines():
            found = _LINE.match(line)
            if line.startswith("#") or not found:
                continue
            name, labels, number = found.groups()
            labels = {key: re.sub(r"\\(.)", r"\1", value) for key, value in _LABEL.findall(labels or "")}
            self.values.setdefault(name, []).append((labels, float(number)))

    def total(self, name: str) -> Any:
        """The sum over all labels; None where there is no such number."""
        values = self.values.get(name)
        return None if values is None else sum(number for _, number in values)

    def most(self, name: str) -> Any:
        """The largest over all labels."""
        values = self.values.get(name)
        return None if not values else max(number for _, number in values)


def fetch(host: str, port: int, timeout: float = 2.0) -> Any:
    """A sample of the node that serves there, or None."""
    try:
        with urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=timeout) as answer:
            return Sample(answer.read().decode("utf-8", "replace"), time.monotonic())
    except (OSError, urllib.error.URLError, ValueError):
        return None


def members_of(scheduler: Any, host: str, port: int) -> list[tuple[str, bool, str, int]]:
    """(name, up, host, port) of all nodes, the scheduler first."""
    nodes = [("scheduler 0", True, host, port)]
    listed = scheduler.values.get("loomix_cluster_member", [])
    listed = sorted(listed, key=lambda one: (one[0]["role"], int(one[0]["rank"])))
    servers = sum(labels["role"] == "server" for labels, _ in listed)
    for labels, up in listed:
        rank = int(labels["rank"])
        behind = 1 + rank + (servers if labels["role"] == "worker" else 0)
        nodes.append((f"{labels['role']} {rank}", up > 0, labels.get("host") or host, port + behind))
    return nodes


def rate(now: Any, before: Any, name: str) -> Any:
    """How fast a counter grew between two samples; None if that cannot be told."""
    if now is None or before is None:
        return None
    new, old = now.total(name), before.total(name)
    if new is None or old is None or new < old or now.when <= before.when:
        return None
    return (new - old) / (now.when - before.when)


def amount(number: Any, unit: str = "") -> str:
    """A number in four figures at most: 12.3M."""
    if number is None:
        return "-"
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{number / factor:.1f}{letter}{unit}"
    return f"{number:.0f}{unit}" if number >= 10 or number == int(number) else f"{number:.1f}{unit}"


def behind_of(samples: Any) -> dict[Any, Any]:
    """Worker's rank -> how many pushes of a key it is behind the first, as far as servers know."""
    behind: dict[Any, Any] = {}
    for sample in samples.values():
        for labels, number in sample.values.get("loomix_worker_behind", []) if sample else []:
            rank = int(labels["worker"])
            behind[rank] = max(behind.get(rank, 0), int(number))
    return behind


def table(nodes: Any, samples: Any, before: Any) -> list[Any]:
    """The image as lines of text."""
    behind = behind_of(samples)
    worst = max(behind.values(), default=0)
    head = (
        "NODE",
        "STATE",
        "SENT/s",
        "RECV/s",
        "MSG/s",
        "PUSH/s",
        "ROUND",
        "BEHIND",
        "QUEUE",
        "ASKED",
        "RETRIES",
        "RTT",
    )
    rows = [head]
    for name, up, _, _ in nodes:
        now, old = samples.get(name), before.get(name)
        state = "down" if not up else "silent" if now is None else "up"
        late = ""
        if name.startswith("worker"):
            rank = int(name.split()[1])
            late = str(behind.get(rank, "-"))
            if worst > 0 and behind.get(rank, 0) == worst:
                late += " straggler"
        trip = now.most("loomix_peer_round_trip_seconds") if now else None
        pushes = rate(now, old, "loomix_pushes_total")
        rows.append(
            (
                name,
                state,
                amount(rate(now, old, "loomix_peer_sent_bytes_total"), "B"),
                amount(rate(now, old, "loomix_peer_received_bytes_total"), "B"),
                amount(rate(now, old, "loomix_peer_sent_messages_total")),
                amount(pushes),
                amount(now.most("loomix_rounds") if now else None),
                late or "-",
                amount(now.total("loomix_peer_queued_messages") if now else None),
                amount(now.total("loomix_peer_requests_in_flight") if now else None),
                amount(now.total("loomix_retries_total") if now else None),
                "-" if trip is None else f"{trip * 1e3:.1f}ms",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def sample_all(host: str, port: int) -> Any:
    """All nodes and what they say now; ([], {}) where no scheduler answers."""
    scheduler = fetch(host, port)
    if scheduler is None:
        return [], {}
    nodes = members_of(scheduler, host, port)
    samples = {nodes[0][0]: scheduler}
    with ThreadPoolExecutor(max_workers=32) as pool:
        answers = pool.map(lambda node: fetch(node[2], node[3]), nodes[1:])
        samples.update({node[0]: answer for node, answer in zip(nodes[1:], answers)})
    return nodes, samples


def main(name: str, arguments: Sequence[str]) -> int:
    """Prints the table until it is interrupted, or once."""
    parser = argparse.ArgumentParser(prog=f"python -m loomix {name}", description=__doc__.split("\n")[0])
    parser.add_argument("--host", default="127.0.0.1", help="where the scheduler runs (default %(default)s)")
    parser.add_argument(
        "--port", type=int, default=9400, help="LOOMIX_METRICS_PORT of the cluster (default %(default)s)"
    )
    parser.add_argument(
        "--every", type=float, default=2.0, help="seconds between updates (default %(default)s)"
    )
    parser.add_argument("--once", action="store_true", help="one table, after one interval")
    options = parser.parse_args(arguments)
    if options.every <= 0 or not 0 < options.port < 65536:
        parser.error("--every must be positive, and --port from 1 to 65535")
    before = sample_all(options.host, options.port)[1]
    try:
        while True:
            time.sleep(options.every)
            nodes, samples = sample_all(options.host, options.port)
            if nodes:
                lines = table(nodes, samples, before)
            else:
                lines = [
                    f"[top] no scheduler serves metrics at {options.host}:{options.port}; was it started with "
                    "LOOMIX_METRICS_PORT, and is --port that number?"
                ]
            if options.once:
                print("\n".join(lines), file=sys.stdout if nodes else sys.stderr)
                return 0 if nodes else 1
            print((_CLEAR if sys.stdout.isatty() else "") + "\n".join(lines), flush=True)
            before = samples
    except KeyboardInterrupt:
        return 0
