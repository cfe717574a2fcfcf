# SPDX-License-Identifier: Apache-2.0
"""The examples in the documentation of the Python modules."""

import doctest
import importlib
import pathlib
import re

import loomix as mx
import pytest
from loomix import _core, _operators

PACKAGE = pathlib.Path(mx.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"loomix.{name}")
    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0


def test_examples_of_operators():
    operators = {operator for _, operator in _core.operator_names(False)}
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    for name in sorted(operators):
        info = _core.operator_info(name)
        if _operators.public_names(info):
            shapes, example = _operators.example_of(info)
            assert shapes and example, name
            runner.run(parser.get_doctest(example, {"mx": mx}, name, None, 0))
    assert runner.failures == 0


# What needs a GPU, the network, files of data sets or a cluster, is set by the launcher, or only raises an error.
WITHOUT_EXAMPLE = {
    "FastText", "GloVe", "KVStoreServer", "MXDataIter", "NotImplementedForSymbol", "check_call", "download",
    "download_model", "get_bz2_data", "get_cifar10", "get_cuda_compute_capability", "get_gpu_memory",
    "get_im2rec_path", "get_mnist", "get_mnist_iterator", "get_mnist_pkl", "get_mnist_ubyte", "get_zip_data",
    "gpu_memory_info", "imdecode", "is_recording", "is_training", "load", "set_kvstore_handle",
    "shuffle_csr_column_indices",
}  # fmt: skip
DIRECTIVE = re.compile(r"automodule:: (\S+)\n(?:   :members: (.*)\n)?")


def test_public_names_have_examples():
    bare = set()
    for page in (pathlib.Path(__file__).parents[2] / "docs" / "reference").glob("*.md"):
        for name, members in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            module = importlib.import_module(name)
            for member in members.split(", ") if members else getattr(module, "__all__", vars(module)):
                value = getattr(module, member, None)
                is_error = isinstance(value, type) and issubclass(value, BaseException)
                ours = getattr(value, "__module__", None) or name
                if member.startswith("_") or not callable(value) or is_error or not ours.startswith(name):
                    continue
                if ">>> " not in (value.__doc__ or ""):
                    bare.add(member)
    assert bare <= WITHOUT_EXAMPLE
