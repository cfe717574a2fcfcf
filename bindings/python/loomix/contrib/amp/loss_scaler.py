# SPDX-License-Identifier: Apache-2.0
"""The factor that keeps small gradients within the range of a short type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import _star
from ... import ndarray as nd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ...gluon import Parameter
    from ...ndarray import NDArray

__all__ = ["LossScaler"]

_STEPS_UNTIL_RISE = 2000
_HIGHEST, _LOWEST = 2.0**24, 2.0**-24


class LossScaler:
    """A factor for losses that halves when gradients overflow, and doubles after 2000 steps without.

    Where all gradients lie on GPUs, and the optimizer's updates are single operators (SGD, NAG, Signum, Adam, RMSProp,
    Ftrl, FTML), the factor lies on the first GPU, and updates skip themselves there: no step waits until the host has
    looked at gradients.

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
        self._on_device: _DeviceScale | None = None  # then these two are out of date
        self._stays_on_host = False  # as ranks ask each other

    @property
    def loss_scale(self) -> float:
        """What the next loss is to be multiplied by. Where the factor lies on a GPU, this waits for it."""
        self._read_device()
        return self._loss_scale

    def _read_device(self) -> None:
        if self._on_device is not None:
            self._loss_scale, self._steps = self._on_device.read()

    def _come_back(self) -> None:
        """From now on the host has the factor."""
        self._read_device()
        self._on_device = None

    def _device_scale(
        self, optimizer: Any, gradients: Sequence[NDArray], anywhere: Callable[[bool], bool] | None = None
    ) -> _DeviceScale | None:
        """What the factor is on GPUs; None where the host has it."""
        if anywhere is not None and not self._stays_on_host:
            self._stays_on_host = True
            if self._on_device is not None:
                self._on_device.unscale(gradients)
        if self._stays_on_host or not _can_follow(optimizer, gradients):
            self._come_back()
        elif self._on_device is None:
            self._on_device = _DeviceScale(self._loss_scale, self._steps, gradients[0].context)
        return self._on_device

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
        self._come_back()
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


class _DeviceScale:
    """The factor and its steps as arrays of one element, and what updates on each GPU multiply gradients by."""

    def __init__(self, scale: float, steps: int, context: Any) -> None:
        self._scale = nd.full((1,), scale, ctx=context)
        self._steps = nd.full((1,), steps, ctx=context)
        # By device; updates take them from the same places in each step.
        self._factors: dict[Any, NDArray] = {}
        self.is_applied = False  # whether gradients are those of a scaled loss

    def read(self) -> tuple[float, int]:
        return float(self._scale.asscalar()), int(self._steps.asscalar())

    def scaled(self, loss: Any) -> Any:
        """The loss times the factor."""
        self.is_applied = True
        return _times(loss, self._scale)

    def unscale(self, gradients: Sequence[NDArray]) -> None:
        """Divides gradients in place."""
        inverse = 1 / self._scale
        for gradient in gradients if self.is_applied else ():
            gradient[:] = _times(gradient, inverse)
        self.is_applied = False

    def follow(self, gradients: Iterable[NDArray]) -> dict[Any, NDArray]:
        """Once a step: what each device's gradients are to be multiplied by; 0 skips the step."""
        context = self._scale.context
        own_flags = _finite_flags(gradients)
        devices = [flag.context for flag in own_flags]
        flags = [flag.as_in_context(context) for flag in own_flags]
        finite = flags[0]
        for flag in flags[1:]:
            finite = finite * flag
        for device in devices:
            if device not in self._factors:
                self._factors[device] = nd.zeros((1,), ctx=device)
        own = self._factors[context]
        if self.is_applied:
            nd.elemwise_div(finite, self._scale, out=own)
        else:
            finite.copyto(own)
        for factor in self._factors.values():
            if factor is not own:
                own.copyto(factor)
        steps = (self._steps + 1) * finite
        rises = steps >= _STEPS_UNTIL_RISE
        nd.elemwise_mul(steps, 1 - rises, out=self._steps)
        change = finite * (0.5 + rises) + 0.5  # 2 or 1, and 0.5 at an overflow
        nd.clip(self._scale * change, a_min=_LOWEST, a_max=_HIGHEST, out=self._scale)
        return self._factors


def _times(array: Any, scalar: NDArray) -> Any:
    """The array times an array of one element, in the type and on the device of the first."""
    other = scalar.as_in_context(array.context).astype(array.dtype)
    if not array.shape:
        return array * other.as_np_ndarray().reshape(())
    if type(array) is not type(other):
        return array * other.as_np_ndarray()
    return nd.broadcast_mul(array, other.reshape((1,) * len(array.shape)))


def _can_follow(optimizer: Any, gradients: Sequence[NDArray]) -> bool:
    return (
        bool(gradients)
        and all(array.stype == "default" and array.context.device_type == "gpu" for array in gradients)
        and optimizer._updates_are_operators(array.dtype for array in gradients)
    )


def _finite_flags(gradients: Iterable[NDArray]) -> list[NDArray]:
    """Of each device: 1 if all there are finite, else 0."""
    groups: dict[Any, list[NDArray]] = {}
    for array in gradients:
        dense = array if array.stype == "default" else array.data  # type: ignore[attr-defined]
        groups.setdefault(dense.context, []).append(dense)
    return [nd.multi_all_finite(*arrays) for arrays in groups.values()]


def _all_finite(gradients: Iterable[NDArray]) -> bool:
    return all(bool(flag.asscalar()) for flag in _finite_flags(gradients))


_star.complete(globals(), "ag logging multi_all_finite nd")
