# SPDX-License-Identifier: Apache-2.0
"""The package's names, methods and signatures against MXNet 1.9.1's (python_api.json)."""

import importlib
import json
import sys
from pathlib import Path

import pytest
from loomix import _operators

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
check_api = importlib.import_module("check_api")
API = json.loads((HERE / "python_api.json").read_text())

# Parts that are not complete, or not begun.
LATER = (
    "contrib.amp", "contrib.quantization", "gluon.contrib.data", "gluon.contrib.estimator",
)  # fmt: skip
MODULES = [
    module for module in sorted(API) if not (module + ".").startswith(tuple(f"{part}." for part in LATER))
]

# Names that are not there, or are something else, and why.
DIFFERENT = {
    "Executor.backward": "is_train is that of the forward pass, unless it is said",
    "KVStore.__init__": "a kind, not a pointer",
    "MXDataIter.__init__": "a base class, not made from a pointer",
    "_ndarray_cls": "makes arrays from pointers",
    "_new_empty_handle": "makes a pointer",
    "np_symbol": "mx.sym.np, which another module imports",
    "potrf": "gives the upper factor, too, by lower=False",
    "requests": "there where it is installed",
}
# Names that begin like this are gradients, which nobody calls.
BEGINNINGS = ("backward_",)


def without_operator(module):
    """Names of operators in a module of MXNet's that are missing here, or change their arguments and are no symbols."""
    package, _, space = module.replace("contrib.ndarray", "ndarray.contrib").partition(".")
    if module == "contrib.symbol":
        package, space = "symbol", "contrib"
    if package not in ("ndarray", "symbol"):
        return set()
    names = {*(HERE / "operators_missing.txt").read_text().split()}
    for operator in json.loads((HERE / "operators.json").read_text())["operators"]:
        if operator["name"] in names or (package == "symbol" and "update" in operator["name"]):
            names.update(operator["aliases"])
            names.add(operator["name"])
    short = {_operators.place_of(name)[1] for name in names if _operators.place_of(name)[0] == space}
    if space == "sparse":  # which repeats operators that know sparse arrays
        short.update(name for name in names if not name.startswith("_"))
    return short


@pytest.mark.parametrize("module", MODULES, ids=lambda name: name or "top")
def test_names(module):
    _, bad = check_api.check(API, "loomix", module)
    expected = without_operator(module)
    bad = [
        (name, what)
        for name, what in bad
        if name not in expected
        and not name.startswith(BEGINNINGS)
        and not {name, name.split(".")[-1]} & set(DIFFERENT)
    ]
    assert not bad
