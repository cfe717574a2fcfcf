# SPDX-License-Identifier: Apache-2.0
"""Gradient descent and its relatives: momentum, Nesterov, signs, layer-wise rates, delay compensation,
noise."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base import MXNetValueError
from .base import Optimizer, aggregation_size, register, updates_in_place, zeros_like

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..ndarray import NDArray
    from .base import CommonSettings, Settings

__all__ = ["DCASGD", "LARS", "LBSGD", "NAG", "SGD", "SGLD", "Signum", "ccSGD"]


def _interleaved(*lists: Any) -> list[Any]:
    """[a0, b0, a1, b1, ...] from ([a0, a1, ...], [b0, b1, ...])."""
    return [item for group in zip(*lists) for item in group]


def _update_several(
    weight: Any, grad: Any, state: Any, master: Any, attrs: dict[str, Any], rates: Any = ()
) -> None:
    """One call for several dense parameters. ``rates``: arrays of rates and decays, in place of attributes."""
    has_momentum = "momentum" in attrs
    lists = [weight, grad]
    if master:
        momenta, masters = zip(*state)
        lists += [momenta, masters] if has_momentum else [masters]
    elif has_momentum:
        lists.append(state)
    name = f"multi_{'mp_' if master else ''}sgd_{'mom_' if has_momentum else ''}update"
    update = getattr(nd, f"preloaded_{name}" if rates else name)
    update(*_interleaved(*lists), *rates, num_weights=len(weight), out=weight, **attrs)


class _MomentumState(Optimizer):
    """Keeps one momentum array, and with ``multi_precision`` the float32 weight *after* it."""

    momentum = 0.0
    _masters_in_place = True

    def create_state(self, index: Any, weight: Any) -> Any:
        return zeros_like(weight, "default") if self.momentum != 0.0 else None

    def create_state_multi_precision(self, index: Any, weight: Any) -> Any:
        if self._keeps_master(weight):
            master = weight.astype(np.float32)
            return (self.create_state(index, master), master)
        if weight.dtype == np.float16:
            self._advise_multi_precision()
        return self.create_state(index, weight)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        many = isinstance(index, (list, tuple))
        self._update(index, weight, grad, state, self._keeps_master(weight[0] if many else weight))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._update(index, weight, grad, state, False)

    def _update(self, index: Any, weight: Any, grad: Any, state: Any, master: Any) -> Any:
        raise NotImplementedError

    def _momentum_attrs(self) -> dict[Any, Any]:
        attrs = self._scaling()
        if self.momentum > 0:
            attrs["momentum"] = self.momentum
        return attrs


@register
@updates_in_place
class SGD(_MomentumState):
    """Gradient descent: ``v = momentum * v - lr * (grad + wd * weight)``, ``weight += v``.

    Parameters
    ----------
    momentum : float
        0 keeps no state.
    lazy_update : bool
        Whether a row_sparse gradient changes only the rows that it holds (momentum and decay included).
    **kwargs
        Those of :class:`Optimizer`.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([0.95, 2.05], dtype=float32)
    """

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Unpack[Settings]) -> None:
        super().__init__(**kwargs)
        self._check_numbers(momentum=momentum)
        self.momentum = momentum
        self.lazy_update = lazy_update
        self.aggregate_num = aggregation_size(4)

    def create_state(self, index: Any, weight: Any) -> Any:
        if self.momentum == 0.0:
            return None
        return zeros_like(weight, weight.stype if self.lazy_update else "default")

    def _update(self, index: Any, weight: Any, grad: Any, state: Any, master: Any) -> None:
        if not isinstance(index, (list, tuple)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        self._update_count(index)
        lrs, wds = self._get_lrs(index), self._get_wds(index)
        attrs = self._momentum_attrs()
        dense = all(w.stype == "default" and g.stype == "default" for w, g in zip(weight, grad))
        if dense and len(index) > 1:
            _update_several(weight, grad, state, master, {**attrs, "lrs": lrs, "wds": wds})
            return
        for w, g, s, lr, wd in zip(weight, grad, state, lrs, wds):
            attrs.update(lr=lr, wd=wd, out=w)
            if master:
                momentum, w32 = s
                if momentum is None:
                    nd.mp_sgd_update(w, g, w32, **attrs)
                else:
                    nd.mp_sgd_mom_update(w, g, momentum, w32, **attrs)
            elif s is None:
                nd.sgd_update(w, g, lazy_update=self.lazy_update, **attrs)
            else:
                nd.sgd_mom_update(w, g, s, lazy_update=self.lazy_update, **attrs)


@register
@updates_in_place
class ccSGD(SGD):
    """An old name of :class:`SGD`.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.ccSGD(learning_rate=0.1, momentum=0.9))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([0.95, 2.05], dtype=float32)
    """


@register
@updates_in_place
class NAG(_MomentumState):
    """Nesterov's accelerated gradient.

    Parameters
    ----------
    momentum : float
        0 makes it plain gradient descent.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.NAG(learning_rate=0.1, momentum=0.9))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([0.905, 2.095], dtype=float32)
    """

    def __init__(self, momentum: float = 0.0, **kwargs: Unpack[Settings]) -> None:
        super().__init__(**kwargs)
        self._check_numbers(momentum=momentum)
        self.momentum = momentum

    def _update(self, index: Any, weight: Any, grad: Any, state: Any, master: Any) -> None:
        lr, wd = self._begin(index)
        attrs = {**self._momentum_attrs(), "lr": lr, "wd": wd, "out": weight}
        if master:
            momentum, w32 = state
            if momentum is None:
                nd.mp_sgd_update(weight, grad, w32, **attrs)
            else:
                nd.mp_nag_mom_update(weight, grad, momentum, w32, **attrs)
        elif state is None:
            nd.sgd_update(weight, grad, **attrs)
        else:
            nd.nag_mom_update(weight, grad, state, **attrs)


@register
@updates_in_place
class Signum(Optimizer):
    """Moves each weight by the sign of its momentum (or of its gradient).

    Parameters
    ----------
    momentum : float
        0 takes the gradient's sign and keeps no state.
    wd_lh : float
        Decay applied to the weight itself, apart from the sign (arXiv:1711.05101).

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.Signum(learning_rate=0.1, momentum=0.9))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([0.9, 2.1], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        wd_lh: float = 0.0,
        **kwargs: Unpack[CommonSettings],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self._check_numbers(momentum=momentum, wd_lh=wd_lh)
        self.momentum = momentum
        self.wd_lh = wd_lh

    def create_state(self, index: Any, weight: Any) -> Any:
        return zeros_like(weight) if self.momentum != 0.0 else None

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index)
        attrs = {**self._scaling(), "lr": lr, "wd": wd, "out": weight}
        if state is None:
            nd.signsgd_update(weight, grad, **attrs)
        else:
            if self.wd_lh:
                attrs["wd_lh"] = self.wd_lh
            nd.signum_update(weight, grad, state, momentum=self.momentum, **attrs)


def _norm(array: NDArray) -> NDArray:
    """Euclidean norm as an array of shape (1,), without waiting for it."""
    return nd.sqrt(nd.sum(nd.square(array.astype("float32"))))


@register
@updates_in_place
class LARS(_MomentumState):
    """Layer-wise adaptive rates for large batches (arXiv:1708.03888).

    The rate of a weight is multiplied by ``eta * |weight| / (|grad| + wd * |weight| + eps)`` where both
    norms are positive; biases, gammas and betas keep the plain rate.

    Parameters
    ----------
    momentum : float
        0 keeps no state.
    lazy_update : bool
        As for :class:`SGD`.
    eta, eps : float
        See the formula.
    momentum_correction : bool
        Whether the momentum is scaled by ``lr / last lr`` when the rate changes.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.LARS(learning_rate=0.1, momentum=0.9))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([1., 2.], dtype=float32)
    """

    _progress_names = ("last_lr", "cur_lr")

    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        eta: float = 0.001,
        eps: float = 0,
        momentum_correction: bool = True,
        **kwargs: Unpack[Settings],
    ) -> None:
        super().__init__(**kwargs)
        self._check_numbers(momentum=momentum, eta=eta, eps=eps)
        self.momentum = momentum
        self.momentum_correction = momentum_correction
        self.lazy_update = lazy_update
        self.aggregate_num = aggregation_size(4)
        self.eta = eta
        self.eps = eps
        self.skip = 0
        self.last_lr: Any = None
        self.cur_lr: Any = None
        self._noted_step: int | None = None  # of cur_lr
        # On GPUs, with the decays: of the weights that one call has.
        self._rates: dict[Any, tuple[NDArray, NDArray]] = {}

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        del state["_rates"], state["_noted_step"]
        return state

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self._noted_step = None
        self._rates = {}

    @staticmethod
    def _decayed_endings() -> tuple[str, ...]:
        return ("_weight",)

    def create_state(self, index: Any, weight: Any) -> Any:
        if self.momentum == 0.0:
            return None
        return zeros_like(weight, weight.stype if self.lazy_update else "default")

    def _is_plain(self, index: Any) -> Any:
        return self.idx2name.get(index, str(index)).endswith(("gamma", "beta", "bias"))

    def _scale(self, weight: Any, grad: Any, wd: Any) -> NDArray:
        """The layer's factor, an array of shape (1,)."""
        w_norm, g_norm = _norm(weight), _norm(grad) * self.rescale_grad
        ratio = self.eta * w_norm / (g_norm + wd * w_norm + self.eps)
        return nd.where((w_norm > 0) * (g_norm > 0), ratio, nd.ones_like(ratio))

    def _update(self, index: Any, weight: Any, grad: Any, state: Any, master: Any) -> None:
        if not isinstance(index, (list, tuple)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        self._update_count(index)
        lrs, wds = self._get_lrs(index), self._get_wds(index)
        momentum = self._corrected_momentum()
        if weight[0].context.device_type == "gpu" and all(a.stype == "default" for a in (*weight, *grad)):
            self._update_on_gpu(list(zip(index, weight, grad, state, lrs, wds)), momentum, master)
            return
        for i, w, g, s, lr, wd in zip(index, weight, grad, state, lrs, wds):
            velocity, target = s if master else (s, w)
            step = self._scaled(g.astype("float32") if master else g) + wd * target
            if self._is_plain(i):
                step = step * lr
            else:
                step = nd.broadcast_mul(step.reshape((-1,)), self._scale(target, g, wd) * lr).reshape(w.shape)
            if velocity is None:
                target[:] -= step
            else:
                velocity[:] = momentum * velocity - step
                target[:] += velocity
            if master:
                w[:] = target.astype(w.dtype)

    def _update_on_gpu(self, items: Any, momentum: Any, master: Any) -> None:
        """By operators that change their arrays in place. On the host the norms would have one core."""
        attrs = self._formula_scaling()
        if self.momentum != 0.0:
            attrs["momentum"] = momentum
        for is_plain in (False, True):
            chosen = [item for item in items if self._is_plain(item[0]) == is_plain]
            if not chosen:
                continue
            index, weight, grad, state, lrs, wds = (list(column) for column in zip(*chosen))
            if is_plain:
                _update_several(weight, grad, state, master, {**attrs, "lrs": lrs, "wds": wds})
                continue
            key = (weight[0].context, tuple(index))
            if key not in self._rates:
                shape, context = len(index), weight[0].context
                self._rates[key] = (nd.empty(shape, context), nd.empty(shape, context))
            rates = self._rates[key]
            measured = [s[1] for s in state] if master else weight
            settings: dict[str, Any] = {"eta": self.eta, "eps": self.eps, "rescale_grad": self.rescale_grad}
            settings.update(num_weights=len(index), lrs=lrs, wds=wds, out=list(rates))
            nd._internal._multi_lars_rates(*rates, *_interleaved(measured, grad), **settings)
            _update_several(weight, grad, state, master, attrs, rates)

    def _corrected_momentum(self) -> Any:
        """The momentum for this step, and a note of the rate for the next one."""
        rate = self.learning_rate
        if self._noted_step != self.num_update or self.cur_lr is None:  # else a further call of the same step
            self.last_lr = rate if self.cur_lr is None else self.cur_lr
            self._noted_step = self.num_update
        self.cur_lr = rate
        is_corrected = self.momentum_correction and self.last_lr != 0
        return self.momentum * (rate / self.last_lr) if is_corrected else self.momentum


@register
class LBSGD(Optimizer):
    """Gradient descent for large batches: gradients of ``batch_scale`` steps are summed, and the rate warms
    up.

    Parameters
    ----------
    momentum : float
        0 keeps no state.
    warmup_strategy : {"linear", "power2", "sqrt", "lars"}
        How the factor of the rate grows from 1 to ``batch_scale``; "lars" takes layer-wise factors instead.
    warmup_epochs, updates_per_epoch, begin_epoch, num_epochs : int
        Length of the warm-up in epochs, of an epoch in updates, and the epochs to run.
    batch_scale : int
        How many batches count as one.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.LBSGD(learning_rate=0.1, momentum=0.9))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([0.95, 2.05], dtype=float32)
    """

    _progress_names = ("cumgrads", "lbmult")

    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: str = "linear",
        warmup_epochs: int = 5,
        batch_scale: int = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        **kwargs: Any,
    ) -> None:
        super().__init__(multi_precision=multi_precision, **kwargs)
        self._check_numbers(
            momentum=momentum,
            warmup_epochs=warmup_epochs,
            batch_scale=batch_scale,
            updates_per_epoch=updates_per_epoch,
            begin_epoch=begin_epoch,
        )
        if warmup_strategy not in ("linear", "power2", "sqrt", "lars"):
            raise MXNetValueError(
                f"[LBSGD] warmup_strategy is {warmup_strategy!r}; expected 'linear', 'power2', 'sqrt' or 'lars'."
            )
        self.momentum = momentum
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        self.lbmult: float = 1
        self.cumgrads: dict[Any, Any] = {}
        self.adaptive = False
        self.admult = 1

    def create_state(self, index: Any, weight: Any) -> Any:
        return zeros_like(weight) if self.momentum != 0.0 else None

    def _warmup_factor(self, updates: int) -> float:
        length, top = self.warmup_epochs * self.updates_per_epoch, float(self.batch_scale)
        if updates >= length:
            return top
        if length <= 1:
            return 1.0
        done = updates / length
        return 1.0 + (top - 1) * {"linear": done, "power2": done**2, "sqrt": sqrt(done)}.get(
            self.warmup_strategy, 0.0
        )

    def _layer_factor(self, weight: Any, grad: Any, wd: Any) -> float:
        w_square, g_square = (float(nd.sum(nd.square(a)).asscalar()) for a in (weight, grad))
        return min(max(sqrt(w_square / (g_square + wd * w_square + 1e-18)), 0.01), 100.0)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._get_lr(index), self._get_wd(index)  # before this update counts, as MXNet has it
        self._update_count(index)
        total = self.cumgrads.get(index)
        if total and total["num_cums"] % self.batch_scale:
            total = {"cum_grad": total["cum_grad"] + grad, "num_cums": total["num_cums"] + 1}
        else:
            count = total["num_cums"] if total else self.init_updates
            total = {"cum_grad": grad.copy(), "num_cums": count + 1}
        self.cumgrads[index] = total
        if total["num_cums"] % self.batch_scale:
            return  # the batch goes on
        grad = total["cum_grad"] / self.batch_scale
        if self.warmup_strategy == "lars":
            self.lbmult = self._layer_factor(weight, grad, wd)
        else:
            self.lbmult = self._warmup_factor(total["num_cums"])
        attrs = {**self._scaling(), "lr": lr * self.lbmult, "wd": wd, "out": weight}
        if state is None:
            nd.sgd_update(weight, grad, **attrs)
        else:
            nd.sgd_mom_update(weight, grad, state, momentum=self.momentum, **attrs)


@register
class DCASGD(Optimizer):
    """Asynchronous gradient descent that compensates the delay of gradients (arXiv:1609.08326).

    Parameters
    ----------
    momentum : float
        Factor of the previous step.
    lamda : float
        Strength of the compensation.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.DCASGD(learning_rate=0.1, lamda=0.04))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([0.95, 2.05], dtype=float32)
    """

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Unpack[Settings]) -> None:
        super().__init__(**kwargs)
        self._check_numbers(momentum=momentum, lamda=lamda)
        self.momentum = momentum
        self.weight_previous: dict[Any, Any] = {}
        self.lamda = lamda

    def create_state(self, index: Any, weight: Any) -> tuple[Any, Any]:
        return (zeros_like(weight, "default") if self.momentum != 0.0 else None, weight.copy())

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index)
        grad = self._scaled(grad)
        velocity, previous = state
        step = -lr * (grad + wd * weight + self.lamda * grad * grad * (weight - previous))
        if velocity is not None:
            velocity[:] = self.momentum * velocity + step
            step = velocity
        previous[:] = weight
        weight[:] += step


@register
class SGLD(Optimizer):
    """Stochastic gradient Langevin dynamics: half a gradient step, and noise of variance ``lr``.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.SGLD(learning_rate=0.1))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.shape
    (2,)
    """

    def create_state(self, index: Any, weight: Any) -> None:
        return None

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index)
        noise = nd.random.normal(0, sqrt(lr), shape=weight.shape, dtype=weight.dtype, ctx=weight.context)
        weight[:] += -lr / 2 * (self._scaled(grad) + wd * weight) + noise
