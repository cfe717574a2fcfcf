#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gluon's estimator beside that of an MXNet that is installed.

    python tests/compat/live_estimator.py MXNET_ENV/bin/python

The same script trains from the same parameters in both: events, metrics and parameters must agree. Then each goes on
from checkpoints of the other.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import json, logging, sys
import mxnet as mx
import numpy as np
from mxnet import gluon
from mxnet.gluon.contrib.estimator import (
    BatchBegin, BatchEnd, CheckpointHandler, EarlyStoppingHandler, EpochBegin, EpochEnd, Estimator, TrainBegin, TrainEnd
)

checkpoints, epochs = sys.argv[1], int(sys.argv[2])
random = np.random.RandomState(0)
def loader(count):
    data = random.rand(count, 6).astype("float32")
    return gluon.data.DataLoader(gluon.data.ArrayDataset(data, data[:, :3].argmax(1).astype("float32")), 8)
training, validation = loader(60), loader(30)

net = gluon.nn.HybridSequential(prefix="net_")
with net.name_scope():
    net.add(gluon.nn.Dense(12, activation="tanh", in_units=6), gluon.nn.BatchNorm(in_channels=12))
    net.add(gluon.nn.Dense(3, in_units=12))
net.initialize()
for name, param in sorted(net.collect_params().items()):
    if name.endswith("weight"):
        param.set_data(mx.nd.array(random.randn(*param.shape) / 3))
net.hybridize()

class Log(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    def __init__(self):
        self.events, self.metrics = [], []
for event in "train_begin train_end epoch_begin epoch_end batch_begin batch_end".split():
    def method(self, estimator, *args, event=event, **kwargs):
        self.events.append(event)
        if event == "epoch_end":
            metrics = estimator.train_metrics + estimator.val_metrics
            self.metrics.append([(metric.get()[0], float(metric.get()[1])) for metric in metrics])
    setattr(Log, event, method)

trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
estimator = Estimator(
    net, gluon.loss.SoftmaxCrossEntropyLoss(), train_metrics=[mx.metric.Accuracy(), mx.metric.Loss()], trainer=trainer
)
estimator.logger.setLevel(logging.ERROR)
log = Log()
handlers = [
    log,
    CheckpointHandler(checkpoints, resume_from_checkpoint=True, max_checkpoints=2),
    EarlyStoppingHandler(estimator.val_metrics[0], patience=3, mode="max"),
]
estimator.fit(training, validation, epochs=epochs, event_handlers=handlers)
values = {name: param.data().asnumpy().tolist() for name, param in net.collect_params().items()}
print(json.dumps({"events": log.events, "metrics": log.metrics, "values": values}))
"""


def largest_difference(one, other):
    """Between numbers of the same names and shapes."""
    import numpy as np

    assert one.keys() == other.keys()
    return max(float(np.abs(np.subtract(one[name], other[name])).max()) for name in one)


def main():
    mxnet = [sys.argv[1], "-W", "ignore", "-c", PROGRAM]
    loomix = [sys.executable, "-c", "import loomix.alias; loomix.alias.install()\n" + PROGRAM]

    def run(command, folder, epochs):
        result = subprocess.run(
            [*command, str(folder), str(epochs)], check=True, stdout=subprocess.PIPE, text=True
        )
        return json.loads(result.stdout)

    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = run(mxnet, folder / "mxnet", 6)
        runs = {"from the beginning": run(loomix, folder / "loomix", 6)}
        for first, then in ((mxnet, loomix), (loomix, mxnet)):
            place = "MXNet's" if first is mxnet else "Loomix's"
            run(first, folder / place, 3)
            runs[f"from {place} checkpoints"] = run(then, folder / place, 6)
        for how, got in runs.items():
            count = len(got["metrics"])
            same = got["events"] == wanted["events"] if count == len(wanted["metrics"]) else count == 3
            flat = [dict(result["metrics"][-1]) for result in (got, wanted)]
            metrics, values = largest_difference(*flat), largest_difference(got["values"], wanted["values"])
            good = same and metrics < 1e-4 and values < 1e-4
            wrong += not good
            print(
                f"{'ok' if good else 'WRONG'}: {how}: metrics differ by {metrics:.1e}, parameters by {values:.1e}"
            )
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
