# SPDX-License-Identifier: Apache-2.0
"""A worker of a peer's cluster: `node.py mxnet [small]` (its place is in DMLC_*), `node.py torch RANK WORKERS FILE`.

It answers `go COUNT` on standard input when COUNT rounds with the gradients of ResNet-50 (or small keys) are done.
"""

import sys

from worker import resnet50_shapes, small_shapes


def mxnet(keys="resnet50"):
    """Push and pull through dist_sync."""
    import mxnet as mx

    store = mx.kv.create("dist_sync")  # does not return in a scheduler or server
    shapes = small_shapes() if keys == "small" else resnet50_shapes()
    gradients = [mx.nd.ones(shape) for shape in shapes]
    weights = [mx.nd.zeros(shape) for shape in shapes]
    store.init(list(range(len(shapes))), weights)
    mx.nd.waitall()

    def run(count):
        for _ in range(count):
            for key in reversed(range(len(shapes))):
                store.push(key, gradients[key], priority=-key)
                store.pull(key, weights[key], priority=-key)
            mx.nd.waitall()
        # Its pull overwrites the gradient of a single device, too, so the sums double each round.
        assert weights[0].asnumpy().flat[0] >= store.num_workers

    return run


def torch(rank, workers, file):
    """All-reduce by gloo, an array at a time and all of them in flight."""
    import torch as pt
    from torch import distributed

    distributed.init_process_group(
        "gloo", init_method=f"file://{file}", rank=int(rank), world_size=int(workers)
    )
    gradients = [pt.ones(shape) for shape in resnet50_shapes()]

    def run(count):
        for _ in range(count):
            pending = [distributed.all_reduce(array, async_op=True) for array in reversed(gradients)]
            for one in pending:
                one.wait()

    return run


def torch_flat(rank, workers, file):
    """All-reduce by gloo of one array of as many bytes."""
    import torch as pt
    from torch import distributed

    distributed.init_process_group(
        "gloo", init_method=f"file://{file}", rank=int(rank), world_size=int(workers)
    )
    gradients = pt.ones(25_557_032)

    def run(count):
        for _ in range(count):
            distributed.all_reduce(gradients)

    return run


def main():
    """Command line."""
    run = {"mxnet": mxnet, "torch": torch, "torch_flat": torch_flat}[sys.argv[1]](*sys.argv[2:])
    run(1)
    print("ready", flush=True)
    for line in sys.stdin:
        run(int(line.split()[1]))
        print("done", flush=True)


if __name__ == "__main__":
    main()
