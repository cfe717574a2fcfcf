# SPDX-License-Identifier: Apache-2.0
"""Scenarios of tests/dist/scenarios.py, once each; kills are in test_dist_kvstore.py and test_dist_chaos.py."""

import sys
from pathlib import Path

import loomix as mx
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "dist"))

import scenarios

if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
    pytest.skip("this build has no network module (OpenSSL, Protocol Buffers)", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

ALL = {**scenarios.OWN, **scenarios.HARD}


@pytest.mark.parametrize("name", [name for name in ALL if "killed" not in name and "restarted" not in name])
def test_scenario(tmp_path, name):
    ALL[name](tmp_path, 1)
