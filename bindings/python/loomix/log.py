# SPDX-License-Identifier: Apache-2.0
"""A logger with one letter for the level and a short place, coloured on a terminal; and how the package logs.

The functions ``logging.info`` and so on install a handler where there is none, after which a program's own
``logging.basicConfig`` has no effect. The package therefore logs by :func:`of`, :func:`note` and :func:`progress`,
which install none.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

from . import _star

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]

CRITICAL, ERROR, WARNING = logging.CRITICAL, logging.ERROR, logging.WARNING
INFO, DEBUG, NOTSET = logging.INFO, logging.DEBUG, logging.NOTSET

_COLOURS = {CRITICAL: "\x1b[35m", ERROR: "\x1b[31m", WARNING: "\x1b[33m", INFO: "\x1b[32m", DEBUG: "\x1b[34m"}


class _Formatter(logging.Formatter):
    def __init__(self, coloured: bool) -> None:
        super().__init__(datefmt="%m%d %H:%M:%S")
        self._coloured = coloured

    def format(self, record: Any) -> str:
        head = f"{record.levelname[0]}{self.formatTime(record, self.datefmt)} {record.process} "
        head += f"{record.filename}:{record.lineno}]"
        if self._coloured:
            head = f"{_COLOURS.get(record.levelno, '')}{head}\x1b[0m"
        text = f"{head} {record.getMessage()}"
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return text


def get_logger(
    name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING
) -> Any:
    """A logger that writes to a file, or to the terminal.

    Parameters
    ----------
    name : str, optional
        Name of the logger; None is the root logger, whose handlers are left alone.
    filename : str, optional
        File to write to instead of the terminal.
    filemode : str, optional
        Mode the file is opened with, ``"a"`` by default.
    level : int
        Lowest level that is written.

    Examples
    --------
    >>> get_logger("train", level=INFO).name
    'train'
    """
    logger = logging.getLogger(name)
    if name is not None and not getattr(logger, "_loomix_ready", False):
        logger._loomix_ready = True  # type: ignore[attr-defined]
        if filename:
            handler: logging.Handler = logging.FileHandler(filename, filemode or "a")
            handler.setFormatter(_Formatter(coloured=False))
        else:
            handler = logging.StreamHandler()
            handler.setFormatter(_Formatter(coloured=sys.stderr.isatty()))
        logger.addHandler(handler)
        logger.setLevel(level)
    return logger


getLogger = get_logger


def of(logger: Any) -> Any:
    """A logger that may be told to write: the root logger in place of the module ``logging``."""
    return logging.getLogger() if logger is logging else logger


def _takes(logger: Any, level: int) -> bool:
    """Whether a handler writes what ``logger`` is told at this level."""
    if not logger.isEnabledFor(level):
        return False
    while logger is not None:
        if any(handler.level <= level for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


def is_silenced(logger: Any) -> bool:
    """Whether the program asked for fewer lines: warnings are hidden, too, or the logger has a level of its own."""
    own = logger.level if logger.parent is not None else NOTSET
    return not logger.isEnabledFor(WARNING) or own > INFO or logging.root.manager.disable >= INFO


def note(logger: Any, text: str, *args: Any) -> None:
    """Logs a line of level INFO; to the standard error, if the logger is to write such lines and has no handler."""
    logger = of(logger)
    if not isinstance(logger, logging.Logger) or not logger.isEnabledFor(INFO) or _takes(logger, INFO):
        logger.info(text, *args)
    else:
        print(text % args if args else text, file=sys.stderr, flush=True)


def progress(logger: Any, text: str, *args: Any) -> None:
    """Logs a line that people wait for while they train.

    Where no handler takes it, and the program did not ask for silence, the line goes to the standard error.
    """
    logger = of(logger)
    if not isinstance(logger, logging.Logger) or _takes(logger, INFO):
        logger.info(text, *args)
    elif not is_silenced(logger):
        print(text % args if args else text, file=sys.stderr, flush=True)


_star.complete(globals(), "logging warnings")
