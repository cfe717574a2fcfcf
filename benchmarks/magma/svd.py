# SPDX-License-Identifier: Apache-2.0
"""Singular value decompositions: seconds of processor time for one matrix, on one thread, by the library that is named.

svd.py loomix|torch|tensorflow|numpy ROWS COLUMNS
"""

import os
import sys
import time

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "LOOMIX_CPU_WORKER_NTHREADS": "1"}
import numpy as np

library, rows, columns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
values = np.random.default_rng(1).standard_normal((rows, columns)).astype(np.float32)

if library == "loomix":
    import loomix as mx

    array = mx.np.array(values)

    def run():
        parts = mx.np.linalg.svd(array)
        return [part.asnumpy() for part in parts]

elif library == "torch":
    import torch

    torch.set_num_threads(1)
    array = torch.from_numpy(values)

    def run():
        return [part.numpy() for part in torch.linalg.svd(array, full_matrices=False)]

elif library == "tensorflow":
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    array = tf.constant(values)

    def run():
        s, u, v = tf.linalg.svd(array)
        return [u.numpy(), s.numpy(), v.numpy().T]

else:

    def run():
        return list(np.linalg.svd(values, full_matrices=False))


times = []
for _ in range(3):
    begin = time.process_time()
    left, sizes, right = run()
    times.append(time.process_time() - begin)
assert np.abs(left * sizes @ right - values).max() < 1e-2
print(f"{min(times):.4f}")
