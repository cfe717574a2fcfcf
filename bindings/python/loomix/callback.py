# SPDX-License-Identifier: Apache-2.0
"""Callbacks for ``Module.fit``: checkpoints, speed and metrics in the log, a progress bar."""

from __future__ import annotations

import logging
import math
import sys
import time
from typing import TYPE_CHECKING, Any

from . import _star
from ._arguments import as_number, as_path, as_whole, expect
from .base import described
from .log import progress
from .model import save_checkpoint

if TYPE_CHECKING:
    from .symbol import Symbol

__all__ = [
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
]


def _prefix_and_period(who: str, prefix: Any, period: Any) -> tuple[str, int]:
    return as_path(who, "prefix", prefix), max(1, int(as_number(who, "period", period)))


def module_checkpoint(mod: Any, prefix: str, period: int = 1, save_optimizer_states: bool = False) -> Any:
    """An epoch-end callback that saves ``mod`` every ``period`` epochs, if wanted with its optimizer's
    states.

    Parameters
    ----------
    mod : BaseModule
        The module to save.
    prefix : str
        Files are called ``prefix-symbol.json``, ``prefix-0001.params`` and ``prefix-0001.states``.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> prefix = os.path.join(tempfile.mkdtemp(), "net")
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(net, label_names=None)
    >>> module.bind([("data", (1, 4))])
    >>> module.init_params()
    >>> save = mx.callback.module_checkpoint(module, prefix, period=2)  # for epoch_end_callback of fit
    >>> save(1)  # after the second epoch
    >>> sorted(os.listdir(os.path.dirname(prefix)))
    ['net-0002.params', 'net-symbol.json']
    """
    right = hasattr(mod, "save_checkpoint")
    expect(right, "module_checkpoint", "mod", mod, "a module")
    prefix, period = _prefix_and_period("module_checkpoint", prefix, period)

    def _callback(iter_no: int, sym: Symbol | None = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % period == 0:
            mod.save_checkpoint(prefix, iter_no + 1, save_optimizer_states)

    return _callback


def do_checkpoint(prefix: str, period: int = 1) -> Any:
    """An epoch-end callback that saves symbol and parameters every ``period`` epochs.

    >>> callback = do_checkpoint("model", 5)
    """
    prefix, period = _prefix_and_period("do_checkpoint", prefix, period)

    def _callback(iter_no: int, sym: Symbol, arg: Any, aux: Any) -> None:
        if (iter_no + 1) % period == 0:
            save_checkpoint(prefix, iter_no + 1, sym, arg, aux)

    return _callback


def log_train_metric(period: int, auto_reset: bool = False) -> Any:
    """A batch-end callback that logs the training metric every ``period`` batches, and may restart it
    then.

    Examples
    --------
    >>> import loomix as mx
    >>> callback = mx.callback.log_train_metric(period=10)
    >>> callback(mx.model.BatchEndParam(epoch=0, nbatch=1, eval_metric=mx.metric.Loss(), locals=None))
    """

    as_whole("log_train_metric", "period", period, least=1)

    def _callback(param: Any) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                progress(logging, "Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
            if auto_reset:
                param.eval_metric.reset_local()

    return _callback


class Speedometer:
    """A batch-end callback that logs samples per second, and the training metric.

    Parameters
    ----------
    batch_size : int
        Samples in a batch.
    frequent : int
        Logs every so many batches.
    auto_reset : bool
        Whether the metric covers the batches since the last line only.

    Examples
    --------
    >>> import loomix as mx
    >>> speed = mx.callback.Speedometer(batch_size=32, frequent=50)
    >>> speed(mx.model.BatchEndParam(epoch=0, nbatch=1, eval_metric=None, locals=None))
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        as_number("Speedometer", "batch_size", batch_size, least=0)
        self.batch_size = batch_size
        self.frequent = as_whole("Speedometer", "frequent", frequent, least=1)
        self.auto_reset = auto_reset
        self.tic = 0.0
        self.last_count = 0
        self._running = False

    def __repr__(self) -> str:
        return described(self, batch_size=self.batch_size, frequent=self.frequent, auto_reset=self.auto_reset)

    def __call__(self, param: Any) -> None:
        count = param.nbatch
        if self.last_count > count:  # a new epoch
            self._running = False
        self.last_count = count
        if not self._running:
            self._running = True
            self.tic = time.time()
            return
        if count % self.frequent:
            return
        metric = param.eval_metric
        values = (
            metric.get_name_value() if metric is not None else []
        )  # waits, so it belongs to the time measured
        seconds = time.time() - self.tic
        speed = self.frequent * self.batch_size / seconds if seconds > 0 else float("inf")
        if metric is None:
            progress(logging, "Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
        else:
            first = 0
            if self.auto_reset:
                first = count - self.frequent
                metric.reset_local()
            text = "".join(f"\t{name}={value:f}" for name, value in values)
            progress(
                logging,
                "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec%s",
                param.epoch,
                first,
                count,
                speed,
                text,
            )
        self.tic = time.time()


class ProgressBar:
    """A batch-end callback that draws a bar on the terminal.

    Parameters
    ----------
    total : int
        Batches in an epoch.
    length : int
        Characters of the bar.

    Examples
    --------
    >>> import loomix as mx
    >>> bar = mx.callback.ProgressBar(total=10)  # for batch_end_callback of fit
    """

    def __init__(self, total: Any, length: Any = 80) -> None:
        self.total = as_whole("ProgressBar", "total", total, least=1)
        self.bar_len = as_whole("ProgressBar", "length", length, least=1)

    def __repr__(self) -> str:
        return described(self, total=self.total, length=self.bar_len)

    def __call__(self, param: Any) -> None:
        share = param.nbatch / float(self.total)
        filled = round(self.bar_len * share)
        bar = "=" * filled + "-" * (self.bar_len - filled)
        sys.stdout.write(f"[{bar}] {math.ceil(100.0 * share)}%\r")
        sys.stdout.flush()


class LogValidationMetricsCallback:
    """An evaluation-end callback that logs the validation metric.

    Examples
    --------
    >>> import loomix as mx
    >>> callback = mx.callback.LogValidationMetricsCallback()  # for eval_end_callback of fit
    """

    def __call__(self, param: Any) -> None:
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            progress(logging, "Epoch[%d] Validation-%s=%f", param.epoch, name, value)


_star.complete(globals(), "logging math save_checkpoint time")
