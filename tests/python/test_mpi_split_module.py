# SPDX-License-Identifier: Apache-2.0
"""Groups of a symbol's layers that are bound to a split over ranks that mpirun started."""

import pytest
from test_mpi_kvstore import no_mpi as no_mpi  # a fixture
from test_mpi_kvstore import with_mpi as run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


@pytest.fixture(autouse=True)
def needs_mpi(no_mpi):
    if no_mpi:
        pytest.skip(no_mpi)


MODULE = """
import os, sys
import loomix as mx, numpy as np
from loomix import parallel
ranks, rank = parallel.size(), parallel.rank()

def build():
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, num_filter=4, kernel=(3, 3), name="conv0")
    net = mx.sym.Activation(net, act_type="relu", name="act0")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool0")
    with mx.AttrScope(ctx_group="fc"):
        net = mx.sym.FullyConnected(net, num_hidden=13, name="fc1")
        if mesh.num_parts() == mesh.num_parts("model"):  # else statistics are those of the own examples
            net = mx.sym.BatchNorm(net, fix_gamma=False, name="norm1")
        net = mx.sym.Activation(net, act_type="tanh", name="act1")
        net = mx.sym.Dropout(net, p=0.3, name="drop1")
        net = mx.sym.FullyConnected(net, num_hidden=5, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")

def fit(mesh=None, examples=True, optimizer="sgd", settings=None, **more):
    mx.random.seed(3)
    r = np.random.RandomState(1)
    x, y = r.rand(32, 2, 8, 8).astype("f"), r.randint(0, 5, 32).astype("f")
    parts, part = 1, 0
    if mesh is not None and examples:
        parts, part = mesh.num_parts(), mesh.part_index()
    elif mesh is not None:
        parts, part = (mesh.num_parts("data"), mesh.part_index("data")) if "data" in mesh.shape else (1, 0)
    each = 8 // parts
    mine = np.concatenate([np.arange(i * 8 + part * each, i * 8 + (part + 1) * each) for i in range(4)])
    groups = None if mesh is None else {"fc": parallel.split(mesh, "model", examples=examples)}
    module = mx.mod.Module(build(), group2ctxs=groups)
    losses = []

    def follow(step):
        out, label = module.get_outputs()[0], step.locals["data_batch"].label[0]
        loss = -mx.nd.log(mx.nd.pick(out, label)).sum()
        if parts > 1:
            loss = parallel.all_reduce(loss, range(ranks)) / (ranks // parts)
        losses.append(float(loss.asscalar()))
    module.fit(
        mx.io.NDArrayIter(x[mine], y[mine], each), num_epoch=5, batch_end_callback=follow, optimizer=optimizer,
        kvstore="local" if mesh is None else parallel.store(mesh), initializer=mx.init.Xavier(),
        optimizer_params=settings or {"learning_rate": 0.2, "momentum": 0.9}, **more)
    return losses, module
mesh = parallel.Mesh(AXES)
"""

TRAINS = """
expected, one = fit()
for examples in (True, False):
    losses, module = fit(mesh, examples)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)  # sums have another order
    assert len(losses) == 20
    own = module._exec_group.execs[0].arg_dict["fc1_weight"].shape
    size, place = mesh.shape["model"], mesh.coordinates()["model"]
    assert own == (13 // size + (place < 13 % size), 36), own
    for found, wanted in zip(module.get_params(), one.get_params()):
        for key, array in wanted.items():
            np.testing.assert_allclose(found[key].asnumpy(), array.asnumpy(), rtol=1e-3, atol=1e-5)
    text = parallel.explain(module)
    assert "fc1: columns over 'model'" in text and "a step sends" in text and "want of a rule" not in text, text
    scores = module.score(mx.io.NDArrayIter(np.ones((8, 2, 8, 8)), np.ones(8), 8), "acc")
print("good")
"""


MESHES = {"model=1": 1, "model=2": 2, "data=2, model=2": 4, "model=4": 4}


@pytest.mark.parametrize("axes", MESHES)
def test_module_trains_as_one_process(axes):
    ranks = MESHES[axes]
    done = run(MODULE.replace("AXES", axes) + TRAINS, "-n", str(ranks))
    assert done.returncode == 0 and done.stdout.count("good") == ranks, done.stdout + done.stderr[-3000:]


FILES = """
folder = sys.argv[1]
read = lambda name: open(os.path.join(folder, name), "rb").read()
endings = ("-symbol.json", "-0001.params", "-0001.states")
shapes = [("data", (8 // ranks, 2, 8, 8))], [("softmax_label", (8 // ranks,))]
for optimizer, settings in (("sgd", {"learning_rate": 0.2, "momentum": 0.9}), ("adam", {"learning_rate": 0.01})):
    if rank == 0:
        _, one = fit(optimizer=optimizer, settings=settings)
        one.save_checkpoint(folder + "/one", 1, save_optimizer_states=True)
    parallel.barrier()
    groups = {"fc": parallel.split(mesh, "model")}
    again = mx.mod.Module.load(folder + "/one", 1, load_optimizer_states=True, group2ctxs=groups)
    again.bind(*shapes)
    again.init_optimizer(parallel.store(mesh), optimizer, settings)
    again.save_checkpoint(folder + "/again", 1, save_optimizer_states=True)
    for ending in endings:
        assert read("again" + ending) == read("one" + ending), (optimizer, ending)
    state = again._updater.states[again._param_names.index("fc1_weight")]
    state = state[0] if isinstance(state, tuple) else state
    assert state.shape == again._exec_group.execs[0].arg_dict["fc1_weight"].shape
    parallel.barrier()

# Gluon: parameters and states
def net_and_trainer(mesh=None):
    mx.random.seed(2)
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(9, in_units=7, activation="relu"), mx.gluon.nn.Dense(5, in_units=9))
    if mesh is not None:
        parallel.shard(net, mesh, {"0": parallel.columns("model"), "1": parallel.rows("model")})
    net.initialize(mx.init.Xavier())
    trainer = mx.gluon.Trainer(
        net.collect_params(), "adam", {"learning_rate": 0.1}, kvstore=mesh and parallel.store(mesh))
    return net, trainer

def step(net, trainer):
    x = mx.nd.array(np.random.RandomState(0).rand(4, 7))
    with mx.autograd.record():
        loss = mx.nd.square(net(x)).sum()
    loss.backward()
    trainer.step(4)
    return float(loss.asscalar())
if rank == 0:
    net, trainer = net_and_trainer()
    step(net, trainer)
    net.save_parameters(folder + "/one.params")
    trainer.save_states(folder + "/one.states")
    wanted = step(net, trainer)
parallel.barrier()
net, trainer = net_and_trainer(mesh)
net.load_parameters(folder + "/one.params")
trainer.load_states(folder + "/one.states")
net.save_parameters(folder + "/again.params")
trainer.save_states(folder + "/again.states")
assert read("again.params") == read("one.params")
assert read("again.states") == read("one.states")
parallel.save(folder + "/all", {"net": net, "trainer": trainer}, step=3)
found, drawn = step(net, trainer), mx.nd.random.uniform(shape=3).asnumpy()
step(net, trainer)
assert parallel.load(folder + "/all", {"net": net, "trainer": trainer})[0] == 3
assert step(net, trainer) == found and (mx.nd.random.uniform(shape=3).asnumpy() == drawn).all()
if rank == 0:
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
try:
    trainer.save_states(folder + "/none/one.states")
except OSError as error:
    print("told")
print("good")
"""


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_files_are_those_of_one_process(ranks, tmp_path):
    program = (MODULE + FILES).replace("AXES", f"model={ranks}")
    done = run(program.replace("sys.argv[1]", repr(str(tmp_path))), "-n", str(ranks))
    assert done.returncode == 0 and done.stdout.count("good") == ranks, done.stdout + done.stderr[-3000:]
    assert done.stdout.count("told") == ranks


AROUND = """
# metrics, schedules and monitors of modules
def measured(mesh, examples=True):
    found = []
    metric = mx.metric.create(["acc", "ce"])
    settings = {"learning_rate": 0.2, "lr_scheduler": mx.lr_scheduler.FactorScheduler(8, 0.5)}
    seen = mx.mon.Monitor(5, pattern=".*fc1.*")
    rows = []
    ends = lambda epoch, *rest: found.append(metric.get_name_value())
    losses, module = fit(mesh, examples, settings=settings, eval_metric=metric, epoch_end_callback=ends, monitor=seen)
    assert module._optimizer.learning_rate < 0.2
    part, parts = (0, 1) if mesh is None else (mesh.part_index(), mesh.num_parts())
    r = np.random.RandomState(9)
    x, y = r.rand(12, 2, 8, 8), r.randint(0, 5, 12)
    own = slice(part * 12 // parts, (part + 1) * 12 // parts)  # each rank's last batch is not full
    data = mx.io.NDArrayIter(x[own], y[own], module._exec_group.batch_size)
    if mesh is None or examples:
        found.append(module.score(data, mx.metric.create(["acc", "ce"])))
    return found, losses, module
expected, _, _ = measured(None)
for examples in (True, False):
    found, _, module = measured(mesh, examples)
    for one, other in zip(found, expected):
        assert [name for name, _ in one] == [name for name, _ in other]
        np.testing.assert_allclose([v for _, v in one], [v for _, v in other], rtol=1e-4)
monitor = mx.mon.Monitor(1, pattern="fc1_(output|weight)")
module.install_monitor(monitor)
batch = mx.io.DataBatch([mx.nd.ones(module.data_shapes[0].shape)], [mx.nd.ones(module.label_shapes[0].shape)])
monitor.tic()
module.forward(batch, is_train=True)
names = {name for _, name, _ in monitor.toc()}
assert names == {"fc1_output", "fc1_weight"}, names

# automatic mixed precision; one rank's gradients overflow, and no rank's parameters change
from loomix.contrib import amp
from loomix.gluon import nn
amp.init("bfloat16")
wide = parallel.Mesh(model=ranks)
net = nn.HybridSequential(prefix="net_")
with net.name_scope():
    net.add(nn.Dense(8, in_units=6, activation="tanh", prefix="a_"), nn.Dense(4, in_units=8, prefix="b_"))
parallel.shard(net, wide, {"a": parallel.columns("model"), "b": parallel.rows("model")})
mx.random.seed(4)
net.initialize(mx.init.Xavier())
net.hybridize()
trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore=parallel.store(wide))
amp.init_trainer(trainer)
losses = []
for step in range(6):
    with mx.autograd.record():
        loss = mx.nd.square(net(mx.nd.ones((4, 6))) - 1).mean()
        with amp.scale_loss(loss, trainer) as scaled:
            scaled.backward()
    before = net[0].weight.data().asnumpy(), trainer._amp_loss_scaler.loss_scale
    if step == 3 and rank == 0:
        net[0].weight.grad()[0, 0] = np.inf
    trainer.step(1)
    changed = (net[0].weight.data().asnumpy() != before[0]).any()
    assert changed == (step != 3), step
    assert (trainer._amp_loss_scaler.loss_scale < before[1]) == (step == 3)
    losses.append(float(loss.asscalar()))
assert losses[-1] < losses[0] and "want of a rule" not in parallel.explain(net)

# a gradient of one's own choice, and the gradient of a gradient's function
weight = net[0].weight
assert weight.shape == (8, 6) and weight.layout.axis == 0 and weight.data().shape == (8 // ranks, 6)
with mx.autograd.record():
    half = mx.nd.square(weight.data()).sum() / 2
half.backward()
assert (weight.grad().asnumpy() == weight.data().asnumpy()).all()
own = weight.data().copy()
own.attach_grad()
with mx.autograd.record():
    y = (own * 3).sum()
y.backward()
assert (own.grad.asnumpy() == 3).all()
print("good")
"""


@pytest.mark.parametrize("axes", ["model=2", "data=2, model=2"])
def test_what_is_around_training(axes):
    ranks = MESHES[axes]
    done = run(MODULE.replace("AXES", axes) + AROUND, "-n", str(ranks))
    assert done.returncode == 0 and done.stdout.count("good") == ranks, done.stdout + done.stderr[-3000:]


BYTES = """
import re
from loomix import _parallel
for examples in (True, False):
    module = mx.mod.Module(build(), group2ctxs={"fc": parallel.split(mesh, "model", examples=examples)})
    module.bind([("data", (8, 2, 8, 8))], [("softmax_label", (8,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(parallel.store(mesh))
    batch = mx.io.DataBatch([mx.nd.ones((8, 2, 8, 8))], [mx.nd.ones(8)])
    group = module._exec_group.local.cuts["fc1_weight"].group

    def sent():
        mx.nd.waitall()
        parallel.barrier()
        return sum(_parallel.group_traffic(group)["sent"])
    before = sent()
    module.forward_backward(batch)
    module.update()
    found = sent() - before
    said = int(re.search(r"a step sends (\\d+)", parallel.explain(module))[1])
    assert found == said > 0, (examples, found, said, parallel.explain(module))
print("good")
"""


@pytest.mark.parametrize("ranks", [2, 4])
def test_bytes_are_those_that_explain_says(ranks):
    done = run(MODULE.replace("AXES", f"model={ranks}") + BYTES, "-n", str(ranks))
    assert done.returncode == 0 and done.stdout.count("good") == ranks, done.stdout + done.stderr[-3000:]


BAD = """
import loomix as mx
from loomix import parallel
mesh = parallel.Mesh(model=2)
rank = parallel.rank()

def bind(split, hidden=4, group="fc", **shapes):
    data = mx.sym.Variable("data")
    with mx.AttrScope(ctx_group="fc"):
        net = mx.sym.FullyConnected(data, num_hidden=hidden, name="fc1")
    try:
        net.simple_bind(mx.cpu(), group2ctx={group: split}, **(shapes or {"data": (2, 3)}))
        print("bound")
    except Exception as error:
        print(type(error).__name__, str(error).replace("\\n", " "), flush=True)
split = parallel.split(mesh, "model")
bind(split)
bind(split, hidden=1)
bind(split, group="other")
bind(parallel.split(mesh, "model", examples=rank == 0))
bind(split, data=(2 + rank, 3))
x = mx.nd.ones((2, 3))
try:
    (mx.sym.Variable("x") * 2).bind(mx.cpu(), {"x": x}, group2ctx={"fc": split})
except ValueError as error:
    print(error)
try:
    parallel.split(mesh, "pipe")
except KeyError as error:
    print("axis", error)
"""


def test_bad_splits_are_told_on_all_ranks():
    done = run(BAD, "-n", "2")
    out = done.stdout
    assert done.returncode == 0, out + done.stderr
    for part in (
        "bound",
        "ValueError [split] argument 'fc1_weight' of layer 'fc1' has shape (1, 3), whose axis 0 cannot be cut into 2",
        "ValueError [split] no layer with parameters that can be split is in other",
        "ranks give different splits: rank 0: split(Mesh(model=2), 'model', examples=True) of fc, inputs {'data': "
        "(2, 3)}; rank 1: split(Mesh(model=2), 'model', examples=False)",
        "rank 1: split(Mesh(model=2), 'model', examples=True) of fc, inputs {'data': (3, 3)}",
        "[Symbol.bind] group2ctx has a split over ranks",
        "there is no axis 'pipe'",
    ):
        assert out.count(part) == 2, (part, out)


BAD_FILES = """
import os, sys
import loomix as mx
from loomix import parallel
folder = sys.argv[1]
mesh = parallel.Mesh(model=2)

def made(units):
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(units, in_units=4, prefix="fc_"))
    parallel.shard(net, mesh, {"fc": parallel.columns("model")})
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", kvstore=parallel.store(mesh))
    with mx.autograd.record():
        loss = net(mx.nd.ones((2, 4))).sum()
    loss.backward()
    trainer.step(1)
    return net, trainer
net, trainer = made(6)
assert "Dense(4 -> 6, linear), columns over 'model'" in repr(net), net
net.save_parameters(folder + "/net.params")
trainer.save_states(folder + "/net.states")
parallel.save(folder + "/all", {"net": net, "trainer": trainer}, step=1)
other, other_trainer = made(8)

def tell(work):
    try:
        work()
        print("nothing", flush=True)
    except Exception as error:
        print(type(error).__name__, str(error).replace("\\n", " "), flush=True)
    parallel.barrier()
tell(lambda: other.load_parameters(folder + "/net.params"))
tell(lambda: other_trainer.load_states(folder + "/net.states"))
tell(lambda: parallel.load(folder + "/all", {"net": other}))
if parallel.rank() == 0:
    for name in ("net.params", "net.states"):
        data = open(os.path.join(folder, name), "rb").read()
        open(os.path.join(folder, name), "wb").write(data[: len(data) // 2])
    os.remove(folder + "/all/checkpoint-1/trainer.states")
parallel.barrier()
tell(lambda: net.load_parameters(folder + "/net.params"))
tell(lambda: trainer.load_states(folder + "/net.states"))
tell(lambda: parallel.load(folder + "/all", {"net": net, "trainer": trainer}))
tell(lambda: net.save_parameters(folder + "/none/net.params"))
print("good")
"""


def test_bad_files_are_told_on_all_ranks(tmp_path):
    # Shapes, damaged files, and one that is missing.
    done = run(BAD_FILES.replace("sys.argv[1]", repr(str(tmp_path))), "-n", "2")
    out = done.stdout
    assert done.returncode == 0 and out.count("good") == 2, out + done.stderr[-3000:]
    assert "nothing" not in out, out
    for part in (
        f"block 'net' has shape (8, 4); its values in file '{tmp_path}/net.params' have shape (6, 4)",
        "the state of parameter 0 has shape (6,), and the parameter, which is split over ranks, has (8,)",
        "all/checkpoint-1/net.params' have shape (6, 4)",
        "net.params, offset 64: an array needs 24 items of 4 bytes",
        "[optimizer states] the bytes are no states file: UnpicklingError: pickle data was truncated",
        f"No such file or directory: '{tmp_path}/all/checkpoint-1/trainer.states'",
        "none/net.params",
    ):
        assert out.count(part) == 2, (part, out)
