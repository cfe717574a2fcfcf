# SPDX-License-Identifier: Apache-2.0
"""Whole networks that are split over ranks, beside one process; and one that is larger than a rank's memory."""

import json
import pathlib

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
