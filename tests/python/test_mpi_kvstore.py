# SPDX-License-Identifier: Apache-2.0
"""The store of processes that mpirun started."""

import os
import shutil
import subprocess
import sys
import time

import loomix as mx
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

PROGRAM = """
import hashlib, sys
import loomix as mx, numpy as np
kv = mx.kv.create("dist_mpi")
rank = kv.rank
assert kv.num_workers == 2 and kv.type == "dist_mpi"
kv.init(["v", "w"], [mx.nd.full((300, 400), rank + 1), mx.nd.zeros((5,))])
big, small = mx.nd.empty((300, 400)), [mx.nd.empty((5,)) for _ in range(2)]
kv.pull(["v", "w"], [big, small])
assert (big.asnumpy() == 1).all()
for step in range(1, 4):
    kv.push(["v", "w"], [mx.nd.full((300, 400), step * (rank + 1)), [mx.nd.ones((5,)), mx.nd.ones((5,))]])
    kv.pull(["v", "w"], [big, small])
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


def test_two_processes():
    done = run(PROGRAM, "-n", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = sorted(line for line in done.stdout.splitlines() if line.startswith("good"))
    assert [line.split()[1] for line in lines] == ["0", "1"]
    assert lines[0].split()[2] == lines[1].split()[2]  # all have the same parameters


def test_stores_of_communicators():
    """Ranks 0 and 2, and rank 1, each with a store of their own; handles as mpi4py's MPI._handleof gives them."""
    program = """
import ctypes
import loomix as mx
world = mx.kv.create("dist_mpi")  # begins MPI
mpi = ctypes.CDLL("libmpi.so.40")
every = ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))
half = ctypes.c_void_p()
# In the opposite order of ranks.
assert mpi.MPI_Comm_split(ctypes.c_void_p(every), world.rank % 2, -world.rank, ctypes.byref(half)) == 0
stores = [mx.kv.create("dist_mpi", communicator=half.value) for _ in range(2)]
for store in stores:
    assert (store.rank, store.num_workers) == {0: (1, 2), 1: (0, 1), 2: (0, 2)}[world.rank]
    store.init("w", mx.nd.full((3,), world.rank))
    store.push("w", mx.nd.full((3,), world.rank + 1))
    store.pull("w", out := mx.nd.empty((3,)))
    assert (out.asnumpy() == {0: 4, 1: 2, 2: 4}[world.rank]).all(), out
none = ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_null"))
for wrong, error in ((none, ValueError), ("world", TypeError)):
    try:
        mx.kv.create("dist_mpi", communicator=wrong)
    except error as raised:
        assert "communicator" in str(raised)
    else:
        raise AssertionError(wrong)
print("good")
"""
    done = run(program, "-n", "3")
    assert done.returncode == 0 and done.stdout.count("good") == 3, done.stdout + done.stderr


def test_sums_are_in_the_order_of_ranks():
    program = """
import loomix as mx
kv = mx.kv.create("dist_mpi")
term = [1e8, 1.0, -1e8][kv.rank]
for size in (3, 300_007):
    kv.init(str(size), mx.nd.zeros((size,)))
    kv.push(str(size), mx.nd.full((size,), term))
    kv.pull(str(size), out := mx.nd.empty((size,)))
    assert (out.asnumpy() == 0).all(), out  # 1e8 + 1 is 1e8
print("good")
"""
    done = run(program, "-n", "3")
    assert done.returncode == 0 and done.stdout.count("good") == 3, done.stdout + done.stderr


def test_stores_do_not_wait_for_each_other():
    """The same calls in the same order on both ranks; what is ready first differs."""
    program = """
import time
import loomix as mx

class Slow(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        time.sleep(0.3)
        self.assign(out_data[0], req[0], in_data[0])

@mx.operator.register("slow")
class SlowProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Slow()

stores = [mx.kv.create("dist_mpi") for _ in range(4)]
for store in stores: store.init("w", mx.nd.zeros((1000,)))
begin = time.monotonic()
late = {0: (0, 1), 1: (2, 3)}[stores[0].rank]
values = [mx.nd.Custom(mx.nd.ones((1000,)), op_type="slow") if i in late else mx.nd.ones((1000,)) for i in range(4)]
outs = [mx.nd.empty((1000,)) for _ in stores]
for store, value, out in zip(stores, values, outs):
    store.push("w", value)
    store.pull("w", out)
assert all((out.asnumpy() == 2).all() for out in outs)
print("good", time.monotonic() - begin)
"""
    done = run(program, "-n", "2", "-x", "LOOMIX_KV_DEADLINE=8")
    assert done.returncode == 0 and done.stdout.count("good") == 2, done.stdout + done.stderr


BEGIN = """
import os, signal, sys, time
import loomix as mx
kv = mx.kv.create("dist_mpi")
value, out = mx.nd.ones((1000,)), mx.nd.empty((1000,))
kv.init("w", mx.nd.zeros((1000,)))
kv.barrier()
def step():
    kv.push("w", value)
    kv.pull("w", out)
    out.wait_to_read()
"""


def failed(program, *options, within=20):
    """The job ends by itself, with a status that is not 0; what was said."""
    begin = time.monotonic()
    done = run(BEGIN + program, "-n", "3", *options)
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert time.monotonic() - begin < within, said
    return said


def test_a_rank_that_does_not_answer_is_named_and_the_job_ends():
    program = "step()\nif kv.rank == 2: os.kill(os.getpid(), signal.SIGSTOP)\nstep()"
    said = failed(program, "-x", "LOOMIX_KV_DEADLINE=2")
    assert "rank 2 does not answer; nothing was heard of it for 2" in said
    assert "ends the job" in said


def test_an_exception_is_told_to_all_ranks_at_once():
    program = """
begin = time.monotonic()
try:
    step()
    if kv.rank == 1: raise ValueError("my mistake")
    step()
except ConnectionError as error:
    print("told", kv.rank, time.monotonic() - begin, error, flush=True)
    raise
"""
    said = failed(program)
    told = [line.split(maxsplit=3) for line in said.splitlines() if line.startswith("told")]
    assert sorted(line[1] for line in told) == ["0", "2"], said
    for _, _, seconds, error in told:
        assert float(seconds) < 3, said  # its interpreter has to end first
        assert "rank 1 has given up: its program ended with ValueError: my mistake" in error


def test_a_rank_that_ended_early_is_named():
    said = failed("step()\nif kv.rank == 1: sys.exit(0)\nstep()")
    assert "rank 1 has ended; it made" in said


def test_calls_that_do_not_match_are_noticed():
    program = """
kv.init("v", mx.nd.zeros((5 if kv.rank == 1 else 6,)))
"""
    said = failed(program)
    assert "broadcast of 20 bytes from rank 0" in said and "broadcast of 24 bytes from rank 0" in said


def test_a_rank_that_is_late_is_waited_for_and_named():
    program = (
        BEGIN + "step()\nif kv.rank == 1: time.sleep(4)\nstep()\nassert out[0].asscalar() == 3\nprint('good')"
    )
    done = run(program, "-n", "3", "-x", "LOOMIX_KV_DEADLINE=1.5")
    said = done.stdout + done.stderr
    assert done.returncode == 0 and done.stdout.count("good") == 3, said
    assert (
        "rank 1 has not called it (it is at all_reduce 3, in the program). It is there, so it is waited for"
        in said
    )
