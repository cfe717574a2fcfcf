# SPDX-License-Identifier: Apache-2.0
"""A matrix in files: a folder with an index, and a file of blocks from each rank.

The index names the files of one state, and is replaced at once, as the last step. So whenever a process is killed, the
folder has the matrix before or the one after.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

from .. import _parallel
from .._files import write_whole
from ..base import MXNetError, MXNetFileError
from ..ndarray import NDArray, array, load, save, zeros
from .layout import Layout

if TYPE_CHECKING:
    from .matrix import Matrix

FORMAT = "loomix.parallel.Matrix, 1"


def save_matrix(folder: str, matrix: Matrix) -> None:
    """All ranks write their blocks, then rank 0 the index."""
    rank, size = _parallel.rank(), _parallel.size()
    layout = matrix.layout
    owners = [layout.owners(number)[0] for number in range(_blocks_in(layout))]
    before: dict[str, Any] = {"number": 0, "owners": []}

    def write_blocks() -> None:
        nonlocal before
        os.makedirs(folder, exist_ok=True)
        if os.path.exists(_index(folder)):
            before = _read_index(folder)
        own = {
            str(number): block
            for number, block in zip(layout.blocks_of(rank), matrix.local)
            if owners[number] == rank and block.size > 0
        }
        if own:
            write_whole(_blocks(folder, before["number"] + 1, rank), lambda path: save(path, own))

    together(write_blocks, f"save into {folder}")
    index = {
        "format": FORMAT,
        "number": before["number"] + 1,
        "dtype": matrix.handle.dtype_name(),
        "row_cuts": layout.row_cuts,
        "column_cuts": layout.column_cuts,
        "owners": owners,
    }

    def write_index(path: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(index, file)

    together(lambda: write_whole(_index(folder), write_index) if rank == 0 else None, f"save into {folder}")
    for owner in set(before["owners"]):
        if owner % size == rank:
            with contextlib.suppress(FileNotFoundError):
                os.remove(_blocks(folder, before["number"], owner))


def load_blocks(folder: str) -> tuple[list[NDArray], Layout, str]:
    """What this rank reads: the files of the ranks that it stands for, each of which one rank reads."""
    found: list[NDArray] = []
    layout, dtype = None, ""

    def read() -> None:
        nonlocal layout, dtype
        index = _read_index(folder)
        dtype = index["dtype"]
        owners = [owner % _parallel.size() for owner in index["owners"]]
        layout = Layout.blocks(index["row_cuts"], index["column_cuts"], owners)
        files: dict[str, Any] = {}
        for number in layout.blocks_of(_parallel.rank()):
            path = _blocks(folder, index["number"], index["owners"][number])
            found.append(_read_block(path, files, number, layout.block(number)[2:], dtype))

    together(read, f"load from {folder}")
    assert layout is not None
    return found, layout, dtype


def _read_block(path: str, files: dict[str, Any], number: int, shape: tuple[int, ...], dtype: str) -> NDArray:
    if 0 in shape:
        return zeros(shape, dtype=dtype)
    if path not in files:
        files[path] = load(path)
    block = files[path].get(str(number)) if isinstance(files[path], dict) else None
    if block is None:
        raise MXNetFileError(f"[Matrix] {path} has no block {number}.")
    if block.shape != shape:
        raise MXNetFileError(
            f"[Matrix] block {number} in {path} has shape {block.shape}; the index says {shape}."
        )
    return block


def _read_index(folder: str) -> dict[str, Any]:
    path = _index(folder)
    try:
        with open(path, encoding="utf-8") as file:
            index = json.load(file)
    except FileNotFoundError:
        raise MXNetFileError(f"[Matrix] there is no matrix in {folder}: it has no index.json.") from None
    except ValueError as error:
        raise MXNetFileError(f"[Matrix] {path} is damaged: {error}.") from None
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise MXNetFileError(f"[Matrix] {path} is not of the format {FORMAT!r}.")
    for name in ("row_cuts", "column_cuts", "owners"):
        numbers = index.get(name)
        if not isinstance(numbers, list) or not all(
            isinstance(value, int) and value >= 0 for value in numbers
        ):
            raise MXNetFileError(f"[Matrix] {path} is damaged: {name} is {numbers!r}.")
    if not isinstance(index.get("number"), int) or not isinstance(index.get("dtype"), str):
        raise MXNetFileError(f"[Matrix] {path} is damaged: it has no number, or no type.")
    return index


def together(work: Any, what: str) -> None:
    """Runs what each rank does with files. If it fails anywhere it fails everywhere; all have done it at its end."""
    from .matrix import Matrix

    error: Exception | None = None
    try:
        work()
    except (OSError, ValueError, MXNetError) as caught:
        error = caught
    ranks = Layout.rows((_parallel.size(), 1))
    failed = Matrix.from_local([array([[0 if error is None else 1]])], ranks).to_global().asnumpy()
    if error is not None:
        raise error
    if failed.any():
        raise MXNetFileError(
            f"[parallel] {what}: rank {failed.argmax()} could not, and its error says why; "
            f"this is rank {_parallel.rank()}."
        )


def _blocks_in(layout: Layout) -> int:
    return (len(layout.row_cuts) - 1) * (len(layout.column_cuts) - 1)


def _index(folder: str) -> str:
    return os.path.join(folder, "index.json")


def _blocks(folder: str, number: int, rank: int) -> str:
    return os.path.join(folder, f"blocks-{number}-{rank}.params")
