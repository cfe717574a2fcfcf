#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Frames of all kinds to the ports of a real cluster, while it trains.

    python tests/dist/fuzz.py --frames 1000000

Strangers send every port of scheduler and servers random bytes, broken handshakes of TLS, records that hold no
headers, headers with numbers that nobody would send, and what a peer might say that knows the cluster's name but is
none of it. Meanwhile two workers train; their values must be exact, all processes must live, and their memory must
not grow.
With --keys the ports want TLS. Prints what it did; ends with 1 where something was wrong.
"""

import argparse
import concurrent.futures
import contextlib
import itertools
import os
import random
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from real_cluster import Cluster

CLUSTER = "fuzzed"
GREETING = b"loomix 3"
VERSION = 3
A_CONNECTION = 200  # frames
AT_ONCE = 5  # connections
GROWTH_KIB = 64 << 10

PROGRAM = """
import os, time
import loomix as mx
kv = mx.kv.create("dist_sync")
kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
keys, shapes = ["w", "v"], [(5,), (300, 300)]
kv.init(keys, [mx.nd.zeros(shape) for shape in shapes])
kv.barrier()
out = [mx.nd.empty(shape) for shape in shapes]
step = total = 0
finish = mx.nd.zeros((1,))
kv.init("finish", finish)
while finish.asscalar() == 0:
    step += 1
    sign = 1 - step % 2 * 2
    value = sign * (step % 50 * 2 + kv.rank)
    total += sign * (step % 50 * 4 + 1)
    kv.push(keys, [mx.nd.full(shape, value) for shape in shapes])
    kv.push("finish", mx.nd.full((1,), -float(kv.rank == 0 and os.path.exists("finish"))))
    kv.pull(keys, out)
    kv.pull("finish", finish)
    assert all((array.asnumpy() == -total).all() for array in out), (step, total, out)
    if step % 20 == 0:
        print("step", step, flush=True)
    time.sleep(0.005)
kv.barrier()
print("good", step)
"""

ODD = [0, 1, 255, 65536, 0x7FFFFFFF, 0x80000000, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def zigzag(number):
    return (number << 1) ^ (number >> 63)


def header(numbers, frames=(), fields=(), texts=()):
    """A packet's header as Protocol Buffers have it; `numbers` by field."""
    out = b"".join(varint(field << 3) + varint(value) for field, value in numbers.items())
    for field, packed in (
        (12, b"".join(map(varint, frames))),
        (13, b"".join(varint(zigzag(f)) for f in fields)),
    ):
        if packed:
            out += varint(field << 3 | 2) + varint(len(packed)) + packed
    return out + b"".join(varint(14 << 3 | 2) + varint(len(text)) + text for text in texts)


def record(head, body=b""):
    """A packet as it travels."""
    return len(head).to_bytes(4, "little") + len(body).to_bytes(4, "little") + head + body


def tls_hello():
    """What a peer with TLS says first."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="worker").do_handshake()
    return outgoing.read()


class Stranger:
    def __init__(self, seed):
        self.dice = random.Random(seed)

    def odd(self):
        return (
            self.dice.choice(ODD)
            if self.dice.random() < 0.5
            else self.dice.getrandbits(64) >> self.dice.randrange(64)
        )

    def signed(self):
        value = self.odd() if self.dice.random() < 0.5 else self.dice.randrange(5)
        return value - (1 << 64) if value >> 63 else value

    def hello(self):
        knows = self.dice.random() < 0.5
        rank = self.dice.choice([50 + self.dice.randrange(20), -1 - self.dice.randrange(100)])
        version, role = VERSION, self.dice.choice([0, 1, 2, 2, 1, self.odd()])
        if role == 0 and rank == 0:
            rank = 1
        name = CLUSTER.encode() if knows else self.dice.randbytes(self.dice.randrange(10))
        role = role - (1 << 64) if role >> 63 else role
        return header(
            {1: 1},
            fields=[version, role, rank, self.dice.getrandbits(62)],
            texts=[name, b"tcp://127.0.0.1:1", b""],
        )

    def packet(self):
        """Header and body of what a peer might send, with some numbers that it would not."""
        roll = self.dice.random
        body = [
            self.dice.randbytes(1 + self.dice.randrange(200)) for _ in range(self.dice.choice([0, 0, 1, 3]))
        ]
        numbers = {
            1: self.dice.randrange(12) if roll() < 0.1 else self.dice.choice([4, 4, 4, 5, 6, 7, 8, 9]),
            3: self.odd() & 0xFFFFFFFF if roll() < 0.2 else self.dice.randrange(5),
            4: self.odd() & 0xFFFFFFFF if roll() < 0.2 else self.dice.randrange(20),
            5: self.odd() if roll() < 0.3 else self.dice.randrange(1000),
            6: self.odd() if roll() < 0.3 else self.dice.randrange(1000),
        }
        if roll() < 0.1:
            numbers[self.dice.randrange(2, 12)] = self.odd()
        frames = [len(part) for part in body] + ([self.odd()] if roll() < 0.05 else [])
        fields = [self.signed() for _ in range(self.dice.randrange(9))]
        texts = [
            self.dice.choice([b"sw", b"i3", b"sgd", self.dice.randbytes(20)])
            for _ in range(self.dice.randrange(3))
        ]
        return header(numbers, frames, fields, texts), body

    def mutate(self, text):
        text = bytearray(text)
        for _ in range(self.dice.randrange(4)):
            at = self.dice.randrange(len(text) + 1)
            how = self.dice.randrange(3)
            if how == 0:
                text[at : at + 1] = self.dice.randbytes(1)
            elif how == 1:
                del text[at : at + self.dice.randrange(8)]
            else:
                text[at:at] = self.dice.randbytes(self.dice.randrange(8))
        return bytes(text)

    def connection(self):
        """What one says, about as many frames as that is."""
        manner = self.dice.choice(["bytes", "http", "tls", "records", "peer", "peer", "peer"])
        if manner == "bytes":
            return b"".join(self.dice.randbytes(self.dice.randrange(300)) for _ in range(A_CONNECTION))
        if manner == "http":
            return self.mutate(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n") * A_CONNECTION
        if manner == "tls":
            said = [self.mutate(tls_hello())]
            for _ in range(A_CONNECTION):
                some = self.dice.randbytes(self.dice.randrange(300))
                said.append(bytes([self.dice.randrange(20, 24), 3, 3]) + len(some).to_bytes(2, "big") + some)
            return b"".join(said)
        said = [GREETING] if manner == "records" else [GREETING, record(self.hello())]
        while len(said) < A_CONNECTION:
            if manner == "records":
                said.append(record(self.dice.randbytes(self.dice.randrange(300))))
                continue
            head, body = self.packet()
            said.append(record(self.mutate(head) if self.dice.random() < 0.02 else head, b"".join(body)))
        text = b"".join(said)
        return self.mutate(text) if self.dice.random() < 0.05 else text


def pester(port, connections):
    for said in connections:
        with contextlib.suppress(OSError):  # of a port that does not listen to the end
            with socket.create_connection(("127.0.0.1", port), timeout=20) as link:
                link.sendall(said)
                link.shutdown(socket.SHUT_WR)
                link.settimeout(0.05)
                while link.recv(1 << 16):
                    pass


def ports(pid):
    """Where a process listens."""
    inodes = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        try:
            link = os.readlink(file)
        except OSError:
            continue
        if link.startswith("socket:["):
            inodes.add(link[8:-1])
    found = set()
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and words[9] in inodes:
            found.add(int(words[1].rsplit(":", 1)[1], 16))
    return sorted(found)


def resident_kib(process):
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(f"process {process.pid} is gone")


def run(folder, frames, keys=False, seed=1, progress=False, **settings):
    """Pesters every port with as many frames; says what happened."""
    settings["LOOMIX_KV_CLUSTER"] = CLUSTER
    if keys:
        settings["LOOMIX_KV_KEYS"] = folder / "cluster.keys"
        subprocess.run(
            [sys.executable, "-m", "loomix", "keys", folder / "cluster.keys"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    with (
        Cluster(folder, PROGRAM, metrics=True, timeout=120, **settings).start() as cluster,
        concurrent.futures.ThreadPoolExecutor(16) as pool,
    ):
        for rank in range(2):
            cluster.wait_for("worker", rank, "step 20\n")
        places = {name: ports(process.pid) for name, process in cluster.processes.items()}
        everywhere = [port for found in places.values() for port in found]

        stranger = Stranger(seed)

        def pester_all(count):
            rounds = max(count // A_CONNECTION // AT_ONCE, 1)
            for i in range(rounds):
                if progress and i % 20 == 0:
                    print(f"{i * A_CONNECTION * AT_ONCE:,} of {count:,} frames to each port", file=sys.stderr)
                connections = [stranger.connection() for _ in range(AT_ONCE)]
                list(pool.map(pester, everywhere, itertools.repeat(connections)))

        pester_all(frames // 5)  # so that all memory that is kept is there
        before = {name: resident_kib(process) for name, process in cluster.processes.items()}
        pester_all(frames)
        time.sleep(1)
        after = {name: resident_kib(process) for name, process in cluster.processes.items()}
        (folder / "finish").touch()
        cluster.succeed()
        for rank in range(2):
            assert "good" in cluster.output("worker", rank), cluster.output("worker", rank)
        growth = {name: after[name] - before[name] for name in after}
        assert max(growth.values()) < GROWTH_KIB, growth
        steps = cluster.output("worker", 0).split()[-1]
        return (
            f"{frames} frames to each of {len(everywhere)} ports; {steps} steps exact; "
            f"growth {max(growth.values())} KiB"
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--frames", type=int, default=1000000, help="to each port")
    parser.add_argument("--keys", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            print(run(Path(folder), options.frames, options.keys, options.seed, progress=True))
        except AssertionError as error:
            print(f"FAILED: {error}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
