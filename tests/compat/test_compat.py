# SPDX-License-Identifier: Apache-2.0
"""Holds Loomix against files and operator results of MXNet 1.9.1; README.md says what is where."""

import importlib.util
import json
from pathlib import Path

import loomix as mx
import pytest

HERE = Path(__file__).parent


def _script(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


oracle = _script("check_oracle")
files = _script("check_files")

ALL_CASES = json.loads((HERE / "oracle" / "oracle.json").read_text())["cases"]
MISSING = set((HERE / "operators_missing.txt").read_text().split())
CANONICAL = {
    alias: op["name"]
    for op in json.loads((HERE / "operators.json").read_text())["operators"]
    for alias in (op["name"], *op["aliases"])
}


def operator_of(case):
    """The canonical name of a case's operator: `linalg.gemm` is `_linalg_gemm`."""
    space, _, name = case["op"].rpartition(".")
    return CANONICAL[name if space in ("", "_internal") else f"_{space}_{name}"]


# Expressions of Python name no operator, and all run.
CASES = [case for case in ALL_CASES if "expr" in case or operator_of(case) not in MISSING]
KINDS = {
    "ndarray", "ndarray_bad", "symbol", "mnist", "checkpoint", "states", "record_raw", "record_images",
    "record_multilabel", "gluon_export", "gluon_params", "trainer_states",
}  # fmt: skip
ENTRIES = [
    e for e in json.loads((HERE / "files" / "manifest.json").read_text())["entries"] if e["kind"] in KINDS
]
# Their operators do not exist yet: they load, list and save, and binding them names what is missing.
LOAD_ONLY: dict[str, str] = {}


def test_the_lists_are_whole():
    assert len(ALL_CASES) == 235
    assert {e["kind"] for e in ENTRIES} == KINDS


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
@pytest.mark.parametrize("via", ["nd", "sym"])
def test_oracle(case, via):
    data = oracle.load_case(HERE / "oracle", case)
    symbolic = via == "sym" or case.get("via") == "sym"
    try:
        got = oracle.run_sym(mx, case, data) if symbolic else oracle.run_nd(mx, case, data)
    except oracle.Skip as reason:
        pytest.skip(str(reason))
    assert oracle.compare(case, data["want"], got) == []
    if not symbolic:
        assert set(data["want"]) <= set(got)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e['kind']}:{e['file']}")
def test_file(entry):
    if entry["file"] not in LOAD_ONLY:
        return getattr(files, "k_" + entry["kind"])(mx, entry)
    symbol = mx.sym.load(str(HERE / "files" / entry["file"]))
    for again in (symbol, mx.sym.load_json(symbol.tojson())):
        assert again.list_arguments() == entry["arguments"]
        assert again.list_auxiliary_states() == entry["aux_states"]
    with pytest.raises(mx.base.MXNetError, match=LOAD_ONLY[entry["file"]]):
        shapes = {name: tuple(shape) for name, shape in entry["shapes"].items()}
        symbol.simple_bind(mx.cpu(), **shapes)
    return None
