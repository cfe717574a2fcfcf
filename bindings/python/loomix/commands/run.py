# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix run``: runs a script written for MXNet, unchanged."""

from __future__ import annotations

import argparse
import builtins
import importlib.machinery
import io
import os
import sys
import types
from collections.abc import Sequence
from typing import Any

from .. import alias, kvstore_server


def main(_: str, arguments: Sequence[str]) -> int:
    """Runs ``run`` with these arguments; its exit status. What the script raises ends the process as it would with
    ``python script.py``."""
    parser = argparse.ArgumentParser(
        prog="python -m loomix run",
        description="Runs a script as `python SCRIPT` does, but `import mxnet` in it imports Loomix. In a process "
        "that is a server or the scheduler of a cluster (DMLC_ROLE), it runs that instead.",
    )
    parser.add_argument("script", metavar="SCRIPT", help="a Python file")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="the script's own")
    args = parser.parse_args(arguments)
    if kvstore_server.is_server():
        return kvstore_server.run_during_import()
    path = os.path.abspath(args.script)
    try:
        with io.open_code(path) as file:
            source = file.read()
    except OSError as error:
        print(f"[run] the script {args.script} cannot be read: {error.strerror}", file=sys.stderr)
        return 2
    alias.install()
    sys.argv[:] = [args.script, *args.arguments]
    if not getattr(sys.flags, "safe_path", False):  # `python -P` puts no folder first
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    _execute(source, path)
    return 0


def _execute(source: bytes, path: str) -> None:
    """Runs the text as the module ``__main__``."""
    module = types.ModuleType("__main__")
    module.__file__ = path
    module.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    variables: dict[str, Any] = module.__dict__
    variables.update(__builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = module
    try:
        code = compile(source, path, "exec", dont_inherit=True)
        exec(code, variables)
    except SystemExit:
        raise
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_globals is not variables:  # the frames of this program
            trace = trace.tb_next
        # What the interpreter does with an error nobody has caught, but for this program's frames; it still decides
        # on the exit status, which for Ctrl-C is a signal.
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        sys.excepthook = _told
        raise


def _told(*_: Any) -> None:
    """The error was printed already."""
