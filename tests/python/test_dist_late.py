# SPDX-License-Identifier: Apache-2.0
"""Clusters of processes in which a worker is late, or has another key than the others."""

import re

import loomix as mx
import pytest
from real_cluster import Cluster

if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
    pytest.skip("this build has no network module (OpenSSL, Protocol Buffers)", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

LATE = """
import time
import loomix as mx
kv = mx.kv.create("dist_sync")
kv.init(["w", "v"], [mx.nd.zeros((4,)), mx.nd.zeros((400, 300))])
outs = [mx.nd.empty((4,)), mx.nd.empty((400, 300))]
for step in range(2):
    if kv.rank == 1: time.sleep(4)  # a checkpoint, say
    kv.push(["w", "v"], [mx.nd.ones((4,)), mx.nd.ones((400, 300))])
    kv.pull(["w", "v"], outs)
    assert all((out.asnumpy() == 2).all() for out in outs)
if kv.rank == 1: time.sleep(4)
kv.barrier()
print("good")
"""


def test_a_worker_that_is_late_is_waited_for_and_named(tmp_path):
    with Cluster(tmp_path, LATE, LOOMIX_KV_DEADLINE=1.5).start() as cluster:
        cluster.succeed()
        said = cluster.output("worker", 0)
    assert re.search(
        r"s for worker 1, which has not made push 1 of key '[vw]'. It is there, so it is waited", said
    )
    assert "worker 1, which has not come to barrier 1" in said
    assert said.count("It is there") <= 3 * 3  # one line each deadline, not one a key


def test_at_the_late_deadline_it_is_an_error(tmp_path):
    with Cluster(tmp_path, LATE, LOOMIX_KV_DEADLINE=1, LOOMIX_KV_LATE_DEADLINE=2).start() as cluster:
        assert cluster.processes["worker", 0].wait(30) != 0
        assert "it waits for worker 1, which has not made push 1 of key" in cluster.output("worker", 0)


@pytest.mark.parametrize("shapes", [((4, 6), (6, 4)), ((4,), (400, 300)), ((400, 300), (4,))])
def test_a_key_of_another_shape_is_refused_with_both(tmp_path, shapes):
    program = f"""
import loomix as mx
kv = mx.kv.create("dist_sync")
value = mx.nd.zeros({shapes}[kv.rank])
kv.init("w", value)
kv.push("w", value)
kv.pull("w", out=value)
value.wait_to_read()
"""
    with Cluster(tmp_path, program, LOOMIX_KV_DEADLINE=40, timeout=20).start() as cluster:
        assert all(cluster.codes("worker"))
        said = [cluster.output("worker", rank) for rank in range(2)]
    for rank in range(2):
        assert f"of shape {shapes[rank]} and type float32 at worker {rank}" in said[1], said[1]
    assert "ShapeError" in said[1] and "key 'w' is default of shape" in said[1]
    assert "worker 1 was lost: its program ended with" in said[0] and "key 'w' is" in said[0], said[0]
