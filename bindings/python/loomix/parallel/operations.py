# SPDX-License-Identifier: Apache-2.0
"""Operations on matrices by name: what a rank that drives tells the others, and each rank runs itself otherwise."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from .. import _core as _core
from .. import _parallel


class Operation(NamedTuple):
    """What is run, and what its arguments are: "matrix", "layout", "type", "number", "integer", "text", "flag" or
    "array", with a question mark where None is allowed; "own array" comes to rank 0 alone."""

    run: Callable[..., Any]
    takes: tuple[str, ...]


class Driver(Protocol):
    """Whoever tells the other ranks."""

    def perform(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Tells all, and runs it here."""


_HANDLE = _parallel.MatrixHandle
OPERATIONS: dict[str, Operation] = {
    "full": Operation(_HANDLE.filled, ("layout", "type", "number")),
    "random": Operation(_HANDLE.random, ("layout", "type", "text", "number", "number", "integer")),
    "from_global": Operation(_HANDLE.from_global, ("own array", "layout", "type", "integer")),
    "remap": Operation(_HANDLE.remap, ("matrix", "layout", "type?", "flag", "text?", "flag")),
    "transposed": Operation(_HANDLE.transposed, ("matrix",)),
    "with_matrix": Operation(_HANDLE.with_matrix, ("matrix", "text", "matrix")),
    "with_number": Operation(_HANDLE.with_number, ("matrix", "text", "number", "flag")),
    "with_vector": Operation(_HANDLE.with_vector, ("matrix", "text", "array", "flag")),
    "dot": Operation(_parallel.dot, ("matrix", "matrix", "flag", "flag", "layout?", "text?")),
    "sum": Operation(_HANDLE.sum, ("matrix", "integer?")),
    "norm": Operation(_HANDLE.norm, ("matrix",)),
    "to_global": Operation(_HANDLE.to_global, ("matrix",)),
    "to_root": Operation(_HANDLE.to_root, ("matrix", "integer")),
    "replicated": Operation(_HANDLE.replicated, ("matrix",)),
    "barrier": Operation(_parallel.barrier, ()),
    "set_cache": Operation(_parallel.set_cache, ("integer",)),
    "set_buffers": Operation(_parallel.set_buffers, ("integer",)),
    "set_links": Operation(_parallel.set_links, ("number", "number", "number")),
}


class State:
    """Who drives now, if this rank does; and the matrices of drivers that have ended."""

    driver: Driver | None = None
    ended: weakref.WeakSet[Any] = weakref.WeakSet()


def perform(name: str, *arguments: Any) -> Any:
    """Runs an operation: on this rank, where all ranks run the same program, or on all of them by the driver."""
    if State.driver is not None:
        return State.driver.perform(name, arguments)
    if State.ended and any(item in State.ended for item in arguments if isinstance(item, _HANDLE)):
        raise RuntimeError(
            f"[Matrix] {name} of a matrix that other ranks have let go of, as its driver has ended."
        )
    return OPERATIONS[name].run(*arguments)
