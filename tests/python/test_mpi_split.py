# SPDX-License-Identifier: Apache-2.0
"""Networks whose layers are split over ranks that mpirun started."""

from pathlib import Path

import loomix as mx
import numpy as np
import pytest
from test_mpi_kvstore import no_mpi as no_mpi  # a fixture
from test_mpi_kvstore import with_mpi as run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


@pytest.fixture(autouse=True)
def needs_mpi(no_mpi):
    if no_mpi:
        pytest.skip(no_mpi)


TRAIN = """
import sys, json
import loomix as mx, numpy as np
from loomix import gluon, parallel
from loomix.gluon import nn

def build():
    mx.random.seed(11)
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Embedding(10, 6, prefix="words_"), nn.Flatten())
        net.add(nn.Dense(16, activation="relu", prefix="dense0_"), nn.Dense(9, activation="tanh", prefix="dense1_"))
        net.add(nn.Dense(8, prefix="dense2_"), nn.Dense(5, prefix="out_"))
    return net

def train(net, mesh=None, hybridize=True, steps=20, batch=8):
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
    store = None if mesh is None else parallel.store(mesh)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2, "momentum": 0.9}, kvstore=store)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    generator = np.random.RandomState(5)
    share = slice(None)
    if mesh is not None and "data" in mesh.shape:
        ranks = mesh.axis("data")
        each = batch // len(ranks.ranks)
        share = slice(ranks.rank * each, (ranks.rank + 1) * each)
    losses = []
    for step in range(steps):
        x, y = generator.randint(0, 10, (batch, 3)), generator.randint(0, 5, batch)
        with mx.autograd.record():
            value = loss(net(mx.nd.array(x[share])), mx.nd.array(y[share]))
        value.backward()
        trainer.step(batch)
        total = value.sum()
        if mesh is not None and "data" in mesh.shape:
            total = parallel.all_reduce(total, mesh.axis("data"))
        losses.append(float(total.asscalar()) / batch)
    return losses
"""

SPLITS = """
splits = {"words": parallel.columns("model"), "dense0": parallel.columns("model"), "dense1": parallel.rows("model"),
          "dense2": parallel.columns("model"), "out": parallel.rows("model")}
"""


def single():
    scope = {}
    exec(TRAIN, scope)
    net = scope["build"]()
    return scope["train"](net), net


@pytest.mark.parametrize("axes", ["model=1", "model=2", "data=2, model=2", "model=4", "model=3"])
def test_losses_are_those_of_one_process(axes, tmp_path):
    mesh = dict(item.split("=") for item in axes.split(", "))
    ranks = int(np.prod([int(count) for count in mesh.values()]))
    program = (
        TRAIN
        + SPLITS
        + f"""
mesh = parallel.Mesh({axes})
for hybridize in (True, False):
    net = parallel.shard(build(), mesh, splits)
    losses = train(net, mesh, hybridize)
    assert net[2].weight.shape == (16, 18) and net[2].weight.data().shape[0] < 16 + ({mesh["model"]} == 1)
    net.save_parameters({str(tmp_path)!r} + f"/{{hybridize}}.params")
    if parallel.rank() == 0:
        print("losses", json.dumps(losses))
again = parallel.shard(build(), mesh, splits)
again.load_parameters({str(tmp_path)!r} + "/True.params")
x = mx.nd.array([[1, 2, 3]])
net.load_parameters({str(tmp_path)!r} + "/True.params")
np.testing.assert_allclose(again(x).asnumpy(), net(x).asnumpy(), rtol=1e-6)
print("good")
"""
    )
    done = run(program, "-n", str(ranks))
    assert done.returncode == 0 and done.stdout.count("good") == ranks, done.stdout + done.stderr
    expected, net = single()
    lines = [line.split(" ", 1)[1] for line in done.stdout.splitlines() if line.startswith("losses")]
    assert len(lines) == 2
    for line in lines:
        np.testing.assert_allclose(eval(line), expected, rtol=1e-4)  # sums have another order
    for name in ("True", "False"):
        saved = mx.nd.load(str(tmp_path / f"{name}.params"))
        for key, param in net._collect_params_with_prefix().items():
            np.testing.assert_allclose(saved[key].asnumpy(), param.data().asnumpy(), rtol=1e-3, atol=1e-5)


def test_first_values_are_those_of_one_process(tmp_path):
    program = (
        TRAIN
        + SPLITS
        + f"""
net = parallel.shard(build(), parallel.Mesh(model=2), splits)
net.initialize(mx.init.Xavier())
net(mx.nd.ones((2, 3)))
net.save_parameters({str(tmp_path / "split.params")!r})
before = build()
before.initialize(mx.init.Xavier())
before(mx.nd.ones((2, 3)))
parallel.shard(before, parallel.Mesh(model=2), splits)
assert before[2].weight.data().shape == (8, 18)
assert (before[2].weight.data().asnumpy() == net[2].weight.data().asnumpy()).all()
print("good")
"""
    )
    done = run(program, "-n", "2")
    assert done.returncode == 0 and done.stdout.count("good") == 2, done.stdout + done.stderr
    scope = {}
    exec(TRAIN, scope)
    net = scope["build"]()
    net.initialize(mx.init.Xavier())
    net(mx.nd.ones((2, 3)))
    net.save_parameters(str(tmp_path / "one.params"))
    assert (tmp_path / "one.params").read_bytes() == (tmp_path / "split.params").read_bytes()


IMAGES = """
import json, sys
import loomix as mx, numpy as np
from loomix import gluon, parallel
from loomix.gluon import nn

def build(norm=nn.BatchNorm):
    mx.random.seed(4)
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(6, 3, prefix="conv0_"), norm(prefix="norm_"), nn.Activation("relu"))
        net.add(nn.MaxPool2D(), nn.Conv2D(4, 3, padding=1, prefix="conv1_"), nn.Conv2D(8, 1, prefix="conv2_"))
        net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(10, prefix="fc_"), nn.LayerNorm())
        net.add(nn.Dense(3, prefix="out_"))
    return net

def train(net, store=None):
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01}, kvstore=store)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    generator = np.random.RandomState(5)
    losses = []
    for step in range(20):
        x, y = mx.nd.array(generator.rand(4, 3, 10, 10)), mx.nd.array(generator.randint(0, 3, 4))
        with mx.autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(4)
        losses.append(float(value.mean().asscalar()))
    return losses
"""


def test_images():
    program = (
        IMAGES
        + """
mesh = parallel.Mesh(model=parallel.size())
net = parallel.shard(build(), mesh, {
    "conv0": parallel.columns("model"), "norm": parallel.columns("model"), "conv1": parallel.rows("model"),
    "conv2": parallel.columns("model"), "fc": parallel.rows("model"), "out": parallel.columns("model")})
losses = train(net, parallel.store(mesh))
assert net[1].running_mean.data().shape == (6 // parallel.size(),)
if parallel.rank() == 0:
    print("losses", json.dumps(losses))
    print("moves", [(move.value, move.operator) for move in net._cached.last.moves], net._cached.last.without_rule)
"""
    )
    scope = {}
    exec(IMAGES, scope)
    expected = scope["train"](scope["build"]())
    for ranks in (2, 3):
        done = run(program, "-n", str(ranks))
        lines = [line.split(" ", 1)[1] for line in done.stdout.splitlines() if line.startswith("losses")]
        assert done.returncode == 0 and len(lines) == 1, done.stdout + done.stderr
        np.testing.assert_allclose(eval(lines[0]), expected, rtol=1e-4)  # sums have another order
        moves = [
            "('data', '_parallel_share'), ('net_conv1_fwd', '_parallel_all_reduce'), ",
            "('net_conv1_fwd', '_parallel_share')",
        ]
        assert all(move in done.stdout for move in moves), done.stdout


def test_examples_of_each_rank_are_gathered_in_front_of_split_layers():
    program = (
        IMAGES
        + """
mesh = parallel.Mesh(model=parallel.size())
axis = mesh.axis("model")
splits = {"fc": parallel.columns("model"), "out": parallel.rows("model")}
class Own:  # each rank gives its own images, and gets the outputs of all
    def __call__(self, x):
        return net(parallel.own(x, axis))
    def __getattr__(self, name):
        return getattr(net, name)
try:
    other = parallel.shard(build(), mesh, splits, examples="model")
    other.initialize()
    other(mx.nd.ones((2, 3, 10, 10)))
except mx.base.StateError as error:
    print("eager:", error)
net = parallel.shard(build(gluon.contrib.nn.SyncBatchNorm), mesh, splits, examples="model")
losses = train(Own(), parallel.store(mesh))
assert "want of a rule" not in parallel.explain(net)
if parallel.rank() == 0:
    print("losses", json.dumps(losses))
    print("moves", [(move.value, move.operator) for move in net._cached.last.moves])
"""
    )
    scope = {}
    exec(IMAGES, scope)
    expected = scope["train"](scope["build"]())
    for ranks in (2, 4):
        done = run(program, "-n", str(ranks))
        lines = [line.split(" ", 1)[1] for line in done.stdout.splitlines() if line.startswith("losses")]
        assert done.returncode == 0 and len(lines) == 1, done.stdout + done.stderr
        np.testing.assert_allclose(eval(lines[0]), expected, rtol=1e-4)  # sums have another order
        assert "('net_conv0_weight', '_parallel_share')" in done.stdout, done.stdout
        assert done.stdout.count("eager: [HybridBlock] block 'net_fc' is split over ranks in 'net'") == ranks


def test_a_loss_in_the_network_takes_classes_that_are_cut():
    program = """
import loomix as mx, numpy as np
from loomix import gluon, parallel
from loomix.gluon import nn

class WithLoss(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.body = nn.Dense(8, in_units=6, activation="tanh", prefix="body_")
            self.out = nn.Dense(50, in_units=8, prefix="out_")
            self.loss = gluon.loss.SoftmaxCrossEntropyLoss()

    def hybrid_forward(self, F, x, y):
        return self.loss(self.out(self.body(x)), y)

def train(mesh):
    mx.random.seed(3)
    net = WithLoss(prefix="net_")
    if mesh:
        parallel.shard(net, mesh, {"out": parallel.columns("model")})
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1}, kvstore=mesh and parallel.store(mesh))
    r = np.random.RandomState(2)
    losses = []
    for step in range(10):
        x, y = mx.nd.array(r.rand(4, 6)), mx.nd.array(r.randint(0, 50, 4))
        with mx.autograd.record():
            loss = net(x, y)
        loss.backward()
        trainer.step(4)
        losses.append(loss.asnumpy())
    return losses, net
expected, _ = train(None)
found, net = train(parallel.Mesh(model=parallel.size()))
np.testing.assert_allclose(found, expected, rtol=1e-4)  # sums have another order
text = parallel.explain(net)
assert "want of a rule" not in text and text.count("_parallel_gather") == 1, text  # a number for each row and rank
print("good")
"""
    for ranks in (2, 3):
        done = run(program, "-n", str(ranks))
        assert done.returncode == 0 and done.stdout.count("good") == ranks, done.stdout + done.stderr[-3000:]


def test_example():
    path = Path(__file__).resolve().parents[2] / "examples/parallel/hybrid_alexnet.py"
    program = f"""
import runpy, sys
sys.argv = ["hybrid_alexnet.py", "--quick"]
runpy.run_path({str(path)!r}, run_name="__main__")
"""
    losses = []
    for ranks in (1, 2):
        done = run(program, "-n", str(ranks))
        assert done.returncode == 0 and "Warning" not in done.stderr, done.stdout + done.stderr
        losses.append(
            [float(line.split()[3][:-1]) for line in done.stdout.splitlines() if line.startswith("step")]
        )
    assert len(losses[0]) == 2
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-3)


def test_dropout_does_not_depend_on_the_ranks():
    program = """
import loomix as mx
from loomix import parallel
from loomix.gluon import nn
mesh = parallel.Mesh(model=parallel.size())
net = nn.HybridSequential()
net.add(nn.Dense(8, in_units=4), nn.Dropout(0.5), nn.Dense(3, in_units=8))
net = parallel.shard(net, mesh, {"0": parallel.columns("model"), "2": parallel.rows("model")})
net.initialize(mx.init.One())
net.hybridize()
mx.random.seed(3)
with mx.autograd.record():
    print("out", net(mx.nd.ones((2, 4))).asnumpy().tolist())
print("moves", [move.operator for move in net._cached.last.moves])
"""
    outs = []
    for ranks in (1, 2, 4):
        done = run(program, "-n", str(ranks))
        assert done.returncode == 0, done.stdout + done.stderr
        outs += [line for line in done.stdout.splitlines() if line.startswith("out")]
    assert len(outs) == 7 and len(set(outs)) == 1, outs


def test_bytes_are_those_that_explain_says():
    program = """
import loomix as mx, re
from loomix import parallel
from loomix.gluon import nn
mesh = parallel.Mesh(model=parallel.size())
net = nn.HybridSequential()
net.add(nn.Dense(1024, activation="relu", in_units=512), nn.Dense(512, in_units=1024))
net = parallel.shard(net, mesh, {"0": parallel.columns("model"), "1": parallel.rows("model")})
net.initialize()
net.hybridize()
x = mx.nd.ones((64, 512))
x.attach_grad()
def step():
    with mx.autograd.record():
        y = net(x)
    y.backward()
    mx.nd.waitall()
step()
group = net[0].weight.layout.group
parallel.barrier()
from loomix import _parallel
first = sum(_parallel.group_traffic(group)["sent"])
step()
parallel.barrier()
sent = sum(_parallel.group_traffic(group)["sent"]) - first
said = int(re.search(r"a step sends (\\d+)", parallel.explain(net))[1])
print("bytes", sent, said)
"""
    for ranks in (2, 4):
        done = run(program, "-n", str(ranks))
        lines = [line.split() for line in done.stdout.splitlines() if line.startswith("bytes")]
        assert len(lines) == ranks, done.stdout + done.stderr
        for _, sent, said in lines:
            assert int(sent) == int(said) > 0, lines


def test_what_cannot_be_split_is_said_on_all_ranks():
    program = """
import loomix as mx
from loomix import parallel
from loomix.gluon import nn
rank = parallel.rank()
mesh = parallel.Mesh(model=2)
def tell(splits, units=4):
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(units, in_units=3, prefix="fc_"), nn.BatchNorm(prefix="norm_"))
    try:
        parallel.shard(net, mesh, splits)
    except Exception as error:
        print(type(error).__name__, error, flush=True)
tell({"fc": parallel.columns("model") if rank else parallel.rows("model")})
tell({"fc": parallel.columns("model")}, units=1)
tell({"none": parallel.columns("model")})
tell({"norm": parallel.rows("model")})
tell({"fc": parallel.columns("pipe")})
"""
    done = run(program, "-n", "2")
    out = done.stdout
    assert done.returncode == 0, out + done.stderr
    for part in (
        "ranks give different splits: rank 0: Mesh(model=2), fc: rows over model; rank 1: Mesh(model=2), fc: columns",
        "Parameter 'net_fc_weight' of block 'net_fc' has shape (1, 3), whose axis 0 cannot be cut into 2 parts",
        "no block with parameters fits 'none'; there are '0' (net_fc), '1' (net_norm).",
        "block 'net_norm' of type BatchNorm cannot be split by rows",
        "pipe",
    ):
        assert out.count(part) == 2 or part == "pipe", (part, out)
