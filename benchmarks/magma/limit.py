# SPDX-License-Identifier: Apache-2.0
"""The least that the MLP takes: its matrix products alone, by NumPy's OpenBLAS, and a pass over the weights.

limit.py HIDDEN_LAYERS EPOCHS
"""

import sys
import time

import numpy as np

sizes = [784, *[500] * int(sys.argv[1]), 10]
rng = np.random.default_rng(1)
x = rng.random((60000, 784), dtype=np.float32)
weights = [1e-3 * rng.random((i, o), dtype=np.float32) for i, o in zip(sizes, sizes[1:], strict=False)]
values = [np.empty((100, size), np.float32) for size in sizes]
grads = [1e-9 * rng.random((100, size), dtype=np.float32) for size in sizes]
changes = [np.empty_like(weight) for weight in weights]
for _ in range(int(sys.argv[2])):
    begin = time.perf_counter()
    for at in range(0, 60000, 100):
        values[0] = x[at : at + 100]
        for i, weight in enumerate(weights):
            np.matmul(values[i], weight, out=values[i + 1])
        for i in range(len(weights) - 1, -1, -1):
            np.matmul(values[i].T, grads[i + 1], out=changes[i])
            if i > 0:
                np.matmul(grads[i + 1], weights[i].T, out=grads[i])
            np.subtract(weights[i], changes[i], out=weights[i])
    print(f"{time.perf_counter() - begin:.4f}", flush=True)
