# SPDX-License-Identifier: Apache-2.0
"""One operator of each family on gpu(0) beside cpu(0); a line of JSON after each."""

import json
import sys
import time

import loomix as mx
import numpy as np

GPU, CPU = mx.gpu(0), mx.cpu(0)
random = np.random.RandomState(0)


def numbers(*shape, dtype="float32"):
    return random.uniform(0.1, 1, shape).astype(dtype)


IMAGES = numbers(2, 3, 8, 8)
CALLS = {
    "copy there and back": lambda nd, c: c(IMAGES),
    "unary": lambda nd, c: nd.exp(c(numbers(1000, 33))),
    "binary": lambda nd, c: c(IMAGES) + c(IMAGES),
    "broadcast": lambda nd, c: nd.broadcast_mul(c(IMAGES), c(numbers(1, 3, 1, 1))),
    "scalar": lambda nd, c: 2 - c(IMAGES) * 3,
    "cast": lambda nd, c: c(IMAGES).astype("float16"),
    "integers": lambda nd, c: c((IMAGES * 100).astype("int32")) % 7,
    "fill": lambda nd, c: nd.zeros_like(c(IMAGES)) + 1,
    "indexing": lambda nd, c: c(IMAGES)[1, :, 2:5],
    "sum": lambda nd, c: c(IMAGES).sum(axis=(0, 2, 3)),
    "max": lambda nd, c: c(IMAGES).max(axis=1),
    "argmax": lambda nd, c: c(IMAGES).argmax(axis=1),
    "softmax": lambda nd, c: nd.softmax(c(numbers(64, 1000))),
    "layer norm": lambda nd, c: nd.LayerNorm(c(numbers(64, 1000)), c(numbers(1000)), c(numbers(1000))),
    "batch norm": lambda nd, c: nd.BatchNorm(c(IMAGES), *(c(numbers(3)) for _ in range(4))),
    "activation": lambda nd, c: nd.Activation(c(IMAGES), act_type="softrelu"),
    "leaky relu": lambda nd, c: nd.LeakyReLU(c(IMAGES - 0.5), act_type="gelu"),
    "transpose": lambda nd, c: c(IMAGES).transpose((0, 2, 3, 1)),
    "concat": lambda nd, c: nd.concat(c(IMAGES), c(IMAGES), dim=1),
    "take": lambda nd, c: nd.take(c(numbers(10, 5)), c(np.array([1.0, 3, 9], "float32"))),
    "embedding": lambda nd, c: nd.Embedding(
        c(np.array([[1.0, 3]], "float32")), c(numbers(10, 5)), input_dim=10, output_dim=5
    ),
    "one hot": lambda nd, c: nd.one_hot(c(np.array([1.0, 3], "float32")), 5),
    "pick": lambda nd, c: nd.pick(c(numbers(4, 5)), c(np.array([1.0, 3, 0, 4], "float32"))),
    "sort": lambda nd, c: nd.sort(c(numbers(16, 100))),
    "topk": lambda nd, c: nd.topk(c(numbers(16, 100)), k=5, ret_typ="value"),
    "dot": lambda nd, c: nd.dot(c(numbers(65, 70)), c(numbers(70, 33))),
    "batch dot": lambda nd, c: nd.batch_dot(c(numbers(3, 5, 7)), c(numbers(3, 9, 7)), transpose_b=True),
    "fully connected": lambda nd, c: nd.FullyConnected(
        c(numbers(4, 10)), c(numbers(6, 10)), c(numbers(6)), num_hidden=6
    ),
    "fully connected, halves": lambda nd, c: nd.FullyConnected(
        c(numbers(32, 64, dtype="float16")),
        c(numbers(48, 64, dtype="float16")),
        c(numbers(48, dtype="float16")),
        num_hidden=48,
    ),  # fmt: skip
    "fully connected, doubles": lambda nd, c: nd.FullyConnected(
        c(numbers(32, 64, dtype="float64")),
        c(numbers(48, 64, dtype="float64")),
        c(numbers(48, dtype="float64")),
        num_hidden=48,
    ),  # fmt: skip
    "fully connected, a bias anywhere": lambda nd, c: nd.FullyConnected(
        c(numbers(4, 10)), c(numbers(6, 10)), c(numbers(7))[1:], num_hidden=6
    ),
    "fully connected with relu": lambda nd, c: rectified(c, "float32"),
    "fully connected with relu, halves": lambda nd, c: rectified(c, "float16"),
    "fully connected with relu, doubles": lambda nd, c: rectified(c, "float64"),
    "convolution": lambda nd, c: nd.Convolution(
        c(IMAGES), c(numbers(8, 3, 3, 3)), c(numbers(8)), kernel=(3, 3), num_filter=8, pad=(1, 1)
    ),
    "grouped convolution": lambda nd, c: nd.Convolution(
        c(IMAGES), c(numbers(3, 1, 3, 3)), kernel=(3, 3), num_filter=3, num_group=3, no_bias=True
    ),
    "deconvolution": lambda nd, c: nd.Deconvolution(
        c(IMAGES), c(numbers(3, 4, 3, 3)), kernel=(3, 3), num_filter=4, stride=(2, 2), no_bias=True
    ),
    "max pooling": lambda nd, c: nd.Pooling(c(IMAGES), kernel=(2, 2), stride=(2, 2), pool_type="max"),
    "average pooling": lambda nd, c: nd.Pooling(
        c(IMAGES), kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg"
    ),
    "lstm": lambda nd, c: nd.RNN(
        c(numbers(5, 2, 4)),
        c(numbers(4 * 6 * (4 + 6) + 8 * 6)),
        c(numbers(1, 2, 6)),
        c(numbers(1, 2, 6)),
        state_size=6,
        num_layers=1,
        mode="lstm",
    ),
    "random": lambda nd, c: nd.random.uniform(shape=(100,), ctx=GPU if c is on_gpu else CPU),
    "dropout": lambda nd, c: dropped(nd, c),
    "sgd": lambda nd, c: nd.sgd_update(c(numbers(100)), c(numbers(100)), lr=0.1, wd=0.01),
    "lazy sgd": lambda nd, c: nd.sgd_update(
        c(numbers(100, 3)),
        c(numbers(100, 3) * (np.arange(100) % 7 == 0)[:, None]).tostype("row_sparse"),
        lr=0.1,
    ),
    "csr dot": lambda nd, c: nd.dot(
        c(numbers(20, 30) * (numbers(20, 30) > 0.7)).tostype("csr"), c(numbers(30, 9))
    ),
    "quantize": lambda nd, c: nd.contrib.quantize_v2(c(IMAGES)),
    "upsampling": lambda nd, c: nd.UpSampling(c(IMAGES), scale=2, sample_type="nearest"),
    "sequence mask": lambda nd, c: nd.SequenceMask(
        c(numbers(5, 2, 3)), c(np.array([2.0, 4], "float32")), use_sequence_length=True
    ),
}


def on_gpu(values):
    return mx.nd.array(values, ctx=GPU, dtype=values.dtype)


def on_cpu(values):
    return mx.nd.array(values, ctx=CPU, dtype=values.dtype)


def rectified(c, dtype, first=0.5):
    """A bound graph, where the activation is a part of the layer."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=48, name="fc")
    net = mx.sym.Activation(net, act_type="relu")
    data = numbers(32, 64, dtype=dtype) - 0.5
    data[0, 0] = first
    arrays = {
        "data": data,
        "fc_weight": numbers(48, 64, dtype=dtype) - 0.5,
        "fc_bias": numbers(48, dtype=dtype),
    }
    executor = net.bind(GPU if c is on_gpu else CPU, {name: c(array) for name, array in arrays.items()})
    return executor.forward(is_train=False)[0]


def dropped(nd, c):
    with mx.autograd.train_mode():
        return nd.Dropout(c(numbers(1000)), p=0.5)


def call(name, place):
    random.seed(1)
    mx.random.seed(1, ctx=GPU)
    mx.random.seed(1, ctx=CPU)
    result = CALLS[name](mx.nd, place)
    return (result[0] if isinstance(result, (list, tuple)) else result).astype("float32").asnumpy()


def main():
    found = {"wrong": 0, "bad": {}, "ok": 0, "devices": mx.context.num_gpus()}
    begin = time.monotonic()
    for name in CALLS:
        try:
            got, want = call(name, on_gpu), call(name, on_cpu)
            error = float(np.max(np.abs(got - want) / (np.abs(want) + 1e-2))) if got.size else 0.0
            bad = "" if got.shape == want.shape and error < 2e-3 else f"error {error}"
        except Exception as problem:  # each family is asked
            bad = str(problem)[:500]
        if bad:
            found["bad"][name] = bad
            found["wrong"] += 1
        else:
            found["ok"] += 1
        found["took"] = round(time.monotonic() - begin, 1)
        print(json.dumps(found), flush=True)
    # Not a fault: nobody says what a library's max(x, 0) makes of NaN.
    found["a layer's relu keeps NaN"] = bool(
        np.isnan(rectified(on_gpu, "float32", np.nan).asnumpy()[0]).all()
    )
    print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
