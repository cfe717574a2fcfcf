# SPDX-License-Identifier: Apache-2.0
"""Metrics for TensorBoard. Needs the package tensorboardX."""

from __future__ import annotations

from typing import Any

from .. import _star

__all__ = ["LogMetricsCallback"]


def summary_writer(who: str, logging_dir: str, suffix: str = "") -> Any:
    """What writes an event file of TensorBoard's, whose name ends with `suffix`.

    Raises
    ------
    ImportError
        Without the package tensorboardX.
    """
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise ImportError(f"[{who}] the package tensorboardX is missing: pip install tensorboardX") from None
    return SummaryWriter(logging_dir, filename_suffix=suffix)


class LogMetricsCallback:
    """A callback for the end of batches, epochs or evaluations that writes the metric for TensorBoard.

    Parameters
    ----------
    logging_dir : str
        Folder for the event file; TensorBoard is started with ``--logdir`` of it.
    prefix : str, optional
        What stands before the metric's name, with a hyphen.

    Raises
    ------
    ImportError
        Without the package tensorboardX.

    Examples
    --------
    >>> import loomix as mx
    >>> callback = mx.contrib.tensorboard.LogMetricsCallback("logs/train")  # doctest: +SKIP
    >>> module.fit(batches, num_epoch=2, batch_end_callback=[callback])  # doctest: +SKIP
    """

    def __init__(self, logging_dir: str, prefix: str | None = None) -> None:
        self.prefix = prefix
        self.step = 0
        self.summary_writer = summary_writer("LogMetricsCallback", logging_dir)

    def __call__(self, param: Any) -> None:
        self.step += 1
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            tag = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(tag, value, self.step)


_star.complete(globals(), "logging")
