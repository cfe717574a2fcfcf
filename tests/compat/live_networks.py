#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of examples/image_classification, saved here, in an MXNet that is installed: do both compute the same?

    python tests/compat/live_networks.py MXNET_ENV/bin/python [NAME ...]

Each network is made with small pictures and random parameters, saved as a checkpoint and run by both.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

READER = """
import sys
import mxnet as mx
prefix = sys.argv[1]
symbol, arguments, states = mx.model.load_checkpoint(prefix, 1)
data = mx.nd.load(prefix + ".data")[0]
inside = symbol.get_internals()
scores = inside["fc_output" if "fc_output" in inside.list_outputs() else "flatten_output"]
module = mx.mod.Module(mx.sym.Group([symbol, scores]))
module.bind([("data", data.shape)], [("softmax_label", data.shape[:1])], for_training=False)
module.set_params(arguments, states)
module.forward(mx.io.DataBatch([data], None))
mx.nd.save(prefix + sys.argv[2], module.get_outputs())
"""
SIZES = {32: 16, 224: 64, 299: 107}  # what the network is made for -> what is enough


def compare(name, mxnet, folder):
    """The largest difference between the scores, and the probabilities, of both, as a part of the largest."""
    import loomix as mx
    import symbols

    side = 67 if name == "alexnet" else SIZES[symbols.NETWORKS[name][0]]
    mx.random.seed(1)
    prefix = str(folder / name)
    data = mx.nd.random.normal(0, 3, (2, 3, side, side))
    module = mx.mod.Module(symbols.create(name, 10))
    module.bind([("data", data.shape)], [("softmax_label", (2,))], for_training=False)
    module.init_params(mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2))
    module.save_checkpoint(prefix, 1)
    mx.nd.save(prefix + ".data", [data])
    ours = [sys.executable, "-c", READER.replace("import mxnet", "import loomix"), prefix, ".ours"]
    theirs = [mxnet, "-W", "ignore", "-c", READER, prefix, ".theirs"]
    for command in (ours, theirs):
        subprocess.run(command, check=True)
    pairs = zip(*(mx.nd.load(prefix + ending) for ending in (".ours", ".theirs")))
    return max(float(((a - b).abs().max() / b.abs().max()).asscalar()) for a, b in pairs)


def main():
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "image_classification"))
    import symbols

    mxnet, *names = sys.argv[1:]
    wrong = 0
    for name in names or symbols.NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            difference = compare(name, mxnet, Path(folder))
        wrong += difference > 1e-4
        print(f"{name:28} {difference:.1e}", flush=True)
    print(f"{wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
