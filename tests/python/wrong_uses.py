# SPDX-License-Identifier: Apache-2.0
"""Wrong uses, and what each must say: words that name the place, what was given and what is expected.

``USES`` maps a name to (function, the built-in exception, words that its text must hold). Each text begins with the
place in brackets, but for what Python itself says.
"""

from __future__ import annotations

import pickle
import signal

import loomix as mx
import numpy as np
from wrong_use_parts import (
    Killed,
    V,
    X,
    backward_twice,
    batch,
    block,
    bound,
    busy,
    checked,
    custom,
    data,
    estimated,
    net,
    on_thread,
    overwritten,
    recorded,
    replaced,
    store,
    trained,
    with_file,
    with_signal,
)

INT = mx.nd.array([1, 2], dtype="int32")

USES = {
    # ---- shapes ----
    "add of shapes": (lambda: X + mx.nd.ones((2, 4)), ValueError, ["broadcast_add", "(2, 3)", "(2, 4)"]),
    "dot of shapes": (
        lambda: mx.nd.dot(X, X),
        ValueError,
        ["dot", "lhs (2, 3) has size 3", "rhs (2, 3) size 2"],
    ),
    "matmul of shapes": (lambda: X @ X, ValueError, ["matmul", "(2, 3)", "same"]),
    "reshape to another size": (lambda: X.reshape((4, 2)), ValueError, ["(2, 3)", "(4, 2)"]),
    "concat of shapes": (
        lambda: mx.nd.concat(X, mx.nd.ones((3, 3)), dim=1),
        ValueError,
        ["Concat", "axis 0: 2 and 3", "(3, 3)", "axis 1"],
    ),
    "stack of shapes": (
        lambda: mx.nd.stack(X, mx.nd.ones((3, 3))),
        ValueError,
        ["stack", "(2, 3)", "(3, 3)"],
    ),
    "weight of another size": (
        lambda: mx.nd.FullyConnected(X, mx.nd.ones((4, 7)), no_bias=True, num_hidden=4),
        ValueError,
        ["FullyConnected", "weight", "(4, 7)", "(4, 3)", "data"],
    ),
    "channels of a convolution": (
        lambda: mx.nd.Convolution(
            mx.nd.ones((1, 3, 8, 8)), mx.nd.ones((2, 4, 3, 3)), kernel=(3, 3), num_filter=2, no_bias=True
        ),
        ValueError,
        ["Convolution", "weight", "(2, 4, 3, 3)", "(2, 3, 3, 3)"],
    ),
    "kernel beyond the image": (
        lambda: mx.nd.Pooling(mx.nd.ones((1, 1, 2, 2)), kernel=(5, 5), pool_type="max"),
        ValueError,
        ["[Pooling] kernel (5, 5)", "(1, 1, 2, 2)"],
    ),
    "axis out of range": (lambda: X.sum(axis=2), ValueError, ["sum", "axis", "2"]),
    "expand_dims out of range": (
        lambda: X.expand_dims(5),
        ValueError,
        ["[expand_dims] axis 5", "3 dimensions", "-3 to 2"],
    ),
    "squeeze of a long axis": (
        lambda: X.squeeze(0),
        ValueError,
        ["squeeze", "axis 0", "size 2", "expected 1"],
    ),
    "transpose of other axes": (lambda: X.transpose((0, 2)), ValueError, ["transpose", "axis 2", "-2 to 1"]),
    "broadcast_to another shape": (
        lambda: X.broadcast_to((3, 3)),
        ValueError,
        ["broadcast_to", "(2, 3)", "(3, 3)"],
    ),
    "split into unequal parts": (
        lambda: mx.nd.split(X, 2, axis=1),
        ValueError,
        ["[SliceChannel] size 3 of axis 1", "2 parts"],
    ),
    "negative shape": (lambda: mx.nd.zeros((-2, 3)), ValueError, ["[NDArray] shape (-2, 3)", "0 or more"]),
    "assignment of another shape": (
        lambda: X.__setitem__(slice(None), np.ones((4, 4))),
        ValueError,
        ["(4, 4)", "(2, 3)"],
    ),
    "batch of another feature size": (
        lambda: bound().forward(batch(features=5)),
        ValueError,
        ["data (2, 5)", "fc_weight", "(4, 3)", "(4, 5)"],
    ),
    "executor's argument": (
        lambda: net().simple_bind(mx.cpu(), data=(2, 3)).forward(data=mx.nd.ones((2, 5))),
        ValueError,
        ["Executor.forward", "data", "(2, 3)", "(2, 5)"],
    ),
    "shapes that say too little": (
        lambda: net().simple_bind(mx.cpu()),
        ValueError,
        ["[Symbol.simple_bind]", "'data: ()'"],
    ),
    "batch too small for two devices": (
        lambda: mx.mod.Module(net(), context=[mx.cpu(0), mx.cpu(1)]).bind(
            [("data", (1, 3))], [("softmax_label", (1,))]
        ),
        ValueError,
        ["batch of 1", "2 devices"],
    ),
    "input of a dense block": (
        lambda: block()(mx.nd.ones((2, 5))).asnumpy(),
        ValueError,
        ["(4, 3)", "(4, 5)"],
    ),
    "take beyond the end": (
        lambda: mx.nd.take(X, mx.nd.array([5]), mode="raise").asnumpy(),
        IndexError,
        ["[take] index 5", "size 2", "-2 to 1"],
    ),
    "index beyond the end": (lambda: X[2], IndexError, ["NDArray", "2", "axis 0", "size 2", "-2 to 1"]),
    "too many indices": (lambda: X[0, 0, 0], IndexError, ["[NDArray] too many", "got 3", "2 axes", "(2, 3)"]),
    "lengths of an iterator": (
        lambda: mx.io.NDArrayIter(np.ones((5, 3)), np.ones(4), 2),
        ValueError,
        ["[NDArrayIter]", "'data': 5", "'softmax_label': 4"],
    ),
    # ---- types ----
    "types in one call": (
        lambda: mx.nd.elemwise_add(X, mx.nd.ones((2, 3), dtype="float64")),
        TypeError,
        ["elemwise_add", "float32", "float64"],
    ),
    "unknown dtype": (lambda: mx.nd.zeros(2, dtype="flot32"), ValueError, ["flot32", "float32"]),
    "complex numbers": (lambda: mx.nd.array([1j]), TypeError, ["[array] source_array", "'complex'"]),
    "array of texts": (lambda: mx.nd.array(["a"]), TypeError, ["array", "list", "'a'", "numbers"]),
    "array of nothing": (lambda: mx.nd.array([1, None]), TypeError, ["array", "list", "None", "numbers"]),
    "ragged lists": (lambda: mx.nd.array([[1, 2], [3]]), TypeError, ["array", "list", "one length"]),
    "text as a shape": (lambda: mx.nd.zeros("3"), TypeError, ["shape", "'3'"]),
    "float as a shape": (lambda: mx.nd.zeros(2.5), TypeError, ["shape", "float"]),
    "list as an operand": (lambda: X + [1, 2, 3], TypeError, ["NDArray", "list"]),
    "text as an input": (lambda: mx.nd.relu("x"), TypeError, ["relu", "str", "NDArray"]),
    "symbol as an input": (lambda: mx.nd.relu(V("x")), TypeError, ["relu", "Symbol", "NDArray"]),
    "array as a symbol": (lambda: mx.sym.relu(X), TypeError, ["relu", "NDArray", "Symbol"]),
    "float index": (lambda: X[1.5], ValueError, ["1.5", "integers"]),
    "integer array as a fraction": (
        lambda: mx.nd.array(INT + np.array([0.5, 0.5])),
        TypeError,
        ["int32", "float64", "astype"],
    ),
    "activation of integers": (lambda: mx.nd.softmax(INT), TypeError, ["softmax", "int32"]),
    "text for a number": (
        lambda: mx.nd.FullyConnected(X, X, no_bias=True, num_hidden="four"),
        ValueError,
        ["FullyConnected", "num_hidden", "four", "int"],
    ),
    "negative number of outputs": (
        lambda: mx.nd.FullyConnected(X, X, no_bias=True, num_hidden=-4),
        ValueError,
        ["FullyConnected", "num_hidden", "-4"],
    ),
    "probability above one": (lambda: mx.nd.Dropout(X, p=1.5), ValueError, ["Dropout", "1.5", "p"]),
    "file name that is no text": (lambda: mx.nd.load(3), TypeError, ["load", "fname is 3", "int", "path"]),
    "train_data that is an array": (
        lambda: mx.mod.Module(net()).fit(np.ones((4, 3)), num_epoch=1),
        TypeError,
        ["train_data", "ndarray", "DataIter"],
    ),
    "batch that is a list": (lambda: bound().forward([X]), TypeError, ["list", "DataBatch"]),
    "data of a batch that is no list": (lambda: mx.io.DataBatch(X), TypeError, ["data", "NDArray", "list"]),
    "optimizer that is a number": (lambda: trained(optimizer=3), TypeError, ["int", "Optimizer"]),
    "initializer that is a number": (lambda: trained(initializer=3), TypeError, ["int", "initializer"]),
    "store that is a number": (lambda: trained(kvstore=3), TypeError, ["int", "KVStore", "name"]),
    "metric that is a number": (lambda: trained(eval_metric=3), TypeError, ["int", "metric"]),
    "symbol that is a number": (lambda: mx.mod.Module(3), TypeError, ["symbol", "int", "Symbol"]),
    "callback that is a number": (
        lambda: trained(batch_end_callback=3),
        TypeError,
        ["fit", "batch_end_callback", "3", "int", "function"],
    ),
    "epochs that are a text": (
        lambda: mx.mod.Module(net()).fit(data(), num_epoch="2"),
        TypeError,
        ["num_epoch", "str"],
    ),
    # ---- one thing in another's place ----
    "array in place of a batch": (
        lambda: bound().forward(X),
        TypeError,
        ["forward", "data_batch", "NDArray", "DataBatch"],
    ),
    "nothing in place of a batch": (
        lambda: bound().forward(None),
        TypeError,
        ["forward", "None", "DataBatch"],
    ),
    "number in a batch": (
        lambda: bound().forward(mx.io.DataBatch([3])),
        TypeError,
        ["forward", "input of the batch", "3", "NDArray"],
    ),
    "array in place of validation data": (
        lambda: trained(eval_data=np.ones((4, 3))),
        TypeError,
        ["fit", "eval_data", "numpy.ndarray", "DataIter"],
    ),
    "array to score": (
        lambda: bound().score(np.ones((4, 3)), "acc"),
        TypeError,
        ["score", "eval_data", "numpy.ndarray", "DataIter"],
    ),
    "callback of a score that is a number": (
        lambda: bound().score(data(), "acc", batch_end_callback=3),
        TypeError,
        ["score", "batch_end_callback", "3", "function"],
    ),
    "monitor that is a number": (lambda: trained(monitor=3), TypeError, ["fit", "monitor", "3", "Monitor"]),
    "monitor to install that is a number": (
        lambda: bound().install_monitor(3),
        TypeError,
        ["install_monitor", "3", "Monitor"],
    ),
    "first epoch that is a text": (
        lambda: trained(begin_epoch="0"),
        TypeError,
        ["fit", "begin_epoch", "'0'", "str", "int"],
    ),
    "optimizer's settings that are a number": (
        lambda: trained(optimizer_params=0.1),
        TypeError,
        ["fit", "optimizer_params", "0.1", "{'learning_rate': 0.1}"],
    ),
    "optimizer's settings without names": (
        lambda: bound().init_optimizer(optimizer_params=[0.1]),
        TypeError,
        ["init_optimizer", "optimizer_params", "[0.1]", "{'learning_rate': 0.1}"],
    ),
    "parameters that are a list": (
        lambda: bound().set_params([X], {}),
        TypeError,
        ["arg_params", "list", "dict"],
    ),
    "parameter that is nothing": (
        lambda: bound().set_params({"fc_weight": None, "fc_bias": X}, {}),
        TypeError,
        ["'fc_weight'", "None", "array"],
    ),
    "metric to update that is a name": (
        lambda: bound().update_metric("acc", [mx.nd.zeros(2)]),
        TypeError,
        ["update_metric", "'acc'", "mx.metric.create('acc')"],
    ),
    "labels to measure that are no list": (
        lambda: bound().update_metric(mx.metric.create("acc"), mx.nd.zeros(2)),
        TypeError,
        ["update_metric", "labels", "NDArray", "list"],
    ),
    "gradient of an output that is a number": (
        lambda: (lambda m: (m.forward(batch()), m.backward(3)))(bound()),
        TypeError,
        ["backward", "out_grads", "3", "NDArray"],
    ),
    "device of a module that is a number": (
        lambda: mx.mod.Module(net(), context=0),
        TypeError,
        ["context", "0", "int", "mx.gpu()"],
    ),
    "no device at all": (
        lambda: mx.mod.Module(net(), context=[]),
        ValueError,
        ["context", "empty", "mx.cpu()"],
    ),
    "shares that are a number": (
        lambda: mx.mod.Module(net(), work_load_list=3),
        TypeError,
        ["work_load_list", "3", "list"],
    ),
    "number of a checkpoint that is a text": (
        lambda: bound().save_checkpoint("/nowhere/x", "1"),
        TypeError,
        ["checkpoint", "epoch", "'1'", "int"],
    ),
    "number of a checkpoint to load that is a text": (
        lambda: mx.mod.Module.load("/nowhere/x", "1"),
        TypeError,
        ["checkpoint", "epoch", "'1'", "int"],
    ),
    "checkpoint of NumPy arrays": (
        lambda: mx.model.save_checkpoint("/nowhere/x", 1, net(), {"w": np.ones(2)}, {}),
        TypeError,
        ["save_checkpoint", "w", "numpy.ndarray", "NDArray"],
    ),
    "file of states that is a number": (
        lambda: trained().load_optimizer_states(3),
        TypeError,
        ["load", "fname", "3", "path"],
    ),
    "bucketing of a symbol": (
        lambda: mx.mod.BucketingModule(net(), 3),
        TypeError,
        ["BucketingModule", "sym_gen", "Symbol", "(symbol, data_names, label_names)"],
    ),
    "bucket without names": (
        lambda: mx.mod.BucketingModule(lambda key: net(), 3),
        TypeError,
        ["sym_gen(3)", "Symbol", "(symbol, data_names, label_names)"],
    ),
    "bucket that is not there": (
        lambda: mx.mod.BucketingModule.load_dict({3: net()}, None, 5),
        KeyError,
        ["load_dict", "5", "[3]"],
    ),
    "module of a chain that is a number": (
        lambda: mx.mod.SequentialModule().add(3),
        TypeError,
        ["SequentialModule.add", "3", "module"],
    ),
    "optimizer of a module that is a number": (
        lambda: bound().borrow_optimizer(3),
        TypeError,
        ["borrow_optimizer", "3", "Module"],
    ),
    "argument of fit with a typo": (
        lambda: trained(epochs=3),
        TypeError,
        ["fit", "'epochs'", "Did you mean 'num_epoch'"],
    ),
    "learning rate given to fit": (
        lambda: trained(lr=0.1),
        TypeError,
        ["fit", "'lr'", "optimizer_params={'learning_rate': ...}"],
    ),
    "labels of an iterator that are a list of numbers": (
        lambda: mx.io.NDArrayIter(np.ones((2, 2)), [0, 1]),
        ValueError,
        ["NDArrayIter", "softmax_label is a list of numbers", "np.array"],
    ),
    "argument of an iterator with a typo": (
        lambda: data(shufle=True),
        TypeError,
        ["NDArrayIter", "'shufle'", "Did you mean 'shuffle'"],
    ),
    "layout of an iterator that is nothing": (
        lambda: data(layout=None),
        TypeError,
        ["NDArrayIter", "layout", "None", "'NCHW'"],
    ),
    "names of arrays of two kinds": (
        lambda: mx.io.NDArrayIter({3: X, "a": X}),
        TypeError,
        ["NDArrayIter", "3", "int", "str"],
    ),
    "rows of a batch that are a text": (
        lambda: mx.io.CSVIter(data_csv="/nowhere/x.csv", data_shape=(3,), batch_size="2"),
        TypeError,
        ["CSVIter", "batch_size", "'2'", "int >= 1"],
    ),
    "table that is a number": (
        lambda: mx.io.CSVIter(data_csv=3, data_shape=(3,)),
        TypeError,
        ["CSVIter", "3", "path"],
    ),
    "batches of a pass that are half": (
        lambda: mx.io.ResizeIter(data(), 2.5),
        TypeError,
        ["ResizeIter", "size", "2.5", "int >= 0"],
    ),
    "new names of inputs without a list": (
        lambda: mx.io.PrefetchingIter(data(), rename_data={"data": "x"}),
        TypeError,
        ["PrefetchingIter", "rename_data", "dict", "a list of dicts"],
    ),
    "new name of another input": (
        lambda: mx.io.PrefetchingIter(data(), rename_data=[{"dta": "x"}]),
        KeyError,
        ["PrefetchingIter", "'data'", "['dta']"],
    ),
    "size of images that is a number": (
        lambda: mx.image.CreateAugmenter(24),
        ValueError,
        ["CreateAugmenter", "data_shape is 24", "(channels, height, width)"],
    ),
    "initializer that is a class": (
        lambda: trained(initializer=mx.init.Xavier),
        TypeError,
        ["init_params", "initializer", "the class Xavier; did you forget ()"],
    ),
    "initializer among others that is a class": (
        lambda: mx.init.Mixed([".*"], [mx.init.Xavier]),
        TypeError,
        ["Mixed", "the class Xavier; did you forget ()"],
    ),
    "initializer of a block that is a class": (
        lambda: mx.gluon.nn.Dense(4).initialize(mx.init.Xavier),
        TypeError,
        ["initializer", "the class Xavier; did you forget ()"],
    ),
    "metric that is a class": (
        lambda: trained(eval_metric=mx.metric.Accuracy),
        TypeError,
        ["metric", "the class Accuracy; did you forget ()"],
    ),
    "optimizer of a module that is a class": (
        lambda: trained(optimizer=mx.optimizer.SGD),
        TypeError,
        ["init_optimizer", "the class SGD; did you forget ()"],
    ),
    "callback that is a class": (
        lambda: trained(batch_end_callback=mx.callback.Speedometer),
        TypeError,
        ["batch_end_callback", "the class Speedometer; did you forget ()"],
    ),
    "store on one device with a typo": (
        lambda: trained(kvstore="locall"),
        ValueError,
        ["locall", "Did you mean 'local'"],
    ),
    "optimizer with a typo, of a trained module": (
        lambda: trained().fit(data(), num_epoch=1, optimizer="adamm"),
        ValueError,
        ["adamm", "Did you mean 'adam'"],
    ),
    "optimizer's setting with a typo, of a trained module": (
        lambda: trained().fit(data(), num_epoch=1, optimizer_params={"learnin_rate": 0.1}),
        TypeError,
        ["SGD", "learnin_rate", "Did you mean 'learning_rate'"],
    ),
    "store with a typo, of a trained module": (
        lambda: trained().fit(data(), num_epoch=1, kvstore="locall"),
        ValueError,
        ["locall", "Did you mean 'local'"],
    ),
    "fewer than no epochs": (
        lambda: mx.mod.Module(net()).fit(data(), num_epoch=-1),
        ValueError,
        ["fit", "num_epoch is -1", ">= 0"],
    ),
    "training on nothing": (
        lambda: mx.mod.Module(net()).fit(mx.io.NDArrayIter(np.ones((0, 3)), np.zeros(0), 1), num_epoch=1),
        ValueError,
        ["fit", "train_data gave no batch in epoch 0", "reset()"],
    ),
    "metric's argument with a typo": (
        lambda: mx.metric.create("acc", axi=2),
        TypeError,
        ["Accuracy", "'axi'", "Did you mean 'axis'"],
    ),
    "metric of a number": (
        lambda: mx.metric.CustomMetric(3),
        TypeError,
        ["CustomMetric", "feval is 3", "function"],
    ),
    "metrics that are a number": (
        lambda: mx.metric.CompositeEvalMetric(3),
        TypeError,
        ["CompositeEvalMetric", "metrics is 3", "list"],
    ),
    "logger that is a number": (
        lambda: mx.mod.Module(net(), logger=3),
        TypeError,
        ["Module", "logger is 3", "Logger"],
    ),
    "factor of a schedule that is a text": (
        lambda: mx.lr_scheduler.FactorScheduler(1, "x"),
        TypeError,
        ["LRScheduler", "factor is 'x'", "number"],
    ),
    "scale of an initializer that is a text": (
        lambda: mx.init.Uniform("x"),
        TypeError,
        ["Uniform", "scale is 'x'", "number"],
    ),
    "sentences that are a number": (
        lambda: mx.rnn.BucketSentenceIter(3, 2),
        TypeError,
        ["BucketSentenceIter", "sentences is 3", "list of sentences"],
    ),
    "shapes of a summary that are a number": (
        lambda: mx.viz.print_summary(net(), 3),
        TypeError,
        ["print_summary", "shape is 3", "dict"],
    ),
    # ---- names ----
    "missing parameter": (lambda: mx.nd.FullyConnected(X), ValueError, ["num_hidden is missing", "int"]),
    "parameter with a typo": (
        lambda: mx.sym.Convolution(V("data"), num_filter=2, kernal=(3, 3)),
        ValueError,
        ["Convolution", "kernal", "Did you mean 'kernel'"],
    ),
    "choice with a typo": (
        lambda: mx.nd.Activation(X, act_type="rellu"),
        ValueError,
        ["Activation", "rellu", "Did you mean 'relu'", "sigmoid"],
    ),
    "operator with a typo": (
        lambda: mx.nd.FullyConected,
        AttributeError,
        ["'loomix.ndarray'", "FullyConected", "nearest are FullyConnected"],
    ),
    "module with a typo": (
        lambda: mx.modul,
        AttributeError,
        ["'loomix'", "'modul'", "Did you mean: 'module'"],
    ),
    "optimizer with a typo": (lambda: mx.optimizer.create("adm"), ValueError, ["adm", "Did you mean 'adam'"]),
    "optimizer's setting with a typo": (
        lambda: mx.optimizer.create("sgd", momentun=0.9),
        TypeError,
        ["SGD", "momentun", "Did you mean 'momentum'"],
    ),
    "metric with a typo": (
        lambda: mx.metric.create("acuracy"),
        ValueError,
        ["acuracy", "Did you mean 'accuracy'"],
    ),
    "initializer with a typo": (
        lambda: mx.init.create("xavir"),
        ValueError,
        ["xavir", "Did you mean 'xavier'"],
    ),
    "store with a typo": (
        lambda: mx.kv.create("locl"),
        ValueError,
        ["locl", "Did you mean 'local'", "dist_sync"],
    ),
    "model with a typo": (
        lambda: mx.gluon.model_zoo.vision.get_model("resnet19_v1"),
        ValueError,
        ["resnet19_v1", "Did you mean 'resnet18_v1'"],
    ),
    "data name": (
        lambda: mx.mod.Module(net(), data_names=["dta"]),
        ValueError,
        ["dta", "Did you mean 'data'"],
    ),
    "names of an iterator": (
        lambda: mx.mod.Module(net()).fit(data(data_name="x"), num_epoch=1),
        ValueError,
        ["[Module]", "'x'", "'data'"],
    ),
    "labels of an iterator": (
        lambda: mx.mod.Module(net()).fit(data(label_name="y"), num_epoch=1),
        ValueError,
        ["'y'", "softmax_label", "label_name"],
    ),
    "label of a loss without a name": (
        lambda: mx.mod.Module(net(name=None)).fit(data(), num_epoch=1),
        ValueError,
        ["label of a loss", "name='softmax'", "label_names="],
    ),
    "argument of an executor": (
        lambda: net().simple_bind(mx.cpu(), data=(2, 3)).forward(dta=X),
        TypeError,
        ["Executor.forward", "dta", "Did you mean 'data'"],
    ),
    "two arguments of one name": (
        lambda: (V("x") + V("x")).simple_bind(mx.cpu(), x=(2,)).arg_dict["x"],
        ValueError,
        ["Executor.arg_dict", "x", "arg_arrays"],
    ),
    "grad_req": (
        lambda: net().simple_bind(mx.cpu(), data=(2, 3), grad_req="wirte"),
        ValueError,
        ["wirte", "write", "add"],
    ),
    "missing argument of bind": (
        lambda: net().bind(mx.cpu(), {"data": X}),
        ValueError,
        ["bind", "args", "fc_weight", "data"],
    ),
    "layout": (
        lambda: mx.nd.Pooling(mx.nd.ones((1, 1, 4, 4)), kernel=(2, 2), layout="NWHC"),
        ValueError,
        ["NWHC", "NHWC"],
    ),
    "pad mode": (
        lambda: mx.nd.pad(mx.nd.ones((1, 1, 4, 4)), mode="mirror", pad_width=(0, 0, 0, 0, 1, 1, 1, 1)),
        ValueError,
        ["mirror", "reflect"],
    ),
    "internal that is not there": (
        lambda: net().get_internals()["fc_out"],
        ValueError,
        ["fc_out", "fc_output"],
    ),
    "parameter of a block": (
        lambda: block().collect_params()["weight"],
        KeyError,
        ["[ParameterDict]", "'weight'", "_weight', '"],
    ),
    "argument of a block": (
        lambda: mx.gluon.nn.Dense(4, activaton="relu"),
        TypeError,
        ["[Dense]", "'activaton'", "Did you mean 'activation'"],
    ),
    # ---- devices ----
    "unknown device": (lambda: mx.Context("tpu"), ValueError, ["tpu", "cpu", "gpu"]),
    "negative device": (lambda: mx.cpu(-1), ValueError, ["[Context] device id -1", "0 or more"]),
    "device that is a number": (lambda: mx.nd.zeros(2, ctx=3), TypeError, ["int", "Context", "mx.cpu()"]),
    "two devices in one call": (
        lambda: X + mx.nd.ones((2, 3), ctx=mx.cpu(1)),
        RuntimeError,
        ["lhs", "cpu(0)", "rhs", "cpu(1)"],
    ),
    "copy to a number": (lambda: X.copyto(3), TypeError, ["copyto", "int", "NDArray", "Context"]),
    "shares of devices": (
        lambda: mx.mod.Module(net(), context=[mx.cpu(0), mx.cpu(1)], work_load_list=[1]),
        ValueError,
        ["[Module] work_load_list", "1 entries", "2 contexts"],
    ),
    "device of a block's parameter": (
        lambda: block().weight.data(mx.cpu(1)),
        RuntimeError,
        ["weight", "cpu(1)", "cpu(0)"],
    ),
    # ---- files ----
    "file that is not there": (
        lambda: mx.nd.load("/nowhere/x.params"),
        OSError,
        ["[load] /nowhere/x.params", "No such file"],
    ),
    "folder that is not there": (
        lambda: mx.nd.save("/nowhere/x.params", [X]),
        OSError,
        ["[save] /nowhere/x.params", "No such file"],
    ),
    "array file of text": (
        lambda: with_file(b"hello, these are no arrays", mx.nd.load),
        OSError,
        ["no array file", "expected"],
    ),
    "empty array file": (
        lambda: with_file(b"", mx.nd.load),
        OSError,
        ["[load] /", "offset 0", "8 bytes are needed"],
    ),
    "symbol file that is not there": (
        lambda: mx.sym.load("/nowhere/x.json"),
        OSError,
        ["/nowhere/x.json", "No such"],
    ),
    "symbol file of text": (
        lambda: with_file(b"{]", mx.sym.load),
        ValueError,
        ["[Symbol.load", "JSON", "line 1, column 2"],
    ),
    "checkpoint that is not there": (
        lambda: mx.model.load_checkpoint("/nowhere/m", 3),
        OSError,
        ["[Symbol.load] '/nowhere/m-symbol.json'", "No such file"],
    ),
    "states of text": (
        lambda: with_file(b"hello", trained().load_optimizer_states),
        ValueError,
        ["states", "in file '/"],
    ),
    "parameters of other names": (
        lambda: bound().set_params({"fc_weight": mx.nd.ones((4, 3))}, {}),
        RuntimeError,
        ["fc_bias", "missing", "allow_missing"],
    ),
    "block's parameters of another size": (
        lambda: block().weight.set_data(mx.nd.ones((4, 9))),
        ValueError,
        ["(4, 9)", "(4, 3)"],
    ),
    "values to save that are a number": (
        lambda: mx.nd.save("/tmp/never", 3),
        TypeError,
        ["[save] data", "int", "NDArray, a list of them, or a dict"],
    ),
    "records that are not there": (
        lambda: mx.recordio.MXRecordIO("/nowhere/x.rec", "r"),
        OSError,
        ["/nowhere/x.rec", "No such file"],
    ),
    "flag of a record file": (
        lambda: mx.recordio.MXRecordIO("/tmp/x.rec", "q"),
        ValueError,
        ["[MXRecordIO]", "flag 'q'", "'r' or 'w'"],
    ),
    "records of text": (
        lambda: with_file(
            b"hello, these are no records", lambda name: mx.recordio.MXRecordIO(name, "r").read()
        ),
        OSError,
        ["[recordio] /", "offset 0", "0xced7230a"],
    ),
    "table of another width": (
        lambda: with_file(
            b"1,2\n3\n", lambda name: next(mx.io.CSVIter(data_csv=name, data_shape=(2,), batch_size=1))
        ),
        OSError,
        ["CSVIter", "columns", "from 2 to 1", "row 2"],
    ),
    # ---- stores ----
    "key without a value": (lambda: store().push("w", X), KeyError, ["[KVStore] key 'w'", "init first"]),
    "key that has a value": (
        lambda: store("w").init("w", X),
        ValueError,
        ["[KVStore] key 'w'", "init it once"],
    ),
    "value of another shape": (lambda: store("w").push("w", X), ValueError, ["w", "(2, 3)", "(2,)"]),
    "keys without values": (
        lambda: store("a", "b").push(["a", "b"], [X]),
        ValueError,
        ["value has 1", "2 keys"],
    ),
    "states without an optimizer": (
        lambda: store().save_optimizer_states("/tmp/x"),
        RuntimeError,
        ["[KVStore]", "call set_optimizer first"],
    ),
    "pull to nowhere": (
        lambda: store("w").pull("w"),
        (TypeError, ValueError),
        ["[KVStore] pull", "argument out"],
    ),
    "store outside of a cluster": (lambda: mx.kv.create("dist_sync"), ValueError, ["cluster", "launch"]),
    "unknown compression": (
        lambda: mx.kv.create("device").set_gradient_compression({"type": "3bit"}),
        ValueError,
        ["3bit", "2bit"],
    ),
    # ---- order of calls ----
    "forward before bind": (
        lambda: mx.mod.Module(net()).forward(batch()),
        AssertionError,
        ["Module.forward", "bind", "first"],
    ),
    "forward before init_params": (
        lambda: (lambda m: (m.bind([("data", (2, 3))], [("softmax_label", (2,))]), m.forward(batch())))(
            mx.mod.Module(net())
        ),
        RuntimeError,
        ["Module.forward", "init_params", "first"],
    ),
    "update before init_optimizer": (
        lambda: bound().update(),
        RuntimeError,
        ["Module.update", "init_optimizer", "first"],
    ),
    "backward of a bound predictor": (
        lambda: (lambda m: (m.forward(batch()), m.backward()))(bound(for_training=False)),
        ValueError,
        ["Module.backward", "for_training=False", "for_training=True"],
    ),
    "input gradients that nobody asked for": (
        lambda: (lambda m: (m.forward_backward(batch()), m.get_input_grads()))(bound()),
        ValueError,
        ["get_input_grads", "inputs_need_grad=False", "inputs_need_grad=True"],
    ),
    "fit without epochs": (lambda: mx.mod.Module(net()).fit(data()), ValueError, ["num_epoch", "missing"]),
    "backward without recording": (
        lambda: mx.nd.ones(3).backward(),
        RuntimeError,
        ["[backward] head 0", "(3,)", "under record()"],
    ),
    "backward twice": (backward_twice, RuntimeError, ["[autograd]", "elemwise_mul", "retain_graph=True"]),
    "backward of what was overwritten": (
        overwritten,
        RuntimeError,
        ["[backward] input 'lhs'", "elemwise_mul", "overwritten", "new array"],
    ),
    "writing to what is recorded": (
        lambda: recorded(lambda x: x.__iadd__(1)),
        RuntimeError,
        ["[_plus_scalar]", "in place while recording", "new array"],
    ),
    "block before initialize": (
        lambda: mx.gluon.nn.Dense(4, in_units=3)(X),
        RuntimeError,
        ["[Parameter]", "_weight'", "call initialize() first"],
    ),
    "trainer before backward": (
        lambda: mx.gluon.Trainer(block().collect_params(), "sgd").step(1),
        UserWarning,
        ["Trainer.step", "dense", "backward", "ignore_stale_grad"],
    ),
    "trainer of nothing": (
        lambda: mx.gluon.Trainer([3], "sgd"),
        ValueError,
        ["[Trainer] item 0", "int", "expected a Parameter"],
    ),
    "next after the end": (lambda: [it.next() for it in [data()] for _ in range(3)], StopIteration, []),
    "wait inside of an operator": (
        lambda: custom(lambda self, inputs, outputs: mx.nd.waitall()),
        RuntimeError,
        ["[Custom] operator 'wrong_use'", "wait_all() was called by the work of a task"],
    ),
    "error inside of an operator": (
        lambda: custom(lambda self, inputs, outputs: 1 / 0),
        RuntimeError,
        ["ZeroDivisionError: division by zero", "wrong_use", "wrong_uses.py"],
    ),
    "pickled symbol that is none": (
        lambda: pickle.loads(pickle.dumps(mx.nd.NDArray(None))).asnumpy(),
        ValueError,
        ["[asnumpy]", "holds nothing"],
    ),
    # ---- threads ----
    "outputs that another thread replaced": (
        lambda: replaced(lambda module: module.get_outputs()),
        RuntimeError,
        ["Module", "get_outputs", "mx.Predictor"],
    ),
    "gradients that another thread replaced": (
        lambda: replaced(lambda module: module.backward()),
        RuntimeError,
        ["Module", "backward", "Predictor"],
    ),
    "error on another thread": (
        lambda: on_thread(lambda: X + mx.nd.ones((2, 4))),
        ValueError,
        ["broadcast_add", "(2, 4)"],
    ),
    # ---- data and the Estimator ----
    "deviation that is zero": (
        lambda: mx.gluon.data.vision.transforms.Normalize(0.5, (0.1, 0)),
        ValueError,
        ["Normalize", "std is 0", "divided"],
    ),
    "fewer than no epochs of an estimator": (
        lambda: estimated([1, 2], epochs=-1),
        ValueError,
        ["fit", "epochs is -1", ">= 0"],
    ),
    "batches of an estimator that are a text": (
        lambda: estimated([1, 2], batches="3"),
        TypeError,
        ["fit", "batches is '3'", "int"],
    ),
    "estimator on nothing": (
        lambda: estimated([], batches=3),
        ValueError,
        ["fit", "train_data gave no batch"],
    ),
    # ---- settings of optimizers ----
    "learning rate that is a text": (
        lambda: mx.optimizer.SGD(learning_rate="0.1"),
        TypeError,
        ["SGD", "learning_rate is '0.1'", "str", "number"],
    ),
    "learning rate that is none": (
        lambda: mx.optimizer.Ftrl(learning_rate=float("nan")),
        ValueError,
        ["Ftrl", "learning_rate is nan", "a number >= 0"],
    ),
    "negative learning rate": (
        lambda: trained(optimizer_params={"learning_rate": -0.1}),
        ValueError,
        ["SGD", "learning_rate is -0.1", ">= 0"],
    ),
    "learning rate set to a text": (
        lambda: mx.optimizer.SGD().set_learning_rate("0.1"),
        TypeError,
        ["set_learning_rate", "'0.1'", "number"],
    ),
    "weight decay without a value": (
        lambda: mx.optimizer.Adam(wd=None),
        TypeError,
        ["Adam", "wd is None", "number"],
    ),
    "momentum that is a text": (
        lambda: trained(optimizer_params={"momentum": "0.9"}),
        TypeError,
        ["SGD", "momentum is '0.9'", "number"],
    ),
    "average's decay above one": (
        lambda: mx.optimizer.Adam(beta1=2.0),
        ValueError,
        ["Adam", "beta1 is 2.0", "< 1"],
    ),
    "schedule that is a number": (
        lambda: mx.optimizer.SGD(lr_scheduler=0.1),
        TypeError,
        ["SGD", "lr_scheduler", "float", "LRScheduler", "FactorScheduler("],
    ),
    "schedule that is a class": (
        lambda: mx.optimizer.SGD(lr_scheduler=mx.lr_scheduler.FactorScheduler),
        TypeError,
        ["lr_scheduler", "the class FactorScheduler; did you forget ()"],
    ),
    "schedule without the rate that is given": (
        lambda: mx.optimizer.SGD(lr_scheduler=lambda count: 0.1, learning_rate=0.2),
        TypeError,
        ["lr_scheduler", "base_lr", "learning_rate=0.2 has no effect"],
    ),
    "optimizer's settings in a list": (
        lambda: mx.gluon.Trainer(block().collect_params(), "sgd", [0.1]),
        TypeError,
        ["Trainer", "optimizer_params is [0.1]", "{'learning_rate': 0.1}"],
    ),
    "optimizer that is a class": (
        lambda: mx.gluon.Trainer(block().collect_params(), mx.optimizer.SGD),
        TypeError,
        ["optimizer", "the class SGD; did you forget ()", "'sgd'"],
    ),
    "step of no samples": (
        lambda: mx.gluon.Trainer(block().collect_params(), "sgd").step(0),
        ValueError,
        ["Trainer", "batch_size is 0", "above 0"],
    ),
    "step of less than no samples": (
        lambda: mx.gluon.Trainer(block().collect_params(), "sgd").step(-1),
        ValueError,
        ["Trainer", "batch_size is -1", "above 0"],
    ),
    "step of a text": (
        lambda: mx.gluon.Trainer(block().collect_params(), "sgd").step("4"),
        TypeError,
        ["Trainer", "batch_size is '4'", "str"],
    ),
    # ---- signals ----
    "worker of a loader that a signal ends": (
        lambda: list(mx.gluon.data.DataLoader(Killed(), 2, num_workers=1)),
        RuntimeError,
        ["[DataLoader] worker 0 (process ", "SIGKILL", "batches to load"],
    ),
    "handler of a signal that raises in a wait": (
        lambda: with_signal(signal.SIGUSR1, busy().wait_to_read),
        ValueError,
        ["[handler] signal", "SIGUSR1"],
    ),
    "handler of a signal that is set inside of an operator": (
        lambda: custom(lambda self, inputs, outputs: signal.signal(signal.SIGUSR1, signal.SIG_IGN)),
        ValueError,
        ["[Custom] operator 'wrong_use'", "signal only works in main thread", "wrong_uses.py"],
    ),
    # ---- values that a mode of debugging looks for ----
    "logarithm of a negative number": (
        lambda: checked(lambda: mx.nd.log(mx.nd.array([-1]))),
        ValueError,
        ["nan_check", "log", "NaN", "wrong_uses.py"],
    ),
    "label out of range": (
        lambda: checked(lambda: mx.nd.pick(X, mx.nd.array([0, 7]))),
        IndexError,
        ["pick", "7", "3 classes"],
    ),
}
