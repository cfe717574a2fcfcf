# SPDX-License-Identifier: Apache-2.0
"""The distributed example in a cluster of real processes, and what one process computes instead."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import loomix as mx
import numpy as np
from real_cluster import TIMEOUT, Cluster

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "distributed" / "train_fashion_mnist.py"
WORKERS = 4
THREADS = {"OMP_NUM_THREADS": "1", "LOOMIX_CPU_WORKER_NTHREADS": "1"}  # the order of sums depends on them
WITH_SIGNS = """
import runpy, sys
import loomix as mx
import numpy as np
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
    """The example as a module."""
    os.environ.setdefault("LOOMIX_ENFORCE_DETERMINISM", "1")
    spec = importlib.util.spec_from_file_location("distributed_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def first_module(example, options, samples):
    """A module with the first parameters of every worker, for so many samples a batch."""
    mx.random.seed(options.seed)
    module = mx.mod.Module(example.lenet())
    module.bind([("data", (samples, 1, 28, 28))], [("softmax_label", (samples,))])
    module.init_params(mx.init.Xavier())
    return module


def steps_of(example, options):
    """The batches of all ranks, step by step."""
    for _ in range(options.epochs):
        yield from zip(*(example.batches(options, "train", WORKERS, rank) for rank in range(WORKERS)))


def one_process(arguments, path):
    """Computes the gradients of all workers' shares, adds them in the order of ranks, and updates."""
    example = load_example()
    options = example.parse(arguments)
    module = first_module(example, options, options.batch_size)
    settings = {**example.settings(options, WORKERS), "param_idx2name": dict(enumerate(module._param_names))}
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(**settings))
    weights = [arrays[0] for arrays in module._exec_group.param_arrays]
    for batches in steps_of(example, options):
        sums = None
        for batch in batches:
            module.forward_backward(batch)
            grads = [arrays[0].copy() for arrays in module._exec_group.grad_arrays]
            sums = grads if sums is None else [a + b for a, b in zip(sums, grads)]
        for index, (grad, weight) in enumerate(zip(sums, weights)):
            updater(index, grad, weight)
    names = module._param_names
    mx.nd.save(path, {f"arg:{name}": weight for name, weight in zip(names, weights)})


def one_process_apart(arguments, path, timeout=TIMEOUT):
    """:func:`one_process` in a process with one thread."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import shared_training; "
        f"shared_training.one_process({arguments!r}, {str(path)!r})"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **THREADS}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=timeout)


def cluster_of(folder, arguments, steps, timeout=TIMEOUT, **settings):
    """A cluster that trains and saves ``got.params``; workers print the steps they have done, ``steps`` an epoch."""
    arguments = [*arguments, "--save", str(folder / "got.params")]
    program = WITH_SIGNS.format(arguments=arguments, example=str(EXAMPLE), steps=steps)
    return Cluster(folder, program, WORKERS, 2, timeout=timeout, **THREADS, **settings)


def kill_and_restart(cluster, server_at, worker_at):
    """A server dies at one step, and at a later one a worker; then both are started again."""
    cluster.wait_for("worker", 0, f"step {server_at}\n")
    cluster.kill("server", 1)
    cluster.wait_for("worker", 0, f"step {worker_at}\n")
    cluster.kill("worker", 2)
    cluster.start(("server", 1), ("worker", 2))


def different_bits(left, right):
    """Names of the parameters of which two files have not the same bits."""
    left, right = mx.nd.load(str(left)), mx.nd.load(str(right))
    assert left.keys() == right.keys()
    return [name for name in left if left[name].asnumpy().tobytes() != right[name].asnumpy().tobytes()]


# ---- the whole batch -----------------------------------------------------------------------------

_DECIDING = ("relu1", "pool1", "relu2", "pool2", "relu3")


def _windows(values):
    """The four values of each pooling window, last."""
    samples, channels, height, width = values.shape
    parts = values.reshape(samples, channels, height // 2, 2, width // 2, 2)
    return parts.transpose(0, 1, 2, 4, 3, 5).reshape(samples, channels, height // 2, width // 2, 4)


def _other_decisions(left, right):
    """Rectifiers and pooling windows that decide otherwise, in words."""
    found = []
    for name, one, other, before, before_other in zip(_DECIDING, left, right, [None, *left], [None, *right]):
        if name.startswith("relu"):
            count, margin = ((one > 0) != (other > 0)).sum(), ""
        else:
            one, other = _windows(before), _windows(before_other)
            differ = (one.argmax(-1) != other.argmax(-1)) & (one.max(-1) > 0)
            count, top = differ.sum(), np.sort(one[differ], axis=-1)
            margin = f" (nearest by {((top[:, -1] - top[:, -2]) / top[:, -1]).min():.0e})" if count else ""
        if count:
            found.append(f"{name} {count}{margin}")
    return "other decisions: " + ", ".join(found) if found else "the same decisions"


def _distance(one, other):
    return max(float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in zip(one, other))


class _Trained:
    """The example's net in one process, for batches of a given size."""

    def __init__(self, example, options, samples, dtype):
        net = example.lenet()
        inside = net.get_internals()
        net = mx.sym.Group([net, *(mx.sym.BlockGrad(inside[f"{name}_output"]) for name in _DECIDING)])
        self.module = mx.mod.Module(net)
        data = mx.io.DataDesc("data", (samples, 1, 28, 28), dtype)
        self.module.bind([data], [mx.io.DataDesc("softmax_label", (samples,), dtype)])
        mx.random.seed(options.seed)
        self.module.init_params(mx.init.Xavier())
        names = dict(enumerate(self.module._param_names))
        settings = {**example.settings(options, WORKERS), "param_idx2name": names}
        self.updater = mx.optimizer.get_updater(mx.optimizer.SGD(**settings))
        self.weights = [arrays[0] for arrays in self.module._exec_group.param_arrays]
        self.dtype = dtype

    def gradients(self, data, label):
        """Those of a batch, and what decides in it."""
        arrays = [mx.nd.array(array, dtype=self.dtype) for array in (data, label)]
        self.module.forward_backward(mx.io.DataBatch(arrays[:1], arrays[1:]))
        deciding = [output.asnumpy() for output in self.module.get_outputs()[1:]]
        return [arrays[0].asnumpy() for arrays in self.module._exec_group.grad_arrays], deciding

    def update(self, gradients):
        for index, (gradient, weight) in enumerate(zip(gradients, self.weights)):
            self.updater(index, mx.nd.array(gradient, dtype=self.dtype), weight)
        return [weight.asnumpy() for weight in self.weights]


def whole_and_shares(arguments, dtype, steps):
    """Steps with the whole batch, and with gradients of the shares added; yields for each how far gradients and then
    parameters are apart, relative and at most, and which decisions differ."""
    example = load_example()
    options = example.parse(arguments)
    whole = _Trained(example, options, WORKERS * options.batch_size, dtype)
    share = _Trained(example, options, options.batch_size, dtype)
    for _, batches in zip(range(steps), steps_of(example, options)):
        parts = [(batch.data[0].asnumpy(), batch.label[0].asnumpy()) for batch in batches]
        expected, decided = whole.gradients(*(np.concatenate(part) for part in zip(*parts)))
        results = [share.gradients(*part) for part in parts]
        sums = results[0][0]
        for gradients, _ in results[1:]:
            sums = [one + other for one, other in zip(sums, gradients)]
        decisions = _other_decisions(
            decided, [np.concatenate(part) for part in zip(*(deciding for _, deciding in results))]
        )
        yield _distance(sums, expected), _distance(share.update(sums), whole.update(expected)), decisions
