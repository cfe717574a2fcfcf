# SPDX-License-Identifier: Apache-2.0
"""Pseudo-terminals for tests of what is shown on one."""

import pty

import pytest


def open_terminal():
    """The two ends, as of ``pty.openpty``; skips the test where the system has none, as in a bare chroot."""
    try:
        return pty.openpty()
    except OSError as reason:
        pytest.skip(f"no pseudo-terminal can be had: {reason}")
