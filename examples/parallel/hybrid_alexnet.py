# SPDX-License-Identifier: Apache-2.0
"""A small AlexNet on several ranks: convolutions work on examples, layers behind them by columns and rows.

mpirun -n 2 python hybrid_alexnet.py
"""

import argparse

import loomix as mx
import numpy as np
from loomix import parallel
from loomix.gluon import nn


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=32, help="examples of all ranks together")
    parser.add_argument("--units", type=int, default=512, help="of the two layers behind the convolutions")
    parser.add_argument("--quick", action="store_true", help="10 steps of a smaller network")
    return parser.parse_args()


def network(units):
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(16, 5, padding=2, activation="relu"), nn.MaxPool2D())
        net.add(nn.Conv2D(32, 3, padding=1, activation="relu"), nn.MaxPool2D(), nn.Flatten())
        net.add(nn.Dense(units, activation="relu", prefix="fc1_"), nn.Dropout(0.5))
        net.add(nn.Dense(units, activation="relu", prefix="fc2_"), nn.Dropout(0.5))
        net.add(nn.Dense(4, prefix="fc3_"))
    return net


def batches(steps, count):
    """Images with a bright quarter, whose number is to be told; the same on all ranks."""
    generator = np.random.RandomState(1)
    for _ in range(steps):
        labels = generator.randint(0, 4, count)
        images = generator.rand(count, 1, 16, 16).astype("float32")
        for image, label in zip(images, labels):
            top, left = 8 * (label // 2), 8 * (label % 2)
            image[0, top : top + 8, left : left + 8] += 0.3
        yield images, labels


def main():
    args = parse_args()
    if args.quick:
        args.steps, args.units = 10, 64
    mesh = parallel.Mesh(model=parallel.size())
    axis = mesh.axis("model")
    mx.random.seed(7)
    splits = {
        "fc1": parallel.columns("model"),
        "fc2": parallel.columns("model"),
        "fc3": parallel.rows("model"),
    }
    net = parallel.shard(network(args.units), mesh, splits, examples="model")
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = mx.gluon.Trainer(
        net.collect_params(), "adam", {"learning_rate": 1e-3}, kvstore=parallel.store(mesh)
    )
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    each = args.batch // len(axis.ranks)
    for step, (images, labels) in enumerate(batches(args.steps, each * len(axis.ranks))):
        own = mx.nd.array(images[axis.rank * each : (axis.rank + 1) * each])
        with mx.autograd.record():
            out = net(own)  # of the examples of all ranks
            value = loss(out, mx.nd.array(labels))
        value.backward()
        trainer.step(len(labels))
        if parallel.rank() == 0 and (step % 10 == 0 or step == args.steps - 1):
            right = (out.asnumpy().argmax(1) == labels).mean()
            print(f"step {step}: loss {value.mean().asscalar():.4f}, accuracy {right:.2f}", flush=True)
    if parallel.rank() == 0:
        print(parallel.explain(net))


if __name__ == "__main__":
    main()
