# SPDX-License-Identifier: Apache-2.0
import os
import signal
import tempfile

import pytest

os.environ.setdefault("LOOMIX_VERIFY_PASSES", "1")
# What was measured on this machine before must not decide what the tests see.
_cache = tempfile.TemporaryDirectory(prefix="loomix_cache_")
os.environ["LOOMIX_CACHE_DIR"] = _cache.name

# No test asks a public store for files: where one is missing, that is an error at once.
os.environ["MXNET_GLUON_REPO"] = "http://127.0.0.1:9/"

# What a shell starts in the background ignores Ctrl-C, and so would the programs whose interruption is tested.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--device", default="cpu(0)", help="where arrays are made that name no device: gpu(0)")


@pytest.fixture(autouse=True)
def default_device(request):
    """Arrays and operators of a test are on the device that was asked for."""
    import loomix as mx

    kind, number = request.config.getoption("--device").rstrip(")").split("(")
    if kind == "cpu":
        yield
        return
    with mx.Context(kind, int(number)):
        yield
        mx.nd.waitall()
