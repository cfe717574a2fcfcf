# SPDX-License-Identifier: Apache-2.0
"""Pickles of MXNet's objects: ``MXNET_ENV/bin/python write_pickles.py > pickles.json`` writes them in base64."""

import base64
import json
import pickle

import mxnet as mx
from mxnet import gluon

OPTIMIZERS = (
    "SGD NAG Adam AdaGrad RMSProp AdaDelta Ftrl Adamax Nadam FTML LAMB LARS Signum DCASGD SGLD GroupAdaGrad"
).split()
INITIALIZERS = "Xavier MSRAPrelu Orthogonal Uniform Normal Zero One LSTMBias Bilinear".split()
METRICS = "acc ce mae mse rmse pearsonr loss".split()


def main():
    accuracy = mx.metric.Accuracy()
    accuracy.update([mx.nd.array([1, 0])], [mx.nd.array([[0.1, 0.9], [0.2, 0.8]])])
    schedule = mx.lr_scheduler.MultiFactorScheduler([2, 4], 0.1, base_lr=1)
    schedule(3)
    csr = mx.nd.array([[0, 1], [2, 0]]).tostype("csr")
    csr.data.wait_to_read()  # one that is not computed yet is pickled without its elements
    objects = {
        "array": mx.nd.array([[1, 2], [3, 4]], dtype="float16"),
        "csr": csr,
        "context": mx.cpu(1),
        "symbol": mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"),
        "accuracy": accuracy,
        "composite": mx.metric.create(["acc", "ce"]),
        "schedule": schedule,
        "desc": mx.io.DataDesc("data", (1, 2)),
        "dataset": gluon.data.ArrayDataset([1, 2], [3, 4]),
        "batches": gluon.data.BatchSampler(gluon.data.SequentialSampler(5), 2),
        "vocabulary": mx.contrib.text.vocab.Vocabulary(mx.contrib.text.utils.count_tokens_from_str("a b b")),
        "class": gluon.nn.Dense,
    }
    objects.update(
        (f"optimizer {name}", mx.optimizer.create(name, learning_rate=0.25)) for name in OPTIMIZERS
    )
    objects.update((f"initializer {name}", getattr(mx.init, name)()) for name in INITIALIZERS)
    objects.update((f"metric {name}", mx.metric.create(name)) for name in METRICS)
    texts = {name: base64.b64encode(pickle.dumps(value)).decode() for name, value in objects.items()}
    print(json.dumps(texts, indent=0))


if __name__ == "__main__":
    main()
