# SPDX-License-Identifier: Apache-2.0
"""Networks that MXNet 1.9.1 exported in NumPy mode (`numpy_mode_cases.py` made them) give MXNet's outputs."""

from pathlib import Path

import loomix as mx
import numpy as onp
import pytest
from loomix import np, npx

FILES = Path(__file__).parent / "files" / "numpy_mode"


@pytest.fixture(autouse=True)
def numpy_mode():
    npx.set_np()
    yield
    npx.reset_np()


CASES = {
    "net": ["data"],
    "ops": ["data0", "data1"],
    "transformer": ["data0", "data1"],
    "recurrent": ["data0", "data1", "data2"],
    "linear": ["data0", "data1"],
    "more": ["data0", "data1"],
}


@pytest.mark.parametrize(("name", "inputs"), CASES.items())
def test_outputs(name, inputs, tmp_path):
    net = mx.gluon.SymbolBlock.imports(f"{FILES}/{name}-symbol.json", inputs, f"{FILES}/{name}-0000.params")
    with onp.load(FILES / f"{name}.npz") as arrays:
        saved = dict(arrays)
    given = [np.array(saved[key], dtype=saved[key].dtype) for key in ("x", "y", "z") if key in saved]
    mx.sym.load(f"{FILES}/{name}-symbol.json").save(str(tmp_path / "again.json"))
    again = mx.gluon.SymbolBlock.imports(str(tmp_path / "again.json"), inputs, f"{FILES}/{name}-0000.params")
    for block in (net, again):
        outputs = block(*given)
        assert len(outputs) == len([key for key in saved if key.startswith("o")])
        for i, output in enumerate(outputs):
            expected = saved[f"o{i}"]
            assert output.shape == expected.shape and output.dtype == expected.dtype, i
            onp.testing.assert_allclose(output.asnumpy(), expected, rtol=1e-4, atol=1e-5, err_msg=str(i))
