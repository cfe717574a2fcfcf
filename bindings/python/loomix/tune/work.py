# SPDX-License-Identifier: Apache-2.0
"""The workers of a search. Each takes the next trial as soon as it is free; nobody hands them out.

A worker holds the lock of its trial's folder while it tries, so a trial that runs and whose lock is free was left by a
worker that died; the next free worker takes it up. What is next is decided under a lock of the search's folder.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from ..base import MXNetError
from ..progress_bar import WorkBar
from . import space as spaces
from .plan import Plan, points
from .storage import FileLock, open_storage, optuna
from .trial import Pruned, Trial

_ATTEMPTS = 3  # workers that may die over a trial without a new step
_LOOK = 0.05  # seconds between looks at trials that others run
_PATIENCE = 8.0  # seconds for workers to end; their commands have five
_FAULT = 1  # exit status of a worker that failed outside of its objective

Objective = Callable[[Trial], Any]


def _pruner(library: Any, kind: str | None) -> Any:
    pruners = library.pruners
    made = {
        None: pruners.NopPruner,
        "halving": pruners.SuccessiveHalvingPruner,
        "hyperband": pruners.HyperbandPruner,
        "median": pruners.MedianPruner,
    }
    return made[kind]()


def open_study(plan: Plan) -> Any:
    """The library's study; makes it where there is none."""
    library = optuna()
    with FileLock(plan.folder / "next.lock").held():
        study = library.create_study(
            storage=open_storage(plan.folder, plan.storage),
            study_name=plan.name,
            directions=list(plan.directions.values()),
            pruner=_pruner(library, plan.pruning),
            sampler=library.samplers.RandomSampler(),  # each trial gets its own
            load_if_exists=True,
        )
        if plan.method == "grid":  # a process that was killed here may have left a part to do
            for point in points(plan)[len(study.get_trials(deepcopy=False)) :]:
                study.enqueue_trial(point)
    return study


class Worker:
    """Tries until nothing is left to try."""

    def __init__(self, plan: Plan, objective: Objective, device: str | None, deadline: float | None) -> None:
        self._plan, self._objective, self._device, self._deadline = plan, objective, device, deadline
        self._space = spaces.from_plain(plan.space)
        self._library = optuna()
        self._study = open_study(plan)
        self._states = self._library.trial.TrialState
        self._next = FileLock(plan.folder / "next.lock")

    def run(self, told: Callable[[int], None] = lambda done: None) -> None:
        """Tries, and waits at the end for the trials that others run, in case that these die."""
        done = 0
        while True:
            with self._next.held():
                taken, others = self._take()
            if taken is not None:
                self._try(*taken)
                done += 1
                told(done)
            elif others:
                time.sleep(_LOOK)
            else:
                return

    def _trials(self) -> list[Any]:
        study = self._study
        return study._storage.get_all_trials(study._study_id, deepcopy=False)

    def _take(self) -> tuple[tuple[Any, FileLock] | None, bool]:
        """A trial with its lock, and whether others run some."""
        trials, states = self._trials(), self._states
        if sum(trial.state == states.FAIL for trial in trials) > self._plan.failures:
            return None, False
        others = False
        for frozen in trials:
            if frozen.state == states.RUNNING:
                lock = self._lock(frozen.number)
                if not lock.try_acquire():
                    others = True
                elif self._abandoned(frozen):
                    return (self._library.trial.Trial(self._study, frozen._trial_id), lock), others
                else:
                    lock.release()
        if not self._may_begin(trials):
            return None, others
        trial = self._study.ask()
        lock = self._lock(trial.number)
        if not lock.try_acquire():
            raise MXNetError(
                f"[tune] {lock.path} of a new trial is locked; is the folder used by another search?"
            )
        self._count_attempt(trial.number, None)
        return (trial, lock), others

    def _lock(self, number: int) -> FileLock:
        folder = self._folder(number)
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / "lock")

    def _folder(self, number: int) -> Path:
        return self._plan.folder / "trials" / f"{number:05d}"

    def _abandoned(self, frozen: Any) -> bool:
        """Whether the trial, whose lock is held here, is still to be done; one that kills its workers fails."""
        storage = self._study._storage
        latest = storage.get_trial(frozen._trial_id)  # it may have ended between the look and the lock
        if latest.state != self._states.RUNNING:
            return False
        if self._count_attempt(frozen.number, latest.last_step) <= _ATTEMPTS:
            return True
        storage.set_trial_user_attr(frozen._trial_id, "error", f"its worker died {_ATTEMPTS} times")
        storage.set_trial_state_values(frozen._trial_id, self._states.FAIL)
        return False

    def _count_attempt(self, number: int, step: int | None) -> int:
        path = self._folder(number) / "attempts"
        count, at = path.read_text().split() if path.exists() else ("0", str(step))
        attempt = int(count) + 1 if at == str(step) else 1
        new = path.with_suffix(".new")
        new.write_text(f"{attempt} {step}")
        new.replace(path)
        return attempt

    def _may_begin(self, trials: Sequence[Any]) -> bool:
        plan, states = self._plan, self._states
        begun = sum(trial.state != states.WAITING for trial in trials)
        if plan.method == "grid" and begun == len(trials):
            return False
        if plan.trials is not None and begun >= plan.trials:
            return False
        if self._deadline is not None and time.time() >= self._deadline:
            return False
        return plan.threshold is None or not any(
            trial.state == states.COMPLETE and plan.reached(trial.value) for trial in trials
        )

    def _try(self, trial: Any, lock: FileLock) -> None:
        plan, states = self._plan, self._states
        samplers, seed = self._library.samplers, plan.seed_of(trial.number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self._library.exceptions.ExperimentalWarning)
            # A new one each time: workers do not draw alike, and random trials do not depend on who draws them.
            self._study.sampler = (
                samplers.TPESampler(seed=seed, constant_liar=True)
                if plan.method == "tpe"
                else samplers.RandomSampler(seed=seed)
            )
        begin = time.perf_counter()
        try:
            params = spaces.draw(trial, self._space)
            tried = Trial(trial, params, self._folder(trial.number), seed, self._device, lock.descriptor)
            result = self._objective(tried)
            seconds = time.perf_counter() - begin
            values, results = plan.values(result, seconds)
            if results:
                trial.set_user_attr("results", results)
            self._study.tell(trial, values)
        except (Pruned, self._library.TrialPruned):
            self._study.tell(trial, state=states.PRUNED)
        except Exception as error:
            trial.set_user_attr("error", str(error) or type(error).__name__)
            self._study.tell(trial, state=states.FAIL)
        finally:
            lock.release()


def work_here(
    plan: Plan, objective: Objective, device: str | None, deadline: float | None, progress: bool
) -> None:
    """Works in this process."""
    bar = WorkBar(plan.name, plan.trials, "trials")
    bar.on = bar.on and progress
    try:
        Worker(plan, objective, device, deadline).run(bar.show)
    finally:
        bar.clear()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(_FAULT)


def _worker(plan: Plan, objective: bytes, device: str | None, deadline: float | None) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the master ends its workers
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that commands are ended, too
    Worker(plan, pickle.loads(objective), device, deadline).run()


@contextlib.contextmanager
def _confined(cores: Sequence[int]) -> Iterator[None]:
    """Processes that are started meanwhile have these cores from their first instruction on."""
    before, threads = os.sched_getaffinity(0), os.environ.get("OMP_NUM_THREADS")
    os.sched_setaffinity(0, cores)
    os.environ["OMP_NUM_THREADS"] = str(len(cores))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
        if threads is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = threads


class Team:
    """Worker processes on this machine."""

    def __init__(
        self,
        plan: Plan,
        objective: Objective,
        workers: int,
        devices: Sequence[str] | None,
        deadline: float | None,
    ) -> None:
        try:
            packed = pickle.dumps(objective)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise MXNetError(
                f"[tune.search] the objective {objective!r} cannot be sent to {workers} workers ({error}); allowed is "
                "a function at the level of a module, or workers=1."
            ) from error
        self._plan, self._context = plan, multiprocessing.get_context("spawn")
        cores = sorted(os.sched_getaffinity(0))
        self._seats = [
            (
                cores[i * len(cores) // workers : (i + 1) * len(cores) // workers] or [cores[i % len(cores)]],
                (plan, packed, devices[i % len(devices)] if devices else None, deadline),
            )
            for i in range(workers)
        ]

    def _start(self, seat: int) -> Any:
        cores, arguments = self._seats[seat]
        process = self._context.Process(target=_worker, args=arguments, name=f"tune-{seat}")
        with _confined(cores):
            process.start()
        return process

    def run(self, progress: bool) -> None:
        """Until all have ended; those that die are replaced."""
        study = open_study(self._plan)  # errors about the storage come once, from here
        bar = WorkBar(self._plan.name, self._plan.trials, "trials")
        bar.on = bar.on and progress
        running: dict[int, Any] = {}
        deaths = 0
        try:
            for seat in range(len(self._seats)):
                running[seat] = self._start(seat)
            while running:
                wait([process.sentinel for process in running.values()], timeout=0.5)
                if bar.on:
                    bar.show(sum(trial.state.is_finished() for trial in study.get_trials(deepcopy=False)))
                for seat, process in list(running.items()):
                    if process.exitcode is None:
                        continue
                    del running[seat]
                    if process.exitcode == 0:
                        continue
                    deaths += 1
                    if process.exitcode == _FAULT or deaths > _ATTEMPTS * (self._plan.failures + 10):
                        raise MXNetError(
                            f"[tune.search] a worker ended with status {process.exitcode}; what it wrote says why. "
                            f"{deaths} workers have died."
                        )
                    running[seat] = self._start(seat)
        finally:
            bar.clear()
            self._end(list(running.values()))

    @staticmethod
    def _end(processes: Sequence[Any]) -> None:
        for process in processes:
            process.terminate()
        end = time.monotonic() + _PATIENCE
        for process in processes:
            process.join(max(0.0, end - time.monotonic()))
            if process.exitcode is None:
                process.kill()
                process.join()
