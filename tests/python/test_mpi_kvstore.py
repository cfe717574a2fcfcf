# SPDX-License-Identifier: Apache-2.0
"""Stores of processes that mpirun started, or whoever sets RANK and WORLD_SIZE."""

import contextlib
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import loomix as mx
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

PROGRAM = """
import hashlib, sys
import loomix as mx, numpy as np
kv = mx.kv.create("dist_mpi")
rank = kv.rank
assert kv.num_workers == 2 and kv.type in ("dist_mpi", "dist_network")
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


def environment_of(**more):
    keep = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH")
    environment = {name: os.environ[name] for name in keep if name in os.environ}
    environment.update(PYTHONPATH=os.pathsep.join(sys.path), OMP_NUM_THREADS="1", LOOMIX_KV_DEADLINE="40")
    return environment | more


def with_mpi(program, *options):
    """Under mpirun, with its options."""
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", *options, sys.executable, "-c", program]
    return subprocess.run(command, env=environment_of(), capture_output=True, text=True, timeout=100)


def free_port():
    """Below those that the system gives: it might give this one to another rank before the first listens there."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as found, contextlib.suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port


def with_network(program, *options):
    """Without MPI, by hand-set variables. When one has failed the others are killed after a while, as torchrun does."""
    options = list(options)
    size = options.pop(options.index("-n") + 1)
    more = dict(one.split("=") for one in options if "=" in one)
    program = program.replace("dist_mpi", "dist_network")
    environment = environment_of(
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), WORLD_SIZE=size, **more
    )
    with tempfile.TemporaryFile("w+") as out:
        command = [sys.executable, "-c", program]
        ranks = [
            subprocess.Popen(command, env=environment | {"RANK": str(rank)}, stdout=out, stderr=out)
            for rank in range(int(size))
        ]
        until = time.monotonic() + 90
        while any(rank.poll() is None for rank in ranks) and time.monotonic() < until:
            if any(rank.returncode for rank in ranks):
                until = min(until, time.monotonic() + 5)
            time.sleep(0.02)
        for rank in ranks:
            rank.kill()
            rank.wait()
        out.seek(0)
        status = next((rank.returncode for rank in ranks if rank.returncode), 0)
        return subprocess.CompletedProcess(command, status, out.read(), "")


@pytest.fixture(params=["mpi", "network"])
def run(request):
    if request.param == "network":
        if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
            pytest.skip("built without the network")
        return with_network
    if why := request.getfixturevalue("no_mpi"):
        pytest.skip(why)
    return with_mpi


@pytest.fixture(scope="module")
def no_mpi():
    # Asked for in a process of its own: MPI stays where it was begun.
    code = "import test_mpi_kvstore as t; print(t.mpi_is_missing())"
    folder = os.path.dirname(__file__)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_two_processes(run):
    done = run(PROGRAM, "-n", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = sorted(line for line in done.stdout.splitlines() if line.startswith("good"))
    assert [line.split()[1] for line in lines] == ["0", "1"]
    assert lines[0].split()[2] == lines[1].split()[2]  # all have the same parameters


def test_stores_of_communicators(no_mpi):
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
    if no_mpi:
        pytest.skip(no_mpi)
    done = with_mpi(program, "-n", "3")
    assert done.returncode == 0 and done.stdout.count("good") == 3, done.stdout + done.stderr


def test_sums_are_in_the_order_of_ranks(run):
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


def test_stores_do_not_wait_for_each_other(run):
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


def failed(run, program, *options, within=20):
    """The job ends by itself, with a status that is not 0; what was said."""
    begin = time.monotonic()
    done = run(BEGIN + program, "-n", "3", *options)
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert time.monotonic() - begin < within, said
    return said


def test_a_rank_that_does_not_answer_is_named_and_the_job_ends(run):
    program = "step()\nif kv.rank == 2: os.kill(os.getpid(), signal.SIGSTOP)\nstep()"
    said = failed(run, program, "-x", "LOOMIX_KV_DEADLINE=2")
    assert "rank 2 does not answer; nothing was heard of it for 2" in said
    assert " ends" in said


def test_an_exception_is_told_to_all_ranks_at_once(run):
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
    said = failed(run, program)
    told = [line.split(maxsplit=3) for line in said.splitlines() if line.startswith("told")]
    assert sorted(line[1] for line in told) == ["0", "2"], said
    for _, _, seconds, error in told:
        assert float(seconds) < 3, said  # its interpreter has to end first
        assert "rank 1 has given up: its program ended with ValueError: my mistake" in error


def test_a_rank_that_ended_early_is_named(run):
    said = failed(run, "step()\nif kv.rank == 1: sys.exit(0)\nstep()")
    assert "rank 1 has ended; it made" in said


def test_calls_that_do_not_match_are_noticed(run):
    program = """
kv.init("v", mx.nd.zeros((5 if kv.rank == 1 else 6,)))
"""
    said = failed(run, program)
    assert "broadcast of 20 bytes from rank 0" in said and "broadcast of 24 bytes from rank 0" in said


def test_a_rank_that_is_late_is_waited_for_and_named(run):
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


def test_a_rank_that_was_killed_is_named_within_a_second():
    program = """
step()
begin = time.monotonic()
if kv.rank == 1: os.kill(os.getpid(), signal.SIGKILL)
try:
    step()
except ConnectionError as error:
    print("told", kv.rank, time.monotonic() - begin, error, flush=True)
    raise
"""
    said = failed(with_network, program)
    told = [line.split(maxsplit=3) for line in said.splitlines() if line.startswith("told")]
    assert sorted(line[1] for line in told) == ["0", "2"], said
    for _, _, seconds, error in told:
        assert float(seconds) < 1.5, said
        assert "rank 1 was lost: " in error


def test_ranks_that_do_not_come_are_named():
    environment = {"MASTER_PORT": str(free_port()), "WORLD_SIZE": "3", "LOOMIX_KV_DEADLINE": "1.5"}
    program = "import loomix as mx\nmx.kv.create('dist_network')"
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env=environment_of(RANK=str(rank), **environment),
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 2)
    ]
    for rank in ranks:
        said = rank.communicate(timeout=60)[1]
        assert rank.returncode == 1 and "within 1.5 s: 1" in said, said


def test_a_process_that_is_no_rank_is_told_so():
    program = "import loomix as mx\nmx.kv.create('dist_network')"
    for variables, text in (
        ({}, "was not started as a rank of a job: RANK is -1, WORLD_SIZE 0 and MASTER_PORT 0. Use torchrun"),
        ({"RANK": "2", "WORLD_SIZE": "2", "MASTER_PORT": "9"}, "has the RANK 2; expected 0 to 1"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment_of(**variables),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 1 and text in done.stderr, done.stderr


def test_keys_are_for_ranks_too(tmp_path):
    """Connections are by TLS then; a rank without keys is not let in."""
    assert subprocess.run([sys.executable, "-m", "loomix", "keys", tmp_path / "keys"]).returncode == 0
    program = BEGIN + "step()\nassert out[0].asscalar() == 2\nprint('good')"
    done = with_network(program, "-n", "2", f"LOOMIX_KV_KEYS={tmp_path / 'keys'}")
    assert done.returncode == 0 and done.stdout.count("good") == 2, done.stdout


@pytest.mark.skipif(not shutil.which("torchrun"), reason="there is no torchrun")
def test_torchrun(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM.replace("dist_mpi", "dist_network"))
    command = ["torchrun", "--standalone", "--nproc-per-node=2", "--no-python", sys.executable]
    done = subprocess.run(
        [*command, tmp_path / "program.py"], env=environment_of(), capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0 and done.stdout.count("good") == 2, done.stdout + done.stderr


def test_links_are_measured(run):
    program = """
import loomix as mx  # dist_mpi
from loomix.__main__ import main
assert main(["links", "--bytes", "8", "65536"]) == 0
"""
    done = run(program, "-n", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    kind = "network" if run is with_network else "mpi"
    first, second = (
        next(i for i, line in enumerate(lines) if line.startswith(f"Table {n}.")) for n in ("I", "II")
    )
    for begin in (first, second):
        assert lines[begin + 2].split("  ")[-1].strip() == f"{kind}, one machine"
        assert lines[begin + 3].split() == ["us", "MB/s"]
        names = [lines[begin + i].split()[:2] for i in (4, 5)]
        assert names == [["8", "B"], ["64", "KiB"]]
        assert all(float(number) > 0 for i in (4, 5) for number in lines[begin + i].split()[2:])


def test_products_without_mpi():
    program = """
import numpy as np
from loomix import parallel
assert (parallel.size(), parallel.job.rank()) == (2, parallel.rank())
a = parallel.Matrix.random((60, 40), "rows", "float64", seed=1)
b = parallel.Matrix.random((40, 50), "columns", "float64", seed=2)
found, x, y = a.dot(b).to_global(), a.to_global(), b.to_global()
if parallel.rank() == 0:
    np.testing.assert_allclose(found.asnumpy(), x.asnumpy() @ y.asnumpy(), rtol=1e-12)
parallel.barrier()
print("good")
"""
    done = with_network(program, "-n", "2")
    assert done.returncode == 0 and done.stdout.count("good") == 2, done.stdout
