# SPDX-License-Identifier: Apache-2.0
"""Star imports, names and calls against what MXNet 1.9.1 gives (star_names.json, call_results/answers.json)."""

import importlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
check_names = importlib.import_module("check_names")


def test_names():
    theirs = json.loads((HERE / "star_names.json").read_text())
    found = check_names.unexplained(check_names.differences(theirs, None))
    # MXNet's names were taken with Python 3.11, whose exceptions have it.
    assert [item for item in found if item[-1] != "add_note" or sys.version_info >= (3, 11)] == []


def test_calls(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE / "call_results"))
    for name in ("call_answers", "compare"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    compare = importlib.import_module("compare")
    theirs = json.loads((HERE / "call_results" / "answers.json").read_text())
    assert list(compare.differences(theirs, compare.ask(sys.executable, "loomix"))) == []
