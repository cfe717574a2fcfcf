# SPDX-License-Identifier: Apache-2.0
"""Servers update as one process would that has the sum of all gradients: by whole layers, and in half precision."""

import loomix as mx
import pytest
from loomix.optimizer.travel import describe
from real_cluster import Cluster

if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
    pytest.skip("this build has no network module (OpenSSL, Protocol Buffers)", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

# Both workers know both gradients of a step, so each can make the updates itself.
BEGIN = """
import os, time
import loomix as mx, numpy as np
opt, lr = mx.optimizer, mx.lr_scheduler
kv = mx.kv.create("dist_sync")
random = np.random.RandomState(1)
shapes = {"weight": (300, 300), "bias": (50,)}  # the first would be cut over the servers
def sum_of(gradients, dtype):
    return mx.nd.array(sum(g.astype("float32").asnumpy() for g in gradients)).astype(dtype)
"""

LAYERS = (
    BEGIN
    + """
def make(names):
    for clip in (None, 0.5):
        yield opt.LARS(momentum=0.9, learning_rate=2, wd=0.1, clip_gradient=clip, param_idx2name=names)
    yield opt.LARS(learning_rate=2, eta=0.01, eps=1e-3, rescale_grad=0.5)
    schedule = lr.FactorScheduler(2, 0.5, base_lr=3)
    yield opt.LARS(momentum=0.9, lr_scheduler=schedule, param_idx2name=names)
    yield opt.LARS(momentum=0.9, learning_rate=2, momentum_correction=False, param_idx2name=names)
    yield opt.LAMB(learning_rate=0.1, wd=0.1)
    yield opt.LAMB(learning_rate=0.1, lower_bound=1, upper_bound=5, clip_gradient=0.5, rescale_grad=2)
    yield opt.LAMB(bias_correction=False, begin_num_update=3, beta1=0.8)
for number in range(len(list(make({})))):
    # Keys that are numbers have names, those that are names are their own.
    numbered = os.environ["KEYS"] == "numbers"
    keys = [2 * number, 2 * number + 1] if numbered else [f"k{number}_weight", f"k{number}_bias"]
    names = {keys[0]: "a_weight", keys[1]: "a_bias"} if numbered else {}
    kv.set_optimizer(list(make(names))[number])
    # One for each key: the correction of LARS's momentum is that of the key's own updates.
    updaters = [opt.get_updater(list(make(names))[number]) for _ in keys]
    own = [mx.nd.array(random.randn(*shape)) for shape in shapes.values()]
    kv.init(keys, own)
    out = [mx.nd.zeros(shape) for shape in shapes.values()]
    for step in range(5):
        gradients = [[mx.nd.array(random.randn(*shape)) for _ in range(2)] for shape in shapes.values()]
        kv.push(keys, [both[kv.rank] for both in gradients])
        kv.pull(keys, out)
        for key, update, weight, both, pulled in zip(keys, updaters, own, gradients, out):
            before = weight.asnumpy()
            update(key, sum_of(both, "float32"), weight)
            assert (weight.asnumpy() != before).any(), (number, key)
            np.testing.assert_allclose(pulled.asnumpy(), weight.asnumpy(), 1e-6, 1e-7, str((number, step, key)))
print("good")
"""
)


ADAPTIVE = (
    BEGIN
    + """
def make():
    for more in ({}, {"wd": 0.1, "clip_gradient": 0.5, "rescale_grad": 0.5}):
        yield opt.AdaDelta(rho=0.8, **more)
        yield opt.AdaGrad(eps=1e-4, learning_rate=0.1, **more)
        yield opt.Adamax(learning_rate=0.1, beta1=0.8, **more)
        yield opt.DCASGD(learning_rate=0.1, momentum=0.9, lamda=0.2, **more)
        yield opt.DCASGD(learning_rate=0.1, **more)
        yield opt.FTML(learning_rate=0.1, beta1=0.7, **more)
        yield opt.Signum(learning_rate=0.1, momentum=0.8, wd_lh=0.1, **more)
        yield opt.Signum(learning_rate=0.1, momentum=0, **more)
for number in range(len(list(make()))):
    keys = [f"{number}_{name}" for name in shapes]
    kv.set_optimizer(list(make())[number])
    updaters = [opt.get_updater(list(make())[number]) for _ in keys]
    own = [mx.nd.array(random.randn(*shape)) for shape in shapes.values()]
    kv.init(keys, own)
    out = [mx.nd.zeros(shape) for shape in shapes.values()]
    for step in range(4):
        gradients = [[mx.nd.array(random.randn(*shape)) for _ in range(2)] for shape in shapes.values()]
        kv.push(keys, [both[kv.rank] for both in gradients])
        kv.pull(keys, out)
        for key, update, weight, both, pulled in zip(keys, updaters, own, gradients, out):
            update(key, sum_of(both, "float32"), weight)
            np.testing.assert_allclose(pulled.asnumpy(), weight.asnumpy(), 1e-5, 1e-6, str((number, step, key)))
    kv.barrier()  # the next optimizer is set when this one's pushes are in
# AdaGrad leaves rows without gradients alone, which a dense update by zeros does, too.
kv.set_optimizer(opt.AdaGrad(learning_rate=0.1))
kv.init("rows", mx.nd.ones((6, 2)).tostype("row_sparse"))
update, own = opt.get_updater(opt.AdaGrad(learning_rate=0.1)), mx.nd.ones((6, 2)).tostype("row_sparse")
for step in range(3):
    gradient = mx.nd.sparse.row_sparse_array((np.full((2, 2), step + 1, "float32"), [1, 4]), shape=(6, 2))
    kv.push("rows", gradient)
    out = mx.nd.sparse.zeros("row_sparse", (6, 2))
    kv.row_sparse_pull("rows", out, row_ids=mx.nd.arange(6))
    update(0, gradient * 2, own)
    np.testing.assert_allclose(out.asnumpy(), own.asnumpy(), 1e-5, 1e-6)
print("good")
"""
)


def test_others_are_what_they_are_in_one_process(tmp_path):
    with Cluster(tmp_path, ADAPTIVE).start() as cluster:
        cluster.succeed()
        for rank in range(2):
            assert "good\n" in cluster.output("worker", rank)


@pytest.mark.parametrize("keys", ["numbers", "names"])
def test_lars_and_lamb_need_whole_layers(tmp_path, keys):
    with Cluster(tmp_path, LAYERS, KEYS=keys).start() as cluster:
        cluster.succeed()
        for rank in range(2):
            assert "good\n" in cluster.output("worker", rank)


def test_what_was_cut_has_no_norm(tmp_path):
    program = """
import loomix as mx
kv = mx.kv.create("dist_sync")
kv.init("small", mx.nd.zeros((3,)))
kv.set_optimizer(mx.optimizer.LAMB())
kv.init("whole", mx.nd.zeros((300, 300)))
kv.set_optimizer(mx.optimizer.SGD())
kv.init("cut", mx.nd.zeros((300, 300)))
try:
    kv.set_optimizer(mx.optimizer.LARS())
except ValueError as error:
    print("good:", error)
"""
    with Cluster(tmp_path, program, workers=1).start() as cluster:
        cluster.succeed()
        text = cluster.output("worker", 0)
        assert (
            "good: [KVStore] optimizer 'lars' needs the norms of whole weights, and key 'cut' was cut" in text
        )
        assert "call set_optimizer before init" in text


# A copy in float32, which outlives servers, gives what float32 gives. Without one each step rounds.
HALVES = (
    BEGIN
    + """
makers = [
    lambda **how: opt.SGD(learning_rate=0.01, momentum=0.9, wd=0.01, **how),
    lambda **how: opt.SGD(learning_rate=0.01, **how),
    lambda **how: opt.NAG(learning_rate=0.01, momentum=0.9, **how),
    lambda **how: opt.Adam(learning_rate=0.01, **how),
    lambda **how: opt.RMSProp(learning_rate=0.01, **how),
    lambda **how: opt.LARS(learning_rate=1, momentum=0.9, **how),
    lambda **how: opt.LAMB(learning_rate=0.01, **how),
]
dtype = "DTYPE"
cases = []
for number, make in enumerate(makers):
    for master in (True, False) if number < 2 else (True,):
        kv.set_optimizer(make(multi_precision=master))
        for name, shape in shapes.items():
            key = f"{number} {master} {name}"
            first = mx.nd.array(random.randn(*shape)).astype(dtype)
            kv.init(key, first)
            kept = "float32" if master else dtype
            cases.append((key, first.astype(kept), opt.get_updater(make()), kept, make(multi_precision=master)))
for step in range(6):
    for key, own, update, kept, there in cases:
        kv.set_optimizer(there)
        gradients = [mx.nd.array(random.randn(*own.shape)).astype(dtype) for _ in range(2)]
        kv.push(key, gradients[kv.rank])
        out = mx.nd.zeros(own.shape, dtype=dtype)
        kv.pull(key, out)
        update(key, sum_of(gradients, kept), own)
        expected, got = own.astype(dtype).astype("float32").asnumpy(), out.astype("float32").asnumpy()
        np.testing.assert_allclose(got, expected, 1e-6, 1e-7, str((key, step)))
        kv.barrier()  # the next optimizer is set when this one's pushes are in
    print("step", step, flush=True)
    while step == 2 and not os.path.exists("go"): time.sleep(0.02)
print("good")
"""
)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_updated_through_copies_in_float32(tmp_path, dtype):
    program = HALVES.replace("DTYPE", dtype)
    with Cluster(tmp_path, program, metrics=True).start() as cluster:
        for rank in range(2):
            cluster.wait_for("worker", rank, "step 2\n")
        for server in range(2):  # each has to go on from what the other one told it
            cluster.kill("server", server)
            cluster.start(("server", server))
            cluster.wait_for_life("server", server)
            cluster.wait_until_whole()
        (tmp_path / "go").touch()
        cluster.succeed()
        for rank in range(2):
            assert "good\n" in cluster.output("worker", rank)


def test_settings_of_layers_travel():
    names = {0: "a_weight", 1: "a_bias", 2: "a_gamma"}
    name, settings = describe(mx.optimizer.LARS(learning_rate=2, eta=0.5, param_idx2name=names))
    assert name == "lars" and settings["eta"] == "0.5" and "multi_precision" not in settings
    plain = {setting for setting in settings if setting.startswith("plain_rate.")}
    assert plain == {f"plain_rate.{key}" for key in (1, 2, "a_bias", "a_gamma")}
    name, settings = describe(mx.optimizer.LAMB(upper_bound=3, multi_precision=True))
    assert name == "lamb" and settings["upper_bound"] == "3" and "lower_bound" not in settings
    assert settings["multi_precision"] == "True"


CLIPPED = """
import loomix as mx, numpy as np
from loomix import autograd, gluon
def train(store, ranks):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(300, in_units=300, activation="relu"), gluon.nn.Dense(1, in_units=300))
    net.initialize(mx.init.Zero())
    random = np.random.RandomState(3)
    for parameter in net.collect_params().values():
        parameter.set_data(mx.nd.array(0.1 * random.randn(*parameter.shape)))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}, kvstore=store,
                            update_on_kvstore=False)
    norms = []
    for step in range(5):
        shares = [mx.nd.array(random.randn(8, 300)) for _ in range(2)]
        with autograd.record():
            loss = sum((net(shares[rank]) - 1).square().sum() for rank in ranks)
        loss.backward()
        trainer.allreduce_grads()
        gradients = [parameter.grad() for parameter in net.collect_params().values()]
        norms.append(float(gluon.utils.clip_global_norm(gradients, 0.5)))
        trainer.update(1)
    return norms, [parameter.data().asnumpy() for parameter in net.collect_params().values()]
kv = mx.kv.create("dist_sync")
norms, got = train(kv, [kv.rank])
alone_norms, alone = train(None, [0, 1])
assert min(norms) > 1, norms
np.testing.assert_allclose(norms, alone_norms, 1e-4)
for one, other in zip(got, alone):
    np.testing.assert_allclose(one, other, 1e-4, 1e-5)
print("good")
"""


def test_gradients_are_clipped_by_the_norm_of_all(tmp_path):
    """Workers have the sums of all keys, whichever servers they come from, and clip them by their common norm."""
    with Cluster(tmp_path, CLIPPED).start() as cluster:
        cluster.succeed()
        for rank in range(2):
            assert "good\n" in cluster.output("worker", rank)
