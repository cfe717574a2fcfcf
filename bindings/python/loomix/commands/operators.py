# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix ops``: the operators, and which of them run on the host for arrays on a GPU."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .. import _core
from ..base import MXNetError


def main(name: str, arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog=f"python -m loomix {name}",
        description="Lists operators by their names in the table, one a line.",
    )
    parser.add_argument(
        "--missing",
        choices=["cuda"],
        help="only those without a kernel for it, which run on the host by copies",
    )
    parser.add_argument("--all", action="store_true", help="those, too, that only gradients and passes use")
    given = parser.parse_args(arguments)
    try:
        names = _core.operators_without_kernel() if given.missing else _core.all_operators()
    except MXNetError as error:
        print(f"[{name}] {error}", file=sys.stderr)
        return 1
    for operator, is_hidden in names:
        if given.all or not is_hidden:
            print(operator)
    return 0
