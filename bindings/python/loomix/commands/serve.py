# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix serve``: runs a cluster's scheduler or a server of it, until the cluster ends."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence


def main(_: str, arguments: Sequence[str]) -> int:
    """Runs ``serve`` with these arguments; its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m loomix serve",
        description="Runs a cluster's scheduler or one of its servers until all workers have left. What is not "
        "given here comes from the environment (LOOMIX_KV_* or DMLC_*; docs/settings.md).",
    )
    parser.add_argument("role", nargs="?", choices=["server", "scheduler"])
    parser.add_argument("--rank", type=int, help="number of the server, from 0")
    parser.add_argument("--scheduler", metavar="HOST:PORT", help="where the scheduler is")
    parser.add_argument("-n", "--workers", type=int)
    parser.add_argument("-s", "--servers", type=int)
    args = parser.parse_args(arguments)
    host, _, port = (args.scheduler or "").rpartition(":")
    if args.scheduler and not (host and port.isdigit()):
        parser.error(f"--scheduler is {args.scheduler!r}; expected HOST:PORT")
    given = {
        "ROLE": args.role,
        "RANK": args.rank,
        "SCHEDULER_HOST": host or None,
        "SCHEDULER_PORT": port or None,
        "WORKERS": args.workers,
        "SERVERS": args.servers,
    }
    os.environ.update({f"LOOMIX_KV_{name}": str(value) for name, value in given.items() if value is not None})

    from .. import kvstore_server

    if not kvstore_server.is_server():
        parser.error("give a role, server or scheduler, or set LOOMIX_KV_ROLE (or DMLC_ROLE)")
    return kvstore_server.run()
