# SPDX-License-Identifier: Apache-2.0
"""A plugin for pytest (`-p as_mxnet`): the name mxnet is Loomix's, so that tests of other projects run unchanged."""

import loomix.alias
import numpy as np

loomix.alias.install()

for name, builtin in {"float": float, "int": int, "bool": bool, "object": object}.items():
    if name not in vars(np):  # NumPy 1.24 took them away; the NumPy that MXNet runs with has them
        setattr(np, name, builtin)
