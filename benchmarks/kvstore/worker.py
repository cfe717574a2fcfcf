# SPDX-License-Identifier: Apache-2.0
"""Pushing and pulling the gradients of ResNet-50 (25.5 million floats, 161 keys): from two CPU devices, with what the
machine's memory needs for as many bytes, and from two processes through one server (also 1,000 small keys)."""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from harness import serve

HERE = Path(__file__).parent
DEVICES = 2
WORKERS = 2


def resnet50_shapes():
    """Shapes of the parameters, in the order of the network."""
    shapes = [(64, 3, 7, 7), (64,), (64,)]
    inputs = 64
    for blocks, width in ((3, 64), (4, 128), (6, 256), (3, 512)):
        for block in range(blocks):
            layers = [(width, inputs, 1, 1), (width, width, 3, 3), (4 * width, width, 1, 1)]
            if block == 0:
                layers.append((4 * width, inputs, 1, 1))
            for layer in layers:
                shapes += [layer, layer[:1], layer[:1]]  # weight, gamma, beta
            inputs = 4 * width
    return [*shapes, (1000, 2048), (1000,)]


def small_shapes():
    """As many floats as one layer, in many keys."""
    return [(256,)] * 1000


def _push_and_pull(name, kind, by="keys"):
    mx = __import__(name)
    store = mx.kv.create(kind)
    shapes = resnet50_shapes()
    keys = list(range(len(shapes)))
    gradients = [[mx.nd.ones(shape, ctx=mx.cpu(k)) for k in range(DEVICES)] for shape in shapes]
    weights = [[mx.nd.zeros(shape, ctx=mx.cpu(k)) for k in range(DEVICES)] for shape in shapes]
    store.init(keys, [mx.nd.zeros(shape) for shape in shapes])
    mx.nd.waitall()

    def run(count):
        for _ in range(count):
            if by == "lists":
                store.push(keys, gradients)
                store.pull(keys, weights)
                continue
            for key in reversed(keys):  # as a backward pass does
                store.push(key, gradients[key], priority=-key)
                store.pull(key, weights[key], priority=-key)
        mx.nd.waitall()
        assert weights[0][1][0, 0, 0, 0].asscalar() == DEVICES

    return run


def _copy():
    """Copies what a push and a pull read and write at least: 6 times the bytes of the gradients, on two threads."""
    import numpy as np

    floats = 25_557_032 * 3 // 2
    pairs = [(np.ones(floats, "float32"), np.zeros(floats, "float32")) for _ in range(2)]
    threads = ThreadPoolExecutor(2)

    def run(count):
        for _ in range(count):
            list(threads.map(lambda pair: np.copyto(pair[1], pair[0]), pairs))

    return run


def _start(*command, **env):
    return subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )


def _loomix_nodes(role="worker"):
    """The program of build/benchmarks, as scheduler, server and workers."""
    program = os.environ.get("BENCH_KVSTORE", HERE.parents[1] / "build" / "benchmarks" / "bench_kvstore")
    scheduler = _start(program, "scheduler", 1, WORKERS)
    address = scheduler.stdout.readline().strip()
    helpers = [scheduler, _start(program, "server", 0, address)]
    return helpers, [_start(program, role, rank, address) for rank in range(WORKERS)]


def _mxnet_nodes(*arguments):
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_NUM_SERVER": "1",
        "DMLC_NUM_WORKER": str(WORKERS),
        "DMLC_INTERFACE": "lo",
    }
    command = (sys.executable, HERE / "node.py", "mxnet", *arguments)
    helpers = [_start(*command, **env, DMLC_ROLE=role) for role in ("scheduler", "server")]
    return helpers, [_start(*command, **env, DMLC_ROLE="worker") for _ in range(WORKERS)]


def _torch_nodes(kind):
    meeting = Path(tempfile.mkdtemp()) / "meeting"
    return [], [
        _start(sys.executable, HERE / "node.py", kind, rank, WORKERS, meeting) for rank in range(WORKERS)
    ]


def _cluster(start):
    """Real processes; a run is over when all workers are."""
    helpers, workers = start()
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"

    def run(count):
        for worker in workers:
            worker.stdin.write(f"go {count}\n")
            worker.stdin.flush()
        for worker in workers:
            assert worker.stdout.readline() == "done\n"

    run.helpers = helpers  # they end with their input, so it is kept
    return run


CASES = {
    f"{kind}_{by}": {name: partial(_push_and_pull, name, kind, by) for name in ("loomix", "mxnet")}
    for kind, by in (("local", "keys"), ("local", "lists"), ("device", "keys"))
}
CASES["dist_sync"] = {
    "loomix": partial(_cluster, _loomix_nodes),
    "mxnet": partial(_cluster, _mxnet_nodes),
    "torch": partial(_cluster, partial(_torch_nodes, "torch")),
}
CASES["dist_sync_small_keys"] = {
    "loomix": partial(_cluster, partial(_loomix_nodes, "small")),
    "mxnet": partial(_cluster, partial(_mxnet_nodes, "small")),
}
CASES["dist_sync_one_array"] = {"torch": partial(_cluster, partial(_torch_nodes, "torch_flat"))}
CASES["copy_of_as_many_bytes"] = {"loomix": _copy}

if __name__ == "__main__":
    serve(CASES)
