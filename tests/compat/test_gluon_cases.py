# SPDX-License-Identifier: Apache-2.0
"""Gluon's layers, losses, cells and networks: eager and hybridized give the same, and none is forgotten."""

import inspect
import os
import sys
from pathlib import Path
from types import FunctionType

import loomix as mx
import pytest
from loomix import gluon

sys.path.insert(0, str(Path(__file__).parent))
import gluon_cases as cases

pytestmark = pytest.mark.library

BASES = {"Block", "HybridBlock", "Loss", "RecurrentCell", "HybridRecurrentCell", "ModifierCell"}
QUICK = ("resnet18_v1", "squeezenet1_1", "mobilenet0_25", "mobilenet_v2_0_25")
NETWORKS = (
    cases.NETWORKS if os.environ.get("LOOMIX_TEST_NETWORKS") == "all" else QUICK
)  # `.ci/long gluon`: all


def started(case):
    """The block with random parameters of known shapes."""
    mx.random.seed(4)
    block = case.make(gluon)
    if case in cases.NETWORKS.values():
        block.initialize(mx.init.Xavier())
    else:
        for param in block.collect_params(".*(weight|bias|alpha)").values():
            param.init = None
        block.initialize(mx.init.Uniform(0.6))
    case.run(mx, block, [cases.array_of(mx, array) for array in case.arrays()])
    return block


def largest_difference(case):
    """Between eager and hybridized: as a part of the largest value of an array."""
    block = started(case)
    before = cases.states_of(block)
    eager = cases.compute(mx, case, block)
    for key, param in block._collect_params_with_prefix().items():
        param.set_data(cases.array_of(mx, before[key]))
    hybrid = cases.compute(mx, case, block, hybrid=True)
    return cases.differences(hybrid, eager)


@pytest.mark.parametrize("name", {**cases.LAYERS, **cases.LOSSES, **cases.CELLS})
def test_hybridized_is_eager(name):
    found = largest_difference(cases.CASES[name])
    assert {key: value for key, value in found.items() if value > 1e-5} == {}


@pytest.mark.parametrize("name", {**cases.LAYERS, **cases.LOSSES, **cases.CELLS})
@pytest.mark.parametrize("hybrid", [False, True], ids=["eager", "hybrid"])
def test_numpy_mode_gives_the_same(name, hybrid):
    case = cases.CASES[name]
    block = started(case)
    before = cases.states_of(block)
    expected = cases.compute(mx, case, block)
    mx.npx.set_np()
    try:
        block = case.make(gluon)
        block.initialize()
        case.run(mx, block, [mx.np.array(array) for array in case.arrays()])
        for key, param in block._collect_params_with_prefix().items():
            param.set_data(cases.array_of(mx, before[key]))
        found = cases.compute(mx, case, block, hybrid)
    finally:
        mx.npx.reset_np()
    different = cases.differences(found, expected)
    assert {key: value for key, value in different.items() if value > 1e-5} == {}


@pytest.mark.parametrize("name", NETWORKS)
def test_hybridized_networks_are_eager(name):
    found = largest_difference(cases.CASES[name])
    assert {key: value for key, value in found.items() if value > 1e-5} == {}


def blocks_of(module):
    found = {name: getattr(module, name) for name in module.__all__}
    return {
        name: item
        for name, item in found.items()
        if inspect.isclass(item) and issubclass(item, gluon.Block) and name not in BASES
    }


@pytest.mark.parametrize(
    "module",
    [gluon.nn, gluon.rnn, gluon.loss, gluon.contrib.nn, gluon.contrib.cnn, gluon.contrib.rnn],
    ids=lambda module: module.__name__,
)
def test_every_block_has_a_case(module):
    used = set()
    for name, case in cases.CASES.items():
        if name not in cases.NETWORKS:
            case.make(gluon).apply(lambda block: used.add(type(block)))
    assert {name for name, item in blocks_of(module).items() if item not in used} == set()


def test_every_network_has_a_case():
    vision = gluon.model_zoo.vision
    functions = {name for name in vision.__all__ if isinstance(getattr(vision, name), FunctionType)}
    names = {name for name in functions if not name.startswith("get_")}
    assert names == set(cases.NETWORKS)
