# SPDX-License-Identifier: Apache-2.0
"""Training steps on a GPU: how often the host starts work there; updates in one piece are those of the host."""

import ctypes
import os
import subprocess
import sys
from typing import NamedTuple

import loomix as mx
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(mx.context.num_gpus() == 0, reason="no GPU, nor a stand-in for one")
STANDIN = os.environ.get("LOOMIX_CUDA_LIBRARY", "")
needs_standin = pytest.mark.skipif("standin" not in STANDIN, reason="no stand-in that counts")
GPU, CPU = mx.gpu(0), mx.cpu()


class Counts(NamedTuple):
    graphs: int  # launches
    works: int  # that were put on streams outside of graphs
    reads: int  # copies from a device to the host
    waits: int
    recordings: int
    beside: int  # works that were recorded on other streams than the first one
    messages: int  # copies from one device to another
    pinned: int  # copies from page-locked memory to devices
    made: int  # graphs that were made ready; not those whose parameters were updated


def counts():
    """Of all that the stand-in was asked for until now."""
    mx.nd.waitall()
    mx.nd.ones((1,), ctx=GPU).wait_to_read()  # loads the module
    found = (ctypes.c_long * len(Counts._fields))()
    ctypes.CDLL(STANDIN).loomix_standin_counts(found)
    return Counts(*found)


def nodes_set():
    """Nodes of captured graphs that got other parameters, by themselves."""
    return ctypes.CDLL(STANDIN).loomix_standin_nodes_set()


def counted(step):
    before = counts()
    step()
    return Counts(*(now - then for now, then in zip(counts(), before)))


class Residual(mx.gluon.HybridBlock):
    def __init__(self, channels, stride):
        super().__init__()
        nn = mx.gluon.nn
        self.body = nn.HybridSequential()
        self.body.add(
            nn.Conv2D(channels, 3, strides=stride, padding=1, use_bias=False),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.Conv2D(channels, 3, padding=1, use_bias=False),
            nn.BatchNorm(),
        )
        self.short = nn.Conv2D(channels, 1, strides=stride, use_bias=False) if stride > 1 else None

    def hybrid_forward(self, F, x):
        return F.relu(self.body(x) + (x if self.short is None else self.short(x)))


def small_resnet():
    net = mx.gluon.nn.HybridSequential()
    net.add(
        mx.gluon.nn.Conv2D(4, 3, padding=1),
        Residual(4, 1),
        Residual(8, 2),
        mx.gluon.nn.GlobalAvgPool2D(),
        mx.gluon.nn.Dense(3),
    )
    return net


OPTIMIZERS = {
    "sgd": {"learning_rate": 0.1},
    "sgd momentum": {"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-3},
    "nag": {"learning_rate": 0.1, "momentum": 0.9},
    "adam": {"learning_rate": 0.01},
    "adagrad": {"learning_rate": 0.1, "wd": 1e-3},
    "lamb": {"learning_rate": 0.01, "wd": 1e-3, "upper_bound": 2.0},
    "lamb uncorrected": {"learning_rate": 0.01, "bias_correction": False},
    "rmsprop": {"learning_rate": 0.01, "centered": True},
    "ftrl": {"learning_rate": 0.1},
    "signum": {"learning_rate": 0.01, "momentum": 0.9},
    "lars": {"learning_rate": 0.1, "eta": 0.1, "wd": 1e-3},
    "lars momentum": {"learning_rate": 0.1, "eta": 0.1, "wd": 1e-3, "momentum": 0.9},
    "adadelta": {"learning_rate": 0.1, "wd": 1e-3},
    "adamax": {"learning_rate": 0.01, "wd": 1e-3},
    "nadam": {"learning_rate": 0.01, "wd": 1e-3},
}
IN_STEPS = ["sgd", "adam", "adagrad", "lamb", "lars momentum", "adadelta", "adamax", "nadam"]


def gluon_step(optimizer, settings):
    net = small_resnet()
    net.initialize(ctx=GPU)
    net.hybridize()
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    loss.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), optimizer, settings)
    label = mx.nd.array([0, 1], ctx=GPU)

    def step():
        with mx.autograd.record():
            error = loss(net(mx.nd.random.uniform(shape=(2, 3, 8, 8), ctx=GPU)), label)
        error.backward()
        trainer.step(2)

    return step


def module_step(optimizer, settings):
    net = mx.sym.SoftmaxOutput(small_resnet()(mx.sym.Variable("data")), name="softmax")
    module = mx.mod.Module(net, context=GPU)
    module.bind([("data", (2, 3, 8, 8))], [("softmax_label", (2,))])
    module.init_params()
    module.init_optimizer(optimizer=optimizer, optimizer_params=settings)

    def step():
        data = mx.nd.random.uniform(shape=(2, 3, 8, 8), ctx=GPU)
        module.forward_backward(mx.io.DataBatch([data], [mx.nd.array([0, 1], ctx=GPU)]))
        module.update()

    return step


def schedule():
    return mx.lr_scheduler.FactorScheduler(step=1, factor=0.9, base_lr=0.1)


@needs_standin
@pytest.mark.parametrize("make", [gluon_step, module_step])
@pytest.mark.parametrize("optimizer", IN_STEPS)
def test_a_step_is_three_graphs(make, optimizer):
    settings = {name: value for name, value in OPTIMIZERS[optimizer].items() if name != "learning_rate"}
    step = make(optimizer.split()[0], {**settings, "lr_scheduler": schedule()})
    for _ in range(6):
        step()
    steady = counted(step)
    assert 2 <= steady.graphs <= 3
    assert steady.works <= 40  # what touches arrays that are new each time; copies of inputs
    assert steady.recordings <= 1  # rates are other numbers in each step
    assert steady.made == 0
    assert steady.reads == steady.waits == 0


def updated(optimizer, ctx, steps=7, dtype="float32"):
    """Weights of several shapes after some updates."""
    rng = np.random.RandomState(5)
    update = mx.optimizer.get_updater(optimizer)
    weights = [mx.nd.array(rng.uniform(-1, 1, (3, n)), ctx=ctx, dtype=dtype) for n in range(1, 80)]
    grads = [w.zeros_like() for w in weights]
    for _ in range(steps):
        for grad in grads:
            grad[:] = rng.uniform(-1, 1, grad.shape)
        update(list(range(len(weights))), grads, weights)
    return [w.asnumpy() for w in weights]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_updates_follow_rates_as_on_the_host(name):
    settings = {**OPTIMIZERS[name], "clip_gradient": 0.7}
    del settings["learning_rate"]
    results = []
    for ctx in (GPU, CPU):
        made = mx.optimizer.create(name.split()[0], lr_scheduler=schedule(), **settings)
        results.append(updated(made, ctx))
    for got, want in zip(*results):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["sgd momentum", "adam", "lars", "lars momentum", "nadam"])
def test_masters_of_short_weights(name):
    settings = {**OPTIMIZERS[name], "multi_precision": True}
    results = [
        updated(mx.optimizer.create(name.split()[0], **settings), ctx, dtype="float16") for ctx in (GPU, CPU)
    ]
    for got, want in zip(*results):
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=1e-4)


@needs_standin
def test_other_gradients_are_parameters_of_the_same_graph():
    update = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.1))
    host = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.1))
    weights = [mx.nd.ones((n + 1,), ctx=GPU) for n in range(5)]
    wanted = [w.as_in_context(CPU) for w in weights]
    made = 0
    for step in range(6):
        grads = [w * 0.1 * step + 1 for w in weights]  # new arrays each time
        found = counted(lambda: update(list(range(5)), grads, weights))  # noqa: B023
        host(list(range(5)), [g.as_in_context(CPU) for g in grads], wanted)
        assert found.graphs == (1 if step > 1 else 0)
        made += found.made
    assert made == 1
    for got, want in zip(weights, wanted):
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5)


@needs_standin
def test_an_array_that_is_replaced_is_a_parameter_of_the_same_graph():
    net = mx.gluon.nn.HybridSequential()
    for width in (16, 16, 16, 16, 3):
        net.add(mx.gluon.nn.Dense(width, activation="tanh"))
    net.initialize(ctx=GPU)
    net.hybridize()
    inputs = [mx.nd.random.uniform(shape=(4, 8), ctx=GPU) for _ in range(4)]
    for _ in range(5):
        net(inputs[0])
    results = []
    for x in inputs[1:]:  # now and then another one
        before = nodes_set()
        swapped = counted(lambda: results.append(net(x)))  # noqa: B023
        assert (swapped.graphs, swapped.made, swapped.recordings) == (1, 0, 1)
        assert 1 <= nodes_set() - before <= 4, "the first layer's"
        for _ in range(3):
            again = counted(lambda: net(x))  # noqa: B023
            assert (again.graphs, again.made, again.recordings) == (1, 0, 0)
    net.hybridize(active=False)
    for got, x in zip(results, inputs[1:]):
        np.testing.assert_allclose(got.asnumpy(), net(x).asnumpy(), rtol=1e-5)


@needs_standin
def test_the_update_of_a_gradient_that_is_replaced_is_recorded_alone():
    update, host = (mx.optimizer.get_updater(mx.optimizer.AdaGrad(learning_rate=0.1)) for _ in range(2))
    weights = [mx.nd.ones((n + 1,), ctx=GPU) for n in range(9)]
    wanted = [w.as_in_context(CPU) for w in weights]
    grads = [w * 2 for w in weights]
    for step in range(12):
        if step > 3:
            grads[step % 9] = weights[step % 9] * step
        before = nodes_set()
        found = counted(lambda: update(list(range(9)), grads, weights))
        host(list(range(9)), [g.as_in_context(CPU) for g in grads], wanted)
        assert (found.graphs, found.recordings) == (int(step > 1), int(step == 2 or step > 3))
        assert nodes_set() - before == int(step > 3)
    for got, want in zip(weights, wanted):
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5)


class Chain(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x, y):
        for _ in range(3):
            x = F.softmax(F.sin(x), axis=0) + F.cumsum(y)
        return x * 2


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_replaced_arrays_may_lie_anywhere(dtype):
    """Kernels have other forms for arrays that do not begin at 16 bytes."""
    net, want = Chain(), Chain()
    net.hybridize()
    memory = mx.nd.random.uniform(shape=(4100,), ctx=GPU).astype(dtype)
    at = [0, 0, 0, 0, 1, 1, 1, 3, 3, 3, 8, 8, 8, 2, 2, 2, 2]
    for first in at:
        for second in (memory[4:4096], memory[first : first + 4092]):  # the second time x and y are one
            x = memory[first : first + 4092]
            np.testing.assert_array_equal(net(x, second).asnumpy(), want(x, second).asnumpy())


BRANCHES = """
import ctypes, os
import loomix as mx
import numpy as np
gpu = mx.gpu(0)
library = ctypes.CDLL(os.environ["LOOMIX_CUDA_LIBRARY"])

class Towers(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x, y):
        towers = [F.softmax(F.dot(x, x)), F.softmax(F.dot(y, y)), F.softmax(F.dot(x, y)), F.sin(F.dot(y, x))]
        for _ in range(2):
            towers = [F.softmax(F.dot(t, y)) for t in towers]
        return towers[0] * towers[1] + towers[2] * towers[3]

def counts():
    mx.nd.waitall()
    found = (ctypes.c_long * 9)()
    library.loomix_standin_counts(found)
    return found

net = Towers()
net.hybridize()
rng = np.random.RandomState(6)
arrays = [mx.nd.array(rng.uniform(-1, 1, (24, 24)), ctx=gpu) for _ in range(4)]
results = []
x, y = arrays[:2]
for step in range(40):
    if step > 8 and step % 4 == 0:
        x = arrays[step // 4 % 4]  # once it is y
    results.append(net(x, y))
found = counts()
print(found[5], library.loomix_standin_nodes_set())
np.savez(os.environ["RESULTS"], *[r.asnumpy() for r in results])
"""


@needs_standin
def test_arrays_of_branches_are_replaced(tmp_path):
    results = []
    for streams in ("1", "3"):
        environment = {**os.environ, "LOOMIX_CAPTURED_STREAMS": streams, "RESULTS": str(tmp_path / streams)}
        ran = subprocess.run(
            [sys.executable, "-c", BRANCHES], env=environment, capture_output=True, text=True, timeout=100
        )
        assert ran.returncode == 0, ran.stderr[-3000:]
        beside, nodes = map(int, ran.stdout.split())
        assert (beside > 0) == (streams == "3")
        assert nodes > 0
        results.append(list(np.load(str(tmp_path / streams) + ".npz").values()))
    for one, several in zip(*results):
        np.testing.assert_array_equal(one, several)


class Clipped(mx.optimizer.Adam):
    """Looks at the weight as soon as it has called Adam."""

    def update(self, index, weight, grad, state):
        super().update(index, weight, grad, state)
        weight[:] = weight.clip(-0.5, 0.5) if float(weight.asnumpy().max()) > 0.5 else weight * 0.5


def test_optimizers_of_users_see_their_updates():
    results = [updated(Clipped(learning_rate=0.01), ctx, steps=5) for ctx in (GPU, CPU)]
    for got, want in zip(*results):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)


def test_an_error_in_a_gradient_is_of_its_weight_alone():
    update = mx.optimizer.get_updater(mx.optimizer.Adam())
    weights = [mx.nd.ones((3,), ctx=GPU) for _ in range(6)]
    grads = [mx.nd.ones((3,), ctx=GPU) for _ in weights]
    for _ in range(4):
        update(list(range(6)), grads, weights)
    before = weights[2].asnumpy()
    bad = mx.nd.take(mx.nd.ones((2,), ctx=GPU), mx.nd.array([5, 5, 5], ctx=GPU), mode="raise")
    bad.copyto(grads[1])
    update(list(range(6)), grads, weights)
    with pytest.raises(mx.MXNetError, match="take"):
        weights[1].asnumpy()
    assert (weights[2].asnumpy() != before).all()
    weights[1][:] = 1
    grads[1][:] = 1
    update(list(range(6)), grads, weights)
    assert np.isfinite(weights[0].asnumpy()).all()


# ---- loss scales on the device ----


def scaled_training(ctxs, optimizer, settings, steps, grads_of, read=False):
    """Weights after steps whose losses are scaled, each with a given factor of the loss; and the scales."""
    param = mx.gluon.Parameter("w", shape=(3,))
    other = mx.gluon.Parameter("v", shape=(2, 2))
    for p in (param, other):
        p.initialize(mx.init.One(), ctx=ctxs)
    trainer = mx.gluon.Trainer([param, other], optimizer, settings, update_on_kvstore=False)
    mx.contrib.amp.init_trainer(trainer)
    scales = []

    def step(i):
        with mx.autograd.record():
            losses = [
                (w * grads_of(i, k)).sum() + (v * 2).sum()
                for k, (w, v) in enumerate(zip(param.list_data(), other.list_data()))
            ]
            with mx.contrib.amp.scale_loss(losses, trainer) as scaled:
                mx.autograd.backward(scaled)
        if i % 3 == 1:
            mx.contrib.amp.unscale(trainer)
        trainer.step(2)

    for i in range(steps):
        step(i)
        if read:
            scales.append(trainer._amp_loss_scaler.loss_scale)
    return step, trainer, [p.data(c).asnumpy() for p in (param, other) for c in ctxs], scales


def some_overflow(i, k):
    return np.inf if i in (0, 4) and k == 0 else 0.5 + i


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(
    "name", ["sgd momentum", "signum", "nag", "adagrad", "lamb uncorrected", "lars momentum", "adadelta"]
)
def test_overflows_skip_steps_on_the_device_as_on_the_host(name, devices):
    if mx.context.num_gpus() < devices:
        pytest.skip("too few GPUs")
    results = []
    for make in (mx.gpu, mx.cpu):
        ctxs = [make(i) for i in range(devices)]
        run = scaled_training(ctxs, name.split()[0], OPTIMIZERS[name], 8, some_overflow, read=True)
        assert (run[1]._amp_loss_scaler._on_device is not None) == (make is mx.gpu)
        results.append(run[2:])
    for got, want in zip(results[0][0], results[1][0]):
        np.testing.assert_allclose(got, want, rtol=1e-5)
    assert results[0][1] == results[1][1]


def test_the_scale_rises_on_the_device(monkeypatch):
    monkeypatch.setattr("loomix.contrib.amp.loss_scaler._STEPS_UNTIL_RISE", 3)
    scales = [
        scaled_training([ctx], "sgd", {"learning_rate": 0.1}, 9, some_overflow, read=True)[3]
        for ctx in (GPU, CPU)
    ]
    assert scales[0] == scales[1]
    assert max(scales[0]) > min(scales[0])


@needs_standin
@pytest.mark.parametrize("optimizer", IN_STEPS)
def test_steps_with_a_loss_scale_read_nothing(optimizer):
    step = scaled_training([GPU], optimizer.split()[0], OPTIMIZERS[optimizer], 6, some_overflow)[0]
    steady = counted(lambda: step(6))
    assert steady.reads == steady.waits == 0


def test_optimizers_of_several_operators_have_the_scale_on_the_host():
    run = scaled_training([GPU], "dcasgd", {"learning_rate": 0.01}, 6, some_overflow, read=True)
    want = scaled_training([CPU], "dcasgd", {"learning_rate": 0.01}, 6, some_overflow, read=True)
    assert run[1]._amp_loss_scaler._on_device is None
    assert run[3] == want[3]
    for got, expected in zip(run[2], want[2]):
        np.testing.assert_allclose(got, expected, rtol=1e-5)


@needs_standin
@pytest.mark.parametrize("workers", [0, 2])
def test_batches_of_a_pinning_loader_come_from_page_locked_memory(workers):
    samples = np.arange(12000, dtype="float32").reshape(40, 300)
    data = mx.gluon.data.ArrayDataset(samples)

    def load(pin_memory):
        loader = mx.gluon.data.DataLoader(data, 10, pin_memory=pin_memory, num_workers=workers)
        got = [batch.as_in_context(GPU) for batch in loader]
        np.testing.assert_array_equal(np.concatenate([batch.asnumpy() for batch in got]), samples)

    assert counted(lambda: load(True)).pinned == 4
    assert counted(lambda: load(False)).pinned == 0


@needs_standin
@pytest.mark.parametrize(("ctx", "device_id", "pinned"), [("gpu", 0, 6), ("cpu", 0, 0), ("gpu", -1, 4)])
def test_batches_of_iterators_come_from_page_locked_memory(tmp_path, ctx, device_id, pinned):
    mx.nd.ones((1,), ctx=GPU).wait_to_read()
    values = np.arange(1200, dtype="float32").reshape(40, 30)
    np.savetxt(tmp_path / "data.csv", values, delimiter=",")
    rows = mx.io.CSVIter(data_csv=str(tmp_path / "data.csv"), data_shape=(30,), batch_size=10, ctx=ctx)
    records = mx.recordio.MXRecordIO(str(tmp_path / "images.rec"), "w")
    for i in range(8):
        image = np.full((4, 4, 3), 20 * i, "uint8")
        records.write(mx.recordio.pack_img(mx.recordio.IRHeader(0, i, i, 0), image, img_fmt=".png"))
    records.close()
    images = mx.io.ImageRecordIter(
        path_imgrec=str(tmp_path / "images.rec"),
        data_shape=(3, 4, 4),
        batch_size=4,
        ctx=ctx,
        device_id=device_id,
    )

    def load(iterator):
        for batch in iterator:
            assert batch.data[0].context.device_type == batch.label[0].context.device_type
            yield batch.data[0].as_in_context(GPU).asnumpy()

    def load_all():
        np.testing.assert_array_equal(np.concatenate(list(load(rows))), values)
        means = np.concatenate([batch.mean(axis=(1, 2, 3)) for batch in load(images)])
        np.testing.assert_allclose(means, 20 * np.arange(8), atol=0.5)

    assert counted(load_all).pinned == pinned


def test_iterators_leave_plain_memory_where_no_gpu_is_used(tmp_path):
    program = """if True:
        import sys
        import loomix as mx
        batch = next(iter(mx.io.CSVIter(data_csv=sys.argv[1], data_shape=(3,), batch_size=2)))
        print(batch.data[0].context)
    """
    (tmp_path / "data.csv").write_text("1,2,3\n4,5,6\n")
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "data.csv")], capture_output=True, text=True
    )
    assert done.stdout == "cpu(0)\n", done.stderr
