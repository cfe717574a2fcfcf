# SPDX-License-Identifier: Apache-2.0
"""Optimizers that scale each weight's step by the history of its gradient."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

from .. import ndarray as nd
from .base import Optimizer, register, updates_in_place, zeros_like

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .base import CommonSettings, Settings

__all__ = ["FTML", "LAMB", "AdaDelta", "AdaGrad", "Adam", "Adamax", "Ftrl", "Nadam", "RMSProp"]


@register
@updates_in_place
class Adam(Optimizer):
    """Adam (arXiv:1412.6980): momentum over the root of the mean square, both corrected for their start at 0.

    Parameters
    ----------
    beta1, beta2 : float
        Decay of the two means.
    epsilon : float
        Added to the root.
    lazy_update : bool
        Whether a row_sparse gradient changes only the rows that it holds.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.1))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([0.9, 2.1], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Unpack[CommonSettings],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self._check_numbers(beta1=beta1, beta2=beta2, epsilon=epsilon)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def create_state(self, index: Any, weight: Any) -> tuple[Any, Any]:
        stype = weight.stype if self.lazy_update else "default"
        return (zeros_like(weight, stype), zeros_like(weight, stype))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index)
        count = self._index_update_count[index]
        lr *= sqrt(1.0 - self.beta2**count) / (1.0 - self.beta1**count)
        mean, variance = state
        nd.adam_update(
            weight,
            grad,
            mean,
            variance,
            out=weight,
            lr=lr,
            wd=wd,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            lazy_update=self.lazy_update,
            **self._scaling(),
        )


@register
@updates_in_place
class AdaGrad(Optimizer):
    """AdaGrad: divides by the root of the sum of all squared gradients.

    Parameters
    ----------
    eps : float
        Added under the root.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.AdaGrad(learning_rate=0.1))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([0.9, 2.1], dtype=float32)
    """

    def __init__(self, eps: float = 1e-7, **kwargs: Unpack[Settings]) -> None:
        super().__init__(**kwargs)
        self._check_numbers(eps=eps)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: Any) -> Any:
        return zeros_like(weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index)
        attrs = {**self._scaling(), "lr": lr, "wd": wd, "epsilon": self.float_stable_eps}
        if grad.stype == "default" and self.clip_gradient is not None:
            attrs["clip_gradient"] = self.clip_gradient  # 0, too, as MXNet has it for these
        nd.sparse.adagrad_update(weight, grad, state, out=weight, **attrs)


@register
@updates_in_place
class RMSProp(Optimizer):
    """RMSProp: divides by the root of the running mean square.

    Parameters
    ----------
    gamma1, gamma2 : float
        Decay of the mean square, and momentum of the centered form.
    epsilon : float
        Added under the root.
    centered : bool
        Whether the running mean is taken off (Graves, arXiv:1308.0850), else Tieleman and Hinton's form.
    clip_weights : float, optional
        Weights are clipped to plus and minus this value.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.RMSProp(learning_rate=0.1, centered=True))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([0.667, 2.333], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: Any = None,
        **kwargs: Unpack[CommonSettings],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self._check_numbers(gamma1=gamma1, gamma2=gamma2, epsilon=epsilon)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.centered = centered
        self.epsilon = epsilon
        self.clip_weights = clip_weights

    def create_state(self, index: Any, weight: Any) -> tuple[Any, ...]:
        return tuple(zeros_like(weight) for _ in range(3 if self.centered else 1))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index)
        attrs = {**self._scaling(), "lr": lr, "wd": wd, "gamma1": self.gamma1, "epsilon": self.epsilon}
        if self.clip_weights:
            attrs["clip_weights"] = self.clip_weights
        if self.centered:
            n, g, delta = state
            nd.rmspropalex_update(weight, grad, n, g, delta, out=weight, gamma2=self.gamma2, **attrs)
        else:
            (n,) = state
            nd.rmsprop_update(weight, grad, n, out=weight, **attrs)


@register
@updates_in_place
class AdaDelta(Optimizer):
    """AdaDelta (arXiv:1212.5701): needs no learning rate.

    Parameters
    ----------
    rho : float
        Decay of both running means.
    epsilon : float
        Added under the roots.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.AdaDelta(rho=0.9))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([0.99, 2.01], dtype=float32)
    """

    def __init__(self, rho: float = 0.9, epsilon: float = 1e-5, **kwargs: Unpack[Settings]) -> None:
        super().__init__(**kwargs)
        self._check_numbers(rho=rho, epsilon=epsilon)
        self.rho = rho
        self.epsilon = epsilon

    def create_state(self, index: Any, weight: Any) -> tuple[Any, Any]:
        return (zeros_like(weight, "default"), zeros_like(weight, "default"))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        _, wd = self._begin(index)
        attrs = {**self._formula_scaling(), "wd": wd, "rho": self.rho, "epsilon": self.epsilon}
        mean_square, mean_step = state
        nd._internal._adadelta_update(weight, grad, mean_square, mean_step, out=weight, **attrs)


@register
@updates_in_place
class Ftrl(Optimizer):
    """Follow the regularised leader, per coordinate (McMahan et al. 2013).

    Parameters
    ----------
    lamda1 : float
        L1 regularisation.
    beta : float
        Keeps the per-coordinate rate finite.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.Ftrl(learning_rate=0.1, lamda1=0.01))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([0.299, 0.699], dtype=float32)
    """

    def __init__(
        self,
        lamda1: float = 0.01,
        learning_rate: float = 0.1,
        beta: Any = 1,
        **kwargs: Unpack[CommonSettings],
    ) -> None:
        super().__init__(**kwargs)
        self._check_numbers(learning_rate=learning_rate, lamda1=lamda1, beta=beta)
        self.lamda1 = lamda1
        self.beta = beta
        self.lr = kwargs.get("lr", learning_rate)

    def create_state(self, index: Any, weight: Any) -> tuple[Any, Any]:
        return (zeros_like(weight), zeros_like(weight))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index)
        attrs = {**self._scaling(), "lr": lr, "wd": wd, "lamda1": self.lamda1, "beta": self.beta}
        z, n = state
        nd.ftrl_update(weight, grad, z, n, out=weight, **attrs)


@register
@updates_in_place
class Adamax(Optimizer):
    """Adam with the largest gradient in place of the mean square (section 7 of arXiv:1412.6980).

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.Adamax(learning_rate=0.1))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([0.9, 2.1], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: float = 0.002,
        beta1: float = 0.9,
        beta2: float = 0.999,
        **kwargs: Unpack[CommonSettings],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self._check_numbers(beta1=beta1, beta2=beta2)
        self.beta1 = beta1
        self.beta2 = beta2

    def create_state(self, index: Any, weight: Any) -> tuple[Any, Any]:
        return (zeros_like(weight, "default"), zeros_like(weight, "default"))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index)
        lr /= 1.0 - self.beta1 ** self._index_update_count[index]
        attrs = {**self._formula_scaling(), "lr": lr, "wd": wd, "beta1": self.beta1, "beta2": self.beta2}
        mean, largest = state
        nd._internal._adamax_update(weight, grad, mean, largest, out=weight, **attrs)


@register
@updates_in_place
class Nadam(Optimizer):
    """Adam with Nesterov's momentum (Dozat 2016).

    Parameters
    ----------
    beta1, beta2, epsilon : float
        As for :class:`Adam`.
    schedule_decay : float
        How fast the momentum approaches ``beta1``.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.Nadam(learning_rate=0.1))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([0.894, 2.106], dtype=float32)
    """

    _progress_names = ("m_schedule",)

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **kwargs: Unpack[CommonSettings],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self._check_numbers(beta1=beta1, beta2=beta2, epsilon=epsilon, schedule_decay=schedule_decay)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def create_state(self, index: Any, weight: Any) -> tuple[Any, Any]:
        return (zeros_like(weight, "default"), zeros_like(weight, "default"))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index)
        count = self._index_update_count[index]
        momentum = self.beta1 * (1.0 - 0.5 * 0.96 ** (count * self.schedule_decay))
        next_momentum = self.beta1 * (1.0 - 0.5 * 0.96 ** ((count + 1) * self.schedule_decay))
        self.m_schedule *= momentum
        next_schedule = self.m_schedule * next_momentum
        mean, variance = state
        nd._internal._nadam_update(
            weight,
            grad,
            mean,
            variance,
            out=weight,
            lr=lr,
            wd=wd,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            grad_factor=(1.0 - momentum) / (1.0 - self.m_schedule),
            mean_factor=next_momentum / (1.0 - next_schedule),
            variance_factor=1.0 / (1.0 - self.beta2**count),
            **self._formula_scaling(),
        )


@register
@updates_in_place
class FTML(Optimizer):
    """Follow the moving leader (Zheng and Kwok 2017).

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.FTML(learning_rate=0.1, beta1=0.6))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([0.9, 2.1], dtype=float32)
    """

    def __init__(
        self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Unpack[Settings]
    ) -> None:
        super().__init__(**kwargs)
        self._check_numbers(beta1=beta1, beta2=beta2, epsilon=epsilon)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index: Any, weight: Any) -> tuple[Any, ...]:
        return tuple(zeros_like(weight, "default") for _ in range(3))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index)
        attrs: dict[str, Any] = {"rescale_grad": self.rescale_grad}
        if self.clip_gradient:
            attrs["clip_grad"] = self.clip_gradient
        d, v, z = state
        nd.ftml_update(
            weight,
            grad,
            d,
            v,
            z,
            out=weight,
            lr=lr,
            wd=wd,
            t=self._index_update_count[index],
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            **attrs,
        )


@register
@updates_in_place
class LAMB(Optimizer):
    """Layer-wise adaptive Adam for large batches (arXiv:1904.00962).

    Parameters
    ----------
    beta1, beta2, epsilon : float
        As for :class:`Adam`.
    lower_bound, upper_bound : float, optional
        Limits of the weight's norm.
    bias_correction : bool
        Whether the means are corrected for their start at 0.

    Examples
    --------
    >>> import loomix as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.LAMB(learning_rate=0.1))
    >>> weight = mx.nd.array([1, 2])
    >>> update(0, mx.nd.array([0.5, -0.5]), weight)
    >>> weight.asnumpy().round(3)
    array([0.842, 2.158], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: Any = None,
        upper_bound: Any = None,
        bias_correction: bool = True,
        **kwargs: Unpack[CommonSettings],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self._check_numbers(beta1=beta1, beta2=beta2, epsilon=epsilon)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction

    def __getstate__(self) -> dict[str, Any]:
        # MXNet's updater goes on with this number, and its class needs one above 0.
        return {**super().__getstate__(), "aggregate_num": 45}

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self.aggregate_num = 0  # MXNet's states say that its class takes several parameters in a call

    def create_state(self, index: Any, weight: Any) -> tuple[Any, Any]:
        return (
            zeros_like(weight, "default"),
            zeros_like(weight, "default"),
        )

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index)
        count = self._index_update_count[index]
        mean, var = state
        attrs = {
            "beta1": self.beta1,
            "beta2": self.beta2,
            "epsilon": self.epsilon,
            "bias_correction": self.bias_correction,
            **self._scaling(),
        }
        bounds = {"lower_bound": self.lower_bound, "upper_bound": self.upper_bound}
        bounds = {name: value for name, value in bounds.items() if value}
        if weight.context.device_type == "gpu" and weight.stype == grad.stype == "default":
            # One operator, which changes its arrays in place. On the host it would have one core, unlike those below.
            attrs.update(num_tensors=1, learning_rates=(lr,), wds=(wd,), step_count=(count,), **bounds)
            nd._internal._multi_lamb_update(weight, grad, mean, var, out=weight, **attrs)
            return
        direction = nd.lamb_update_phase1(weight, grad, mean, var, t=count, wd=wd, **attrs)
        nd.lamb_update_phase2(weight, direction, weight.norm(), direction.norm(), out=weight, lr=lr, **bounds)
