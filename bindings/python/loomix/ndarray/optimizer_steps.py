# SPDX-License-Identifier: Apache-2.0
"""Steps of AdamW and LAMB for one array or several at once: ``nd.contrib.adamw_update`` and its kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..base import MXNetValueError
from . import _internal, ndarray

if TYPE_CHECKING:
    from .ndarray import NDArray

__all__ = [
    "adamw_update",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
]


def _scale(rescale_grad: Any, beside: NDArray) -> NDArray:
    """The factor of gradients as an array on the device of another."""
    if isinstance(rescale_grad, ndarray.NDArray):
        return rescale_grad.as_in_context(beside.context)
    return ndarray.full((1,), rescale_grad, ctx=beside.context)


def _together(who: str, count: int, *lists: Sequence[NDArray]) -> list[NDArray]:
    """The first of each list, then the second of each, and so on."""
    lengths = [len(arrays) for arrays in lists]
    if len(set(lengths)) > 1 or lengths[0] != (count or lengths[0]):
        raise MXNetValueError(
            f"[{who}] the lists have lengths {lengths}; expected {count or 'the same for all'}."
        )
    return [array for arrays in zip(*lists) for array in arrays]


def adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    rescale_grad: Any,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> Any:
    """A step of Adam with decoupled weight decay (Loshchilov and Hutter 2019).

    Parameters
    ----------
    weight, grad : NDArray
    mean, var : NDArray
        Moving averages of the gradient and of its square; they are changed.
    rescale_grad : NDArray or float
        Multiplies the gradient; if it is not finite, or 0, the step is left out. An array, such as one that the engine
        computes from the gradients, is not waited for.
    lr, eta : float
        The learning rate, and what multiplies the whole step.
    out : NDArray, optional
        Where the weight is written: usually ``weight``.

    Examples
    --------
    >>> import loomix as mx
    >>> weight, mean, var = mx.nd.ones(2), mx.nd.zeros(2), mx.nd.zeros(2)
    >>> mx.nd.contrib.adamw_update(weight, mx.nd.ones(2), mean, var, 1.0, lr=0.0, eta=1.0, wd=0.5, out=weight).asnumpy()
    array([0.5, 0.5], dtype=float32)
    """
    return _internal._adamw_update(
        weight,
        grad,
        mean,
        var,
        _scale(rescale_grad, weight),
        lr=lr,
        eta=eta,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        wd=wd,
        clip_gradient=clip_gradient,
        out=out,
        name=name,
        **kwargs,
    )


def mp_adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    rescale_grad: Any,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> Any:
    """:func:`adamw_update` of a weight of half precision; ``weight32`` holds it in float32 and is changed.

    >>> import loomix as mx
    >>> weight, weight32, mean, var = mx.nd.ones(2, dtype="float16"), mx.nd.ones(2), mx.nd.zeros(2), mx.nd.zeros(2)
    >>> grad = mx.nd.ones(2, dtype="float16")
    >>> out = mp_adamw_update(weight, grad, mean, var, weight32, 1.0, lr=0.0, eta=1.0, wd=0.5, out=weight)
    >>> weight.asnumpy(), weight32.asnumpy()
    (array([0.5, 0.5], dtype=float16), array([0.5, 0.5], dtype=float32))
    """
    return _internal._mp_adamw_update(
        weight,
        grad,
        mean,
        var,
        weight32,
        _scale(rescale_grad, weight),
        lr=lr,
        eta=eta,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        wd=wd,
        clip_gradient=clip_gradient,
        out=out,
        name=name,
        **kwargs,
    )


def multi_adamw_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    rescale_grad: Any,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: list[NDArray] | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: Any,
) -> Any:
    """:func:`adamw_update` of several weights; ``size``, if it is given, is their number.

    >>> import loomix as mx
    >>> weights, zeros = [mx.nd.ones(2)], [mx.nd.zeros(2)]
    >>> out = multi_adamw_update(weights, zeros, zeros, zeros, 1.0, [0.1], [0.5], [1.0], out=weights)
    >>> weights[0].asnumpy()
    array([0.5, 0.5], dtype=float32)
    """
    arrays = _together("multi_adamw_update", size, weights, grads, mean, var)
    arrays.append(_scale(rescale_grad, weights[0]))
    kwargs["num_weights"] = len(weights)
    return _internal._multi_adamw_update(*arrays, lrs=lrs, wds=wds, etas=etas, out=out, name=name, **kwargs)


def multi_mp_adamw_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    weights32: Sequence[NDArray],
    rescale_grad: Any,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: list[NDArray] | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: Any,
) -> Any:
    """:func:`mp_adamw_update` of several weights.

    >>> import loomix as mx
    >>> weights, zeros = [mx.nd.ones(2, dtype="float16")], [mx.nd.zeros(2)]
    >>> grads, weights32 = [mx.nd.zeros(2, dtype="float16")], [mx.nd.ones(2)]
    >>> out = multi_mp_adamw_update(
    ...     weights, grads, zeros, zeros, weights32, 1.0, [0.1], [0.5], [1.0], out=weights
    ... )
    >>> weights[0].asnumpy()
    array([0.5, 0.5], dtype=float16)
    """
    arrays = _together("multi_mp_adamw_update", size, weights, grads, mean, var, weights32)
    arrays.append(_scale(rescale_grad, weights[0]))
    kwargs["num_weights"] = len(weights)
    return _internal._multi_mp_adamw_update(
        *arrays, lrs=lrs, wds=wds, etas=etas, out=out, name=name, **kwargs
    )


def multi_lamb_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: list[NDArray] | None = None,
    num_tensors: int = 0,
    **kwargs: Any,
) -> Any:
    """A step of LAMB (You et al., 2020) of several weights.

    Parameters
    ----------
    weights, grads : list of NDArray
    mean, var : list of NDArray
        Moving averages of the gradients and of their squares; they are changed.
    step_count : list of int
        How many steps were made, this one included.
    lrs, wds : list of float
        Learning rates and weight decays.
    out : list of NDArray, optional
        Where the weights are written.
    num_tensors : int
        If it is given, the number of weights.
    **kwargs
        beta1, beta2, epsilon, rescale_grad, lower_bound, upper_bound, clip_gradient, bias_correction.

    Examples
    --------
    >>> import loomix as mx
    >>> weights, grads = [mx.nd.array([3, 4])], [mx.nd.ones(2)]
    >>> mean, var = [mx.nd.zeros(2)], [mx.nd.zeros(2)]
    >>> out = multi_lamb_update(weights, grads, mean, var, [1], [0.1], [0.0], out=weights)
    >>> weights[0].asnumpy().round(3)  # 0.1 times the weight's norm, against the gradient
    array([2.646, 3.646], dtype=float32)
    """
    arrays = _together("multi_lamb_update", num_tensors, weights, grads, mean, var)
    kwargs["num_tensors"] = len(weights)
    return _internal._multi_lamb_update(
        *arrays, step_count=step_count, learning_rates=lrs, wds=wds, out=out, **kwargs
    )


def multi_mp_lamb_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    weights32: Sequence[NDArray],
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: list[NDArray] | None = None,
    num_tensors: int = 0,
    **kwargs: Any,
) -> Any:
    """:func:`multi_lamb_update` of weights of half precision; ``weights32`` hold them in float32 and are changed.

    >>> import loomix as mx
    >>> weights, weights32 = [mx.nd.array([3, 4], dtype="float16")], [mx.nd.array([3, 4])]
    >>> grads, mean, var = [mx.nd.ones(2, dtype="float16")], [mx.nd.zeros(2)], [mx.nd.zeros(2)]
    >>> out = multi_mp_lamb_update(weights, grads, mean, var, weights32, [1], [0.1], [0.0], out=weights)
    >>> weights32[0].asnumpy().round(3)
    array([2.646, 3.646], dtype=float32)
    """
    arrays = _together("multi_mp_lamb_update", num_tensors, weights, grads, mean, var, weights32)
    kwargs["num_tensors"] = len(weights)
    return _internal._multi_mp_lamb_update(
        *arrays, step_count=step_count, learning_rates=lrs, wds=wds, out=out, **kwargs
    )
