# SPDX-License-Identifier: Apache-2.0
"""Rank 0 runs a serial program on matrices, the others do what it tells them.

Each operation on matrices becomes a command before rank 0 runs its own part, so all ranks make the same calls in the
same order, as in a program that all of them run. A command that fails on all ranks alike (shapes that do not fit)
fails in the program of rank 0, which may catch that. One that fails on another rank alone ends the job: all hear why.
"""

from __future__ import annotations

import sys
import types
import weakref
from typing import Any

import numpy as np

from .. import _core as _core
from .. import _parallel
from ..ndarray import NDArray, array
from .commands import Argument, ArrayValue, Command, LayoutValue, read, write
from .job import ensure_started
from .operations import OPERATIONS, State

GRACE = 2.0  # seconds in which rank 0 says that it has failed, too
_MOST_NAME = 500
# What an argument of a kind travels as.
_FIELD = {"type": "text", "own array": "array"}


class _Skipped(Exception):
    """Ends the body of a ``with`` that runs on rank 0 only."""


def _field(kind: str) -> str:
    plain = kind.rstrip("?")
    return _FIELD.get(plain, plain)


def _layout_value(layout: _parallel.LayoutHandle) -> LayoutValue:
    cuts = layout.row_cuts(), layout.column_cuts()
    blocks = (len(cuts[0]) - 1) * (len(cuts[1]) - 1)
    owners = [rank for number in range(blocks) for rank in layout.owners(number)]
    return LayoutValue(*cuts, owners, layout.copies(), layout.name())


def _layout(value: LayoutValue) -> _parallel.LayoutHandle:
    if len(value.name) > _MOST_NAME:
        raise ValueError(f"a layout's name has {len(value.name)} characters; expected {_MOST_NAME} at most")
    return _parallel.LayoutHandle.of_blocks(
        value.row_cuts, value.column_cuts, value.owners, value.copies, value.name
    )


def _array(value: ArrayValue) -> NDArray:
    try:
        found = np.frombuffer(value.data, dtype=value.dtype).reshape(value.shape)
    except TypeError as error:
        raise ValueError(str(error)) from None
    return array(found, dtype=found.dtype)


class Names:
    """Matrices by number, on a rank that is driven."""

    def __init__(self) -> None:
        self.made: dict[int, _parallel.MatrixHandle] = {}

    def argument(self, kind: str, argument: Argument) -> Any:
        """What an operation gets."""
        value = getattr(argument, _field(kind))
        if any(other is not None for name, other in vars(argument).items() if name != _field(kind)):
            raise ValueError(f"an argument is {argument}; expected {kind}")
        if value is None:
            if kind.endswith("?") or kind == "own array":
                return None
            raise ValueError(f"an argument is missing; expected {kind}")
        if kind == "matrix":
            if value not in self.made:
                raise ValueError(f"there is no matrix {value}")
            return self.made[value]
        if kind.startswith("layout"):
            return _layout(value)
        return _array(value) if _field(kind) == "array" else value

    def run(self, command: Command) -> None:
        """Runs a command that came; ValueError if there is no such operation, or if it has other arguments."""
        operation = OPERATIONS.get(command.operation)
        if operation is None:
            raise ValueError(f"there is no operation {command.operation!r}")
        if len(command.arguments) != len(operation.takes):
            raise ValueError(
                f"{command.operation} has {len(command.arguments)} arguments; expected {len(operation.takes)}"
            )
        for number in command.forgotten:
            self.made.pop(number, None)
        result = operation.run(*map(self.argument, operation.takes, command.arguments))
        if isinstance(result, _parallel.MatrixHandle):
            self.made[command.result] = result


def serve() -> str:
    """Does what rank 0 says until it ends. What it ended with, if that was an error."""
    names = Names()
    expected = 0
    while True:
        message = _parallel.listen(3600.0)
        if message is None:
            continue  # the group knows whether rank 0 is there
        expected += 1
        command = Command()
        try:
            command = _next(message, expected)
            if command.operation == "end":
                return (command.arguments[0].text if command.arguments else None) or ""
            names.run(command)
        except Exception as error:
            if not _rank_0_fails(expected + 1):
                _parallel.give_up(
                    f"command {expected}, {command.operation or 'damaged'}, ended with {type(error).__name__}: {error}"
                )
                raise
            expected += 1


def _next(message: bytes, expected: int) -> Command:
    command = read(message)
    if command.number != expected:
        raise ValueError(f"[driver] command {command.number} came; expected {expected}.")
    return command


def _rank_0_fails(expected: int) -> bool:
    """Whether rank 0 says that the last command failed there, too."""
    message = _parallel.listen(GRACE)
    return message is not None and _next(message, expected).operation == "failed"


class driver:
    """Rank 0 runs the body, and other ranks do what its operations on matrices tell them, until it ends.

    What is told is an operation by its name, with numbers, layouts and matrices that were made in the same body; never
    code. Programs that all ranks run, as layers split over them, are not for this. Where another rank fails alone, or
    ends, rank 0 gets that as an error. If the body ends by an exception, the other ranks end by a RuntimeError that
    says it. Afterwards all ranks go on behind the body; its matrices are gone.

    Example
    -------
    >>> import loomix as mx
    >>> with mx.parallel.driver():
    ...     a = mx.parallel.Matrix.full((2, 3), 2, "rows")
    ...     print(a.dot(a, transpose_b=True).to_global().asnumpy().tolist())
    [[12.0, 12.0], [12.0, 12.0]]
    """

    def __init__(self) -> None:
        self._number = 0
        self._made: weakref.WeakKeyDictionary[_parallel.MatrixHandle, int] = weakref.WeakKeyDictionary()
        self._next = 1
        self._forgotten: list[int] = []
        self._trace: Any = None

    def __enter__(self) -> driver:
        ensure_started()
        if State.driver is not None:
            raise RuntimeError("[driver] this program is in a driver's body already.")
        if _parallel.rank() == 0:
            State.driver = self
            return self
        error = serve()
        if error:
            raise RuntimeError(f"[driver] the program of rank 0 ended with {error}.")
        self._skip_body(sys._getframe(1))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> bool:
        if _parallel.rank() != 0:
            sys.settrace(self._trace)
            return kind is _Skipped
        State.driver = None
        for handle in self._made:
            State.ended.add(handle)
        said = [] if kind is None else [Argument(text=f"{kind.__name__}: {error}")]
        if error is None:
            self._tell(Command(operation="end", arguments=said))
        else:
            try:
                self._tell(Command(operation="end", arguments=said))
            except Exception:  # of a broken group: the body's error says more
                pass
        return False

    # No statement can leave out a body; a trace function of its frame can raise in front of its first step.
    def _skip_body(self, frame: types.FrameType) -> None:
        def stop(stopped: types.FrameType, event: str, argument: Any) -> Any:
            stopped.f_trace = None
            stopped.f_trace_opcodes = False
            raise _Skipped

        self._trace = sys.gettrace()
        frame.f_trace = stop
        frame.f_trace_opcodes = True
        sys.settrace(lambda *_: None)

    def _tell(self, command: Command) -> None:
        self._number += 1
        command.number = self._number
        if _parallel.size() > 1:
            _parallel.tell(write(command))

    def _argument(self, name: str, kind: str, value: Any) -> Argument:
        if value is None or kind == "own array":
            return Argument()
        if kind == "matrix":
            number = self._made.get(value)
            if number is None:
                raise ValueError(f"[driver] {name} of a matrix that was not made in this body.")
            return Argument(matrix=number)
        if kind.startswith("layout"):
            return Argument(layout=_layout_value(value))
        if kind == "array":
            items = value.asnumpy()
            return Argument(array=ArrayValue(items.dtype.name, list(items.shape), items.tobytes()))
        if kind.startswith("type"):
            return Argument(text=_parallel.type_name(value))
        cast = {"number": float, "integer": int, "text": str, "flag": bool}[kind.rstrip("?")]
        return Argument(**{kind.rstrip("?"): cast(value)})

    def perform(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Tells the other ranks, and runs it here."""
        operation = OPERATIONS[name]
        told = [self._argument(name, kind, value) for kind, value in zip(operation.takes, arguments)]
        forgotten = [self._forgotten.pop() for _ in range(len(self._forgotten))]
        result, self._next = self._next, self._next + 1
        self._tell(Command(operation=name, result=result, forgotten=forgotten, arguments=told))
        State.driver = None  # what it is made of is not told
        try:
            made = operation.run(*arguments)
        except Exception:
            self._tell(Command(operation="failed"))
            raise
        finally:
            State.driver = self
        if isinstance(made, _parallel.MatrixHandle):
            self._made[made] = result
            weakref.finalize(made, self._forgotten.append, result).atexit = False
        return made
