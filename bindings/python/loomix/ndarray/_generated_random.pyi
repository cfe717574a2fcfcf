# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the operator table.
from .ndarray import NDArray

def exponential_like(
    data: NDArray,
    lam: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def gamma_like(
    data: NDArray,
    alpha: float = 1.0,
    beta: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def generalized_negative_binomial_like(
    data: NDArray,
    mu: float = 1.0,
    alpha: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def negative_binomial_like(
    data: NDArray,
    k: float = 1.0,
    p: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def normal_like(
    data: NDArray,
    loc: float = 0.0,
    scale: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def poisson_like(
    data: NDArray,
    lam: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def uniform_like(
    data: NDArray,
    low: float = 0.0,
    high: float = 1.0,
    out: NDArray | list[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
