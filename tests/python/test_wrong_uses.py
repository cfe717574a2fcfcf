# SPDX-License-Identifier: Apache-2.0
"""Each wrong use raises the right kind of error, whose text names what, where, expected and given."""

from __future__ import annotations

import pathlib
import re
import warnings

import pytest
import wrong_gluon_uses
import wrong_training_uses
import wrong_uses

USES = {**wrong_uses.USES, **wrong_gluon_uses.USES, **wrong_training_uses.USES}


@pytest.mark.parametrize("name", USES)
def test_wrong_use(name):
    function, kind, words = USES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning if kind is not UserWarning else DeprecationWarning)
        with pytest.raises(kind) as error:
            function()
    for word in words:
        assert word in str(error.value), (word, str(error.value))
    assert name in WITHOUT_PLACE or re.match(r"\[[\w. ]+\] \S", str(error.value)), str(error.value)


# Python's own errors, and the end of an iterator, which has no text.
WITHOUT_PLACE = {"list as an operand", "operator with a typo", "module with a typo", "next after the end"}


def test_there_are_enough():
    assert len(USES) >= 120
    thin = [name for name, (_, _, words) in USES.items() if len("".join(words)) < 8]
    assert thin == ["next after the end"]


# Mistakes that a type checker sees: names of modules and attributes, arguments' names and types.
TYPOS = """
import loomix as mx

x = mx.nd.ones((2, 3))
it = mx.io.NDArrayIter(x, batch_size=2)
module = mx.mod.Module(mx.sym.Variable("data"))

mx.nd.onse((2, 3))
mx.modul.Module
mx.nd.zeros(shap=(2, 3))
mx.nd.array([1, 2], dtyp="int32")
x.reshpe((3, 2))
x.asnumpi()
mx.nd.FullyConnected(x, x, num_hiden=4)
mx.nd.Activation(x, act_tpye="relu")
mx.sym.Variabel("data")
mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden="four", nmae="fc")
mx.mod.Module(mx.sym.Variable("data"), data_nmaes=["data"])
mx.mod.Module(mx.sym.Variable("data")).fitt(None)
mx.io.NDArrayIter(x, batchsize=2)
mx.io.DataBatch([x], lable=[x])
mx.optimizer.SGD(momentun=0.9)
mx.init.Xavier(magnitud=2)
mx.gluon.nn.Dense(4, activaton="relu")
mx.kv.create(3)
mx.autograd.recrod()
mx.Predictor("model", epoch="3")
mx.gluon.nn.Dense(units=3, use_bais=False)
mx.gluon.nn.BatchNorm(momentun=0.9)
mx.gluon.nn.Conv2D(3, kernal_size=3)
mx.gluon.nn.Dropout(0.5, axis=[1])
mx.gluon.nn.HybridSequential(prefx="a")
mx.gluon.loss.SoftmaxCrossEntropyLoss(sparse_lable=False)
mx.gluon.rnn.LSTM(3, num_layer=2)
mx.gluon.Trainer({}, "sgd", kvstor="local")
mx.gluon.data.DataLoader([1], batch_size=1, shuffel=True)
mx.io.ImageRecordIter(path_imgrec="a.rec", data_shape=(3, 2, 2), batch_size=1, rand_miror=True)
mx.io.ImageRecordIter(path_imgrec="a.rec", data_shape=(3, 2, 2), batch_size="1")
mx.io.CSVIter(data_cvs="a.csv", data_shape=(3,))
mx.io.NDArrayIter(x, shuffel=True)
mx.random.sed(1)
mx.random.uniform(shap=3)
mx.nd.random.uniform(shap=3)
mx.nd.random.normal(scle=3)
mx.nd.save("x", 3)
mx.nd.load(3)
mx.metric.create(3)
mx.metric.Accuracy(axs=1)
module.fit(it, num_epoch="2")
module.fit(it, num_epochs=2)
module.fit(it, optimiser="sgd")
module.score(it, 3)
module.predict(it, num_batches=2)
module.init_params(3)
module.bind(it.provide_data, for_traning=True)
module.init_optimizer(optimizer=3)
mx.optimizer.Adam(beta_1=0.9)
mx.optimizer.create(3)
mx.lr_scheduler.FactorScheduler(steps=3)
mx.init.Normal(sigm=3)
mx.callback.Speedometer(batchsize=3)
mx.model.load_chekpoint("a", 1)
mx.test_utils.assert_almost_equl(x, x)
mx.contrib.txt
x.astype(dtyp="int32")
mx.image.CreateAugmenter((3, 2, 2), rand_miror=True)
mx.gluon.nn.Dense("3")
mx.cpu("0")
mx.autograd.backward(x, retain_grph=True)
x.sum(axs=1)
mx.viz.plot_netwrk(module)
mx.np.matmull
mx.np.exp(1.0).exponent
mx.np.sum(mx.np.ones(2), axes=0)
mx.np.zeros((2, 2), ctx="cpu")
mx.np.sum(mx.np.ones(2), axis="0")
mx.np.add(mx.cpu(), 1)
"""
# And what it must not take for one.
RIGHT = """
from typing import Any

import loomix as mx
import numpy as np

class Net(mx.gluon.HybridBlock):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dense = mx.gluon.nn.Dense(3, prefix="dense_", params=None)

settings: dict[str, Any] = {"shuffle": True}
mx.io.ImageRecordIter(path_imgrec="a.rec", data_shape=(3, 2, 2), batch_size=1, mean_r=127, data_name="x", **settings)
it = mx.io.NDArrayIter(np.ones((4, 3)), np.zeros(4), 2)
module = mx.mod.Module(mx.sym.Variable("data"))
module.fit(it, eval_metric=["acc", mx.metric.Accuracy()], optimizer=mx.optimizer.SGD(), num_epoch=2)
module.score(it, lambda label, prediction: 0.0)
module.init_params(mx.init.Xavier())
mx.nd.save("x", [mx.nd.ones(2)])
mx.nd.save("x", {"a": mx.nd.ones(2), "b": mx.nd.random.uniform(shape=3, name="b")})
mx.random.seed(1)
mx.random.randn(2, 3, scale=2, dtype="float64")
mx.contrib.text.vocab
mx.test_utils.assert_almost_equal(np.ones(2), mx.nd.ones(2))
mx.np.exp(mx.np.ones(2)).as_nd_ndarray()
mx.np.split(mx.np.arange(4), 2)[0].sum(axis=0, keepdims=True)
mx.np.transpose(mx.np.zeros((2, 3), dtype="float16", ctx=mx.cpu()), axes=(1, 0))
mx.np.where(mx.np.ones(2) > 0, [1, 2], 0.5)
mx.np.concatenate([mx.np.ones(2), mx.np.zeros(2)], axis=0)
mx.np.expand_dims([1, 2], axis=(0, 1))
mx.np.tile(mx.np.ones(2), (2, 1))
"""


@pytest.mark.source
def test_a_type_checker_sees_typos_and_nothing_else(tmp_path):
    api = pytest.importorskip(
        "mypy.api", reason="mypy is in the extra `types`; tools/check_types.sh installs it"
    )
    root = pathlib.Path(__file__).parents[2]
    scripts = [tmp_path / "typos.py", tmp_path / "right.py"]
    for script, text in zip(scripts, (TYPOS, RIGHT)):
        script.write_text(text)
    settings = ["--cache-dir", str(tmp_path / "cache"), "--config-file", str(root / "pyproject.toml")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYPYPATH", str(root / "bindings/python"))
        patch.chdir(root)
        report, problems, _ = api.run(["--follow-imports=silent", *settings, *map(str, scripts)])
    found = re.findall(r"(typos|right)\.py:(\d+): error:", report)
    lines = list(enumerate(TYPOS.splitlines(), 1))
    first = next(number for number, line in lines if line.startswith("module =")) + 1
    typos = {("typos", str(number)): line for number, line in lines[first:]}
    assert len(typos) >= 60
    assert not [line for place, line in typos.items() if place not in found], report + problems
    assert not set(found) - typos.keys(), report
