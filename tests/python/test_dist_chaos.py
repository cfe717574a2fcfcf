# SPDX-License-Identifier: Apache-2.0
"""Some of the random schedules of tests/dist/chaos.py; LOOMIX_TEST_SCHEDULES=200 runs as many."""

import os
import sys
from pathlib import Path

import loomix as mx
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "dist"))

import chaos

if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
    pytest.skip("this build has no network module (OpenSSL, Protocol Buffers)", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


@pytest.mark.parametrize("seed", range(1, 1 + int(os.environ.get("LOOMIX_TEST_SCHEDULES", "3"))))
def test_no_push_is_lost_or_doubled(tmp_path, seed):
    print(chaos.run(seed, folder=tmp_path))
