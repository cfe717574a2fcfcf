# SPDX-License-Identifier: Apache-2.0
"""Files from which a training goes on."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from ....base import MXNetFileError, MXNetValueError
from ....metric import EvalMetric
from ....model import write_whole
from ...hybrid_block import HybridBlock
from .events import BatchEnd, EpochEnd, TrainBegin
from .stopping import check_monitor, larger_is_better
from .updating import is_due, periods

if TYPE_CHECKING:
    from .estimator import Estimator

__all__ = ["CheckpointHandler"]


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Writes parameters and the trainer's states now and then, and the symbol of a network that is hybridized.

    The files are ``PREFIX-epochEbatchB.params`` and ``.states``, those of the best network ``PREFIX-best.params`` and
    ``.states``, ``PREFIX-symbol.json``, and ``PREFIX-progress.json``, which says where to go on. E counts from 0. B is
    how many batches there were; in a file written after a batch, not after an epoch, it is this batch's number from 0.

    Parameters
    ----------
    model_dir : str
        The folder, which is made if it is not there.
    model_prefix : str
    monitor : EvalMetric, optional
        Which of the estimator's metrics tells the best network.
    verbose : int
        Above 0 each checkpoint is logged.
    save_best : bool
        Whether the best network is kept, too; looked at whenever a checkpoint is written.
    mode : {'auto', 'min', 'max'}
        Whether smaller or larger values are better; 'auto' goes by the metric's name.
    epoch_period, batch_period : int, optional
        After how many epochs, and after how many batches, a checkpoint is written.
    max_checkpoints : int
        How many are kept, the best one aside; the oldest ones are removed.
    resume_from_checkpoint : bool
        Whether the training goes on from the last checkpoint in the folder, if there is one; an epoch that it was in is
        begun again. What ``fit`` is told then is the length of the whole training.

    Examples
    --------
    >>> from loomix.gluon.contrib.estimator import CheckpointHandler
    >>> checkpoints = CheckpointHandler("run1", max_checkpoints=2, resume_from_checkpoint=True)  # doctest: +SKIP
    >>> estimator.fit(loader, epochs=90, event_handlers=[checkpoints])  # doctest: +SKIP
    """

    def __init__(
        self,
        model_dir: str,
        model_prefix: str = "model",
        monitor: EvalMetric | None = None,
        verbose: int = 0,
        save_best: bool = False,
        mode: str = "auto",
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        max_checkpoints: int = 5,
        resume_from_checkpoint: bool = False,
    ) -> None:
        periods(
            "CheckpointHandler",
            epoch_period=epoch_period,
            batch_period=batch_period,
            max_checkpoints=max_checkpoints,
        )
        if save_best or monitor is not None:
            check_monitor(monitor, "CheckpointHandler", "with save_best it must be")
        self.monitor = monitor
        self.verbose = verbose
        self.model_dir = os.path.expanduser(model_dir)
        self.model_prefix = model_prefix
        self.save_best = save_best
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        larger = monitor is not None and larger_is_better(monitor, mode, "CheckpointHandler")
        self._sign = 1 if larger else -1
        os.makedirs(self.model_dir, exist_ok=True)
        self._start()

    def _start(self) -> None:
        self.current_batch = self.trained_batch = 0
        self.current_epoch = self.trained_epoch = 0
        self._epoch_began = 0  # after which batch
        self.best = -self._sign * float("inf")
        self.saved_checkpoints: list[str] = []

    def _path(self, name: str) -> str:
        return os.path.join(self.model_dir, name)

    # ---- events ----

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Goes on from a checkpoint, if that is asked for."""
        self._start()
        if self.resume_from_checkpoint:
            self._resume(estimator)

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Writes a checkpoint if enough batches are done."""
        if self.current_batch == 0:
            self._save_symbol(estimator)
        self.current_batch += 1
        if is_due(self.current_batch, self.batch_period):
            whole = self.current_batch - self._epoch_began == estimator.batches_per_epoch
            self._save(estimator, self.current_batch - 1, self.current_epoch + whole)

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Writes a checkpoint if enough epochs are done."""
        if is_due(self.current_epoch + 1, self.epoch_period):
            self._save(estimator, self.current_batch, self.current_epoch + 1)
        self.current_epoch += 1
        self._epoch_began = self.current_batch

    # ---- writing ----

    def _save_symbol(self, estimator: Estimator) -> None:
        path = self._path(f"{self.model_prefix}-symbol.json")
        graph = estimator.net._graph if isinstance(estimator.net, HybridBlock) else None
        if graph is None:
            estimator.logger.info("CheckpointHandler: no %s, for the network is not hybridized.", path)
        else:
            write_whole(path, graph[1].save)

    def _save(self, estimator: Estimator, batch: int, epochs: int) -> None:
        name = (
            f"{self.model_prefix}-epoch{self.trained_epoch + self.current_epoch}"
            f"batch{self.trained_batch + batch}"
        )
        if self.verbose > 0:
            estimator.logger.info(
                "[Epoch %d] CheckpointHandler: %s after %d batches",
                self.trained_epoch + self.current_epoch,
                self._path(name),
                self.trained_batch + self.current_batch,
            )
        self._write(estimator, name)
        if name in self.saved_checkpoints:
            self.saved_checkpoints.remove(name)
        self.saved_checkpoints.append(name)
        while len(self.saved_checkpoints) > self.max_checkpoints:
            oldest = self.saved_checkpoints.pop(0)
            for ending in (".states", ".params"):  # states first: parameters alone are no checkpoint
                if os.path.exists(self._path(oldest + ending)):
                    os.remove(self._path(oldest + ending))
        if self.save_best:
            self._save_best(estimator)
        progress = {
            "checkpoint": name,
            "epochs": self.trained_epoch + epochs,
            "batches": self.trained_batch + self.current_batch,
        }
        if self.save_best:
            assert self.monitor is not None
            progress["best"] = {"monitor": self.monitor.get()[0], "value": float(self.best)}

        def write(path: str) -> None:
            with open(path, "w") as file:
                json.dump(progress, file)

        write_whole(self._path(f"{self.model_prefix}-progress.json"), write)  # last: what it names is there

    def _write(self, estimator: Estimator, name: str) -> None:
        write_whole(self._path(name + ".params"), estimator.net.save_parameters)
        estimator.trainer.save_states(self._path(name + ".states"))

    def _save_best(self, estimator: Estimator) -> None:
        assert self.monitor is not None
        name, value = self.monitor.get()
        improved = self._sign * (value - self.best) > 0
        if self.verbose > 0:
            change = "better than" if improved else "not better than"
            estimator.logger.info(
                "[Epoch %d] CheckpointHandler: %s %.5f is %s %.5f",
                self.trained_epoch + self.current_epoch,
                name,
                value,
                change,
                self.best,
            )
        if improved:
            self.best = value
            self._write(estimator, f"{self.model_prefix}-best")

    # ---- going on ----

    def _found(self) -> list[tuple[int, int, str]]:
        """Epoch, batch and name of the checkpoints in the folder, the last one last."""
        files = set(os.listdir(self.model_dir))
        pattern = re.compile(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)")
        found = []
        for file in files:
            name, ending = os.path.splitext(file)
            match = pattern.fullmatch(name)
            if match and ending == ".params" and name + ".states" in files:
                found.append((int(match[1]), int(match[2]), name))
        return sorted(found)

    def _resume(self, estimator: Estimator) -> None:
        found = self._found()
        if not found:
            estimator.logger.info("CheckpointHandler: no checkpoint in %s; starting anew.", self.model_dir)
            return
        epoch, batch, name = found[-1]
        by_batches = estimator.max_epoch is None
        progress = self._progress()
        if progress.get("checkpoint") in {item for _, _, item in found}:
            name, epochs, batches = progress["checkpoint"], progress["epochs"], progress["batches"]
            self._resume_best(progress.get("best"))
        else:  # MXNet wrote it: B is the number of batches, or this number less one
            epochs, batches = epoch + 1, batch + 1 if by_batches else batch
        done, wanted = (batches, estimator.max_batch) if by_batches else (epochs, estimator.max_epoch)
        assert wanted is not None
        if done >= wanted:
            raise MXNetValueError(
                f"[CheckpointHandler] {self._path(name)} has {done} {'batches' if by_batches else 'epochs'} of "
                f"training already, and fit was told {wanted}; give more, or resume_from_checkpoint=False."
            )
        estimator.net.load_parameters(self._path(name + ".params"), ctx=estimator.context)
        estimator.trainer.load_states(self._path(name + ".states"))
        self.trained_epoch, self.trained_batch = epochs, batches
        self.saved_checkpoints = [item for _, _, item in found]
        if by_batches:
            estimator.max_batch = wanted - done
        else:
            estimator.max_epoch = wanted - done
        estimator.logger.info(
            "CheckpointHandler: going on from %s; %d %s are left.",
            self._path(name),
            wanted - done,
            "batches" if by_batches else "epochs",
        )

    def _progress(self) -> dict[str, Any]:
        path = self._path(f"{self.model_prefix}-progress.json")
        if not os.path.exists(path):
            return {}
        try:
            with open(path) as file:
                progress = json.load(file)
            kinds = {"checkpoint": str, "epochs": int, "batches": int}
            if all(isinstance(progress[key], kind) for key, kind in kinds.items()):
                return progress
            problem = f"it has {progress}"
        except (ValueError, KeyError, TypeError) as error:
            problem = repr(error)
        raise MXNetFileError(
            f"[CheckpointHandler] {path} does not say where to go on: {problem}; without it, the name of the last "
            "checkpoint does."
        )

    def _resume_best(self, best: Any) -> None:
        if self.save_best and isinstance(best, dict):
            assert self.monitor is not None
            if best.get("monitor") == self.monitor.get()[0]:
                self.best = float(best["value"])
