# SPDX-License-Identifier: Apache-2.0
"""The name ``mxnet``: ``loomix.alias`` and ``python -m loomix run``."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PICKLES = Path(__file__).resolve().parents[1] / "compat" / "pickles.json"


def run(*arguments, cwd=None, path=(), **variables):
    """Runs Python; status and both outputs."""
    search = os.pathsep.join([*map(str, path), *sys.path])
    environment = {**os.environ, "PYTHONPATH": search, **variables}
    command = [sys.executable, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=cwd, env=environment)
    return result.returncode, result.stdout, result.stderr


def output(code, **more):
    status, out, err = run("-c", textwrap.dedent(code), **more)
    assert status == 0, err
    return out


def test_every_form_of_import():
    assert (
        output(
            """
            import loomix, loomix.alias
            loomix.alias.install()
            loomix.alias.install()
            import mxnet as mx
            import mxnet.gluon.nn as nn
            import mxnet.ndarray.sparse
            from mxnet import autograd, gluon, nd
            from mxnet.gluon.data.vision import transforms
            import importlib.util, sys

            import mxnet.libinfo
            from mxnet.libinfo import __version__, find_lib_path

            print(mx.__version__, mx.__name__, "mxnet.gluon.nn" in sys.modules)
            assert __version__ == mx.libinfo.__version__ == "1.9.1" and mx.libinfo is sys.modules["mxnet.libinfo"]
            assert loomix.libinfo.__version__ == loomix.__version__ and find_lib_path is loomix.libinfo.find_lib_path
            assert mx.nd is nd is loomix.nd and mx.gluon is gluon is sys.modules["mxnet.gluon"]
            assert nn is loomix.gluon.nn is sys.modules["mxnet.gluon.nn"] and autograd is loomix.autograd
            assert transforms.Compose is loomix.gluon.data.vision.transforms.Compose
            assert nn.__name__ == nn.__spec__.name == "loomix.gluon.nn"
            assert importlib.util.find_spec("mxnet.gluon") and not importlib.util.find_spec("mxnet.gluons")
            assert set(dir(mx)) >= {"nd", "gluon", "cpu", "__version__"}
            mx.extra = 1
            assert loomix.extra == 1 and loomix.__version__ != "1.9.1"
            del mx.extra
            assert not hasattr(loomix, "extra")
            print(nd.ones(2).asnumpy())
            """
        )
        == "1.9.1 mxnet True\n[1. 1.]\n"
    )


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("import mxnet.gluons", "ModuleNotFoundError: No module named 'mxnet.gluons'"),
        ("import mxnet.nd", "ModuleNotFoundError: No module named 'mxnet.nd'"),
        ("from mxnet import gluons", "ImportError: cannot import name 'gluons' from 'mxnet'"),
        ("from mxnet import tvmop", "ModuleNotFoundError: mx.tvmop is not planned"),
        ("import mxnet.tvmop as op", "ModuleNotFoundError: mx.tvmop is not planned"),
        ("import mxnet; mxnet.gluons", "AttributeError: module 'loomix' has no attribute 'gluons'"),
    ],
)
def test_names_that_are_missing(statement, error):
    status, _, err = run("-c", f"import loomix.alias; loomix.alias.install()\n{statement}")
    assert status == 1 and error in err


def test_another_mxnet(tmp_path):
    (tmp_path / "mxnet").mkdir()
    (tmp_path / "mxnet" / "__init__.py").write_text("__version__ = '1.8.0'\n")
    status, _, err = run("-c", "import mxnet, loomix.alias; loomix.alias.install()", path=[tmp_path])
    assert status == 1
    assert f"ImportError: [alias] mxnet 1.8.0 from {tmp_path}/mxnet/__init__.py is imported already" in err
    # One that is only installed is passed over.
    code = "import loomix.alias; loomix.alias.install(); import mxnet; print(mxnet.__version__)"
    assert output(code, path=[tmp_path]) == "1.9.1\n"


def test_pickles_of_mxnet():
    """Objects that MXNet 1.9.1 has pickled work."""
    output(
        f"""
        import base64, json, pickle
        import loomix.alias
        loomix.alias.install()
        import mxnet as mx, numpy as np

        found = {{}}
        for name, text in json.load(open({str(PICKLES)!r})).items():
            found[name] = pickle.loads(base64.b64decode(text))
        assert (found["array"].asnumpy() == [[1, 2], [3, 4]]).all() and found["array"].dtype == np.float16
        assert found["csr"].stype == "csr" and (found["csr"].asnumpy() == [[0, 1], [2, 0]]).all()
        with found["context"]:
            assert mx.nd.ones(1).context == mx.cpu(1)
        assert found["symbol"].list_arguments() == ["data", "fc_weight", "fc_bias"]
        assert found["accuracy"].get() == found["accuracy"].get_global() == ("accuracy", 0.5)
        assert found["schedule"](3) == 0.1 and abs(found["schedule"](5) - 0.01) < 1e-9
        assert found["desc"] == mx.io.DataDesc("data", (1, 2)) and found["dataset"][1] == (2, 4)
        assert list(found["batches"]) == [[0, 1], [2, 3], [4]]
        assert found["vocabulary"].to_indices(["b", "a", "z"]) == [1, 2, 0]
        assert found["class"] is mx.gluon.nn.Dense
        for name, value in found.items():
            kind, _, name = name.partition(" ")
            if kind == "optimizer":
                results = []
                for optimizer in (value, mx.optimizer.create(name, learning_rate=0.25)):
                    mx.random.seed(0)
                    weight, update = mx.nd.ones((2, 3)), mx.optimizer.get_updater(optimizer)
                    for _ in range(2):
                        update(0, mx.nd.ones((2, 3)), weight)
                    results.append(weight.asnumpy())
                assert (results[0] == results[1]).all() and (results[0] != 1).any(), name
            elif kind == "initializer":
                weight = mx.nd.full((4, 4, 2, 2), 7)
                value(mx.init.InitDesc("x_weight"), weight)
                assert (weight.asnumpy() != 7).all(), name
            elif kind == "metric":
                wanted = mx.metric.create(name)
                shape = (2, 2) if name in ("acc", "ce") else (2,)
                for metric in (value, wanted):
                    scores = mx.nd.array(np.arange(1, 1 + np.prod(shape)).reshape(shape) / 8)
                    metric.update([mx.nd.array([1, 0])], [scores])
                assert value.get() == wanted.get() and value.get()[1] == value.get()[1], name
        """
    )


@pytest.fixture
def script(tmp_path):
    """A script, its helper, and an empty package called mxnet, to compare with Python itself."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "helper.py").write_text("def fail(error):\n    raise error\n")
    (folder / "script.py").write_text(
        textwrap.dedent(
            """
            import pickle, sys
            import mxnet
            import helper

            class Own:
                pass

            pickle.loads(pickle.dumps(Own()))
            print(__name__, __file__, __spec__, __package__, __doc__, sys.argv, sys.path[0])
            assert sys.modules["__main__"].Own is Own
            if len(sys.argv) > 1:
                try:
                    mxnet.nd if sys.argv[1] == "nd" else 1 / 0
                except ZeroDivisionError:
                    helper.fail(eval(sys.argv[1]))
            """
        )
    )
    (folder / "broken.py").write_text("x = = 1\n")
    stand_in = tmp_path / "stand_in" / "mxnet"
    stand_in.mkdir(parents=True)
    (stand_in / "__init__.py").write_text("")
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ("script.py",),
        ("script.py", "ValueError('text')", "--lr", "-h"),
        ("script.py", "SystemExit(3)"),
        ("script.py", "KeyboardInterrupt()"),
        ("broken.py",),
    ],
)
def test_a_script_runs_as_with_python(script, arguments):
    name, *rest = arguments
    got = run("-m", "loomix", "run", f"scripts/{name}", *rest, cwd=script.parent)
    wanted = run(f"scripts/{name}", *rest, cwd=script.parent, path=[script.parent / "stand_in"])
    assert got == wanted
    assert "loomix" not in got[2] and ("broken" in name or "__main__" in got[1])


def test_mxnet_is_loomix_in_a_script(script):
    status, out, err = run("-m", "loomix", "run", script / "script.py", "nd", cwd="/")
    assert status == 0, err
    assert str(script / "script.py") in out


def test_a_script_that_cannot_be_read(tmp_path):
    status, _, err = run("-m", "loomix", "run", tmp_path / "none.py")
    assert status == 2 and "cannot be read: No such file or directory" in err


def test_a_server_runs_no_script(script):
    status, out, err = run("-m", "loomix", "run", script / "script.py", DMLC_ROLE="server")
    assert status == 1 and "DMLC_PS_ROOT_URI" in err and not out
