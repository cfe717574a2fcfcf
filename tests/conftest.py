# SPDX-License-Identifier: Apache-2.0
import os
import signal

os.environ.setdefault("LOOMIX_VERIFY_PASSES", "1")

# What a shell starts in the background ignores Ctrl-C, and so would the programs whose interruption is tested.
signal.signal(signal.SIGINT, signal.default_int_handler)
