# SPDX-License-Identifier: Apache-2.0
"""Learning rates as functions of the number of updates done."""

from __future__ import annotations

import logging
from math import cos, pi
from typing import Any

from . import _star
from ._arguments import as_number
from .base import MXNetValueError
from .log import note

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]


class LRScheduler:
    """Base of the schedules: a rate, and a warm-up that leads to it.

    Parameters
    ----------
    base_lr : float
        The rate after the warm-up.
    warmup_steps : int
        Length of the warm-up in updates.
    warmup_begin_lr : float
        The rate at its beginning.
    warmup_mode : {"linear", "constant"}
        Whether the rate rises evenly to ``base_lr``, or stays at ``warmup_begin_lr`` until the end.

    Raises
    ------
    ValueError
        When the rates are not ordered, or steps or mode are not valid.

    Examples
    --------
    >>> import loomix as mx
    >>> class Halving(mx.lr_scheduler.LRScheduler):
    ...     def __call__(self, num_update):
    ...         return self.base_lr / 2 ** (num_update // 100)
    >>> Halving(base_lr=0.1)(250)
    0.025
    """

    def __init__(
        self,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        if not isinstance(warmup_steps, int) or warmup_steps < 0:
            raise MXNetValueError(f"[LRScheduler] warmup_steps is {warmup_steps!r}; expected an int >= 0.")
        as_number("LRScheduler", "base_lr", base_lr)
        as_number("LRScheduler", "warmup_begin_lr", warmup_begin_lr)
        if warmup_begin_lr > base_lr:
            raise MXNetValueError(
                f"[LRScheduler] warmup_begin_lr {warmup_begin_lr} is above base_lr {base_lr}; expected it "
                f"below."
            )
        if warmup_mode not in ("linear", "constant"):
            raise MXNetValueError(
                f"[LRScheduler] warmup_mode is {warmup_mode!r}; expected 'linear' or 'constant'."
            )
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_final_lr = base_lr
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode

    def __repr__(self) -> str:
        shown = {
            name: value for name, value in vars(self).items() if isinstance(value, (int, float, str, list))
        }
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def get_warmup_lr(self, num_update: int) -> float:
        """The rate during the warm-up, at update ``num_update < warmup_steps``."""
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        rise = self.warmup_final_lr - self.warmup_begin_lr
        return self.warmup_begin_lr + rise * num_update / self.warmup_steps

    def __call__(self, num_update: int) -> Any:
        """The rate at update ``num_update``, the largest count of updates of any one parameter."""
        raise NotImplementedError(f"[{type(self).__name__}] __call__ is not implemented.")


def _check_factor(factor: float) -> None:
    if as_number("LRScheduler", "factor", factor) > 1.0:
        raise MXNetValueError(
            f"[LRScheduler] factor is {factor}; expected at most 1, so that the rate falls."
        )


class FactorScheduler(LRScheduler):
    """Multiplies the rate by ``factor`` every ``step`` updates, down to ``stop_factor_lr``.

    >>> schedule = FactorScheduler(step=10, factor=0.5, base_lr=1.0)
    >>> [schedule(n) for n in (1, 10, 11, 21)]
    [1.0, 1.0, 0.5, 0.25]
    """

    def __init__(
        self,
        step: Any,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        _check_factor(factor)
        self.step = as_number("FactorScheduler", "step", step, least=1)
        self.factor = factor
        self.stop_factor_lr = as_number("FactorScheduler", "stop_factor_lr", stop_factor_lr)
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while num_update > self.count + self.step:  # several steps after a resume
            self.count += self.step
            self.base_lr *= self.factor
            if self.base_lr < self.stop_factor_lr:
                self.base_lr = self.stop_factor_lr
                note(
                    logging,
                    "Update[%d]: now learning rate arrived at %0.5e, will not change in the future",
                    num_update,
                    self.base_lr,
                )
            else:
                note(logging, "Update[%d]: Change learning rate to %0.5e", num_update, self.base_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiplies the rate by ``factor`` after each update number in the rising list ``step``.

    >>> schedule = MultiFactorScheduler(step=[5, 8], factor=0.1, base_lr=1.0)
    >>> [round(schedule(n), 3) for n in (5, 6, 9)]
    [1.0, 0.1, 0.01]
    """

    def __init__(
        self,
        step: Any,
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(step, list) or not step:
            raise MXNetValueError(
                f"[MultiFactorScheduler] step is {step!r}; expected a list of update numbers."
            )
        for number in step:
            as_number("MultiFactorScheduler", "an update number in step", number)
        if step[0] < 1 or any(later <= earlier for earlier, later in zip(step, step[1:])):
            raise MXNetValueError(f"[MultiFactorScheduler] step is {step}; expected rising numbers from 1.")
        _check_factor(factor)
        self.step = step
        self.cur_step_ind = 0
        self.factor = factor
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            note(logging, "Update[%d]: Change learning rate to %0.5e", num_update, self.base_lr)
        return self.base_lr


class _DecayScheduler(LRScheduler):
    """Falls from ``base_lr`` to ``final_lr`` between the warm-up's end and ``max_update``."""

    def __init__(
        self,
        max_update: int,
        base_lr: float,
        final_lr: float,
        warmup_steps: int,
        warmup_begin_lr: float,
        warmup_mode: str,
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(max_update, int) or max_update < 1:
            raise MXNetValueError(
                f"[{type(self).__name__}] max_update is {max_update!r}; expected an int >= 1."
            )
        self.base_lr_orig = self.base_lr
        self.max_update = max_update
        self.final_lr = as_number(type(self).__name__, "final_lr", final_lr)
        self.max_steps = self.max_update - self.warmup_steps

    def _share(self, done: Any) -> Any:
        """What is left of the way from ``base_lr`` to ``final_lr`` when the share ``done`` has passed."""
        raise NotImplementedError

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            share = self._share((num_update - self.warmup_steps) / self.max_steps if self.max_steps else 1.0)
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * share
        return self.base_lr


class PolyScheduler(_DecayScheduler):
    """Falls to ``final_lr`` at ``max_update`` like the power ``pwr`` of what is left.

    >>> schedule = PolyScheduler(max_update=10, base_lr=1.0, pwr=2)
    >>> [schedule(n) for n in (0, 5, 10, 20)]
    [1.0, 0.25, 0.0, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: int = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = as_number("PolyScheduler", "pwr", pwr)

    def _share(self, done: Any) -> Any:
        return pow(1 - done, self.power)


class CosineScheduler(_DecayScheduler):
    """Falls to ``final_lr`` at ``max_update`` along half a cosine wave.

    >>> schedule = CosineScheduler(max_update=10, base_lr=1.0)
    >>> [round(schedule(n), 3) for n in (0, 5, 10)]
    [1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def _share(self, done: Any) -> float:
        return (1 + cos(pi * done)) / 2


_star.complete(globals(), "cos logging pi")
