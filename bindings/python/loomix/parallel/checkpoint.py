# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a job: matrices, networks and trainers of one step, in a folder that all ranks see.

folder/index.json                 the checkpoints that are complete, the latest last; replaced at once, as the last step
folder/checkpoint-7/W/...         a matrix: its index, and a file of blocks from each rank
folder/checkpoint-7/net.params    of a network, and
folder/checkpoint-7/trainer.states  of a trainer, by rank 0
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

from .. import _parallel, random
from .._files import write_whole
from ..base import MXNetFileError
from .files import together
from .job import ensure_started
from .layout import Layout
from .matrix import Matrix

FORMAT = "loomix.parallel checkpoints, 1"
KEPT = 2


def save(folder: str, things: Mapping[str, Any], step: int) -> None:
    """Writes a checkpoint; all ranks call it. Whenever processes are killed, the folder has the complete checkpoints
    from before, or the new one. The last two are kept.

    Parameters
    ----------
    folder : str
        All ranks see it.
    things : dict
        By name: matrices, whose blocks all ranks write; networks (``save_parameters``) and trainers
        (``save_states``), split over ranks or the same on all.
    step : int
        What :func:`load` gives back.

    Raises
    ------
    OSError
        On every rank, if one of them cannot write.

    Example
    -------
    >>> import tempfile
    >>> import loomix as mx
    >>> w = mx.parallel.Matrix.full((2, 3), 7, "rows")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mx.parallel.save(folder, {"W": w}, step=12)
    ...     step, found = mx.parallel.load(folder, {"W": "columns"})
    >>> step, found["W"]
    (12, <Matrix (2, 3) float32, columns on 1 rank>)
    """
    ensure_started()
    kinds = {name: _kind_of(name, thing) for name, thing in things.items()}
    rank = _parallel.rank()
    index: list[dict[str, Any]] = []

    def begin() -> None:
        nonlocal index
        index = _read_index(folder) if os.path.exists(_index(folder)) else []
        if rank == 0:
            os.makedirs(folder, exist_ok=True)
            _remove_all_but(folder, index)  # what a killed process left would mix with this
            os.makedirs(_place(folder, _next_number(index)))

    together(begin, f"save into {folder}")
    number = _next_number(index)
    place = _place(folder, number)
    for name, thing in things.items():
        if isinstance(thing, Matrix):
            thing.save(os.path.join(place, name))

    def write_others() -> None:
        for name, kind in kinds.items():
            thing, path = things[name], os.path.join(place, f"{name}.{kind}")
            if kind == "params" and (rank == 0 or _is_split(thing.collect_params().values())):
                thing.save_parameters(path)  # of split ones by all
            elif kind == "states" and (rank == 0 or _is_split(thing._params)):
                thing.save_states(path)

    together(write_others, f"save into {folder}")
    made = {"number": number, "step": int(step), "things": kinds, "random": random.get_state()}
    index = [*index, made][-KEPT:]

    def write_index(path: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": FORMAT, "checkpoints": index}, file)

    def end() -> None:
        write_whole(_index(folder), write_index)
        _remove_all_but(folder, index)

    together(lambda: end() if rank == 0 else None, f"save into {folder}")


def load(folder: str, things: Mapping[str, Any], step: int | None = None) -> tuple[int, dict[str, Any]]:
    """Reads what :func:`save` wrote, on any number of ranks; all of them call it.

    With a trainer, all ranks go on with the random numbers that rank 0 had, as if training had not stopped.

    Parameters
    ----------
    things : dict
        By name: of a matrix the layout that it shall have, or "rows", "columns" or "replicated"; networks and trainers,
        into which theirs is loaded. Not all that was saved need be named.
    step : int, optional
        Which of the last two; by default the last.

    Returns
    -------
    tuple
        The step, and a dict of the matrices, networks and trainers by name.

    Raises
    ------
    OSError
        On every rank, if something is missing, incomplete or damaged; it names the file.

    Example
    -------
    >>> import tempfile
    >>> import loomix as mx
    >>> net = mx.gluon.nn.Dense(3, in_units=4)
    >>> net.initialize()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mx.parallel.save(folder, {"net": net}, step=5)
    ...     mx.parallel.load(folder, {"net": net})[0]
    5
    """
    ensure_started()
    found: list[dict[str, Any]] = []

    def read() -> None:
        nonlocal found
        found = [one for one in _read_index(folder) if step is None or one["step"] == step]
        if not found:
            raise MXNetFileError(f"[parallel] there is no checkpoint of step {step} in {folder}.")
        for name in things:
            if name not in found[-1]["things"]:
                there = ", ".join(sorted(found[-1]["things"]))
                raise MXNetFileError(
                    f"[parallel] there is no {name!r} in the checkpoint of step {found[-1]['step']} in {folder}; "
                    f"it has {there}."
                )

    together(read, f"load from {folder}")
    place = _place(folder, found[-1]["number"])
    result: dict[str, Any] = {}
    for name, thing in things.items():
        kind = found[-1]["things"][name]
        if kind == "matrix":
            if not isinstance(thing, (Layout, str)):
                raise TypeError(
                    f"[parallel] {name!r} is a matrix in {folder}; expected its layout, not {thing!r}."
                )
            result[name] = Matrix.load(os.path.join(place, name), thing)
            continue
        if kind != _kind_of(name, thing):
            raise TypeError(
                f"[parallel] {name!r} is of the kind {kind} in {folder}; got {type(thing).__name__}."
            )
        reads = thing.load_parameters if kind == "params" else thing.load_states
        path = os.path.join(place, f"{name}.{kind}")
        together(lambda reads=reads, path=path: reads(path), f"load from {folder}")
        result[name] = thing
    if "states" in (found[-1]["things"][name] for name in things) and "random" in found[-1]:
        together(lambda: random.set_state(found[-1]["random"]), f"load from {folder}")
    return found[-1]["step"], result


def _kind_of(name: str, thing: Any) -> str:
    """How a thing is saved."""
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError(f"[parallel] name {name!r}; expected letters, digits, '_', '.' and '-'.")
    if isinstance(thing, Matrix):
        return "matrix"
    if hasattr(thing, "save_parameters"):
        return "params"
    if hasattr(thing, "save_states"):
        return "states"
    raise TypeError(
        f"[parallel] {name!r} is of type {type(thing).__name__}; expected a Matrix, a network or a trainer."
    )


def _is_split(params: Iterable[Any]) -> bool:
    return any(param._cut is not None for param in params)


def _read_index(folder: str) -> list[dict[str, Any]]:
    path = _index(folder)
    try:
        with open(path, encoding="utf-8") as file:
            index = json.load(file)
    except FileNotFoundError:
        raise MXNetFileError(
            f"[parallel] there is no checkpoint in {folder}: it has no index.json."
        ) from None
    except ValueError as error:
        raise MXNetFileError(f"[parallel] {path} is damaged: {error}.") from None
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise MXNetFileError(f"[parallel] {path} is not of the format {FORMAT!r}.")
    checkpoints = index.get("checkpoints")
    if not isinstance(checkpoints, list) or not checkpoints or not all(map(_is_checkpoint, checkpoints)):
        raise MXNetFileError(f"[parallel] {path} is damaged: checkpoints is {checkpoints!r}.")
    return checkpoints


def _is_checkpoint(one: Any) -> bool:
    if not isinstance(one, dict) or not isinstance(one.get("things"), dict):
        return False
    numbers = isinstance(one.get("number"), int) and isinstance(one.get("step"), int)
    return numbers and all(kind in ("matrix", "params", "states") for kind in one["things"].values())


def _next_number(index: list[dict[str, Any]]) -> int:
    return index[-1]["number"] + 1 if index else 1


def _remove_all_but(folder: str, index: list[dict[str, Any]]) -> None:
    keep = {os.path.basename(_place(folder, one["number"])) for one in index}
    for name in os.listdir(folder):
        if re.fullmatch(r"checkpoint-\d+", name) and name not in keep:
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)


def _index(folder: str) -> str:
    return os.path.join(folder, "index.json")


def _place(folder: str, number: int) -> str:
    return os.path.join(folder, f"checkpoint-{number}")
