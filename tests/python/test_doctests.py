# SPDX-License-Identifier: Apache-2.0
"""The examples in the documentation of the Python modules."""

import doctest
import importlib

import loomix as mx
import pytest
from loomix import _core, _operators

MODULES = [
    "attribute",
    "base",
    "callback",
    "context",
    "contrib.amp.amp",
    "contrib.amp.loss_scaler",
    "engine",
    "gluon.base_block",
    "gluon.base_parameter",
    "gluon.data.dataloader",
    "gluon.data.dataset",
    "gluon.data.sampler",
    "gluon.data.vision.transforms",
    "gluon.contrib.cnn.conv_layers",
    "gluon.contrib.nn.basic_layers",
    "gluon.contrib.rnn.conv_rnn_cell",
    "gluon.contrib.rnn.rnn_cell",
    "gluon.hybrid_block",
    "gluon.loss",
    "gluon.model_zoo.vision",
    "gluon.nn.activations",
    "gluon.nn.basic_layers",
    "gluon.parameter_dict",
    "gluon.rnn.base_cell",
    "gluon.rnn.base_layer",
    "gluon.rnn.cell_groups",
    "gluon.rnn.cells",
    "gluon.rnn.modifier_cells",
    "gluon.rnn.rnn_layer",
    "gluon.symbol_block",
    "gluon.trainer",
    "gluon.utils",
    "initializer",
    "io.base",
    "io.ndarray_iter",
    "kvstore",
    "lr_scheduler",
    "metric.base",
    "model",
    "module.base_module",
    "module.bucketing_module",
    "module.executor_group",
    "module.module",
    "module.sequential_module",
    "monitor",
    "name",
    "optimizer.base",
    "profiler",
    "random",
    "recordio",
    "rnn.base_cell",
    "rnn.cells",
    "rnn.conv_cells",
    "rnn.fused_cell",
    "rnn.io",
    "rnn.modifier_cells",
    "rnn.rnn",
    "runtime",
    "test_utils.compare",
    "test_utils.symbols",
    "util",
    "visualization",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"loomix.{name}")
    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0


def test_examples_of_operators():
    operators = {operator for _, operator in _core.operator_names(False)}
    public = sorted(name for name in operators if _operators.place_of(name)[0] != "_internal")
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    for name in public:
        shapes, example = _operators.example_of(name)
        assert shapes and example, name
        runner.run(parser.get_doctest(example, {"mx": mx}, name, None, 0))
    assert runner.failures == 0
