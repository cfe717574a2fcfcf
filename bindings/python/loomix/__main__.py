# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix COMMAND``: the package's programs."""

from __future__ import annotations

import importlib
import os
import select
import signal
import sys
from typing import Any

from . import __version__
from .base import suggest

# Command -> (module of loomix.commands with `main(arguments)`, what it does).
COMMANDS = {
    "convert": ("convert", "converts models between MXNet's files, ONNX and safetensors"),
    "explain": ("explain", "shows what the compiler makes of a model: passes, memory, arithmetic"),
    "im2rec": ("tools", "makes record files of images"),
    "inspect": ("inspect", "shows what a model's files hold, and what is wrong with them"),
    "keys": ("keys", "makes the keys of a cluster"),
    "launch": ("launch", "starts the processes of a cluster"),
    "links": ("links", "measures what lies between the ranks of a job"),
    "ops": ("operators", "lists operators, and those without kernels for GPUs"),
    "quantize": ("quantize", "makes a network of 8 bits from a float one"),
    "rec": ("record_files", "lists, checks, shuffles and splits record files"),
    "top": ("top", "shows the nodes of a running cluster, their rates and who is behind"),
    "trace": ("trace", "puts traces of several processes on one timeline"),
    "tune": ("tune", "searches for good hyper-parameters, and shows what was found"),
    "rec2dir": ("tools", "writes the images of a record file as files"),
    "run": ("run", "runs a script written for MXNet: its mxnet is Loomix"),
    "serve": ("serve", "runs a cluster's scheduler or a server"),
}


def main(arguments: Any = None) -> Any:
    """Runs the command that the arguments begin with; its exit status."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help"):
        print("usage: python -m loomix COMMAND ...\n")
        for command, (_, what) in COMMANDS.items():
            print(f"  {command:10} {what}")
        print("\npython -m loomix COMMAND --help tells more, and --version which Loomix this is.")
        return 0 if arguments else 2
    if name in ("-V", "--version"):
        print(f"loomix {__version__}")
        return 0
    if name not in COMMANDS:
        print(f"[loomix] there is no command {name!r}. {suggest(name, COMMANDS)}", file=sys.stderr)
        return 2
    module = importlib.import_module(f".commands.{COMMANDS[name][0]}", __package__)
    try:
        status = module.main(name, arguments[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        if not _reader_left():
            raise
        return 128 + signal.SIGPIPE
    return status


def _reader_left() -> bool:
    """Whether nobody reads the standard output any more, as after ``| head``; it leads nowhere then."""
    output = select.poll()
    output.register(sys.stdout.fileno(), 0)  # errors and hang-ups are always told
    if not output.poll(0):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True


if __name__ == "__main__":
    sys.exit(main())
