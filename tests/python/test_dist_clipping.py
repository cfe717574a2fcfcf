# SPDX-License-Identifier: Apache-2.0
"""Gradients that the servers of a cluster clip by the norm of all keys."""

import loomix as mx
import pytest
from real_cluster import Cluster

if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
    pytest.skip("this build has no network module (OpenSSL, Protocol Buffers)", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

# Each worker computes what one process would make of all gradients, and compares the bits.
STEPS = """
import os, time
import loomix as mx, numpy as np
kv = mx.kv.create("dist_sync")
shapes = {"large": (400, 300), "small": (5,), "third": (7, 2), "rows": (50, 4)}
def make(): return mx.optimizer.create("sgd", learning_rate=0.1, momentum=0.9, rescale_grad=0.5)
kv.set_clip_global_norm(20)
kv.set_optimizer(make())
first = {key: mx.nd.array(np.random.RandomState(i).randn(*shape)) for i, (key, shape) in enumerate(shapes.items())}
first["rows"] = first["rows"].tostype("row_sparse")
for key in shapes: kv.init(key, first[key])
update = mx.optimizer.get_updater(make())
kv._note_trained(shapes)  # as Trainer and Module do; not "still"
kv.init("still", mx.nd.zeros((2,)))
begun = kv.pushes("small")
def gradient(key, rank, step):
    random = np.random.RandomState(1000 * step + 10 * rank + len(str(key)))
    values = random.randn(*shapes[key]).astype("float32") * (0.01 if step % 3 == 0 else 1)
    if key == "rows": values[random.rand(50) < 0.7] = 0
    return values
clipped = 0
for step in range(STEPS):
    sums = {key: sum(gradient(key, rank, step) for rank in range(kv.num_workers)) for key in shapes}
    norm = np.sqrt(sum(np.square(one.astype("float64")).sum() for one in sums.values()))
    scale = min(1.0, 20 / (norm + 1e-8))
    clipped += scale < 1
    for key in shapes:
        total = mx.nd.array(sums[key]) * scale
        update(key, total.tostype("row_sparse") if key == "rows" else total, first[key])
    if step < begun: continue
    for key in shapes:
        own = mx.nd.array(gradient(key, kv.rank, step))
        kv.push(key, own.tostype("row_sparse") if key == "rows" else own)
    for key, shape in shapes.items():
        if key == "rows":
            kv.row_sparse_pull(key, out=(out := mx.nd.zeros(shape).tostype("row_sparse")), row_ids=mx.nd.arange(50))
        else:
            kv.pull(key, out := mx.nd.empty(shape))
        got, expected = (one.tostype("default").asnumpy() for one in (out, first[key]))
        assert (got == expected).all(), (step, key, np.abs(got - expected).max())
    print("step", step, flush=True)
    if PAUSE: time.sleep(0.03)
assert 0 < clipped < STEPS
print("good")
"""


def steps(count, pause):
    return STEPS.replace("STEPS", str(count)).replace("PAUSE", str(pause))


@pytest.mark.parametrize(("workers", "servers"), [(3, 2), (1, 1)])
def test_servers_clip_as_one_process_does(tmp_path, workers, servers):
    with Cluster(tmp_path, steps(9, False), workers=workers, servers=servers).start() as cluster:
        cluster.succeed()
        for rank in range(workers):
            assert "good\n" in cluster.output("worker", rank)


def test_servers_and_workers_may_die_meanwhile(tmp_path):
    with Cluster(tmp_path, steps(60, True), metrics=True, LOOMIX_KV_POLICY="wait") as cluster:
        cluster.start()
        for step, name in ((5, ("server", 0)), (15, ("worker", 1)), (25, ("server", 1))):
            cluster.wait_for_step("worker", 0, step)
            cluster.wait_until_whole()
            cluster.kill(*name)
            cluster.start(name)
        cluster.succeed()
        for rank in range(2):
            assert "step 59\ngood\n" in cluster.output("worker", rank)


def test_snapshots_have_the_limit(tmp_path):
    folder = tmp_path / "snapshots"
    settings = {"LOOMIX_KV_SNAPSHOT_DIR": folder, "LOOMIX_KV_SNAPSHOT_EVERY": 4}
    with Cluster(tmp_path, steps(10, False), **settings).start() as cluster:
        cluster.succeed()
    again = tmp_path / "again"
    again.mkdir()
    with Cluster(again, steps(14, False), LOOMIX_KV_RESTORE=1, **settings).start() as cluster:
        cluster.succeed()
        assert "step 8\n" in cluster.output("worker", 0) and "step 7\n" not in cluster.output("worker", 0)
    other = tmp_path / "other"
    other.mkdir()
    program = steps(14, False).replace("set_clip_global_norm(20)", "set_clip_global_norm(21)")
    with Cluster(other, program, LOOMIX_KV_RESTORE=1, **settings).start() as cluster:
        assert cluster.codes("worker") == [1, 1]
        assert "is limited to 20 already" in cluster.output("worker", 0)


TRAINER = """
import loomix as mx, numpy as np
from loomix import autograd, gluon
def train(store, ranks):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(300, in_units=300), gluon.nn.BatchNorm(in_channels=300), gluon.nn.Dense(1, in_units=300))
    net.initialize(mx.init.Zero())
    random = np.random.RandomState(3)
    for parameter in net.collect_params().values():
        parameter.set_data(mx.nd.array(0.1 * np.abs(random.randn(*parameter.shape))))
    net[0].bias.grad_req = "null"
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01}, kvstore=store,
                            update_on_kvstore=store is not None)
    for step in range(4):
        shares = [mx.nd.array(random.randn(8, 300)) for _ in range(2)]
        with autograd.record(train_mode=False):
            loss = sum((net(shares[rank]) - 1).square().sum() for rank in ranks)
        loss.backward()
        if store is None:
            trainer.allreduce_grads()
            gradients = [one.grad() for one in net.collect_params().values() if one.grad_req != "null"]
            assert gluon.utils.clip_global_norm(gradients, 5.0) > 10
            trainer.update(16)
        else:
            trainer.step(16)
    return [parameter.data().asnumpy() for parameter in net.collect_params().values()]
kv = mx.kv.create("dist_sync")
kv.set_clip_global_norm(5)
for one, other in zip(train(kv, [kv.rank]), train(None, [0, 1])):
    np.testing.assert_allclose(one, other, 1e-4, 1e-5)
print("good")
"""

MODULE = """
import loomix as mx, numpy as np
kv = mx.kv.create("dist_sync")
kv.set_clip_global_norm(0.001)
data = mx.io.NDArrayIter(np.random.RandomState(kv.rank).randn(40, 4), np.ones(40, "float32"), batch_size=20)
net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="kept")
net = mx.sym.FullyConnected(net, num_hidden=2, name="fc")
module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"), fixed_param_names=["kept_weight", "kept_bias"])
module.bind(data.provide_data, data.provide_label)
module.init_params(mx.init.One())
module.init_optimizer(kv, "sgd", {"learning_rate": 1.0, "rescale_grad": 1.0})
module.fit(data, num_epoch=1)
change = [module.get_params()[0][name].asnumpy() - (0 if "bias" in name else 1) for name in ("fc_weight", "fc_bias")]
norm = np.sqrt(sum(np.square(one).sum() for one in change))
assert 0.001 < norm <= 0.0021, norm  # two steps
assert kv.pushes("fc_weight") == 2
print("good")
"""


@pytest.mark.parametrize("program", [TRAINER, MODULE], ids=["Trainer", "Module"])
def test_what_is_not_trained_has_no_part_in_the_norm(tmp_path, program):
    with Cluster(tmp_path, program).start() as cluster:
        cluster.succeed()
        for rank in range(2):
            assert "good\n" in cluster.output("worker", rank)


MISTAKES = """
import loomix as mx
kv = mx.kv.create("KIND")
def fails(kind, text, *arguments, **more):
    try: kv.set_clip_global_norm(*arguments, **more)
    except kind as error: assert text in str(error), error
    else: raise AssertionError((arguments, more))
if kv.type != "dist_sync":
    fails(ValueError, "has no rounds", 1)
else:
    fails(ValueError, "max_norm is 0; expected more than 0", 0)
    fails(ValueError, "max_norm is nan", float("nan"))
    fails(TypeError, "max_norm", "one")
    fails(TypeError, "keys is 'w'; expected a list", 1, keys="w")
    kv.init("w", mx.nd.zeros(3))
    for keys, kind, text in ((["w", "x"], KeyError, "key 'x' has no value"), ([], ValueError, "for no keys")):
        kv.set_clip_global_norm(1, keys)
        try: kv.push("w", mx.nd.ones(3))
        except kind as error: assert text in str(error), error
        else: raise AssertionError(keys)
    kv.set_clip_global_norm(3)
    kv.push("w", mx.nd.ones(3) * (1 + kv.rank))
    kv.pull("w", out := mx.nd.empty(3))
    mx.test_utils.assert_almost_equal(out, mx.nd.ones(3) * 3 ** 0.5)  # without an optimizer: the sum, clipped
    fails(mx.base.StateError, "before the first push", 1)
    kv.init("late", mx.nd.zeros(3))
    try: kv.push("late", mx.nd.ones(3))
    except mx.base.StateError as error: assert "key late is pushed, and is none of those" in str(error), error
    else: raise AssertionError("late")
print("good")
"""


@pytest.mark.parametrize("kind", ["dist_sync", "dist_async"])
def test_mistakes_are_named(tmp_path, kind):
    with Cluster(tmp_path, MISTAKES.replace("KIND", kind)).start() as cluster:
        cluster.succeed()
        for rank in range(2):
            assert "good\n" in cluster.output("worker", rank)


def test_workers_that_do_not_agree_fail(tmp_path):
    program = """
import loomix as mx
kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((400, 300)))
kv.set_clip_global_norm(1 + kv.rank)
kv.push("w", mx.nd.ones((400, 300)))
"""
    with Cluster(tmp_path, program).start() as cluster:
        codes = cluster.codes("worker")
        assert 1 in codes
        text = cluster.output("worker", 0) + cluster.output("worker", 1)
        assert "a limit holds as long as the cluster" in text
