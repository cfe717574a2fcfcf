# SPDX-License-Identifier: Apache-2.0
"""What of MXNet's ``mx.npx`` exists so far: array files, waiting, seeds and the switches of NumPy
semantics."""

from .context import cpu, cpu_pinned, current_context, gpu, num_gpus
from .ndarray import load, save, waitall
from .random import seed
from .util import is_np_array, is_np_shape, reset_np, set_np, use_np

__all__ = [
    "cpu",
    "cpu_pinned",
    "current_context",
    "gpu",
    "is_np_array",
    "is_np_shape",
    "load",
    "num_gpus",
    "reset_np",
    "save",
    "seed",
    "set_np",
    "use_np",
    "waitall",
]
