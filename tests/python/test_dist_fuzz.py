# SPDX-License-Identifier: Apache-2.0
"""A little of tests/dist/fuzz.py."""

import sys
from pathlib import Path

import loomix as mx
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "dist"))

import fuzz

if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
    pytest.skip("this build has no network module (OpenSSL, Protocol Buffers)", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


@pytest.mark.parametrize("keys", [False, True])
def test_strangers_change_nothing(tmp_path, keys):
    print(fuzz.run(tmp_path, 300, keys))
