# SPDX-License-Identifier: Apache-2.0
"""Optimizers that MXNet keeps apart."""

from __future__ import annotations

from typing import Any

from .. import ndarray as nd
from ..base import MXNetValueError
from .base import Optimizer, register, zeros_like

__all__ = ["GroupAdaGrad"]


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one rate for each row of a 2-D weight; for embeddings.

    Parameters
    ----------
    eps : float
        Added below the root.

    Raises
    ------
    ValueError
        At the first update, if weight decay is not 0.
    """

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._check_numbers(eps=eps)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: Any) -> Any:
        if len(weight.shape) != 2:
            raise MXNetValueError(
                f"[GroupAdaGrad] the weight has shape {weight.shape}; expected 2 dimensions."
            )
        return zeros_like(weight[:, :1] if weight.stype == "default" else weight[:][:, :1], "default")

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index)
        if wd != 0:
            raise MXNetValueError(f"[GroupAdaGrad] weight decay is {wd}; this optimizer supports 0 only.")
        grad = self._scaled(grad)
        state[:] += nd.mean(nd.square(grad), axis=1, keepdims=True)
        weight[:] -= nd.broadcast_div(lr * grad, nd.sqrt(state + self.float_stable_eps))
