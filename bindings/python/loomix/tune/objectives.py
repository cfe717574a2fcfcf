# SPDX-License-Identifier: Apache-2.0
"""Objectives besides functions: other programs, Gluon's Estimator, and Module."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import string
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..base import MXNetError, suggest
from ..model import checkpoint_name, load_checkpoint
from ..name import NameManager
from .trial import Trial

__all__ = ["Command", "FitEstimator", "FitModule", "Function"]

_LOOK = 0.02  # seconds between looks at what a command wrote
_PATIENCE = 5.0  # seconds for a command that was asked to end


class Command:
    """A program that trains with the parameters in its arguments, and writes results as lines of JSON.

    ``{"step": 3, "value": 0.91}`` reports how good it is after a step; the last line without a step is the result:
    ``{"value": 0.93}``, or named results such as ``{"accuracy": 0.93, "size": 120}``. Other lines are left alone. What
    it writes is kept in the trial's folder as ``output.txt``, so a result counts even if its worker was killed.

    Parameters
    ----------
    arguments : list of str
        Program and arguments, in which ``{NAME}`` stands for a parameter, ``{folder}`` for the trial's folder,
        ``{seed}`` and ``{number}`` for its seed and number, and ``{json}`` for a file with all of these and
        ``last_step``, the last step that was reported before (or null). Arguments that name a parameter which does not
        exist at a point are left out there.

    Examples
    --------
    >>> from loomix import tune
    >>> objective = tune.Command(["./train", "--lr={learning_rate}", "--checkpoints={folder}"])
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        if isinstance(arguments, str) or not arguments or not all(isinstance(a, str) for a in arguments):
            raise MXNetError(f"[tune.Command] the arguments are {arguments!r}; allowed is a list of texts.")
        self.arguments = list(arguments)

    def names(self) -> set[str]:
        """What stands in braces."""
        return {name for part in self.arguments for _, name, _, _ in string.Formatter().parse(part) if name}

    def _filled(self, trial: Trial) -> list[str]:
        path = trial.folder / "trial.json"
        known = {
            "folder": str(trial.folder),
            "seed": trial.seed,
            "number": trial.number,
            "device": trial.device,
        }
        path.write_text(json.dumps({**known, "params": trial.params, "last_step": trial.last_step}))
        values = {**known, "json": str(path), **trial.params}
        filled = []
        for part in self.arguments:
            names = {name for _, name, _, _ in string.Formatter().parse(part) if name}
            if names <= values.keys():
                filled.append(part.format(**values))
        return filled

    def __call__(self, trial: Trial) -> Any:
        output, errors = trial.folder / "output.txt", trial.folder / "errors.txt"
        if output.exists():  # of a worker that died; the program itself may have come to its end
            reader = _Output(output)
            reader.read(trial)
            if reader.result is not None:
                return reader.result
        command = self._filled(trial)
        lock = trial.lock
        with open(output, "wb") as out, open(errors, "wb") as err:
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                    # While the program runs nobody takes the trial up, even if this process is killed.
                    pass_fds=() if lock is None else (lock,),
                )
            except OSError as error:
                raise MXNetError(
                    f"[tune.Command] {command[0]!r} cannot be started: {error.strerror}."
                ) from error
        reader = _Output(output)
        try:
            while process.poll() is None:
                reader.read(trial)
                time.sleep(_LOOK)
            reader.read(trial)
        except BaseException:
            _end(process)
            raise
        if process.returncode != 0:
            why = _tail(errors) or "it wrote no error"
            raise MXNetError(f"[tune.Command] {command} ended with status {process.returncode}: {why}")
        if reader.result is None:
            raise MXNetError(
                f"[tune.Command] {command} printed no result; its last line of JSON without a step is to be like "
                f'{{"value": 0.93}}. It wrote: {_tail(output) or "nothing"}'
            )
        return reader.result


class _Output:
    """Reads a command's lines while they are written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self.result: Any = None

    def read(self, trial: Trial) -> None:
        with open(self._path, "rb") as file:
            file.seek(self._at)
            new = file.read()
        new = new[: new.rfind(b"\n") + 1]
        self._at += len(new)
        for line in new.decode(errors="replace").splitlines():
            if not line.lstrip().startswith("{"):
                continue
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if "step" in said:
                trial.report(said["value"], int(said["step"]))
            else:
                self.result = said["value"] if set(said) == {"value"} else said


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            continue


def _tail(path: Path) -> str:
    return path.read_bytes()[-2000:].decode(errors="replace").strip()


class FitEstimator:
    """Trains a Gluon Estimator, reports after each epoch, and takes trials up from their checkpoints.

    Parameters
    ----------
    make : callable
        Makes an Estimator from a :class:`Trial`; at module level, so that worker processes find it.
    data : callable
        Makes ``(train_data, val_data)`` from a :class:`Trial`; `val_data` may be None.
    epochs : int
    metric : str, optional
        Name of the metric that is the value; by default the first one over the validation data, or over the training
        data where there is no other.

    Examples
    --------
    >>> from loomix import tune
    >>> objective = tune.FitEstimator(make_estimator, make_loaders, epochs=10)  # doctest: +SKIP
    """

    def __init__(
        self,
        make: Callable[[Trial], Any],
        data: Callable[[Trial], Any],
        epochs: int,
        metric: str | None = None,
    ) -> None:
        self._make, self._data, self._epochs, self._metric = make, data, epochs, metric

    def __call__(self, trial: Trial) -> float:
        from ..gluon.contrib.estimator import CheckpointHandler, EpochEnd

        estimator = self._make(trial)
        train, val = self._data(trial)
        measured = estimator.train_metrics if val is None else estimator.val_metrics

        def value() -> float:
            found = dict(metric.get() for metric in measured)
            name = self._metric or next(iter(found))
            if name not in found:
                raise MXNetError(
                    f"[tune.FitEstimator] there is no metric {name!r}; there are {sorted(found)}."
                )
            return float(found[name])

        done = int(_progress(trial.folder)["epochs"])

        class Report(EpochEnd):
            priority = 1000  # after the validation and the checkpoint

            def epoch_end(self, *args: Any, **kwargs: Any) -> None:
                nonlocal done
                done += 1
                trial.report(value(), done - 1)

        kept = CheckpointHandler(
            str(trial.folder), model_prefix="net", max_checkpoints=2, resume_from_checkpoint=True
        )
        last = self._epochs - 1
        if done < self._epochs:
            estimator.fit(train, val_data=val, epochs=self._epochs, event_handlers=[kept, Report()])
        elif last not in trial.reported:  # killed between the last checkpoint and its report
            estimator.net.load_parameters(
                str(trial.folder / f"{_progress(trial.folder)['checkpoint']}.params")
            )
            estimator.evaluate(train if val is None else val)
            measured = estimator.val_metrics
            trial.report(value(), last)
        return trial.reported[last]


def _progress(folder: Path) -> dict[str, Any]:
    path = folder / "net-progress.json"
    return dict(json.loads(path.read_text())) if path.exists() else {"epochs": 0}


class FitModule:
    """Trains a Module, reports its score after each epoch, and takes trials up from their checkpoints.

    Parameters
    ----------
    make : callable
        Makes a Module from a :class:`Trial`; at module level, so that worker processes find it.
    data : callable
        Makes ``(train_data, eval_data)``, iterators, from a :class:`Trial`.
    epochs : int
    metric : str
        What is measured on `eval_data`.
    fit : callable, optional
        Gives further arguments of ``Module.fit`` from a :class:`Trial`, such as ``optimizer_params``.

    Examples
    --------
    >>> from loomix import tune
    >>> objective = tune.FitModule(make_module, make_iterators, epochs=10)  # doctest: +SKIP
    """

    def __init__(
        self,
        make: Callable[[Trial], Any],
        data: Callable[[Trial], Any],
        epochs: int,
        metric: str = "acc",
        fit: Callable[[Trial], Mapping[str, Any]] | None = None,
    ) -> None:
        self._make, self._data, self._epochs, self._metric, self._fit = make, data, epochs, metric, fit

    def __call__(self, trial: Trial) -> float:
        with NameManager():  # the same names for the worker that takes it up
            module = self._make(trial)
        train, held_out = self._data(trial)
        prefix = str(trial.folder / "net")
        further = dict(self._fit(trial)) if self._fit else {}
        begin = 0 if trial.last_step is None else trial.last_step + 1  # a report comes after its checkpoint
        if begin:
            _, arg_params, aux_params = load_checkpoint(prefix, begin)
            # What load() of a module leaves for init_optimizer to find.
            module._preload_opt_states = checkpoint_name(prefix, begin, "states")
            further.update(arg_params=arg_params, aux_params=aux_params)
        for epoch in range(begin, self._epochs):
            module.fit(train, eval_metric=self._metric, begin_epoch=epoch, num_epoch=epoch + 1, **further)
            module.save_checkpoint(prefix, epoch + 1, save_optimizer_states=True)
            trial.report(module.score(held_out, self._metric)[0][1], epoch)
        return trial.reported[self._epochs - 1]


class Function:
    """A function of a Python file, ``"train.py:objective"``, as studies in files name it.

    Examples
    --------
    >>> from loomix import tune
    >>> objective = tune.Function("train.py:objective")
    """

    def __init__(self, place: str) -> None:
        path, colon, self._name = str(place).rpartition(":")
        if not (path.endswith(".py") and self._name.isidentifier()):
            raise MXNetError(f"[tune.Function] {place!r}: allowed is FILE.py:FUNCTION.")
        self._path = os.path.abspath(path)
        self.place = f"{self._path}:{self._name}"
        self._function: Callable[[Trial], Any] | None = None

    def __reduce__(self) -> Any:
        return Function, (self.place,)

    def load(self) -> Callable[[Trial], Any]:
        """Runs the file, once, and returns the function."""
        if self._function is None:
            spec = importlib.util.spec_from_file_location(Path(self._path).stem, self._path)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.path.insert(0, os.path.dirname(self._path))
            try:
                spec.loader.exec_module(module)
            except OSError as error:
                raise MXNetError(f"[tune.Function] {self._path}: {error.strerror}.") from error
            finally:
                sys.path.remove(os.path.dirname(self._path))
            if not callable(getattr(module, self._name, None)):
                hint = suggest(self._name, [name for name in vars(module) if not name.startswith("_")])
                raise MXNetError(f"[tune.Function] {self._path} has no function {self._name!r}. {hint}")
            self._function = getattr(module, self._name)
        return self._function

    def __call__(self, trial: Trial) -> Any:
        return self.load()(trial)


def to_plain(objective: Any) -> dict[str, Any] | None:
    """What :func:`from_plain` reads; None for a function, which no file can hold."""
    if isinstance(objective, Command):
        return {"command": objective.arguments}
    return {"objective": objective.place} if isinstance(objective, Function) else None


def from_plain(plain: Mapping[str, Any], who: str) -> Command | Function:
    """The objective of a study in a file."""
    if ("command" in plain) == ("objective" in plain):
        raise MXNetError(
            f'[tune] {who} needs one of command = ["PROGRAM", ...] and objective = "FILE.py:FUNCTION".'
        )
    return Command(plain["command"]) if "command" in plain else Function(plain["objective"])
