# SPDX-License-Identifier: Apache-2.0
"""One of four ranks is killed or stopped at work: all others end by themselves, say which one, and fail."""

import subprocess
import sys
import time

import loomix as mx
import pytest
from test_mpi_kvstore import environment_of, free_port
from test_mpi_kvstore import no_mpi as no_mpi  # a fixture

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

WORKS = ["product", "step", "save", "split step", "split save"]
PROGRAM = """
import itertools, os, signal, sys, threading, time
import loomix as mx
from loomix.parallel import Matrix
what, sign, folder, kind = sys.argv[1:]
a = Matrix.random((400, 400), "rows", seed=1)
if what == "product":
    work = lambda: a.dot(a, algorithm="ring").wait_to_read()
elif what == "save":
    work = lambda: a.save(folder)
else:
    net, store = mx.gluon.nn.Dense(32, in_units=200, prefix="fc_"), "dist_" + kind
    if what.startswith("split"):
        mesh = mx.parallel.Mesh(model=4)
        mx.parallel.shard(net, mesh, {"fc": mx.parallel.columns("model")})
        store = mx.parallel.store(mesh)
    net.initialize(mx.init.One())
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.5, "learning_rate": 0}, kvstore=store)
    x = mx.nd.ones((5, 200))
    def work():
        with mx.autograd.record():
            loss = net(x).sum()
        loss.backward()
        trainer.step(5)
        loss.wait_to_read()
if what == "split save":
    work()
    steps = itertools.count(1)
    work = lambda: mx.parallel.save(folder, {"net": net, "trainer": trainer}, step=next(steps))
work()
if mx.parallel.rank() == 2:
    threading.Timer(0.2, os.kill, (os.getpid(), getattr(signal, sign))).start()
print("works", flush=True)
until = time.monotonic() + 40
while time.monotonic() < until:
    work()
print("nothing happened", flush=True)
"""


def end_of(ranks, within):
    """Statuses and words of processes; those that are left at last are killed, and their status is None."""
    until = time.monotonic() + within
    while any(one.poll() is None for one in ranks) and time.monotonic() < until:
        time.sleep(0.05)
    statuses = [one.poll() for one in ranks]
    for one in ranks:
        one.kill()
    return statuses, [one.communicate(timeout=20)[0] for one in ranks]


def still_loads(what, folder):
    if what == "split save":
        net = mx.gluon.nn.Dense(32, in_units=200)
        net.initialize()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.5})
        assert mx.parallel.load(folder, {"net": net, "trainer": trainer})[0] > 0
        assert (net.weight.data().asnumpy() == 1).all()
    if what == "save":
        expected = mx.parallel.Matrix.random((400, 400), "rows", seed=1)
        assert (mx.parallel.Matrix.load(folder) - expected).norm().asscalar() == 0


@pytest.mark.parametrize("what", WORKS)
def test_a_killed_rank_is_named_by_all_others(what, tmp_path):
    if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
        pytest.skip("built without the network")
    folder = str(tmp_path / "w")
    environment = environment_of(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), WORLD_SIZE="4")
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, what, "SIGKILL", folder, "network"],
            env=environment | {"RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(4)
    ]
    statuses, words = end_of(ranks, 35)
    assert statuses[2] == -9, words
    for rank in (0, 1, 3):
        assert statuses[rank] not in (0, None) and "rank 2" in words[rank], (rank, statuses, words[rank])
    still_loads(what, folder)


@pytest.mark.parametrize("what", WORKS)
def test_a_stopped_rank_is_named_and_the_job_ends(what, tmp_path, no_mpi):
    if no_mpi:
        pytest.skip(no_mpi)
    folder = str(tmp_path / "w")
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4", "-x", "LOOMIX_KV_DEADLINE=2"]
    command += [sys.executable, "-c", PROGRAM, what, "SIGSTOP", folder, "mpi"]
    job = subprocess.Popen(
        command, env=environment_of(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    (status,), (words,) = end_of([job], 35)
    assert status not in (0, None), words
    assert "rank 2 does not answer" in words and "nothing happened" not in words
    still_loads(what, folder)
