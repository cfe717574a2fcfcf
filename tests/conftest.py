# SPDX-License-Identifier: Apache-2.0
import os
import signal
import tempfile

os.environ.setdefault("LOOMIX_VERIFY_PASSES", "1")
# What was measured on this machine before must not decide what the tests see.
_cache = tempfile.TemporaryDirectory(prefix="loomix_cache_")
os.environ["LOOMIX_CACHE_DIR"] = _cache.name

# What a shell starts in the background ignores Ctrl-C, and so would the programs whose interruption is tested.
signal.signal(signal.SIGINT, signal.default_int_handler)
