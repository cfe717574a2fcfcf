# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a cluster on disk, and clusters that go on from them."""

import signal
import time

import loomix as mx
import pytest
from real_cluster import TIMEOUT, Cluster

if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
    pytest.skip("this build has no network module (OpenSSL, Protocol Buffers)", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

# Momentum makes the states count, and the schedule the number of updates; "still" is never pushed.
PROGRAM = """
import os, sys, time
import numpy as np
import loomix as mx
kv = mx.kv.create("dist_sync")
schedule = mx.lr_scheduler.FactorScheduler(step=7, factor=0.9, base_lr=0.1)
kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9, wd=0.01, lr_scheduler=schedule))
keys, shapes = ["w", "v"], [(5,), (300, 300)]
kv.init(keys, [mx.nd.ones(shape) for shape in shapes])
kv.init("still", mx.nd.array([1, 2, 3]))
out = [mx.nd.empty(shape) for shape in shapes]
print("begin", kv.pushes("w"), flush=True)
for step in range(kv.pushes("w") + 1, STEPS + 1):
    random = np.random.RandomState(step * 10 + kv.rank)
    kv.push(keys, [mx.nd.array(random.rand(*shape)) for shape in shapes])
    kv.pull(keys, out)
    mx.nd.waitall()
    print("step", step, flush=True)
    time.sleep(0.01)
still = mx.nd.empty((3,))
kv.pull("still", still)
assert still.asnumpy().tolist() == [1, 2, 3]
np.savez(f"values-{kv.rank}.npz", *[array.asnumpy() for array in out])
kv.barrier()
"""


def cluster(folder, steps, snapshots=None, servers=3, every=5, **settings):
    if snapshots:
        settings |= {"LOOMIX_KV_SNAPSHOT_DIR": snapshots, "LOOMIX_KV_SNAPSHOT_EVERY": every}
    folder.mkdir(exist_ok=True)
    return Cluster(folder, PROGRAM.replace("STEPS", str(steps)), 2, servers, **settings)


def rounds(folder, groups=3):
    """Those that all groups have."""
    there = {}
    for path in folder.glob("*.snapshot"):
        _, group, _, number, _, epoch = path.stem.split("-")
        there.setdefault((int(epoch), int(number)), set()).add(group)
    return sorted(number for (_, number), found in there.items() if len(found) == groups)


def wait_for_round(folder, number):
    until = time.monotonic() + TIMEOUT
    while not rounds(folder) or rounds(folder)[-1] < number:
        assert time.monotonic() < until, list(folder.iterdir())
        time.sleep(0.01)


def kill_all(nodes):
    for role, rank in list(nodes.processes):
        nodes.kill(role, rank)


def test_everything_is_killed_and_goes_on(tmp_path):
    with cluster(tmp_path / "whole", 30).start() as nodes:
        nodes.succeed()
    snapshots = tmp_path / "snapshots"
    with cluster(tmp_path / "first", 1000, snapshots).start() as nodes:
        wait_for_round(snapshots, 10)
        nodes.kill("server", 1, signal.SIGKILL)  # its group's next head writes on
        nodes.start(("server", 1))
        wait_for_round(snapshots, 15)
        kill_all(nodes)
    assert len(rounds(snapshots)) in (2, 3)  # the third while the second's files go
    before = rounds(snapshots)[-1]
    with cluster(tmp_path / "again", max(30, before + 5), snapshots, LOOMIX_KV_RESTORE=1).start() as nodes:
        nodes.succeed()
        assert [f"begin {before}\n" in nodes.output("worker", rank) for rank in range(2)] == [True, True]
    assert all(path.stem.endswith("-epoch-1") for path in snapshots.glob(f"*-round-{before + 5}-*"))
    if before + 5 > 30:  # the machine was slow to kill
        with cluster(tmp_path / "whole", before + 5).start() as nodes:
            nodes.succeed()
    for rank in range(2):
        expected = (tmp_path / "whole" / f"values-{rank}.npz").read_bytes()
        assert (tmp_path / "again" / f"values-{rank}.npz").read_bytes() == expected


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The files of a run that ended."""
    folder = tmp_path_factory.mktemp("written")
    with cluster(folder / "run", 10, folder / "snapshots").start() as nodes:
        nodes.succeed()
    newest = rounds(folder / "snapshots")[-1]
    return {
        path.name: path.read_bytes() for path in (folder / "snapshots").glob(f"*-round-{newest}-*.snapshot")
    }


def refused(tmp_path, files, *texts, **settings):
    snapshots = tmp_path / "snapshots"
    snapshots.mkdir()
    for name, content in files.items():
        (snapshots / name).write_bytes(content)
    with cluster(tmp_path / "run", 10, snapshots, **{"LOOMIX_KV_RESTORE": 1, **settings}).start() as nodes:
        assert all(nodes.codes("worker"))
        for rank in range(2):
            assert all(text in nodes.output("worker", rank) for text in texts), nodes.output("worker", rank)
        assert any(nodes.codes("server")) and any(nodes.codes("scheduler"))


def test_damaged_files_are_named(tmp_path, written):
    name = sorted(written)[-1]
    damaged = bytearray(written[name])
    damaged[-5] ^= 1
    refused(tmp_path, {**written, name: bytes(damaged)}, name, "checksum")


def test_truncated_files_are_named(tmp_path, written):
    name = sorted(written)[-1]
    refused(tmp_path, {**written, name: written[name][:-100]}, name, "truncated")


def test_other_clusters_files_are_refused(tmp_path, written):
    for content in written.values():
        assert content[24:28] == b"\x08\x03\x10\x02"  # fields 1 and 2 of its head: 3 groups, 2 workers
    refused(tmp_path, written, "no round has a snapshot of all 2 groups", servers=2)


def test_an_earlier_run_is_not_mixed_with_a_new_one(tmp_path, written):
    refused(tmp_path, written, "snapshots of an earlier run", "LOOMIX_KV_RESTORE", LOOMIX_KV_RESTORE=0)


def test_a_folder_without_snapshots_begins_anew(tmp_path):
    with cluster(tmp_path / "run", 3, tmp_path / "snapshots", LOOMIX_KV_RESTORE=1).start() as nodes:
        nodes.succeed()
        assert "begin 0\n" in nodes.output("worker", 0)
