# SPDX-License-Identifier: Apache-2.0
"""What a cluster of processes costs: a server's memory, messages at the scheduler, and time where workers are late."""

import sys
import time
from pathlib import Path

import loomix as mx
import pytest
from real_cluster import Cluster

if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
    pytest.skip("this build has no network module (OpenSSL, Protocol Buffers)", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

PUSHED = """
import time
import loomix as mx
kv = mx.kv.create("dist_sync")
kv.barrier(1)
print("joined", flush=True)
while not LATER.exists(): time.sleep(0.01)
value = mx.nd.ones((MIB << 18,))
kv.init("w", value)
kv.barrier(2)
if kv.rank == 0: time.sleep(1)
kv.push("w", value)
kv.pull("w", value)
assert value.asnumpy()[::1000].tolist() == [kv.num_workers] * len(range(0, MIB << 18, 1000))
print("pulled", flush=True)
kv.barrier(3)
"""


@pytest.mark.source
def test_a_server_takes_three_times_the_value_at_most(tmp_path):
    """Eight workers push at once, the first of them late. What a server had before there was a value is not counted.
    They use tcp, as from other machines: rings of shared memory are 4 MiB a worker, whatever the value."""
    mib = 64
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks" / "kvstore"))
    from memory import memory

    later = tmp_path / "later"
    program = f"from pathlib import Path\nLATER, MIB = Path({str(later)!r}), {mib}\n{PUSHED}"
    settings = {"LOOMIX_KV_DEADLINE": 90, "LOOMIX_KV_SHARED_MEMORY": 0}
    with Cluster(tmp_path, program, workers=8, servers=1, timeout=100, **settings) as cluster:
        cluster.start()
        for rank in range(8):
            cluster.wait_for("worker", rank, "joined")
        before = memory(cluster.processes["server", 0], "VmRSS")
        later.touch()
        for rank in range(8):
            cluster.wait_for("worker", rank, "pulled")
        peak = memory(cluster.processes["server", 0], "VmHWM") - before
        cluster.succeed()
    print(f"{peak:.0f} MiB")
    assert mib < peak <= 3 * mib, f"{peak:.0f} MiB"


def test_pulls_that_wait_cost_the_scheduler_nothing(tmp_path):
    """Two workers have 600 pulls that wait for the third one's pushes. The scheduler hears heartbeats only."""
    program = """
import os, time
import loomix as mx
kv = mx.kv.create("dist_sync")
keys = list(range(300))
kv.init(keys, [mx.nd.zeros((4,)) for _ in keys])
kv.barrier(1)
outs = [mx.nd.empty((4,)) for _ in keys]
if kv.rank == 2:
    while not os.path.exists("go"): time.sleep(0.01)
kv.push(keys, [mx.nd.ones((4,)) for _ in keys])
kv.pull(keys, outs)
print("waits", flush=True)
assert all(out.asnumpy()[0] == 3 for out in outs)
print("good", flush=True)
"""
    with Cluster(tmp_path, program, workers=3, metrics=True).start() as cluster:
        for rank in range(2):
            cluster.wait_for("worker", rank, "waits")
            cluster.wait_until(
                lambda rank=rank: cluster.numbers("worker", rank).get("loomix_pending_calls") == 300,
                "pulls that wait",
            )

        def messages():
            numbers = cluster.numbers("scheduler")
            kinds = ("loomix_peer_sent_messages_total", "loomix_peer_received_messages_total")
            return sum(value for name, value in numbers.items() if name.startswith(kinds))

        before, begin = messages(), time.monotonic()
        time.sleep(3)
        rate = (messages() - before) / (time.monotonic() - begin)
        assert cluster.numbers("worker", 0)["loomix_pending_calls"] == 300
        (tmp_path / "go").touch()
        cluster.succeed()
    assert 0 < rate < 40, rate  # heartbeats of five nodes


@pytest.mark.parametrize("pulls", [False, True])
def test_workers_may_be_rounds_ahead_of_one_that_is_late(tmp_path, pulls):
    """They push more than the server keeps for them, and wait for nothing. All ends soon after it is there."""
    program = """
import time
import loomix as mx
kv = mx.kv.create("dist_sync")
keys, count, rounds = ["a", "b"], 2_000_000, 8
for key in keys: kv.init(key, mx.nd.zeros((count,)))
kv.barrier(1)
if kv.rank == 0: time.sleep(2)
begin = time.monotonic()
value, outs = mx.nd.ones((count,)), [mx.nd.empty((count,)) for _ in keys]
for round in range(rounds):
    for key, out in zip(keys, outs):
        kv.push(key, value * (round + 1))
        if PULLS: kv.pull(key, out)
for key, out in zip(keys, outs): kv.pull(key, out)
assert all((out.asnumpy() == 3 * rounds).all() for out in outs)
print("seconds", time.monotonic() - begin)
""".replace("PULLS", str(pulls))
    with Cluster(tmp_path, program, workers=3, LOOMIX_KV_DEADLINE=24).start() as cluster:
        cluster.succeed()
        # Who is held back until the time is over waits for a quarter of the deadline each time.
        assert float(cluster.output("worker", 0).split()[-1]) < 20
