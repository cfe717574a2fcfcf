# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the operator table.
from ..context import Context
from .ndarray import NDArray

def arange_like(
    data: NDArray,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: Context | str = "",
    axis: int | None = None,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def boolean_mask(
    data: NDArray,
    index: NDArray,
    axis: int = 0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def group_adagrad_update(
    weight: NDArray,
    grad: NDArray,
    history: NDArray,
    lr: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    epsilon: float = 1e-05,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
