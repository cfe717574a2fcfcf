# SPDX-License-Identifier: Apache-2.0
"""Star imports and names against what MXNet 1.9.1 gives (star_names.json)."""

import importlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
check_names = importlib.import_module("check_names")


def test_names():
    theirs = json.loads((HERE / "star_names.json").read_text())
    assert check_names.unexplained(check_names.differences(theirs, None)) == []
