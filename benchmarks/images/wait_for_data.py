#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long training waits for images: a small convolutional network on 224 x 224 crops of JPEGs, batches of 64.

    python benchmarks/images/wait_for_data.py [--threads 1] [--steps 40] [--trace wait.json]

Each step is recorded as two spans, `wait for data` and `train`, beside the engine's tasks; the trace opens in Perfetto.
Printed are milliseconds a step, and the share of the wait.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import loomix as mx
from worker import BATCH, iterator_of, write_pictures


def network():
    """Three convolutions and a fully connected layer."""
    data = mx.sym.Variable("data")
    for i, filters in enumerate((8, 16, 16)):
        data = mx.sym.Convolution(data, num_filter=filters, kernel=(5, 5), stride=(2, 2), name=f"conv{i}")
        data = mx.sym.Activation(data, act_type="relu")
    data = mx.sym.FullyConnected(mx.sym.Flatten(data), num_hidden=10, name="fc")
    return mx.sym.SoftmaxOutput(data, name="softmax")


def decode(batches):
    """Seconds a batch, without any training."""
    for _ in range(2):  # the first pass warms up
        start, count = time.perf_counter(), 0
        for batch in batches:
            batch.data[0].wait_to_read()
            count += 1
        seconds = (time.perf_counter() - start) / count
        batches.reset()
    return seconds


def train(batches, steps):
    """Yields the seconds of (wait, training) of each step."""
    module = mx.mod.Module(network(), context=mx.cpu())
    module.bind(data_shapes=batches.provide_data, label_shapes=batches.provide_label)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 1e-4})
    domain = mx.profiler.Domain("step")
    for _ in range(steps):
        begin = time.perf_counter()
        with mx.profiler.Task(domain, "wait for data"):
            try:
                batch = batches.next()
            except StopIteration:
                batches.reset()
                batch = batches.next()
            batch.data[0].wait_to_read()
        got = time.perf_counter()
        with mx.profiler.Task(domain, "train"):
            module.forward_backward(batch)
            module.update()
            module.get_outputs()[0].wait_to_read()
            mx.nd.waitall()
        yield got - begin, time.perf_counter() - got


def main():
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--trace", help="file for the trace")
    parser.add_argument("--verbose", action="store_true", help="print the wait of each step")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "images.rec")
        write_pictures(path)
        print(f"decoding alone {1e3 * decode(iterator_of(mx, path, args.threads)):.1f} ms a batch of {BATCH}")
        batches = iterator_of(mx, path, args.threads)
        list(train(batches, 5))
        mx.profiler.set_state("run")
        spans = list(train(batches, args.steps))
        mx.profiler.set_state("stop")
        if args.trace:
            mx.profiler.set_config(filename=args.trace)
            mx.profiler.dump()
            events = json.loads(Path(args.trace).read_text())["traceEvents"]
            print(f"{args.trace}: {len(events)} events")
    if args.verbose:
        print(" ".join(f"{1e3 * wait:.2f}" for wait, _ in spans))
    waited, trained = (sum(part) / len(spans) for part in zip(*spans))
    print(
        f"{1e3 * (waited + trained):.1f} ms a step, of which {1e3 * waited:.2f} ms wait for data: "
        f"{100 * waited / (waited + trained):.1f} %"
    )


if __name__ == "__main__":
    main()
