# SPDX-License-Identifier: Apache-2.0
"""Whole networks that are split over ranks, beside one process; and one that is larger than a rank's memory."""

import filecmp
import json
import pathlib

import loomix as mx
import numpy as np
import pytest
from test_mpi_kvstore import no_mpi as no_mpi  # a fixture
from test_mpi_kvstore import with_mpi as run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]
SCRIPT = pathlib.Path(__file__).with_name("split_network.py")


@pytest.fixture(autouse=True)
def needs_mpi(no_mpi):
    if no_mpi:
        pytest.skip(no_mpi)


def losses_of(network, ranks, *options):
    program = f"""
import runpy, sys
sys.argv = ["split_network.py", *{[network, *options]!r}]
runpy.run_path({str(SCRIPT)!r}, run_name="__main__")
"""
    done = run(program, "-n", str(ranks))
    lines = [line for line in done.stdout.splitlines() if line.startswith("losses")]
    assert done.returncode == 0 and len(lines) == 1, done.stdout + done.stderr[-3000:]
    return json.loads(lines[0].split(" ", 1)[1])


# GoogLeNet on four ranks, and both with all of their filters, are in .ci/long.
@pytest.mark.source
@pytest.mark.parametrize("network, most", [("alexnet", 4), ("googlenet", 2)])
def test_losses_are_those_of_one_process(network, most):
    expected = losses_of(network, 1)
    assert len(expected) == 20 and expected[-1] < expected[0] - 0.1
    for ranks in (2, 4)[: most // 2]:
        np.testing.assert_allclose(losses_of(network, ranks), expected, rtol=1e-4)  # sums have another order


# Parameters, gradients and momenta of ten layers of 2.25 MiB are 67.5 MiB.
LARGE = """
import os
os.environ["LOOMIX_MAX_MEMORY_BYTES"] = str(10 * 3 * 768 * 768 * 4 // 3)
import loomix as mx
from loomix import parallel
from loomix.gluon import nn
mesh = parallel.Mesh(model=parallel.size())
mx.random.seed(1)
net = nn.HybridSequential(prefix="net_")
with net.name_scope():
    for i in range(10):
        net.add(nn.Dense(768, in_units=768, activation="relu", use_bias=False, prefix=f"fc{i}_"))
splits = {f"fc{i}": (parallel.columns, parallel.rows)[i % 2]("model") for i in range(10)}
parallel.shard(net, mesh, splits)
net.initialize(mx.init.Xavier(magnitude=6))
net.hybridize()
settings = {"learning_rate": 0.01, "momentum": 0.9}
trainer = mx.gluon.Trainer(net.collect_params(), "sgd", settings, kvstore=parallel.store(mesh))
x = mx.nd.random.uniform(shape=(8, 768))
losses = []
for step in range(6):
    with mx.autograd.record():
        loss = mx.nd.square(net(x) - 1).mean()
    loss.backward()
    trainer.step(1)
    losses.append(float(loss.asscalar()))
assert losses[-1] < losses[0], losses
print("trained")
"""


def test_a_network_of_three_times_a_ranks_memory_trains():
    alone = run(LARGE, "-n", "1")
    assert alone.returncode != 0 and "MemoryError" in alone.stderr, alone.stderr[-3000:]
    done = run(LARGE, "-n", "4")
    assert done.returncode == 0 and done.stdout.count("trained") == 4, done.stdout + done.stderr[-3000:]


# A weight of 9 MiB, of which each of four ranks has 2.25.
FILE = """
import os
os.environ["LOOMIX_MAX_MEMORY_BYTES"] = str(8 << 20)
import loomix as mx, numpy as np
from loomix import parallel
from loomix.gluon import nn
folder, mesh = FOLDER, parallel.Mesh(model=parallel.size())
try:
    mx.nd.load(folder + "/block.params")
except MemoryError:
    print("too large")

def expect(part):
    rows = slice(parallel.rank() * 384, (parallel.rank() + 1) * 384)
    assert (part.asnumpy() == np.load(folder + "/weight.npy", mmap_mode="r")[rows]).all()
net = nn.HybridSequential(prefix="net_")
with net.name_scope():
    net.add(nn.Dense(1536, in_units=1536, use_bias=False, prefix="fc_"))
net.collect_params().setattr("grad_req", "null")
parallel.shard(net, mesh, {"fc": parallel.columns("model")})
for _ in range(2):  # the second time into what is there
    net.load_parameters(folder + "/block.params")
    expect(net[0].weight.data())
    net[0].weight.data()[:] = 0
net.collect_params().load(folder + "/full_names.params")
expect(net[0].weight.data())

groups = {"fc": parallel.split(mesh, "model", examples=False)}
module = mx.mod.Module.load(folder + "/module", 1, group2ctxs=groups, label_names=None)
module.bind([("data", (2, 1536))], for_training=False)
weight = module._exec_group.execs[0].arg_dict["fc_weight"]
expect(weight)
weight[:] = 0
module.load_params(folder + "/module-0001.params")
expect(weight)
print("good")
"""


def test_a_file_of_a_parameter_larger_than_a_ranks_memory(tmp_path):
    weight = mx.nd.array(np.random.RandomState(0).rand(1536, 1536))
    np.save(tmp_path / "weight.npy", weight.asnumpy())
    mx.nd.save(str(tmp_path / "block.params"), {"0.weight": weight})
    mx.nd.save(str(tmp_path / "full_names.params"), {"net_fc_weight": weight})
    with mx.AttrScope(ctx_group="fc"):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1536, no_bias=True, name="fc")
    mx.model.save_checkpoint(str(tmp_path / "module"), 1, net, {"fc_weight": weight}, {})
    done = run(FILE.replace("FOLDER", repr(str(tmp_path))), "-n", "4")
    assert done.returncode == 0 and done.stdout.count("good") == 4, done.stdout + done.stderr[-3000:]
    assert done.stdout.count("too large") == 4


# A weight of 12 MiB, of which each of four ranks has 3, as of its gradient and momentum.
IN_PARTS = """
import gc, os
os.environ["LOOMIX_MAX_MEMORY_BYTES"] = str(BOUND)
import loomix as mx
from loomix import parallel
from loomix.gluon import nn
size, mesh = parallel.size(), parallel.Mesh(model=parallel.size())
path = FOLDER + f"/{size}-"
if size > 1:
    try:
        mx.nd.zeros((2048, 1536)).wait_to_read()
    except MemoryError:
        print("too large")

def train(kind, init):
    mx.random.seed(1)
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2048, in_units=1536, prefix="fc_"))
    if size > 1:
        parallel.shard(net, mesh, {"fc": getattr(parallel, kind)("model")})
    net.initialize(init)
    print(kind, "goes on with", mx.nd.random.uniform(shape=2).asnumpy())  # where one process would
    settings = {"learning_rate": 0.5, "momentum": 0.9}
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", settings, kvstore=parallel.store(mesh))
    for param in net.collect_params().values():
        param.grad()[:] = param.data()
    trainer.step(1)
    net.save_parameters(path + kind + ".params")
    trainer.save_states(path + kind + ".states")
    net.collect_params().save(path + kind + "_names.params")
    values = lambda: [net[0].weight.data().asnumpy(), *(one.asnumpy() for one in trainer._updaters[0].states.values())]
    before = values()
    assert any(one.shape == net[0].weight.data().shape and abs(one).max() > 0 for one in before[1:])
    net[0].weight.data()[:] = 0
    trainer._updaters[0].states.clear()
    net.load_parameters(path + kind + ".params")
    trainer.load_states(path + kind + ".states")
    assert all((one == other).all() for one, other in zip(values(), before))

for kind, init in (("columns", mx.init.Xavier()), ("rows", mx.init.Normal(0.1))):
    train(kind, init)
    gc.collect()  # networks are cycles

mx.random.seed(2)
with mx.AttrScope(ctx_group="fc"):
    out = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2048, name="fc")
groups = {"fc": parallel.split(mesh, "model", examples=False)} if size > 1 else None
module = mx.mod.Module(out, group2ctxs=groups, label_names=None)
module.bind([("data", (2, 1536))], for_training=False)
module.init_params(mx.init.Mixed([".*bias", ".*"], [mx.init.One(), mx.init.Uniform(0.3)]))
module.save_checkpoint(path + "module", 1)
print("good")
"""


def test_no_rank_has_a_whole_parameter_to_initialise_save_or_load(tmp_path):
    program = IN_PARTS.replace("FOLDER", repr(str(tmp_path)))
    alone = run(program.replace("BOUND", "0"), "-n", "1")
    assert alone.returncode == 0 and "good" in alone.stdout, alone.stdout + alone.stderr[-3000:]
    done = run(program.replace("BOUND", str(23 << 19)), "-n", "4")  # 11.5 MiB
    assert done.returncode == 0 and done.stdout.count("good") == 4, done.stdout + done.stderr[-3000:]
    assert done.stdout.count("too large") == 4
    drawn = [line for line in alone.stdout.splitlines() if "goes on with" in line]
    assert len(drawn) == 2 and all(done.stdout.count(line) == 4 for line in drawn)
    names = [path.name for path in tmp_path.glob("1-*.[ps][at]*") if path.suffix in (".params", ".states")]
    assert len(names) == 7
    for name in names:  # as one process writes them, byte for byte
        assert filecmp.cmp(tmp_path / name, tmp_path / name.replace("1-", "4-", 1), shallow=False), name


# Initializers that are called with parts, types and cuts, beside the same ones of the whole; and what needs a whole.
PARTS = """
import loomix as mx, numpy as np
from loomix import parallel
from loomix.initializer import InitDesc, fills_parts
from loomix.parallel.splits import Cut
mesh = parallel.Mesh(model=parallel.size())
class Mine(mx.init.Initializer):
    def _init_weight(self, name, arr):
        arr[:] = np.arange(arr.size).reshape(arr.shape)
values = mx.nd.random.uniform(shape=(7, 5, 3))
inits = [
    mx.init.Uniform(0.3), mx.init.Normal(0.1), mx.init.Xavier(), mx.init.Xavier("gaussian", "in", 2),
    mx.init.MSRAPrelu(), mx.init.Zero(), mx.init.One(), mx.init.Constant(3), mx.init.Constant(values),
    mx.init.Load({"a_weight": values}), mx.init.Load({}, mx.init.Normal()), Mine(), mx.init.Orthogonal(),
    mx.init.Mixed(["b", "a"], [Mine(), mx.init.Uniform()]), mx.init.Mixed(["a", ".*"], [Mine(), mx.init.Uniform()]),
]
for init in inits:
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        for axis in (0, 1, 2):
            cut, shape = Cut(mesh, "model", axis), (7, 5, 3)
            make = lambda shape: mx.nd.zeros(shape, dtype=dtype)
            found = []
            for own in (True, False):
                mx.random.seed(4)
                np.random.seed(4)
                desc = InitDesc("a_weight", {})
                if own:
                    found.append(cut.first_value(init, desc, shape, make))
                else:
                    array = make(shape)
                    init(desc, array)
                    found.append(cut.part(array))
                found.append(mx.nd.random.uniform(shape=3))
            for one, other in zip(found[:2], found[2:]):
                assert (one.astype("float64").asnumpy() == other.astype("float64").asnumpy()).all(), (init, dtype, axis)
    last = init
    if isinstance(init, mx.init.Mixed):
        last = next(one for pattern, one in init.map if pattern.match("a_weight"))
    assert fills_parts(init, InitDesc("a_weight", {})) == (not isinstance(last, (Mine, mx.init.Orthogonal))), init
print("good")
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_parts_have_the_numbers_of_the_whole(ranks):
    done = run(PARTS, "-n", str(ranks))
    assert done.returncode == 0 and done.stdout.count("good") == ranks, done.stdout + done.stderr[-3000:]
