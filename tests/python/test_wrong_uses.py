# SPDX-License-Identifier: Apache-2.0
"""Each wrong use raises the right kind of error, whose text names what, where, expected and given."""

from __future__ import annotations

import pathlib
import warnings

import pytest
import wrong_gluon_uses
import wrong_uses

USES = {**wrong_uses.USES, **wrong_gluon_uses.USES}


@pytest.mark.parametrize("name", USES)
def test_wrong_use(name):
    function, kind, words = USES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning if kind is not UserWarning else DeprecationWarning)
        with pytest.raises(kind) as error:
            function()
    for word in words:
        assert word in str(error.value), (word, str(error.value))


def test_there_are_enough():
    assert len(USES) >= 120


# Twenty mistakes that a type checker can see: names of modules and attributes, arguments' names and types.
TYPOS = """
import loomix as mx

x = mx.nd.ones((2, 3))
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
"""


def test_a_type_checker_sees_typos(tmp_path):
    api = pytest.importorskip("mypy.api")
    root = pathlib.Path(__file__).parents[2]
    script = tmp_path / "typos.py"
    script.write_text(TYPOS)
    command = [
        "--cache-dir",
        str(tmp_path / "cache"),
        "--config-file",
        str(root / "pyproject.toml"),
        str(script),
    ]
    environment = {"MYPYPATH": str(root / "bindings/python")}
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in environment.items():
            patch.setenv(variable, value)
        patch.chdir(root)
        report, problems, _ = api.run(["--follow-imports=silent", *command])
    found = {
        int(line.split(":")[1]) for line in report.splitlines() if "typos.py:" in line and ": error:" in line
    }
    lines = {number for number, line in enumerate(TYPOS.splitlines(), 1) if number > 4 and line}
    assert len(lines) == 20
    missed = [TYPOS.splitlines()[number - 1] for number in sorted(lines - found)]
    assert len(found & lines) >= 18, (missed, report, problems)
