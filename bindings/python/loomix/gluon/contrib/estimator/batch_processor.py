# SPDX-License-Identifier: Apache-2.0
"""What an estimator does with a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .... import autograd
from ...utils import split_and_load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....context import Context
    from ....ndarray import NDArray
    from .estimator import Estimator

__all__ = ["BatchProcessor"]

_Parts = list["NDArray"]


class BatchProcessor:
    """Computes a batch of a training or an evaluation. Subclass it where a batch is not (data, label), or a step is
    not one forward and one backward pass.

    Examples
    --------
    >>> import loomix as mx
    >>> class Autoencoder(mx.gluon.contrib.estimator.BatchProcessor):
    ...     def fit_batch(self, estimator, batch, batch_axis=0):
    ...         data = mx.gluon.utils.split_and_load(batch, estimator.context, batch_axis)
    ...         with mx.autograd.record():
    ...             output = [estimator.net(part) for part in data]
    ...             loss = [estimator.loss(part, same) for part, same in zip(output, data)]
    ...         mx.autograd.backward(loss)
    ...         return data, data, output, loss
    """

    def __init__(self) -> None:
        pass

    def _get_data_and_label(
        self, batch: Any, ctx: Sequence[Context], batch_axis: int = 0
    ) -> tuple[_Parts, _Parts]:
        data, label = batch[0], batch[1]
        return (
            split_and_load(data, ctx, batch_axis, even_split=False),
            split_and_load(label, ctx, batch_axis, even_split=False),
        )

    def evaluate_batch(
        self, estimator: Estimator, val_batch: Any, batch_axis: int = 0
    ) -> tuple[_Parts, _Parts, _Parts, _Parts]:
        """Computes predictions and losses of a batch of an evaluation.

        Parameters
        ----------
        estimator : Estimator
        val_batch : tuple of NDArray
            Data and labels.
        batch_axis : int
            The axis along which a batch is cut for several devices.

        Returns
        -------
        tuple of lists of NDArray
            Data, labels, predictions and losses, one of each for every device.
        """
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(part) for part in data]
        loss = [estimator.val_loss(part, wanted) for part, wanted in zip(pred, label)]
        return data, label, pred, loss

    def fit_batch(
        self, estimator: Estimator, train_batch: Any, batch_axis: int = 0
    ) -> tuple[_Parts, _Parts, _Parts, _Parts]:
        """Computes predictions, losses and gradients of a batch; parameters and results as for
        :meth:`evaluate_batch`."""
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(part) for part in data]
            loss = [estimator.loss(part, wanted) for part, wanted in zip(pred, label)]
        autograd.backward(loss)
        return data, label, pred, loss
