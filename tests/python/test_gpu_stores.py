# SPDX-License-Identifier: Apache-2.0
"""Stores and GPUs: on those of the machine, or with a stand-in for CUDA and NCCL (see tests/standin/)."""

import os
import shutil
import subprocess
import sys

import loomix as mx
import numpy as np
import pytest

GPUS = [mx.gpu(i) for i in range(mx.context.num_gpus())]


def full(shape, value, ctx):
    """An array that needs no kernel of the device."""
    return mx.nd.array(np.full(shape, value, np.float32), ctx=ctx)


gpus_only = pytest.mark.skipif(not GPUS, reason="no GPU, nor a stand-in for one")


@pytest.mark.skipif(bool(GPUS), reason="there are GPUs")
def test_without_gpus():
    with pytest.raises((NotImplementedError, mx.MXNetError), match="nccl"):
        mx.kv.create("nccl")


@gpus_only
def test_push_and_pull():
    store = mx.kv.create("nccl")
    assert (store.type, store.rank, store.num_workers) == ("nccl", 0, 1)
    shapes = {"a": (3, 4), "b": (1000, 33), "c": (1,)}
    for key, shape in shapes.items():
        store.init(key, mx.nd.ones(shape))
    for step in range(1, 4):
        for key, shape in shapes.items():
            values = [full(shape, step * (i + 1), gpu) for i, gpu in enumerate(GPUS)]
            store.push(key, values, priority=-step)
        for key, shape in shapes.items():
            outs = [mx.nd.empty(shape, ctx=gpu) for gpu in [*GPUS, mx.cpu()]]
            store.pull(key, outs, priority=-step)
            for out in outs:
                np.testing.assert_array_equal(
                    out.asnumpy(), np.full(shape, step * sum(range(1, len(GPUS) + 1)), np.float32)
                )
    store.barrier()


@gpus_only
def test_updater():
    store = mx.kv.create("nccl")
    store.init(0, mx.nd.full((5,), 10))

    def update(key, merged, stored):
        assert key == 0 and merged.context == stored.context == GPUS[0]
        (stored.as_in_context(mx.cpu()) - merged.as_in_context(mx.cpu())).copyto(stored)

    store.set_updater(update)
    for _ in range(2):
        store.push(0, [full((5,), 1, gpu) for gpu in GPUS])
    out = mx.nd.empty((5,), ctx=GPUS[-1])
    store.pull(0, out)
    assert out.asnumpy().tolist() == [10.0 - 2 * len(GPUS)] * 5


@gpus_only
def test_mistakes_are_named():
    store = mx.kv.create("nccl")
    store.init("w", mx.nd.ones((2,)))
    with pytest.raises(ValueError, match=r"key 'w' .*default on cpu\(0\)"):
        store.push("w", mx.nd.ones((2,)))
    with pytest.raises(KeyError, match="init"):
        store.push("v", full((2,), 1, GPUS[0]))
    store.push("w", full((2,), 1, GPUS[0]))
    if len(GPUS) > 1:
        with pytest.raises(ValueError, match=r"gpu\(1\); the first push to this store had them on gpu\(0\)"):
            store.push("w", full((2,), 1, GPUS[1]))
    with pytest.raises(NotImplementedError, match="compress"):
        store.set_gradient_compression({"type": "fp16"})


@gpus_only
@pytest.mark.parametrize("kind", ["local", "device"])
@pytest.mark.parametrize("first", ["host", "GPU"])
def test_stores_of_hosts_take_arrays_of_gpus(kind, first):
    store = mx.kv.create(kind)
    store.init("w", full((300,), 1, mx.cpu() if first == "host" else GPUS[0]))
    outs = [mx.nd.empty((300,), ctx=gpu) for gpu in GPUS]
    store.pushpull("w", [full((300,), i + 1, gpu) for i, gpu in enumerate(GPUS)], outs)
    for out in outs:
        assert set(out.asnumpy()) == {sum(range(1, len(GPUS) + 1))}


@gpus_only
def test_device_adds_up_on_the_gpus():
    store = mx.kv.create("device")
    seen = []

    def update(key, merged, stored):
        assert merged.context == stored.context
        seen.append(stored.context)
        stored -= merged

    for key in range(4):
        store.init(key, mx.nd.full((70,), 10))
    store.set_updater(update)
    for _ in range(2):
        for key in range(4):
            store.push(key, [full((70,), i + 1, gpu) for i, gpu in enumerate(GPUS)])
    assert seen == [GPUS[i % len(GPUS)] for i in range(4)] * 2
    outs = [mx.nd.empty((70,), ctx=place) for place in [*GPUS, mx.cpu()]]
    for key in range(4):
        store.pull(key, outs)
        for out in outs:
            assert set(out.asnumpy()) == {10.0 - 2 * sum(range(1, len(GPUS) + 1))}


@gpus_only
def test_values_come_from_hosts_again():
    store = mx.kv.create("device")
    store.init("w", mx.nd.ones((5,)))
    out = mx.nd.empty((5,))
    for place in [GPUS[0], mx.cpu(), GPUS[-1], mx.cpu()]:
        store.push("w", [full((5,), 2, place), full((5,), 3, place)])
        store.pull("w", out)
        assert set(out.asnumpy()) == {5.0}


@gpus_only
def test_device_adds_up_rows():
    store = mx.kv.create("device")
    shape = (6, 2)
    store.init("w", mx.nd.zeros(shape).tostype("row_sparse"))
    rows = [
        mx.nd.sparse.row_sparse_array((np.full((1, 2), i + 1, np.float32), [i]), shape=shape)
        for i in range(2)
    ]
    store.push("w", rows)
    out = mx.nd.zeros(shape).tostype("row_sparse")
    store.row_sparse_pull("w", out=out, row_ids=mx.nd.array([0, 1], ctx=GPUS[0]))
    assert out.asnumpy()[:, 0].tolist() == [1, 2, 0, 0, 0, 0]


def network():
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(7, activation="relu", in_units=5), mx.gluon.nn.Dense(3, in_units=7))
    return net


def trained(places, update_on_kvstore):
    """Parameters after some steps of Gluon's Trainer on these devices."""
    random = np.random.default_rng(2)
    net = network()
    net.initialize(ctx=places)
    for parameter in net.collect_params().values():
        parameter.set_data(mx.nd.array(random.normal(size=parameter.shape)))
    trainer = mx.gluon.Trainer(
        net.collect_params(),
        "sgd",
        {"learning_rate": 0.1, "momentum": 0.9},
        kvstore="device",
        update_on_kvstore=update_on_kvstore,
    )
    for _ in range(3):
        data = mx.gluon.utils.split_and_load(mx.nd.array(random.normal(size=(12, 5))), places)
        with mx.autograd.record():
            losses = [(net(part) ** 2).sum() for part in data]
        mx.autograd.backward(losses)
        trainer.step(12)
    for parameter in net.collect_params().values():
        for place in places:
            np.testing.assert_array_equal(
                parameter.data(place).asnumpy(), parameter.data(places[0]).asnumpy()
            )
    return [p.data(places[0]).asnumpy() for p in net.collect_params().values()]


@gpus_only
@pytest.mark.parametrize("update_on_kvstore", [True, False])
def test_trainer_on_several_gpus(update_on_kvstore):
    want = trained([mx.cpu()], update_on_kvstore)
    for one, other in zip(want, trained(GPUS, update_on_kvstore)):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def fitted(places):
    """Parameters after some steps of a Module on these devices."""
    random = np.random.default_rng(4)
    data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(data, name="softmax"), context=places)
    inputs = mx.io.NDArrayIter(random.normal(size=(16, 5)), random.integers(0, 3, 16), batch_size=8)
    weights = {"fc_weight": mx.nd.array(random.normal(size=(3, 5))), "fc_bias": mx.nd.zeros((3,))}
    module.fit(
        inputs,
        num_epoch=2,
        kvstore="device",
        arg_params=weights,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.1},
    )
    return [value.asnumpy() for _, value in sorted(module.get_params()[0].items())]


@gpus_only
def test_module_on_several_gpus():
    for one, other in zip(fitted([mx.cpu()]), fitted(GPUS)):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


BUCKETS = """
import ctypes, sys
import loomix as mx
import numpy as np

loop, kind, on_store, dtype, file = sys.argv[1:]
places = [mx.gpu(0), mx.gpu(1)]
random = np.random.default_rng(3)
library = ctypes.CDLL(__import__("os").environ["LOOMIX_CUDA_LIBRARY"])

def messages():
    mx.nd.waitall()
    found = (ctypes.c_long * 9)()
    library.loomix_standin_counts(found)
    return np.array([found[6], library.loomix_standin_nccl_calls()])

def gluon():
    net = mx.gluon.nn.HybridSequential()
    for _ in range(6):
        net.add(mx.gluon.nn.Dense(10, activation="tanh", in_units=10))
    net.cast(dtype)
    net.initialize(ctx=places)
    for parameter in net.collect_params().values():
        parameter.set_data(mx.nd.array(random.normal(size=parameter.shape)))
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}, kvstore=kind,
                               update_on_kvstore=on_store == "True")
    def step(data):
        with mx.autograd.record():
            losses = [(net(part) ** 2).sum() for part in mx.gluon.utils.split_and_load(data.astype(dtype), places)]
        mx.autograd.backward(losses)
        trainer.step(12)
    return step, lambda: [p.data(place) for p in net.collect_params().values() for place in places]

def module():
    x = mx.sym.var("data")
    for i in range(6):
        x = mx.sym.tanh(mx.sym.FullyConnected(x, num_hidden=10, name=f"fc{i}"))
    module = mx.mod.Module(mx.sym.LinearRegressionOutput(x, mx.sym.var("label")), label_names=["label"], context=places)
    module.bind([("data", (12, 10))], [("label", (12, 10))])
    weights = {n: mx.nd.array(random.normal(size=a.shape)) for n, a in module._exec_group.execs[0].arg_dict.items()
               if n.startswith("fc")}
    module.init_params(arg_params=weights)
    module.init_optimizer(kvstore=kind, optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    def step(data):
        module.forward_backward(mx.io.DataBatch([data], [data * 2]))
        module.update()
    return step, lambda: [value for _, value in sorted(module.get_params()[0].items())]

step, results = {"gluon": gluon, "module": module}[loop]()
for i in range(4):
    before = messages()
    step(mx.nd.array(random.normal(size=(12, 10))))
print(*messages() - before)
np.savez(file, *[value.asnumpy() for value in results()])
"""


@pytest.mark.skipif(
    "standin" not in os.environ.get("LOOMIX_CUDA_LIBRARY", ""), reason="no stand-in that counts"
)
@pytest.mark.parametrize("kind", ["device", "nccl"])
@pytest.mark.parametrize("on_store", [True, False])
@pytest.mark.parametrize(
    "loop, dtype", [("gluon", "float32"), ("gluon", "float16"), ("gluon", "bfloat16"), ("module", "float32")]
)
def test_small_gradients_travel_together(loop, dtype, on_store, kind, tmp_path):
    counts, results = [], []
    for bucket in ("0", "1", "4096"):
        file = str(tmp_path / bucket)
        ran = subprocess.run(
            [sys.executable, "-c", BUCKETS, loop, kind, str(on_store), dtype, file],
            env={
                **os.environ,
                "LOOMIX_KV_BUCKET_KB": bucket,
                "MXNET_UPDATE_ON_KVSTORE": str(int(on_store)),
            },
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert ran.returncode == 0, ran.stderr[-3000:]
        counts.append(tuple(map(int, ran.stdout.split())))
        results.append(list(np.load(file + ".npz").values()))
    # Twelve keys, 440 bytes a layer, or 220: each alone, two layers at a time, or four, all together.
    buckets = [12, 3 if dtype == "float32" else 2, 1]
    if kind == "device":
        assert counts == [(2 * n, 0) for n in buckets], "there and back"
    else:
        assert counts == [(n if on_store else 0, 2 * n) for n in buckets], "weights come from the first GPU"
    for other in results[1:]:
        for one, joined in zip(results[0], other):
            np.testing.assert_array_equal(one, joined)


several_gpus = pytest.mark.skipif(len(GPUS) < 2, reason="fewer than two GPUs")


def bring(store, keys, value, dtype="float32"):
    """What the store makes of key * value of each of two GPUs, on each of them."""
    values = [[mx.nd.full((4, 5), key * value, ctx=gpu, dtype=dtype) for gpu in GPUS[:2]] for key in keys]
    outs = [[mx.nd.zeros((4, 5), ctx=gpu, dtype=dtype) for gpu in GPUS[:2]] for _ in keys]
    store._pushpull_all(keys, values, outs, [-key for key in keys])
    return outs


def all_of(arrays):
    """The number that all of them are filled with."""
    found = {number for array in arrays for number in array.asnumpy().ravel().tolist()}
    assert len(found) == 1, found
    return found.pop()


@several_gpus
@pytest.mark.parametrize("updates", [False, True])
@pytest.mark.parametrize("kind", ["device", "nccl"])
def test_buckets_of_other_keys_leave_values_alone(kind, updates):
    store = mx.kv.create(kind)
    keys = [1, 2, 3, 4]
    for key in keys:
        store.init(key, mx.nd.full((4, 5), 100 * key))
    stored = {key: 100.0 * key for key in keys}
    if updates:

        def update(key, merged, value):
            value += merged

        store.set_updater(update)
    # Buckets with one first key, of as many elements, and whatever is not in them.
    for step, together in enumerate([[1, 4], [2, 4], [3, 4], [1, 4], [1, 2, 3, 4], [2, 3, 4], [4], [1, 4]]):
        outs = bring(store, together, step + 1)
        for key, there in zip(together, outs):
            stored[key] = stored[key] * updates + 2 * key * (step + 1)
            assert all_of(there) == stored[key]
        for key in keys:
            store.pull(key, out := [mx.nd.zeros((4, 5), ctx=place) for place in [*GPUS, mx.cpu()]])
            assert all_of(out) == stored[key], (key, step)
        store.push(2, [full((4, 5), 1, gpu) for gpu in GPUS[:2]])  # by itself
        stored[2] = stored[2] * updates + 2


@several_gpus
@pytest.mark.parametrize("kind", ["device", "nccl"])
def test_an_updater_after_steps_without(kind):
    store = mx.kv.create(kind)
    for key in (1, 2):
        store.init(key, mx.nd.zeros((4, 5)))
    bring(store, [1, 2], 1)

    def update(key, merged, value):
        value += 10 * merged

    store.set_updater(update)
    for step in (1, 2):
        for key, out in zip((1, 2), bring(store, [1, 2], 3)):
            assert all_of(out) == 2 * key + step * 60 * key
    store.set_updater(None)
    for key, out in zip((1, 2), bring(store, [1, 2], 7)):
        assert all_of(out) == 14 * key


@several_gpus
@pytest.mark.parametrize("kind", ["device", "nccl"])
def test_what_buckets_refuse(kind):
    store = mx.kv.create(kind)
    for key in (1, 2, 3):
        store.init(key, mx.nd.zeros((4, 5)))
    bring(store, [1, 2, 3], 1)
    values = [[full((4, 5), 9, gpu) for gpu in GPUS[:2]] for _ in range(2)]
    other = [full((5, 4), 9, gpu) for gpu in GPUS[:2]]
    with pytest.raises(mx.MXNetError, match=r"key 2 has shape \(4, 5\), but \(5, 4\) was pushed"):
        store._pushpull_all([1, 2, 3], [values[0], other, values[1]], [*values, values[0]], [0, 0, 0])
    with pytest.raises(KeyError, match="key 7 has no value"):
        store._pushpull_all([1, 7], values, values, [0, 0])
    with pytest.raises(TypeError, match="float16 was pushed"):
        bring(store, [1, 2], 1, "float16")
    for key in (1, 2, 3):
        store.pull(key, out := full((4, 5), 0, GPUS[1]))
        assert all_of([out]) == 2 * key, "none of them came"
    # A gradient that failed is the error of its bucket, until the next step.
    bad = mx.nd.take(full((4, 5), 1, GPUS[1]), full((4,), 8, GPUS[1]), mode="raise")
    outs = [[mx.nd.zeros((4, 5), ctx=gpu) for gpu in GPUS[:2]] for _ in range(2)]
    store._pushpull_all([1, 2], [values[0], [values[1][0], bad]], outs, [0, 0])
    with pytest.raises(IndexError, match="take"):
        outs[0][0].asnumpy()
    for key, out in zip((1, 2), bring(store, [1, 2], 3)):
        assert all_of(out) == 6 * key


@several_gpus
def test_sums_are_pushed_again():
    """What a push waits for lies on the streams of its own calls."""
    store = mx.kv.create("nccl")
    for key in (1, 2):
        store.init(key, mx.nd.zeros((4, 5)))
    for together in (True, False):
        values = [[full((4, 5), key, gpu) for gpu in GPUS[:2]] for key in (1, 2)]
        for _ in range(20):
            if together:
                store._pushpull_all([1, 2], values, values, [0, 0])
            else:
                store.pushpull([1, 2], values)
        for key, there in zip((1, 2), values):
            assert all_of(there) == key * 2.0**20


@several_gpus
def test_nccl_takes_no_rows():
    store = mx.kv.create("nccl")
    store.init(1, mx.nd.zeros((4, 5)))
    rows = [full((4, 5), 1, gpu).tostype("row_sparse") for gpu in GPUS[:2]]
    with pytest.raises(ValueError, match="key 1 .*row_sparse on gpu"):
        store._pushpull_all([1], [rows], [[full((4, 5), 0, gpu) for gpu in GPUS[:2]]], [0])


PROCESSES = """
import ctypes
import os
import loomix as mx
store = mx.kv.create("dist_nccl")
rank, size = store.rank, store.num_workers
gpu = mx.gpu(rank % mx.context.num_gpus())
store.init("w", mx.nd.full((40000,), rank + 5))
out = mx.nd.empty((40000,), ctx=gpu)
store.pull("w", out)
assert set(out.asnumpy()) == {5.0}
for step in range(1, 6):
    store.push("w", mx.nd.full((40000,), step * (rank + 1)).as_in_context(gpu))
    store.pull("w", out)
    assert set(out.asnumpy()) == {step * size * (size + 1) / 2}
keys = ["a", "b", "c"]
for key in keys:
    store.init(key, mx.nd.zeros((10,)))
for step in range(1, 4):
    values = [[mx.nd.full((10,), step * (key + rank), ctx=gpu)] for key in range(3)]
    store._pushpull_all(keys, values, values, [0, 0, 0])
    for key in range(3):
        assert set(values[key][0].asnumpy()) == {step * sum(key + r for r in range(size))}
if "standin" in os.environ.get("LOOMIX_CUDA_LIBRARY", ""):
    calls = ctypes.CDLL(os.environ["LOOMIX_CUDA_LIBRARY"]).loomix_standin_nccl_calls()
    assert calls == 5 + 3 * (1 if size > 1 else 3), calls
store.barrier()
os.write(1, f"good {rank}\\n".encode())  # at once: mpirun joins what ranks write
"""


@gpus_only
@pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun is not installed")
def test_processes(tmp_path):
    if not mx.runtime.Features().is_enabled("MPI"):
        pytest.skip("a build without MPI")
    size = min(len(GPUS), 3)
    script = tmp_path / "worker.py"
    script.write_text(PROCESSES)
    ran = subprocess.run(
        ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(size), sys.executable, str(script)],
        env=dict(os.environ, OMPI_MCA_btl="self,vader"),
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert sorted(ran.stdout.split()) == sorted("good 0 good 1 good 2".split()[: 2 * size])
