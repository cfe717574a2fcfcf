# SPDX-License-Identifier: Apache-2.0
"""Starting Python and importing a package after NumPy, or loomix.recordio alone; what to subtract is `numpy_alone`, or
`nothing`."""

import subprocess
import sys
from functools import partial

from harness import serve


def _importing(names):
    def run(count):
        for _ in range(count):
            subprocess.run([sys.executable, "-W", "ignore", "-c", f"import {names}"], check=True)

    return run


CASES = {
    "nothing": {"loomix": partial(_importing, "sys")},
    "recordio": {"loomix": partial(_importing, "loomix.recordio")},
    "numpy_alone": {name: partial(_importing, "numpy") for name in ("loomix", "mxnet", "torch")},
    "package": {name: partial(_importing, f"numpy, {name}") for name in ("loomix", "mxnet", "torch")},
}

if __name__ == "__main__":
    serve(CASES)
