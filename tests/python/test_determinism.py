# SPDX-License-Identifier: Apache-2.0
"""With LOOMIX_ENFORCE_DETERMINISM=1, training gives the same bits for any number of threads and in each run."""

import functools
import os
import subprocess
import sys

import pytest

# Prints a line for each network and array. Shapes are chosen so that each operator has work for several threads.
CODE = """
    import hashlib
    import numpy as np
    import loomix as mx

    def conv(x, filters, size, **more):
        pad = (size // 2, size // 2)
        return mx.sym.Convolution(x, num_filter=filters, kernel=(size, size), pad=pad, **more)

    def relu(x):
        return mx.sym.Activation(x, act_type="relu")

    def pool(x, kind, size=3, stride=2):
        return mx.sym.Pooling(x, pool_type=kind, kernel=(size, size), stride=(stride, stride), pad=(1, 1))

    def classifier(x, pooled=True):
        if pooled:
            x = mx.sym.Pooling(x, global_pool=True, pool_type="avg", kernel=(1, 1))
        x = mx.sym.Dropout(relu(mx.sym.FullyConnected(x, num_hidden=300)), p=0.5)
        return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=10), name="softmax")

    def norm(x, **more):
        return mx.sym.BatchNorm(x, fix_gamma=False, **more)

    def branches():
        x = mx.sym.LRN(pool(relu(conv(mx.sym.var("data"), 32, 7, stride=(2, 2))), "max"), nsize=5)
        x = pool(mx.sym.LRN(relu(conv(x, 48, 3)), nsize=3, beta=0.5), "max")
        ways = [relu(conv(x, 16, 1)), relu(conv(x, 32, 3)), relu(conv(conv(x, 16, 1), 24, 5))]
        x = mx.sym.Concat(*ways, relu(conv(pool(x, "avg", stride=1), 16, 1)))
        return classifier(relu(conv(x, 64, 3, num_group=2)), pooled=False)

    def residual():
        x = relu(norm(conv(mx.sym.var("data"), 64, 3, no_bias=True)))
        for _ in range(2):
            inner = relu(norm(conv(x, 64, 3, no_bias=True)))
            x = relu(norm(conv(inner, 64, 3, no_bias=True)) + x)
        x = relu(norm(conv(x, 64, 3, num_group=64, no_bias=True, stride=(2, 2))))
        return classifier(norm(conv(x, 24, 1)))

    def plain():
        x = mx.sym.LRN(relu(conv(mx.sym.var("data"), 20, 3)), nsize=5)
        x = mx.sym.softmax(norm(conv(pool(x, "avg"), 33, 3)), axis=1)
        return classifier(mx.sym.Concat(mx.sym.tanh(x), mx.sym.LayerNorm(conv(x, 7, 1))))

    def train(name, symbol, batch, dtype):
        if dtype == "bfloat16":
            symbol = mx.contrib.amp.convert_symbol(symbol, dtype)
        run = symbol.simple_bind(mx.cpu(), data=(batch, 3, 40, 36))
        random = np.random.RandomState(1)
        for key, array in run.arg_dict.items():
            array[:] = random.uniform(-0.5, 0.5, array.shape) if key != "softmax_label" else 3
        for key, array in run.aux_dict.items():
            array[:] = 0 if "mean" in key else 1
        mx.random.seed(1)
        for _ in range(2):
            run.forward(is_train=True)
            run.backward()
        found = {"output": run.outputs[0], **run.grad_dict, **run.aux_dict}
        for key, array in found.items():
            values = array.asnumpy()
            assert np.isfinite(values).all(), key
            assert values.any() or "gamma" in key or "label" in key, key  # the gradient of a fixed gamma is zero
            print(name, batch, dtype, key, hashlib.sha256(values.tobytes()).hexdigest()[:16])

    for network in (branches, residual, plain):
        for batch in (9, 2):
            for dtype in ("float32", "bfloat16"):
                train(network.__name__, network(), batch, dtype)
"""


@functools.cache
def printed(threads, repetition=0):
    code = "\n".join(line[4:] for line in CODE.splitlines())
    environment = {**os.environ, "LOOMIX_ENFORCE_DETERMINISM": "1", "LOOMIX_TUNE": "1"}
    environment.update(OMP_NUM_THREADS=str(threads), LOOMIX_CPU_WORKER_NTHREADS=str(threads))
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("threads, repetition", [(2, 0), (3, 0), (2, 1)])
def test_training_is_equal_bit_by_bit(threads, repetition):
    expected = printed(1)
    assert len(expected) > 200
    different = [line for line in printed(threads, repetition) if line not in expected]
    assert not different, "\n".join(different)
