# SPDX-License-Identifier: Apache-2.0
"""FullyConnected with weights of 8 and 4 bits beside float32, and beside how fast this machine reads memory.

    python benchmarks/low_bit.py                     # one row of data
    python benchmarks/low_bit.py --rows 1 4 16 64
    python benchmarks/low_bit.py --language-model    # LSTM, 2 layers of 650 units, 10,000 words

Weights take turns, so that none is in a cache. The memory's speed is that of a sum of a large array. The last column is
the share of it at which the weight is read.
"""

import argparse
import time

import loomix as mx
import numpy as np
from loomix.contrib import quantization

KINDS = {
    "float32": None,
    "int8, a scale a row": (8, 0, False),
    "int8, groups of 32": (8, 32, False),
    "int8, data rounded too": (8, 0, True),
    "int4, groups of 128": (4, 128, False),
    "int4, groups of 64": (4, 64, False),
    "int4, groups of 32": (4, 32, False),
}


def least_time(run, seconds):
    """Of one call."""
    run()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
    return best


def memory_speed(seconds):
    data = mx.nd.ones((64 << 20,))
    return data.size * 4 / least_time(lambda: data.sum().wait_to_read(), seconds)


def layer(size, kind, count):
    """Calls of `count` layers, each with a weight of its own; the bytes that one reads."""
    if kind is None:
        weights = [(mx.nd.full((size, size), 1 / size),) for _ in range(count)]
        operator, attrs = mx.nd.FullyConnected, {}
    else:
        bits, group, dynamic = kind
        dtype, scale = (
            "int8" if bits == 8 else "uint8",
            mx.nd.full((size, size // group if group else 1), 1e-5),
        )
        whole = mx.nd.array(np.full((size, size * bits // 8), 17), dtype=dtype)
        weights = [(whole.copy(), scale.copy()) for _ in range(count)]
        operator = mx.nd.contrib.low_bit_fully_connected
        attrs = {"bits": bits, "group_size": group, "dynamic": dynamic}

    def run(data):
        for weight in weights:  # one after the other
            data = operator(data, *weight, num_hidden=size, no_bias=True, **attrs)
        data.wait_to_read()

    return run, sum(array.size * np.dtype(array.dtype).itemsize for array in weights[0])


class LanguageModel(mx.gluon.HybridBlock):
    def __init__(self, words=10000, units=650):
        super().__init__()
        with self.name_scope():
            self.words = mx.gluon.nn.Embedding(words, units)
            self.layers = mx.gluon.rnn.LSTM(units, 2, input_size=units)
            self.decoder = mx.gluon.nn.Dense(words, flatten=False, in_units=units)

    def hybrid_forward(self, F, data):
        return self.decoder(self.layers(self.words(data)))


def time_language_model(seconds):
    net = LanguageModel()
    net.initialize()
    net.hybridize()
    for shape in ((1, 1), (35, 1), (35, 20)):
        data, real = mx.nd.ones(shape), None
        net(data)
        for name, options in {
            "float32": None,
            "int8": {},
            "int8, data rounded too": {"dynamic": True},
        }.items():
            model = net if options is None else quantization.quantize_net_weights(net, **options)
            model.hybridize()
            took = least_time(lambda model=model, data=data: model(data).wait_to_read(), seconds)
            real = real or took
            print(
                f"{shape[0]:>4} x {shape[1]:<3}{name:<24}{took * 1e3:>9.3f} ms{took / real:>7.2f} of float32",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rows", type=int, nargs="*", default=[1])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each line")
    parser.add_argument("--language-model", action="store_true", help="steps x sequences of an LSTM, instead")
    args = parser.parse_args()
    if args.language_model:
        return time_language_model(args.seconds)
    for rows in args.rows:
        data = mx.nd.ones((rows, args.size))
        for name, kind in KINDS.items():
            count = 8
            run, size = layer(args.size, kind, count)
            run(data)
            took = least_time(lambda run=run, data=data: run(data), args.seconds) / count
            speed = memory_speed(args.seconds / 4)  # in turns, as the machine may change
            print(
                f"{rows:>4} {name:<24}{took * 1e3:>9.3f} ms{size / took / 1e9:>8.1f} GB/s"
                f"{size / took / speed:>7.2f} of {speed / 1e9:.1f} GB/s",
                flush=True,
            )


if __name__ == "__main__":
    main()
