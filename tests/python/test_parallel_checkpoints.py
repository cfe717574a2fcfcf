# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a job: on other numbers of ranks, and after processes were killed."""

import json
import random
import subprocess
import sys
import time

import loomix as mx
import numpy as np
import pytest
from loomix import parallel
from test_lost_ranks import end_of
from test_mpi_kvstore import environment_of, free_port, with_network


def network(value=0.0):
    net = mx.gluon.nn.Dense(3, in_units=4)
    net.initialize(mx.init.Constant(value))
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.9}, kvstore=None)
    return net, trainer


def train(net, trainer):
    with mx.autograd.record():
        loss = net(mx.nd.ones((2, 4))).sum()
    loss.backward()
    trainer.step(1)


def test_networks_and_trainers(tmp_path):
    folder = str(tmp_path / "all")
    net, trainer = network(1.0)
    train(net, trainer)
    w = parallel.Matrix.random((5, 4), "rows", seed=1)
    for step in (10, 20, 30):
        parallel.save(folder, {"W": w * step, "net": net, "trainer": trainer}, step=step)
    other, other_trainer = network()
    step, found = parallel.load(folder, {"W": "columns", "net": other, "trainer": other_trainer})
    assert step == 30 and found["net"] is other and found["W"].layout == parallel.Layout.columns((5, 4))
    assert (found["W"] - w * 30).norm().asscalar() == 0
    train(net, trainer)  # the momentum counts
    train(other, other_trainer)
    np.testing.assert_array_equal(other.weight.data().asnumpy(), net.weight.data().asnumpy())
    step, found = parallel.load(folder, {"W": "rows"}, step=20)
    assert step == 20 and (found["W"] - w * 20).norm().asscalar() == 0
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == [
        "checkpoint-2",
        "checkpoint-3",
        "index.json",
    ]


def test_mistakes_are_named(tmp_path):
    folder = str(tmp_path / "all")
    with pytest.raises(OSError, match="there is no checkpoint in .*all"):
        parallel.load(folder, {})
    w = parallel.Matrix.full((4, 4), 1, "rows")
    with pytest.raises(TypeError, match="'x' is of type int; expected a Matrix, a network or a trainer"):
        parallel.save(folder, {"x": 5}, step=1)
    with pytest.raises(ValueError, match="name '../x'"):
        parallel.save(folder, {"../x": w}, step=1)
    parallel.save(folder, {"W": w}, step=1)
    with pytest.raises(OSError, match="there is no 'V' in the checkpoint of step 1 in .*; it has W"):
        parallel.load(folder, {"V": "rows"})
    with pytest.raises(OSError, match="there is no checkpoint of step 5"):
        parallel.load(folder, {"W": "rows"}, step=5)
    with pytest.raises(TypeError, match="'W' is a matrix in .*; expected its layout"):
        parallel.load(folder, {"W": w})
    with pytest.raises(ValueError):
        parallel.load(folder, {"W": parallel.Layout.rows((5, 4))})
    index = tmp_path / "all" / "index.json"
    text = index.read_text()
    for damaged in (text[:30], "[]", json.dumps({**json.loads(text), "checkpoints": [5]})):
        index.write_text(damaged)
        with pytest.raises(OSError, match=r"index\.json"):
            parallel.load(folder, {"W": "rows"})
    index.write_text(text)
    (tmp_path / "all" / "checkpoint-1" / "W" / "blocks-1-0.params").unlink()
    with pytest.raises(OSError, match=r"blocks-1-0\.params"):
        parallel.load(folder, {"W": "rows"})


PROGRAM = """
import sys
import loomix as mx
from loomix import parallel
folder, begin = sys.argv[1], int(sys.argv[2])
net = mx.gluon.nn.Dense(3, in_units=4)
net.initialize()
if begin:
    step, found = parallel.load(folder, {"W": "columns", "net": net})
    assert step == begin and found["W"].sum().asscalar() == 60 * step, (step, begin)
for step in range(begin + 1, begin + 100000):
    net.weight.set_data(mx.nd.full((3, 4), step))
    parallel.save(folder, {"W": parallel.Matrix.full((10, 6), step, "rows"), "net": net}, step=step)
    print("saved", step, flush=True)
"""


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
def test_killed_processes_leave_what_loads(tmp_path):
    if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
        pytest.skip("built without the network")
    folder, begin = str(tmp_path / "all"), 0
    seed = time.time_ns()
    print("seed", seed)
    moments = random.Random(seed)
    for ranks in (3, 2, 4, 1, 2):
        environment = environment_of(
            MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), WORLD_SIZE=str(ranks)
        )
        job = [
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM, folder, str(begin)],
                env=environment | {"RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for rank in range(ranks)
        ]
        assert job[0].stdout.readline().startswith("saved"), job[0].stdout.read()
        time.sleep(moments.uniform(0, 0.3))
        for one in job:
            one.kill()
        statuses, words = end_of(job, 10)
        assert statuses == [-9] * ranks, words
        net = mx.gluon.nn.Dense(3, in_units=4)
        step, found = parallel.load(folder, {"W": "rows", "net": net})
        assert step > begin
        assert (found["W"].to_global().asnumpy() == step).all()
        assert (net.weight.data().asnumpy() == step).all()
        begin = step


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
def test_split_networks_are_read_by_one_process(tmp_path):
    if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
        pytest.skip("built without the network")
    folder = str(tmp_path / "all")
    program = f"""
import loomix as mx
from loomix import parallel
net = mx.gluon.nn.HybridSequential()
net.add(mx.gluon.nn.Dense(6, in_units=4))
parallel.shard(net, parallel.Mesh(model=2), {{"0": parallel.columns("model")}})
net.initialize(mx.init.One())
trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {{"learning_rate": 1, "momentum": 0.5}}, kvstore=None)
with mx.autograd.record():
    loss = net(mx.nd.ones((1, 4))).sum()
loss.backward()
trainer.step(1)
things = {{"net": net, "trainer": trainer, "W": parallel.Matrix.full((3, 3), 2, "rows")}}
parallel.save({folder!r}, things, step=4)
assert parallel.load({folder!r}, {{"net": net, "trainer": trainer}})[0] == 4
print("good")
"""
    done = with_network(program, "-n", "2")
    assert done.returncode == 0 and done.stdout.count("good") == 2, done.stdout
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(6, in_units=4))
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1, "momentum": 0.5})
    step, _ = parallel.load(folder, {"net": net, "trainer": trainer})
    assert step == 4 and net[0].weight.data().asnumpy().tolist() == np.zeros((6, 4)).tolist()
    assert trainer._updaters[0].states[1].asnumpy().tolist() == np.full((6, 4), -1).tolist()
