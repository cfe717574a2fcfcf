# SPDX-License-Identifier: Apache-2.0
"""Stores of clusters whose nodes are processes."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import loomix as mx
import pytest
from loomix.optimizer.travel import describe
from real_cluster import TIMEOUT, Cluster, free_port

if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
    pytest.skip("this build has no network module (OpenSSL, Protocol Buffers)", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

BASICS = """
import sys
import loomix as mx, numpy as np
kind = sys.argv[1] if len(sys.argv) > 1 else "KIND"
kv = mx.kv.create(kind)
assert mx.kv.create(kind) is kv
rank, count = kv.rank, kv.num_workers
assert count == 2 and kv.type == "TYPE", (count, kv.type)
kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, rescale_grad=2))
kv.init(["v", "w"], [mx.nd.ones((400, 300)), mx.nd.zeros((5,))])  # the first is cut over the servers
kv.init("b", mx.nd.full((2, 2), 7, dtype="float64"))
kv.broadcast("c", mx.nd.full((2,), 3 if rank == 0 else 99), out := mx.nd.empty((2,)))
assert out.asnumpy().tolist() == [3, 3]
kv.barrier()
big, small = mx.nd.empty((400, 300)), [mx.nd.empty((5,), ctx=mx.cpu(i)) for i in range(2)]
for step in range(1, 5):
    kv.push(["v", "w"], [mx.nd.ones((400, 300)), [mx.nd.full((5,), rank + 1, ctx=mx.cpu(i)) for i in range(2)]])
    kv.pull(["v", "w"], [big, small])
    if "sync" in kind and "async" not in kind:
        assert (big.asnumpy() == 1 - 2 * step).all(), big
        assert [s.asnumpy().tolist() for s in small] == [[-6.0 * step] * 5] * 2, small
kv.barrier()
kv.pull(["v", "w"], [big, small])
assert (big.asnumpy() == -7).all() and (small[1].asnumpy() == -24).all(), (big, small)
kv.barrier()
out = mx.nd.empty((2, 2), dtype="float64")
kv.pushpull("b", mx.nd.full((2, 2), rank + 1, dtype="float64"), out=out)
assert kv.pushes("b") == 1 and kv.pushes("w") == 4
kv.barrier()
kv.pull("b", out)
assert (out.asnumpy() == 4).all(), out
print("good")
"""


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        ("dist_sync", "dist_sync"),
        ("dist_sync_device", "dist_device_sync"),
        ("dist_async", "dist_async"),
        ("dist_ssp", "dist_ssp"),
    ],
)
def test_round_trip(tmp_path, kind, type_):
    program = BASICS.replace("KIND", kind).replace("TYPE", type_)
    with Cluster(tmp_path, program).start() as cluster:
        cluster.succeed()
        assert all("good\n" in cluster.output("worker", rank) for rank in range(2))
        assert "not reached" not in cluster.output("server") + cluster.output("scheduler")


MISTAKES = """
import loomix as mx
kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((2, 3)))
def fails(kind, *texts):
    class Expect:
        def __enter__(self): pass
        def __exit__(self, what, error, trace):
            assert isinstance(error, kind), error
            assert all(text in str(error) for text in texts), str(error)
            return True
    return Expect()
with fails(KeyError, "'v'", "worker 0"): kv.push("v", mx.nd.zeros((2, 3)))
with fails(KeyError, "'v'"): kv.pull("v", mx.nd.zeros((2, 3)))
with fails(ValueError, "'w'", "(2, 3)", "(3, 2)"): kv.push("w", mx.nd.zeros((3, 2)))
with fails(TypeError, "'w'", "float32", "float64"): kv.push("w", mx.nd.zeros((2, 3), dtype="float64"))
with fails(ValueError, "'w'"): kv.init("w", mx.nd.zeros((2, 3)))
with fails(NotImplementedError, "set_optimizer"): kv.set_updater(lambda *a: None)
with fails(NotImplementedError, "Nadam", "SGD"): kv.set_optimizer(mx.optimizer.Nadam())
with fails(mx.MXNetError, "dist_sync", "servers", "--snapshot-dir", "MXNET_UPDATE_ON_KVSTORE=0"):
    kv.save_optimizer_states("file")
with fails(mx.MXNetError, "dist_sync", "--restore"): kv.load_optimizer_states("file")
with fails(mx.MXNetError, "dist_async", "close"): mx.kv.create("dist_async")
kv.close()
with fails(mx.MXNetError, "closed"): kv.barrier()
print("good")
"""


def test_mistakes_are_named(tmp_path):
    with Cluster(tmp_path, MISTAKES, workers=1, servers=1).start() as cluster:
        cluster.succeed()
        assert "good\n" in cluster.output("worker", 0)


def test_types_and_arguments():
    with pytest.raises(ValueError, match="python -m loomix launch"):
        mx.kv.create("dist_sync")  # without a cluster
    with pytest.raises(ValueError, match="dist_magic"):
        mx.kv.create("dist_magic")
    with pytest.raises(TypeError, match="staleness"):
        mx.kv.create("dist_sync", staleness=3)
    with pytest.raises(TypeError, match="staleness"):
        mx.kv.create("local", staleness=3)
    with pytest.raises(ValueError, match="staleness is -1"):
        mx.kv.create("dist_ssp", staleness=-1)


# ---- optimizers as data --------------------------------------------------------------------------


def test_optimizers_travel_with_their_settings():
    names = {0: "fc_weight", 1: "fc_bias"}
    adam = mx.optimizer.Adam(
        learning_rate=0.1, beta2=0.9, wd=0.01, clip_gradient=2, param_idx2name=names, begin_num_update=5
    )
    adam.set_lr_mult({"fc_weight": 0.5})
    name, settings = describe(adam)
    assert name == "adam"
    expected = {"learning_rate": "0.1", "beta2": "0.9", "wd": "0.01", "clip_gradient": "2"}
    expected |= {"begin_num_update": "5", "lr_mult.fc_weight": "0.5", "lr_mult.0": "0.5"}
    expected |= {"wd_mult.fc_bias": "0.0", "wd_mult.1": "0.0"}
    assert expected.items() <= settings.items()
    schedule = mx.lr_scheduler.MultiFactorScheduler([5, 8], factor=0.1, base_lr=0.2)
    name, settings = describe(mx.optimizer.SGD(lr_scheduler=schedule, momentum=0.9))
    assert (name, settings["lr_scheduler"], settings["steps"], settings["base_lr"]) == (
        "sgd",
        "multifactor",
        "5,8",
        "0.2",
    )


def test_code_does_not_travel():
    class Mine(mx.optimizer.SGD):
        pass

    with pytest.raises(NotImplementedError, match="Mine is code"):
        describe(Mine())
    with pytest.raises(NotImplementedError, match="centered"):
        describe(mx.optimizer.RMSProp(centered=True))
    schedule = type("MySchedule", (mx.lr_scheduler.LRScheduler,), {})()
    with pytest.raises(NotImplementedError, match="MySchedule"):
        describe(mx.optimizer.SGD(lr_scheduler=schedule))
    used = mx.lr_scheduler.FactorScheduler(2, 0.5)
    used(10)
    with pytest.raises(ValueError, match="used already"):
        describe(mx.optimizer.SGD(lr_scheduler=used))


OPTIMIZERS = """
import loomix as mx, numpy as np
lr = mx.lr_scheduler
def make():
    names = dict(param_idx2name={0: "w_weight", 1: "w_bias"})
    for schedule in (
        lr.FactorScheduler(2, 0.5, base_lr=0.1, warmup_steps=2),
        lr.MultiFactorScheduler([2, 4], 0.3, base_lr=0.1),
        lr.PolyScheduler(5, base_lr=0.1),
        lr.CosineScheduler(5, base_lr=0.1, final_lr=0.01, warmup_steps=2, warmup_mode="constant"),
    ):
        yield mx.optimizer.SGD(momentum=0.9, wd=0.1, lr_scheduler=schedule, **names)
    yield mx.optimizer.NAG(learning_rate=0.1, momentum=0.9, clip_gradient=0.5, **names)
    yield mx.optimizer.Adam(learning_rate=0.1, wd=0.01, begin_num_update=3, **names)
    yield mx.optimizer.RMSProp(learning_rate=0.1, **names)
    yield mx.optimizer.Ftrl(learning_rate=0.1, rescale_grad=0.5, **names)
    yield mx.optimizer.Test(rescale_grad=0.25)
kv = mx.kv.create("dist_sync")
random = np.random.RandomState(1)
for number, (here, there) in enumerate(zip(make(), make())):
    kv.set_optimizer(there)
    updater = mx.optimizer.get_updater(here)
    keys = ["w_weight", "w_bias"] if number == 0 else [f"k{number}_weight", f"k{number}_bias"]
    if number:  # without multipliers, as the servers know no names of these keys
        here.wd_mult = {}
    own = [mx.nd.array(random.randn(50).astype("float32")) for _ in keys]
    kv.init(keys, own)
    out = mx.nd.empty((50,))
    for step in range(6):
        for index, key in enumerate(keys):
            grad = mx.nd.array(random.randn(50).astype("float32"))
            kv.push(key, grad)
            kv.pull(key, out)
            updater(index, grad, own[index])
            assert (out.asnumpy() == own[index].asnumpy()).all(), (number, step, index)
print("good")
"""


def test_servers_update_as_this_process_would(tmp_path):
    with Cluster(tmp_path, OPTIMIZERS, workers=1, servers=1).start() as cluster:
        cluster.succeed()
        assert "good" in cluster.output("worker", 0)


# Worker 1 has other rows than worker 0; the local store has both workers' gradients as those of two devices.
SPARSE = """
import loomix as mx, numpy as np
opt = mx.optimizer
def make():
    for lazy in (True, False):
        yield opt.SGD(learning_rate=0.25, wd=0.1, lazy_update=lazy)
        yield opt.SGD(learning_rate=0.25, momentum=0.9, wd=0.1, lazy_update=lazy)
        yield opt.Adam(learning_rate=0.25, wd=0.1, lazy_update=lazy)
    yield opt.Ftrl(learning_rate=0.25, wd=0.1)
    yield opt.NAG(learning_rate=0.25, momentum=0.5, wd=0.1)
    yield opt.RMSProp(learning_rate=0.25, wd=0.1)
kv = mx.kv.create("dist_sync")
shape, rows = (6, 3), mx.nd.arange(6)
out = mx.nd.sparse.zeros("row_sparse", shape)
for number, (here, there) in enumerate(zip(make(), make())):
    kv.set_optimizer(there)
    local = mx.kv.create("local")
    local.set_optimizer(here)
    random = np.random.RandomState(number)
    first = mx.nd.array(random.randn(*shape)).tostype("row_sparse")
    kv.init(number, first)
    local.init(number, first)
    for step in range(4):
        own = []
        for rank in range(2):
            ids = [(step + rank) % 3, 3 + rank]  # nobody has row 5
            own.append(mx.nd.sparse.row_sparse_array((random.randn(2, 3), ids), shape=shape, dtype="float32"))
        kv.push(number, own[kv.rank])
        kv.row_sparse_pull(number, out=out, row_ids=rows)
        got = out.tostype("default").asnumpy()
        local.push(number, own)
        local.row_sparse_pull(number, out=out, row_ids=rows)
        np.testing.assert_allclose(got, out.tostype("default").asnumpy(), 1e-5, 1e-6, str((number, step)))
    lazy = getattr(here, "lazy_update", isinstance(here, opt.Ftrl))
    assert (got[5] == first.tostype("default").asnumpy()[5]).all() == lazy, number
print("good")
"""


def test_servers_update_rows_as_one_machine_does(tmp_path):
    with Cluster(tmp_path, SPARSE).start() as cluster:
        cluster.succeed()
        assert "good" in cluster.output("worker", 0)


CODE = """
import loomix as mx
class Mine(mx.optimizer.Optimizer):
    def create_state(self, index, weight):
        return mx.nd.zeros(weight.shape), None, [mx.nd.ones(weight.shape)]
    def update(self, index, weight, grad, state):
        self._update_count(index)
        mean, nothing, [scale] = state
        assert nothing is None
        mean[:] = 0.5 * mean + grad
        scale *= 1.25
        weight -= self._get_lr(index) * mean * scale * self._index_update_count[index]
class Failing(Mine):
    def update(self, index, weight, grad, state):
        raise ValueError("my mistake\\n" + "x" * 10000)
class Halves(mx.lr_scheduler.LRScheduler):
    def __call__(self, num_update):
        return 0.25 if num_update < 3 else 0.125
"""
WITH_CODE = """
import os, time
import loomix as mx, mine
kv = mx.kv.create("dist_sync")
kv.set_optimizer(mine.Mine(learning_rate=0.25))
here = mx.optimizer.get_updater(mine.Mine(learning_rate=0.25))
keys, shapes = ["a_weight", "b_weight"], [(7,), (300, 300)]
own = [mx.nd.ones(shape) for shape in shapes]
kv.init(keys, own)
out = [mx.nd.empty(shape) for shape in shapes]
for step in range(1, 21):
    for key, value, pulled in zip(keys, own, out):
        grad = mx.nd.full(value.shape, step / 16)
        kv.push(key, grad)
        kv.pull(key, pulled)
        here(key, grad, value)
        assert (pulled.asnumpy() == value.asnumpy()).all(), (step, key)
    print("step", step, flush=True)
    while step in (8, 14) and not os.path.exists(f"go {step}"): time.sleep(0.02)
kv.set_optimizer(mx.optimizer.SGD(lr_scheduler=mine.Halves()))
kv.init("c", mx.nd.zeros((3,)))
for step in range(1, 4):
    kv.push("c", mx.nd.ones((3,)))
    kv.pull("c", pulled := mx.nd.empty((3,)))
    print(step, pulled.asnumpy(), flush=True)
kv.set_optimizer(mine.Failing())
kv.push("a_weight", mx.nd.ones((7,)))
kv.pull("a_weight", out[0])
try:
    out[0].wait_to_read()
except mx.MXNetError as error:
    print("good:", error, flush=True)
"""


def test_pickled_optimizers_run_on_servers_that_allow_it(tmp_path):
    (tmp_path / "mine.py").write_text(CODE)
    with Cluster(tmp_path, WITH_CODE, workers=1, metrics=True, LOOMIX_KV_ALLOW_PICKLE=1).start() as cluster:
        cluster.wait_for("worker", 0, "step 8\n")
        cluster.kill("server", 0)
        (tmp_path / "go 8").touch()
        cluster.wait_for("worker", 0, "step 14\n")
        cluster.start(("server", 0))
        cluster.wait_for_life("server", 0)  # else the worker may be done before it comes
        (tmp_path / "go 14").touch()
        cluster.succeed()
        output = cluster.output("worker", 0)
        assert "1 [-0.25 -0.25 -0.25]\n2 [-0.5 -0.5 -0.5]\n3 [-0.625 -0.625 -0.625]\n" in output
        assert "good:" in output, output
        error = output.split("good:")[1]
        assert re.search(r"server [01] at tcp://127\.0\.0\.1:\d+ answered: .* at key 'a_weight'", error), (
            error
        )
        assert "ValueError: my mistake\\nxxx" in error and "Traceback" not in error and len(error) < 1500
        assert "mine.py" in cluster.output("server", 0) + cluster.output("server", 1)  # where it was raised


def test_a_pickle_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "mine.py").write_text(CODE)
    program = """
import loomix as mx, mine
kv = mx.kv.create("dist_sync")
mine.Gone = type("Gone", (), {"__module__": "mine"})  # which the server's module has not
optimizer = mine.Mine()
optimizer.extra = mine.Gone()
try:
    kv.set_optimizer(optimizer)
except mx.MXNetError as error:
    print("good:", error)
"""
    with Cluster(tmp_path, program, workers=1, servers=1, LOOMIX_KV_ALLOW_PICKLE=1).start() as cluster:
        cluster.succeed()
        error = cluster.output("worker", 0).split("good:")[1]
        assert "server 0 at tcp://" in error and "AttributeError: " in error and "Gone" in error, error


def test_servers_run_no_code_by_default(tmp_path):
    (tmp_path / "mine.py").write_text(CODE)
    program = """
import loomix as mx, mine
kv = mx.kv.create("dist_sync")
class Here(mine.Mine): pass
for optimizer in (mine.Mine(), mx.optimizer.SGD(lr_scheduler=mine.Halves()), Here()):
    try:
        kv.set_optimizer(optimizer)
    except NotImplementedError as error:
        print("good:", error)
"""
    with Cluster(tmp_path, program, workers=1, servers=1).start() as cluster:
        cluster.succeed()
        one, two, three = cluster.output("worker", 0).split("good:")[1:]
        assert "Mine is code" in one and "LOOMIX_KV_ALLOW_PICKLE=1" in one
        assert "Halves" in two and "LOOMIX_KV_ALLOW_PICKLE=1" in two
        assert "Here is defined in the main program" in three or "LOOMIX_KV_ALLOW_PICKLE=1" in three


# ---- who is missing, and who dies ----------------------------------------------------------------


def test_a_missing_server_is_named(tmp_path):
    program = "import loomix as mx; mx.kv.create('dist_sync')"
    with Cluster(tmp_path, program, LOOMIX_KV_DEADLINE=1.5) as cluster:
        start = time.monotonic()
        cluster.start(("scheduler", 0), ("server", 0), ("worker", 0), ("worker", 1))
        assert cluster.codes("worker") == [1, 1] and cluster.codes("server") == [1]
        assert cluster.codes("scheduler") == [1]
        assert time.monotonic() - start < TIMEOUT / 2
        for role, rank in cluster.processes:
            text = cluster.output(role, rank)
            assert "server 1 did not come within 1.5 s" in text and "DMLC_NUM_SERVER" in text, text
        assert "NetworkError" in cluster.output("worker", 0)


def test_a_missing_scheduler_is_named(tmp_path):
    program = "import loomix as mx; mx.kv.create('dist_sync')"
    with Cluster(tmp_path, program, LOOMIX_KV_DEADLINE=1) as cluster:
        cluster.start(("worker", 1), ("server", 0))
        assert cluster.codes("worker") == [1] and cluster.codes("server") == [1]
        for role, rank in cluster.processes:
            text = cluster.output(role, rank)
            assert f"127.0.0.1:{cluster.environment['DMLC_PS_ROOT_PORT']}" in text, text
            assert "DMLC_PS_ROOT_URI" in text, text


def test_wrong_numbers_are_named(tmp_path):
    with Cluster(tmp_path, "import loomix as mx; mx.kv.create('dist_sync')", workers=1) as cluster:
        cluster.start(("worker", 1))
        assert cluster.codes("worker") == [1]
        assert "the rank 1; expected 0 to 0" in cluster.output("worker", 1)
        assert "DMLC_WORKER_ID" in cluster.output("worker", 1)


def test_ranks_may_be_left_to_the_scheduler(tmp_path):
    program = BASICS.replace("KIND", "dist_sync").replace("TYPE", "dist_sync")
    with Cluster(tmp_path, program + "print(rank)", LOOMIX_KV_RANK=-1).start() as cluster:
        cluster.succeed()
        texts = [cluster.output("worker", rank) for rank in range(2)]
        assert sorted("good\n1\n" in text for text in texts) == [False, True]
        assert sorted("good\n0\n" in text for text in texts) == [False, True]


def test_interrupt_while_the_cluster_is_not_complete(tmp_path):
    program = """
import signal, threading
import loomix as mx
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores the signal
mx.nd.ones(1).wait_to_read()
create = mx.kv.create  # what is loaded on first use is there: an interrupted import says something else
threading.Timer(3, print, ("waits",), {"flush": True}).start()
create("dist_sync")
"""
    with Cluster(tmp_path, program, workers=1, servers=1) as cluster:
        cluster.start(("scheduler", 0), ("worker", 0))
        cluster.wait_for("worker", 0, "waits")
        start = time.monotonic()
        cluster.kill("worker", 0, signal.SIGINT)
        assert cluster.codes("worker")[0] in (-signal.SIGINT, 130)
        assert time.monotonic() - start < 20
        assert "KeyboardInterrupt" in cluster.output("worker", 0)


STEPS = """
import os, time
import loomix as mx
kv = mx.kv.create("dist_sync")
kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
kv.init(["w", "v"], [mx.nd.zeros((5,)), mx.nd.zeros((300, 300))])
out = [mx.nd.empty((5,)), mx.nd.empty((300, 300))]
for step in range(kv.pushes("w") + 1, 61):
    kv.push(["w", "v"], [mx.nd.ones((5,)), mx.nd.ones((300, 300))])
    kv.pull(["w", "v"], out)
    for array in out:
        values = array.asnumpy()
        assert (values == -kv.num_workers * step).all(), (step, values)
    print("step", step, flush=True)
    if step >= 10: time.sleep(0.02)
print("good")
"""


def test_a_worker_that_fails_is_named_with_its_error(tmp_path):
    program = STEPS.replace(
        "if step >= 10", "if step == 10 and kv.rank == 1: raise ValueError('my mistake')\n    if 1"
    )
    with Cluster(tmp_path, program).start() as cluster:
        assert cluster.codes("worker") == [1, 1]
        assert cluster.codes("server") == [1, 1] and cluster.codes("scheduler") == [1]
        for role, rank in (("worker", 0), ("server", 0), ("server", 1), ("scheduler", 0)):
            assert "worker 1 was lost: its program ended with ValueError: my mistake" in cluster.output(
                role, rank
            )


@pytest.mark.parametrize("role", ["worker", "server", "scheduler"])
def test_who_is_killed_is_named_by_the_others(tmp_path, role):
    settings = {"LOOMIX_KV_DEADLINE": 4, "LOOMIX_KV_WITHOUT_SCHEDULER": 4, "LOOMIX_KV_REPLICAS": 1}
    with Cluster(tmp_path, STEPS.replace("61", "10000000"), **settings).start() as cluster:
        cluster.wait_for("worker", 0, "step 10")
        start = time.monotonic()
        rank = 1 if role != "scheduler" else 0
        cluster.kill(role, rank)
        if role != "server":  # without a scheduler pushes and pulls go on until the servers give it up
            cluster.codes("server")
        assert 1 in cluster.codes("worker")
        assert time.monotonic() - start < TIMEOUT / 2
        name = role if role == "scheduler" else f"{role} 1"
        survivors = [key for key in cluster.processes if key not in ((role, rank), ("scheduler", 0))]
        for survivor in survivors:
            if survivor[0] == "server" and role == "server":
                continue  # it has its own values still; the cluster ends with its workers
            assert name in cluster.output(*survivor), (survivor, cluster.output(*survivor)[-500:])


def test_a_worker_whose_last_pushes_are_lost_fails(tmp_path):
    program = """
import os, time
import loomix as mx
kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((5,)))
print("ready", flush=True)
while not os.path.exists("go"): time.sleep(0.02)
kv.push("w", mx.nd.ones((5,)))
print("end", flush=True)
"""
    with Cluster(tmp_path, program, servers=1, LOOMIX_KV_DEADLINE=4).start() as cluster:
        for rank in range(2):
            cluster.wait_for("worker", rank, "ready")
        cluster.kill("server", 0)
        (tmp_path / "go").touch()
        assert cluster.codes("worker") == [1, 1]
        for rank in range(2):
            assert (
                f"[KVStore] worker {rank} fails at its end, by what was still under way: [KVStore] push of key 'w'"
                in cluster.output("worker", rank)
            )


def test_a_worker_started_again_passes_barriers_at_their_positions(tmp_path):
    program = """
import time
import loomix as mx
kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((5,)))
for wrong, error in ((0, ValueError), ("one", TypeError)):
    try: kv.barrier(wrong)
    except error: pass
    else: raise AssertionError(wrong)
kv.barrier(1)
print("begins with", kv.pushes("w"), flush=True)
out = mx.nd.empty((5,))
for step in range(kv.pushes("w"), 60):
    kv.push("w", mx.nd.ones((5,)) * (step + 1))
    kv.pull("w", out)
    assert out.asnumpy()[0] == 2 * (step + 1), (step, out)
    print("step", step, flush=True)
    time.sleep(0.02)
kv.barrier(2)
print("all are here", flush=True)
"""
    with Cluster(tmp_path, program, LOOMIX_KV_POLICY="wait").start() as cluster:
        cluster.wait_for("worker", 1, "step 10\n")
        cluster.kill("worker", 1)
        cluster.start(("worker", 1))
        cluster.succeed()
        assert re.search(r"begins with 1\d\n(.*\n)*step 59\nall are here", cluster.output("worker", 1))


def test_a_worker_that_paused_counts_again(tmp_path):
    """The others go on without it by policy `continue`; its pushes after that are in the values again."""
    program = """
import os, time
import loomix as mx
kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((5,)))
kv.barrier()
out = mx.nd.empty((5,))
step = 0
while not os.path.exists("stop"):
    step += 1
    kv.push("w", mx.nd.ones((5,)) * 10 ** kv.rank)
    kv.pull("w", out)
    print("sum", int(out.asnumpy()[0]), flush=True)
    time.sleep(0.01)
"""
    settings = {"LOOMIX_KV_POLICY": "continue", "LOOMIX_KV_DEAD_AFTER": 2}
    with Cluster(tmp_path, program, servers=2, **settings).start() as cluster:
        cluster.wait_for("worker", 0, "sum 11\n")
        cluster.kill("worker", 1, signal.SIGSTOP)
        cluster.wait_for("worker", 0, "sum 1\n")
        cluster.kill("worker", 1, signal.SIGCONT)
        cluster.wait_for("worker", 1, "has joined again")
        cluster.wait_for_output("worker", 0, lambda output: re.search(r"sum 1\n(.*\n)*sum 11\n", output))
        (tmp_path / "stop").touch()
        cluster.succeed()


UNTIL_LAST = """
import os, time
import loomix as mx
kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((5,)))
kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
out = mx.nd.empty((5,))
step = kv.pushes("w")
while not os.path.exists("last") or step < int(open("last").read()):
    step += 1
    kv.push("w", mx.nd.ones((5,)))
    kv.pull("w", out)
    assert (out.asnumpy() == -kv.num_workers * step).all(), (step, out)
    print("step", step, flush=True)
    time.sleep(0.005)
kv.barrier()
print("good")
"""


def succeed_at_last(cluster):
    """Ends workers that run `UNTIL_LAST`, all with the same step."""
    steps = re.findall(r"^step (\d+)\n", cluster.output("worker", 0), re.M)
    (cluster.folder / "next").write_text(str(int(steps[-1]) + 200))  # nobody has got there yet
    (cluster.folder / "next").rename(cluster.folder / "last")
    cluster.succeed()
    for rank in range(2):
        assert "good\n" in cluster.output("worker", rank)


def test_clocks_need_not_agree(tmp_path):
    """Whoever is started again has a clock that is an hour behind. Nobody takes it for an earlier life of itself."""
    library = tmp_path / "shifted_clock.so"
    source = Path(__file__).resolve().parents[1] / "dist" / "shifted_clock.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    behind = {"LD_PRELOAD": str(library), "CLOCK_SHIFT": "-3600"}
    told = subprocess.run(["date", "+%s"], env={**os.environ, **behind}, capture_output=True, check=True)
    assert time.time() - int(told.stdout) > 3000
    with Cluster(tmp_path, UNTIL_LAST, metrics=True, LOOMIX_KV_POLICY="wait").start() as cluster:
        cluster.wait_for_step("worker", 0, 3)
        cluster.environment.update(behind)
        for name in (("worker", 1), ("server", 0), ("scheduler", 0)):
            cluster.kill(*name)
            cluster.start(name)
            cluster.wait_for_life(*name)
            cluster.wait_until_whole()
        succeed_at_last(cluster)


def test_a_process_that_was_replaced_is_told_and_ends(tmp_path):
    """It was stopped when another one was started in its place."""
    settings = {"LOOMIX_KV_POLICY": "wait", "LOOMIX_KV_DEAD_AFTER": 2}
    with Cluster(tmp_path, UNTIL_LAST, metrics=True, **settings).start() as cluster:
        for name in (("worker", 1), ("server", 1)):
            cluster.wait_for_step("worker", 0, 3)
            cluster.kill(*name, signal.SIGSTOP)
            stopped = cluster.processes[name]
            cluster.start(name)
            cluster.wait_until_whole()
            steps = cluster.output("worker", 0).count("step ")
            cluster.wait_for_output(
                "worker", 0, lambda output, steps=steps: output.count("step ") > steps + 3
            )
            stopped.send_signal(signal.SIGCONT)
            assert stopped.wait(TIMEOUT) == 1
            assert re.search("was started again|was replaced by a newer one", cluster.output(*name))
        succeed_at_last(cluster)


def test_a_scheduler_that_comes_back_elsewhere_is_found(tmp_path):
    """Under the same name at another address, and after longer than calls take. The end needs it: a barrier."""
    hosts = tmp_path / "hosts"
    inside = ["unshare", "-m", "sh", "-c", f'mount --bind {hosts} /etc/hosts && exec "$@"', "sh"]
    hosts.write_text("127.0.0.2 the-scheduler\n")
    if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
        pytest.skip("no rights for a mount namespace, in which a name can move to another address")
    program = """
import os, time
import loomix as mx
kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((5,)))
out = mx.nd.empty((5,))
step = 0
while not os.path.exists("stop"):
    step += 1
    kv.push("w", mx.nd.ones((5,)))
    kv.pull("w", out)
    out.wait_to_read()
    print("step", step, flush=True)
    time.sleep(0.01)
kv.barrier()
print("good")
"""
    settings = {
        "DMLC_PS_ROOT_URI": "the-scheduler",
        "LOOMIX_KV_TRUSTED_NETWORK": 1,
        "LOOMIX_KV_DEADLINE": 3,
        "LOOMIX_KV_DEAD_AFTER": 2,
    }
    with Cluster(tmp_path, program, workers=1, servers=1, inside=inside, **settings).start() as cluster:
        cluster.wait_for("worker", 0, "step 1\n")
        cluster.kill("scheduler")
        time.sleep(5)
        hosts.write_text("127.0.0.3 the-scheduler\n")
        cluster.start(("scheduler", 0))
        (tmp_path / "stop").touch()
        cluster.succeed()
        assert "good\n" in cluster.output("worker", 0)


def test_without_a_scheduler_work_ends_as_ever(tmp_path):
    program = STEPS.replace('print("good")', 'kv.close()\nprint("good")')
    with Cluster(tmp_path, program, LOOMIX_KV_DEADLINE=4).start() as cluster:
        cluster.wait_for("worker", 0, "step 10")
        cluster.kill("scheduler")
        assert cluster.codes("worker") == [0, 0] and cluster.codes("server") == [0, 0]


def test_servers_and_workers_may_be_killed(tmp_path):
    with Cluster(tmp_path, STEPS, LOOMIX_KV_POLICY="wait").start() as cluster:
        cluster.wait_for("worker", 0, "step 10")
        cluster.kill("server", 0)
        cluster.wait_for("worker", 0, "step 15")
        cluster.start(("server", 0))
        cluster.wait_for("worker", 0, "step 20")
        cluster.kill("worker", 1)
        cluster.start(("worker", 1))
        cluster.succeed()
        for rank in range(2):
            assert "step 60\ngood\n" in cluster.output("worker", rank)


# ---- trust ---------------------------------------------------------------------------------------


def test_keys(tmp_path):
    from loomix.commands.keys import write_keys

    for name in ("own", "other"):
        write_keys(str(tmp_path / name))
    program = BASICS.replace("KIND", "dist_sync").replace("TYPE", "dist_sync")
    with Cluster(tmp_path, program, LOOMIX_KV_KEYS=tmp_path / "own") as cluster:
        cluster.start(("scheduler", 0))
        # A server with a worker's key is none.
        shutil.copytree(tmp_path / "own", tmp_path / "wrong")
        shutil.copy(tmp_path / "own" / "worker.pem", tmp_path / "wrong" / "server.pem")
        cluster.environment["LOOMIX_KV_KEYS"] = str(tmp_path / "wrong")
        cluster.start(("server", 0))
        assert cluster.processes["server", 0].wait(TIMEOUT) == 1
        assert "refused this process: it calls itself a server, and its certificate is for worker" in (
            cluster.output("server", 0)
        )
        cluster.environment["LOOMIX_KV_KEYS"] = str(tmp_path / "own")
        cluster.start(("server", 0), ("server", 1), ("worker", 0))
        cluster.environment["LOOMIX_KV_KEYS"] = str(tmp_path / "other")
        cluster.environment["LOOMIX_KV_DEADLINE"] = "2"
        cluster.start(("worker", 1))
        assert cluster.processes["worker", 1].wait(TIMEOUT) == 1  # a stranger does not get in
        assert "its certificate is not accepted" in cluster.output("worker", 1)
        cluster.environment["LOOMIX_KV_KEYS"] = str(tmp_path / "own")
        cluster.environment["LOOMIX_KV_DEADLINE"] = "30"
        cluster.start(("worker", 1))
        cluster.succeed()
        assert "good\n" in cluster.output("worker", 0)


def test_key_files_that_others_can_read_are_refused(tmp_path):
    from loomix.commands.keys import write_keys

    path = tmp_path / "keys"
    write_keys(str(path))
    (path / "worker.pem").chmod(0o644)
    with Cluster(tmp_path, "import loomix as mx; mx.kv.create('dist_sync')", LOOMIX_KV_KEYS=path) as cluster:
        cluster.start(("worker", 0))
        assert cluster.codes("worker") == [1]
        assert "mode 644" in cluster.output("worker", 0)


def test_beyond_loopback_keys_are_needed(tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.255.255.255", 9))  # sends nothing
        except OSError as error:
            pytest.skip(f"this machine has no network but loopback: {error}")
        address = probe.getsockname()[0]
    settings = {"DMLC_PS_ROOT_URI": address, "DMLC_PS_ROOT_PORT": free_port(), "LOOMIX_KV_DEADLINE": 2}
    with Cluster(tmp_path, "import loomix as mx; mx.kv.create('dist_sync')", **settings) as cluster:
        cluster.start(("scheduler", 0), ("worker", 0))
        assert cluster.codes("worker") == [1] and cluster.codes("scheduler") == [1]
        for role in ("worker", "scheduler"):
            assert "LOOMIX_KV_CLUSTER" in cluster.output(role)  # a name that nobody else has
        cluster.environment["LOOMIX_KV_CLUSTER"] = "ours"
        cluster.start(("scheduler", 0), ("worker", 0))
        assert cluster.codes("worker") == [1] and cluster.codes("scheduler") == [1]
        for role in ("worker", "scheduler"):
            assert "python -m loomix keys" in cluster.output(role)


# ---- training ------------------------------------------------------------------------------------


def test_gradients_of_the_first_pull_are_numpy(tmp_path):
    """What a pull gives is an array as any other."""
    program = """
import loomix as mx, numpy as np
kv = mx.kv.create("dist_async")
kv.init("w", mx.nd.array(np.arange(6).reshape(2, 3)))
out = mx.nd.empty((2, 3))
kv.pull("w", out)
print(float((out * 2).sum().asscalar()))
"""
    with Cluster(tmp_path, program, workers=1, servers=1).start() as cluster:
        cluster.succeed()
        assert "30.0\n" in cluster.output("worker", 0)
