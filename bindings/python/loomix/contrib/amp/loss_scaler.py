# SPDX-License-Identifier: Apache-2.0
"""The factor that keeps small gradients within the range of a short type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import _star
from ... import ndarray as nd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...gluon import Parameter
    from ...ndarray import NDArray

__all__ = ["LossScaler"]

_STEPS_UNTIL_RISE = 2000
_HIGHEST, _LOWEST = 2.0**24, 2.0**-24


class LossScaler:
    """A factor for losses that halves when gradients overflow, and doubles after 2000 steps without.

    Examples
    --------
    >>> import loomix as mx
    >>> scaler = mx.contrib.amp.loss_scaler.LossScaler()
    >>> scaler.loss_scale
    65536.0
    """

    def __init__(self) -> None:
        self._loss_scale = 2.0**16
        self._steps = 0  # since it has changed last

    @property
    def loss_scale(self) -> float:
        """What the next loss is to be multiplied by."""
        return self._loss_scale

    def has_overflow(
        self, params: Iterable[Parameter], anywhere: Callable[[bool], bool] | None = None
    ) -> bool:
        """Whether a gradient of a step is infinite or not a number; call it once a step, as the factor follows.

        Parameters
        ----------
        params : list of Parameter
            Those with ``grad_req="null"`` have no gradients and do not count.
        anywhere : callable, optional
            Of whether it is so on this rank: whether it is on any, where parameters are split over ranks.
        """
        arrays = [array for param in params if param.grad_req != "null" for array in param.list_grad()]
        return self.follow(arrays, anywhere)

    def follow(self, gradients: Iterable[NDArray], anywhere: Callable[[bool], bool] | None = None) -> bool:
        """The same for gradients themselves."""
        overflow = not _all_finite(gradients)
        if anywhere is not None:
            overflow = anywhere(overflow)
        if overflow:
            self._loss_scale = max(self._loss_scale / 2, _LOWEST)
            self._steps = 0
        else:
            self._steps += 1
            if self._steps == _STEPS_UNTIL_RISE:
                self._loss_scale = min(self._loss_scale * 2, _HIGHEST)
                self._steps = 0
        return overflow


def _all_finite(gradients: Iterable[NDArray]) -> bool:
    groups: dict[Any, list[NDArray]] = {}
    for array in gradients:
        dense = array if array.stype == "default" else array.data  # type: ignore[attr-defined]
        groups.setdefault(dense.context, []).append(dense)
    checks = [nd.multi_all_finite(*arrays) for arrays in groups.values()]
    return all(bool(check.asscalar()) for check in checks)


_star.complete(globals(), "ag logging multi_all_finite nd")
