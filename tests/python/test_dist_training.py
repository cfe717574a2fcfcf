# SPDX-License-Identifier: Apache-2.0
"""Training in a cluster gives what one process would compute, whoever dies meanwhile."""

import struct

import loomix as mx
import numpy as np
import pytest
from real_cluster import Cluster
from shared_training import (
    WORKERS,
    cluster_of,
    different_bits,
    kill_and_restart,
    one_process_apart,
    whole_and_shares,
)

if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
    pytest.skip("this build has no network module (OpenSSL, Protocol Buffers)", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.source, pytest.mark.xdist_group("cluster")]

BATCH, STEPS = 4, 10


def write_data(folder, count):
    """Small parts in the form of Fashion-MNIST: bright bars whose row is the class."""
    random = np.random.RandomState(0)
    for part, size in (("train", count), ("t10k", 64)):
        labels = random.randint(0, 10, size).astype(np.uint8)
        images = random.randint(0, 50, (size, 28, 28)).astype(np.uint8)
        for image, label in zip(images, labels):
            image[2 * label + 2 : 2 * label + 5] = 220
        header = struct.pack(">IIII", 2051, size, 28, 28)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(header + images.tobytes())
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, size) + labels.tobytes())


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The arguments of the example, and the parameters after it."""
    folder = tmp_path_factory.mktemp("one_process")
    write_data(folder, WORKERS * BATCH * STEPS)
    arguments = ["--data-dir", str(folder), "--epochs", "2", "--batch-size", str(BATCH), "--lr", "0.02"]
    one_process_apart(arguments, folder / "expected.params")
    return arguments, folder / "expected.params"


def test_four_workers_are_one_process(tmp_path, expected):
    arguments, path = expected
    with cluster_of(tmp_path, arguments, STEPS, LOOMIX_KV_REPLICAS=1).start() as cluster:
        cluster.succeed()
        assert "validation accuracy" in cluster.output("worker", 0)
    assert not different_bits(tmp_path / "got.params", path)


def test_the_same_while_a_server_and_a_worker_die(tmp_path, expected):
    arguments, path = expected
    with cluster_of(tmp_path, arguments, STEPS, LOOMIX_KV_POLICY="wait").start() as cluster:
        kill_and_restart(cluster, 3, 6)
        cluster.succeed()
        assert "goes on after step" in cluster.output("worker", 2)
    assert not different_bits(tmp_path / "got.params", path)


@pytest.mark.parametrize(("dtype", "lr", "bound"), [("float64", "0.05", 1e-10), ("float32", "0.01", 1e-4)])
def test_shares_add_up_to_the_whole_batch(tmp_path, dtype, lr, bound):
    """What the cluster computes, bit for bit, is up to rounding a step with all workers' samples. In float32 a large
    rate lets rounding grow: a pooling window takes another of two values that are almost equal."""
    write_data(tmp_path, WORKERS * BATCH * STEPS)
    arguments = ["--data-dir", str(tmp_path), "--epochs", "2", "--batch-size", str(BATCH), "--lr", lr]
    results = list(whole_and_shares(arguments, dtype, 2 * STEPS))
    assert len(results) == 2 * STEPS
    assert max(weights for _, weights, _ in results) <= bound, results


def test_workers_begin_with_the_parameters_of_rank_0(tmp_path):
    program = """
import loomix as mx, os, sys
net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
module.bind([("data", (2, 4))], [("softmax_label", (2,))])
store = mx.kv.create("dist_sync")
mx.random.seed(store.rank)
module.init_params(mx.init.Uniform(1))
module.init_optimizer(store)
module.get_params()[0]["fc_weight"].asnumpy().tofile(f"weight{store.rank}")
store.barrier()
"""
    for on_store in "10":
        folder = tmp_path / on_store
        folder.mkdir()
        with Cluster(folder, program, MXNET_UPDATE_ON_KVSTORE=on_store).start() as cluster:
            cluster.succeed()
        weights = [(folder / f"weight{rank}").read_bytes() for rank in range(2)]
        assert len(weights[0]) == 48 and weights[0] == weights[1]
