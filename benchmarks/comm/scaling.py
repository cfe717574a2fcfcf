#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulates rounds of the parameter server for clusters larger than we have; docs/scaling.md has what comes out.

    python benchmarks/comm/scaling.py [--svg docs/scaling.svg]
    sudo python benchmarks/comm/scaling.py --measure [--rate 1]    beside real clusters of a few nodes

A measured node is a process in a network namespace of its own, with links shaped to --rate Gbit/s each way
(`tc ... tbf`). Nothing is left behind.
"""

import argparse
import hashlib
import heapq
import math
import os
import random
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

SMALL = 256 << 10  # keys up to this size are one shard
PIECE = 256 << 10
DEAD_AFTER = 5.0  # seconds of silence after which a node is lost
KEYS = 161  # that a worker pulls: ResNet-50's
PORT = 9571


def resnet50():
    """Bytes of ResNet-50's 161 gradients, in the order in which they are computed: last layers first."""
    sizes = [64 * 3 * 49, 64, 64]
    inputs = 64
    for blocks, width in ((3, 64), (4, 128), (6, 256), (3, 512)):
        for block in range(blocks):
            sizes += [width * inputs, width, width, width * width * 9, width, width]
            sizes += [width * width * 4, width * 4, width * 4]
            if block == 0:
                sizes += [width * 4 * inputs, width * 4, width * 4]
            inputs = width * 4
    sizes += [2048 * 1000, 1000]
    return [4 * size for size in reversed(sizes)]


RESNET50 = resnet50()


@dataclass(frozen=True)
class Machine:
    """What a node and its network can do; times in seconds."""

    rate: float  # bytes a second of a link, each way
    latency: float  # of a message between two nodes
    message: float = 12e-6  # work for a message or piece, at an end
    byte_work: float = 0.0  # work for a byte pushed and pulled, at a server


TEN_GIGABIT = Machine(rate=10e9 / 8 * 0.95, latency=80e-6, byte_work=0.44e-9)


def shards(keys, servers):
    """(server, bytes) of every shard of every key, as kvstore/cluster/shards.cc lays them out."""
    for key, size in enumerate(keys):
        if size <= SMALL or servers == 1:
            digest = hashlib.blake2b(str(key).encode(), digest_size=8).digest()
            yield int.from_bytes(digest, "little") % servers, size
        else:
            for part in range(servers):
                yield part, size / servers


def simulate(keys, workers, servers, machine, replicas=1):
    """Seconds of one synchronous round: all push all keys and pull them.

    Workers are alike, so what they send of one shard is one batch at a server: its link in, its processor, its link
    out (down the chain, then the answers) and the next server's link in take one batch at a time, whichever is ready
    first. Of a worker, the two ways of its link are simulated.
    """
    replicas = min(replicas, servers)
    links_in, links_out, busy = [0.0] * servers, [0.0] * servers, [0.0] * servers
    worker_in = worker_out = end = 0.0
    order = 0
    jobs = []

    def later(ready, stage, server, size, place=0):
        nonlocal order
        order += 1
        heapq.heappush(jobs, (ready, order, stage, server, size, place))

    def time_of(size, count):
        return count * (size / machine.rate + machine.message * max(1, math.ceil(size / PIECE)))

    for server, size in shards(keys, servers):
        begin, worker_out = worker_out, worker_out + time_of(size, 1)
        later(begin + machine.latency, "arrive", server, size)
    while jobs:
        ready, _, stage, server, size, place = heapq.heappop(jobs)
        at = (server + place) % servers
        batch = time_of(size, workers)
        if stage == "arrive":
            begin = max(ready, links_in[at])
            links_in[at] = max(begin + batch, ready + time_of(size, 1))
            later(links_in[at], "apply", server, size, place)
        elif stage == "apply":
            busy[at] = max(ready, busy[at]) + workers * size * machine.byte_work
            if place + 1 < replicas:
                later(busy[at], "forward", server, size, place)
            else:  # acknowledged from the end of the chain; the head answers
                later(busy[at] + place * machine.latency, "answer", server, size)
        elif stage == "forward":
            begin = max(ready, links_out[at])
            links_out[at] = begin + batch
            later(begin + machine.latency, "arrive", server, size, place + 1)
        else:
            begin = max(ready, links_out[at])
            links_out[at] = begin + batch
            worker_in = max(worker_in, begin + machine.latency) + time_of(size, 1)
            end = max(end, worker_in, links_out[at] + machine.latency)
    return end


def busiest_bytes(keys, servers):
    """Bytes of the keys on the server that has most."""
    load = [0.0] * servers
    for server, size in shards(keys, servers):
        load[server] += size
    return max(load)


def bound(keys, workers, servers, machine, replicas=1):
    """The least that any order can take: the bytes of the busiest link. Pushes and pulls go opposite ways."""
    replicas = min(replicas, servers)
    return max(sum(keys), busiest_bytes(keys, servers) * workers * replicas) / machine.rate


def all_reduce(keys, workers, machine):
    """A ring: each sends and receives 2 (n - 1) / n of the bytes in 2 (n - 1) steps."""
    steps = 2 * (workers - 1)
    return steps / workers * sum(keys) / machine.rate + steps * (machine.latency + machine.message)


@dataclass
class End:
    """One end of a node's link to the scheduler, as comm/endpoint_peers.cc keeps it; times in seconds."""

    last_ping: float = -math.inf
    last_sent: float = 0.0
    last_heard: float = 0.0

    def quiet(self, now):
        return min(now - self.last_ping, max(now - self.last_sent, now - self.last_heard))


@dataclass(frozen=True)
class SchedulerLoad:
    """What goes in and out of the scheduler."""

    messages: float  # a second, of a quiet cluster
    change: int  # messages for one change of the view
    whole: int  # bytes of these if each had the whole view
    changes: int  # bytes if each has what changed


def heartbeat(nodes):
    """Seconds between a link's heartbeats, as kvstore's node_setup.cc sets them."""
    return min(0.5 * max(1, nodes // 300), DEAD_AFTER / 4)


def scheduler_load(workers, servers, pulls=0, seconds=9.0, latency=80e-6, seed=1):
    """Counts the scheduler's messages while nothing changes, each worker with so many pulls that wait.

    An end of a link looks at its timers every now and then: the more often, the more requests of its own are
    unanswered. It sends a ping where the link was quiet, and the other end answers. Pulls wait at servers, so all they
    do here is that workers look at their timers more often.
    """
    dice = random.Random(seed)
    nodes = workers + servers
    every = heartbeat(nodes)
    ends = [(End(), End()) for _ in range(nodes)]  # the node's, the scheduler's
    count, events, order = 0, [], 0

    def later(at, what, node, end):
        nonlocal order
        order += 1
        heapq.heappush(events, (at, order, what, node, end))

    def pause(node):
        own = pulls if node < workers else 0
        return min(0.005 + own // 500 * 0.001 if own else 1.0, every / 2)

    for node in range(nodes):
        later(dice.random() * pause(node), "look", node, 0)
    later(dice.random(), "look", -1, 1)
    while events[0][0] < seconds:
        now, _, what, node, end = heapq.heappop(events)
        if what == "look":
            for one in range(nodes) if end == 1 else (node,):
                if ends[one][end].quiet(now) >= every:
                    ends[one][end].last_ping = ends[one][end].last_sent = now
                    count += now > seconds / 3  # then phases have settled
                    later(now + latency, "ping", one, 1 - end)
            later(now + pause(node), "look", node, end)
        else:
            ends[node][end].last_heard = now
            if what == "ping":
                ends[node][end].last_sent = now
                count += now > seconds / 3
                later(now + latency, "pong", node, 1 - end)
    member = len("tcp://10.0.0.100:40000") + 6 * 3  # an address and six numbers
    change = 2 * nodes  # each is told, and answers
    return SchedulerLoad(count / (seconds * 2 / 3), change, nodes * nodes * member, nodes * (member + 30))


def print_scheduler_load():
    """Messages at the scheduler of a large cluster: nobody asks it anything while nothing changes."""
    print("the scheduler's messages a second, in and out: at rest, while all pulls of all workers wait")
    for workers, servers in ((100, 10), (300, 30), (900, 100), (1000, 100)):
        rest = scheduler_load(workers, servers)
        waiting = scheduler_load(workers, servers, KEYS)
        print(
            f"{workers:5} x {servers:3}: {rest.messages:6.0f} {waiting.messages:6.0f} "
            f"({workers * KEYS} pulls); a change of the view: {rest.change} messages, "
            f"{rest.changes / 1e6:.2f} MB ({rest.whole / 1e6:.0f} MB if whole)"
        )


def draw(path):
    """Seconds a round over workers, for several numbers of servers, as a plot."""
    sizes = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    lines = [
        (
            f"{count} server{'s' if count > 1 else ''}",
            [simulate(RESNET50, w, count, TEN_GIGABIT) for w in sizes],
        )
        for count in (1, 10, 30, 100)
    ]
    lines.append(("ring all-reduce", [all_reduce(RESNET50, max(2, w), TEN_GIGABIT) for w in sizes]))
    width, height, left, right, bottom = 640, 400, 60, 510, 350
    low, high = 0.05, 500.0
    colours = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#888888")

    def x(workers):
        return left + (right - left) * math.log10(workers) / 3

    def y(seconds):
        return bottom - (bottom - 20) * math.log(max(seconds, low) / low) / math.log(high / low)

    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="{height - 8}">workers (10 Gbit/s a node, 102 MB of gradients each)</text>',
        '<text x="8" y="14">seconds a round</text>',
    ]
    for tick in (0.1, 1, 10, 100):
        svg.append(f'<line x1="{left}" x2="{right}" y1="{y(tick):.0f}" y2="{y(tick):.0f}" stroke="#ddd"/>')
        svg.append(f'<text x="{left - 32}" y="{y(tick) + 4:.0f}">{tick:g}</text>')
    for tick in (1, 10, 100, 1000):
        svg.append(f'<line x1="{x(tick):.0f}" x2="{x(tick):.0f}" y1="20" y2="{bottom}" stroke="#ddd"/>')
        svg.append(f'<text x="{x(tick) - 8:.0f}" y="{bottom + 16}">{tick}</text>')
    for (name, seconds), colour in zip(lines, colours):
        points = " ".join(f"{x(w):.1f},{y(s):.1f}" for w, s in zip(sizes, seconds))
        svg.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        svg.append(f'<text x="{right + 4}" y="{y(seconds[-1]) + 4:.0f}" fill="{colour}">{name}</text>')
    Path(path).write_text("\n".join([*svg, "</svg>", ""]), encoding="utf-8")


class Shaped:
    """Network namespaces whose links to each other have a given rate; the switch between them is one, too."""

    def __init__(self, count, gigabits):
        self.names = [f"lxscale{i}" for i in range(count + 1)]
        rate = f"{gigabits:g}gbit"
        try:
            for name in self.names:
                self.run(f"ip netns add {name}")
            hub = f"ip -n {self.names[-1]}"
            self.run(f"{hub} link add name hub0 type bridge")
            self.run(f"{hub} link set hub0 up")
            for i, name in enumerate(self.names[:-1]):
                self.run(
                    f"ip -n {name} link add name eth0 type veth peer name port{i} netns {self.names[-1]}"
                )
                self.run(f"{hub} link set port{i} master hub0 up")
                self.run(f"ip -n {name} addr add 10.78.0.{i + 1}/24 dev eth0")
                self.run(f"ip -n {name} link set eth0 up")
                self.run(f"ip -n {name} link set lo up")
                for at, device in ((name, "eth0"), (self.names[-1], f"port{i}")):
                    self.run(
                        f"ip netns exec {at} tc qdisc add dev {device} root tbf rate {rate} burst 256kb latency 100ms"
                    )
        except BaseException:
            self.close()
            raise

    @staticmethod
    def run(command):
        """Throws where the command fails."""
        subprocess.run(command.split(), check=True)

    def start(self, at, command, role, rank, servers, workers):
        """A node of a cluster whose scheduler is in the first namespace."""
        variables = {
            "DMLC_ROLE": role,
            "DMLC_PS_ROOT_URI": "10.78.0.1",
            "DMLC_PS_ROOT_PORT": str(PORT),
            "DMLC_NUM_SERVER": str(servers),
            "DMLC_NUM_WORKER": str(workers),
            "LOOMIX_KV_RANK": str(rank),
            "LOOMIX_KV_HOST": f"10.78.0.{at + 1}",
            "LOOMIX_KV_CLUSTER": "scaling",
            "LOOMIX_KV_TRUSTED_NETWORK": "1",
        }
        inside = ("ip", "netns", "exec", self.names[at], sys.executable, *command)
        pipe = subprocess.PIPE
        return subprocess.Popen(inside, stdin=pipe, stdout=pipe, text=True, env={**os.environ, **variables})

    def close(self):
        """The links go with their namespaces."""
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)


def measure(servers, workers, gigabits, rounds=4):
    """Median seconds of a round of a real cluster; the scheduler sits beside the first server."""
    network = Shaped(servers + workers, gigabits)
    nodes = []
    serve = ("-m", "loomix", "serve")
    try:
        nodes.append(network.start(0, serve, "scheduler", 0, servers, workers))
        nodes += [network.start(i, serve, "server", i, servers, workers) for i in range(servers)]
        command = (__file__, "--work")
        crew = [network.start(servers + i, command, "worker", i, servers, workers) for i in range(workers)]
        nodes = crew + nodes
        for worker in crew:
            assert worker.stdout.readline() == "ready\n"
        seconds = []
        for _ in range(rounds):
            begin = time.perf_counter()
            for worker in crew:
                worker.stdin.write("go\n")
                worker.stdin.flush()
            for worker in crew:
                assert worker.stdout.readline() == "done\n"
            seconds.append(time.perf_counter() - begin)
        return statistics.median(seconds)
    finally:
        for node in nodes:
            node.stdin.close()
        for node in nodes:
            try:
                node.wait(timeout=30)
            except subprocess.TimeoutExpired:
                node.kill()
        network.close()


def work():
    """A worker of a measured cluster: a round for each line of standard input."""
    import loomix as mx

    store = mx.kv.create("dist_sync")
    values = [mx.nd.ones((size // 4,)) for size in RESNET50]
    for key, value in enumerate(values):
        store.init(key, value)

    def once():
        for key, value in enumerate(values):
            store.push(key, value, priority=-key)
            store.pull(key, out=value, priority=-key)
        mx.nd.waitall()

    store.barrier()
    once()
    print("ready", flush=True)
    for _ in sys.stdin:
        for value in values:
            value[:] = 1
        once()
        print("done", flush=True)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--svg", help="where to draw the plot")
    parser.add_argument("--measure", action="store_true", help="runs small clusters, too (as root)")
    parser.add_argument("--rate", type=float, default=1.0, help="Gbit/s of their links (default %(default)s)")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work()
        return
    if options.svg:
        draw(options.svg)
    if options.measure:
        machine = replace(TEN_GIGABIT, rate=options.rate * 1e9 / 8 * 0.95)
        print(f"links of {options.rate:g} Gbit/s: seconds a round, measured and simulated")
        for servers, workers in ((1, 1), (1, 2), (2, 2), (2, 4), (3, 3)):
            real = measure(servers, workers, options.rate)
            model = simulate(RESNET50, workers, servers, machine, replicas=2)
            print(f"{workers:4} x {servers}: {real:6.2f} {model:6.2f}  ({real / model:.2f})", flush=True)
        return
    print(
        "links of 10 Gbit/s: seconds a round, one copy and two | least possible | busiest server, GB each way"
    )
    for workers, servers in (
        (1, 1),
        (10, 1),
        (10, 10),
        (100, 10),
        (100, 30),
        (100, 100),
        (1000, 30),
        (1000, 100),
    ):
        once, twice = (simulate(RESNET50, workers, servers, TEN_GIGABIT, copies) for copies in (1, 2))
        least = bound(RESNET50, workers, servers, TEN_GIGABIT)
        moved = busiest_bytes(RESNET50, servers) * workers / 1e9
        print(f"{workers:5} x {servers:3}: {once:7.2f} {twice:7.2f} | {least:7.2f} | {moved:7.2f}")
    print_scheduler_load()


if __name__ == "__main__":
    main()
