# SPDX-License-Identifier: Apache-2.0
"""The examples in the documentation of the Python modules."""

import doctest
import importlib
import pathlib
import re
import types

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


# What needs a GPU, the network, files of data sets, a compiled library or a cluster, is set by the launcher, or only
# raises an error.
WITHOUT_EXAMPLE = {
    "base.check_call", "context.gpu_memory_info", "contrib.text.embedding.FastText",
    "contrib.text.embedding.GloVe", "io.MXDataIter", "kvstore.KVStoreServer", "library.load",
    "profiler.set_kvstore_handle", "test_utils.download", "test_utils.download_model",
    "test_utils.get_bz2_data", "test_utils.get_cifar10", "test_utils.get_im2rec_path", "test_utils.get_mnist",
    "test_utils.get_mnist_iterator", "test_utils.get_mnist_pkl", "test_utils.get_mnist_ubyte",
    "test_utils.get_zip_data", "test_utils.shuffle_csr_column_indices", "util.get_cuda_compute_capability",
    "util.get_gpu_memory",
}  # fmt: skip
DIRECTIVE = re.compile(r"automodule:: (\S+)\n(?:   :members: (.*)\n)?(?:   :exclude-members: (.*)\n)?")


def documented():
    """(module, name, value) of what the pages of the reference show."""
    for page in (pathlib.Path(__file__).parents[2] / "docs" / "reference").glob("*.md"):
        for name, members, excluded in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            module = importlib.import_module(name)
            for member in members.split(", ") if members else getattr(module, "__all__", vars(module)):
                if member not in excluded.split(", "):
                    yield name, member, getattr(module, member, None)


@pytest.mark.source
def test_public_names_have_examples():
    bare = set()
    for name, member, value in documented():
        is_error = isinstance(value, type) and issubclass(value, BaseException)
        ours = getattr(value, "__module__", None) or name
        if member.startswith("_") or not callable(value) or is_error or not ours.startswith(name):
            continue
        if ">>> " not in (value.__doc__ or ""):
            bare.add(f"{name.removeprefix('loomix.')}.{member}")
    assert bare == WITHOUT_EXAMPLE


@pytest.mark.source
def test_functions_of_arrays_are_on_a_page():
    """Those written in Python; the operators have pages of their own."""
    shown = {value for _, _, value in documented() if isinstance(value, types.FunctionType)}
    functions = {name: value for name, value in vars(mx.nd).items() if isinstance(value, types.FunctionType)}
    assert {"array", "empty", "zeros"} <= functions.keys()
    missing = [name for name, value in functions.items() if name[0] != "_" and value not in shown]
    assert not missing
