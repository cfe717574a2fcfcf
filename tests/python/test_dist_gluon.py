# SPDX-License-Identifier: Apache-2.0
"""``gluon.Trainer`` with the store ``dist_sync``, on a cluster of real processes."""

import subprocess
import sys

import loomix as mx
import numpy as np
import pytest
from real_cluster import TIMEOUT, Cluster

if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
    pytest.skip("this build has no network module (OpenSSL, Protocol Buffers)", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

# Two workers see the halves of batches of 8; one process sees all of them.
PROGRAM = """
import os, sys
import loomix as mx
import numpy as np
from loomix import autograd, gluon

alone = "DMLC_ROLE" not in os.environ
store = None if alone else mx.kv.create("dist_sync")
rank, workers = (0, 1) if alone else (store.rank, store.num_workers)
on_store = {on_store}

random = np.random.RandomState(0)
data = random.randn(96, 6).astype("float32")
labels = (data[:, :3].argmax(1)).astype("float32")

mx.random.seed(7)
net = gluon.nn.HybridSequential(prefix="net_")
with net.name_scope():
    net.add(gluon.nn.Dense(16, activation="tanh"), gluon.nn.Dense(3))  # shapes are found in the first batch
net.initialize(mx.init.Xavier())
net.hybridize()
schedule = mx.lr_scheduler.FactorScheduler(10, 0.5, base_lr=0.2)
trainer = gluon.Trainer(
    net.collect_params(), "sgd", {{"momentum": 0.9, "wd": 1e-3, "lr_scheduler": schedule}},
    kvstore="local" if alone else store, update_on_kvstore=None if alone else on_store,
)
net[1].bias.lr_mult = 2.0
loss = gluon.loss.SoftmaxCrossEntropyLoss()
first = last = None
for step in range(36):
    begin = 8 * (step % 12)
    part = slice(begin + rank * 8 // workers, begin + (rank + 1) * 8 // workers)
    x, y = mx.nd.array(data[part]), mx.nd.array(labels[part])
    with autograd.record():
        out = loss(net(x), y)
    out.backward()
    if alone or on_store or step % 2:
        trainer.step(8)
    else:
        trainer.allreduce_grads()
        trainer.update(8)
    last = float(out.mean().asscalar())
    first = first or last
print("loss", first, "to", last, "rate", trainer.learning_rate)
net.save_parameters(f"net-{{'alone' if alone else rank}}.params")
if not alone:
    try:
        trainer.save_states(f"states-{{rank}}")
        print("states saved")
    except mx.MXNetError as error:
        print("states:", error)
    store.barrier()
"""


@pytest.mark.parametrize("on_store", [True, False])
def test_two_workers_train_as_one_process(tmp_path, on_store):
    program = PROGRAM.format(on_store=on_store)
    with Cluster(tmp_path, program).start() as cluster:
        cluster.succeed()
        outputs = [cluster.output("worker", rank) for rank in range(2)]
    environment = {
        name: value
        for name, value in cluster.environment.items()
        if not name.startswith(("DMLC_", "LOOMIX_KV_"))
    }
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        timeout=TIMEOUT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    got = [mx.nd.load(str(tmp_path / f"net-{name}.params")) for name in (0, 1, "alone")]
    assert len(got[2]) == 4
    for name, wanted in got[2].items():
        assert (got[0][name].asnumpy() == got[1][name].asnumpy()).all()  # bit for bit
        np.testing.assert_allclose(got[0][name].asnumpy(), wanted.asnumpy(), rtol=1e-4, atol=1e-6)
    for output in (*outputs, result.stdout):
        words = output.split()
        assert float(words[1]) > 2 * float(words[3]), output
        assert float(words[5]) < 0.1, output  # of the schedule
    saved = ["states saved" in output for output in outputs]
    assert saved == [not on_store] * 2, outputs
    assert not on_store or "snapshot" in outputs[0]


def test_workers_begin_with_the_parameters_of_rank_0(tmp_path):
    program = """
import warnings
import loomix as mx
store = mx.kv.create("dist_sync")
mx.random.seed(store.rank)
net = mx.gluon.nn.Dense(3, in_units=4)
net.initialize(mx.init.Normal(1))
print("first", net.weight.data().asnumpy().ravel().tolist())
trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0}, kvstore=store)
with mx.autograd.record():
    loss = net(mx.nd.zeros((2, 4))).sum()
loss.backward()
trainer.step(2)
print("then", net.weight.data().asnumpy().ravel().tolist(), net.bias.data().asnumpy().tolist())
with warnings.catch_warnings(record=True) as told:
    trainer.set_learning_rate(0.5)
assert "the servers have the optimizer" in str(told[0].message)
store.barrier()
"""
    with Cluster(tmp_path, program).start() as cluster:
        cluster.succeed()
        (first, then), (other, also) = (cluster.output("worker", rank).splitlines() for rank in range(2))
    assert first != other
    assert then == also == first.replace("first", "then") + " [-2.0, -2.0, -2.0]"
