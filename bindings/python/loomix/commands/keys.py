# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix keys``: makes the keys of a cluster."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from ..base import MXNetError


def write_keys(folder: str) -> None:
    """Makes a folder with new keys, which only its owner may read."""
    from .. import _core

    files = _core.new_key_files()
    os.mkdir(folder, 0o700)
    for name, text in files.items():
        file = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w") as out:
            out.write(text)


def main(_: str, arguments: Sequence[str]) -> int:
    """Runs ``keys`` with these arguments; its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m loomix keys",
        description="Makes a cluster's keys: a folder with the certificate of the cluster's authority (ca.pem) and, "
        "for each role, a private key with its certificate (scheduler.pem, server.pem, worker.pem). A node needs "
        "ca.pem and its role's file; LOOMIX_KV_KEYS names the folder. Who has such a file belongs to the cluster in "
        "that role, so keep it as secret as a password.",
    )
    parser.add_argument("folder", help="the folder to make; it must not exist")
    args = parser.parse_args(arguments)
    try:
        write_keys(args.folder)
    except FileExistsError:
        print(f"[keys] {args.folder} exists; keys are never overwritten.", file=sys.stderr)
        return 2
    except (MXNetError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{args.folder}: new keys; set LOOMIX_KV_KEYS to it on every node.")
    return 0
