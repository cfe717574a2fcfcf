# SPDX-License-Identifier: Apache-2.0
"""The store of processes that mpirun started."""

import os
import shutil
import subprocess
import sys

import loomix as mx
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

PROGRAM = """
import hashlib, sys
import loomix as mx, numpy as np
kv = mx.kv.create("dist_mpi")
rank = kv.rank
assert kv.num_workers == 2 and kv.type == "dist_mpi"
kv.init([3, "w"], [mx.nd.full((300, 400), rank + 1), mx.nd.zeros((5,))])
big, small = mx.nd.empty((300, 400)), [mx.nd.empty((5,)) for _ in range(2)]
kv.pull([3, "w"], [big, small])
assert (big.asnumpy() == 1).all()
for step in range(1, 4):
    kv.push([3, "w"], [mx.nd.full((300, 400), step * (rank + 1)), [mx.nd.ones((5,)), mx.nd.ones((5,))]])
    kv.pull([3, "w"], [big, small])
    assert (big.asnumpy() == 3 * step).all() and (small[1].asnumpy() == 4).all()
kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
kv.push("w", mx.nd.ones((5,)))
kv.pull("w", small)
assert (small[0].asnumpy() == 3).all(), small
kv.barrier()

mx.random.seed(5 + rank)
net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
random = np.random.RandomState(rank)
data = mx.io.NDArrayIter(random.randn(40, 6), random.randint(0, 4, 40), 10)
module.fit(data, kvstore=mx.kv.create("dist_mpi"), optimizer_params={"learning_rate": 0.1}, num_epoch=2,
           initializer=mx.init.Uniform(1))
weights = module.get_params()[0]
print("good", rank, hashlib.sha256(b"".join(weights[name].asnumpy().tobytes() for name in sorted(weights))).hexdigest())
"""


def mpi_is_missing():
    try:
        mx.kv.create("dist_mpi")
    except ConnectionError as error:
        return str(error)
    return "" if shutil.which("mpirun") else "there is no mpirun"


def run(program, *options):
    keep = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH")
    environment = {name: os.environ[name] for name in keep if name in os.environ}
    environment.update(PYTHONPATH=os.pathsep.join(sys.path), OMP_NUM_THREADS="1", LOOMIX_KV_DEADLINE="40")
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", *options, sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)


@pytest.fixture(scope="module", autouse=True)
def needs_mpi():
    # Asked for in a process of its own: MPI stays where it was begun.
    code = "import test_mpi_kvstore as t; print(t.mpi_is_missing())"
    folder = os.path.dirname(__file__)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    if done.stdout.strip():
        pytest.skip(done.stdout.strip())


@pytest.mark.parametrize("in_order", ["0", "1"])
def test_two_processes(in_order):
    done = run(PROGRAM, "-n", "2", "-x", "LOOMIX_ENFORCE_DETERMINISM=" + in_order)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = sorted(line for line in done.stdout.splitlines() if line.startswith("good"))
    assert [line.split()[1] for line in lines] == ["0", "1"]
    assert lines[0].split()[2] == lines[1].split()[2]  # all have the same parameters


def test_a_process_that_does_not_come_is_noticed():
    program = """
import time
import loomix as mx
kv = mx.kv.create("dist_mpi")
kv.init("w", mx.nd.zeros((2,)))
if kv.rank == 1:
    time.sleep(4)
    import os; os._exit(0)
kv.push("w", mx.nd.ones((2,)))
try:
    kv.pull("w", out := mx.nd.empty((2,)))
    out.wait_to_read()
except ConnectionError as error:
    print("good", error, flush=True)
    import os; os._exit(0)
"""
    done = run(program, "-n", "2", "-x", "LOOMIX_KV_DEADLINE=2")
    assert "good" in done.stdout and "other ranks did not come" in done.stdout, done.stdout + done.stderr
