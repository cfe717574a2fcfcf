#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps of a net with VGG-16's layers on links of 1 Gbit/s: with priorities and overlap, and without.

    sudo python benchmarks/kvstore/overlap.py [ROUNDS]

Two workers and two servers, each in a network namespace of its own (`ip netns`), joined by a bridge; every link is
shaped in both directions (`tc ... tbf`). Computation is a pause of VGG-16's proportions, one second a step; parameters
are an eighth of VGG-16's, 69 MB. Build `bench_kvstore` first. Needs the rights of root; leaves nothing behind.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
PROGRAM = os.environ.get("BENCH_KVSTORE", HERE.parents[1] / "build" / "benchmarks" / "bench_kvstore")
BRIDGE = "loomixbr"
NODES = ("server0", "server1", "worker0", "worker1")
RATE = "1gbit"
CONTROL = "reno"  # as every system has it; "bbr", the default of some, is far from sharing a link evenly


def run(command):
    """Runs it and throws where it fails."""
    subprocess.run(command.split(), check=True)


def shape(device, namespace=""):
    """Bounds what leaves through the device."""
    inside = f"ip netns exec {namespace} " if namespace else ""
    run(f"{inside}tc qdisc add dev {device} root tbf rate {RATE} burst 256kb latency 100ms")


def set_up():
    """The bridge is 10.77.0.1, nodes follow."""
    run(f"ip link add {BRIDGE} type bridge")
    run(f"ip addr add 10.77.0.1/24 dev {BRIDGE}")
    run(f"ip link set {BRIDGE} up")
    for i, node in enumerate(NODES):
        name = f"loomix-{node}"
        run(f"ip netns add {name}")
        run(f"ip link add lx{i} type veth peer name eth0 netns {name}")
        run(f"ip link set lx{i} master {BRIDGE} up")
        run(f"ip netns exec {name} ip addr add 10.77.0.{i + 2}/24 dev eth0")
        run(f"ip netns exec {name} ip link set eth0 up")
        run(f"ip netns exec {name} ip link set lo up")
        run(f"ip netns exec {name} sysctl -qw net.ipv4.tcp_congestion_control={CONTROL}")
        shape(f"lx{i}")
        shape("eth0", name)


def tear_down():
    """Links go with their namespaces."""
    for node in NODES:
        subprocess.run(["ip", "netns", "del", f"loomix-{node}"], check=False)
    subprocess.run(["ip", "link", "del", BRIDGE], check=False)


def start(*command):
    """A node that ends with its input."""
    return subprocess.Popen(
        [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def inside(node):
    """The command that runs another one at the node."""
    return ("ip", "netns", "exec", f"loomix-{node}")


def main():
    """Command line."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seconds = {"overlap": [], "plain": []}
    nodes, workers = [], []
    try:
        set_up()
        nodes = [start(PROGRAM, "scheduler", 2, 2, "10.77.0.1")]
        address = nodes[0].stdout.readline().strip()
        for i in range(2):
            nodes.append(start(*inside(NODES[i]), PROGRAM, "server", i, address, f"10.77.0.{i + 2}"))
        workers = [
            start(*inside(NODES[i + 2]), PROGRAM, "overlap", i, address, f"10.77.0.{i + 4}") for i in range(2)
        ]
        for worker in workers:
            assert worker.stdout.readline() == "ready\n"
        for turn in range(rounds + 1):
            for way, times in seconds.items():
                begin = time.perf_counter()
                for worker in workers:
                    worker.stdin.write(f"go 3 {way}\n")
                    worker.stdin.flush()
                for worker in workers:
                    assert worker.stdout.readline() == "done\n"
                if turn > 0:
                    times.append((time.perf_counter() - begin) / 3)
    finally:
        try:
            for part in (workers, nodes):  # the scheduler and servers last: workers say goodbye to them
                for node in part:
                    node.stdin.close()
                for node in part:
                    node.wait(timeout=60)
        finally:
            for node in [*workers, *nodes]:
                node.kill()
            tear_down()
    medians = {way: statistics.median(times) for way, times in seconds.items()}
    for way, median in medians.items():
        print(
            f"{way:8} {median * 1e3:7.0f} ms a step   ({min(seconds[way]):.2f} to {max(seconds[way]):.2f} s)"
        )
    print(f"{medians['plain'] / medians['overlap']:.2f} x as fast with priorities and overlap")


if __name__ == "__main__":
    main()
