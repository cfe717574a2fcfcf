# SPDX-License-Identifier: Apache-2.0
"""Training in a cluster gives what one process would compute, whoever dies meanwhile."""

import importlib.util
import os
import struct
import sys
from pathlib import Path

import loomix as mx
import numpy as np
import pytest
from real_cluster import Cluster

if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
    pytest.skip("this build has no network module (ZeroMQ, Protocol Buffers)", allow_module_level=True)

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "distributed" / "train_fashion_mnist.py"
WORKERS, BATCH, STEPS = 4, 4, 10
SIGNS = """
import runpy, sys
import loomix as mx
sys.argv = ["train", *{arguments!r}]
space = runpy.run_path({example!r})
parse = space["parse"]
def sign(param):
    mx.nd.waitall()
    print("step", param.epoch * {steps} + param.nbatch + 1, flush=True)
def with_signs():
    options = parse()
    options.callbacks = [sign]
    return options
space["main"].__globals__["parse"] = with_signs
space["main"]()
"""


def load_example():
    os.environ.setdefault("LOOMIX_ENFORCE_DETERMINISM", "1")
    spec = importlib.util.spec_from_file_location("distributed_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


REFERENCE = """
import sys
sys.path.insert(0, {here!r})
import test_dist_training
test_dist_training.one_process({arguments!r}, {path!r})
"""


def one_process(arguments, path):
    """Computes the gradients of all workers' shares, adds them in the order of ranks, and updates."""
    example = load_example()
    options = example.parse(arguments)
    mx.random.seed(options.seed)
    shares = [iter(example.batches(options, "train", WORKERS, rank)) for rank in range(WORKERS)]
    module = mx.mod.Module(example.lenet())
    data = example.batches(options, "train", WORKERS, 0)
    module.bind(data.provide_data, data.provide_label)
    module.init_params(mx.init.Xavier())
    settings = {**example.settings(options, WORKERS), "param_idx2name": dict(enumerate(module._param_names))}
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(**settings))
    weights = [arrays[0] for arrays in module._exec_group.param_arrays]
    for _ in range(options.epochs):
        for batches in zip(*shares):
            sums = None
            for batch in batches:
                module.forward_backward(batch)
                grads = [arrays[0].copy() for arrays in module._exec_group.grad_arrays]
                sums = grads if sums is None else [a + b for a, b in zip(sums, grads)]
            for index, (grad, weight) in enumerate(zip(sums, weights)):
                updater(index, grad, weight)
        shares = [iter(example.batches(options, "train", WORKERS, rank)) for rank in range(WORKERS)]
    names = module._param_names
    mx.nd.save(path, {f"arg:{name}": weight for name, weight in zip(names, weights)})


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The arguments of the example, and the parameters after it."""
    import subprocess

    folder = tmp_path_factory.mktemp("one_process")
    write_data(folder, WORKERS * BATCH * STEPS)
    arguments = ["--data-dir", str(folder), "--epochs", "2", "--batch-size", str(BATCH), "--lr", "0.02"]
    path = str(folder / "expected.params")
    code = REFERENCE.format(here=str(Path(__file__).parent), arguments=arguments, path=path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-c", code], env={**environment, "LOOMIX_CPU_WORKER_NTHREADS": "1"}, check=True
    )
    return arguments, path


def same_bits(left, right):
    left, right = mx.nd.load(str(left)), mx.nd.load(str(right))
    assert left.keys() == right.keys()
    for name in left:
        assert left[name].asnumpy().tobytes() == right[name].asnumpy().tobytes(), name


def cluster_of(folder, arguments, **more):
    program = SIGNS.format(
        arguments=[*arguments, "--save", str(folder / "got.params")], example=str(EXAMPLE), steps=STEPS
    )
    threads = {"OMP_NUM_THREADS": 1, "LOOMIX_CPU_WORKER_NTHREADS": 1}
    return Cluster(folder, program, WORKERS, 2, **threads, **more)


def test_four_workers_are_one_process(tmp_path, expected):
    arguments, path = expected
    with cluster_of(tmp_path, arguments, LOOMIX_KV_REPLICAS=1).start() as cluster:
        cluster.succeed()
        assert "validation accuracy" in cluster.output("worker", 0)
    same_bits(tmp_path / "got.params", path)


def test_the_same_while_a_server_and_a_worker_die(tmp_path, expected):
    arguments, path = expected
    with cluster_of(tmp_path, arguments, LOOMIX_KV_POLICY="wait").start() as cluster:
        cluster.wait_for("worker", 0, "step 3\n")
        cluster.kill("server", 1)
        cluster.wait_for("worker", 0, "step 6\n")
        cluster.kill("worker", 2)
        cluster.start(("server", 1), ("worker", 2))
        cluster.succeed()
        assert "goes on after step" in cluster.output("worker", 2)
    same_bits(tmp_path / "got.params", path)


def test_shares_add_up_to_the_whole_batch(tmp_path):
    """What the cluster computes, bit for bit, is up to rounding a step with all workers' samples."""
    write_data(tmp_path, WORKERS * BATCH * STEPS)
    arguments = ["--data-dir", str(tmp_path), "--epochs", "2", "--batch-size", str(BATCH), "--lr", "0.01"]
    one_process(arguments, str(tmp_path / "shares.params"))
    example = load_example()
    options = example.parse(arguments)
    mx.random.seed(options.seed)
    module = mx.mod.Module(example.lenet())
    module.bind([("data", (WORKERS * BATCH, 1, 28, 28))], [("softmax_label", (WORKERS * BATCH,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(None, "sgd", example.settings(options, WORKERS))
    for _ in range(options.epochs):
        for batches in zip(*(example.batches(options, "train", WORKERS, rank) for rank in range(WORKERS))):
            data, label = (
                mx.nd.concat(*[getattr(batch, part)[0] for batch in batches], dim=0)
                for part in ("data", "label")
            )
            module.forward_backward(mx.io.DataBatch([data], [label]))
            module.update()
    shares = mx.nd.load(str(tmp_path / "shares.params"))
    for name, weight in module.get_params()[0].items():
        one, other = weight.asnumpy(), shares[f"arg:{name}"].asnumpy()
        assert np.linalg.norm(one - other) <= 1e-4 * np.linalg.norm(one), name


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
