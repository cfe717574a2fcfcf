# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments of what training is made of (optimizers, metrics, callbacks), in the form of ``wrong_uses.USES``."""

from __future__ import annotations

import loomix as mx
import numpy as np
from wrong_use_parts import X

LABELS = mx.nd.array([0, 1])
SCORES = mx.nd.array([[0.6, 0.4], [0.3, 0.7]])
METRIC = mx.metric
RATE = mx.lr_scheduler

USES = {
    # ---- initializers ----
    "magnitude that is a text": (
        lambda: mx.init.Xavier(magnitude="x"),
        TypeError,
        ["[Xavier] magnitude is 'x'", "a number >= 0"],
    ),
    "negative magnitude": (lambda: mx.init.Xavier(magnitude=-1), ValueError, ["[Xavier] magnitude is -1"]),
    "slope that is a text": (
        lambda: mx.init.MSRAPrelu(slope="x"),
        TypeError,
        ["[MSRAPrelu] slope is 'x'", "number"],
    ),
    "scale of nothing": (
        lambda: mx.init.Orthogonal(scale=None),
        TypeError,
        ["[Orthogonal] scale is None", "a finite number"],
    ),
    "forget bias that is a text": (
        lambda: mx.init.LSTMBias("one"),
        TypeError,
        ["[LSTMBias] forget_bias is 'one'"],
    ),
    "patterns that are one text": (
        lambda: mx.init.Mixed(".*", [mx.init.One()]),
        TypeError,
        ["[Mixed] patterns is '.*'", "a list"],
    ),
    "default initializer by name": (
        lambda: mx.init.Load({"fc_weight": X}, default_init="zeros"),
        TypeError,
        ["[Load] default_init is 'zeros'", "an Initializer"],
    ),
    # ---- learning rates ----
    "step of nothing": (
        lambda: RATE.FactorScheduler(None),
        TypeError,
        ["[FactorScheduler] step is None", ">= 1"],
    ),
    "a last rate that is a text": (
        lambda: RATE.FactorScheduler(2, stop_factor_lr="x"),
        TypeError,
        ["[FactorScheduler] stop_factor_lr is 'x'"],
    ),
    "base rate that is a text": (
        lambda: RATE.CosineScheduler(10, base_lr="0.1"),
        TypeError,
        ["[LRScheduler] base_lr is '0.1'", "number"],
    ),
    "update number that is a text": (
        lambda: RATE.MultiFactorScheduler([1, "a"]),
        TypeError,
        ["[MultiFactorScheduler] an update number in step is 'a'"],
    ),
    "power of nothing": (
        lambda: RATE.PolyScheduler(10, pwr=None),
        TypeError,
        ["[PolyScheduler] pwr is None"],
    ),
    "final rate that is a list": (
        lambda: RATE.CosineScheduler(10, final_lr=[0]),
        TypeError,
        ["[CosineScheduler] final_lr is [0]"],
    ),
    # ---- optimizers ----
    "count of updates that is a text": (
        lambda: mx.optimizer.SGD(begin_num_update="x"),
        TypeError,
        ["[SGD] begin_num_update is 'x'", ">= 0"],
    ),
    "parameters of an optimizer in a list": (
        lambda: mx.optimizer.SGD(param_dict=[1]),
        TypeError,
        ["[SGD] param_dict is [1]", "a dict of index to Parameter"],
    ),
    "symbol of an optimizer by name": (
        lambda: mx.optimizer.SGD(sym="softmax"),
        TypeError,
        ["[SGD] sym is 'softmax'", "a Symbol"],
    ),
    "multipliers in a list": (
        lambda: mx.optimizer.SGD().set_lr_mult(["fc_weight"]),
        TypeError,
        ["[set_lr_mult]", "['fc_weight']", "a dict of index or name to factor"],
    ),
    "multiplier that is a text": (
        lambda: mx.optimizer.SGD().set_wd_mult({"fc_weight": "0"}),
        TypeError,
        ["[set_wd_mult] the factor of 'fc_weight' is '0'"],
    ),
    "warm-up with a typo": (
        lambda: mx.optimizer.LBSGD(warmup_strategy="liner"),
        ValueError,
        ["[LBSGD] warmup_strategy is 'liner'", "'linear', 'power2', 'sqrt' or 'lars'"],
    ),
    "warm-up that is a text": (
        lambda: mx.optimizer.LBSGD(warmup_epochs="5"),
        TypeError,
        ["[LBSGD] warmup_epochs is '5'", ">= 0"],
    ),
    "NumPy array as a weight": (
        lambda: mx.optimizer.get_updater(mx.optimizer.SGD())(0, X, np.ones((2, 3))),
        TypeError,
        ["[Updater] the weight of 0", "numpy.ndarray", "an NDArray"],
    ),
    # ---- metrics ----
    "average with a typo": (
        lambda: METRIC.PearsonCorrelation(average="makro"),
        ValueError,
        ["[PearsonCorrelation] average is 'makro'", "'macro' or 'micro'"],
    ),
    "eps that is a text": (lambda: METRIC.CrossEntropy(eps="x"), TypeError, ["[CrossEntropy] eps is 'x'"]),
    "padding that is a text": (
        lambda: METRIC.Perplexity("<pad>"),
        TypeError,
        ["[Perplexity] ignore_label is '<pad>'", "number"],
    ),
    "axis of nothing": (
        lambda: METRIC.Perplexity(0, axis=None),
        TypeError,
        ["[Perplexity] axis is None", "an int"],
    ),
    "one name of outputs": (
        lambda: METRIC.Accuracy(output_names="softmax_output"),
        TypeError,
        ["[Accuracy] output_names is 'softmax_output'", "a list of names"],
    ),
    "output that there is not": (
        lambda: METRIC.Accuracy(output_names=["sofmax"]).update_dict({"label": LABELS}, {"softmax": SCORES}),
        KeyError,
        ["[Accuracy] there is no output 'sofmax'", "Did you mean 'softmax'"],
    ),
    "list where a dict of outputs belongs": (
        lambda: METRIC.Accuracy().update_dict({"label": LABELS}, [SCORES]),
        TypeError,
        ["[update_dict] the outputs", "list", "a dict of names to NDArrays"],
    ),
    "texts as labels": (
        lambda: METRIC.F1().update([["cat", "dog"]], [SCORES]),
        TypeError,
        ["[metric]", "['cat', 'dog']", "list of numbers"],
    ),
    "labels of nothing": (
        lambda: METRIC.CustomMetric(lambda label, pred: 0).update(None, [SCORES]),
        TypeError,
        ["[metric] the argument of labels is None", "an array or a list of arrays"],
    ),
    "function of a metric by name": (
        lambda: METRIC.np("abs"),
        TypeError,
        ["[metric.np] numpy_feval is 'abs'", "a function"],
    ),
    "metric by name among several": (
        lambda: METRIC.CompositeEvalMetric(["acc"]).get_metric("accuracy"),
        TypeError,
        ["[CompositeEvalMetric] index is 'accuracy'", "an int"],
    ),
    # ---- callbacks ----
    "period that is a text": (
        lambda: mx.callback.do_checkpoint("model", period="2"),
        TypeError,
        ["[do_checkpoint] period is '2'", "number"],
    ),
    "no prefix": (
        lambda: mx.callback.do_checkpoint(None),
        TypeError,
        ["[do_checkpoint] prefix is None", "a path"],
    ),
    "checkpoints of a symbol": (
        lambda: mx.callback.module_checkpoint(mx.sym.Variable("data"), "model"),
        TypeError,
        ["[module_checkpoint] mod is", "a module"],
    ),
    "log every no batches": (
        lambda: mx.callback.log_train_metric(0),
        ValueError,
        ["[log_train_metric] period is 0", "an int >= 1"],
    ),
    # ---- modules, symbols, parameters and images ----
    "names of inputs that are a number": (
        lambda: mx.mod.Module(mx.sym.Variable("data"), data_names=3),
        TypeError,
        ["[Module] data_names is 3", "a list of names"],
    ),
    "outputs of a Python module by number": (
        lambda: mx.mod.PythonModule(["data"], None, 3),
        TypeError,
        ["[Module] output_names is 3", "a list of names"],
    ),
    "loss named by a number": (
        lambda: mx.mod.PythonLossModule(name=3),
        TypeError,
        ["[PythonLossModule] name is 3", "a str"],
    ),
    "parameter by number": (
        lambda: mx.gluon.ParameterDict().get(3),
        TypeError,
        ["[ParameterDict.get] name is 3", "a str"],
    ),
    "attribute by number": (
        lambda: mx.sym.Variable("data").attr(3),
        TypeError,
        ["[Symbol.attr] key is 3", "the name of an attribute"],
    ),
    "NumPy array as an image": (
        lambda: mx.image.imresize(np.ones((4, 4, 3)), 2, 2),
        TypeError,
        ["[imresize] src", "numpy.ndarray", "an NDArray"],
    ),
    "crop of one number": (
        lambda: mx.image.center_crop(X, 3),
        TypeError,
        ["[scale_down] size is 3", "(width, height)"],
    ),
    "crop of letters": (
        lambda: mx.image.random_crop(mx.nd.ones((3, 3, 3)), ("a", 2)),
        TypeError,
        ["[scale_down] size is 'a'", "number"],
    ),
    "crop from nowhere": (
        lambda: mx.image.fixed_crop(mx.nd.ones((3, 3, 3)), None, 0, 1, 1),
        TypeError,
        ["[fixed_crop] x0 is None", "an int >= 0"],
    ),
    "edge that is a text": (
        lambda: mx.image.resize_short(mx.nd.ones((3, 3, 3)), "a"),
        TypeError,
        ["[resize_short] size is 'a'", "an int >= 1"],
    ),
    "mean by name": (
        lambda: mx.image.color_normalize(mx.nd.ones((3, 3, 3)), "imagenet"),
        TypeError,
        ["[color_normalize] mean is 'imagenet'", "an array"],
    ),
    # ---- layers, losses, cells ----
    "parameters by name": (
        lambda: mx.gluon.nn.Dense(3, params="dense0_"),
        TypeError,
        ["[dense] params is 'dense0_'", "a ParameterDict"],
    ),
    "shape with a letter": (
        lambda: mx.gluon.Parameter("w", shape=(3, "a")),
        TypeError,
        ["[Parameter] the shape of 'w' is (3, 'a')", "a tuple of ints"],
    ),
    "weight of a loss by name": (
        lambda: mx.gluon.loss.L2Loss(weight="x"),
        TypeError,
        ["[L2Loss] weight is 'x'", "number"],
    ),
    "axis of samples by name": (
        lambda: mx.gluon.loss.L1Loss(batch_axis="N"),
        TypeError,
        ["[L1Loss] batch_axis is 'N'", "an int"],
    ),
    "margin that is a text": (
        lambda: mx.gluon.loss.TripletLoss(margin="x"),
        TypeError,
        ["[TripletLoss] margin is 'x'", "number"],
    ),
    "prefix that is a number": (
        lambda: mx.rnn.LSTMCell(3, prefix=4),
        TypeError,
        ["[RNNParams] prefix is 4", "a text"],
    ),
    "cell's parameters by name": (
        lambda: mx.rnn.LSTMCell(3, params="lstm_"),
        TypeError,
        ["[LSTMCell] params is 'lstm_'", "RNNParams"],
    ),
    # ---- files, stores ----
    "dtype of a misspelt name": (
        lambda: mx.io.CSVIter(data_csv="/nowhere/x.csv", data_shape=(3,), dtype="flaot32"),
        TypeError,
        ["[CSVIter] dtype is 'flaot32'", "'float32'"],
    ),
    "priority of a push by name": (
        lambda: mx.kv.create("local").push("w", X, priority="high"),
        TypeError,
        ["[KVStore] priority is 'high'", "an int"],
    ),
    "priority of a pull by name": (
        lambda: mx.kv.create("local").pull("w", out=X, priority="high"),
        TypeError,
        ["[KVStore] priority is 'high'", "an int"],
    ),
    # ---- the engine ----
    "bulk size that is a text": (
        lambda: mx.engine.set_bulk_size("x"),
        TypeError,
        ["[set_bulk_size] size is 'x'", "an int"],
    ),
    "bulk of nothing": (lambda: mx.engine.bulk(None), TypeError, ["[bulk] size is None", "an int"]),
    "priority that is a text": (
        lambda: mx.engine.push_priority("high"),
        TypeError,
        ["[push_priority] priority is 'high'", "an int"],
    ),
}
