# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix keys``: makes the key pair of a cluster."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from ..base import MXNetError


def write_keys(path: str) -> None:
    """Writes a new key pair to a new file that only its owner may read."""
    from .. import _core

    text = _core.new_key_file_text()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w") as out:
        out.write(text)


def main(_: str, arguments: Sequence[str]) -> int:
    """Runs ``keys`` with these arguments; its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m loomix keys",
        description="Makes a cluster's CURVE key pair. All nodes get the same file (LOOMIX_KV_KEY_FILE); who has it "
        "belongs to the cluster, so keep it as secret as a password.",
    )
    parser.add_argument("file", help="the file to make; it must not exist")
    args = parser.parse_args(arguments)
    try:
        write_keys(args.file)
    except FileExistsError:
        print(f"[keys] {args.file} exists; keys are never overwritten.", file=sys.stderr)
        return 2
    except (MXNetError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{args.file}: a new key pair; set LOOMIX_KV_KEY_FILE to it on every node.")
    return 0
