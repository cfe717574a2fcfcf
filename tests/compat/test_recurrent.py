# SPDX-License-Identifier: Apache-2.0
"""Gluon's recurrent and deformable layers: MXNet 1.9.1's files and values, eager, hybridized, and as one graph."""

import importlib.util
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

_spec = importlib.util.spec_from_file_location(
    "recurrent_cases", Path(__file__).parent / "recurrent_cases.py"
)
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)


class Whole(mx.gluon.HybridBlock):
    """A block and how a case runs it, as one graph; the last input are lengths where the case has some."""

    def __init__(self, name, block):
        super().__init__(prefix="")
        self.case, self.block = name, block

    def hybrid_forward(self, F, *arrays):
        lengths = arrays[-1:] if "lengths" in self.case else ()
        return cases.CASES[self.case][2](F, self.block, list(arrays[: len(arrays) - len(lengths)]), *lengths)


def block_of(name):
    block = cases.make(mx, name)
    block.load_parameters(str(cases.FILES / f"{name}.params"))
    return block


def close(got, want, tolerance):
    assert set(got) == set(want)
    for key, values in got.items():
        np.testing.assert_allclose(values, want[key], rtol=tolerance, atol=tolerance, err_msg=key)


@pytest.mark.parametrize("name", cases.CASES)
def test_values_and_gradients_are_those_of_mxnet(name):
    want = np.load(cases.FILES / f"{name}.npz")
    eager = cases.compute(mx, name, block_of(name))
    close(eager, dict(want), 1e-4)
    close(cases.compute(mx, name, block_of(name), hybrid=True), eager, 1e-5)


@pytest.mark.parametrize("name", cases.CASES)
def test_a_graph_of_the_whole_gives_the_same(name):
    whole = Whole(name, block_of(name))
    whole.hybridize()
    arrays = [mx.nd.array(values) for values in cases.inputs_of(name)]
    if "lengths" in name:
        arrays.append(mx.nd.array(cases.LENGTHS))
    outputs = whole(*arrays)
    want = np.load(cases.FILES / f"{name}.npz")
    for i, output in enumerate(outputs):
        np.testing.assert_allclose(output.asnumpy(), want[f"out_{i}"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", cases.CASES)
def test_files_have_the_same_bytes(name, tmp_path):
    block_of(name).save_parameters(str(tmp_path / "own.params"))
    assert (tmp_path / "own.params").read_bytes() == (cases.FILES / f"{name}.params").read_bytes()
